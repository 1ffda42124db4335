"""Registers in an audit: strangers are drawn from one, once, and are an ordinary file from then on."""

from __future__ import annotations

from disclique.audits.definition import count_common
from disclique.audits.plan import Plan
from disclique.data.registers import Register, draw_people
from disclique.errors import InputError
from disclique.model import Microdata

POOL = 20  # times as many as are needed: every repetition draws its strangers among them


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


def refuse_register(known: Microdata | Register | None) -> Microdata | None:
    """Return the snooper's file; a register is refused, as most attacks and yardsticks need it at once."""
    if isinstance(known, Register):
        raise InputError(
            f"{known.name}: the register has {len(known):,} records, too many for a known file of an audit: let it be "
            "the others (--others with --overlap and --known-size), or attack single releases with it (disclique "
            "attack)"
        )
    return known
