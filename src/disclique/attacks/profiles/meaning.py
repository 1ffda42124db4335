"""What a score means, learned by trial.

Known records, as a release might show them, are scored against the known file, where the right one and all strangers
are known; no law of scores is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression

from disclique.attacks.profiles.evidence import NEVER, Allowed, Evidence, Ints, scored
from disclique.model import FloatArray

CANDIDATES = 20  # known records that a target record is weighed against
TRIALS = 1000  # known records by which scores are given a meaning
_NOBODY = -1e3  # log of the sum over no candidates


@dataclass(frozen=True, eq=False)
class Meaning:
    """Which candidate of a record it is, and whether it is any of them.

    Among the candidates of one record the odds rise with ``slope`` times the score. That it is any of them is told by
    the sum over all candidates: how often it is so large with and without the right one among them.
    """

    slope: float
    present: IsotonicRegression

    def ratio(self, rows: Ints, score: FloatArray, records: int) -> FloatArray:
        """Return the log likelihood ratio of each pair against strangers."""
        total = _log_sums(rows, self.slope * score, records)
        found = self.present.predict(total)
        odds = np.log(found) - np.log1p(-found)
        return np.asarray(self.slope * score + (odds - total)[rows])


def _log_sums(rows: Ints, value: FloatArray, records: int) -> FloatArray:
    most = np.full(records, _NOBODY)
    np.maximum.at(most, rows, value)
    with np.errstate(divide="ignore"):
        found = most + np.log(np.bincount(rows, weights=np.exp(value - most[rows]), minlength=records))
    return np.where(np.isfinite(found), found, _NOBODY)


def learn_meaning(trial: Evidence, allowed: Allowed, rng: np.random.Generator) -> Meaning | None:
    """Score known records, as a release might show them, against all known records; None if labels allow none."""
    own, strangers = _try(trial, allowed, rng)
    if not len(own):
        return None

    def loss(slope: float) -> float:
        return float(np.logaddexp.reduce(slope * (strangers - own[:, None]), axis=1, initial=0.0).mean())

    slope = float(minimize_scalar(loss, bounds=(0.01, 2.0), method="bounded").x)
    without = np.maximum(np.logaddexp.reduce(slope * strangers, axis=1), _NOBODY)
    total = np.concatenate([np.logaddexp(without, slope * own), without])
    there = np.concatenate([np.ones(len(own)), np.zeros(len(own))])
    edge = 0.5 / (len(own) + 1)
    present = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip")
    return Meaning(slope, present.fit(total, there))


def _try(trial: Evidence, allowed: Allowed, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the scores of known records with themselves, and the best of those with others."""
    records = len(trial.right)
    looked = np.sort(rng.choice(records, min(records, TRIALS), replace=False))
    some = Evidence(trial.left[looked], trial.right, trial.row[looked], trial.column)
    labels = Allowed(_class_in_target(allowed)[looked], allowed.known, hard(allowed).table)
    own = np.empty(len(looked))
    strangers = np.full((len(looked), max(min(CANDIDATES, records - 1), 1)), float(NEVER))
    for rows, block in scored(some, labels):
        place, mine = np.arange(rows.stop - rows.start), looked[rows]
        own[rows] = block[place, mine]
        block[place, mine] = NEVER
        most = strangers.shape[1]
        strangers[rows] = np.partition(block, records - most, axis=1)[:, -most:]
    possible = own > NEVER / 2
    return own[possible], strangers[possible]


def hard(allowed: Allowed) -> Allowed:
    """Return what the labels exclude, without their evidence: that is added when scores have got their meaning."""
    if allowed.table is None:
        return allowed
    return allowed._replace(table=np.where(allowed.table <= NEVER / 2, NEVER, 0).astype(np.float32))


def _class_in_target(allowed: Allowed) -> Ints:
    """Return for each known record the class that it would most probably have in the target."""
    if allowed.table is None:
        return np.zeros(len(allowed.known), np.int64)
    return np.asarray(allowed.table.argmax(axis=0)[allowed.known])
