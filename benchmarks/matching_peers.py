"""Solvers of others on the files of a cell: quadratic assignment and Gromov-Wasserstein, each with its full matching.

They are told what disclique is told: the known file is masked as the release was, under other secrets, five times; the
mean brings both matrices to one scale.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, quadratic_assignment
from scipy.spatial.distance import cdist

from disclique.spaces import full_matrix
from disclique.values import FloatArray
from matching_files import Case

Solve = Callable[[FloatArray, FloatArray, float], FloatArray]  # two matrices, share of common records; a plan


def profile_cost(target: FloatArray, known: FloatArray) -> FloatArray:
    """Return how far the quantiles of two records' distances are apart, for every pair."""
    at = np.linspace(0.01, 0.99, 50)
    sides = [np.quantile(side, at, axis=1).T for side in (target, known)]
    spread = sides[1].std(axis=0) + 1e-12
    return np.asarray(cdist(sides[0] / spread, sides[1] / spread))


def centre(side: FloatArray) -> FloatArray:
    """Return distances with a mean of 0 beside the diagonal: to a solver that relaxes permutations it matters."""
    beside = ~np.eye(len(side), dtype=bool)
    return np.where(beside, side - side[beside].mean(), 0.0)


def profile_start(target: FloatArray, known: FloatArray) -> FloatArray:
    """Return soft pairs by profiles whose rows and columns sum to one (Sinkhorn)."""
    cost = profile_cost(target, known)
    width = np.median(np.sort(cost, axis=1)[:, 20])
    start = np.exp(-np.minimum((cost / width) ** 2, 30)) + 1e-9
    for _ in range(3000):
        start /= start.sum(axis=0)
        start /= start.sum(axis=1, keepdims=True)
    return np.asarray(start)


def _faq(target: FloatArray, known: FloatArray, start: object) -> FloatArray:
    options = {"maximize": True, "P0": start, "maxiter": 100}  # the norm of the difference is least there
    found = quadratic_assignment(target, known, method="faq", options=options).col_ind
    return np.eye(len(known))[found]


def _uniform(count: int) -> FloatArray:
    return np.full(count, 1 / count)


def transport() -> Any:
    """Return the library POT, or end with one sentence that says how to get it."""
    try:
        import ot
    except ImportError:
        print('disclique: this peer needs the library POT: pip install "disclique[bench]"', file=sys.stderr)
        raise SystemExit(2) from None
    return ot


def _gw(target: FloatArray, known: FloatArray, share: float) -> FloatArray:
    plan = transport().gromov.gromov_wasserstein(
        target, known, _uniform(len(target)), _uniform(len(known)), "square_loss"
    )
    return np.asarray(plan)


def _fused(target: FloatArray, known: FloatArray, share: float) -> FloatArray:
    cost = profile_cost(target, known)
    weights = _uniform(len(target)), _uniform(len(known))
    return np.asarray(
        transport().gromov.fused_gromov_wasserstein(
            cost / cost.mean(), target, known, *weights, "square_loss", alpha=0.5
        )
    )


def _partial(target: FloatArray, known: FloatArray, share: float) -> FloatArray:
    weights = _uniform(len(target)), _uniform(len(known))
    # POT hands this limit on to its linear programs, which need far more steps than the default allows
    return np.asarray(
        transport().gromov.partial_gromov_wasserstein(target, known, *weights, m=share, numItermax=1_000_000)
    )


PEERS: dict[str, tuple[str, Solve]] = {
    "faq": ("scipy FAQ", lambda a, b, share: _faq(a, b, "barycenter")),
    "faq-profiles": ("scipy FAQ from profiles", lambda a, b, share: _faq(a, b, profile_start(a, b))),
    "faq-centred": ("scipy FAQ, centred", lambda a, b, share: _faq(centre(a), centre(b), "barycenter")),
    "faq-centred-profiles": (
        "scipy FAQ, centred, from profiles",
        lambda a, b, share: _faq(centre(a), centre(b), profile_start(a, b)),
    ),
    "gw": ("POT Gromov-Wasserstein", _gw),
    "fused-gw": ("POT fused GW, profile cost", _fused),
    "partial-gw": ("POT partial GW", _partial),
}


def solve_by_peer(peer: str, case: Case, share: float, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Return the pairs (target rows, known rows) that a peer matches; it is given the true share of common records."""
    target = full_matrix(case.target.distances)
    known = np.mean([full_matrix(case.mask.apply(case.known.distances, rng)) for _ in range(5)], axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that stop at their limit of steps
        plan = PEERS[peer][1](target, known, share)
    rows, columns = linear_sum_assignment(plan, maximize=True)
    moved = plan[rows, columns] > 0  # a partial plan leaves records out
    return rows[moved], columns[moved]
