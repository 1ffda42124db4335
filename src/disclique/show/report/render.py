"""The report of an audit from its result: no network, nothing unescaped, nothing computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from disclique.arguments import check_kind
from disclique.attacks import attack_names, attacks
from disclique.audits.facts import SettingFacts, TypicalMatches
from disclique.audits.known_figures import list_figures
from disclique.audits.rates import AttackRisk
from disclique.audits.result import AuditResult, tabulate_figures
from disclique.locale import Texts, texts_in
from disclique.measures.utility import Measure, measures
from disclique.messages import Message, mark
from disclique.show.pages import DASH, MODES, SPACE, figure, percent, tell_asked
from disclique.show.report.charts import charts
from disclique.show.report.common_parts import compose_input, compose_sensitivity
from disclique.show.report.curves import name_curves
from disclique.show.report.page import MEANINGS, STATUS, name_numbers, render
from disclique.spaces.base import MAPS
from disclique.specs import parse_spec

MAIN = (
    "neighbours",
    "spearman",
    "pearson",
    "rand_index",
    "linkage",
    "numbers",
    "published",
    "bias",
    "displacement_mean",
)
BESIDE = 5  # settings beside each other in the table of all measures, as many as fit a page


def report(result: AuditResult, *, figures: str = "", language: str = "en", library: str | None = None) -> str:
    """Render the report of an audit as one HTML page in English or German.

    ``figures`` is the folder beside it that has its tables as CSV; ``library`` the script that draws the charts, if it
    was put together before.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> dq.report(dq.audit(people, "affine", attacks="labels", repetitions=1))[:15]
    '<!doctype html>'
    """
    check_kind(result, AuditResult, "result", "wanted_audit_result")
    there = {name for s in result.settings for name, value in (s.utility or {}).items() if value is not None}
    taken = [measure for measure in measures().values() if measure.name in there]
    done, texts = list_what_ran(result), texts_in(language)
    return render(
        "report",
        language,
        library,
        has_map=result.file.distances in MAPS,
        mapped=any(s.oracle is not None for s in result.settings),
        meaning=MEANINGS[result.plan.scenario],
        seeds=sorted({one.seeds for s in result.settings for one in s.seeded}),
        done=done,
        grid=_attacks_by_setting(result, texts),
        curve=_curve(result.settings, texts),
        useful=partial(_say_usefulness, measure=measures()[result.plan.utility], texts=texts),
        labelled=[s for s in result.settings if s.labels is not None],
        result=result,
        look=result.inspection,
        input=compose_input(result, texts),
        sensitivity=compose_sensitivity(result, texts),
        status=STATUS[result.verdict.status],
        measures=taken,
        main=[measures()[name] for name in MAIN if name in there],
        strips=_strips(result.settings),
        known_figures=list_figures(result.figures),
        charts=charts(result, texts),
        schematic=_schematic(result.matches),
        repeat=write_repeat(result, texts),
        figures=[f"{figures}/{name}" for name in tabulate_figures(result)] if figures else [],
    )


@dataclass(frozen=True)
class WhatRan:
    """The attacks by what became of them: carried out, not with the reason, and not asked for."""

    busy: dict[str, Any]
    idle: list[tuple[Message | None, list[str]]]
    left: tuple[str, ...]

    @property
    def by_agreement(self) -> bool:
        """True if an attack ran that asks which distances agree."""
        return any(kind is not None and kind.by_agreement for kind in self.busy.values())

    def ran(self, name: str) -> bool:
        """Say whether an attack was carried out, with whatever parameters."""
        return any(parse_spec(spec).name == name for spec in self.busy)


def list_what_ran(result: AuditResult) -> WhatRan:
    """Return what became of every attack, over all settings."""
    ran = [one.attack for s in result.settings for one in s.attacks if one.applies]
    rest = [one for s in result.settings for one in s.attacks if not one.applies and one.attack not in ran]
    asked = {parse_spec(spec).name for spec in result.plan.attacks}
    return WhatRan(
        {spec: attacks().get(parse_spec(spec).name) for spec in dict.fromkeys(ran)},
        _by_reason(rest),
        tuple(name for name in attack_names() if name not in asked),
    )


def _by_reason(idle: list[AttackRisk]) -> list[tuple[Message | None, list[str]]]:
    """Return the attacks that did not apply, those of one reason together."""
    found: dict[Message | None, list[str]] = {}
    for name, why in {one.attack: one.why for one in idle}.items():
        found.setdefault(why, []).append(name)
    return list(found.items())


@dataclass(frozen=True)
class Cell:
    """What became of one attack on one setting, in a few signs, and the number of the note that explains it."""

    text: str
    note: int | None = None
    worst: bool = False


@dataclass
class Grid:
    """Attacks by setting, and the notes below."""

    names: list[str]
    rows: list[tuple[SettingFacts, list[Cell]]] = field(default_factory=list)
    said: dict[Message, Message] = field(default_factory=dict)

    def note(self, code: str, example: Message | None = None, **values: object) -> int:
        """Return the number of a note, the same for the same fact; its first example goes with it."""
        note = Message(code, values)
        self.said.setdefault(note, note if example is None else Message("note_with_example", note=note, why=example))
        return list(self.said).index(note) + 1

    @property
    def notes(self) -> list[Message]:
        """The notes in the order of their numbers."""
        return list(self.said.values())


def _attacks_by_setting(result: AuditResult, texts: Texts) -> Grid:
    """Lay out which attack did what to which setting, with the reasons where one did nothing or not all."""
    grid = Grid(list(dict.fromkeys(one.attack for s in result.settings for one in s.attacks)))
    for s in result.settings:
        by = {one.attack: one for one in s.attacks}
        if not by:
            continue
        grid.rows.append((s, [_cell(grid, s, by.get(name), texts) for name in grid.names]))
    return grid


def _cell(grid: Grid, setting: SettingFacts, one: AttackRisk | None, texts: Texts) -> Cell:
    if one is None:
        return Cell("–", grid.note(mark("not_tried_on_this_setting")))
    if not one.applies:
        return Cell(texts.say("n/a"), grid.note(mark("does_not_apply_because"), why=one.why))
    note = None
    if one.cut:
        note = grid.note(mark("attack_was_cut"), one.cut_why, attack=one.attack, some=one.cut, all=one.releases)
    elif one.why is not None:
        note = grid.note("attack_and_why", attack=one.attack, why=one.why)
    elif one.doubtful:
        note = grid.note(mark("attack_was_doubtful"), attack=one.attack, some=one.doubtful, all=one.releases)
    best = setting.risk.found is not None and one.attack == setting.risk.found.attack
    return Cell(percent(one.risk.value, texts.language), note, best)


@dataclass(frozen=True)
class Curve:
    """What could be found by those who know so many pairs beforehand, of the settings whose secret is a key.

    A row has the setting, by what is found, and the shares by how many pairs are known.
    """

    seeds: list[int]
    rows: list[tuple[SettingFacts, str, dict[int, float]]]


def _curve(settings: tuple[SettingFacts, ...], texts: Texts) -> Curve:
    rows = [
        (s, way, {one.seeds: one.value for one in points}) for s in settings for way, points in name_curves(s, texts)
    ]
    return Curve(sorted({seeds for _, _, shares in rows for seeds in shares}), rows)


def _say_usefulness(setting: SettingFacts, measure: Measure, texts: Texts) -> str:
    """Write the usefulness of a setting, as a share where its measure is one."""
    if setting.usefulness is None:
        return DASH
    if measure.format == "%":
        return percent(setting.usefulness, texts.language)
    return texts.number(figure(setting.usefulness))


def _strips(settings: tuple[SettingFacts, ...]) -> list[tuple[SettingFacts, ...]]:
    """Return the settings whose usefulness was measured, a few at a time."""
    there = [s for s in settings if s.utility]
    return [tuple(there[k : k + BESIDE]) for k in range(0, len(there), BESIDE)]


def _schematic(matches: TypicalMatches | None) -> list[dict[str, Any]]:
    """Return the lines of the picture of typical matches: from a released record to the person it was taken for.

    A line to or from somebody who is not shown ends half way.
    """
    if matches is None:
        return []
    rows = []
    for record, person in matches.lines:
        start, end = (96, record), (544, person)
        if person < 0:
            end = (250, record)
        elif record < 0:
            start = (390, person)
        kind = "correct" if record == person else "wrong"
        rows.append(
            {
                "kind": kind,
                "half": person < 0 or record < 0,
                "from_x": start[0],
                "from": start[1],
                "to_x": end[0],
                "to": end[1],
            }
        )
    return rows


def write_repeat(result: AuditResult, texts: Texts) -> str:
    """Write command, plan, seed, hashes and versions, a line each."""
    plan, say = result.plan, texts.say
    lines = [say("# the call"), result.command or say("(not recorded)"), "", say("# the plan")]
    about: dict[str, str | None] = {say("records"): str(result.file.records)}
    about |= {say("labels"): ", ".join(result.file.labels), say("numbers"): name_numbers(result.file)}
    about |= {say("what the snooper's file is"): say(MODES[result.snooper.mode]), **tell_asked(plan, texts)}
    lines += [f"{name}: {value}" for name, value in about.items() if value]
    lines += ["", say("# the input (SHA-256)")]
    lines += [f"{digest}  {name}" for name, digest in plan.inputs.items()] or [say("given from Python, no file")]
    lines += ["", say("# versions"), ", ".join(f"{name} {version}" for name, version in result.versions.items())]
    seconds = texts.number(f"{result.seconds:g}")
    lines.append("")
    lines.append(
        say(
            "# made {made}, {seconds} s; result version {version}",
            made=result.made,
            seconds=seconds,
            version=result.version,
        )
    )
    return "\n".join(lines).replace(SPACE, " ")
