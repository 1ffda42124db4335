"""Candidate pairs where records exchanged their places: the released places are the true ones, but not whose they are.

A known record that is released lies at the place of some released record u; the record t that belongs to it took the
place of its partner, uniform among those in reach. Since places are exchanged in pairs, u belongs to the partner: where
the snooper knows who lives at the place of t, the label of u must be theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from disclique.attacks.align.likelihood import CandidatePairs, LikelihoodModel
from disclique.attacks.weigh.law import TAILS, LawModel, gather_pairs
from disclique.masks.laws import ExchangeLaw
from disclique.model import FloatArray

Ints = NDArray[np.int64]
ROWS = 2000  # places that are looked at in one go
SLACK = 1e-9  # of the radius: places that far apart are within it but for rounding


def find_exchanged(
    laws: LawModel, copies: Sequence[FloatArray], variance: FloatArray, *, common: float
) -> CandidatePairs:
    """Find candidate pairs of all targets, whose positions in every release are in ``copies``.

    ``common`` is the share of targets that are known.
    """
    model, law = laws.model, laws.law
    assert isinstance(law, ExchangeLaw)
    blur = variance + laws.components[0].variance
    homes = _weigh_homes(model, copies[0], blur)
    chances = [_Chances(positions, law, model.known_map.radius) for positions in copies]
    found: CandidatePairs | None = None
    for positions, chance in zip(copies, chances, strict=True):
        release = _weigh_release(model, _weigh_homes(model, positions, blur), chance, common)
        found = release if found is None else _multiply(found, release, len(model.known_class))
    assert found is not None
    at_all = np.bincount(homes[1], np.exp(homes[2]), len(model.known_class))
    with np.errstate(divide="ignore"):
        ratio = found.ratio + np.log(at_all)[found.known]
        if len(copies) > 1:
            ratio -= np.log(_measure_scatter(chances))[found.target]
    ratio += _find_gains(model, found.target, found.known)
    return _select(found._replace(ratio=ratio), np.flatnonzero(np.isfinite(ratio)))


class _Chances:
    """The probability that whoever lives at the place of one record is another record; a few rows of it at a time."""

    def __init__(self, positions: FloatArray, law: ExchangeLaw, radius: float) -> None:
        reach = law.radius if radius == 0 else 2 * radius * np.sin(min(law.radius / (2 * radius), np.pi / 2))
        self.positions, self.tree, self.reach = positions, cKDTree(positions), reach * (1 + SLACK)
        partners = self.tree.query_ball_point(positions, self.reach, return_length=True) - 1.0
        self.stay = law.stay(partners)
        self.draw = (1 - self.stay) / np.maximum(partners, 1.0)

    def rows(self, records: Ints) -> csr_array:
        """Return the rows of some records, a column for every record."""
        near = self.tree.query_ball_point(self.positions[records], self.reach)
        counts = [len(one) for one in near]
        here = np.repeat(records, counts)
        there = np.fromiter(chain.from_iterable(near), dtype=np.int64, count=len(here))
        # either of the two may have chosen the other
        value = np.where(here == there, self.stay[here], (self.draw[here] + self.draw[there]) / 2)
        start = np.concatenate(([0], np.cumsum(counts)))
        return csr_array((value, there, start), shape=(len(records), len(self.positions)))


def _measure_scatter(chances: Sequence[_Chances]) -> FloatArray:
    """Return, for each target, the sum over true places of the probability of its places in all releases."""
    first, size = chances[0], len(chances[0].positions)
    found = np.zeros(size)
    # the record that has the same place in each release
    same = [one.tree.query(first.positions)[1] for one in chances]
    for start in range(0, size, ROWS):
        total = chances[0].rows(same[0][start : start + ROWS])
        for one, record in zip(chances[1:], same[1:], strict=True):
            total = total.multiply(one.rows(record[start : start + ROWS])).tocsr()
        found += np.asarray(total.sum(axis=0)).ravel()
    return found


def _weigh_homes(model: LikelihoodModel, positions: FloatArray, blur: FloatArray) -> tuple[Ints, Ints, FloatArray]:
    """Return released records and the known ones who live at their places, with the log evidence for it."""
    homes = model.known_map.positions
    near = cKDTree(positions).query_ball_point(homes, TAILS * np.sqrt(blur.max(initial=0.0)))
    known = np.repeat(np.arange(len(homes)), [len(one) for one in near])
    record = np.concatenate([np.asarray(one, dtype=np.int64) for one in near]) if len(known) else known
    square = ((positions[record] - homes[known]) ** 2).sum(axis=1)
    weight = np.log(model.rarity[known]) - np.log(2 * np.pi * blur[record]) - square / (2 * blur[record])
    return record, known, weight


def _weigh_release(
    model: LikelihoodModel, homes: tuple[Ints, Ints, FloatArray], chances: _Chances, common: float
) -> CandidatePairs:
    """Return pairs with the log probability that the target took its place, if the known record is released."""
    record, known, weight = homes
    total = np.bincount(known, np.exp(weight), len(model.known_class))
    lives = np.exp(weight) / np.maximum(total[known], 1e-300)
    parts = []
    for start in range(0, len(record), ROWS):
        # some known records at every place they may have, with every record that may have been their partner there
        chance = chances.rows(record[start : start + ROWS])
        home = start + np.repeat(np.arange(chance.shape[0]), np.diff(chance.indptr))
        taken = chance.indices.astype(np.int64)
        related = np.isfinite(_find_gains(model, taken, known[home]))
        home, taken = home[related], taken[related]
        fits = _weigh_partners(model, homes, record[home], taken, common)
        fits[taken == record[home]] = 1.0
        with np.errstate(divide="ignore"):
            parts.append((taken, known[home], np.log(chance.data[related] * fits * lives[home])))
    if not parts:
        return gather_pairs(record, known, weight, model)
    taken, who, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    return gather_pairs(taken, who, value, model)


def _list_entries(rows: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return the entries of some rows of a table in compressed rows: which of ``rows`` each belongs to, and itself."""
    counts = np.diff(start)[rows]
    which = np.repeat(np.arange(len(rows)), counts)
    return which, np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + start[rows][which]


def _weigh_partners(
    model: LikelihoodModel, homes: tuple[Ints, Ints, FloatArray], there: Ints, taken: Ints, common: float
) -> FloatArray:
    """Return how well the record at one place fits whoever lives at the place that the other took; 1 if unknown."""
    record, known, weight = homes
    size = len(model.target_class)
    released = min(common * size / max(len(model.known_class), 1), 1.0)
    odds = np.exp(weight) * released
    total = 1 + np.bincount(record, odds, size)
    order = np.argsort(record, kind="stable")
    start = np.searchsorted(record[order], np.arange(size + 1))
    link, entry = _list_entries(taken, start)
    entry = order[entry]
    fit = np.exp(_find_gains(model, there[link], known[entry])) * odds[entry] / total[taken][link]
    return np.asarray(1 / total[taken] + np.bincount(link, fit, len(taken)))


def _find_gains(model: LikelihoodModel, target: Ints, known: Ints) -> FloatArray:
    """Return the log evidence of the labels of pairs; -inf where they exclude each other."""
    related, theirs = model.related, model.known_class[known]
    many = int(max(related.known.max(initial=0), model.known_class.max(initial=0))) + 2
    rows = np.repeat(np.arange(len(related.start) - 1), np.diff(related.start))
    keys = rows * many + related.known
    key = model.target_class[target] * many + theirs
    at = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
    right = (model.target_class[target] >= 0) & (theirs >= 0) & (keys[at] == key if len(keys) else False)
    return np.where(right, related.gain[at] if len(keys) else 0.0, -np.inf)


def _multiply(one: CandidatePairs, other: CandidatePairs, many: int) -> CandidatePairs:
    """Return the pairs that both releases allow, with the product of their ratios."""
    _, here, there = np.intersect1d(
        one.target * many + one.known, other.target * many + other.known, assume_unique=True, return_indices=True
    )
    kept = _select(one, here)
    return kept._replace(ratio=kept.ratio + other.ratio[there])


def _select(pairs: CandidatePairs, rows: Ints) -> CandidatePairs:
    """Return some of the pairs."""
    where = pairs.residual[rows], pairs.variance[rows]
    return CandidatePairs(pairs.target[rows], pairs.known[rows], pairs.ratio[rows], *where)
