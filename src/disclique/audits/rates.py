"""The rates that follow from what many units leave behind: the risk of a release.

The risk of a setting is what the release gives away: what the oracle finds, who knows how the masked data lie, and
never less than the best attack or guessing by labels. The oracle is asked of every release and varies little between
them, so that its upper end is a narrow one. Attacks only show how near a real snooper comes, on a few releases: one
that finds its way in one release finds nearly everybody there, and nobody in the next, so that their own upper end,
which holds for any law of the risk of a release (``measures.bounds``), decides only where there is no oracle, or where
an attack finds more than the oracle says there is to be found: then the oracle is wrong there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from disclique.attacks.code import CodeAttack
from disclique.attacks.registry import parse_attack
from disclique.audits.release_records import (
    InsiderHits,
    Records,
    ReleaseRecord,
)
from disclique.measures.bounds import lower_end, smooth_upper_end, upper_end
from disclique.measures.risk import Hits, trials
from disclique.messages import Message

GUESS, ORACLE = "guess", "oracle"


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
    """One attack on one setting of a mask, over the releases that were attacked.

    ``risk`` is its risk in the scenario of the audit, ``highest`` that of the worst single release. ``recall`` and
    ``precision`` are of the pairs that it claims to be more probable than not, ``named`` is the share of people whose
    most probable record is theirs. ``cut`` counts the releases on which its work was cut short, for instance because of
    ``cut_why``. ``control`` is the share of records falsely claimed in a file without any target. ``unlaid`` is the
    share of the released records that an attack by maps could not lay on the known file; None for other attacks.
    """

    attack: str
    applies: bool
    why: Message | None = None
    releases: int = 0
    risk: Rate = Rate()
    highest: float = 0.0
    named: Rate = Rate()
    precision: Rate = Rate()
    recall: Rate = Rate()
    claims: float = 0.0
    control: float | None = None
    cut: int = 0
    cut_why: Message | None = None
    doubtful: int = 0
    seconds: float = 0.0
    unlaid: float | None = None


def measure_attack(records: Records, attack: str, scenario: str) -> AttackRisk | None:
    """Measure what one attack achieved; None if no release was attacked so."""
    pairs = [(record, one) for record in records.values() for one in record.attempts if one.attack == attack]
    ran = [(record, one) for record, one in pairs if one.applies]
    if not pairs:
        return None
    if not ran:
        return AttackRisk(attack, applies=False, why=pairs[0][1].why)
    shares = [record.share(one.hits, scenario) for record, one in ran]
    asked = sum(one.control_targets or 0 for _, one in ran)
    cut = [one.cut for _, one in ran if one.cut is not None]
    claimed = [len(one.correct) / one.claims for _, one in ran if one.claims]
    unlaid = [one.unlaid / max(record.released, 1) for record, one in ran if one.unlaid is not None]
    return AttackRisk(
        attack=attack,
        applies=True,
        why=None if len(ran) == len(pairs) else Message("carried_out_in", some=len(ran), all=len(pairs)),
        releases=len(ran),
        risk=rate(shares),
        highest=max(shares),
        named=rate([record.share(one.hits, "prosecutor") for record, one in ran]),
        precision=rate(claimed),
        recall=rate([record.share(one.hits, "journalist") for record, one in ran]),
        claims=float(np.mean([one.claims for _, one in ran])),
        control=sum(one.control or 0 for _, one in ran) / asked if asked else None,
        cut=len(cut),
        cut_why=cut[0] if cut else None,
        doubtful=sum(one.doubt is not None for _, one in ran),
        seconds=float(np.mean([one.seconds for _, one in ran])),
        unlaid=float(np.mean(unlaid)) if unlaid else None,
    )


@dataclass(frozen=True)
class InsiderShare:
    """The share of the other people found by one who knows of ``seeds`` people which records they are."""

    seeds: int
    value: float


def average_insiders(
    records: Iterable[ReleaseRecord], found: Sequence[Sequence[InsiderHits]], scenario: str
) -> tuple[InsiderShare, ...]:
    """Average what those find who know some pairs beforehand, by how many they know."""
    shares: dict[int, list[float]] = {}
    for record, many in zip(records, found, strict=True):
        for one in many:
            shares.setdefault(one.seeds, []).append(min(one.hits.share(scenario, one.sought, record.released), 1.0))
    return tuple(InsiderShare(seeds, float(np.mean(values))) for seeds, values in sorted(shares.items()))


@dataclass(frozen=True)
class OracleRisk:
    """What the oracle finds in the scenario of the audit: the mean over ``draws`` releases, and its upper end.

    ``learned`` says that the law of the mask was learned from draws of it. Where the secret of a mask is a key,
    ``seeds`` is how many pairs are supposed to be known beforehand, and ``curve`` what others would find by distances,
    ``code_curve`` by the code that these pairs show.
    """

    value: float
    high: float
    draws: int
    learned: bool = False
    seeds: int | None = None
    curve: tuple[InsiderShare, ...] = ()
    code_curve: tuple[InsiderShare, ...] = ()

    @property
    def curves(self) -> tuple[tuple[InsiderShare, ...], tuple[InsiderShare, ...]]:
        """Both curves, by distances first."""
        return self.curve, self.code_curve


@dataclass(frozen=True)
class EverybodyRisk:
    """The share of *all* released records whose people are named or read exactly, on the snooper's list or not.

    Those whom an insider knows beforehand are no part of it. ``value`` is the mean over ``draws`` releases, in each of
    which ``records`` were read, and ``high`` its upper end, which is held against the limit besides that of the people
    on the list. ``read`` is the share that is read against the dictionary alone, which has all columns of the share
    ``covered``, and ``alike`` the mean Dice coefficient of what is read and the truth.
    """

    value: float
    high: float
    draws: int
    records: int
    read: float
    covered: float
    alike: float


def measure_everybody(records: Records, scenario: str) -> EverybodyRisk | None:
    """Measure what is found of everybody; None where no records were read."""
    found = [one.oracle.everybody for one in records.values() if one.oracle is not None]
    there = [one for one in found if one is not None]
    if not there:
        return None
    many = [one.records for one in there]
    values = np.clip([one.hits.of(scenario) / max(one.records, 1) for one in there], 0.0, 1.0)
    read = float(np.mean([one.read / max(one.records, 1) for one in there]))
    high = max(smooth_upper_end(values, many), float(values.mean()))
    covered, alike = (float(np.mean([getattr(one, name) for one in there])) for name in ("covered", "alike"))
    return EverybodyRisk(float(values.mean()), high, len(there), round(float(np.mean(many))), read, covered, alike)


def measure_oracle(records: Records, scenario: str, extra: Sequence[Hits] = ()) -> OracleRisk | None:
    """Measure what the masked data give one who knows how they lie; None unless every release has an oracle.

    ``extra`` are the shares of further draws.
    """
    asked = [(record, record.oracle) for record in records.values()]
    there = [(record, one) for record, one in asked if one is not None and one.why is None]
    if not there or len(there) < len(asked):
        return None
    many = [one.sought or len(record.common) for record, one in there]
    shares = [
        one.hits.share(scenario, people, record.released) for (record, one), people in zip(there, many, strict=True)
    ]
    people = [max(trials(scenario, count, record.released), 1) for (record, _), count in zip(there, many, strict=True)]
    shares += [hits.of(scenario) for hits in extra]
    people += [round(float(np.mean(people)))] * len(extra)
    values = np.clip(shares, 0.0, 1.0)
    first = there[0][1]
    curve = average_insiders((record for record, _ in there), [one.curve for _, one in there], scenario)
    deep = [(record, one) for record, one in there if one.code_curve]
    by_code = average_insiders((record for record, _ in deep), [one.code_curve for _, one in deep], scenario)
    high, learned = smooth_upper_end(values, people), any(one.learned for _, one in there)
    return OracleRisk(float(values.mean()), high, len(values), learned, first.seeds, curve, by_code)


def raise_curves(
    oracle: OracleRisk, attacks: Sequence[AttackRisk], seeds: int, insiders: Sequence[InsiderShare]
) -> OracleRisk:
    """Return curves that show no less than attacks found which were told no more pairs, nor less than the risk itself.

    With no pair the oracle only guesses; ``attacks`` were told ``seeds`` pairs, ``insiders`` what they say. The risk is
    that of several insiders, by whichever way finds more.
    """
    found: dict[bool, list[tuple[int, float]]] = {False: [(one.seeds, one.value) for one in insiders], True: []}
    for one in attacks:
        if one.applies and one.risk.value is not None:
            found[issubclass(parse_attack(one.attack).kind, CodeAttack)].append((seeds, one.risk.value))
    if oracle.seeds is not None:
        here = [max((one.value for one in curve if one.seeds <= oracle.seeds), default=0.0) for curve in oracle.curves]
        found[here[1] > here[0]].append((oracle.seeds, oracle.value))

    def raised(curve: tuple[InsiderShare, ...], shown: list[tuple[int, float]]) -> tuple[InsiderShare, ...]:
        return tuple(
            replace(point, value=max([point.value, *(value for told, value in shown if told <= point.seeds)]))
            for point in curve
        )

    return replace(oracle, curve=raised(oracle.curve, found[False]), code_curve=raised(oracle.code_curve, found[True]))


@dataclass(frozen=True)
class Found:
    """What the best attack found on the releases that were attacked: shown in practice.

    ``seeds`` is how many pairs it was told beforehand, ``cut`` says that it was cut short: it may find more.
    """

    attack: str
    value: float
    high: float
    releases: int
    seeds: int = 0
    cut: bool = False


@dataclass(frozen=True)
class SettingRisk:
    """The risk of one setting: what the release gives away.

    ``value`` is the larger of what the oracle finds, the best attack and guessing, ``by`` says which. ``high`` is its
    upper end, which decides, ``high_of`` of which number it is the end. ``found`` is what the best attack showed in
    practice, None where no release was attacked. ``beaten`` says that an attack found more than the oracle says there
    is to be found: the attack counts then. ``highest`` is the worst single release.
    """

    value: float
    high: float
    by: str
    high_of: str
    repetitions: int
    found: Found | None = None
    beaten: bool = False
    highest: float = 1.0


@dataclass(frozen=True)
class OracleRoom:
    """The share of people by which an attack may pass the oracle on the same releases: it may be lucky."""

    share: float = 0.02


ORACLE_ROOM = OracleRoom()


def find_best(records: Records, attacks: Sequence[str], scenario: str) -> Found | None:
    """Return what the best attack found without knowing any pair but those that the plan says; None without any."""
    measured = [measure_attack(records, attack, scenario) for attack in attacks]
    ran = [one for one in measured if one is not None and one.applies]
    best = max(ran, key=lambda one: one.risk.value or 0.0, default=None)
    if best is None:
        return None
    return Found(best.attack, best.risk.value or 0.0, best.risk.high or 0.0, best.releases, cut=bool(best.cut))


def _find_insider(records: Records, scenario: str) -> Found | None:
    """Return what the best insider found who knows no more pairs than the oracle is asked for."""
    there = [record for record in records.values() if record.seeded]
    most = {record.oracle.seeds for record in records.values() if record.oracle is not None}
    allowed = [one for one in most if one is not None]
    shares = average_insiders(there, [record.seeded for record in there], scenario)
    found = [one for one in shares if not allowed or one.seeds <= max(allowed)]
    best = max(found, key=lambda one: one.value, default=None)
    if best is None:
        return None
    seeded = [
        min(one.hits.share(scenario, one.sought, record.released), 1.0)
        for record in there
        for one in record.seeded
        if one.seeds == best.seeds
    ]
    return Found("insider", best.value, rate(seeded).high or 1.0, len(seeded), best.seeds)


def measure_risk(
    records: Records,
    attacks: Sequence[str],
    scenario: str,
    *,
    extra: Sequence[Hits] = (),
    room: OracleRoom = ORACLE_ROOM,
) -> SettingRisk:
    """Measure what a setting gives away; where neither an oracle nor an attack could be had, nothing is known."""
    oracle, found = measure_oracle(records, scenario, extra), find_best(records, attacks, scenario)
    guesses = [record.share(record.guess, scenario) for record in records.values()]
    people = [max(len(record.common), 1) for record in records.values()]
    values = {GUESS: float(np.mean(guesses))}
    ends = {GUESS: smooth_upper_end(guesses, people)}
    singles = list(guesses)
    if oracle is not None:
        values[ORACLE], ends[ORACLE] = oracle.value, oracle.high
        singles += [one.share(one.oracle.hits, scenario) for one in records.values() if one.oracle is not None]
    shown = [one for one in (found, _find_insider(records, scenario)) if one is not None]
    beating = [one for one in shown if oracle is not None and _beats(one, oracle, records, scenario, room)]
    for one in [found] if found is not None else []:
        values[one.attack] = one.value
    for one in shown if oracle is None else beating:
        values[one.attack], ends[one.attack] = one.value, one.high
    ran = [measure_attack(records, attack, scenario) for attack in attacks]
    singles += [one.highest for one in ran if one is not None]
    by, high_of = (max(which, key=lambda name: which[name]) for which in (values, ends))
    singles.append(values[by])
    known = oracle is not None or found is not None
    return SettingRisk(
        value=values[by] if known else 1.0,
        high=max(ends[high_of], values[by]) if known else 1.0,
        by=by,
        high_of=high_of if ends[high_of] >= values[by] else by,
        repetitions=len(records),
        found=found,
        beaten=bool(beating),
        highest=max(singles),
    )


def _beats(one: Found, oracle: OracleRisk, records: Records, scenario: str, room: OracleRoom) -> bool:
    """Say whether an attack found more than the oracle's upper end, and than the oracle on the same releases.

    An insider has fewer people left to guess among, so that their finds are taken of everybody.
    """
    same = {k: record for k, record in records.items() if (record.seeded if one.seeds else record.attempts)}
    here, value = measure_oracle(same, scenario), one.value
    if one.seeds:
        found = [(rec, hit) for rec in same.values() for hit in rec.seeded if hit.seeds == one.seeds]
        value = float(np.mean([record.share(hit.hits, scenario) for record, hit in found]))
    return value > oracle.high and (here is None or value > here.value + room.share)


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
