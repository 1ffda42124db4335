"""The map of a release that keeps only some distances: neighbour lists, short distances.

Shortest paths through the published lengths stand in for the missing ones and give a rough map. A robust least-squares
fit to the published lengths alone then makes it exact, wherever they leave no freedom; what is folded in the rough map
unfolds through the third dimension. Which records the lengths determine at all is a question about the graph, answered
before the fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.sparse.linalg import eigsh

from disclique.errors import InputError
from disclique.messages import mark
from disclique.spaces.base import Distances, spaced
from disclique.spaces.rebuild.landmarks import (
    REBUILDING,
    Rebuilding,
    TargetMap,
    rebuild_from_landmarks,
    refuse_directed,
)
from disclique.spaces.rebuild.least_squares import (
    CHUNK,
    FitOptions,
    Lengths,
    LengthSample,
    differentiate_lengths,
    estimate_errors,
    estimate_spread,
    factorise,
    find_outlier_bound,
    fit_positions,
    measure_heights,
    measure_residuals,
    project_to_surface,
    sweep_positions,
    to_chords,
)
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class MapNotFound(InputError):
    """The search for a map failed although the published distances determine one.

    The search has failed, not the snooper: the message must not read as protection.
    """


class MapInParts(InputError):
    """The published distances determine no single map, but perhaps several; ``published`` are these distances."""

    def __init__(self, published: Distances, code: str, **values: object) -> None:
        super().__init__(code, **values)
        self.published = published


class PublishedPairs(NamedTuple):
    """The published pairs of the largest connected part, renumbered in an order that the file's does not change."""

    i: Ints
    j: Ints
    arc: FloatArray
    members: Ints  # the record behind each number


def rebuild_from_incomplete(
    target: Distances, radius: float, *, noise: float = 0.0, how: Rebuilding = REBUILDING
) -> TargetMap:
    """Rebuild the map of a release in which some distances are not published (NaN).

    ``noise`` is the standard deviation of the published lengths; what the fit leaves unexplained counts as well. The
    variance is infinite for records that the release does not place: those cut off, or free to move or to flip over.
    """
    refuse_directed(target)
    n = target.size
    if n < 2:
        return _place_together(n, radius, noise)
    pairs, share = collect_pairs(target, how)
    published = Lengths(pairs.i, pairs.j, to_chords(pairs.arc, radius), len(pairs.members), radius, how)
    if not published.chord.any():
        return _place_together(n, radius, noise)
    sample = sample_lengths(published)
    few = published if sample is None else published.some(sample.which)
    positions = place_roughly(pairs, radius, how.landmarks)
    fixed = np.ones(n, bool) if share == 1 else find_determined(positions, few)
    if fixed.sum() < how.placed_share * len(fixed):
        raise MapInParts(target, mark("map_left_free"), fixed=fixed.sum(), records=n)
    everywhere, variance = np.zeros((n, 3)), np.full(n, np.inf)
    everywhere[:, 0] = radius
    if share > how.dense_share and n > how.kept_lengths:  # of fewer records all lengths are looked at anyway
        everywhere[pairs.members] = positions
        everybody = np.arange(n, dtype=np.int32)
        whole = sweep_positions(target, radius, everywhere, partners=everybody, noise=noise, how=how)
        variance[pairs.members[fixed]] = whole.variance[pairs.members[fixed]]
        return TargetMap(whole.positions, variance, whole.misfit)
    positions = polish(unfold(positions, few, noise), published, sample, noise)
    r = measure_residuals(positions, published)
    odd = np.abs(r) > find_outlier_bound(r, published)
    if odd.any():
        kept = np.ones(len(r), bool) if sample is None else np.isin(np.arange(len(r)), sample.which)
        fixed &= find_determined(positions, published.some(np.flatnonzero(kept & ~odd)))
        if fixed.sum() < how.placed_share * len(fixed):
            raise MapNotFound("map_not_found", fixed=fixed.sum(), records=n)
    everywhere[pairs.members] = positions
    variance[pairs.members] = estimate_errors(positions, published, fixed=fixed, noise=noise, sample=sample)
    return TargetMap(everywhere, variance, float(np.sqrt(np.mean(r**2))))


def _place_together(n: int, radius: float, noise: float) -> TargetMap:
    """Return the map of records that are all at one place."""
    positions = np.zeros((n, 3))
    positions[:, 0] = radius
    return TargetMap(positions, np.full(n, noise**2), 0.0)


class PublishedGraph(NamedTuple):
    """All published pairs, each once, and the connected part of every record."""

    i: Ints
    j: Ints
    arc: FloatArray
    part: Ints  # (n,)
    share: float  # of all pairs that is published

    def within(self, members: Ints) -> PublishedPairs:
        """Return the pairs between some records, these in the order of their lengths."""
        n = len(self.part)
        inside = np.zeros(n, bool)
        inside[members] = True
        kept = inside[self.i] & inside[self.j]
        i, j, arc = self.i[kept], self.j[kept], self.arc[kept]
        total = np.bincount(i, arc, n) + np.bincount(j, arc, n)
        degree = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
        members = members[np.lexsort((degree[members], total[members]))]
        number = np.zeros(n, np.int64)
        number[members] = np.arange(len(members))
        i, j = number[i], number[j]
        order = np.lexsort((np.maximum(i, j), np.minimum(i, j)))
        return PublishedPairs(np.minimum(i, j)[order], np.maximum(i, j)[order], arc[order], members)


def read_graph(target: Distances, how: Rebuilding = REBUILDING) -> PublishedGraph:
    """Return the published pairs: those that either side lists.

    Of a record with very many lengths some are taken, short to long.
    """
    n = target.size
    columns = np.arange(n, dtype=np.int32)
    keys, values, count = [np.empty(0, np.int64)], [np.empty(0)], 0
    for at in range(0, n, max(CHUNK // n, 1)):
        rows = columns[at : at + max(CHUNK // n, 1)]
        block = target.block(rows, columns)
        block[np.arange(len(rows)), rows] = np.nan
        listed = np.isfinite(block)
        count += int(listed.sum())
        for row in np.flatnonzero(listed.sum(axis=1) > how.kept_lengths):
            own = np.flatnonzero(listed[row])
            own = own[np.argsort(block[row, own], kind="stable")]
            listed[row] = False
            listed[row, own[spaced(len(own), how.kept_lengths)]] = True
        i, j = np.nonzero(listed)
        keys.append(np.minimum(i + at, j) * n + np.maximum(i + at, j))
        values.append(block[i, j])
    key, first = np.unique(np.concatenate(keys), return_index=True)
    i, j = key // n, key % n
    part = connected_components(sparse.csr_matrix((np.ones(len(i)), (i, j)), (n, n)), directed=False)[1]
    return PublishedGraph(i, j, np.concatenate(values)[first], part.astype(np.int64), count / (n * (n - 1)))


def collect_pairs(target: Distances, how: Rebuilding = REBUILDING) -> tuple[PublishedPairs, float]:
    """Return the published pairs of the largest connected part, and the share of all pairs that is published."""
    graph, n = read_graph(target, how), target.size
    sizes = np.bincount(graph.part, minlength=1)
    members = np.flatnonzero(graph.part == sizes.argmax())
    if len(members) < how.placed_share * n:
        raise MapInParts(target, mark("map_left_in_parts"), parts=len(sizes), largest=len(members), records=n)
    pairs = graph.within(members)
    if len(pairs.i) < 2 * len(members) - 3:
        needed = 2 * len(members) - 3
        raise MapInParts(
            target, mark("map_of_too_few_distances"), distances=len(pairs.i), records=len(members), needed=needed
        )
    return pairs, graph.share


def place_roughly(pairs: PublishedPairs, radius: float, landmarks: int) -> FloatArray:
    """Place records by shortest paths, off by about a published length."""
    n = len(pairs.members)
    least = 1e-9 * float(pairs.arc.max())  # a length of 0 is a road as well
    graph = sparse.csr_matrix((np.maximum(pairs.arc, least), (pairs.i, pairs.j)), (n, n))
    marks = spaced(n, landmarks)
    paths = dijkstra(graph, directed=False, indices=marks).T
    return rebuild_from_landmarks(np.minimum(paths, np.pi * radius) if radius else paths, marks, radius)


def sample_lengths(published: Lengths) -> LengthSample | None:
    """Choose a few lengths of every record, short to long; None if there are few anyway."""
    edges, n, thin = len(published.chord), published.records, published.how.thin_lengths
    if edges <= thin * n:
        return None
    end = np.concatenate((published.i, published.j))
    which = np.tile(np.arange(edges), 2)
    order = np.lexsort((which, published.chord[which], end))
    end, which = end[order], which[order]
    degree = np.bincount(end, minlength=n)
    rank = np.arange(2 * edges) - (np.cumsum(degree) - degree)[end]
    chosen = (rank * thin) // degree[end] != ((rank - 1) * thin) // degree[end]
    some = np.unique(which[chosen])
    i, j = published.i[some], published.j[some]
    stands = degree / np.maximum(np.bincount(i, minlength=n) + np.bincount(j, minlength=n), 1)
    return LengthSample(some, (stands[i] + stands[j]) / 2)


def find_determined(positions: FloatArray, published: Lengths) -> Bools:
    """Find the records that the pattern of published pairs holds in one way only.

    Lengths place records in general position uniquely just if a random stress in equilibrium has only the affine
    functions of the positions in its kernel (Connelly 2005; Gortler, Healy and Thurston 2010). It is a property of the
    graph, on the sphere as in the plane, so that any positions will do: here the rough ones, perturbed.
    """
    rng = np.random.default_rng(0)
    flat, tension = _stress(positions, published, rng)
    label = connected_components(tension, directed=False)[1]
    body = np.flatnonzero(label == np.bincount(label).argmax())
    fixed = np.zeros(published.records, bool)
    if len(body) > 3:
        fixed[body] = _find_affine(*_find_kernel(flat[body], tension[body][:, body], rng), published.how.body_share)
    return fixed


def find_bodies(positions: FloatArray, published: Lengths, least: int) -> list[Ints]:
    """Find all sets of at least so many records that are held in one way only, the largest first.

    In the kernel of the stress the records of one body follow one affine function; bodies that share a record or two,
    as if by a hinge, follow different ones. Each body is found from a record and its neighbours.
    """
    rng = np.random.default_rng(0)
    flat, tension = _stress(positions, published, rng)
    label = connected_components(tension, directed=False)[1]
    found: list[Ints] = []
    for which in np.flatnonzero(np.bincount(label) >= least):
        members = np.flatnonzero(label == which)
        ties = tension[members][:, members]
        forms, kernel = _find_kernel(flat[members], ties, rng)
        if kernel.shape[1] == 0:
            continue
        free = np.ones(len(members), bool)
        for seed in np.argsort(-np.diff(ties.indptr), kind="stable")[: published.how.body_seeds]:
            near = np.append(ties[seed].indices, seed)
            if not free[seed] or len(near) <= 3:
                continue
            body = _grow_body(forms, kernel, near, published.how.body_share)
            free[seed] = False
            if body[seed] and (body & free).sum() + 1 >= least:
                free &= ~body
                found.append(members[body])
    return sorted(found, key=len, reverse=True)


def _stress(
    positions: FloatArray, published: Lengths, rng: np.random.Generator
) -> tuple[FloatArray, sparse.csr_matrix]:
    """Return places in general position, and the tension of every pair, both ways, under a random stress there."""
    n = published.records
    centred = positions - positions.mean(axis=0)
    flat = np.zeros((n, 3))
    flat[:, :2] = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T / published.typical
    flat[:, :2] += 0.5 * rng.normal(size=(n, 2))
    slope = differentiate_lengths(flat, published, np.tile(np.eye(3)[:2], (n, 1, 1)))
    hold = factorise(slope.T @ slope + 1e-9 * sparse.identity(2 * n))
    stress = rng.normal(size=len(published.i))
    for _ in range(12):  # again and again, for soft parts of the graph let go of it slowly
        stress = stress - slope @ (hold @ (slope.T @ stress))
    stress[np.abs(stress) < 1e-7] = 0.0
    stress /= np.maximum(np.linalg.norm(flat[published.i] - flat[published.j], axis=1), 1e-6)
    tension = sparse.csr_matrix((stress, (published.i, published.j)), (n, n))
    tension.eliminate_zeros()
    return flat[:, :2], (tension + tension.T).tocsr()


def _find_kernel(
    places: FloatArray, tension: sparse.csr_matrix, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the affine functions of the places and the kernel of the stress; an empty one if it is too large."""
    n = len(places)
    size = 1 / np.sqrt(np.asarray(abs(tension).sum(axis=1)).ravel())
    matrix = sparse.diags(np.asarray(tension.sum(axis=1)).ravel()) - tension
    matrix = (sparse.diags(size) @ matrix @ sparse.diags(size)).tocsc()
    forms = np.column_stack((np.ones(n), places))
    scaled = np.linalg.qr(forms / size[:, None])[0]
    zero = max(1e-10, 30 * float(np.linalg.norm(matrix @ scaled)))  # the affine functions are in the kernel for sure
    for many in (40, 160, 640):
        if n <= max(4 * many, 200):
            values, vectors = eigh(matrix.toarray())
        else:
            values, vectors = eigsh(matrix, k=many, sigma=1e-9, v0=rng.normal(size=n))
        kernel = vectors[:, np.abs(values) < zero] * size[:, None]
        if kernel.shape[1] < min(many, n):
            return forms, kernel / np.maximum(np.linalg.norm(kernel, axis=0), 1e-300)
    return forms, np.zeros((n, 0))


def _find_affine(forms: FloatArray, kernel: FloatArray, same: float) -> Bools:
    """Find the records that follow one affine function in every kernel vector; none in an empty kernel."""
    n = len(forms)
    if not kernel.shape[1]:
        return np.zeros(n, bool)
    weight = np.ones(n)
    for _ in range(60):  # least absolute residuals: the main body is the majority
        root = np.sqrt(weight)[:, None]
        off = _leave_affine(forms * root, kernel * root, forms, kernel)
        weight = 1 / np.maximum(off, 1e-7)
    return np.asarray(off < same)


def _grow_body(forms: FloatArray, kernel: FloatArray, near: Ints, same: float) -> Bools:
    """Find the records that follow the affine function of some of them; none if these do not follow one."""
    inside: Bools = np.isin(np.arange(len(forms)), near)
    for _ in range(3):
        inside = _leave_affine(forms[inside], kernel[inside], forms, kernel) < same
        if inside.sum() <= 3:
            return np.zeros(len(forms), bool)
    return inside


def _leave_affine(some: FloatArray, values: FloatArray, forms: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return how far every record leaves the affine function that fits ``some`` of them best."""
    answer = np.linalg.lstsq(some, values, rcond=None)[0]
    return np.asarray(np.linalg.norm(kernel - forms @ answer, axis=1))


def polish(positions: FloatArray, published: Lengths, sample: LengthSample | None, noise: float) -> FloatArray:
    """Fit positions robustly, so that what is still folded counts less and less."""
    scale, floor = np.inf, max(noise, 1e-7 * published.typical)
    for _ in range(12):
        spread = max(estimate_spread(measure_residuals(positions, published)), floor)
        if not 2.4 * spread < 0.8 * scale:
            break
        scale = 2.4 * spread
        positions = fit_positions(positions, published, FitOptions(scale=scale, steps=15), sample=sample)
    return positions


def unfold(positions: FloatArray, published: Lengths, noise: float) -> FloatArray:
    """Fit positions to the lengths on the surface, lifting folded parts above it in between."""
    rng = np.random.default_rng(0)
    smooth = fit_positions(positions, published, FitOptions(gain=1e-2, steps=40))
    positions = polish(smooth, published, None, noise)
    if sum(map(len, _find_folds(positions, published, 1))) > published.how.crumpled_share * published.records:
        new = _lift_part(smooth, published, np.arange(published.records), tilt=False, rng=rng)
        positions = polish(smooth if new is None else new, published, None, noise)
    for turn, hops in enumerate(published.how.fold_hops):
        folds, changed = _find_folds(positions, published, hops), False
        if not folds:
            break
        for part in folds:
            new = _lift_part(positions, published, part, tilt=turn % 2 == 1, rng=rng)
            changed |= new is not None
            positions = positions if new is None else new
        if changed:
            positions = polish(positions, published, None, noise)
    return positions


def _find_folds(positions: FloatArray, published: Lengths, hops: int) -> list[Ints]:
    """Return connected sets of records within ``hops`` of the worst residuals; none if all residuals are noise."""
    r = np.abs(measure_residuals(positions, published))
    odd = r > max(find_outlier_bound(r, published), 0.1 * float(r.max()))
    n = published.records
    graph = sparse.csr_matrix((np.ones(len(r)), (published.i, published.j)), (n, n))
    graph = graph + graph.T
    inside = np.zeros(n, bool)
    inside[published.i[odd]] = inside[published.j[odd]] = True
    for _ in range(hops):
        inside |= graph @ inside > 0
    chosen = np.flatnonzero(inside)
    count, label = connected_components(graph[chosen][:, chosen], directed=False) if len(chosen) else (0, chosen)
    return [chosen[label == part] for part in range(count)]


def _lift_part(
    positions: FloatArray, published: Lengths, part: Ints, *, tilt: bool, rng: np.random.Generator
) -> FloatArray | None:
    """Lift one part above the surface and fit it anew; None if it then fits no better."""
    inside = np.zeros(published.records, bool)
    inside[part] = True
    few = published.some(np.flatnonzero(inside[published.i] | inside[published.j]))
    members = np.unique(np.concatenate((few.i, few.j, part)))
    place = np.zeros(published.records, np.int64)
    place[members] = np.arange(len(members))
    few = few._replace(i=place[few.i], j=place[few.j], records=len(members))
    free, before, typical = place[part], positions[members], few.typical
    up, rise = measure_heights(before, few.radius)[1], np.zeros(len(members))
    rise[free] = published.how.lift * typical * rng.normal(size=len(free))
    if tilt:  # a part that lies face down has to turn over as a whole
        axis = rng.normal(size=3)
        rise[free] += (before[free] - before[free].mean(axis=0)) @ (axis / np.linalg.norm(axis))
    after, hold = before + rise[:, None] * up, 2 * len(few.chord) / len(members)
    for lid in published.how.lids:
        after = fit_positions(after, few, FitOptions(lid=lid * hold, gain=1e-2, steps=25), free=free)
    after = fit_positions(project_to_surface(after, few.radius), few, FitOptions(gain=1e-2, steps=30), free=free)
    scale = max(0.02 * typical, 2.4 * estimate_spread(measure_residuals(before, few)))
    judge = FitOptions(scale=scale, gain=1e-2, steps=10)
    after = fit_positions(after, few, judge, free=free)
    if judge.loss(after, few) > 0.98 * judge.loss(before, few):
        return None
    positions = positions.copy()
    positions[members] = after
    return positions
