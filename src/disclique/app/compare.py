"""Two audits side by side: what was asked of each, what came out, and what may not be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from disclique.audits import AuditResult
    from disclique.audits.facts import SettingFacts
    from disclique.locale import Texts


@dataclass(frozen=True)
class OptionPair:
    """One thing that was asked, of both audits."""

    name: str
    values: tuple[str, str]

    @property
    def differs(self) -> bool:
        """Whether something else was asked of the other one."""
        return self.values[0] != self.values[1]


@dataclass(frozen=True)
class Comparison:
    """Two results side by side. ``doubts`` are the reasons for which their figures mean different things."""

    asked: tuple[OptionPair, ...]
    settings: tuple[tuple[str, SettingFacts | None, SettingFacts | None], ...]
    doubts: tuple[str, ...]

    @property
    def drawable(self) -> bool:
        """Whether the settings of both can be put into one picture: risk and usefulness mean the same."""
        return not {"scenario", "usefulness"} & set(self.doubts)


def compare(one: AuditResult, other: AuditResult, texts: Texts) -> Comparison:
    """Put two results side by side, in the language of the page."""
    first, second = _ask(one, texts), _ask(other, texts)
    rows = tuple(OptionPair(name, (said, second[name])) for name, said in first.items())
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
    return Comparison(rows, tuple((spec, found[0].get(spec), found[1].get(spec)) for spec in specs), tuple(doubts))


def _ask(result: AuditResult, texts: Texts) -> dict[str, str]:
    """Return what was asked, by name."""
    from disclique.show.formats import DASH, MODES, tell_asked

    say = texts.say
    about: dict[str, str | None] = {
        say("file"): result.file.name,
        say("records"): str(result.file.records),
        say("labels"): ", ".join(result.file.labels),
        say("what the snooper's file is"): say(MODES[result.snooper.mode]),
        **tell_asked(result.plan, texts),
        say("version of disclique"): result.versions.get("disclique"),
    }
    return {name: said or DASH for name, said in about.items()}
