"""From the records of an audit to its result: the settings, the people at risk, and the facts around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from disclique.audits.caveats import describe_snooper, foresee, list_limits
from disclique.audits.definition import Audit
from disclique.audits.exposure import (
    Findings,
    Group,
    RecordRisks,
    add_trials,
    average_groups,
    count_sharing,
    describe_people,
    draw_coarse_map,
    group_by_distance,
    group_by_label,
    group_by_numbers,
    measure_people,
    tabulate_people,
)
from disclique.audits.facts import (
    MEETS,
    UNPROVEN,
    CoarseMap,
    Declaration,
    FileFacts,
    LabelGroup,
    LabelUse,
    Line,
    NumberFacts,
    NumberUse,
    PeopleAtRisk,
    Person,
    Sensitivity,
    SettingFacts,
    SnooperFacts,
    TypicalMatches,
)
from disclique.audits.inference import measure_inference
from disclique.audits.known_file import draw_known_file
from disclique.audits.plan import write_call
from disclique.audits.rates import (
    SettingRisk,
    average_errors,
    average_insiders,
    average_utility,
    find_best,
    measure_attack,
    measure_everybody,
    measure_oracle,
    measure_risk,
    raise_curves,
)
from disclique.audits.release_records import Attempt, Records
from disclique.audits.released import describe_release
from disclique.audits.result import AuditResult
from disclique.audits.search import pareto
from disclique.audits.sensitivity import choose_variants, describe_favours, describe_joint, describe_sensitivity
from disclique.audits.verdict import Figures, Judgement, Limits, count_reading, decide
from disclique.masks.numbers import parse_number_part
from disclique.masks.settings import Setting, read_dial
from disclique.measures.label_information import count_classes, share_kept
from disclique.measures.risk import Hits
from disclique.measures.utility import OF_NUMBERS, usefulness
from disclique.messages import Message
from disclique.records.checks import Inspection
from disclique.records.checks.lengths import name_unit
from disclique.records.coarsening import DROP, Recoding
from disclique.records.write import versions
from disclique.spaces.base import EARTH
from disclique.units import KM

SHOWN = 30  # people of the picture of typical matches


@dataclass(frozen=True)
class Context:
    """What a result says beyond its figures: what the holder declares for the board, what was called, and the input."""

    declared: Declaration = field(default_factory=Declaration)
    command: str = ""
    inspection: Inspection = field(default_factory=Inspection)

    @property
    def doubt(self) -> Message | None:
        """What looks wrong with the input and was not accepted."""
        return self.inspection.open_question


def summarise(audit: Audit, found: Findings, about: Context, *, with_records: bool = False) -> AuditResult:
    """Make the result; only with ``with_records`` a coordinate or id of a person is in it."""
    plan = audit.plan
    recodings = dict.fromkeys(setting.labels for setting in found.records)
    leak = next((one for one in about.inspection.leaks if one.risk is not None), None)
    settings = describe_settings(audit, found.records, found.trials, about.doubt)
    settings = [count_reading(setting, leak, plan) for setting in settings]
    kept = {s.spec: (s.label_information, s.numbers_kept) for s in settings}
    front = pareto([(s.spec, s.risk.value, s.usefulness) for s in settings], kept)
    settings = [replace(setting, pareto=setting.spec in front) for setting in settings]
    facts = _snooper(audit, found)
    sizes, sparse = {labels: count_sharing(audit, labels) for labels in recodings}, group_by_distance(audit)
    by_label = {labels: [*group_by_label(many), *sparse] for labels, many in sizes.items()}
    groups = {setting: [*by_label[setting.labels], *group_by_numbers(audit, setting)] for setting in found.records}
    risks = {setting: measure_people(audit, found, setting) for setting in found.records}
    spread = tuple(
        describe_people(risk, groups[setting]) for setting, risk in risks.items() if found.trials.get(setting)
    )
    settings = [_with_groups(s, risks[one], groups[one]) for one, s in zip(found.records, settings, strict=True)]
    verdict = decide(settings, plan, spread, leak)
    verdict = replace(verdict, cautions=(*_doubt_input(about.inspection), *verdict.cautions))
    chosen, best = next(
        (setting, facts)
        for setting, facts in zip(found.records, settings, strict=True)
        if facts.spec == verdict.setting
    )
    varied = _sensitivity(audit, best, found)
    prosecutor = measure_oracle(found.records[chosen], "prosecutor")
    return AuditResult(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=verdict,
        file=FileFacts(
            name=audit.target.name.replace("\\", "/").rsplit("/", 1)[-1],
            records=len(audit.target),
            labels=tuple(str(column) for column in audit.target.labels.columns),
            distances=audit.file_kind,
            label_groups=tuple(LabelGroup(g.name, int(g.inside.sum())) for g in group_by_label(count_sharing(audit))),
            missing_labels=int(audit.target.labels.isna().any(axis=1).sum()),
            unit=name_unit(audit.target.distances),
            numbers=describe_numbers(audit),
        ),
        snooper=facts,
        settings=tuple(settings),
        pareto=tuple(front),
        decisions=found.decisions,
        groups=tuple(row for setting, risk in risks.items() for row in average_groups(risk, groups[setting])),
        people_risk=spread,
        matches=_typical_matches(audit, found.records[chosen], verdict.setting),
        limits=(*list_limits(settings, audit, facts, best), *found.notes),
        plan=plan.facts,
        versions=versions(),
        seconds=round(found.seconds, 1),
        records=_people(audit, found.records[chosen], risks[chosen], sizes[chosen.labels]) if with_records else None,
        sensitivity=varied,
        favours=describe_favours(audit, best, varied, prosecutor),
        coarse_map=_coarse_map(audit, risks[chosen], about.declared.k),
        again=foresee(best, plan),
        declared=about.declared,
        command=about.command or write_call(plan),
        inspection=about.inspection,
        joint=describe_joint(audit, best, found.varied),
        people_table=tabulate_people(audit, risks, sizes),
        released=describe_release(audit, chosen, best),
    )


def _with_groups(setting: SettingFacts, risks: RecordRisks, groups: Sequence[Group]) -> SettingFacts:
    """Add of whom sensitive values are told most, where that was measured."""
    found = []
    for one in setting.inference:
        told = replace(risks, risk=risks.told[one.column])
        there = told.risk[~np.isnan(told.risk)]
        person = float(there.max()) if len(there) else None
        found.append(replace(one, person=person, groups=tuple(average_groups(told, groups))))
    return replace(setting, inference=tuple(found))


def _doubt_input(found: Inspection, said: int = 3) -> list[Message]:
    """Say in the headline what looks wrong with the input; a figure is worth no more than what it was made from."""
    lines = [Message("input_remark", remark=remark.message) for remark in found.remarks]
    if len(lines) > said:
        lines = [*lines[:said], Message("more_input_remarks", count=len(lines) - said)]
    return [Message("input_forced"), *lines] if found.forced else lines


def _sensitivity(audit: Audit, setting: SettingFacts, found: Findings) -> Sensitivity | None:
    if not found.varied:
        return None
    variants = choose_variants(audit, setting)
    return describe_sensitivity(audit, setting, variants, {one: found.varied[one] for one in variants.found})


def _coarse_map(audit: Audit, risks: RecordRisks, k: int) -> CoarseMap | None:
    """Draw the map that is safe to share, where the file has places on a plane or on the Earth."""
    places = audit.points.coordinates if audit.has_map and audit.points is not None else None
    if places is None or places.shape[1] != 2:
        return None
    return draw_coarse_map(places, risks.risk, k=k, spec=risks.spec, earth=audit.file_kind == EARTH)


def judge_setting(audit: Audit, records: Records, trials: Records, doubt: Message | None = None) -> Judgement | None:
    """Return how a setting stands against the limits; None without a limit or a record."""
    plan = audit.plan
    if plan.max_risk is None or not records:
        return None
    asked, right = add_trials(trials)
    risk, why = measure_setting(audit, records, trials), _find_refusal(records)
    figures = Figures(
        risk=risk,
        repetitions=plan.repetitions,
        person=float((right[asked > 0] / asked[asked > 0]).max()) if (asked > 0).any() else None,
        oracle=measure_oracle(records, plan.scenario, _extra_draws(trials)),
        oracle_why=why,
        doubt=doubt,
        inference=measure_inference(audit, records, trials, risk, why),
        everybody=measure_everybody(records, plan.scenario),
    )
    return Judgement(figures, Limits(plan.max_risk, plan.max_risk_person, plan.max_inference))


def measure_setting(audit: Audit, records: Records, trials: Records) -> SettingRisk:
    """Measure the risk of a setting; where the oracle was asked for everybody, by these draws, too."""
    return measure_risk(records, audit.plan.attack_names, audit.plan.scenario, extra=_extra_draws(trials))


def _find_refusal(records: Records) -> Message | None:
    """Return why there is no oracle, if there is none."""
    return next((one.oracle.why for one in records.values() if one.oracle is not None and one.oracle.why), None)


def _extra_draws(trials: Records) -> list[Hits]:
    """Return what the oracle found in the draws in which it was asked for everybody."""
    return [hits for one in trials.values() if one.trials is not None for hits in one.trials.draws]


def describe_settings(
    audit: Audit, found: Mapping[Setting, Records], trials: Mapping[Setting, Records], doubt: Message | None
) -> list[SettingFacts]:
    """Summarise settings; where labels are made coarser in one of the audit, it is said what is done to them."""
    recodings = dict.fromkeys(setting.labels for setting in found)
    said = any(_of_labels(audit, labels).parts for labels in (*recodings, *audit.plan.label_settings))
    uses = {labels: describe_labels(audit, labels) if said else None for labels in recodings}
    return [
        replace(_setting(audit, setting, records, trials.get(setting, {}), doubt), labels=uses[setting.labels])
        for setting, records in found.items()
    ]


def _setting(audit: Audit, setting: Setting, records: Records, trials: Records, doubt: Message | None) -> SettingFacts:
    """Summarise one setting of a mask."""
    plan, mask = audit.plan, setting.mask
    asked = next(one for one in plan.ranges if setting in one.settings)
    judged, risk = judge_setting(audit, records, trials, doubt), measure_setting(audit, records, trials)
    found = (measure_attack(records, name, plan.scenario) for name in plan.attack_names)
    attacks = [one for one in found if one is not None]
    useful = average_utility(records)
    oracle = measure_oracle(records, plan.scenario, _extra_draws(trials))
    there = [record for record in records.values() if record.seeded]
    seeded = average_insiders(there, [record.seeded for record in there], plan.scenario)
    return SettingFacts(
        spec=str(setting),
        mask=mask.name,
        on=mask.on,
        secret=mask.secret,
        reference=mask.reference,
        dial=asked.dial,
        dial_value=float(read_dial(setting, asked.dial)) if asked.dial else None,
        family=asked.spec,
        repetitions=risk.repetitions,
        risk=risk,
        meets=None if judged is None else judged.status == MEETS,
        open=judged is not None and judged.status == UNPROVEN,
        open_why=None if judged is None else judged.reason,
        guess=_mean_share(records, [record.guess for record in records.values()], plan.scenario),
        oracle=None if oracle is None else raise_curves(oracle, attacks, plan.snooper.seeds, seeded),
        oracle_why=None if oracle is not None else _find_refusal(records),
        again=_again(records, plan.scenario),
        attacks=tuple(attacks),
        utility=useful,
        usefulness=None if useful is None else usefulness(useful, plan.utility),
        person=None if judged is None else judged.figures.person,
        seeded=seeded,
        brief=setting.brief,
        utility_error=average_errors(records),
        utility_sample=min((one.utility_sample for one in records.values() if one.utility_sample), default=None),
        fitting=next((one.fitting for one in records.values() if one.fitting is not None), None),
        numbers=_describe_use(audit, setting, useful),
        inference=tuple(
            one if plan.max_inference is None else replace(one, meets=(one.high or 1.0) <= plan.max_inference)
            for one in measure_inference(audit, records, trials, risk, _find_refusal(records))
        ),
        everybody=measure_everybody(records, plan.scenario),
    )


def describe_numbers(audit: Audit) -> tuple[NumberFacts, ...]:
    """Name the columns of numbers of the file."""
    return tuple(
        NumberFacts(one.name, (one.written or KM) if one.unit == KM else "", int(np.isnan(one.values).sum()))
        for one in audit.target.numbers.columns
    )


def _describe_use(audit: Audit, setting: Setting, useful: Mapping[str, float | None] | None) -> NumberUse | None:
    """Say what a setting does to every number; None where the file has none."""
    if not len(audit.target.numbers):
        return None
    alone = setting.mask.withholds or not audit.target.distances.are_published
    kept = (useful or {}).get(OF_NUMBERS)
    return NumberUse(" | ".join(setting.numbers.parts), say_numbers(audit, setting), kept, alone)


def say_numbers(audit: Audit, setting: Setting) -> Message:
    """Say what a setting does to the numbers of a file: the ways, then what is left as it is, and what is left out."""
    parts, columns = list(setting.numbers.made), audit.target.numbers.columns
    left = setting.labels.apply(audit.target).numbers.names
    same = [one for one in columns if one.name in left and not any(part.fits(one.name) for part in parts)]
    said = [part.message for part in parts]
    said += [parse_number_part(f"{one.name}={one.form}").message for one in same if one.form]
    untouched = [one.name for one in same if not one.form]
    if len(untouched) == len(columns):
        return Message("numbers_as_they_are")
    said += [Message("some_numbers_as_they_are", names=untouched, count=len(untouched))] if untouched else []
    gone = [one.name for one in columns if one.name not in left]
    said += [Message("numbers_left_out", names=gone)] if gone and setting.labels.parts else []
    return Message("numbers_recoded", parts=said)


def describe_labels(audit: Audit, recoding: Recoding) -> LabelUse:
    """Say what a recoding does to the labels, and what they still tell."""
    whole, left = audit.target.labels, recoding.apply(audit.target).labels
    classes, distinct = count_classes(left)
    return LabelUse(recoding.spec, _of_labels(audit, recoding).message, share_kept(left, whole), classes, distinct)


def _of_labels(audit: Audit, recoding: Recoding) -> Recoding:
    """Return what is done to labels; what is left out of numbers is said with these."""
    labels = set(map(str, audit.target.labels.columns))
    kept = [part for part in recoding.parts if not part.startswith(DROP) or part.removeprefix(DROP).strip() in labels]
    return Recoding(tuple(kept))


def _mean_share(records: Records, hits: Sequence[Hits], scenario: str) -> float:
    pairs = zip(records.values(), hits, strict=True)
    return float(np.mean([one.share(scenario, len(record.common), record.released) for record, one in pairs]))


def _again(records: Records, scenario: str) -> float | None:
    """Average what the oracle finds with one release more, over the repetitions in which it was asked."""
    there = {k: record for k, record in records.items() if record.again is not None}
    hits = [record.again for record in there.values() if record.again is not None]
    return _mean_share(there, hits, scenario) if there else None


def _snooper(audit: Audit, found: Findings) -> SnooperFacts:
    """Average over repetitions how many people are known, and how many of them are released."""
    every = [record for records in found.records.values() for record in records.values()]
    guesses: dict[Recoding, list[float]] = {}  # by how the labels are recoded
    for setting, records in found.records.items():
        share = _mean_share(records, [one.guess for one in records.values()], audit.plan.scenario)
        guesses.setdefault(setting.labels, []).append(share)
    facts = SnooperFacts(
        mode=audit.plan.snooper.mode,
        assumed=(),
        records=round(float(np.mean([record.released for record in every]))),
        known=float(np.mean([record.known for record in every])),
        common=float(np.mean([len(record.common) for record in every])),
        guess=max(float(np.mean(shares)) for shares in guesses.values()),
    )
    return replace(facts, assumed=tuple(describe_snooper(audit, facts)))


def _typical_matches(audit: Audit, records: Records, spec: str) -> TypicalMatches | None:
    """Show the matches of the best attack in a typical repetition, as outcomes without any place or name."""
    found = _typical(audit, records)
    if found is None:
        return None
    repetition, attempt = found
    common = records[repetition].common
    right = _found_rightly(audit, attempt)
    known_file = draw_known_file(audit, repetition)
    people = {int(k): int(known_file.rows[t]) for t, k in known_file.truth.pairs}  # rows of the audited file
    pairs = [(row, people.get(known, -1)) for row, known in _taken(audit, attempt)]
    wrong = {person if audit.plan.scenario == "prosecutor" else row for row, person in pairs} - right
    chosen = _choose_shown(audit, common, pairs)
    place = {row: k for k, row in enumerate(chosen)}
    lines = [(place[row], place[row]) for row in chosen if row in right]
    lines += [(place.get(a, -1), place.get(b, -1)) for a, b in pairs if a in place or b in place]
    shown = tuple("correct" if row in right else "wrong" if row in wrong else "none" for row in chosen)
    return TypicalMatches(spec, attempt.attack, len(common), len(right), len(wrong), shown, tuple(lines))


def _choose_shown(audit: Audit, common: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Draw known people for the picture, and some of those whom they were taken for."""
    rng = audit.chance.rng("picture")
    drawn = rng.permutation(common).tolist()
    first = drawn[: SHOWN * 2 // 3]
    known = set(common)
    beside = [row for pair in pairs if set(pair) & set(first) for row in pair if row in known]
    chosen = list(dict.fromkeys([*first, *beside, *drawn]))[:SHOWN]
    return [chosen[k] for k in rng.permutation(len(chosen))]


def _found_rightly(audit: Audit, attempt: Attempt) -> set[int]:
    """Return the known people whose record was found."""
    if audit.plan.scenario == "journalist":
        return set(attempt.correct)
    return {row for row, chance in attempt.named if chance > 1 / 2}


def _taken(audit: Audit, attempt: Attempt) -> tuple[tuple[int, int], ...]:
    """Return pairs of a released row and a known one that were matched and are wrong."""
    return attempt.wrong if audit.plan.scenario == "journalist" else attempt.taken


def _typical(audit: Audit, records: Records) -> tuple[int, Attempt] | None:
    """Find the repetition in which the best attack had its median number of hits, and what it claimed there."""
    best = find_best(records, audit.plan.attack_names, audit.plan.scenario)
    tries = [
        (one.hits.of(audit.plan.scenario), repetition, one)
        for repetition, record in records.items()
        for one in record.attempts
        if best is not None and one.attack == best.attack and one.applies
    ]
    if not tries:
        return None
    _, repetition, attempt = sorted(tries, key=lambda entry: entry[:2])[len(tries) // 2]
    return repetition, attempt


def _people(audit: Audit, records: Records, found: RecordRisks, sizes: NDArray[np.int64]) -> PeopleAtRisk:
    """List the records themselves with their risk, for a report that stays with the data holder."""
    places = audit.points.coordinates if audit.points is not None else None
    flat = audit.has_map and places is not None and places.shape[1] == 2
    people = []
    for row, person in enumerate(audit.target.ids):
        risk = None if np.isnan(found.risk[row]) else float(found.risk[row])
        about = Person(row + 1, str(person), int(sizes[row]), risk, found.source, int(found.asked[row]))
        if flat and places is not None:
            about = replace(about, x=float(places[row, 0]), y=float(places[row, 1]))
        people.append(about)
    return PeopleAtRisk(found.spec, tuple(people), tuple(_lines(audit, records)) if flat else ())


def _lines(audit: Audit, records: Records) -> list[Line]:
    """Draw lines from the true home of each claimed record to the home of the person it was taken for."""
    found = _typical(audit, records)
    if found is None or audit.points is None:
        return []
    repetition, attempt = found
    known = draw_known_file(audit, repetition).data.distances.points()
    if known is None:
        return []
    homes = audit.points.coordinates
    right = [(homes[row], homes[row], True) for row in sorted(_found_rightly(audit, attempt))]
    wrong = [(homes[row], known.coordinates[other], False) for row, other in _taken(audit, attempt)]
    return [Line(float(a[0]), float(a[1]), float(b[0]), float(b[1]), true) for a, b, true in [*right, *wrong]]
