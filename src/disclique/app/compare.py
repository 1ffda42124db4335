"""Two audits side by side: what was asked of each, what came out, and what may not be compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from disclique.locale import mark

if TYPE_CHECKING:
    from disclique.audits import AuditResult
    from disclique.audits.facts import Setting

NAMES = {  # what the parts of a plan are called on the page
    "file": mark("file"),
    "records": mark("records"),
    "labels": mark("labels"),
    "masks": mark("masks"),
    "generalise": mark("labels made coarser"),
    "max_risk": mark("limit"),
    "max_risk_person": mark("limit for every person"),
    "scenario": mark("scenario"),
    "mode": mark("what the snooper's file is"),
    "overlap": mark("share of the people in the snooper's file"),
    "size": mark("records in the snooper's file"),
    "others": mark("the other people in it"),
    "label_error": mark("wrong labels in it"),
    "coordinate_error": mark("error of its coordinates"),
    "seeds": mark("people known beforehand"),
    "attacks": mark("attacks"),
    "repetitions": mark("repetitions"),
    "utility": mark("usefulness"),
    "releases": mark("releases of the same people"),
    "linked": mark("rows of releases are linked"),
    "missing": mark("a missing label matches"),
    "alpha": mark("detection probability"),
    "budget": mark("budget of a search"),
    "seed": mark("seed"),
    "person_trials": mark("draws for every person"),
    "sensitivity": mark("other assumptions are tried"),
    "thorough": mark("every attack on every release"),
    "version": mark("version of disclique"),
}
SHARES = ("max_risk", "max_risk_person", "overlap", "label_error")
WORD, NUMBER = "word", "number"  # kinds of answers that differ between languages; all others are names
NUMBERS = (*SHARES, "records", "size", "seeds", "repetitions", "releases", "alpha", "budget", "person_trials")
ANSWERS = {  # what answers of few words are called on the page
    "mode": {
        "given": mark("given"),
        "drawn": mark("drawn from the file"),
        "whole": mark("the whole file (worst case)"),
    },
    "others": {
        "synthetic": mark("invented, like those of the file"),
        "germany": mark("invented, as people live in Germany"),
        "file": mark("from a file that was given"),
    },
    "scenario": {
        "prosecutor": mark("prosecutor"),
        "journalist": mark("journalist"),
        "marketer": mark("marketer"),
    },
    "missing": {"any": mark("any value"), "never": mark("never")},
}
YES, NO = mark("yes"), mark("no")


@dataclass(frozen=True)
class Asked:
    """One thing that was asked, of both audits."""

    name: str
    values: tuple[str, str]
    kind: str = ""

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
    rows = tuple(Asked(said, (asked[0][name], asked[1][name]), _kind(name)) for name, said in NAMES.items())
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


def _kind(name: str) -> str:
    if name in (*ANSWERS, "linked", "sensitivity", "thorough"):
        return WORD
    return NUMBER if name in NUMBERS else ""


def _text(name: str, value: object) -> str:
    from disclique.messages import percent

    if value is None or value == ():
        return "–"
    if isinstance(value, bool):
        return YES if value else NO
    if name in ANSWERS:
        return ANSWERS[name].get(str(value), str(value))
    if name in SHARES and isinstance(value, (int, float)):
        return percent(value)
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
