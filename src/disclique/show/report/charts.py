"""The charts of a report as Vega-Lite specifications: they show what the result says and compute nothing.

Attacks and masks differ in colour *and* shape (Okabe and Ito's palette), so that no chart needs colour vision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from disclique.audits.exposure import list_group_names
from disclique.audits.facts import GroupRisk, SettingFacts
from disclique.audits.result import AuditResult
from disclique.locale import Texts
from disclique.masks.settings import Setting, compare_dials, measured_in, read_dial
from disclique.measures.utility import measures
from disclique.show.report.curves import draw_curve
from disclique.show.report.maps import draw_cells, draw_people
from disclique.show.report.risk_charts import (
    BLUE,
    ORANGE,
    draw_attacks,
    draw_limit,
    draw_looks,
    draw_risk,
    draw_sensitivity,
    hint_at_risk,
    risk_axis,
    tell_risk,
)
from disclique.show.report.vega import COLOURS, PERCENT, alt_library, data, plain
from disclique.values import Json


def charts(result: AuditResult, texts: Texts) -> dict[str, Json]:
    """Return every chart that the result has the data for, by the name of its place in the report, in a language."""
    found = {
        "risk": draw_risk(result, texts),
        "attacks": draw_attacks(result, texts),
        "front": _front(result, texts),
        "people": draw_people(result, texts),
        "cells": draw_cells(result, texts),
        "sensitivity": draw_sensitivity(result, texts),
        "curve": draw_curve(result, texts),
        **{f"groups-{by}": chart for by, chart in (_groups(result, texts) or {}).items()},
        **_dials(result, texts),
        "labels": _labels(result, texts),
    }
    return {name: chart for name, chart in found.items() if chart is not None}


def _front(result: AuditResult, texts: Texts) -> Json | None:
    """Risk against usefulness of every setting, and the line of those that no other one beats."""
    alt = alt_library()
    rows = [
        {
            **tell_risk(s, texts),
            "mask": s.mask,
            "use": s.usefulness,
            "front": texts.say("on the front") if s.pareto else texts.say("another one is better in both"),
            "pareto": bool(s.pareto),
        }
        for s in result.settings
        if s.usefulness is not None
    ]
    if not rows:
        return None
    looks = draw_looks(list(dict.fromkeys(str(row["mask"]) for row in rows)), "mask", texts.say("mask"))
    ranking = measures()[result.plan.utility]
    x = alt.X(
        "use:Q",
        title=texts.say("usefulness: {measure}", measure=texts.say(ranking.heading)),
        scale=alt.Scale(zero=False, padding=14),
        axis=alt.Axis(format=ranking.format, tickCount=5),
    )
    room = alt.Scale(domain=[-0.03, 1.03], nice=False)  # symbols at 0 and 1 are seen whole
    y = alt.Y("risk:Q", title=texts.say("could be found"), scale=room, axis=alt.Axis(format="%", tickCount=5))
    tooltip = [
        *hint_at_risk(texts),
        alt.Tooltip("use:Q", title=texts.say("usefulness"), format=".3f"),
        alt.Tooltip("front:N", title=texts.say("front")),
    ]
    base = alt.Chart(data(rows))
    zoom = alt.selection_interval(bind="scales", zoom="wheel![event.shiftKey]")
    on_front = base.transform_filter("datum.pareto")
    layers = [
        on_front.mark_line(color="#999999", strokeDash=[2, 3], strokeWidth=1.5).encode(x=x, y=y, order="use:Q"),
        base.mark_rule(opacity=0.55).encode(x=x, y=alt.Y("risk:Q"), y2="high:Q", color=looks["color"]),
        base.mark_point(size=110, filled=True, opacity=1).encode(x=x, y=y, tooltip=tooltip, **looks).add_params(zoom),
    ]
    limit = result.plan.max_risk
    if limit is not None:
        layers.append(draw_limit(limit, "y", texts))
    return plain(alt.layer(*layers).properties(height=360))


def _dials(result: AuditResult, texts: Texts) -> dict[str, Json]:
    """Risk along the dial of every mask, or of numbers, that has more than one setting."""
    families: dict[str, list[SettingFacts]] = {}
    for s in result.settings:
        if s.dial is not None:
            families.setdefault(s.family if s.family != s.spec else _tell_alike(s), []).append(s)
    panels: dict[str, Json] = {}
    for settings in families.values():
        if len(settings) < 2 or settings[0].dial is None:
            continue
        dials = compare_dials([Setting.parse(s.spec) for s in settings], settings[0].dial)
        rows = [
            tell_risk(s, texts) | {"dial": dial, "repetitions": s.repetitions}
            for dial, s in sorted(zip(dials, settings, strict=True), key=lambda one: one[0])
        ]
        title = _title(settings[0], settings[0].dial, texts)
        panels[f"dial-{len(panels) + 1}"] = _dial_panel(title, rows, result.plan.max_risk, texts)
    return panels


def _tell_alike(s: SettingFacts) -> str:
    """Return what settings on one axis have in common: all but where the dial stands."""
    setting, dial = Setting.parse(s.spec), s.dial or ""
    rest = [part.spec for part in setting.numbers.made if part.dial != dial]
    turned = setting.mask.name if rest == list(setting.numbers.parts) else setting.mask.spec
    return f"{turned} {dial} {measured_in(setting, dial)} | {setting.labels.spec} | {rest}"


def _title(s: SettingFacts, dial: str, texts: Texts) -> str:
    """Return what a dial is, its unit, and what else is done."""
    setting = Setting.parse(s.spec)
    unit = getattr(read_dial(setting, dial), "unit", "")
    behind = f" ({unit})" if unit else ""
    rest = [] if s.labels is None else [texts.say(s.labels.said)]
    turned = next((part for part in setting.numbers.made if part.dial == dial), None)
    if turned is None:
        rest += [] if s.numbers is None else [texts.say(s.numbers.said)]
        return ", ".join([f"{s.mask}: {dial}{behind}", *rest])
    rest += [texts.say(part.message) for part in setting.numbers.made if part is not turned]
    mask = [] if setting.mask.rigid else [setting.mask.brief]
    return ", ".join([*mask, f"{turned.pattern}: {turned.way}{behind}", *rest])


def _dial_panel(title: str, rows: Sequence[Mapping[str, Any]], limit: float | None, texts: Texts) -> Json:
    alt = alt_library()
    tooltip = [
        *hint_at_risk(texts),
        alt.Tooltip("repetitions:Q", title=texts.say("repetitions")),
    ]
    kind = "log" if all(row["dial"] > 0 for row in rows) else "linear"
    x = alt.X("dial:Q", scale=alt.Scale(type=kind, nice=False, padding=10), title=title)
    base = alt.Chart(data(rows)).encode(x=x, tooltip=tooltip)
    y = risk_axis(texts)
    layers = [
        base.mark_area(opacity=0.25, color=BLUE).encode(y=alt.Y("risk:Q"), y2="high:Q"),
        base.mark_line(color=BLUE).encode(y=y),
        base.mark_point(color=BLUE, filled=True, size=60, opacity=1).encode(y=y),
    ]
    if any(row["found"] is not None for row in rows):
        shown = base.mark_point(color=ORANGE, shape="diamond", filled=True, size=80, opacity=1)
        layers.append(shown.encode(y=alt.Y("found:Q")))
    if limit is not None:
        layers.append(draw_limit(limit, "y", texts))
    return plain(alt.layer(*layers).properties(height=200))


def _labels(result: AuditResult, texts: Texts) -> Json | None:
    """Risk against what the labels still tell, a line for each mask that was tried with several labels."""
    alt = alt_library()
    rows = [
        tell_risk(s, texts)
        | {
            "mask": Setting.parse(s.spec).mask.brief,
            "kept": s.labels.information,
            "said": texts.say(s.labels.said),
            "classes": s.labels.classes,
            "guess": s.guess,
        }
        for s in result.settings
        if s.labels is not None
    ]
    times = Counter(str(row["mask"]) for row in rows)
    masks = [mask for mask, often in times.items() if often > 1][: len(COLOURS)]
    rows = [row for row in rows if row["mask"] in masks]
    if not rows:
        return None
    looks = draw_looks(masks, "mask", texts.say("mask"))
    x = alt.X(
        "kept:Q",
        title=texts.say("information left in the labels (coarser to the right)"),
        scale=alt.Scale(domain=[1.02, -0.02], nice=False),
        axis=alt.Axis(format="%", tickCount=5),
    )
    y = risk_axis(texts)
    tooltip = [
        *hint_at_risk(texts),
        alt.Tooltip("said:N", title=texts.say("labels")),
        alt.Tooltip("classes:Q", title=texts.say("as many as equal classes"), format=".1f"),
        alt.Tooltip("guess:Q", title=texts.say("by guessing"), format=PERCENT),
    ]
    base = alt.Chart(data(rows)).encode(x=x, tooltip=tooltip)
    layers = [
        base.mark_tick(thickness=2, opacity=0.7, color="#999999", orient="horizontal").encode(y=alt.Y("guess:Q")),
        base.mark_rule(opacity=0.55).encode(y=alt.Y("risk:Q"), y2="high:Q", color=looks["color"]),
        base.mark_line(strokeWidth=1.5).encode(y=y, color=looks["color"]),
        base.mark_point(size=75, filled=True, opacity=1).encode(y=y, **looks),
    ]
    if result.plan.max_risk is not None:
        layers.append(draw_limit(result.plan.max_risk, "y", texts))
    return plain(alt.layer(*layers).properties(height=280))


def _groups(result: AuditResult, texts: Texts) -> dict[str, Json] | None:
    """Risk of single records by how many share their label and by density; the setting is chosen from a list."""
    alt = alt_library()
    rows = [vars(group) | {"group": texts.say(group.group)} for group in result.groups]
    if not rows:
        return None
    specs = list(dict.fromkeys(row["spec"] for row in rows))
    choice = alt.param(
        name="setting",
        value=result.verdict.setting,
        bind=alt.binding_select(options=specs, name=f"{texts.say('setting')}: "),
    )
    titles = {
        "label": texts.say("people who share the label"),
        "numbers": texts.say("people who share label and released numbers"),
        "density": texts.say("how far the nearest others are, the farthest first"),
    }
    orders = {
        "label": [group.size for group in result.file.label_groups],
        "numbers": list_group_names() if any(_shows_numbers(one, result) for one in result.groups) else [],
        "density": [
            texts.say(name)
            for name in sorted({one.group for one in result.groups if one.by == "density"}, key=_by_sparsity)
        ],
    }
    panels = []
    for by, order in orders.items():
        base = alt.Chart(data([row for row in rows if row["by"] == by])).transform_filter("datum.spec == setting")
        x = alt.X("group:N", sort=order, title=titles[by], axis=alt.Axis(labelAngle=-25 if by == "density" else 0))
        y = alt.Y("risk:Q", title=texts.say("identified"), scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
        tooltip = [
            alt.Tooltip("group:N", title=titles[by]),
            alt.Tooltip("records:Q", title=texts.say("records")),
            alt.Tooltip("risk:Q", title=texts.say("identified on average"), format=PERCENT),
            alt.Tooltip("highest:Q", title=texts.say("most exposed record"), format=PERCENT),
        ]
        bars = base.mark_bar(color="#56B4E9", width={"band": 0.5}).encode(x=x, y=y, tooltip=tooltip)
        tops = base.mark_point(shape="triangle-up", filled=True, size=60, color="#D55E00", opacity=1).encode(
            x=x, y=alt.Y("highest:Q"), tooltip=tooltip
        )
        if order:
            panels.append((by, alt.layer(bars, tops)))
    return {by: plain(panel.add_params(choice).properties(height=220)) for by, panel in panels} or None


def _shows_numbers(group: GroupRisk, result: AuditResult) -> bool:
    """Say whether a group is one by numbers under the setting that the verdict names."""
    return group.by == "numbers" and group.spec == result.verdict.setting


def _by_sparsity(name: str) -> int:
    order = ("farthest", "10-", "25-", "50-", "nearest")
    return next((k for k, start in enumerate(order) if name.startswith(start)), len(order))
