"""The sentences of an audit: the verdict, what the snooper was assumed to know, and what the result does not show."""

from __future__ import annotations

from collections.abc import Sequence

from disclique.attacks import parse_attack
from disclique.audits.definition import Audit
from disclique.audits.plan import MOST_EFFORT, RAISE, Plan
from disclique.audits.rates import AttackRisk, SettingRisk
from disclique.audits.result import FAILS, MEASURED, MEETS, UNPROVEN, Setting, SnooperFacts, Verdict
from disclique.audits.unit import SAMPLED
from disclique.data.kinds import EARTH, ENCODINGS, MAPS, MATRIX, PLANE, RECORDS, TEXTS, VECTORS
from disclique.measures.utility import describe
from disclique.quantities import percent

NOBODY = "From distances alone nobody can be invented"
INSIDER = (
    "A snooper who knows the places of a few released records beforehand, and with them how the released map lies, "
    "could re-identify more"
)
SEEDED = (
    "An insider who knows of some released people beforehand which records they are could re-identify more of the "
    "others"
)
NAMED = (
    "The attacks that give probabilities claim only what is more probable than not. A snooper who names the most "
    "probable record for everybody, many of them wrongly, would on average be right for up to"
)
NOTED = 0.02  # a difference in risk that is worth a sentence


def name_setting(setting: Setting) -> str:
    """Name a setting as it is said in a sentence: ``the mask donut (min 200m, max 1km)``."""
    name, _, rest = (setting.brief or setting.spec).partition(":")
    return f"the mask {name}" + (f" ({', '.join(rest.split(',')).replace('=', ' ')})" if rest else "")


def decide(settings: Sequence[Setting], plan: Plan) -> Verdict:
    """Decide, and say it in two sentences for people who are not specialists."""
    safest = min(settings, key=lambda s: (s.risk.interval[1], -(s.usefulness or 0)))
    riskiest = max(settings, key=lambda s: s.risk.value)
    if plan.max_risk is None:
        return Verdict(MEASURED, safest.spec, _measured(riskiest, safest))
    enough = [s for s in settings if s.meets]
    if enough:
        best = max(enough, key=lambda s: (s.usefulness or 0, -s.risk.interval[1]))
        return Verdict(MEETS, best.spec, _meets(best, settings, plan))
    unsettled = [s for s in settings if s.open]
    if unsettled:
        best = min(unsettled, key=lambda s: s.risk.interval[1])
        return Verdict(UNPROVEN, best.spec, _unproven(best, plan.max_risk))
    return Verdict(FAILS, safest.spec, _fails(safest, plan.max_risk))


def _measured(riskiest: Setting, safest: Setting) -> tuple[str, str]:
    at_least = "at least " if riskiest.risk.lower_bound else ""
    first = (
        f"Released with {name_setting(riskiest)}, a snooper would correctly re-identify {at_least}"
        f"{percent(riskiest.risk.value)} of the people they know, by the worst of the attacks tried."
    )
    if safest is riskiest:
        return first, "No limit was set (--max-risk), so the audit measures the risk and does not judge it."
    bound = "at least " if safest.risk.lower_bound else ""
    return first, (
        f"The safest release tried, {name_setting(safest)}, still gives away {bound}{percent(safest.risk.value)} "
        f"(up to {percent(safest.risk.interval[1])}); no limit was set, so it is not said whether that is enough."
    )


def _fails(safest: Setting, limit: float) -> tuple[str, str]:
    return (
        f"None of the releases tried keeps the limit of {percent(limit)}: even with the safest, "
        f"{name_setting(safest)}, a snooper would re-identify {percent(safest.risk.value)} (up to "
        f"{percent(safest.risk.interval[1])}) of the people they know.",
        "Do not release the file in any of these forms; consider stronger settings or coarser labels.",
    )


def _unproven(best: Setting, limit: float) -> tuple[str, str]:
    if not best.risk.lower_bound:
        insider = max(best.seeded, key=lambda one: one.value)
        return (
            f"No release tried is shown to keep the limit of {percent(limit)}: with {name_setting(best)} the worst "
            f"attack re-identifies {percent(best.risk.value)}, but only for want of a way in; an insider who knows "
            f"{insider.seeds} of the people beforehand finds {percent(insider.value)} of the others.",
            "Do not release on this result: another way in may be found; consider stronger settings.",
        )
    return (
        f"No release tried is shown to keep the limit of {percent(limit)}: with {name_setting(best)} the worst "
        f"attack re-identifies {percent(best.risk.value)}, but {_and(best.risk.cut)} had to be cut short and might "
        f"find up to {percent(best.risk.interval[1])}.",
        f"Do not release on this result; {_advice(best.risk.cut)}consider stronger settings or coarser labels.",
    )


def _advice(cut: Sequence[str]) -> str:
    """Advise more work where the attacks that were cut short have a budget."""
    kinds = [parse_attack(spec).kind for spec in cut]
    return "give the searches more work (--budget), or " if any(kind.by_agreement for kind in kinds) else ""


def _meets(best: Setting, settings: Sequence[Setting], plan: Plan) -> tuple[str, ...]:
    risk, limit = best.risk, percent(plan.max_risk)
    first = (
        f"Released with {name_setting(best)}, the worst attack tried re-identifies {percent(risk.value)} "
        f"(up to {percent(risk.interval[1])}) of the people the snooper knows and keeps the limit of {limit}."
    )
    limit_kept = [
        s.meets or (s.repetitions < plan.repetitions and s.risk.most <= (plan.max_risk or 0)) for s in settings
    ]
    failing = len(settings) - sum(limit_kept)
    rest = f"; {failing} other settings tried do not keep the limit" if failing > 1 else ""
    rest = "; one other setting tried does not keep the limit" if failing == 1 else rest
    if any(s.open for s in settings):
        rest = f"; {failing} other settings do not keep the limit or are not shown to"
    use = f"{describe(plan.utility, best.usefulness)}{rest}."
    lost = [one.attack for one in best.attacks if one.doubtful and parse_attack(one.attack).kind.by_seeds]
    if best.insider is None and lost:
        return (
            first,
            use,
            f"{_and(lost)} found no way to lay the two files on each other: a search that failed, not a proof that "
            "there is none.",
        )
    if best.ceiling is None or best.ceiling <= (plan.max_risk or 0.0):
        return first, use
    return (
        first,
        use,
        "This counts claims that a snooper can hold to be more probable than not. Naming the most probable record for "
        f"everybody, many of them wrongly, could be right for up to {percent(best.ceiling)}.",
    )


def explain_settled(risk: SettingRisk, attacks: Sequence[AttackRisk]) -> str:
    """Say why work that was cut short does not matter; empty if nothing was cut short or if it matters."""
    if not risk.cut or risk.lower_bound:
        return ""
    most = max(one.most.high or 0.0 for one in attacks if one.cut)
    return f"{_and(risk.cut)} had to be cut short, but could not have found more than {percent(most)}"


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) if names else "an attack"


_HELD = {  # what the snooper holds of people, and of what it is free, by the kind of the file
    EARTH: ("their true places", "The snooper's coordinates are exact."),
    PLANE: ("their true places", "The snooper's coordinates are exact."),
    VECTORS: ("their true vectors", "The snooper's vectors are exact."),
    RECORDS: ("their true values", "The snooper's values are exact."),
    TEXTS: ("their true texts", "The snooper's texts are free of errors."),
    ENCODINGS: ("their true encodings", "The snooper's encodings are free of errors."),
    MATRIX: ("the true distances between them", "The snooper's distances are exact."),
}
_BETWEEN = "each lies between a record of the file and one of its nearest, with the label of another record"
_INVENTED = {
    EARTH: "labels and places drawn from the file's own distribution",
    PLANE: "labels and places drawn from the file's own distribution",
    VECTORS: _BETWEEN,
    RECORDS: _BETWEEN,
    TEXTS: "each is put together from words of several texts of the file, equal to none of them, with the label of "
    "another record",
}
_RANGES = (
    "Numbers were scaled by their range in the holder's file on both sides, as if the snooper knew it; by the range of "
    "another file the same people lie differently far apart."
)


def describe_snooper(audit: Audit, facts: SnooperFacts) -> list[str]:
    """Say what the snooper was assumed to know, a sentence each."""
    snooper, kind = audit.plan.snooper, audit.file_kind
    said = {
        "given": "The snooper's file was given by the data holder: {known:g} records, {common:g} of them are released.",
        "drawn": "The snooper's file was drawn anew in each repetition: {common:g} of the {records} released people, "
        "at random, among {known:g} records in all.",
        "whole": "The snooper was assumed to hold the whole file, all {records} people with {held}: the worst case.",
    }[snooper.mode].format(
        records=facts.records, known=facts.known, common=facts.common + snooper.seeds, held=_HELD[kind][0]
    )
    lines = [said] + ([_describe_others(audit)] if snooper.mode == "drawn" else [])
    if snooper.seeds:
        lines.append(
            f"The snooper is an insider who knows of {snooper.seeds} released people, drawn at random, which records "
            f"they are; these do not count, and the risk is a share of the {facts.common:g} others."
        )
    lines.append(
        "The snooper knows how the release was made, the kind of mask and its setting, but not the random numbers "
        "drawn (Kerckhoffs' principle); and how many of the released people are in the file, so that even a doubtful "
        f"alignment{' of the maps' if kind in MAPS else ''} is followed."
    )
    lines.append(
        f"The snooper's labels are wrong in {percent(snooper.label_error)} of the values."
        if snooper.label_error
        else "The snooper's labels are free of errors."
    )
    lines.append(
        f"The snooper's coordinates have an error of {snooper.coordinate_error} (standard deviation on each axis)."
        if snooper.coordinate_error is not None
        else _HELD[kind][1]
    )
    return lines + ([_RANGES] if audit.by_gower else [])


def _describe_others(audit: Audit) -> str:
    """Say where the people come from who are not in the release."""
    if audit.splits:
        return (
            f"{NOBODY}: in each repetition {audit.released_size} of the {len(audit.target)} records, drawn at random, "
            "were released, and the other people in the snooper's file are records that were kept out."
        )
    return {
        "synthetic": f"The other people in it are synthetic: {_INVENTED.get(audit.file_kind, '')}.",
        "germany": "The other people in it are synthetic: homes from the settlement pattern of Germany, labels as in "
        "the file.",
        "file": "The other people in it come from a file that the data holder gave.",
    }[audit.plan.snooper.others]


def _yardsticks(settings: Sequence[Setting]) -> list[str]:
    """Name the settings that protect only because a snooper does not know how the map lies, or wants to be sure."""
    inside = [
        f"{percent(s.insider)} instead of {percent(s.risk.value)} with {s.brief}"
        for s in settings
        if s.insider is not None and s.insider > s.risk.value + NOTED
    ]
    named = [f"{percent(s.ceiling)} with {s.brief}" for s in settings if (s.ceiling or 0.0) > s.risk.value + NOTED]
    lines = [f"{INSIDER}: {'; '.join(inside)}."] if inside else []
    seeded = [
        f"{percent(one.value)} instead of {percent(s.risk.value)} with {one.seeds} known beforehand and {s.brief}"
        for s in settings
        for one in s.seeded
        if one.value > s.risk.value + NOTED
    ]
    lines += [f"{SEEDED}: {'; '.join(seeded)}."] if seeded else []
    return lines + ([f"{NAMED}: {'; '.join(named)}."] if named else [])


def list_limits(settings: Sequence[Setting], audit: Audit, facts: SnooperFacts) -> list[str]:
    """Say what the result does not show."""
    plan = audit.plan
    lines = [
        *_cut_short(settings, plan),
        "Only the attacks listed were tried. A cleverer one, or a snooper who knows more than assumed, may find more.",
        "The risk is a share of people, averaged over random draws of the mask. Single persons may be at much higher "
        "risk: see records.csv.",
        "Intervals hold for repeated draws on this file with this assumption about the snooper; they do not cover a "
        "different file or a different snooper.",
        f"Utility, the control and what insiders find were measured in at most {SAMPLED} repetitions of each setting.",
        *_yardsticks(settings),
    ]
    idle = {one.attack: one.why for s in settings for one in s.attacks if not one.applies}
    busy = {one.attack for s in settings for one in s.attacks if one.applies}
    lines += [
        f"The attack {name} was not carried out{' everywhere' if name in busy else ''}: {why}"
        for name, why in idle.items()
    ]
    if plan.max_risk is not None and facts.guess_share > plan.max_risk:
        lines.append(
            f"Guessing among people with the same label alone is right for {percent(facts.guess_share)} of them, "
            "which is more than the limit: no mask of the distances can change that; coarser labels can."
        )
    if plan.repetitions == 1:
        lines.append("There was one repetition only: how much the risk varies between draws of the mask is not known.")
    if audit.splits:
        lines.append(
            f"A release of the whole file has {len(audit.target)} records, not {facts.records}: more records can make "
            "people easier to find, or harder."
        )
    elif plan.snooper.others != "file" and plan.snooper.mode == "drawn":
        lines.append(
            "Synthetic people may be easier or harder to tell from the released ones than real neighbours are."
        )
    return lines


def _cut_short(settings: Sequence[Setting], plan: Plan) -> list[str]:
    """Name the settings whose risk is a lower bound, and those where what was cut short does not matter."""
    lines = []
    matters = [s for s in settings if s.risk.lower_bound]
    if matters:
        whys = {one.attack: one.cut_why for s in matters for one in s.attacks if one.cut}
        lines.append(
            f"LOWER BOUND: work was cut short for {', '.join(s.brief for s in matters)}, and the risk may be higher "
            f"than shown. {'; '.join(f'{name}: {why}' for name, why in whys.items())}. A search that could decide "
            f"about the limit is repeated with up to {RAISE**MOST_EFFORT} times its budget of "
            f"{plan.budget:g} billion operations."
        )
    settled = [f"{s.settled} ({s.brief})" for s in settings if s.settled]
    if settled:
        lines.append(
            "Work that was cut short where it cannot matter, by the largest clique among the true pairs or by what the "
            f"masked data themselves would give: {'; '.join(settled)}."
        )
    return lines
