"""From the records of an audit to its result: the settings, the people at risk, and the facts around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.audits.decision import Decision, Look, pareto
from disclique.audits.definition import Audit
from disclique.audits.known_file import draw_known_file
from disclique.audits.rates import average_utility, measure_attack, measure_risk
from disclique.audits.records import Attempt, Records
from disclique.audits.result import (
    AuditResult,
    FileFacts,
    GroupRisk,
    InsiderShare,
    LabelGroup,
    Line,
    PeopleAtRisk,
    Person,
    PlanFacts,
    Setting,
    SnooperFacts,
    TypicalMatches,
)
from disclique.audits.sentences import decide, describe_snooper, explain_settled, list_limits
from disclique.data.distances import Points
from disclique.data.labels import label_tuples
from disclique.data.provenance import versions
from disclique.data.write import plain
from disclique.masks import parse_mask
from disclique.measures.utility import usefulness
from disclique.model import FloatArray

GROUPS = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, None))  # label group sizes shown together
SHOWN = 30  # people of the picture of typical matches


@dataclass(frozen=True, eq=False)
class Findings:
    """The records of every setting that was tried, the decisions, and how the run went."""

    records: Mapping[str, Records]
    decisions: tuple[Decision, ...]
    seconds: float
    notes: tuple[str, ...] = ()


def summarise(audit: Audit, found: Findings, *, with_records: bool = False) -> AuditResult:
    """Make the result; only with ``with_records`` a coordinate or id of a person is in it."""
    plan = audit.plan
    settings = [_setting(audit, spec, records) for spec, records in found.records.items()]
    front = pareto([(s.spec, s.risk.value, s.usefulness) for s in settings])
    settings = [replace(setting, pareto=setting.spec in front) for setting in settings]
    facts = _snooper(audit, found)
    verdict = decide(settings, plan)
    chosen = found.records[verdict.setting]
    sizes = count_sharing(audit)
    result = AuditResult(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=verdict,
        file=FileFacts(
            name=audit.target.name.replace("\\", "/").rsplit("/", 1)[-1],
            records=len(audit.target),
            labels=tuple(str(column) for column in audit.target.labels.columns),
            distances=audit.file_kind,
            label_groups=tuple(LabelGroup(name, int(inside.sum())) for name, inside in _groups(sizes)),
        ),
        snooper=facts,
        settings=tuple(settings),
        pareto=tuple(front),
        decisions=found.decisions,
        groups=tuple(
            row for spec, records in found.records.items() for row in _group_risks(audit, spec, records, sizes)
        ),
        matches=_typical_matches(audit, chosen, verdict.setting),
        limits=(*list_limits(settings, audit, facts), *found.notes),
        plan=msgspec.convert(plain(plan.to_dict()), PlanFacts),
        versions=versions(),
        seconds=round(found.seconds, 1),
        records=_people(audit, chosen, verdict.setting) if with_records else None,
    )
    return result.with_people(tabulate_people(audit, found))


def _setting(audit: Audit, spec: str, records: Records) -> Setting:
    """Summarise one setting of a mask."""
    plan, mask = audit.plan, parse_mask(spec)
    asked = next(one for one in plan.ranges if spec in one.settings)
    risk = measure_risk(records, plan.attack_names, plan.max_risk)
    attacks = [one for one in (measure_attack(records, name) for name in plan.attack_names) if one is not None]
    useful = average_utility(records)
    look = None if plan.max_risk is None else Look(risk, 0, plan.max_risk, plan.repetitions)
    seeded = _seeded(records)
    hidden = _only_the_way_is_hidden(audit, seeded)
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
        open=look is not None and (look.is_open or (look.keeps and hidden)),
        settled=explain_settled(risk, attacks),
        guess=float(np.mean([record.guess for record in records.values()])),
        guess_share=_share(records, "guess") or 0.0,
        insider=_share(records, "insider"),
        ceiling=_share(records, "ceiling"),
        attacks=tuple(attacks),
        utility=useful,
        usefulness=None if useful is None else usefulness(useful, plan.utility),
        seeded=seeded,
        brief=mask.brief,
    )


def _only_the_way_is_hidden(audit: Audit, seeded: Sequence[InsiderShare]) -> bool:
    """Say whether people are there to be found off the map, by whoever finds the way that an insider knows.

    On a map the ceiling tells that, and registration finds the way. Elsewhere the search for an alignment may fail
    where a better one would not: what a few known pairs give away is then no smaller risk than the limit.
    """
    on_map = audit.points is not None and audit.points.is_map
    limit = audit.plan.max_risk
    return not on_map and limit is not None and any(one.value > limit for one in seeded)


def _seeded(records: Records) -> tuple[InsiderShare, ...]:
    """Average what insiders find of the people they do not know beforehand."""
    shares: dict[int, list[float]] = {}
    for record in records.values():
        for one in record.seeded:
            shares.setdefault(one.seeds, []).append(one.found / one.sought)
    return tuple(InsiderShare(seeds, float(np.mean(found))) for seeds, found in sorted(shares.items()))


def _share(records: Records, yardstick: str) -> float | None:
    """Average a yardstick's hits as a share of the known people; None where it was not measured."""
    pairs = [(getattr(record, yardstick), len(record.common)) for record in records.values() if record.common]
    shares = [hits / common for hits, common in pairs if hits is not None]
    return float(np.mean(shares)) if shares else None


def _snooper(audit: Audit, found: Findings) -> SnooperFacts:
    """Average over repetitions how many people are known, and how many of them are released."""
    every = [record for records in found.records.values() for record in records.values()]
    facts = SnooperFacts(
        mode=audit.plan.snooper.mode,
        sentences=(),
        records=round(float(np.mean([record.released for record in every]))),
        known=float(np.mean([record.known for record in every])),
        common=float(np.mean([len(record.common) for record in every])),
        guess_share=float(np.mean([_share(records, "guess") or 0.0 for records in found.records.values()])),
    )
    return replace(facts, sentences=tuple(describe_snooper(audit, facts)))


def count_sharing(audit: Audit) -> NDArray[np.int64]:
    """Count how many released records share the label of each one: its k-anonymity by labels."""
    labels = label_tuples(audit.target.labels)
    counts = pd.Series(labels, dtype=object).value_counts()
    return np.array([counts[label] for label in labels], dtype=np.int64)


def _groups(sizes: NDArray[np.int64]) -> list[tuple[str, NDArray[np.bool_]]]:
    names = [(f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}") for low, high in GROUPS]
    inside = [(sizes >= low) & (sizes <= (high or np.inf)) for low, high in GROUPS]
    return [(name, found) for name, found in zip(names, inside, strict=True) if found.any()]


def measure_people(audit: Audit, records: Records) -> tuple[NDArray[np.int64], dict[str, FloatArray]]:
    """Count how often each record was known, and by attack the share of these times in which it was re-identified."""
    times = np.zeros(len(audit.target), dtype=np.int64)
    correct = {name: np.zeros(len(audit.target)) for name in audit.plan.attack_names}
    for record in records.values():
        times[list(record.common)] += 1
        for attempt in record.attempts:
            correct[attempt.attack][list(attempt.correct)] += 1
    with np.errstate(invalid="ignore"):
        return times, {name: hits / np.where(times > 0, times, np.nan) for name, hits in correct.items()}


def _worst(by_attack: dict[str, FloatArray]) -> tuple[FloatArray, list[str]]:
    """Return each record's highest share over the attacks, and the attack that reaches it first."""
    table = np.array(list(by_attack.values()))
    names = list(by_attack)
    worst = table.max(axis=0)
    first = np.where(np.isnan(table), -1, table).argmax(axis=0)
    return worst, [names[k] if share > 0 else "" for k, share in zip(first, worst, strict=True)]


def _group_risks(audit: Audit, spec: str, records: Records, sizes: NDArray[np.int64]) -> list[GroupRisk]:
    """Average the risk of the records by the size of their label group: by the worst attack of each record."""
    worst, _ = _worst(measure_people(audit, records)[1])
    there = [(name, inside, worst[inside & ~np.isnan(worst)]) for name, inside in _groups(sizes)]
    return [
        GroupRisk(spec, name, int(inside.sum()), float(found.mean()), float(found.max()))
        for name, inside, found in there
        if len(found)
    ]


def tabulate_people(audit: Audit, found: Findings) -> pd.DataFrame:
    """Return a row for each record and setting: row number, id, k-anonymity of its label, and its risk by attack."""
    sizes = count_sharing(audit)
    parts = []
    for spec, records in found.records.items():
        times, by_attack = measure_people(audit, records)
        worst, by = _worst(by_attack)
        parts.append(
            pd.DataFrame(
                {
                    "row": np.arange(1, len(sizes) + 1),
                    "id": [str(person) for person in audit.target.ids],
                    "label_k": sizes,
                    "mask": spec,
                    "times_known": times,
                    "risk": worst,
                    "by": by,
                    **{f"risk_{name}": share for name, share in by_attack.items()},
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _typical_matches(audit: Audit, records: Records, spec: str) -> TypicalMatches | None:
    """Show the matches of the worst attack in a typical repetition, as outcomes without any place or name."""
    found = _typical(audit, records)
    if found is None:
        return None
    repetition, attempt = found
    right, wrong = set(attempt.correct), {row for row, _ in attempt.wrong}
    common = records[repetition].common
    chosen = audit.chance.rng("picture").permutation(common)[:SHOWN].tolist()
    shown = tuple("correct" if row in right else "wrong" if row in wrong else "none" for row in chosen)
    return TypicalMatches(spec, attempt.attack, len(common), len(right), len(wrong), shown)


def _typical(audit: Audit, records: Records) -> tuple[int, Attempt] | None:
    """Find the repetition in which the worst attack had its median number of hits, and what it claimed there."""
    worst = measure_risk(records, audit.plan.attack_names).attack
    tries = [
        (len(one.correct), repetition, one)
        for repetition, record in records.items()
        for one in record.attempts
        if one.attack == worst and one.applies
    ]
    if not tries:
        return None
    _, repetition, attempt = sorted(tries, key=lambda entry: entry[:2])[len(tries) // 2]
    return repetition, attempt


def _people(audit: Audit, records: Records, spec: str) -> PeopleAtRisk:
    """List the records themselves with their risk, for a report that stays with the data holder."""
    times, by_attack = measure_people(audit, records)
    worst, by = _worst(by_attack)
    sizes = count_sharing(audit)
    places = audit.points.coordinates if audit.points is not None else None
    flat = audit.has_map and places is not None and places.shape[1] == 2
    people = []
    for row, person in enumerate(audit.target.ids):
        risk = None if np.isnan(worst[row]) else float(worst[row])
        about = Person(row + 1, str(person), int(sizes[row]), risk, by[row], int(times[row]))
        if flat and places is not None:
            about = replace(about, x=float(places[row, 0]), y=float(places[row, 1]))
        people.append(about)
    return PeopleAtRisk(spec, tuple(people), tuple(_lines(audit, records)) if flat else ())


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
