"""Candidate pairs where records exchanged their places: the released places are the true ones, but not whose they are.

A known record that is released lies at the place of some released record u; the record t that belongs to it took the
place of its partner, uniform among those in reach. Since places are exchanged in pairs, u belongs to the partner: where
the snooper knows who lives at the place of t, the label of u must be theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from disclique.attacks.register.by_law import TAILS, LawModel, gather_pairs
from disclique.attacks.register.likelihood import CandidatePairs, LikelihoodModel
from disclique.masks.laws import ExchangeLaw
from disclique.model import FloatArray

Ints = NDArray[np.int64]
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
    chances = [_draw_chances(positions, law, model.known_map.radius) for positions in copies]
    found: CandidatePairs | None = None
    for positions, chance in zip(copies, chances, strict=True):
        release = _weigh_release(model, _weigh_homes(model, positions, blur), chance, common)
        found = release if found is None else _multiply(found, release, len(model.known_class))
    assert found is not None
    at_all = np.bincount(homes[1], np.exp(homes[2]), len(model.known_class))
    apart = _measure_scatter(copies, chances)
    with np.errstate(divide="ignore"):
        ratio = found.ratio + np.log(at_all)[found.known] - np.log(apart)[found.target]
    ratio += _find_gains(model, found.target, found.known)
    return _select(found._replace(ratio=ratio), np.flatnonzero(np.isfinite(ratio)))


def _draw_chances(positions: FloatArray, law: ExchangeLaw, radius: float) -> csr_array:
    """Return the probability that whoever lives at the place of one record (row) is another record (column)."""
    size = len(positions)
    reach = law.radius if radius == 0 else 2 * radius * np.sin(min(law.radius / (2 * radius), np.pi / 2))
    pairs = cKDTree(positions).query_pairs(reach * (1 + SLACK), output_type="ndarray")
    here, there = np.concatenate((pairs, pairs[:, ::-1])).T
    partners = np.bincount(here, minlength=size).astype(float)
    stay = law.stay(partners)
    found = (1 - stay) / np.maximum(partners, 1.0)
    drawn = (found[here] + found[there]) / 2  # either of the two may have chosen the other
    own = np.arange(size)
    entries = np.concatenate((drawn, stay)), (np.append(here, own), np.append(there, own))
    return csr_array(entries, shape=(size, size))


def _measure_scatter(copies: Sequence[FloatArray], chances: Sequence[csr_array]) -> FloatArray:
    """Return, for each target, the sum over true places of the probability of its places in all releases."""
    total = chances[0]
    for positions, chance in zip(copies[1:], chances[1:], strict=True):
        same = cKDTree(positions).query(copies[0])[1]  # the record that has the place in the other release
        total = total.multiply(chance[same]).tocsr()
    return np.asarray(total.sum(axis=0)).ravel()


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
    model: LikelihoodModel, homes: tuple[Ints, Ints, FloatArray], chance: csr_array, common: float
) -> CandidatePairs:
    """Return pairs with the log probability that the target took its place, if the known record is released."""
    record, known, weight = homes
    total = np.bincount(known, np.exp(weight), len(model.known_class))
    lives = np.exp(weight) / np.maximum(total[known], 1e-300)
    # every known record at every place it may have, with every record that may have been its partner there
    home, entry = _list_entries(record, chance.indptr)
    taken, there, who = chance.indices[entry].astype(np.int64), record[home], known[home]
    related = np.isfinite(_find_gains(model, taken, who))
    home, entry, taken, there, who = (part[related] for part in (home, entry, taken, there, who))
    fits = _weigh_partners(model, homes, there, taken, common)
    fits[taken == there] = 1.0
    with np.errstate(divide="ignore"):
        return gather_pairs(taken, who, np.log(chance.data[entry] * fits * lives[home]), model)


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
