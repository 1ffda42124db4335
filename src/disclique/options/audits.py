"""An audit as it is asked for: its options, and how they become the plan and its data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from disclique.errors import InputError
from disclique.options.fields import list_of, option, read_toml
from disclique.options.files import NO_COLUMNS, FileOptions

if TYPE_CHECKING:
    from disclique.audits import Audit, Plan
    from disclique.model import Microdata

MASKS, SNOOPER, WORK = "Masks and limit", "What the snooper knows", "Work"
OTHERS = ("synthetic", "germany")
DECISION = "decision"  # the section of a TOML file that the annex shows


@dataclass(frozen=True)
class AuditOptions(FileOptions):
    """What can be said of an audit, on the command line or in a TOML file."""

    sections: ClassVar[tuple[str, ...]] = (DECISION,)
    mask: list[str] | None = option(
        "gaussian:sigma=500m, or a range of its dial: gaussian:sigma=100m..5km; repeatable. There are {masks}.",
        panel=MASKS,
        default=[],
        metavar="SPEC",
    )
    max_risk: float | None = option(
        "Largest share of people at risk; ranges are searched, and the exit status is 0 only if it is kept.",
        panel=MASKS,
        metavar="R",
    )
    max_risk_person: float | None = option(
        "Largest risk of the most exposed person, besides --max-risk.", panel=MASKS, metavar="R"
    )
    scenario: str | None = option(
        "What risk means: prosecutor (the person took part: share named rightly), journalist (claimed rightly, as more "
        "probable than not) or marketer (share of the whole file).",
        panel=MASKS,
        default="prosecutor",
    )
    releases: int | None = option(
        "How often the same people are released with fresh noise.", panel=MASKS, default=1, metavar="K"
    )
    unlinked: bool | None = option(
        "Rows of later releases do not tell which they were before.", panel=MASKS, default=False
    )
    generalise: list[str] | None = option(
        "Make labels coarser: cob=century:yob, age=classes:age:18,65, width, decade, prefix; or try several: a range "
        "of widths age=width:age:1..40 or of characters plz=prefix:plz:2..5, drop:sex with and without.",
        panel=MASKS,
        default=[],
        metavar="NEW=RULE:COL",
    )
    utility: str | None = option("{measures}: how settings compare.", panel=MASKS, default="neighbours")
    known: Path | None = option(
        "The snooper's file, with the same columns; a register of millions as a Parquet file or folder.", panel=SNOOPER
    )
    known_distances: Path | None = option("Its distances.", panel=SNOOPER)
    known_vectors: Path | None = option("Its vectors.", panel=SNOOPER, metavar="FILE")
    overlap: float | None = option("Share of the people in it, among others.", panel=SNOOPER, metavar="R")
    known_size: int | None = option("Records in it (as many as released).", panel=SNOOPER)
    others: str | None = option("The others: synthetic, germany or a file.", panel=SNOOPER, default="synthetic")
    others_vectors: Path | None = option("Their vectors.", panel=SNOOPER, metavar="FILE")
    label_error: float | None = option("Share of its labels that are wrong.", panel=SNOOPER, default=0.0, metavar="R")
    coordinate_error: str | None = option("Error of its coordinates (100m).", panel=SNOOPER, metavar="X")
    seeds: int | None = option(
        "Released people whom an insider knows beforehand.", panel=SNOOPER, default=0, metavar="N"
    )
    missing: str | None = option("A missing label matches never or any value.", panel=SNOOPER, default="any")
    attack: list[str] | None = option("{attacks}; repeatable.", panel=WORK, default=["all"])
    alpha: float | None = option("Detection probability of the clique attack.", panel=WORK, default=0.5)
    budget: float | None = option(
        "For one clique search: billions of operations, half a second each; raised where it could decide.",
        panel=WORK,
        default=2.0,
        metavar="WORK",
    )
    repetitions: int | None = option("Draws of every mask setting.", panel=WORK, default=20)
    seed: int | None = option("All chance follows from it.", panel=WORK, default=0)
    person_trials: int | None = option(
        "Draws by which every person's risk is measured under the setting that the verdict names: 200 for up to 500 "
        "records, fewer for more.",
        panel=WORK,
        metavar="N",
    )
    thorough: bool | None = option(
        "Carry out every attack on every release, also where it cannot be expected to find more.",
        panel=WORK,
        default=False,
    )
    memory: str | None = option(
        "Memory for the part of a register that is kept: 4GB, 50% (half of the machine's).",
        panel=WORK,
        metavar="SIZE",
    )
    sensitivity: bool | None = option(
        "Ask how the risk depends on the overlap and on label errors.", panel=WORK, default=True
    )

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of ``Layout``; labels that are tried in several ways are read as they are."""
        from disclique.records.coarsening import read_beforehand

        return super().columns | {"generalise": read_beforehand(list_of(self.generalise))}


def read_decision(config: Path | None) -> dict[str, Any]:
    """Return the section [decision] of a TOML file, if it is one that can be declared to the board."""
    from disclique.audits.declaration import declare

    written = {} if config is None else read_toml(config).get(DECISION, {})
    try:
        declare(written)
    except InputError as problem:
        raise InputError(f"{config}: {problem}") from None
    return dict(written)


def read_plan(options: AuditOptions) -> Plan:
    """Read and check the plan alone; whether it suits the files is seen when they are read."""
    from disclique.masks.registry import refuse_bare

    known, others = options.known is not None, _file_of_others(options)
    if others is not None and options.overlap is None:
        raise InputError(f"--others {others}: it goes with --overlap")
    if known and options.id is None:
        raise InputError("--known: name the column that says who is who in both files with --id")
    try:
        plan = _plan(options, given=known, others=others is not None)
    except (TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"an option has a value of the wrong kind: {problem}") from None
    refuse_bare(options.unit, list_of(options.mask))
    return plan


def _file_of_others(options: AuditOptions) -> Path | None:
    return None if options.others in OTHERS else Path(str(options.others))


def read_audit(file: Path, options: AuditOptions) -> Audit:
    """Read and check the plan and its data."""
    from disclique.audits import Audit
    from disclique.audits.registers import hold_known, hold_others
    from disclique.memory import parse_memory
    from disclique.records.registers import read_known
    from disclique.records.write import hashes

    named = ("distances", "vectors", "known", "known_distances", "known_vectors", "others_vectors")
    paths = {name: None if (path := getattr(options, name)) is None else Path(path) for name in named}
    known = paths["known"]
    others = _file_of_others(options)
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
    import disclique

    takes = _takes_unit(options)
    unit = options.unit_for(own=takes["target"], other=takes["known"])
    distances, vectors = (None if path is None else Path(path) for path in (options.distances, options.vectors))
    return disclique.read(file, distances=distances, vectors=vectors, **(options.columns | {"unit": unit}))


def _takes_unit(options: AuditOptions) -> dict[str, bool]:
    """Say of the holder's and of the snooper's file whether the unit of its distances is to be said."""
    names = {"target": ("distances", "vectors"), "known": ("known_distances", "known_vectors")}
    flat = options.metric == "euclidean"
    return {side: flat or any(getattr(options, name) is not None for name in of) for side, of in names.items()}


def _plan(options: AuditOptions, *, given: bool, others: bool) -> Plan:
    from disclique.audits import Plan, Snooper
    from disclique.records.coarsening import is_dial

    def number(value: object) -> float | None:
        return None if value is None else float(str(value))

    snooper = Snooper(
        given=given,
        overlap=number(options.overlap),
        size=None if options.known_size is None else int(options.known_size),
        others="file" if others else str(options.others),
        label_error=number(options.label_error) or 0.0,
        coordinate_error=options.coordinate_error,  # type: ignore[arg-type]
        seeds=int(options.seeds or 0),
    )
    return Plan(
        masks=tuple(list_of(options.mask)),
        snooper=snooper,
        repetitions=int(options.repetitions or 0),
        max_risk=number(options.max_risk),
        attacks=tuple(list_of(options.attack)),
        seed=int(options.seed or 0),
        alpha=number(options.alpha) or 0.0,
        budget=number(options.budget) or 0.0,
        missing=str(options.missing),
        scenario=str(options.scenario),
        max_risk_person=number(options.max_risk_person),
        person_trials=None if options.person_trials is None else int(options.person_trials),
        releases=int(options.releases or 0),
        linked=not options.unlinked,
        utility=str(options.utility),
        generalise=tuple(spec for spec in list_of(options.generalise) if is_dial(spec)),
        sensitivity=options.sensitivity is not False,
        thorough=bool(options.thorough),
    )
