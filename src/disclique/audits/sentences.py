"""The sentences of an audit: the verdict, what the snooper was assumed to know, and what the result does not show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from disclique.attacks import parse_attack, parse_attacks
from disclique.audits.definition import Audit
from disclique.audits.facts import FAILS, MEASURED, MEETS, UNPROVEN, PeopleRisk, SettingFacts, SnooperFacts, Verdict
from disclique.audits.plan import MOST_EFFORT, RAISE, Plan
from disclique.audits.rates import AttackRisk, SettingRisk
from disclique.audits.unit import SAMPLED
from disclique.measures.utility import describe
from disclique.messages import percent
from disclique.spaces.base import EARTH, ENCODINGS, MAPS, MATRIX, PLANE, RECORDS, TEXTS, VECTORS
from disclique.specs import parse_spec

NOBODY = "From distances alone nobody can be invented"
ORACLE = (
    "A snooper who finds out how the released data lie, as one can who knows a few of the released people and which "
    "records they are, could identify more"
)
SEEDED = (
    "An insider who knows of some released people beforehand which records they are could re-identify more of the "
    "others"
)
EXAMPLES = 2  # settings that a long list names
NOTED = 0.02  # a difference in risk that is worth a sentence
MEANING = {  # what the risk is, by scenario: of whom it is a share, and what happens to them
    "prosecutor": "name the right record for",
    "journalist": "claim the right record, as more probable than not, of",
    "marketer": "name the right person for",
}
WHOM = {
    "prosecutor": "of the people they know to have taken part",
    "journalist": "of the people they know",
    "marketer": "of all released records",
}


def name_setting(setting: SettingFacts) -> str:
    """Name a setting as it is said in a sentence: ``the mask donut (min 200m, max 1km)``."""
    asked = parse_spec(setting.brief.partition("|")[0])
    labels = f" and {setting.labels.said}" if setting.labels is not None else ""
    parts = ", ".join(f"{one.key} {one.value}" for one in asked.parameters)
    return f"the mask {asked.name}" + (f" ({parts})" if parts else "") + labels


def decide(settings: Sequence[SettingFacts], plan: Plan, people: Sequence[PeopleRisk] = ()) -> Verdict:
    """Decide, and say it in a few sentences for people who are not specialists."""
    safest = min(settings, key=lambda s: (s.risk.interval[1], -(s.usefulness or 0)))
    riskiest = max(settings, key=lambda s: s.risk.value)
    if plan.max_risk is None:
        said = Verdict(MEASURED, safest.spec, _measured(riskiest, safest, plan))
    elif enough := [s for s in settings if s.meets]:
        best = max(enough, key=lambda s: (s.usefulness or 0, s.label_information, -s.risk.interval[1]))
        said = Verdict(MEETS, best.spec, _meets(best, settings, plan))
    elif unsettled := [s for s in settings if s.open]:
        best = min(unsettled, key=lambda s: s.risk.interval[1])
        said = Verdict(UNPROVEN, best.spec, _unproven(best, plan))
    else:
        said = Verdict(FAILS, safest.spec, _fails(safest, plan))
    spread = [one.sentence for one in people if one.spec == said.setting]
    chosen = next(s for s in settings if s.spec == said.setting)
    return replace(said, sentences=(*said.sentences, *spread), cautions=tuple(_warn(said.status, chosen, plan)))


def _warn(status: str, chosen: SettingFacts, plan: Plan) -> list[str]:
    """Say what could not be attacked, was cut short, did not apply or was not asked for, of the setting named."""
    ran = [one for one in chosen.attacks if one.applies]
    lines = []
    if not ran:
        lines.append("No attack could be carried out on this release: nothing is known of its risk.")
    elif idle := [one.attack for one in chosen.attacks if not one.applies and not one.spared]:
        lines.append(f"Not applicable to this release, so not tried: {', '.join(idle)} (why: see Method).")
    lines += _say_spared(chosen)
    if left := not_asked_for(plan.attacks):
        only = ", ".join(one.attack for one in ran) or "nothing"
        lines.append(
            f"Only {only} {'were' if len(ran) > 1 else 'was'} tried: {', '.join(left)} "
            f"{'was' if len(left) == 1 else 'were'} not asked for"
            + (" and may find more." if chosen.oracle is None else ".")
        )
    for one in ran:
        if one.why and not one.spared:
            lines.append(f"{one.attack}: {one.why}.")
        if one.cut:
            lines.append(_say_cut(one, chosen))
        if one.doubtful and chosen.oracle is None and status != FAILS:
            lines.append(
                f"{one.attack} was in doubt how to lay the two files on each other in {one.doubtful} of "
                f"{chosen.repetitions} repetitions."
            )
    if chosen.oracle is None and chosen.oracle_why:
        lines.append(f"What the masked data give away at the most is not known: {chosen.oracle_why}.")
    return lines + _unlaid(chosen) + _call_for_more(status, chosen, plan)


def _say_spared(chosen: SettingFacts) -> list[str]:
    """Say which attacks were left out where they need not be carried out, by the reason."""
    reasons: dict[str, list[str]] = {}
    for one in chosen.attacks:
        if one.spared:
            reasons.setdefault(one.why.rpartition("repetitions: ")[2], []).append(one.attack)
    return [f"Left out of some or all repetitions: {', '.join(names)} ({why})." for why, names in reasons.items()]


def _say_cut(one: AttackRisk, chosen: SettingFacts) -> str:
    said = f"{one.attack} was cut short in {one.cut} of {chosen.repetitions} repetitions"
    if not chosen.risk.lower_bound:
        return f"{said}, which cannot matter here."
    return f"{said} ({one.cut_why}): the risk is a lower bound and may be up to {percent(chosen.risk.interval[1])}."


def _call_for_more(status: str, chosen: SettingFacts, plan: Plan) -> list[str]:
    """Say that more repetitions might turn the verdict."""
    often, limit = chosen.risk.repetitions, plan.max_risk
    times = "one repetition does" if often == 1 else f"{often} repetitions do"
    if status == FAILS and chosen.turns:
        return [f"The mean is close to the limit and {times} not settle it: more (--repetitions) might turn this."]
    near = chosen.oracle is not None and limit is not None and chosen.oracle.value <= limit < chosen.oracle.high
    if status == UNPROVEN and near:
        return [f"The masked data themselves keep the limit on average, and {times} not show it: more might."]
    return []


def not_asked_for(asked: Sequence[str]) -> list[str]:
    """Return the attacks that an audit could carry out and was not asked to."""
    names = {parse_attack(spec).kind.name for spec in asked if spec != "all"}
    every = [] if "all" in asked else [spec.kind.name for spec in parse_attacks(("all",))]
    return [name for name in every if name not in names]


def _unlaid(setting: SettingFacts) -> list[str]:
    """Say how many records no attack by maps could reach: their risk rests on the other attacks."""
    shares = [one.unlaid for one in setting.attacks if one.unlaid is not None]
    if not shares or min(shares) < NOTED:
        return []
    return [
        f"{percent(min(shares))} of the records could not be laid on a map by any attack, because the release leaves "
        "them in parts that are too small or not rigid: what is said of them rests on attacks that need no map."
    ]


def _find(setting: SettingFacts, plan: Plan, *, bound: str = "") -> str:
    """Say what the worst attack does, as a clause without its subject."""
    return f"{MEANING[plan.scenario]} {bound}{percent(setting.risk.value)} {WHOM[plan.scenario]}"


def _measured(riskiest: SettingFacts, safest: SettingFacts, plan: Plan) -> tuple[str, ...]:
    at_least = "at least " if riskiest.risk.lower_bound else ""
    first = (
        f"Released with {name_setting(riskiest)}, a snooper would {_find(riskiest, plan, bound=at_least)}, by the "
        "worst of the attacks tried."
    )
    if safest is riskiest:
        return first, "No limit was set (--max-risk), so the audit measures the risk and does not judge it."
    bound = "at least " if safest.risk.lower_bound else ""
    return first, (
        f"The safest release tried, {name_setting(safest)}, still gives away {bound}{percent(safest.risk.value)} "
        f"(up to {percent(safest.risk.interval[1])}); no limit was set, so it is not said whether that is enough."
    )


def _fails(safest: SettingFacts, plan: Plan) -> tuple[str, ...]:
    limits = f"the limit of {percent(plan.max_risk)}"
    if safest.risk.value <= (plan.max_risk or 0.0):
        return (
            f"None of the releases tried keeps the limits: with the safest, {name_setting(safest)}, the mean risk is "
            f"{percent(safest.risk.value)}, but the most exposed person is identified with probability "
            f"{percent(safest.person)}, and {percent(plan.max_risk_person)} are accepted.",
            "Do not release the file in any of these forms; consider stronger settings or coarser labels.",
        )
    return (
        f"None of the releases tried keeps {limits}: even with the safest, {name_setting(safest)}, a snooper would "
        f"{_find(safest, plan)} (up to {percent(safest.risk.interval[1])}).",
        "Do not release the file in any of these forms; consider stronger settings or coarser labels.",
    )


def _unproven(best: SettingFacts, plan: Plan) -> tuple[str, ...]:
    advice = _advice(best.risk.cut) if best.risk.lower_bound else ""
    needed = best.risk.needed
    if not advice and best.oracle is None and needed is not None and needed > best.risk.repetitions:
        advice = f"repeat it more often (--repetitions {needed}), or "
    return (
        f"No release tried is shown to keep the limit of {percent(plan.max_risk)}: with {name_setting(best)} the worst "
        f"attack finds {percent(best.risk.value)} {WHOM[plan.scenario]}, but {best.open_why}.",
        f"Do not release on this result; {advice}consider stronger settings or coarser labels.",
    )


def _advice(cut: Sequence[str]) -> str:
    """Advise more work where the attacks that were cut short have a budget."""
    kinds = [parse_attack(spec).kind for spec in cut]
    return "give the searches more work (--budget), or " if any(kind.by_agreement for kind in kinds) else ""


def _meets(best: SettingFacts, settings: Sequence[SettingFacts], plan: Plan) -> tuple[str, ...]:
    risk, limit = best.risk, percent(plan.max_risk)
    first = (
        f"Released with {name_setting(best)}, the worst attack tried would {_find(best, plan)} (up to "
        f"{percent(risk.interval[1])}) and keeps the limit of {limit}."
    )
    if plan.max_risk_person is not None:
        first += (
            f" The most exposed person is identified with probability {percent(best.person)}, and "
            f"{percent(plan.max_risk_person)} are accepted."
        )
    use = f"{describe(plan.utility, best.usefulness)}{_count_others(best, settings, plan)}."
    lost = [one.attack for one in best.attacks if one.doubtful and parse_attack(one.attack).kind.by_seeds]
    if best.oracle is None and lost:
        return (
            first,
            use,
            f"{join_words(lost)} found no way to lay the two files on each other: a search that failed, not a proof "
            "that there is none.",
        )
    return first, use


def _count_others(best: SettingFacts, settings: Sequence[SettingFacts], plan: Plan) -> str:
    """Count the other settings by what is known of them: only those tried in full were shown to fail or to keep it."""
    others = [s for s in settings if s is not best]
    limit = plan.max_risk or 0.0
    failing = sum(s.risk.value > limit and s.repetitions >= plan.repetitions for s in others)
    looked = sum(s.risk.value > limit and s.repetitions < plan.repetitions for s in others)
    unshown = sum(bool(s.open) and s.repetitions >= plan.repetitions for s in others)
    parts = [
        f"{_number(failing, 'other setting', 'does', 'do')} not keep the limit" if failing else "",
        f"{_number(unshown, 'other', 'is', 'are')} not shown to keep it" if unshown else "",
        f"{_number(looked, 'other', 'was', 'were')} above it at a first look" if looked else "",
    ]
    said = ", ".join(part for part in parts if part)
    return f"; {said}" if said else ""


def _number(count: int, noun: str, one: str, many: str) -> str:
    return f"one {noun} {one}" if count == 1 else f"{count} {noun}s {many}"


def explain_settled(risk: SettingRisk, attacks: Sequence[AttackRisk]) -> str:
    """Say why work that was cut short does not matter; empty if nothing was cut short or if it matters."""
    if not risk.cut or risk.lower_bound:
        return ""
    most = min(max(one.most.high or 0.0 for one in attacks if one.cut), risk.interval[1])
    return f"{join_words(risk.cut)} had to be cut short, but could not have found more than {percent(most)}"


def join_words(names: Sequence[str]) -> str:
    """Join names by "and"."""
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
    MATRIX: "labels drawn from the file, and places on the map that its distances make",
    TEXTS: "each is put together from words of several texts of the file, equal to none of them, with the label of "
    "another record",
}
_SCALED = (
    "The file's distances are those of a map: it was drawn from them, and whatever needs places used those on that map."
)
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
    lines += [_SCALED] if audit.target.distances.scaled else []
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


def _yardsticks(settings: Sequence[SettingFacts]) -> list[str]:
    """Name the settings that protect only because a snooper does not find out how the released data lie."""
    inside = [
        f"{percent(s.oracle.value)} instead of {percent(s.risk.value)} with {s.brief}"
        for s in settings
        if s.oracle is not None and s.oracle.value > s.risk.value + NOTED
    ]
    lines = [f"{ORACLE}: {'; '.join(inside)}."] if inside else []
    seeded = [
        f"{percent(one.value)} instead of {percent(s.risk.value)} with {one.seeds} known beforehand and {s.brief}"
        for s in settings
        for one in s.seeded
        if one.value > s.risk.value + NOTED
    ]
    lines += [f"{SEEDED}: {'; '.join(seeded)}."] if seeded else []
    learned = sorted({s.mask for s in settings if s.simulated})
    if learned:
        lines.append(
            f"The law of the mask {join_words(learned)} is not written down: it was learned from draws of the mask, "
            "and a snooper who knows it exactly may find more."
        )
    whys = {s.oracle_why: s.brief for s in settings if s.oracle is None and s.oracle_why}
    lines += [f"Not modelled ({brief}): {why}." for why, brief in whys.items()]
    return lines


def foresee(chosen: SettingFacts, plan: Plan) -> str:
    """Say what one more release of the same people would do to the setting that the verdict names, always."""
    times = "a second time" if plan.releases == 1 else f"once more than {plan.releases} times"
    if chosen.oracle is None or chosen.again is None:
        return (
            f"What would happen if the same people were released {times} with fresh noise was not measured: averages "
            "of several releases can give away what each of them hides."
        )
    return (
        f"If the same people were released {times} with fresh noise, a snooper who finds out how the data lie would "
        f"identify {percent(chosen.again)} instead of {percent(chosen.oracle.value)} with {name_setting(chosen)}. "
        "Release a file once, and keep the key."
    )


def list_limits(settings: Sequence[SettingFacts], audit: Audit, facts: SnooperFacts, chosen: SettingFacts) -> list[str]:
    """Say what the result does not show; ``chosen`` is the setting that the verdict names."""
    plan = audit.plan
    lines = [
        *_cut_short(settings, plan),
        "Only the attacks listed were tried. A cleverer one, or a snooper who knows more than assumed, may find more.",
        foresee(chosen, plan),
        "The risk is a share of people, averaged over random draws of the mask. Single persons may be at much higher "
        "risk: see who is exposed, and records.csv.",
        "Intervals hold for repeated draws on this file with this assumption about the snooper; they do not cover a "
        "different file or a different snooper.",
        f"Utility, the control and what insiders find were measured in at most {SAMPLED} repetitions of each setting.",
        *_yardsticks(settings),
    ]
    idle = {one.attack: one.why for s in settings for one in s.attacks if not one.applies and not one.spared}
    busy = {one.attack for s in settings for one in s.attacks if one.applies}
    lines += [
        f"The attack {name} was not carried out{' everywhere' if name in busy else ''}: {why}"
        for name, why in idle.items()
    ]
    if any(one.spared for s in settings for one in s.attacks):
        lines.append(
            "Costly attacks were spared where cheaper ones find about as many people as the masked data give away at "
            "the most, where files are large, and after the first releases of a setting if they found no more there; "
            "--thorough carries all of them out on every release."
        )
    guess = min(s.guess for s in settings) if plan.generalise else facts.guess
    if plan.max_risk is not None and guess > plan.max_risk:
        lines.append(
            f"Guessing among people with the same label alone is right for {percent(guess)} of them"
            f"{', even with the coarsest labels tried' if plan.generalise else ''}, "
            "which is more than the limit: no mask of the distances can change that; coarser labels can."
        )
    if audit.thinned:
        lines.append(f"{audit.thinned[0].upper()}{audit.thinned[1:]}.")
    empty = int(audit.target.labels.isna().any(axis=1).sum())
    if empty:
        rule = "matches anything" if plan.missing == "any" else "matches nothing, so that these people look safe"
        lines.append(f"{empty} of {len(audit.target)} records have an empty label value, which {rule}.")
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


def _cut_short(settings: Sequence[SettingFacts], plan: Plan) -> list[str]:
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
    if len(settled) > EXAMPLES:
        settled = [*settled[:EXAMPLES], f"and likewise with {len(settled) - EXAMPLES} more settings"]
    if settled:
        lines.append(
            "Work that was cut short where it cannot matter, by the largest clique among the true pairs or by what the "
            f"masked data themselves would give: {'; '.join(settled)}."
        )
    return lines
