"""The annex for the board: what was declared beside what was measured, on pages that can be signed."""

from __future__ import annotations

from disclique.audits.result import AuditResult
from disclique.checks import check_kind
from disclique.measures.utility import measures
from disclique.show.formats import QUANTILES, interval, measured, percent, title_of
from disclique.show.report.charts import charts
from disclique.show.report.page import MEANINGS, STATUS, render

SHOWN = ("cells", "sensitivity")
DECLARED = {
    "holder": "Data holder",
    "purpose": "Purpose of the release",
    "recipients": "Recipients",
    "basis": "Basis",
    "author": "Prepared by",
    "date": "Date of the decision",
}
SIGNED = ("Prepared by", "Data protection officer", "For the data holder")
POLICY = {"any": "an empty value matches any", "never": "an empty value matches nothing"}


def annex(result: AuditResult) -> str:
    """Render the annex of an audit for the board that decides, as one HTML page for printing.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], ids="id")
    >>> made = dq.audit(people, "affine", attacks="labels", repetitions=1, decision={"author": "A. Meyer"})
    >>> "A. Meyer" in dq.annex(made)
    True
    """
    check_kind(result, AuditResult, "result", "give the result of an audit, as read_result() reads it")
    drawn = {name: chart for name, chart in charts(result).items() if name in SHOWN}
    return render(
        "annex",
        result=result,
        status=STATUS[result.verdict.status],
        meaning=MEANINGS[result.plan.scenario],
        responsible={title: getattr(result.declared, name) for name, title in DECLARED.items()},
        assumed=_assumed(result),
        found=_measured(result),
        signed=SIGNED,
        charts=drawn,
    )


def _assumed(result: AuditResult) -> dict[str, str]:
    """Return what the holder declared about the snooper and the release."""
    plan, about = result.plan, result.plan.snooper
    overlap = {
        "given": "the known file was given",
        "whole": "the whole file (worst case)",
        "drawn": f"{percent(about.get('overlap'))} of the released people",
    }[result.snooper.mode]
    others = {"synthetic": "invented, like those of the file", "germany": "invented, as people live in Germany"}
    return {
        "Scenario": f"{plan.scenario}",
        "Known to the snooper": f"{overlap}: {result.snooper.common:.4g} people",
        "Records in the snooper's file": f"{result.snooper.known:.4g}",
        "Other people in it": others.get(str(about.get("others")), "from a file that was given")
        if result.snooper.mode == "drawn"
        else "none beyond that file",
        "Wrong labels": percent(about.get("label_error") or 0.0),
        "Error of the coordinates": about.get("coordinate_error") or "none",
        "Known beforehand": f"{about.get('seeds') or 0} people",
        "Missing labels": POLICY.get(plan.missing, plan.missing),
        "Releases": str(plan.releases),
        "Limit of the risk": "none was set" if plan.max_risk is None else percent(plan.max_risk),
        "Limit for a person": "none was set" if plan.max_risk_person is None else percent(plan.max_risk_person),
    }


def _measured(result: AuditResult) -> dict[str, str]:
    """Return what was measured of the setting that the verdict names."""
    setting = result.setting(result.verdict.setting)
    risk, oracle = setting.risk, setting.oracle
    found = {
        "Form of the release": setting.brief or setting.spec,
        "Risk, worst attack": f"{'≥ ' if risk.lower_bound else ''}{percent(risk.value)} by {risk.attack or 'none'}",
        "Interval": interval(risk.interval),
        "By guessing from labels": percent(setting.guess),
        "What the masked data give away (oracle)": "not modelled"
        if oracle is None
        else f"{percent(oracle.value)}, up to {percent(oracle.high)}",
        "Repetitions": str(setting.repetitions),
    }
    spread = next((one for one in result.people_risk if one.spec == setting.spec), None)
    if spread is not None:
        found["Risk of single people"] = ", ".join(
            f"{QUANTILES.get(name, name)} {percent(value)}" for name, value in spread.quantiles.items()
        )
        found["More likely identified than not"] = f"{spread.above_half} of {spread.people} people"
    else:
        found["Risk of single people"] = "not measured by the oracle"
    for name in dict.fromkeys((result.plan.utility, "spearman", "published")):
        measure, value = measures().get(name), (setting.utility or {}).get(name)
        if measure is not None and value is not None:
            found[title_of(measure, result.file.unit).capitalize()] = measured(
                value, measure, result.file.unit, setting.utility_error
            )
    return found
