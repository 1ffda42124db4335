"""Registers in an audit: of one with millions of people some are kept, and are an ordinary file from then on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from disclique.audits.definition import count_common
from disclique.audits.known_file import join_files
from disclique.audits.plan import Plan
from disclique.errors import InputError
from disclique.memory import default_memory, say_memory
from disclique.model import Microdata
from disclique.records.registers import Register, draw_people, find_people

POOL = 20  # times as many as are needed: every repetition draws its strangers among them
STRANGERS = 100_000  # people of a known register who are not released, at the most; or as many as are released
PER_PERSON = 20_000  # bytes that an audit takes for each of them, in all its processes


def hold_others(others: Microdata | Register | None, target: Microdata, plan: Plan) -> Microdata | None:
    """Return the people outside the release; of a register some of them, drawn by the chance of the audit.

    With a size of the snooper's file each repetition draws its own strangers among them; without one the file is as
    large as the release.
    """
    if not isinstance(others, Register):
        return others
    size, common = plan.snooper.size, count_common(plan.snooper.overlap or 0.0, len(target))
    wanted = len(target) - common if size is None else POOL * max(size - common, 0)
    return draw_people(others, max(wanted, 1), plan.chance.rng("register of others"), without=target.ids)


def hold_known(
    known: Microdata | Register | None, target: Microdata, plan: Plan, memory: int | None = None
) -> tuple[Microdata | None, str]:
    """Return the snooper's file and, if it is a part of a register, the sentence that says which.

    Everybody who is released is kept, and of the others a sample. A snooper with this file is one with the whole
    register who was told besides that those left out are not in the release. That makes people easier to find, never
    harder: what an audit says of the part holds for the whole.
    """
    if not isinstance(known, Register):
        return known, ""
    if known.layout.id is None:
        raise InputError(f"{known.name}: name the column that says who is who in both files")
    rows = find_people(known, target.ids, known.layout.id)
    if not rows:
        raise InputError(
            f"{known.name}: no id in common with {target.name}: nobody could be re-identified, so there is nothing to "
            "measure"
        )
    allowed = default_memory() if memory is None else memory
    most = min(max(STRANGERS, len(target)), allowed // PER_PERSON)
    if most < len(target):
        raise InputError(
            f"memory = {say_memory(allowed)}: too little for the people of a register around {len(target):,} records; "
            f"{say_memory(len(target) * PER_PERSON)} are needed at the least"
        )
    released = known.take(np.sort(np.fromiter(rows.values(), np.int64, len(rows))))
    others = draw_people(known, most, plan.chance.rng("register that is known"), without=target.ids)
    said = (
        f"{known.name} has {len(known):,} records, of which {len(released):,} released people and {len(others):,} "
        "others, drawn at random, are kept in the snooper's file: people are easier to find in a part of it than in "
        "the whole, so that the risk is not understated"
    )
    return replace(join_files(released, others), name=known.name), said
