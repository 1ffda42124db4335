"""From the records of an audit to its result: the settings, the people at risk, and the facts around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.audits.decision import Decision, Limits, Look, pareto
from disclique.audits.definition import Audit
from disclique.audits.known_file import draw_known_file
from disclique.audits.rates import OracleRisk, average_utility, measure_attack, measure_oracle, measure_risk
from disclique.audits.records import Attempt, Records
from disclique.audits.result import (
    AuditResult,
    FileFacts,
    GroupRisk,
    InsiderShare,
    LabelGroup,
    Line,
    PeopleAtRisk,
    PeopleRisk,
    Person,
    PlanFacts,
    Setting,
    SnooperFacts,
    TypicalMatches,
)
from disclique.audits.sentences import decide, describe_snooper, explain_settled, join_words, list_limits
from disclique.audits.settings import describe_labels, parse_setting_mask, recode, shorten
from disclique.data.distances import Points
from disclique.data.labels import label_tuples
from disclique.data.provenance import versions
from disclique.data.recoding import split_setting
from disclique.data.write import plain
from disclique.masks.base import Mask
from disclique.measures.scenarios import Hits
from disclique.measures.utility import usefulness
from disclique.model import FloatArray
from disclique.quantities import percent

GROUPS = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, None))  # label group sizes shown together
SPARSE = ((0.0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))  # shares of the file, the sparsest first
SHOWN = 30  # people of the picture of typical matches


@dataclass(frozen=True, eq=False)
class Findings:
    """The records of every setting that was tried, the decisions, and how the run went.

    ``trials`` are those of settings in which the oracle was asked for every person.
    """

    records: Mapping[str, Records]
    decisions: tuple[Decision, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    trials: Mapping[str, Records] = field(default_factory=dict)


def summarise(audit: Audit, found: Findings, *, with_records: bool = False) -> AuditResult:
    """Make the result; only with ``with_records`` a coordinate or id of a person is in it."""
    plan = audit.plan
    settings = [_setting(audit, spec, records, found.trials.get(spec, {})) for spec, records in found.records.items()]
    kept = {s.spec: s.label_information for s in settings}
    front = pareto([(s.spec, s.risk.value, s.usefulness) for s in settings], kept)
    settings = [replace(setting, pareto=setting.spec in front) for setting in settings]
    facts = _snooper(audit, found)
    sizes, sparse = {spec: count_sharing(audit, spec) for spec in found.records}, _density_groups(audit)
    groups = {spec: [*_label_groups(many), *sparse] for spec, many in sizes.items()}
    risks = {spec: measure_people(audit, found, spec) for spec in found.records}
    spread = tuple(describe_people(risk, groups[spec]) for spec, risk in risks.items() if found.trials.get(spec))
    verdict = decide(settings, plan, spread)
    chosen = found.records[verdict.setting]
    result = AuditResult(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=verdict,
        file=FileFacts(
            name=audit.target.name.replace("\\", "/").rsplit("/", 1)[-1],
            records=len(audit.target),
            labels=tuple(str(column) for column in audit.target.labels.columns),
            distances=audit.file_kind,
            label_groups=tuple(LabelGroup(g.name, int(g.inside.sum())) for g in _label_groups(count_sharing(audit))),
            missing_labels=int(audit.target.labels.isna().any(axis=1).sum()),
        ),
        snooper=facts,
        settings=tuple(settings),
        pareto=tuple(front),
        decisions=found.decisions,
        groups=tuple(row for risk in risks.values() for row in _group_risks(risk, groups[risk.spec])),
        people_risk=spread,
        matches=_typical_matches(audit, chosen, verdict.setting),
        limits=(*list_limits(settings, audit, facts), *found.notes),
        plan=msgspec.convert(plain(plan.to_dict()), PlanFacts),
        versions=versions(),
        seconds=round(found.seconds, 1),
        records=_people(audit, chosen, risks[verdict.setting], sizes[verdict.setting]) if with_records else None,
    )
    return result.with_people(tabulate_people(audit, risks, sizes))


def look_at(audit: Audit, records: Records, trials: Records, *, effort: int = 0) -> Look | None:
    """Return what is known of a setting against the limits; None without a limit or a record."""
    plan = audit.plan
    if plan.max_risk is None or not records:
        return None
    extra = [hits for one in trials.values() if one.trials is not None for hits in one.trials.draws]
    risk = measure_risk(records, plan.attack_names, plan.scenario, limit=plan.max_risk, extra=extra)
    asked, right = add_trials(trials)
    person = float((right[asked > 0] / asked[asked > 0]).max()) if (asked > 0).any() else None
    return Look(risk, effort, Limits(plan.max_risk, plan.max_risk_person), plan.repetitions, person)


def add_trials(trials: Records) -> tuple[NDArray[np.int64], FloatArray]:
    """Add up how often every person was asked for, and how often named rightly."""
    there = [one.trials for one in trials.values() if one.trials is not None]
    if not there:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.sum([one.asked for one in there], axis=0), np.sum([one.right for one in there], axis=0)


def _setting(audit: Audit, spec: str, records: Records, trials: Records) -> Setting:
    """Summarise one setting of a mask."""
    plan, mask = audit.plan, parse_setting_mask(spec)
    asked = next(one for one in plan.ranges if spec in one.settings)
    look = look_at(audit, records, trials)
    risk = measure_risk(records, plan.attack_names, plan.scenario) if look is None else look.risk
    found = (measure_attack(records, name, plan.scenario) for name in plan.attack_names)
    attacks = [one for one in found if one is not None]
    useful = average_utility(records)
    extra = [hits for one in trials.values() if one.trials is not None for hits in one.trials.draws]
    oracle = measure_oracle(records, plan.scenario, extra)
    seeded = _seeded(records, plan.scenario)
    hidden = "" if look is None else _explain_hidden(look, oracle, seeded)
    return Setting(
        spec=spec,
        mask=mask.name,
        on=mask.on,
        reference=mask.reference,
        dial=asked.dial,
        dial_value=float(getattr(mask, asked.dial)) if asked.dial else None,
        family=asked.spec,
        repetitions=risk.repetitions,
        risk=risk,
        meets=None if look is None else look.tried and look.keeps and not hidden,
        open=look is not None and (look.is_open or (look.keeps and bool(hidden))),
        open_why=hidden or ("" if look is None else _explain_open(look, oracle)),
        settled=explain_settled(risk, attacks),
        guess=_mean_share(records, [record.guess for record in records.values()], plan.scenario),
        oracle=oracle,
        oracle_why="" if oracle is not None else _why_no_oracle(records),
        simulated=law_is_simulated(audit, mask),
        again=_again(records, plan.scenario),
        attacks=tuple(attacks),
        utility=useful,
        usefulness=None if useful is None else usefulness(useful, plan.utility),
        person=None if look is None else look.person,
        seeded=seeded,
        brief=shorten(spec),
        labels=describe_labels(audit, spec),
    )


def law_is_simulated(audit: Audit, mask: Mask) -> bool:
    """Say whether the law of the mask had to be learned from draws of it."""
    return mask.on == "coordinates" and audit.has_map and mask.place_law(audit.points) is None


def _mean_share(records: Records, hits: Sequence[Hits], scenario: str) -> float:
    pairs = zip(records.values(), hits, strict=True)
    return float(np.mean([one.share(scenario, len(record.common), record.released) for record, one in pairs]))


def _why_no_oracle(records: Records) -> str:
    return next((one.oracle.why for one in records.values() if one.oracle is not None and one.oracle.why), "")


def _again(records: Records, scenario: str) -> float | None:
    """Average what the oracle finds with one release more, over the repetitions in which it was asked."""
    there = {k: record for k, record in records.items() if record.again is not None}
    hits = [record.again for record in there.values() if record.again is not None]
    return _mean_share(there, hits, scenario) if there else None


def _explain_hidden(look: Look, oracle: OracleRisk | None, seeded: Sequence[InsiderShare]) -> str:
    """Say why a limit that the attacks keep is not shown to be kept: where only the way in may be hidden.

    Where the oracle was asked, its risk decides. Elsewhere the search for a way in may fail where a better one would
    not: what a few known pairs give away is then no smaller risk than the limit, and without them nothing is known.
    """
    if oracle is not None:
        return ""
    worst = max(seeded, key=lambda one: one.value, default=None)
    if worst is None:
        return "what the masked data give away is not modelled for this mask and these data, and no insider was asked"
    if worst.value > look.limits.risk:
        return (
            f"only the way in is hidden: an insider who knows {worst.seeds} of the people beforehand finds "
            f"{percent(worst.value)} of the others"
        )
    return ""


def _explain_open(look: Look, oracle: OracleRisk | None) -> str:
    """Say why what was measured is no proof."""
    if not look.is_open:
        return ""
    limit = look.limits.risk
    if look.keeps:
        return f"it was looked at in {look.risk.repetitions} of {look.repetitions} repetitions only"
    if look.person is None and look.limits.person is not None and look.risk.interval[1] <= limit:
        return "the risk of single persons could not be measured"
    if oracle is not None and oracle.high > limit:
        return (
            f"the masked data themselves would give {percent(oracle.value)} (up to {percent(oracle.high)}) to a "
            "snooper who finds out how they lie"
        )
    if look.is_cut:
        return f"{join_words(look.risk.cut)} had to be cut short and might find up to {percent(look.risk.interval[1])}"
    if look.risk.needed is not None and look.risk.needed > look.risk.repetitions:
        return (
            f"{look.risk.repetitions} repetitions are too few to show it: {look.risk.needed} like these would be needed"
        )
    return f"the risk may be up to {percent(look.risk.interval[1])}"


def _seeded(records: Records, scenario: str) -> tuple[InsiderShare, ...]:
    """Average what insiders find of the people they do not know beforehand."""
    shares: dict[int, list[float]] = {}
    for record in records.values():
        for one in record.seeded:
            shares.setdefault(one.seeds, []).append(one.hits.share(scenario, one.sought, record.released))
    return tuple(InsiderShare(seeds, float(np.mean(found))) for seeds, found in sorted(shares.items()))


def _snooper(audit: Audit, found: Findings) -> SnooperFacts:
    """Average over repetitions how many people are known, and how many of them are released."""
    every = [record for records in found.records.values() for record in records.values()]
    facts = SnooperFacts(
        mode=audit.plan.snooper.mode,
        sentences=(),
        records=round(float(np.mean([record.released for record in every]))),
        known=float(np.mean([record.known for record in every])),
        common=float(np.mean([len(record.common) for record in every])),
        guess=max(_guess_by_labels(audit, found).values()),
    )
    return replace(facts, sentences=tuple(describe_snooper(audit, facts)))


def _guess_by_labels(audit: Audit, found: Findings) -> dict[str, float]:
    """Average what guessing by label finds, for each way to recode the labels."""
    shares: dict[str, list[float]] = {}
    for spec, records in found.records.items():
        share = _mean_share(records, [one.guess for one in records.values()], audit.plan.scenario)
        shares.setdefault(split_setting(spec)[1], []).append(share)
    return {labels: float(np.mean(some)) for labels, some in shares.items()}


def count_sharing(audit: Audit, spec: str = "") -> NDArray[np.int64]:
    """Count how many released records share the label of each one, in a setting: its k-anonymity by labels."""
    labels = label_tuples(recode(audit, split_setting(spec)[1]).target.labels)
    counts = pd.Series(labels, dtype=object).value_counts()
    return np.array([counts[label] for label in labels], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Group:
    """Records that have something in common: by ``label`` its size, by ``density`` how sparsely people live there."""

    by: str
    name: str
    inside: NDArray[np.bool_]


def _label_groups(sizes: NDArray[np.int64]) -> list[Group]:
    names = [(f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}") for low, high in GROUPS]
    inside = [(sizes >= low) & (sizes <= (high or np.inf)) for low, high in GROUPS]
    return [Group("label", name, found) for name, found in zip(names, inside, strict=True) if found.any()]


def _density_groups(audit: Audit) -> list[Group]:
    """Return the records by how far their fifth nearest other record is: the sparsest tenth first."""
    source, size = audit.target.distances, len(audit.target)
    if size < 20:
        return []
    everybody, reach = np.arange(size, dtype=np.int32), np.empty(size)
    step = max(4_000_000 // size, 1)
    for first in range(0, size, step):
        rows = everybody[first : first + step]
        found = source.block(rows, everybody)
        reach[rows] = np.partition(np.where(np.isnan(found), np.inf, found), 5, axis=1)[:, 5]
    rank = np.empty(size)
    rank[np.lexsort((everybody, -reach))] = (np.arange(size) + 0.5) / size
    names = ["farthest 10 %", "10-25 %", "25-50 %", "50-75 %", "nearest 25 %"]
    inside = [(rank >= low) & (rank < high) for low, high in SPARSE]
    return [Group("density", name, found) for name, found in zip(names, inside, strict=True) if found.any()]


@dataclass(frozen=True, eq=False)
class RecordRisks:
    """The risk of every record under one setting: how often it was asked for, its risk (NaN: never), and by what."""

    spec: str
    source: str
    asked: NDArray[np.int64]
    risk: FloatArray
    by_attack: dict[str, FloatArray]


def measure_people(audit: Audit, found: Findings, spec: str) -> RecordRisks:
    """Measure the risk of every record: by the oracle where it was asked for everybody, else by the worst attack."""
    records, size = found.records[spec], len(audit.target)
    times = np.zeros(size, dtype=np.int64)
    right = {name: np.zeros(size) for name in audit.plan.attack_names}
    for record in records.values():
        times[list(record.common)] += 1
        for attempt in record.attempts:
            for row, chance in attempt.named:
                right[attempt.attack][row] += chance
    with np.errstate(invalid="ignore"):
        by_attack = {name: hits / np.where(times > 0, times, np.nan) for name, hits in right.items()}
    asked, hits = add_trials(found.trials.get(spec, {}))
    if (asked > 0).any():
        with np.errstate(invalid="ignore"):
            return RecordRisks(spec, "oracle", asked, hits / np.where(asked > 0, asked, np.nan), by_attack)
    worst = measure_risk(records, audit.plan.attack_names, audit.plan.scenario).attack
    chosen = by_attack.get(worst or "", np.where(times > 0, 0.0, np.nan))
    return RecordRisks(spec, worst or "", times, chosen, by_attack)


def describe_people(found: RecordRisks, groups: Sequence[Group]) -> PeopleRisk:
    """Describe how the risk is spread over people, with the sentence that a mean would hide."""
    there = ~np.isnan(found.risk)
    risk = found.risk[there]
    mean, above = float(risk.mean()), int((risk > 0.5).sum())
    by = "By what the masked data give away, on" if found.source == "oracle" else "On"
    said = [f"{by} average {percent(mean)} of the people would be identified"]
    parts = []
    sparse = next((g for g in groups if g.by == "density"), None)
    if sparse is not None and (sparse.inside & there).any():
        parts.append(
            f"of the tenth farthest from all others {percent(float(found.risk[sparse.inside & there].mean()))}"
        )
    few = [g for g in groups if g.by == "label" and not g.name.endswith("+") and int(g.name.split("-")[-1]) <= 9]
    inside = np.any([g.inside for g in few], axis=0) & there if few else np.zeros(len(there), dtype=bool)
    if inside.any():
        parts.append(
            f"of those who share their label with fewer than nine others {percent(float(found.risk[inside].mean()))}"
        )
    who = "nobody is" if above == 0 else "one person is" if above == 1 else f"{above} people are"
    said.append("; ".join(parts) + f"; {who} more likely to be identified than not" if parts else f"{who} above 50 %")
    sentence = f"{said[0]}, but {said[1]}." if parts else f"{said[0]}; {said[1]}."
    points = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "highest": 1.0}
    quantiles = {name: float(np.quantile(risk, at)) for name, at in points.items()}
    trials = int(found.asked[there].min())
    return PeopleRisk(found.spec, found.source, trials, int(there.sum()), mean, quantiles, above, sentence)


def _group_risks(found: RecordRisks, groups: Sequence[Group]) -> list[GroupRisk]:
    """Average the risk of the records by group, the most exposed group of each kind first."""
    there = [(group, found.risk[group.inside & ~np.isnan(found.risk)]) for group in groups]
    rows = [
        GroupRisk(found.spec, group.by, group.name, int(group.inside.sum()), float(risk.mean()), float(risk.max()))
        for group, risk in there
        if len(risk)
    ]
    return sorted(rows, key=lambda row: (row.by, -row.risk))


def tabulate_people(
    audit: Audit, risks: Mapping[str, RecordRisks], sizes: Mapping[str, NDArray[np.int64]]
) -> pd.DataFrame:
    """Return a row for each record and setting: row number, id, k-anonymity of its label, and its risk by attack."""
    parts = [
        pd.DataFrame(
            {
                "row": np.arange(1, len(audit.target) + 1),
                "id": [str(person) for person in audit.target.ids],
                "label_k": sizes[spec],
                "mask": spec,
                "asked": found.asked if len(found.asked) else 0,
                "risk": found.risk,
                "by": found.source,
                **{f"risk_{name}": share for name, share in found.by_attack.items()},
            }
        )
        for spec, found in risks.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _typical_matches(audit: Audit, records: Records, spec: str) -> TypicalMatches | None:
    """Show the matches of the worst attack in a typical repetition, as outcomes without any place or name."""
    found = _typical(audit, records)
    if found is None:
        return None
    repetition, attempt = found
    common = records[repetition].common
    right, wrong = _outcomes(audit, attempt, common)
    chosen = audit.chance.rng("picture").permutation(common)[:SHOWN].tolist()
    shown = tuple("correct" if row in right else "wrong" if row in wrong else "none" for row in chosen)
    return TypicalMatches(spec, attempt.attack, len(common), len(right), len(wrong), shown)


def _outcomes(audit: Audit, attempt: Attempt, common: Sequence[int]) -> tuple[set[int], set[int]]:
    """Return the known people whose record was found, and those for whom another one was taken."""
    if audit.plan.scenario == "journalist":
        return set(attempt.correct), {row for row, _ in attempt.wrong}
    right = {row for row, chance in attempt.named if chance > 1 / 2}
    return right, set(common) - right  # a record is named for everybody


def _typical(audit: Audit, records: Records) -> tuple[int, Attempt] | None:
    """Find the repetition in which the worst attack had its median number of hits, and what it claimed there."""
    worst = measure_risk(records, audit.plan.attack_names, audit.plan.scenario).attack
    tries = [
        (one.hits.of(audit.plan.scenario), repetition, one)
        for repetition, record in records.items()
        for one in record.attempts
        if one.attack == worst and one.applies
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
    known = draw_known_file(audit, repetition).data.distances
    if not isinstance(known, Points):
        return []
    homes = audit.points.coordinates
    right = [(homes[row], homes[row], True) for row in attempt.correct]
    wrong = [(homes[row], known.coordinates[other], False) for row, other in attempt.wrong]
    return [Line(float(a[0]), float(a[1]), float(b[0]), float(b[1]), true) for a, b, true in [*right, *wrong]]
