"""From likelihood ratios to probabilities: every candidate pair weighed against all others, one-to-one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.likelihoods import marginalise_many
from disclique.engine.kernels.pairs import marginalise_matchings
from disclique.values import FloatArray

Ints = NDArray[np.int64]
ROUNDS, FEWER_ROUNDS = 400, 60  # the latter for very many pairs, of which none stands out
MANY = 100_000  # pairs
FAINT = 1e-4  # a pair less probable than that, were the target alone, is left out
NEARLY = 0.05  # of a record's most likely pair: those likelier than that stay however faint they are


def matching_posterior(
    target: Ints, known: Ints, ratio: FloatArray, *, sizes: tuple[int, int], common: float, rounds: int = ROUNDS
) -> FloatArray:
    """Return the probability that each pair is one person, when nobody is twice in a file.

    ``ratio`` is the log likelihood ratio of a pair against two strangers, ``sizes`` the records of both files and
    ``common`` the expected share of the target's records that are in the known file.
    """
    targets, knowns = sizes
    share = min(common, 1 - 0.5 / max(targets, 1))
    # the known records that are nobody's: without this the prior would expect too few matches in small files
    strangers = max(1 - share * targets / max(knowns, 1), 0.5 / max(knowns, 1))
    with np.errstate(divide="ignore"):
        weight = np.exp(np.minimum(ratio + np.log(share) - np.log1p(-share) - np.log(strangers), 200.0))
    alone = weight / (1 + np.bincount(target, weights=weight, minlength=targets))[target]
    live = np.flatnonzero((alone > FAINT) | _is_best(target, weight, targets) | _is_best(known, weight, knowns))
    found = np.zeros(len(weight))
    if len(live) > MANY:
        found[live] = marginalise_many(weight[live], target[live], known[live], sizes, min(rounds, FEWER_ROUNDS))
    else:
        rows, columns = _group_edges(target[live], targets), _group_edges(known[live], knowns)
        found[live] = marginalise_matchings(weight[live], rows, columns, rounds)
    for record, records in ((target, targets), (known, knowns)):  # cycles may leave a little more than certainty
        found /= np.maximum(np.bincount(record, weights=found, minlength=records), 1.0)[record]
    return found


def _is_best(record: Ints, weight: FloatArray, records: int) -> NDArray[np.bool_]:
    """Return which pairs are about the most likely ones of their record: whoever must name one names one of these."""
    top = np.zeros(records)
    np.maximum.at(top, record, weight)
    return np.asarray((weight > NEARLY * top[record]) & (weight > 0))


def _group_edges(record: Ints, records: int) -> tuple[Ints, Ints]:
    """Return the edges ordered by record, and where each record's edges start."""
    order = np.argsort(record, kind="stable")
    start = np.searchsorted(record[order], np.arange(records + 1))
    return order, start


def estimated_share(target: Ints, known: Ints, ratio: FloatArray, *, sizes: tuple[int, int], rounds: int = 60) -> float:
    """Estimate the share of common target records: the one that the posterior under it expects (EM)."""
    share = 0.5
    for _ in range(rounds):
        found = matching_posterior(target, known, ratio, sizes=sizes, common=share).sum() / max(sizes[0], 1)
        if abs(found - share) < 1e-4:
            break
        share = float(found)
    return share
