"""The annex for the board: what was declared beside what was measured, on pages that can be signed."""

from __future__ import annotations

from disclique.arguments import check_kind
from disclique.audits.result import AuditResult
from disclique.locale import Texts, mark, texts_in
from disclique.measures.utility import measures
from disclique.show.pages import QUANTILES, measured, percent, tell_asked, title_of
from disclique.show.report.charts import charts
from disclique.show.report.page import MEANINGS, STATUS, render

CHARTS_SHOWN = ("cells", "sensitivity")
DECLARED = {
    "holder": mark("Data holder"),
    "purpose": mark("Purpose of the release"),
    "recipients": mark("Recipients"),
    "basis": mark("Basis"),
    "author": mark("Prepared by"),
    "date": mark("Date of the decision"),
}
SIGNED = (mark("Prepared by"), mark("Data protection officer"), mark("For the data holder"))


def annex(result: AuditResult, *, language: str = "en", library: str | None = None) -> str:
    """Render the annex of an audit for the board that decides, as one HTML page for printing, in English or German.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], ids="id")
    >>> made = dq.audit(people, "affine", attacks="labels", repetitions=1, decision={"author": "A. Meyer"})
    >>> "A. Meyer" in dq.annex(made), "Angreifer" in dq.annex(made, language="de")
    (True, True)
    """
    check_kind(result, AuditResult, "result", "wanted_audit_result")
    texts = texts_in(language)
    drawn = {name: chart for name, chart in charts(result, texts).items() if name in CHARTS_SHOWN}
    return render(
        "annex",
        language,
        library,
        result=result,
        status=STATUS[result.verdict.status],
        meaning=MEANINGS[result.plan.scenario],
        responsible={title: getattr(result.declared, name) for name, title in DECLARED.items()},
        assumed=_assumed(result, texts),
        found=_measured(result, texts),
        signed=SIGNED,
        charts=drawn,
    )


def _assumed(result: AuditResult, texts: Texts) -> dict[str, str]:
    """Return what the holder declared about the snooper and the release."""
    say, about = texts.say, result.snooper
    share = percent(result.plan.snooper.overlap, texts.language)
    known = {
        "given": say("the known file was given"),
        "whole": say("the whole file (worst case)"),
        "drawn": say("{share} of the released people", share=share),
    }[about.mode]
    common, records = (texts.number(f"{count:.4g}") for count in (about.common, about.known))
    asked, people = tell_asked(result.plan, texts, annex=True), say("{count} people", count=common)
    return {
        say("Known to the snooper"): f"{known}: {people}",
        say("Records in the snooper's file"): records,
        **{name: value for name, value in asked.items() if value is not None},
    }


def _measured(result: AuditResult, texts: Texts) -> dict[str, str]:
    """Return what was measured of the setting that the verdict names."""
    setting, say = result.setting(result.verdict.setting), texts.say
    risk, oracle = setting.risk, setting.oracle

    def share(of: float | None) -> str:
        return percent(of, texts.language)

    shown = say("none")
    if risk.found is not None:
        shown = say("{risk} by {attack}", risk=share(risk.found.value), attack=risk.found.attack)
    found = {
        say("Form of the release"): setting.brief or setting.spec,
        **({say("Numbers"): say(setting.numbers.said)} if setting.numbers is not None else {}),
        say("Risk: could be found"): say("{share}, at most {most}", share=share(risk.value), most=share(risk.high)),
        say("Shown in practice by an attack"): shown,
        say("By guessing from labels"): share(setting.guess),
        say("What the masked data give away (oracle)"): say("not modelled")
        if oracle is None
        else say("{share}, at most {most}", share=share(oracle.value), most=share(oracle.high)),
        say("Repetitions"): str(setting.repetitions),
    }
    spread = next((one for one in result.people_risk if one.spec == setting.spec), None)
    if spread is not None:
        found[say("Risk of single people")] = ", ".join(
            f"{say(QUANTILES.get(name, name))} {share(value)}" for name, value in spread.quantiles.items()
        )
        found[say("More likely identified than not")] = say(
            "{found} of {all} people", found=spread.above_half, all=spread.people
        )
    else:
        found[say("Risk of single people")] = say("not measured by the oracle")
    for name in dict.fromkeys((result.plan.utility, "spearman", "numbers", "published")):
        measure, value = measures().get(name), (setting.utility or {}).get(name)
        if measure is not None and value is not None:
            title = texts.say(title_of(measure, result.file.unit))
            found[title[0].upper() + title[1:]] = texts.number(
                measured(value, measure, result.file.unit, setting.utility_error)
            )
    return found
