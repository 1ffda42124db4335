"""From the records of many repetitions to rates with their intervals: the risk of a release.

The risk of a release is the share of the people known to the snooper whom the *worst* attack re-identifies correctly
(its recall). Intervals are over repetitions and hold for this file and this snooper: at each end the wider one of
Student's interval of the mean over repetitions and Wilson's interval of the pooled counts, so that few repetitions, or
repetitions that all agree, do not look surer than they are. Where work was cut short the interval reaches up to the
most that it could have found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as student

from disclique.audits.records import Attempt, Records, ReleaseRecord
from disclique.measures.risk import wilson

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Rate:
    """A share, or a count, with its interval; None where nothing was tried."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def rate(hits: Sequence[int], trials: Sequence[int]) -> Rate:
    """Average hits/trials over repetitions; repetitions without a trial have none."""
    shares = [hit / trial for hit, trial in zip(hits, trials, strict=True) if trial]
    pooled = wilson(sum(hits), sum(trials), CONFIDENCE)
    if not shares or pooled is None:
        return Rate()
    low, high = _student(shares)
    mean = float(np.mean(shares))
    return Rate(mean, max(0.0, min(pooled[0], low, mean)), min(1.0, max(pooled[1], high, mean)))


def _student(values: Sequence[float]) -> tuple[float, float]:
    """Return Student's interval of a mean; from a single value none wider than the value itself."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, mean
    half = float(student.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean - half, mean + half


@dataclass(frozen=True)
class AttackRisk:
    """One attack on one setting of a mask, over all repetitions made so far.

    ``cut`` counts the repetitions in which its work was cut short, for instance because of ``cut_why``; ``most`` is the
    recall that it could have reached at the very most. ``control`` is the share of records falsely claimed in a file
    without any target.
    """

    attack: str
    applies: bool
    why: str = ""
    precision: Rate = Rate()
    recall: Rate = Rate()
    correct: Rate = Rate()
    claims: float = 0.0
    control: float | None = None
    cut: int = 0
    cut_why: str = ""
    most: Rate = Rate()
    doubtful: int = 0
    seconds: float = 0.0


def measure_attack(records: Records, attack: str) -> AttackRisk | None:
    """Measure what one attack achieved; None if no repetition has tried it."""
    pairs = [(record, one) for record in records.values() for one in record.attempts if one.attack == attack]
    ran = [(record, one) for record, one in pairs if one.applies]
    if not pairs:
        return None
    if not ran:
        return AttackRisk(attack, applies=False, why=pairs[0][1].why)
    right = [len(one.correct) for _, one in ran]
    common = [len(record.common) for record, _ in ran]
    asked = sum(one.control_targets or 0 for _, one in ran)
    cut = [one.cut for _, one in ran if one.cut]
    low, high = _student([float(value) for value in right])
    found = rate(right, common)
    return AttackRisk(
        attack=attack,
        applies=True,
        why="" if len(ran) == len(pairs) else f"it could be carried out in {len(ran)} of {len(pairs)} repetitions",
        precision=rate(right, [one.claims for _, one in ran]),
        recall=found,
        correct=Rate(float(np.mean(right)), max(0.0, low), high),
        claims=float(np.mean([one.claims for _, one in ran])),
        control=sum(one.control or 0 for _, one in ran) / asked if asked else None,
        cut=len(cut),
        cut_why=cut[0] if cut else "",
        most=_as_unsure(rate([_most(record, one) for record, one in ran], common), found),
        doubtful=sum(bool(one.doubt) for _, one in ran),
        seconds=float(np.mean([one.seconds for _, one in ran])),
    )


def _as_unsure(bound: Rate, measured: Rate) -> Rate:
    """Return a bound whose interval reaches as far up as that of what was measured: bounds vary less than results."""
    if None in (bound.value, bound.high, measured.value, measured.high):
        return bound
    return replace(bound, high=min(1.0, max(bound.high, bound.value + measured.high - measured.value)))  # type: ignore


def _most(record: ReleaseRecord, one: Attempt) -> int:
    """Return how many people the attack could have found at the most, had its work not been cut short.

    No more than the attack would with the truth for a guide, and no more than the ceiling.
    """
    if not one.cut:
        return len(one.correct)
    bounds = [len(record.common), *(bound for bound in (one.most, record.ceiling) if bound is not None)]
    return max(len(one.correct), min(bounds))


@dataclass(frozen=True)
class SettingRisk:
    """The risk of one setting: that of its worst attack.

    The upper end of ``interval`` is the highest over all attacks; where work was cut short, what it could have found at
    the most. ``lower_bound`` says that the value may be higher for that reason and that nothing rules out that this
    matters. ``cut`` names the attacks that were cut short, ``most`` is the mean that they could have reached, and
    ``measured_high`` the upper end of the interval without that.
    """

    attack: str | None
    value: float
    interval: tuple[float, float]
    repetitions: int
    lower_bound: bool
    cut: tuple[str, ...] = ()
    most: float = 1.0
    measured_high: float = 1.0


def measure_risk(records: Records, attacks: Sequence[str], limit: float | None = None) -> SettingRisk:
    """Find the worst attack of a setting; an attack that claims nothing has a recall of 0."""
    found = [one for one in (measure_attack(records, attack) for attack in attacks) if one is not None and one.applies]
    tried = [one for one in found if one.recall.value is not None]
    if not tried:  # nothing could be tried: nothing is known
        return SettingRisk(None, 1.0, (0.0, 1.0), len(records), lower_bound=True)
    worst = max(tried, key=lambda one: one.recall.value or 0.0)
    value, low = worst.recall.value or 0.0, worst.recall.low or 0.0
    measured = max(one.recall.high or 0.0 for one in tried)
    cut = [one for one in tried if one.cut]
    high = max([measured, *(one.most.high or 0.0 for one in cut)])
    most = max([value, *(one.most.value or 0.0 for one in cut)])
    settled = most <= value or (limit is not None and high <= limit)
    names = tuple(one.attack for one in cut)
    return SettingRisk(worst.attack, value, (low, high), len(records), not settled, names, most, measured)


def average_utility(records: Records) -> dict[str, float | None] | None:
    """Average every measure of utility over the repetitions in which it was taken; None where it is undefined."""
    taken = [record.utility for _, record in sorted(records.items()) if record.utility is not None]
    if not taken:
        return None
    names = dict.fromkeys(name for one in taken for name in one)
    there = {name: [value for one in taken if (value := one.get(name)) is not None] for name in names}
    return {name: float(np.mean(values)) if values else None for name, values in there.items()}
