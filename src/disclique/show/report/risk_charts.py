"""The charts of the risk: what each release gives away, what attacks showed of it, and under other assumptions.

What could be found is blue and solid, what attacks showed is an orange diamond, guessing is grey, and the limit dashed:
the same in every chart, so that none needs colour vision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from disclique.attacks import attack_names
from disclique.audits.facts import SensitivityPoint, SettingFacts
from disclique.audits.rates import AttackRisk
from disclique.audits.result import AuditResult
from disclique.locale import Texts
from disclique.masks.settings import Setting
from disclique.show.pages import figure, percent
from disclique.show.report.vega import COLOURS, PERCENT, SHAPES, alt_library, data, plain
from disclique.values import Json

BLUE, ORANGE, GREY, YELLOW = "#0072B2", "#D55E00", "#8a8a8a", "#E69F00"
_BAND = 30  # pixels for one setting
_ROW = 15  # pixels for one attack on one setting


def draw_looks(domain: Sequence[str], field: str, title: str) -> Json:
    """Colour and shape by one field, the same in every chart."""
    alt = alt_library()
    known = attack_names(every=True)
    places = [(known.index(name) if name in known else k + 1) % len(COLOURS) for k, name in enumerate(domain)]
    legend = alt.Legend(title=title, orient="bottom", columns=3, symbolSize=90, symbolOpacity=1)
    colours, shapes = ([values[k] for k in places] for values in (COLOURS, SHAPES))
    return {
        "color": alt.Color(f"{field}:N", scale=alt.Scale(domain=list(domain), range=colours), legend=legend),
        "shape": alt.Shape(f"{field}:N", scale=alt.Scale(domain=list(domain), range=shapes), legend=legend),
    }


def draw_limit(limit: float, axis: str, texts: Texts) -> Any:
    """Return the line that the risk must not cross."""
    alt = alt_library()
    encoding = {"x": alt.X("limit:Q")} if axis == "x" else {"y": alt.Y("limit:Q")}
    line = alt.Chart(data([{"limit": limit}])).mark_rule(strokeDash=[6, 4], strokeWidth=1.5, color=YELLOW)
    return line.encode(tooltip=[alt.Tooltip("limit:Q", title=texts.say("limit"), format=PERCENT)], **encoding)


def tell_risk(setting: SettingFacts, texts: Texts) -> Json:
    """Return the risk of a setting as a row of a chart's data."""
    found = setting.risk.found
    return {
        "setting": _name_row(setting),
        "risk": setting.risk.value,
        "high": setting.risk.high,
        "of": say_source(setting.risk.high_of, texts),
        "found": None if found is None else found.value,
        "attack": texts.say("none") if found is None else found.attack,
    }


def _name_row(setting: SettingFacts) -> str:
    """Return a setting as it stands beside an axis; of a file without distances, what is done to numbers."""
    spec = setting.brief or setting.spec
    _, bar, rest = spec.partition(" | ")
    alone = setting.numbers is not None and setting.numbers.alone and not Setting.parse(setting.spec).mask.withholds
    return rest if bar and alone else spec


def hint_at_risk(texts: Texts) -> list[Any]:
    """Return what is shown when one points at the risk of a setting."""
    alt = alt_library()
    return [
        alt.Tooltip("setting:N", title=texts.say("setting")),
        alt.Tooltip("risk:Q", title=texts.say("could be found"), format=PERCENT),
        alt.Tooltip("high:Q", title=texts.say("at most"), format=PERCENT),
        alt.Tooltip("of:N", title=texts.say("upper end of")),
        alt.Tooltip("found:Q", title=texts.say("shown in practice"), format=PERCENT),
        alt.Tooltip("attack:N", title=texts.say("by the attack")),
    ]


def say_source(source: str, texts: Texts) -> str:
    """Say what a figure comes from: the oracle, guessing, an insider, or an attack by its name."""
    words = {"oracle": texts.say("oracle"), "guess": texts.say("guessing"), "insider": texts.say("an insider")}
    words["dictionary"] = texts.say("a dictionary")
    return words.get(source, source)


def risk_axis(texts: Texts) -> Any:
    """Return the axis of the risk."""
    alt = alt_library()
    title, scale = texts.say("could be found"), alt.Scale(domain=[0, 1])
    return alt.Y("risk:Q", title=title, scale=scale, axis=alt.Axis(format="%"))


def _share(name: str, title: str) -> Any:
    alt = alt_library()
    domain = alt.Scale(domain=[0, 1], nice=False)
    return alt.X(f"{name}:Q", title=title, scale=domain, axis=alt.Axis(format="%", tickCount=5))


def _rows(field: str, order: Sequence[str]) -> Any:
    """Return an axis with a row for each name."""
    alt = alt_library()
    axis = alt.Axis(ticks=False, domain=False, grid=True, labelLimit=260)
    return alt.Y(f"{field}:N", sort=list(order), title=None, axis=axis)


def draw_risk(result: AuditResult, texts: Texts) -> Json:
    """Draw what each release gives away with its upper end, what attacks showed, guessing and the limit."""
    alt = alt_library()
    rows = [
        tell_risk(s, texts) | {"guess": s.guess, "chosen": s.spec == result.verdict.setting} for s in result.settings
    ]
    title = texts.say("of the known people")
    tooltip = [*hint_at_risk(texts), alt.Tooltip("guess:Q", title=texts.say("by guessing"), format=PERCENT)]
    y = _rows("setting", [str(row["setting"]) for row in rows])
    base = alt.Chart(data(rows)).encode(y=y, tooltip=tooltip)
    strong = alt.condition("datum.chosen", alt.value(0.95), alt.value(0.5))
    layers = [
        base.mark_bar(color=BLUE, height=12).encode(x=_share("risk", title), opacity=strong),
        base.mark_rule(color=BLUE, strokeWidth=2).encode(x=_share("risk", title), x2="high:Q"),
        base.mark_tick(color=BLUE, thickness=2, size=12).encode(x=_share("high", title)),
        base.mark_tick(color=GREY, thickness=3, size=20).encode(x=_share("guess", title)),
        base.mark_point(color=ORANGE, shape="diamond", filled=True, size=110, opacity=1).encode(
            x=_share("found", title)
        ),
    ]
    if result.plan.max_risk is not None:
        layers.append(draw_limit(result.plan.max_risk, "x", texts))
    return plain(alt.layer(*layers).properties(height=_BAND * len(rows)))


def draw_attacks(result: AuditResult, texts: Texts) -> Json | None:
    """Draw what single attacks found in the settings that were attacked, and the most that each found in a release."""
    alt = alt_library()
    rows = [
        tell_risk(s, texts)
        | {
            "attack": a.attack,
            "share": a.risk.value,
            "highest": a.highest,
            "named": a.named.value,
            "recall": a.recall.value,
            "precision": a.precision.value,
            "control": a.control,
            "releases": a.releases,
            "cut": _say_cut(a, texts),
            "seeded": max((one.value for one in s.seeded), default=None),
        }
        for s in result.settings
        for a in s.attacks
        if a.applies and a.risk.value is not None
    ]
    if not rows:
        return None
    order = list(dict.fromkeys(str(row["setting"]) for row in rows))
    attacks = list(dict.fromkeys(str(row["attack"]) for row in rows))
    say = texts.say
    tooltip = [
        alt.Tooltip("setting:N", title=say("setting")),
        alt.Tooltip("attack:N", title=say("attack")),
        alt.Tooltip("share:Q", title=say("found on average"), format=PERCENT),
        alt.Tooltip("highest:Q", title=say("most in one release"), format=PERCENT),
        alt.Tooltip("named:Q", title=say("most probable record is right"), format=PERCENT),
        alt.Tooltip("recall:Q", title=say("claimed rightly"), format=PERCENT),
        alt.Tooltip("precision:Q", title=say("claims that are right"), format=PERCENT),
        alt.Tooltip("control:Q", title=say("false claims in the control"), format=PERCENT),
        alt.Tooltip("risk:Q", title=say("could be found"), format=PERCENT),
        alt.Tooltip("releases:Q", title=say("releases")),
        alt.Tooltip("cut:N", title=say("search")),
    ]
    base = alt.Chart(data(rows)).encode(
        y=_rows("setting", order), yOffset=alt.YOffset("attack:N", sort=attacks), tooltip=tooltip
    )
    looks, title = draw_looks(attacks, "attack", say("attack")), say("found by the attack")
    layers = [
        base.mark_tick(thickness=6, opacity=0.4, color=BLUE).encode(x=_share("risk", title)),
        base.mark_tick(thickness=6, opacity=0.5, color=YELLOW).encode(x=_share("seeded", title)),
        base.mark_rule(strokeWidth=2).encode(x=_share("share", title), x2="highest:Q", color=looks["color"]),
        base.mark_point(size=75, filled=True, opacity=1).encode(x=_share("share", title), **looks),
    ]
    return plain(alt.layer(*layers).properties(height=len(order) * (len(attacks) * _ROW + 8)))


def _say_cut(attack: AttackRisk, texts: Texts) -> str:
    """Say whether work was cut short."""
    return texts.say("cut short: it may find more") if attack.cut else texts.say("nothing cut short")


def say_assumption(point: SensitivityPoint, result: AuditResult, texts: Texts) -> tuple[str, str]:
    """Return what is assumed of the snooper in a point of the sensitivity, and how much of it."""
    say, shown = texts.say, texts.number(figure(point.value))
    if point.varied == "strangers":
        return say("others in the snooper's file"), shown
    if point.varied == "coordinate-error":
        return say("error of the snooper's coordinates"), f"{shown} {result.file.unit}".strip()
    name = say("known to the snooper") if point.varied == "overlap" else say("wrong label values")
    return name, percent(point.value, texts.language)


def draw_sensitivity(result: AuditResult, texts: Texts) -> Json | None:
    """Draw the risk as declared and with one thing assumed otherwise, with the upper end and the limit."""
    alt = alt_library()
    found = result.sensitivity
    if found is None:
        return None
    own, other = texts.say("as declared"), texts.say("assumed otherwise")
    rows = [
        {
            "assumed": ": ".join(say_assumption(one, result, texts)),
            "risk": one.risk,
            "high": one.high,
            "said": own if one.declared else other,
        }
        for one in found.points
    ]
    legend = alt.Legend(title=None, orient="bottom")
    colours, shapes = ([values[1], values[3]] for values in (COLOURS, SHAPES))
    looks = {
        "color": alt.Color("said:N", scale=alt.Scale(domain=[own, other], range=colours), legend=legend),
        "shape": alt.Shape("said:N", scale=alt.Scale(domain=[own, other], range=shapes), legend=legend),
    }
    tooltip = [
        alt.Tooltip("assumed:N", title=texts.say("assumed")),
        alt.Tooltip("risk:Q", title=texts.say("could be found"), format=PERCENT),
        alt.Tooltip("high:Q", title=texts.say("at most"), format=PERCENT),
    ]
    base = alt.Chart(data(rows)).encode(y=_rows("assumed", [str(row["assumed"]) for row in rows]), tooltip=tooltip)
    title = texts.say("could be found")
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=_share("risk", title), x2="high:Q", color=looks["color"]),
        base.mark_point(size=80, filled=True, opacity=1).encode(x=_share("risk", title), **looks),
    ]
    if result.plan.max_risk is not None:
        layers.append(draw_limit(result.plan.max_risk, "x", texts))
    return plain(alt.layer(*layers).properties(height=26 * len(rows)))
