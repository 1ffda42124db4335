"""One unit of an audit carried out: what a release gives away, or how near real attacks come.

The oracle is asked of every release. It costs little, and so is asked for each person many times, too: in fresh draws
of the mask, in each of which every released person in turn is among those whom the snooper knows. Attacks only
demonstrate: they are carried out on a few releases, the same that the oracle was asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from disclique.attacks import (
    Attack,
    Knowledge,
    Outcome,
    Search,
    act,
    fetcher,
    learn,
    parse_attack,
    parse_attacks,
)
from disclique.attacks.act import link_releases
from disclique.attacks.calibration import Calibration, calibrate, calibrate_matrix
from disclique.attacks.oracle.values import Told
from disclique.attacks.population import prepare
from disclique.audits.definition import Attacked, Audit, People, Varied, count_common
from disclique.audits.fitting import Residents, count_fitting
from disclique.audits.known_file import KnownFile, add_errors, add_fakes, draw_known_file, draw_others, join_files
from disclique.audits.plan import ALL_ATTACKS, DRAWS
from disclique.audits.rates import ORACLE
from disclique.audits.release_records import InsiderHits, ReleaseRecord, ToldTrials, Trials
from disclique.audits.sensitivity import RELEASED, WITHOUT_NUMBERS, vary
from disclique.audits.yardsticks import (
    Consulted,
    ask_insiders,
    consult_oracle,
    guess_by_labels,
    match_labels,
    run_control,
    weigh_attempt,
)
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.masks.settings import Setting
from disclique.measures.risk import SCENARIOS, Hits, Truth, find_chances
from disclique.measures.utility import utility
from disclique.model import Budget, Candidates, Microdata
from disclique.numbers import NO_NUMBERS, Numbers
from disclique.progress import tell
from disclique.records.tables import select_records
from disclique.runs import Measured, Unit
from disclique.spaces import Nothing, ReleaseSeries
from disclique.spaces.base import Distances
from disclique.values import FloatArray


@dataclass(frozen=True)
class Useful:
    """How useful one release is, as it is recorded: it does not depend on who gets it."""

    utility: dict[str, float | None]
    errors: dict[str, float | None] | None
    sample: int | None

    @classmethod
    def of(cls, record: ReleaseRecord) -> Useful | None:
        """Return it from a record; None where it was not measured."""
        if record.utility is None:
            return None
        return cls(record.utility, record.utility_error, record.utility_sample)


class UnitRunner:
    """Carries out units of an audit, and keeps what several of them share: recoded files, what is known of a mask.

    It goes to another process without what it keeps. ``useful`` are releases whose usefulness is known already.
    """

    def __init__(self, audit: Audit, useful: Mapping[Unit, Useful] | None = None) -> None:
        self.audit, self.useful = audit, useful or {}
        self.at_labels = lru_cache(maxsize=64)(audit.recoded)
        self.assuming = lru_cache(maxsize=32)(vary)
        self.known_file = lru_cache(maxsize=32)(draw_known_file)
        self.knowledge = lru_cache(maxsize=64)(learn_mask)
        self.prepared = lru_cache(maxsize=64)(lambda mask: mask.prepare(audit.target))

    def __reduce__(self) -> tuple[type[UnitRunner], tuple[Audit, Mapping[Unit, Useful]]]:
        return UnitRunner, (self.audit, self.useful)

    def __call__(self, unit: Unit) -> ReleaseRecord:
        """Mask the file and ask what the release gives away; or attack it; or ask the oracle for every person."""
        audit, mask = self.at_labels(unit.setting.labels), self.prepared(unit.setting.mask)
        useful = self.useful.get(unit)
        unit = replace(unit, setting=replace(unit.setting, mask=mask))
        if isinstance(unit.stage, People):
            return ask_for_everybody(audit, unit, partial(self.knowledge, audit.plain, mask))
        if isinstance(unit.stage, Varied):
            audit = self.assuming(audit, unit.stage)
        known = self.known_file(audit, unit.repetition)
        known = add_fakes(audit, known, mask.faked, audit.chance.rng("fakes", unit.repetition))
        knowledge = self.knowledge(audit.plain, mask, known.share)
        if isinstance(unit.stage, Attacked):
            return attack_release(audit, unit, known, knowledge)
        measured = measure_release(audit, unit, known, knowledge, useful)
        if isinstance(unit.stage, Varied) and unit.stage.by != ORACLE:
            return measured.with_attacks(attack_release(audit, unit, known, knowledge))
        return measured


def run_unit(audit: Audit, unit: Unit) -> ReleaseRecord:
    """Carry out one unit by itself."""
    return UnitRunner(audit)(unit)


def measure_release(
    audit: Audit, unit: Unit, known: KnownFile, knowledge: Knowledge, useful: Useful | None = None
) -> ReleaseRecord:
    """Mask the file of a repetition, ask the oracle and guess, and measure how ``useful`` the release is if need be.

    What assumes one thing otherwise leaves out what is only measured beside the risk.
    """
    mask, plan, tuning = unit.setting.mask, audit.plan, audit.tuning
    sampled = unit.repetition < tuning.sampled_repetitions and not isinstance(unit.stage, Varied)
    # one more than is published, for what a further release would give away
    masked = _draw(audit, unit, known, plan.releases + sampled)
    target = _with_numbers(audit, unit, known, plan.releases)
    masked, target = _leave_out(unit, masked, target)
    labels = match_labels(audit, target, known.data, mask)
    tell(ORACLE)
    columns = () if isinstance(unit.stage, Varied) else audit.sensitive
    read = audit.dictionary if sampled else None
    asked = consult_oracle(masked[: plan.releases], known, knowledge, labels, columns, read)
    most_named = len(known.sought) if len(known.sought) <= tuning.most_named or unit.repetition == 0 else 0
    record = _begin(known)
    record = replace(
        record,
        guess=guess_by_labels(known, labels.exact),
        oracle=asked.record(known, plan.scenario, most_named=most_named),
        inference=tuple(asked.infer([one.name for one in columns], known, plan.scenario, most_named)),
    )
    if audit.population is not None and unit.repetition == 0 and isinstance(unit.stage, Measured):
        residents = Residents.of(audit.population, audit.plain.target, unit.setting.labels)
        found = count_fitting(residents, target, known.released, masked[0], knowledge.law)
        record = replace(record, fitting=found)
    if not sampled:
        return record
    if len(known.released.numbers):
        labels = match_labels(audit, _with_numbers(audit, unit, known, len(masked)), known.data, mask)
    again = consult_oracle(masked, known, knowledge, labels)
    if useful is None:
        rng = audit.chance.rng("utility", unit.repetition)
        before_after = audit.plain.target.numbers.select(known.rows), target.numbers
        made = utility(known.released.distances, masked[0], rng=rng, mask=mask, numbers=before_after)
        useful = Useful(made.to_dict(), dict(made.errors) or None, made.sample)
    return replace(
        record,
        utility=useful.utility,
        utility_error=useful.errors,
        utility_sample=useful.sample,
        again=None if again.answer is None else again.answer.hits,
    )


def _leave_out(unit: Unit, masked: list[Distances], released: Microdata) -> tuple[list[Distances], Microdata]:
    """Leave numbers out, or what is published between records, where it is asked what the other one gives away."""
    if not (isinstance(unit.stage, Varied) and unit.stage.varied == RELEASED):
        return masked, released
    if unit.stage.value == WITHOUT_NUMBERS:
        return masked, replace(released, numbers=NO_NUMBERS)
    return [Nothing(len(released)) for _ in masked], released


def _begin(known: KnownFile) -> ReleaseRecord:
    """Return the record of a release of which only is said who is known."""
    common = tuple(known.rows[known.sought.pairs[:, 0]].tolist())
    return ReleaseRecord(len(known.data), common, len(known.released))


def _draw(audit: Audit, unit: Unit, known: KnownFile, count: int) -> list[Distances]:
    """Draw the releases of a repetition: the same ones whatever is done to them."""
    mask, rng = unit.setting.mask, audit.chance.rng
    return draw_releases(mask, known, count, lambda k: rng("noise", mask.name, unit.repetition, *k))


def _with_numbers(audit: Audit, unit: Unit, known: KnownFile, count: int) -> Microdata:
    """Return the released records with the numbers of so many releases, each with its law."""
    rng = audit.chance.rng
    return publish_numbers(unit.setting, known.released, count, lambda k: rng("numbers", unit.repetition, k))


def publish_numbers(
    setting: Setting, released: Microdata, count: int, rng: Callable[[int], np.random.Generator]
) -> Microdata:
    """Return records with the numbers of so many releases; what is released the same each time stands once."""
    if not len(released.numbers):
        return setting.numbers.apply(released, rng(0))
    made = [setting.numbers.apply(released, rng(k)).numbers for k in range(count)]
    found = made[0]
    for other in made[1:]:
        found = found.beside(Numbers(tuple(one for one in other.columns if not one.law.sharp)))
    return replace(released, numbers=found)


def attack_release(audit: Audit, unit: Unit, known: KnownFile, knowledge: Knowledge) -> ReleaseRecord:
    """Attack the release of a repetition, so that it shows how near a real snooper comes.

    The best attack is held against a control. Insiders are asked where the oracle does not know better than they do.
    """
    plan = audit.plan
    masked = _draw(audit, unit, known, plan.releases)
    published = _publish(audit, unit, known, masked, knowledge)
    target = replace(_with_numbers(audit, unit, known, plan.releases), distances=published)
    labels = match_labels(audit, target, known.data, unit.setting.mask)
    shown = Shown(consult_oracle(masked, known, knowledge, labels), known, labels.exact, knowledge, audit, unit)
    attacks = build_attacks(audit, known, knowledge)
    run = fetcher(target, known.data, labels)
    tries = act(attacks, run, truth=known.truth, seeds=known.seeds, enough=None if shown.all else shown.find_enough)
    attempts = [weigh_attempt(tried, known, labels.exact, plan.scenario) for tried in tries]

    def build(told: KnownFile, specs: Collection[str]) -> dict[str, Attack]:
        return {spec: one for spec, one in build_attacks(audit, told, knowledge).items() if spec in specs}

    ran = {one.spec for one in tries if one.claims is not None}
    best = max((one for one in attempts if one.applies), key=lambda one: one.hits.of(plan.scenario), default=None)
    if best is not None and unit.repetition == 0 and audit.tuning.control:
        held = ran if plan.thorough else {best.attack}
        attempts = run_control(audit, unit, attempts, target, known, lambda told: build(told, held))
    seeded: tuple[InsiderHits, ...] = ()
    if not shown.exact and unit.repetition == 0:
        seeded = ask_insiders(audit, unit, target, known, tries, lambda told: build(told, ran))
    return replace(_begin(known), attempts=tuple(attempts), seeded=seeded)


class Shown:
    """How much attacks have to show of a release.

    Where the oracle knows the exact law, an attack that used the whole map, or found what the oracle finds, is enough.
    Elsewhere the first release is attacked in every way, since what an oracle overlooks shows only there. ``all``: an
    audit that is thorough, and one that names its attacks, carries out all of them.
    """

    def __init__(
        self, asked: Consulted, known: KnownFile, alike: Candidates, knowledge: Knowledge, audit: Audit, unit: Unit
    ) -> None:
        self.asked, self.known, self.alike, self.audit = asked, known, alike, audit
        answer, law = asked.answer, knowledge.law
        self.exact = answer is not None and not answer.learned and (law is None or law.exact)
        self.first = unit.repetition == 0
        self.all = audit.plan.thorough or audit.plan.attacks != ALL_ATTACKS

    def find_enough(self, attack: Attack, tries: Sequence[Outcome]) -> InputError | None:
        """Say after some attacks why the next one shows no more; None if it may."""
        answer, ran = self.asked.answer, [one for one in tries if one.claims is not None]
        before = [one for one in ran if parse_attack(one.spec).kind.cost < attack.cost]
        if answer is None or not before or (self.first and not self.exact):
            return None
        if self.exact and any(one.used_whole_map for one in before):
            return InputError("attack_not_needed_on_map")
        scenario, told = self.audit.plan.scenario, (self.known.sought, self.alike, self.known.seeds)
        found = max(float(find_chances(one.claims, *told, scenario).sum()) for one in before)
        room = self.audit.tuning.enough_share * len(self.known.sought)
        return InputError("attack_shows_no_more") if found >= answer.hits.of(scenario) - room else None


def _publish(
    audit: Audit, unit: Unit, known: KnownFile, masked: Sequence[Distances], knowledge: Knowledge
) -> Distances:
    """Return what a snooper makes of the releases: their distances, of several of them as one source."""
    # encodings are released as they are: their bits tell more than their distances
    released = [one.encodings() or one.as_matrix(most=audit.tuning.whole_records) for one in masked]
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


def build_attacks(audit: Audit, known: KnownFile, knowledge: Knowledge) -> dict[str, Attack]:
    """Build the attacks, each told how the mask works; an insider is told the seeds of the known file."""
    plan, tuning = audit.plan, audit.tuning
    starts = tuning.starts_on_map if audit.places is not None and audit.places.is_map else tuning.starts
    budget = Budget(work=plan.budget)
    search = Search(budget=budget, threads=1, limit=tuning.ties, starts=starts, memory=tuning.graph_bytes)
    told = replace(knowledge, seeds=known.seeds)
    return {spec.spec: spec.build(told, search) for spec in parse_attacks(plan.attacks)}


def learn_mask(audit: Audit, mask: Mask, share: float) -> Knowledge:
    """Return what the snooper knows: how the mask works, and what share of the released people is in their file.

    Groups within which distances are published are seen from the release itself (``match_labels``).
    """
    error, mask = audit.coordinate_error, mask.inner
    calibration = calibrate_for(audit, mask)
    rng = audit.chance.rng("knowledge", mask.name)
    common = min(share, audit.tuning.most_common_share)
    told = learn(mask, calibration, audit.places, common=common, coordinate_error=error, rng=rng)
    return replace(told, bold=True).at(audit.plan.alpha, calibration)


def calibrate_for(audit: Audit, mask: Mask) -> Calibration:
    """Simulate how far the mask moves distances, on the file's own places, with the snooper's coordinate error."""
    rng = audit.chance.rng("calibration", mask.name)
    if mask.withholds or not audit.target.distances.are_published:
        found = Calibration(mask, np.zeros(2), np.zeros(2))  # there are none to be moved
    elif audit.points is not None:
        places = audit.points
        found = calibrate(mask, points=places.coordinates, metric=places.metric, unit=places.unit, rng=rng)
    else:
        found = calibrate_matrix(mask, audit.target.distances, rng=rng)
    if not audit.coordinate_error:
        return found
    vectors = audit.points is not None and not audit.points.is_map
    across = audit.points.coordinates.shape[1] - 1 if audit.points is not None and vectors else 0
    return found.blurred(audit.coordinate_error, rng, across=across)


def draw_releases(
    mask: Mask, known: KnownFile, count: int, rng: Callable[[tuple[int, ...]], np.random.Generator]
) -> list[Distances]:
    """Draw releases of the same people, each with fresh noise; the first is that of a single release."""
    drawn = mask.select(known.rows)
    return [drawn.apply(known.released.distances, rng((k,) if k else ())) for k in range(count)]


def ask_for_everybody(audit: Audit, unit: Unit, know: Callable[[float], Knowledge]) -> ReleaseRecord:
    """Ask the oracle for everybody in fresh draws; ``know`` says what a snooper knows who knows a share of them."""
    mask, size = unit.setting.mask, len(audit.target)
    asked, right, draws = np.zeros(size, dtype=np.int64), np.zeros(size), []
    told = [ToldSums(one.name, np.zeros(size)) for one in audit.sensitive]
    certain = (mask.rigid or mask.replayed) and not audit.coordinate_error and not len(audit.target.numbers)
    known_size, released = 0, size
    for draw in range(1 if certain else DRAWS):
        rng = audit.chance.rng("people", mask.name, unit.repetition, draw)
        masked: list[Distances] | None = None
        target = audit.target
        shares: list[tuple[int, Hits]] = []
        number = unit.repetition * DRAWS + draw
        for plain in _known_files(audit, number, rng):
            known = add_fakes(audit, plain, mask.faked, audit.chance.rng("fakes", mask.name, number))  # always the same
            known_size, released = len(known.data), len(known.released)
            if masked is None:
                masked = draw_releases(mask, known, audit.plan.releases, lambda _: rng)  # noqa: B023 - used at once
                target = publish_numbers(unit.setting, known.released, audit.plan.releases, lambda _: rng)  # noqa: B023
            labels = match_labels(audit, target, known.data, mask)
            found = consult_oracle(masked, known, know(known.share), labels, audit.sensitive)
            if found.answer is None:
                raise found.refusal or InputError("oracle_not_asked")
            hits, chances = found.answer.hits, found.answer.of(audit.plan.scenario)
            rows = known.rows[known.sought.pairs[:, 0]]
            asked[rows] += DRAWS if certain else 1
            right[rows] += chances * (DRAWS if certain else 1)
            shares.append((len(rows), hits))
            for one, values in zip(told, found.answer.told, strict=True):
                one.add(rows, values, chances, often=DRAWS if certain else 1)
        people = max(sum(count for count, _ in shares), 1)
        total = [sum(hits.of(name) for _, hits in shares) for name in SCENARIOS]
        draws.append(Hits(total[0] / people, total[1] / people, total[2] / people))
        for one in told:
            one.end_draw()
    trials = Trials(
        tuple(asked.tolist()), tuple(np.round(right, 4).tolist()), tuple(draws), tuple(one.trials for one in told)
    )
    return ReleaseRecord(known_size, (), released, trials=trials)


@dataclass
class ToldSums:
    """What is told of a sensitive column, added up over the groups of known people in a draw, and over draws."""

    column: str
    right: FloatArray
    draws: list[tuple[float, float]] = field(default_factory=list)  # shares told, and told for certain
    people: int = 0
    told: float = 0.0
    identified: float = 0.0
    certain: int = 0

    def add(self, rows: NDArray[np.int64], values: Told, identified: FloatArray, often: int) -> None:
        """Add what is told of the people of some rows; it counts so often for each of them."""
        there = ~np.isnan(values.right)
        self.right[rows[there]] += often * values.right[there]
        self.people += int(there.sum())
        self.told += float(values.right[there].sum())
        self.identified += float(identified[there].sum())
        self.certain += int(values.certain.sum())

    def end_draw(self) -> None:
        """Take the shares of a draw; one in which nobody has a value says nothing."""
        if self.people:
            self.draws.append((max(self.told, self.identified) / self.people, self.certain / self.people))
        self.people, self.told, self.identified, self.certain = 0, 0.0, 0.0, 0

    @property
    def trials(self) -> ToldTrials:
        """What is recorded of all draws."""
        shares, certain = (tuple(round(one[k], 6) for one in self.draws) for k in (0, 1))
        return ToldTrials(self.column, tuple(np.round(self.right, 4).tolist()), shares, certain)


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
