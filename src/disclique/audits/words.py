"""The sentences of an audit: the verdict, what the snooper was assumed to know, and what the result does not show."""

from __future__ import annotations

from collections.abc import Sequence

from disclique.audits.cells import SAMPLED
from disclique.audits.plan import Plan
from disclique.measures.utility import describe
from disclique.model import Json
from disclique.quantities import percent

INSIDER = (
    "A snooper who knows the places of a few released records beforehand, and with them how the released map lies, "
    "could re-identify more"
)
NOTED = 0.02  # a difference in risk that is worth a sentence


def named(spec: str) -> str:
    """A setting as it is said in a sentence: ``the mask donut (min 200m, max 1km)``."""
    name, _, rest = spec.partition(":")
    return f"the mask {name}" + (f" ({', '.join(rest.split(',')).replace('=', ' ')})" if rest else "")


def verdict(settings: Sequence[Json], plan: Plan) -> Json:
    """Status, the setting that is spoken of, and two sentences for people who are not specialists."""
    safest = min(settings, key=lambda s: (s["risk"]["interval"][1], -(s["usefulness"] or 0)))
    riskiest = max(settings, key=lambda s: s["risk"]["value"])
    if plan.max_risk is None:
        return _verdict("measured", safest, _measured(riskiest, safest))
    enough = [s for s in settings if s["meets"]]
    if not enough:
        return _verdict("fails", safest, _fails(safest, plan.max_risk))
    best = max(enough, key=lambda s: (s["usefulness"] or 0, -s["risk"]["interval"][1]))
    return _verdict("meets", best, _meets(best, len(settings) - len(enough), plan))


def _verdict(status: str, setting: Json, sentences: tuple[str, str]) -> Json:
    return {"status": status, "setting": setting["spec"], "sentences": list(sentences)}


def _measured(riskiest: Json, safest: Json) -> tuple[str, str]:
    at_least = "at least " if riskiest["risk"]["lower_bound"] else ""
    first = (
        f"Released with {named(riskiest['spec'])}, a snooper would correctly re-identify {at_least}"
        f"{percent(riskiest['risk']['value'])} of the people they know, by the worst of the attacks tried."
    )
    if safest is riskiest:
        return first, "No limit was set (--max-risk), so the audit measures the risk and does not judge it."
    return first, (
        f"The safest release tried, {named(safest['spec'])}, still gives away {percent(safest['risk']['value'])} "
        f"(up to {percent(safest['risk']['interval'][1])}); no limit was set, so it is not said whether that is enough."
    )


def _fails(safest: Json, limit: float) -> tuple[str, str]:
    return (
        f"None of the releases tried keeps the limit of {percent(limit)}: even with the safest, "
        f"{named(safest['spec'])}, a snooper would re-identify {percent(safest['risk']['value'])} (up to "
        f"{percent(safest['risk']['interval'][1])}) of the people they know.",
        "Do not release the distances in any of these forms; consider stronger settings or coarser labels.",
    )


def _meets(best: Json, failing: int, plan: Plan) -> tuple[str, str]:
    risk = best["risk"]
    sure = "; one search was cut short, so this is a lower bound" if risk["lower_bound"] else ""
    limit = percent(plan.max_risk)
    first = (
        f"Released with {named(best['spec'])}, the worst attack tried re-identifies {percent(risk['value'])} "
        f"(up to {percent(risk['interval'][1])}) of the people the snooper knows and keeps the limit of {limit}{sure}."
    )
    rest = f"; {failing} other settings tried do not keep the limit" if failing > 1 else ""
    rest = "; one other setting tried does not keep the limit" if failing == 1 else rest
    return first, f"{describe(plan.utility, best['usefulness'])}{rest}."


def snooper_words(plan: Plan, facts: Json) -> list[str]:
    """What the snooper was assumed to know, a sentence each; ``facts`` has records, known and common."""
    snooper = plan.snooper
    said = {
        "given": "The snooper's file was given by the data holder: {known:g} records, {common:g} of them are released.",
        "drawn": "The snooper's file was drawn anew in each repetition: {common:g} of the {records} released people, "
        "at random, among {known:g} records in all.",
        "whole": "The snooper was assumed to hold the whole file, all {records} people with their true places: the "
        "worst case.",
    }[snooper.mode].format(**facts)
    others = {
        "synthetic": "The other people in it are synthetic: labels and places drawn from the file's own distribution.",
        "germany": "The other people in it are synthetic: homes from the settlement pattern of Germany, labels as in "
        "the file.",
        "file": "The other people in it come from a file that the data holder gave.",
    }
    lines = [said] + ([others[snooper.others]] if snooper.mode == "drawn" else [])
    lines.append(
        "The snooper knows how the release was made, the kind of mask and its setting, but not the random numbers "
        "drawn (Kerckhoffs' principle); and how many of the released people are in the file, so that even a doubtful "
        "alignment of the maps is followed."
    )
    lines.append(
        f"The snooper's labels are wrong in {percent(snooper.label_error)} of the values."
        if snooper.label_error
        else "The snooper's labels are free of errors."
    )
    lines.append(
        f"The snooper's coordinates have an error of {snooper.coordinate_error} (standard deviation on each axis)."
        if snooper.coordinate_error is not None
        else "The snooper's coordinates or distances are exact."
    )
    return lines


def _insider(settings: Sequence[Json]) -> list[str]:
    """A sentence about settings that protect only because the attacks cannot find out how the released map lies."""
    found = [
        f"{percent(s['insider'])} instead of {percent(s['risk']['value'])} with {s['spec']}"
        for s in settings
        if s["insider"] is not None and s["insider"] > s["risk"]["value"] + NOTED
    ]
    return [f"{INSIDER}: {'; '.join(found)}."] if found else []


def limits(settings: Sequence[Json], plan: Plan, facts: Json) -> list[str]:
    """What the result does not show."""
    lines = [
        "Only the attacks listed were tried. A cleverer one, or a snooper who knows more than assumed, may find more.",
        "The risk is a share of people, averaged over random draws of the mask. Single persons may be at much higher "
        "risk: see records.csv.",
        "Intervals hold for repeated draws on this file with this assumption about the snooper; they do not cover a "
        "different file or a different snooper.",
        f"Utility and the control were measured in at most {SAMPLED} repetitions of each setting.",
    ]
    cut = [s["spec"] for s in settings if any(a["lower_bound"] for a in s["attacks"])]
    if cut:
        lines.insert(
            0,
            f"LOWER BOUND: the clique search was cut short after {plan.budget:g} billion operations for "
            f"{', '.join(cut)}. The risk of these settings by clique and extend may be higher than shown.",
        )
    lines += _insider(settings)
    idle = {a["attack"]: a["why"] for s in settings for a in s["attacks"] if not a["applies"]}
    lines += [f"The attack {name} was not carried out everywhere: {why}" for name, why in idle.items()]
    if plan.max_risk is not None and facts["guess_share"] > plan.max_risk:
        lines.append(
            f"Guessing among people with the same label alone is right for {percent(facts['guess_share'])} of them, "
            "which is more than the limit: no mask of the distances can change that; coarser labels can."
        )
    if plan.repetitions == 1:
        lines.append("There was one repetition only: how much the risk varies between draws of the mask is not known.")
    if plan.snooper.others != "file" and plan.snooper.mode == "drawn":
        lines.append(
            "Synthetic people may be easier or harder to tell from the released ones than real neighbours are."
        )
    return lines
