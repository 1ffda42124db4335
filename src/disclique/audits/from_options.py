"""An audit as it is asked for in options: how they become the plan and its data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from disclique.audits.declaration import declare
from disclique.audits.definition import Audit
from disclique.audits.plan import Plan, Snooper
from disclique.audits.registers import hold_known, hold_others
from disclique.errors import InputError
from disclique.masks.registry import refuse_bare
from disclique.memory import parse_memory
from disclique.model import Microdata
from disclique.options.audits import AUDIT_ROWS, DECISION, OF_FILE, AuditOptions
from disclique.options.files import NO_COLUMNS
from disclique.options.table import FILE, list_of, read_toml
from disclique.records.coarsening import is_dial
from disclique.records.reading import read
from disclique.records.registers import read_known
from disclique.records.write import hashes


def read_decision(config: Path | None) -> dict[str, Any]:
    """Return the section [decision] of a TOML file, if it is one that can be declared to the board."""
    written = {} if config is None else read_toml(config).get(DECISION, {})
    try:
        declare(written)
    except InputError as problem:
        raise InputError("problem_in_file", file=config, problem=problem) from None
    return dict(written)


def read_plan(options: AuditOptions) -> Plan:
    """Read and check the plan alone; whether it suits the files is seen when they are read."""
    others = options.file_of_others
    if others is not None and options.overlap is None:
        raise InputError("others_without_overlap", others=others)
    if options.known is not None and options.id is None:
        raise InputError("known_without_id")
    try:
        about, snooper = options.plan_values()
        about["generalise"] = tuple(spec for spec in about["generalise"] if is_dial(spec))
        plan = Plan(snooper=Snooper(**(snooper | ({} if others is None else {"others": OF_FILE}))), **about)
    except (TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError("option_of_wrong_kind", problem=str(problem)) from None
    refuse_bare(options.unit, list_of(options.mask))
    return plan


def read_audit(file: Path, options: AuditOptions) -> Audit:
    """Read and check the plan and its data."""
    named = [name for name, row in AUDIT_ROWS.items() if row.kind == FILE]
    paths = {name: None if (path := getattr(options, name)) is None else Path(path) for name in named}
    known, others = paths["known"], options.file_of_others
    plan = read_plan(options)
    target = read_target(file, options)
    theirs = None
    if known is not None:
        beside: dict[str, Any] = {"distances": paths["known_distances"], "vectors": paths["known_vectors"]}
        takes = _takes_unit(options)
        unit = options.unit_for(own=takes["known"], other=takes["target"])
        columns = options.columns | {"unit": unit} | (NO_COLUMNS if any(beside.values()) else {})
        theirs = read_known(known, **beside, **columns)
    more = None if others is None else read_known(others, vectors=paths["others_vectors"], **options.columns)
    paths["known"] = None
    whole = [*getattr(theirs, "files", (known,)), *getattr(more, "files", (others,))]  # of a register all its files
    inputs = hashes([file, *paths.values(), *whole, *options.encoding_files])
    memory = None if options.memory is None else parse_memory(options.memory)
    kept, thinned = hold_known(theirs, target, plan, memory)
    return Audit(replace(plan, inputs=inputs), target, kept, hold_others(more, target, plan), thinned=thinned)


def read_target(file: Path, options: AuditOptions) -> Microdata:
    """Read the file that is audited, and afterwards released."""
    takes = _takes_unit(options)
    unit = options.unit_for(own=takes["target"], other=takes["known"])
    distances, vectors = (None if path is None else Path(path) for path in (options.distances, options.vectors))
    return read(file, distances=distances, vectors=vectors, **(options.columns | {"unit": unit}))


def _takes_unit(options: AuditOptions) -> dict[str, bool]:
    """Say of the holder's and of the snooper's file whether the unit of its distances is to be said."""
    names = {"target": ("distances", "vectors"), "known": ("known_distances", "known_vectors")}
    flat = options.metric == "euclidean"
    return {side: flat or any(getattr(options, name) is not None for name in of) for side, of in names.items()}
