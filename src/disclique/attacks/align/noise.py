"""The displacement of the target's points, estimated from the data where it is not known."""

from __future__ import annotations

import numpy as np

from disclique.attacks.align.refine import Aligner, Alignment

HALVINGS = 24  # half-octaves below the first guess
ROUNDS = 40


def estimate_noise(aligner: Aligner, start: Alignment, floor: float) -> tuple[Aligner, Alignment]:
    """Return the aligner under the most likely displacement, and the alignment refined under it.

    The likelihood is a ratio to a background that does not depend on the width, so widths can be compared: the best of
    a falling series is taken, and then the deviations east and north are fitted to the pairs (EM).
    """
    model, widest = aligner.model, 4 * float(np.sqrt(aligner.model.variances.mean()))
    best, best_width, motion, common = -np.inf, widest, start.motion, start.common
    kept = start
    for step in range(HALVINGS):
        width = widest * 2 ** (-0.5 * step)
        if width < floor:
            break
        tried = aligner.with_model(model.with_variances(np.full_like(model.variances, width**2)))
        motion, common, curvature = tried.climb(motion, common, 0.0, tried.who, 6)
        one = tried.assess(motion, common, curvature)
        if one.ratio > best:
            best, best_width, kept = one.ratio, width, one
        elif one.ratio < best - 30 - 0.1 * abs(best):
            break
    return _fit_deviations(aligner, kept, best_width, floor)


def _fit_deviations(aligner: Aligner, start: Alignment, width: float, floor: float) -> tuple[Aligner, Alignment]:
    """Fit the deviations east and north by expectation and maximisation from a first width."""
    model = aligner.model
    variance, motion, common = np.array([width**2, width**2]), start.motion, start.common
    tried, curvature = aligner, np.eye(3)
    for _ in range(ROUNDS):
        tried = aligner.with_model(model.with_variances(np.tile(variance, (len(model.variances), 1))))
        motion, common, curvature = tried.climb(motion, common, 0.0, tried.who, 2)
        sums, _, _ = tried.evaluate(motion, 0.0, tried.who, common)
        fresh = sums[2:4] / max(float(sums[1]), 1e-12)
        fresh = np.maximum(fresh, floor**2)
        done = bool(np.abs(np.log(fresh / variance)).max() < 1e-3)
        variance = fresh
        if done:
            break
    tried = aligner.with_model(tried.model.remeasured())
    return tried, tried.assess(motion, common, curvature)
