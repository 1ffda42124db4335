"""What a unit leaves behind, and the rates that follow from many of them: the risk of a release.

The risk of a setting is that of the *worst* attack in the scenario asked for, and never below guessing. Releases are
the independent units, not people: an attack that finds its way in one release finds nearly everybody there, and nobody
in the next. So the upper end is one that holds for any law of the risk of a release (``measures.bounds``), unless the
oracle, which sees the masked data with the exact law of the mask and need not find any way, was asked: no release gives
away more on average than that, and what it finds varies little between releases. Then the upper end is that of the
oracle, unless an attack finds more on the same releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from disclique.measures.bounds import lower_end, repetitions_needed, smooth_upper_end, upper_end
from disclique.measures.risk import Hits, trials
from disclique.messages import Message

GUESS = "guess"


@dataclass(frozen=True)
class Attempt:
    """One attack on one release, or what the oracle makes of it.

    ``why`` says why it could not be carried out, ``spared`` why it need not be; both are None if it was. ``correct``
    are the target rows it claimed rightly, ``wrong`` its wrong pairs. ``named`` are the rows of known people with the
    chance that they are identified in the scenario of the audit, where there is any, and ``hits`` how many people are
    expected to be found in each scenario. ``taken`` are pairs (target row, row of the known file) of people for whom
    the wrong record was named, where the scenario names one for everybody. ``cut`` says what was cut short, and then at
    most ``most`` people could have been claimed. ``control`` counts the claims on a known file without any of
    ``control_targets`` released people: all false. ``unlaid`` counts the released records that lie on no map, or on a
    part of one that could not be laid on the known file; None where none is needed.
    """

    attack: str
    why: Message | None = None
    spared: Message | None = None
    correct: tuple[int, ...] = ()
    wrong: tuple[tuple[int, int], ...] = ()
    named: tuple[tuple[int, float], ...] = ()
    taken: tuple[tuple[int, int], ...] = ()
    hits: Hits = field(default_factory=Hits)
    expected: float | None = None
    cut: Message | None = None
    most: int | None = None
    doubt: Message | None = None
    seconds: float = 0.0
    control: int | None = None
    control_targets: int | None = None
    unlaid: int | None = None

    @property
    def applies(self) -> bool:
        """True if the attack was carried out."""
        return self.why is None and self.spared is None

    @property
    def claims(self) -> int:
        """How many pairs were claimed."""
        return len(self.correct) + len(self.wrong)


@dataclass(frozen=True)
class InsiderHits:
    """What an insider who knows so many true pairs finds of the ``sought`` other people, by the worst attack."""

    seeds: int
    hits: Hits
    sought: int


@dataclass(frozen=True)
class Trials:
    """How often the oracle was asked for each record of the file, and how often it named the right one.

    ``draws`` are releases, each with the expected share of people found in every scenario.
    """

    asked: tuple[int, ...]
    right: tuple[float, ...]
    draws: tuple[Hits, ...]


@dataclass(frozen=True)
class ReleaseRecord:
    """One release: who of it was known, what the yardsticks give, and what each attack did.

    ``guess`` is what guessing by label gives, ``oracle`` what the masked data give one who knows how they lie, under
    the exact law of the mask; its ``why`` says where that is not modelled, and None that it was not asked.
    ``released`` counts the records of the release; ``common`` are the known ones among them, without the seeds of an
    insider, as rows of the audited file. ``seeded`` says what insiders would find. ``again`` is what the oracle makes
    of two releases. Of a large file ``utility`` is an estimate from ``utility_sample`` records, with its standard
    errors. A unit that only asks the oracle, for every person many times, leaves ``trials`` and no attempt.
    """

    known: int
    common: tuple[int, ...]
    guess: Hits
    oracle: Attempt | None
    utility: dict[str, float | None] | None
    attempts: tuple[Attempt, ...]
    released: int
    seeded: tuple[InsiderHits, ...] = ()
    again: Hits | None = None
    trials: Trials | None = None
    utility_error: dict[str, float | None] | None = None
    utility_sample: int | None = None

    def with_more_effort(self, later: ReleaseRecord) -> ReleaseRecord:
        """Return the record with attacks that were repeated with a larger budget: the worse result of both."""
        again = {attempt.attack: attempt for attempt in later.attempts}
        return replace(
            self, attempts=tuple(_worse(a, again[a.attack]) if a.attack in again else a for a in self.attempts)
        )

    def with_rest(self, rest: ReleaseRecord) -> ReleaseRecord:
        """Return the record with attacks in the place of those that were spared at first."""
        ran = {attempt.attack: attempt for attempt in rest.attempts}
        return replace(
            self,
            attempts=tuple(ran[a.attack] if a.spared is not None and a.attack in ran else a for a in self.attempts),
        )


def _worse(first: Attempt, later: Attempt) -> Attempt:
    """Return the attempt that found more people, as far from its end as the later one is."""
    found = first if first.hits.prosecutor > later.hits.prosecutor else later
    found = replace(found, cut=later.cut, most=later.most, why=later.why)
    return replace(found, control=first.control, control_targets=first.control_targets)


def fill_spared(record: ReleaseRecord, one: Attempt, scenario: str) -> Attempt:
    """Return what a snooper has who spared an attack: what was found without it."""
    ran = [other for other in record.attempts if other.applies]
    return max(ran, key=lambda other: other.hits.of(scenario), default=one) if one.spared is not None else one


Records = Mapping[int, ReleaseRecord]  # of one setting, by repetition


@dataclass(frozen=True)
class Rate:
    """A share with its interval; None where nothing was tried."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def rate(shares: Sequence[float]) -> Rate:
    """Average shares over releases, with ends that hold for any law of them."""
    if not len(shares):
        return Rate()
    return _bound_mean(tuple(np.clip(np.asarray(shares, dtype=float), 0.0, 1.0).tolist()))


@lru_cache(maxsize=10_000)
def _bound_mean(shares: tuple[float, ...]) -> Rate:
    """Bound a mean; the search and every summary of an audit ask for the same ones again and again."""
    values = np.array(shares)
    return Rate(float(values.mean()), lower_end(values), upper_end(values))


@dataclass(frozen=True)
class AttackRisk:
    """One attack on one setting of a mask, over all repetitions made so far.

    ``risk`` is its risk in the scenario of the audit, ``highest`` that of the worst single release. ``recall`` and
    ``precision`` are of the pairs that it claims to be more probable than not, ``named`` is the share of people whose
    most probable record is theirs. ``cut`` counts the repetitions in which its work was cut short, for instance because
    of ``cut_why``; ``most`` is the risk that it could have reached at the very most. ``control`` is the share of
    records falsely claimed in a file without any target. ``unlaid`` is the share of the released records that an
    attack by maps could not lay on the known file; None for other attacks. ``spared`` counts the repetitions in which
    it was not carried out because that could not be expected to find more: there it counts as what was found without
    it, and ``why`` says the reason.
    """

    attack: str
    applies: bool
    why: Message | None = None
    risk: Rate = Rate()
    highest: float = 0.0
    named: Rate = Rate()
    precision: Rate = Rate()
    recall: Rate = Rate()
    claims: float = 0.0
    control: float | None = None
    cut: int = 0
    cut_why: Message | None = None
    most: Rate = Rate()
    doubtful: int = 0
    seconds: float = 0.0
    unlaid: float | None = None
    spared: int = 0
    spared_why: Message | None = None


def measure_attack(records: Records, attack: str, scenario: str) -> AttackRisk | None:
    """Measure what one attack achieved; None if no repetition has tried it."""
    pairs = [(record, one) for record in records.values() for one in record.attempts if one.attack == attack]
    ran = [(record, one) for record, one in pairs if one.applies]
    if not pairs:
        return None
    needless = [one.spared for _, one in pairs if one.spared is not None]
    reason = needless[0] if needless else None
    if not ran:
        why = pairs[0][1].why or reason
        return AttackRisk(attack, applies=False, why=why, spared=len(needless), spared_why=reason)
    filled = [(record, fill_spared(record, one, scenario)) for record, one in pairs if one.why is None]
    shares = [_share(one.hits, record, scenario) for record, one in filled]
    asked = sum(one.control_targets or 0 for _, one in ran)
    cut = [one.cut for _, one in ran if one.cut is not None]
    claimed = [len(one.correct) / one.claims for _, one in ran if one.claims]
    unlaid = [one.unlaid / max(record.released, 1) for record, one in ran if one.unlaid is not None]
    return AttackRisk(
        attack=attack,
        applies=True,
        why=_why_not(len(pairs), len(ran), needless),
        risk=rate(shares),
        highest=max(shares),
        named=rate([_share(one.hits, record, "prosecutor") for record, one in ran]),
        precision=rate(claimed),
        recall=rate([_share(one.hits, record, "journalist") for record, one in ran]),
        claims=float(np.mean([one.claims for _, one in ran])),
        control=sum(one.control or 0 for _, one in ran) / asked if asked else None,
        cut=len(cut),
        cut_why=cut[0] if cut else None,
        most=rate([_most(record, one, scenario) for record, one in ran]),
        doubtful=sum(one.doubt is not None for _, one in ran),
        seconds=float(np.mean([one.seconds for _, one in ran])),
        unlaid=float(np.mean(unlaid)) if unlaid else None,
        spared=len(needless),
        spared_why=reason,
    )


def _why_not(tried: int, ran: int, needless: Sequence[Message]) -> Message | None:
    """Say in how many repetitions an attack was not carried out, and why."""
    if ran == tried:
        return None
    if ran + len(needless) < tried:
        return Message("carried_out_in", some=ran, all=tried)
    return Message("spared_in", some=len(needless), all=tried, why=needless[0])


def _share(hits: Hits, record: ReleaseRecord, scenario: str) -> float:
    return hits.share(scenario, len(record.common), record.released)


def _most(record: ReleaseRecord, one: Attempt, scenario: str) -> float:
    """Return the share of people that the attack could have found at the most, had its work not been cut short.

    No more than the attack would with the truth for a guide, the others guessed, and no more than the oracle.
    """
    found = _share(one.hits, record, scenario)
    if one.cut is None:
        return found
    people = len(record.common)
    of = max(trials(scenario, people, record.released), 1)
    bounds = [float(people)]
    if one.most is not None:
        bounds.append(one.most + (0.0 if scenario == "journalist" else record.guess.of(scenario)))
    if record.oracle is not None and record.oracle.applies:
        bounds.append(record.oracle.hits.of(scenario))
    return max(found, min(1.0, min(bounds) / of))


@dataclass(frozen=True)
class OracleRisk:
    """What the oracle finds in the scenario of the audit: the mean over ``draws`` releases, and its upper end."""

    value: float
    high: float
    draws: int


def measure_oracle(records: Records, scenario: str, extra: Sequence[Hits] = ()) -> OracleRisk | None:
    """Measure what the masked data give one who knows how they lie; None unless every repetition asked the oracle.

    ``extra`` are the shares of further draws.
    """
    asked = [(record, record.oracle) for record in records.values()]
    if not asked or any(one is None or not one.applies for _, one in asked):
        return None
    shares = [_share(one.hits, record, scenario) for record, one in asked if one is not None]
    people = [max(trials(scenario, len(record.common), record.released), 1) for record, _ in asked]
    shares += [hits.of(scenario) for hits in extra]
    people += [round(float(np.mean(people)))] * len(extra)
    values = np.clip(shares, 0.0, 1.0)
    return OracleRisk(float(values.mean()), smooth_upper_end(values, people), len(values))


@dataclass(frozen=True)
class OracleRoom:
    """The share of people by which an attack may pass the oracle: it weighs by estimates, and may be lucky."""

    share: float = 0.02


ORACLE_ROOM = OracleRoom()


@dataclass(frozen=True)
class SettingRisk:
    """The risk of one setting: that of its worst attack, or of guessing where that is more.

    The upper end of ``interval`` decides. It is that of the oracle where there is one, and of every attack; else the
    highest over all attacks, and where work was cut short what it could have found at the most. ``highest`` is the
    worst single release. ``lower_bound`` says that the value may be higher because work was cut short. ``cut`` names
    the attacks that were cut short, ``most`` is the mean that was or could have been reached, ``measured_high`` the
    upper end by the attacks alone, as they ran, and ``needed`` how many repetitions like these would bring it under the
    limit. ``by_oracle`` says that the upper end is that of the oracle.
    """

    attack: str | None
    value: float
    interval: tuple[float, float]
    repetitions: int
    lower_bound: bool
    cut: tuple[str, ...] = ()
    most: float = 1.0
    measured_high: float = 1.0
    highest: float = 1.0
    needed: int | None = None
    by_oracle: bool = False


def measure_risk(
    records: Records,
    attacks: Sequence[str],
    scenario: str,
    *,
    limit: float | None = None,
    extra: Sequence[Hits] = (),
    room: OracleRoom = ORACLE_ROOM,
) -> SettingRisk:
    """Find the worst attack of a setting; where none could be carried out, nothing is known."""
    found = [measure_attack(records, attack, scenario) for attack in attacks]
    tried = [one for one in found if one is not None and one.applies and one.risk.value is not None]
    if not tried:
        return SettingRisk(None, 1.0, (0.0, 1.0), len(records), lower_bound=True)
    guesses = np.clip([_share(record.guess, record, scenario) for record in records.values()], 0.0, 1.0)
    worst = max(tried, key=lambda one: one.risk.value or 0.0)
    name, value, low = worst.attack, worst.risk.value or 0.0, worst.risk.low or 0.0
    if value < guesses.mean():
        name, value, low = GUESS, float(guesses.mean()), lower_end(guesses)
    oracle = measure_oracle(records, scenario, extra)
    guessed = smooth_upper_end(guesses, [max(len(record.common), 1) for record in records.values()])
    measured = max([guessed, *(one.risk.high or 0.0 for one in tried)])
    cut = [one for one in tried if one.cut]
    most = max([value, *(one.most.value or 0.0 for one in cut)])
    if oracle is None:
        high = max([measured, *(one.most.high or 0.0 for one in cut)])
    else:
        # on the same releases no attack finds more than the oracle, unless the law is not quite what it is taken for
        here = measure_oracle(records, scenario)
        same = oracle.value if here is None else here.value
        beyond = [one.risk.high or 0.0 for one in tried if (one.risk.value or 0.0) > same + room.share]
        high = min(1.0, max([oracle.high, guessed, *beyond]))
        most = max(value, oracle.value)
    slack = 0.0 if oracle is None else room.share
    settled = not cut or most <= value + slack or (limit is not None and high <= limit)
    needed = None
    if limit is not None and oracle is None:
        shares = _shares(records, worst.attack, scenario)
        needed = repetitions_needed(limit, shares) if shares else None
    return SettingRisk(
        attack=name,
        value=value,
        interval=(min(low, value), max(high, value)),
        repetitions=len(records),
        lower_bound=not settled,
        cut=tuple(one.attack for one in cut),
        most=most,
        measured_high=max(measured, value),
        highest=max([float(guesses.max()), *(one.highest for one in tried)]),
        needed=needed,
        by_oracle=oracle is not None,
    )


def _shares(records: Records, attack: str, scenario: str) -> list[float]:
    pairs = [(record, one) for record in records.values() for one in record.attempts if one.attack == attack]
    return [min(_share(one.hits, record, scenario), 1.0) for record, one in pairs if one.applies]


def average_utility(records: Records) -> dict[str, float | None] | None:
    """Average every measure of utility over the repetitions in which it was taken; None where it is undefined."""
    taken = [record.utility for _, record in sorted(records.items()) if record.utility is not None]
    if not taken:
        return None
    names = dict.fromkeys(name for one in taken for name in one)
    there = {name: [value for one in taken if (value := one.get(name)) is not None] for name in names}
    return {name: float(np.mean(values)) if values else None for name, values in there.items()}


def average_errors(records: Records) -> dict[str, float | None] | None:
    """Return the standard errors of averages of usefulness, whose samples are drawn anew in every repetition."""
    taken = [record.utility_error for record in records.values() if record.utility_error is not None]
    there = {name: [one.get(name) for one in taken] for name in dict.fromkeys(name for one in taken for name in one)}
    return {
        name: None if None in values else float(np.linalg.norm(np.array(values, dtype=float)) / len(values))
        for name, values in there.items()
    } or None
