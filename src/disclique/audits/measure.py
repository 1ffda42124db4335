"""From the records of many repetitions to rates with their intervals: the risk of a release.

The risk of a release is the share of the people known to the snooper whom the *worst* attack re-identifies correctly
(its recall). Intervals are over repetitions and hold for this file and this snooper: at each end the wider one of
Student's interval of the mean over repetitions and Wilson's interval of the pooled counts, so that few repetitions, or
repetitions that all agree, do not look surer than they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from disclique.measures.risk import wilson
from disclique.model import Json

CONFIDENCE = 0.95
Records = Mapping[int, list[Json]]  # by repetition: the release first, then one record an attack


@dataclass(frozen=True)
class Rate:
    """A share with its interval; None where nothing was tried."""

    value: float | None
    low: float | None
    high: float | None

    def to_list(self) -> list[float | None]:
        """The interval's ends."""
        return [self.low, self.high]


UNDEFINED = Rate(None, None, None)


def rate(hits: Sequence[int], trials: Sequence[int]) -> Rate:
    """The mean over repetitions of hits/trials; repetitions without a trial have none."""
    shares = [hit / trial for hit, trial in zip(hits, trials, strict=True) if trial]
    pooled = wilson(sum(hits), sum(trials), CONFIDENCE)
    if not shares or pooled is None:
        return UNDEFINED
    low, high = _student(shares)
    mean = float(np.mean(shares))
    return Rate(mean, max(0.0, min(pooled[0], low, mean)), min(1.0, max(pooled[1], high, mean)))


def _student(values: Sequence[float]) -> tuple[float, float]:
    """Student's interval of a mean; from a single value none wider than the value itself."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, mean
    half = float(student.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean - half, mean + half


@dataclass(frozen=True)
class Measured:
    """One attack on one setting of a mask, over all repetitions made so far."""

    attack: str
    applies: bool
    why: str
    precision: Rate
    recall: Rate
    correct: Rate  # correct re-identifications in one release
    claims: float
    control: float | None  # share of records falsely claimed in a file without any target
    lower_bound: bool
    doubtful: int
    seconds: float

    def to_dict(self) -> Json:
        """All figures in plain types."""
        rates = {name: getattr(self, name) for name in ("precision", "recall", "correct")}
        shown = {name: found.value for name, found in rates.items()}
        shown |= {f"{name}_interval": found.to_list() for name, found in rates.items()}
        plain = ("attack", "applies", "why", "claims", "control", "lower_bound", "doubtful", "seconds")
        return {**{name: getattr(self, name) for name in plain}, **shown}


def measured(records: Records, attack: str) -> Measured | None:
    """What one attack achieved; None if no repetition has tried it."""
    pairs = [(unit[0], found) for unit in records.values() for found in unit[1:] if found["attack"] == attack]
    ran = [(release, found) for release, found in pairs if found["applies"]]
    if not pairs:
        return None
    if not ran:
        why = str(pairs[0][1]["why"])
        return Measured(attack, False, why, UNDEFINED, UNDEFINED, UNDEFINED, 0.0, None, False, 0, 0.0)
    right = [len(found["correct"]) for _, found in ran]
    claims = [len(found["correct"]) + len(found["wrong"]) for _, found in ran]
    recall = rate(right, [len(release["common"]) for release, _ in ran])
    tries = [found for _, found in ran if found.get("control_targets")]
    asked = sum(found["control_targets"] for found in tries)
    return Measured(
        attack=attack,
        applies=True,
        why="" if len(ran) == len(pairs) else f"it could be carried out in {len(ran)} of {len(pairs)} repetitions",
        precision=rate(right, claims),
        recall=recall,
        correct=_count(right),
        claims=float(np.mean(claims)),
        control=sum(found["control"] for found in tries) / asked if asked else None,
        lower_bound=any(_cut_short(unit, attack) for unit in records.values()),
        doubtful=sum(bool(found["doubtful"]) for _, found in ran),
        seconds=float(np.mean([found["seconds"] for _, found in ran])),
    )


def _count(values: Sequence[int]) -> Rate:
    low, high = _student([float(value) for value in values])
    return Rate(float(np.mean(values)), max(0.0, low), high)


def _cut_short(unit: list[Json], attack: str) -> bool:
    """Whether a budget ended the clique search on which the attack rests."""
    rests_on = {"clique": ("clique",), "extend": ("extend", "clique")}.get(attack, ())
    return any(found["attack"] in rests_on and found.get("proven") is False for found in unit[1:])


@dataclass(frozen=True)
class Risk:
    """The risk of one setting: that of its worst attack, and the highest upper end over all attacks."""

    attack: str | None
    value: float
    low: float
    high: float
    repetitions: int
    lower_bound: bool

    def to_dict(self) -> Json:
        """All figures in plain types."""
        return {
            "attack": self.attack,
            "value": self.value,
            "interval": [self.low, self.high],
            "repetitions": self.repetitions,
            "lower_bound": self.lower_bound,
        }


def risk_of(records: Records, attacks: Sequence[str]) -> Risk:
    """The worst attack of a setting; an attack that claims nothing has a recall of 0."""
    found = [one for one in (measured(records, attack) for attack in attacks) if one is not None and one.applies]
    known = [one for one in found if one.recall.value is not None]
    if not known:
        return Risk(None, 1.0, 0.0, 1.0, len(records), True)  # nothing could be tried: nothing is known
    worst = max(known, key=lambda one: one.recall.value or 0.0)
    high = max(one.recall.high or 0.0 for one in known)
    cut = any(one.lower_bound for one in known)
    return Risk(worst.attack, worst.recall.value or 0.0, worst.recall.low or 0.0, high, len(records), cut)


def utility_of(records: Records) -> Json | None:
    """Every measure of utility averaged over the repetitions in which it was taken; None where it is undefined."""
    found = [unit[0]["utility"] for _, unit in sorted(records.items()) if unit[0]["utility"] is not None]
    mean = _mean(found)
    return mean if isinstance(mean, dict) else None


def _mean(values: Sequence[object]) -> object:
    there = [value for value in values if value is not None]
    if not there:
        return None
    if isinstance(there[0], dict):
        keys = dict.fromkeys(key for value in there if isinstance(value, dict) for key in value)
        return {key: _mean([value.get(key) for value in there if isinstance(value, dict)]) for key in keys}
    return float(np.mean([float(value) for value in there]))  # type: ignore[arg-type]
