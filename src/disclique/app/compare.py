"""Two audits side by side: what was asked of each, what came out, and what may not be compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from disclique.audits import AuditResult
    from disclique.audits.facts import Setting

NAMES = {  # what the parts of a plan are called on the page
    "file": "file",
    "records": "records",
    "labels": "labels",
    "masks": "masks",
    "generalise": "labels made coarser",
    "max_risk": "limit",
    "max_risk_person": "limit for every person",
    "scenario": "scenario",
    "mode": "what the snooper's file is",
    "overlap": "share of the people in the snooper's file",
    "size": "records in the snooper's file",
    "others": "the other people in it",
    "label_error": "wrong labels in it",
    "coordinate_error": "error of its coordinates",
    "seeds": "people known beforehand",
    "attacks": "attacks",
    "repetitions": "repetitions",
    "utility": "usefulness",
    "releases": "releases of the same people",
    "linked": "rows of releases are linked",
    "missing": "a missing label matches",
    "alpha": "detection probability",
    "budget": "budget of a search",
    "seed": "seed",
    "person_trials": "draws for every person",
    "sensitivity": "other assumptions are tried",
    "thorough": "every attack on every release",
    "version": "version of disclique",
}
SHARES = ("max_risk", "max_risk_person", "overlap", "label_error")


@dataclass(frozen=True)
class Asked:
    """One thing that was asked, of both audits."""

    name: str
    values: tuple[str, str]

    @property
    def differs(self) -> bool:
        """Whether something else was asked of the other one."""
        return self.values[0] != self.values[1]


@dataclass(frozen=True)
class Compared:
    """Two results side by side. ``doubts`` are the reasons for which their figures mean different things."""

    asked: tuple[Asked, ...]
    settings: tuple[tuple[str, Setting | None, Setting | None], ...]
    doubts: tuple[str, ...]

    @property
    def drawable(self) -> bool:
        """Whether the settings of both can be put into one picture: risk and usefulness mean the same."""
        return not {"scenario", "usefulness"} & set(self.doubts)


def compare(one: AuditResult, other: AuditResult) -> Compared:
    """Put two results side by side."""
    asked = [_ask(one), _ask(other)]
    rows = tuple(Asked(said, (asked[0][name], asked[1][name])) for name, said in NAMES.items())
    doubts = []
    if list(one.plan.inputs.values())[:1] != list(other.plan.inputs.values())[:1]:
        doubts.append("file")
    if one.plan.scenario != other.plan.scenario:
        doubts.append("scenario")
    if one.plan.utility != other.plan.utility:
        doubts.append("usefulness")
    if (one.plan.snooper, one.snooper.mode) != (other.plan.snooper, other.snooper.mode):
        doubts.append("snooper")
    specs = dict.fromkeys(s.spec for result in (one, other) for s in result.settings)
    found = [{s.spec: s for s in result.settings} for result in (one, other)]
    return Compared(rows, tuple((spec, found[0].get(spec), found[1].get(spec)) for spec in specs), tuple(doubts))


def _ask(result: AuditResult) -> dict[str, str]:
    """Return what was asked, by name, as texts."""
    plan = asdict(result.plan)
    about: dict[str, Any] = {**plan, **dict(plan["snooper"]), "mode": result.snooper.mode}
    about |= {"file": result.file.name, "records": result.file.records, "labels": result.file.labels}
    about["version"] = result.versions.get("disclique", "")
    return {name: _text(name, about.get(name)) for name in NAMES}


def _text(name: str, value: object) -> str:
    from disclique.quantities import percent

    if value is None or value == ():
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in SHARES and isinstance(value, (int, float)):
        return percent(value)
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
