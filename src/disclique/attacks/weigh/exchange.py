"""Candidate pairs where records exchanged their places: the released places are the true ones, but not whose they are.

A known record that is released lies at the place of some released record u; the record t that belongs to it took the
place of its partner, uniform among those in reach. Since places are exchanged in pairs, u belongs to the partner: where
the snooper knows who lives at the place of t, the label of u must be theirs.

A common person's place is in both files. Two such places have the same distance in both, which hardly any other two
have: a few hundred pairs of places are enough to find the motion under which places coincide, whatever their labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from disclique.attacks.align.likelihood import CandidatePairs, LikelihoodModel
from disclique.attacks.thresholds import THRESHOLDS, Aligning
from disclique.attacks.weigh.law import LawModel, gather_pairs
from disclique.masks.laws import ExchangeLaw
from disclique.spaces.positions import KnownMap, Motion
from disclique.values import FloatArray

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
    near = cKDTree(positions).query_ball_point(homes, model.thresholds.weigh.tails_sd * np.sqrt(blur.max(initial=0.0)))
    known = np.repeat(np.arange(len(homes)), [len(one) for one in near])
    record = np.concatenate([np.asarray(one, dtype=np.int64) for one in near]) if len(known) else known
    square = ((positions[record] - homes[known]) ** 2).sum(axis=1)
    weight = np.log(model.rarity[known]) - np.log(2 * np.pi * blur[record]) - square / (2 * blur[record])
    return record, known, weight


def _weigh_release(
    model: LikelihoodModel, homes: tuple[Ints, Ints, FloatArray], chances: _Chances, common: float
) -> CandidatePairs:
    """Return pairs with the log probability that the target took its place, if the known record is released.

    The known record lives at the place of some record, who is its partner or itself, and the target took that of the
    target's own place: summed over all places where it may live, as one product of matrices for some targets at a time.
    """
    record, known, weight = homes
    size, people = len(chances.positions), len(model.known_class)
    total = np.bincount(known, np.exp(weight), people)
    lives = np.exp(weight) / np.maximum(total[known], 1e-300)
    living = csr_array((lives, (record, known)), shape=(size, people))
    partners = _Partners(model, homes, common)
    parts = []
    for start in range(0, size, partners.step):
        taken = np.arange(start, min(start + partners.step, size))
        chance = chances.rows(taken)  # the same there and back
        chance.data *= partners.weigh(taken, chance)
        pairs = (chance @ living).tocoo()
        target, who = pairs.row.astype(np.int64) + start, pairs.col.astype(np.int64)
        related = np.isfinite(_find_gains(model, target, who))
        with np.errstate(divide="ignore"):
            parts.append((target[related], who[related], np.log(pairs.data[related])))
    target, who, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    return gather_pairs(target, who, value, model)


class _Partners:
    """How well a record fits whoever lives at the place that another took; it depends on its label and that place.

    ``step`` is for how many places it is held at a time.
    """

    def __init__(self, model: LikelihoodModel, homes: tuple[Ints, Ints, FloatArray], common: float) -> None:
        record, known, weight = homes
        size, related = len(model.target_class), model.related
        released = min(common * size / max(len(model.known_class), 1), 1.0)
        odds = np.exp(weight) * released
        self.total = 1 + np.bincount(record, odds, size)  # odds that somebody known, or nobody, lives at each place
        self.of_record = model.target_class
        many = 1 + int(max(related.known.max(initial=0), model.known_class.max(initial=0)))
        theirs = model.known_class[known]
        there = theirs >= 0
        self.living = csr_array((odds[there], (record[there], theirs[there])), shape=(size, many))
        told = np.exp(related.gain), related.known, related.start
        self.labels = csr_array(told, shape=(len(related.start) - 1, many)).T.tocsr()
        self.step = max(min(ROWS, 4_000_000 // max(self.labels.shape[1], 1)), 1)

    def weigh(self, taken: Ints, chance: csr_array) -> FloatArray:
        """Return it of each entry of ``chance``, whose rows are places taken; 1 where a record kept its own."""
        fits = (self.living[taken] @ self.labels).toarray()  # by places and classes of records
        row, other = np.repeat(np.arange(len(taken)), np.diff(chance.indptr)), chance.indices
        own = self.of_record[other]
        fit = np.where(own >= 0, fits[row, own] if fits.shape[1] else 0.0, 0.0)
        return np.where(taken[row] == other, 1.0, (1 + fit) / self.total[taken][row])


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


def find_coinciding(
    positions: FloatArray, known_map: KnownMap, tolerance: float, *, kept: int, how: Aligning = THRESHOLDS.align
) -> list[Motion]:
    """Return the ``kept`` motions under which most places coincide up to ``tolerance``, best first; perhaps none."""
    ours, theirs = (np.unique(np.round(side, 9), axis=0) for side in (positions, known_map.positions))
    if len(ours) < 3 or len(theirs) < 3:
        return []
    first, second, lengths = _find_known_pairs(theirs, how.coinciding_pairs)
    if len(lengths) == 0:
        return []
    low, high = float(lengths[0]), float(lengths[-1])
    if len(lengths) * 4 * tolerance > how.by_chance * max(high - low, 1e-300):
        return []
    found: list[tuple[int, int, Motion]] = []
    tree, verified = cKDTree(theirs), 0
    extent = float(np.linalg.norm(np.ptp(ours, axis=0)))
    shown = ours[:: max(len(ours) // how.shown_places, 1)]
    for a, b in _draw_target_pairs(ours, low, high, how.tried_pairs):
        length = float(np.linalg.norm(ours[a] - ours[b]))
        near = slice(*np.searchsorted(lengths, [length - 2 * tolerance, length + 2 * tolerance]))
        for c, d in zip(first[near], second[near], strict=True):
            for one, other in ((c, d), (d, c)):
                for mirror in (False, True):
                    motion = _lay_pair(ours[[a, b]], theirs[[one, other]], known_map.flat, mirror)
                    slack = tolerance * (1 + 4 * extent / length)  # a short pair fixes the direction less well
                    if _count_hits(motion(shown), tree, slack):
                        found.append((_count_hits(motion(ours), tree, slack), len(found), motion))
            verified += 1
        best = max((hits for hits, _, _ in found), default=0)
        if verified >= how.verified_pairs or best > how.coincidences + len(ours) // 50:
            break
    found.sort(key=lambda one: (-one[0], one[1]))
    return [motion for hits, _, motion in found[:kept] if hits > how.coincidences]


def _count_hits(moved: FloatArray, tree: cKDTree, slack: float) -> int:
    """Return how many places coincide with known ones."""
    return int(np.isfinite(tree.query(moved, distance_upper_bound=slack)[0]).sum())


def _find_known_pairs(places: FloatArray, most: int) -> tuple[Ints, Ints, FloatArray]:
    """Return pairs of known places, all of them or the nearest ones, ordered by their distance."""
    size = len(places)
    if size * (size - 1) // 2 <= most:
        first, second = np.triu_indices(size, 1)
    else:
        tree = cKDTree(places)
        many = max(most // size, 2)
        _, near = tree.query(places, k=many + 1)
        first, second = np.repeat(np.arange(size), many), near[:, 1:].ravel()
        once = np.unique(np.stack((np.minimum(first, second), np.maximum(first, second)), axis=1), axis=0)
        first, second = once[:, 0], once[:, 1]
    lengths = np.linalg.norm(places[first] - places[second], axis=1)
    order = np.argsort(lengths, kind="stable")
    order = order[len(order) // 4 :]  # the shortest fix no direction
    return first[order], second[order], lengths[order]


def _draw_target_pairs(places: FloatArray, low: float, high: float, many: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of target places of lengths that known pairs have, every place about equally often."""
    size, tree = len(places), cKDTree(places)
    rng = np.random.default_rng(0)  # of the order in which pairs are tried; not of anything that is published
    order = rng.permutation(size)
    for turn in range(many):
        a = order[turn % size]
        near = tree.query_ball_point(places[a], high, return_sorted=True)
        b = near[int(rng.integers(len(near)))]
        if b != a and np.linalg.norm(places[a] - places[b]) >= low:
            yield int(a), int(b)


def _lay_pair(ours: FloatArray, theirs: FloatArray, flat: bool, mirror: bool) -> Motion:
    """Return the motion, mirrored or not, that lays one pair of places on another of the same length."""
    frames = []
    for (a, b), side in ((ours, 1.0), (theirs, -1.0 if mirror else 1.0)):
        middle, along = (a + b) / 2, b - a
        up = np.array([0.0, 0.0, 1.0]) if flat else middle / np.linalg.norm(middle)
        along = along - (along @ up) * up
        along = along / np.linalg.norm(along)
        frames.append((middle, np.stack((up, along, side * np.cross(up, along)), axis=1)))
    (middle, own), (there, other) = frames
    turn = other @ own.T
    return Motion(turn, there - turn @ middle if flat else np.zeros(3))
