"""The figures of a result as tables, written beside the report as CSV: aggregates only, nobody's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from disclique.audits.result import AuditResult


def tabulate_figures(result: AuditResult) -> dict[str, pd.DataFrame]:
    """Return the tables behind the report by the name of their file; those without a row are left out."""
    found = {
        "risk.csv": _risk(result),
        "people.csv": _people(result),
        "utility.csv": _utility(result),
        "sensitivity.csv": _sensitivity(result),
        "map.csv": [] if result.coarse_map is None else [vars(cell) for cell in result.coarse_map.cells],
    }
    return {name: pd.DataFrame(rows) for name, rows in found.items() if rows}


def _risk(result: AuditResult) -> list[dict[str, Any]]:
    """A row for each setting and attack, also for those that did not apply."""
    return [
        {
            "setting": s.spec,
            "attack": a.attack,
            "carried_out": a.applies,
            "why": a.why or a.cut_why,
            "risk": a.risk.value,
            "low": a.risk.low,
            "high": a.risk.high,
            "named_rightly": a.named.value,
            "recall": a.recall.value,
            "precision": a.precision.value,
            "control": a.control,
            "cut_short": a.cut,
            "repetitions": s.repetitions,
            "guess": s.guess,
            "oracle": None if s.oracle is None else s.oracle.value,
            "oracle_high": None if s.oracle is None else s.oracle.high,
            "setting_risk": s.risk.value,
            "setting_low": s.risk.interval[0],
            "setting_high": s.risk.interval[1],
            "lower_bound": s.risk.lower_bound,
            "meets": s.meets,
        }
        for s in result.settings
        for a in s.attacks
    ]


def _people(result: AuditResult) -> list[dict[str, Any]]:
    """How risk is spread over everybody, and its mean in groups."""
    everybody = [
        {"setting": one.spec, "of": "everybody", "group": "", "people": one.people, "mean": one.mean, **one.quantiles}
        for one in result.people_risk
    ]
    groups = [
        {
            "setting": one.spec,
            "of": one.by,
            "group": one.group,
            "people": one.records,
            "mean": one.risk,
            "highest": one.highest,
        }
        for one in result.groups
    ]
    return everybody + groups


def _utility(result: AuditResult) -> list[dict[str, Any]]:
    return [
        {"setting": s.spec, "measure": name, "value": value, "error": (s.utility_error or {}).get(name)}
        for s in result.settings
        for name, value in (s.utility or {}).items()
    ]


def _sensitivity(result: AuditResult) -> list[dict[str, Any]]:
    found = result.sensitivity
    return [] if found is None else [{"setting": found.spec, "by": found.by, **vars(one)} for one in found.points]
