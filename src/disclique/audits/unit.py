"""One unit of an audit carried out: a release, attacked in every way and held against all yardsticks.

The attacks are tried some twenty times, which tells a mean but no person's risk. The oracle costs little, and is asked
for each person many times: fresh draws of the mask, and in each of them every released person in turn is among those
whom the snooper knows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from disclique.attacks import Attack, Holder, Knowledge, Search, act, fetcher, learn, parse_attacks
from disclique.attacks.act import link_releases
from disclique.attacks.calibration import Calibration, calibrate, calibrate_matrix
from disclique.attacks.population import prepare
from disclique.audits.definition import Audit, People, Rest, Varied, count_common
from disclique.audits.known_file import KnownFile, add_errors, draw_known_file, draw_others, join_files
from disclique.audits.plan import DRAWS, RAISE
from disclique.audits.rates import ReleaseRecord, Trials
from disclique.audits.sensitivity import vary
from disclique.audits.yardsticks import (
    ask_insiders,
    consult_oracle,
    find_spared,
    guess_by_labels,
    match_labels,
    run_control,
    weigh_attempt,
)
from disclique.errors import DiscliqueError, InputError
from disclique.masks import Mask
from disclique.measures.risk import SCENARIOS, Hits, Truth
from disclique.measures.utility import utility
from disclique.model import Budget, Microdata
from disclique.progress import tell
from disclique.records.reading import select_records
from disclique.runs import Unit
from disclique.spaces import ReleaseSeries
from disclique.spaces.base import Distances


class UnitRunner:
    """Carries out units of an audit, and keeps what several of them share: recoded files, what is known of a mask.

    It goes to another process without what it keeps.
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit
        self.at_labels = lru_cache(maxsize=64)(audit.recoded)
        self.assuming = lru_cache(maxsize=32)(vary)
        self.known_file = lru_cache(maxsize=32)(draw_known_file)
        self.knowledge = lru_cache(maxsize=64)(learn_mask)

    def __reduce__(self) -> tuple[type[UnitRunner], tuple[Audit]]:
        return UnitRunner, (self.audit,)

    def __call__(self, unit: Unit) -> ReleaseRecord:
        """Mask the file, attack the release, and judge what was claimed.

        With more effort only the attacks that rest on a budgeted search are repeated. ``People`` asks the oracle alone,
        for every person; what assumes one thing otherwise leaves out what is only measured beside the risk.
        """
        audit, mask = self.at_labels(unit.setting.labels), unit.setting.mask
        if isinstance(unit.stage, People):
            return ask_for_everybody(audit, unit, partial(self.knowledge, audit.plain, mask))
        if isinstance(unit.stage, Varied):
            audit = self.assuming(audit, unit.stage)
        known = self.known_file(audit, unit.repetition)
        return attack_release(audit, unit, known, self.knowledge(audit.plain, mask, known.share))


def run_unit(audit: Audit, unit: Unit) -> ReleaseRecord:
    """Carry out one unit by itself."""
    return UnitRunner(audit)(unit)


def attack_release(audit: Audit, unit: Unit, known: KnownFile, knowledge: Knowledge) -> ReleaseRecord:
    """Mask the file of a repetition, attack the release, and hold it against the yardsticks."""
    mask = unit.setting.mask
    plan, rng = audit.plan, audit.chance.rng
    # one more than is published, for what a further release would give away
    masked = draw_releases(mask, known, plan.releases + 1, lambda k: rng("noise", mask.name, unit.repetition, *k))
    attacks = build_attacks(audit, unit, known, knowledge)
    published = _publish(audit, unit, known, masked[: plan.releases], knowledge)
    target = replace(known.released, distances=published)
    labels = match_labels(audit, target, known.data)
    more = unit.effort > 0 or isinstance(unit.stage, Rest)  # than was carried out before on the same release
    tell("oracle")
    asked = None if more else consult_oracle(masked[: plan.releases], known, knowledge, labels)
    saved = None
    if asked is not None and not plan.thorough:
        saved = find_spared(asked, knowledge, known, labels.exact, audit, unit.repetition)
    run = fetcher(target, known.data, labels)
    tries = act(attacks, run, truth=known.truth, seeds=known.seeds, spare=saved)
    attempts = []
    for tried in tries:
        attempt, attack = weigh_attempt(tried, known, labels.exact, plan.scenario), attacks[tried.spec]
        if attempt.cut is not None:
            holder = Holder(known.released, known.data, labels(attack), known.truth, knowledge)
            attempt = replace(attempt, most=_find_most(attack, target, holder))
        attempts.append(attempt)
    common = tuple(known.rows[known.sought.pairs[:, 0]].tolist())
    record = ReleaseRecord(len(known.data), common, Hits(), None, None, tuple(attempts), len(target))
    if asked is None:
        return record
    record = replace(
        record,
        guess=guess_by_labels(known, labels.exact),
        oracle=asked.attempt(known, plan.scenario),
    )
    if unit.repetition >= audit.tuning.sampled_repetitions or isinstance(unit.stage, Varied):
        return record
    spared = {one.spec for one in tries if one.spared is not None}

    def build(told: KnownFile) -> dict[str, Attack]:
        return build_attacks(audit, unit, told, knowledge, without=spared)

    again = consult_oracle(masked, known, knowledge, labels)
    useful = utility(known.released.distances, masked[0], rng=rng("utility", unit.repetition), mask=mask)
    if unit.repetition == 0 or unit.repetition * len(target) < audit.tuning.controlled_records:
        attempts = run_control(audit, unit.repetition, attempts, target, known, build)
    return replace(
        record,
        utility=useful.to_dict(),
        utility_error=dict(useful.errors) or None,
        utility_sample=useful.sample,
        attempts=tuple(attempts),
        seeded=ask_insiders(audit, unit.repetition, target, known, tries, build),
        again=None if again.answer is None else again.answer.hits,
    )


def _publish(
    audit: Audit, unit: Unit, known: KnownFile, masked: Sequence[Distances], knowledge: Knowledge
) -> Distances:
    """Return what a snooper makes of the releases: their distances, of several of them as one source."""
    released = [one.as_matrix(most=audit.tuning.whole_records) for one in masked]
    if len(released) == 1:
        return released[0]
    if audit.plan.linked:
        return ReleaseSeries(tuple(released))
    rng = audit.chance.rng("order", unit.repetition)
    files = [replace(known.released, distances=one) for one in released]
    mixed = [files[0], *(select_records(file, rng.permutation(len(file))) for file in files[1:])]
    places = audit.places
    earth = places is not None and places.on_earth
    metric = "sphere" if earth else "euclidean" if places is not None and places.is_map else None
    return link_releases(mixed, knowledge, metric=metric)


def build_attacks(
    audit: Audit, unit: Unit, known: KnownFile, knowledge: Knowledge, without: Collection[str] = ()
) -> dict[str, Attack]:
    """Build the attacks, each told how the mask works; with more effort only those that rest on a budgeted search.

    An insider is told the seeds of the known file. ``Rest`` has only the attacks that may have been spared.
    """
    plan, tuning = audit.plan, audit.tuning
    starts = tuning.starts_on_map if audit.places is not None and audit.places.is_map else tuning.starts
    budget = Budget(work=plan.budget * RAISE**unit.effort)
    search = Search(budget=budget, threads=1, limit=tuning.ties, starts=starts, memory=tuning.graph_bytes)
    specs = [spec for spec in parse_attacks(plan.attacks) if spec.kind.by_agreement or not unit.effort]
    specs = [spec for spec in specs if spec.kind.cost > tuning.sparing.cheap_cost or not isinstance(unit.stage, Rest)]
    told = replace(knowledge, seeds=known.seeds)
    return {spec.spec: spec.build(told, search) for spec in specs if spec.spec not in without}


def learn_mask(audit: Audit, mask: Mask, share: float) -> Knowledge:
    """Return what the snooper knows: how the mask works, and what share of the released people is in their file."""
    error = audit.coordinate_error
    calibration = calibrate_for(audit, mask)
    rng = audit.chance.rng("knowledge", mask.name)
    common = min(share, audit.tuning.most_common_share)
    told = learn(mask, calibration, audit.places, common=common, coordinate_error=error, rng=rng)
    return replace(told, bold=True).at(audit.plan.alpha, calibration)


def calibrate_for(audit: Audit, mask: Mask) -> Calibration:
    """Simulate how far the mask moves distances, on the file's own places, with the snooper's coordinate error."""
    rng = audit.chance.rng("calibration", mask.name)
    if audit.points is not None:
        places = audit.points
        found = calibrate(mask, points=places.coordinates, metric=places.metric, unit=places.unit, rng=rng)
    else:
        found = calibrate_matrix(mask, audit.target.distances, rng=rng)
    if not audit.coordinate_error:
        return found
    vectors = audit.points is not None and not audit.points.is_map
    across = audit.points.coordinates.shape[1] - 1 if audit.points is not None and vectors else 0
    return found.blurred(audit.coordinate_error, rng, across=across)


def _find_most(attack: Attack, target: Microdata, holder: Holder) -> int | None:
    """Return how many people an attack that was cut short could have found; None where nobody knows."""
    try:
        return attack.find_most(target, holder)
    except DiscliqueError:
        return None


def draw_releases(
    mask: Mask, known: KnownFile, count: int, rng: Callable[[tuple[int, ...]], np.random.Generator]
) -> list[Distances]:
    """Draw releases of the same people, each with fresh noise; the first is that of a single release."""
    return [mask.apply(known.released.distances, rng((k,) if k else ())) for k in range(count)]


def ask_for_everybody(audit: Audit, unit: Unit, know: Callable[[float], Knowledge]) -> ReleaseRecord:
    """Ask the oracle for everybody in fresh draws; ``know`` says what a snooper knows who knows a share of them."""
    mask, size = unit.setting.mask, len(audit.target)
    asked, right, draws = np.zeros(size, dtype=np.int64), np.zeros(size), []
    certain = (mask.rigid or mask.replayed) and not audit.coordinate_error  # nothing is left to chance
    known_size, released = 0, size
    for draw in range(1 if certain else DRAWS):
        rng = audit.chance.rng("people", mask.name, unit.repetition, draw)
        masked: list[Distances] | None = None
        shares: list[tuple[int, Hits]] = []
        for known in _known_files(audit, unit.repetition * DRAWS + draw, rng):
            known_size, released = len(known.data), len(known.released)
            if masked is None:
                masked = draw_releases(mask, known, audit.plan.releases, lambda _: rng)  # noqa: B023 - used at once
            labels = match_labels(audit, known.released, known.data)
            found = consult_oracle(masked, known, know(known.share), labels)
            if found.answer is None:
                raise found.refusal or InputError("oracle_not_asked")
            hits, chances = found.answer.hits, found.answer.of(audit.plan.scenario)
            rows = known.rows[known.sought.pairs[:, 0]]
            asked[rows] += DRAWS if certain else 1
            right[rows] += chances * (DRAWS if certain else 1)
            shares.append((len(rows), hits))
        people = max(sum(count for count, _ in shares), 1)
        total = [sum(hits.of(name) for _, hits in shares) for name in SCENARIOS]
        draws.append(Hits(total[0] / people, total[1] / people, total[2] / people))
    trials = Trials(tuple(asked.tolist()), tuple(np.round(right, 4).tolist()), tuple(draws))
    return ReleaseRecord(known_size, (), Hits(), None, None, (), released, trials=trials)


def count_groups(audit: Audit) -> int:
    """Return in how many groups the people of a release are known, one after the other."""
    overlap, size = audit.plan.snooper.overlap, len(audit.target)
    if overlap is None or audit.splits:
        return 1
    # a few more known than asked for can only make people easier to find
    return min(-(-size // count_common(overlap, size)), audit.tuning.known_groups)


def _known_files(audit: Audit, number: int, rng: np.random.Generator) -> Iterator[KnownFile]:
    """Draw known files of one release in which together every released person is known, where the file is drawn."""
    snooper, size = audit.plan.snooper, len(audit.target)
    if snooper.overlap is None or audit.splits:
        yield draw_known_file(audit, number)
        return
    parts = np.array_split(rng.permutation(size), count_groups(audit))
    others = draw_others(audit, max((snooper.size or size) - len(parts[0]), 0), rng)
    for part in parts:
        data = add_errors(audit, join_files(select_records(audit.target, part), others), rng)
        truth = Truth(np.column_stack([part, np.arange(len(part))])[np.argsort(part)])
        known = KnownFile(prepare(data), truth, audit.target, np.arange(size))
        yield known.with_seeds(min(snooper.seeds, len(part) - 1), rng) if snooper.seeds else known
