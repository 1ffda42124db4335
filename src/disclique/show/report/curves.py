"""The curves of encodings: what is found by those who know so many pairs, by distances and by learned code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from disclique.audits.facts import SettingFacts
from disclique.audits.rates import InsiderShare
from disclique.audits.result import AuditResult
from disclique.locale import Texts
from disclique.show.report.risk_charts import draw_limit
from disclique.show.report.vega import COLOURS, PERCENT, alt_library, data, plain
from disclique.values import Json


def name_curves(setting: SettingFacts, texts: Texts) -> list[tuple[str, Sequence[InsiderShare]]]:
    """Return the curves of a setting, with what they rest on in words."""
    oracle = setting.oracle
    if oracle is None:
        return []
    both = ((texts.say("by distances"), oracle.curve), (texts.say("by learned code"), oracle.code_curve))
    return [(way, points) for way, points in both if points]


def draw_curve(result: AuditResult, texts: Texts) -> Json | None:
    """Draw the share of the others who are found over the pairs known, a colour a setting, and the limit.

    By distances the line is dashed and its symbols are circles, by learned code it is solid with diamonds.
    """
    alt = alt_library()
    rows: list[dict[str, Any]] = [
        {"setting": s.brief or s.spec, "way": way, "pairs": one.seeds, "share": one.value, "place": place}
        for s in result.settings
        for way, points in name_curves(s, texts)
        for place, one in enumerate(points)
    ]
    if not rows:
        return None
    say = texts.say
    settings = list(dict.fromkeys(str(row["setting"]) for row in rows))
    ways = [say("by distances"), say("by learned code")]
    order = [str(pairs) for pairs in sorted({int(row["pairs"]) for row in rows})]
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=320, title=None)
    colours = [COLOURS[1 + k % (len(COLOURS) - 1)] for k in range(len(settings))]
    axis = alt.X("pairs:O", sort=order, title=say("known pairs of a person and a record"), axis=alt.Axis(labelAngle=0))
    share = alt.Y(
        "share:Q",
        title=say("of the other people could be found"),
        scale=alt.Scale(domain=[-0.03, 1.03], nice=False),  # symbols at 0 and 1 are seen whole
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    looks = {
        "color": alt.Color("setting:N", scale=alt.Scale(domain=settings, range=colours), legend=legend),
        "strokeDash": alt.StrokeDash("way:N", scale=alt.Scale(domain=ways, range=[[5, 4], [1, 0]]), legend=legend),
    }
    shape = alt.Shape("way:N", scale=alt.Scale(domain=ways, range=["circle", "diamond"]), legend=legend)
    tooltip = [
        alt.Tooltip("setting:N", title=say("setting")),
        alt.Tooltip("way:N", title=say("by what")),
        alt.Tooltip("pairs:Q", title=say("known pairs")),
        alt.Tooltip("share:Q", title=say("could be found"), format=PERCENT),
    ]
    base = alt.Chart(data(rows)).encode(x=axis, y=share, tooltip=tooltip)
    layers = [
        base.mark_line(strokeWidth=2).encode(**looks),
        base.mark_point(size=70, filled=True, opacity=1).encode(color=looks["color"], shape=shape),
    ]
    if result.plan.max_risk is not None:
        layers.append(draw_limit(result.plan.max_risk, "y", texts))
    return plain(alt.layer(*layers).properties(height=260))
