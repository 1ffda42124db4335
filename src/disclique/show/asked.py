"""What was asked of an audit, as pages say it: a name and a value for every row of the table of options."""

from __future__ import annotations

from typing import Any

from disclique.locale import Texts, mark
from disclique.options.audits import PLAN_ROWS, SNOOPER_ROWS, PlanFields
from disclique.options.table import Told
from disclique.show.formats import percent

MODES = {  # what the snooper's file is
    "given": mark("given"),
    "drawn": mark("drawn from the file"),
    "whole": mark("the whole file (worst case)"),
}


def tell_asked(plan: PlanFields, texts: Texts, *, annex: bool = False) -> dict[str, str | None]:
    """Return what was asked by the names of the options, None where nothing was; in the annex those of a board only."""
    found: dict[str, str | None] = {}
    asked: list[tuple[Any, Any]] = [(row, plan) for row in PLAN_ROWS.values()]
    for row, of in [*asked, *((row, plan.snooper) for row in SNOOPER_ROWS.values())]:
        told: Told | None = row.told
        if told is None or (annex and not told.annex):
            continue
        value = getattr(of, row.name)
        if value in (None, ()) or (told.goes_with and getattr(of, told.goes_with) is None):
            found[texts.say(told.name)] = texts.say(told.none) if told.none else None
        else:
            found[texts.say(told.name)] = _tell(told, value, texts)
    return found


def _tell(told: Told, value: Any, texts: Texts) -> str:
    if isinstance(value, bool):
        return texts.say(mark("yes")) if value else texts.say(mark("no"))
    if told.words:
        return texts.say(told.words.get(value, value))
    if told.share:
        return texts.number(percent(value))
    if isinstance(value, float):
        return texts.number(f"{value:g}")
    return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
