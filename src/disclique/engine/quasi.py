"""Quasi-cliques: sets in which every pair is consistent with most of the others, not with all of them.

Where every published distance carries an error of its own, a true pair misses some of its edges, and a clique loses the
pair altogether. A γ-quasi-clique keeps it as long as it is adjacent to γ of the other members. Found by local clique
merging (after Li et al. 2005 and Fober et al. 2009): a dense local set around every vertex, merging of sets that
overlap, one match per record, and growth as long as any pair fits. It is a heuristic: the bound is far from the size.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from disclique.engine.kernels import quasi as kernels
from disclique.engine.stopwatch import Stopwatch
from disclique.errors import InputError
from disclique.model import UNLIMITED, Budget, Graph, ProductGraph

Vertices = NDArray[np.int64]


@dataclass(frozen=True)
class Merging:
    """How many local sets are made and merged."""

    vertices: int = 256  # between looks at the clock
    sets: int = 300  # the largest ones, that are merged
    starts: int = 5  # of them from which a merging starts
    members: int = 2048  # of a local set, at the most


MERGING = Merging()


@dataclass(frozen=True)
class QuasiClique:
    """A γ-quasi-clique with one match per record; members are vertices counted from 0, ascending.

    Every member is adjacent to at least ``gamma`` of the other members; none has more than ``bound`` members.
    """

    members: tuple[int, ...]
    bound: int
    gamma: float
    seconds: float = field(default=0.0, compare=False)

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.members)


def quasi_clique(
    graph: ProductGraph, *, gamma: float = 0.5, budget: Budget = UNLIMITED, merging: Merging = MERGING
) -> QuasiClique:
    """Return a large γ-quasi-clique of a product graph in which every record has at most one match.

    The same graph gives the same answer. ``gamma`` = 1 asks for a clique; a spent budget ends the search with what is
    found so far.
    """
    if not 0 < gamma <= 1:
        raise InputError("gamma_not_a_share", gamma=gamma)
    begun = time.perf_counter()
    best: Vertices = np.zeros(min(graph.order, 1), np.int64)
    stopwatch = Stopwatch.start(budget, 1, None)
    seeds = _local_sets(graph.graph, gamma, stopwatch, merging)
    for start in range(min(merging.starts, len(seeds))):
        merged = _merged(graph.graph, seeds, start, gamma, stopwatch)
        found = _grown(graph, _one_to_one(graph, merged, gamma, stopwatch), gamma, stopwatch)
        if len(found) > len(best):
            best = found
        if stopwatch.over(0):
            break
    members = tuple(sorted(best.tolist()))
    return QuasiClique(members, max(_bound(graph, gamma), len(members)), gamma, time.perf_counter() - begun)


def inner_degrees(graph: Graph, members: Vertices) -> Vertices:
    """Count how many of the other members each member is adjacent to."""
    inside = np.zeros(graph.order, dtype=bool)
    inside[members] = True
    return np.array([np.count_nonzero(inside[_row(graph, v)]) for v in members.tolist()], dtype=np.int64)


def is_quasi_clique(graph: Graph | ProductGraph, members: tuple[int, ...], gamma: float) -> bool:
    """Return True if every one of ``members`` (from 0) is adjacent to ⌈γ(k - 1)⌉ of the k - 1 others."""
    plain = graph.graph if isinstance(graph, ProductGraph) else graph
    chosen = np.array(members, dtype=np.int64)
    return _dense(inner_degrees(plain, chosen), gamma)


def _row(graph: Graph, v: int) -> NDArray[np.int32]:
    return graph.neighbours[graph.offsets[v] : graph.offsets[v + 1]]


def _work(graph: Graph, members: Vertices) -> float:
    """Return how many neighbours are looked at when inner degrees are counted."""
    return float((graph.offsets[members + 1] - graph.offsets[members]).sum())


def _need(gamma: float, size: int) -> int:
    """⌈γ(size - 1)⌉, safe against rounding."""
    return int(np.ceil(gamma * (size - 1) - 1e-9))


def _dense(degrees: Vertices, gamma: float) -> bool:
    return len(degrees) == 0 or int(degrees.min()) >= _need(gamma, len(degrees))


def _local_sets(graph: Graph, gamma: float, stopwatch: Stopwatch, merging: Merging) -> list[Vertices]:
    """Return the largest distinct local sets, largest first; vertices of high degree are looked at first."""
    degree = np.diff(graph.offsets)
    vertices = np.lexsort((np.arange(graph.order), -degree)).astype(np.int32)
    local = kernels.new_local(graph.order, int(degree.max(initial=0)))
    kept: dict[bytes, Vertices] = {}
    for at in range(0, graph.order, merging.vertices):
        if stopwatch.over(0):
            break
        part = vertices[at : at + merging.vertices]
        least = len(sorted(kept.values(), key=len)[-merging.sets]) if len(kept) >= merging.sets else 2
        sizes, members = np.zeros(len(part), np.int32), np.zeros((len(part), merging.members), np.int32)
        stopwatch.spend(float(degree[part].sum()) * float(degree.mean()))
        kernels.local_sets(graph.offsets, graph.neighbours, part, local, gamma, least, (sizes, members))
        for row in np.flatnonzero(sizes):
            found = members[row, : sizes[row]].astype(np.int64)
            kept.setdefault(found.tobytes(), found)
        kept = {s.tobytes(): s for s in sorted(kept.values(), key=lambda s: (-len(s), s.tolist()))[: merging.sets]}
    return list(kept.values())


def _merged(graph: Graph, sets: list[Vertices], start: int, gamma: float, stopwatch: Stopwatch) -> Vertices:
    """A local set with all others that can be added one by one, those of highest affinity |A∩B|²/(|A||B|) first."""
    current, rest = sets[start], [s for place, s in enumerate(sets) if place != start]
    while rest:
        common = [len(np.intersect1d(current, other, assume_unique=True)) for other in rest]
        affinity = [c * c / (len(current) * len(other)) for c, other in zip(common, rest, strict=True)]
        order = np.argsort(-np.array(affinity), kind="stable")
        for place in order.tolist():
            if affinity[place] == 0 or stopwatch.over(0):
                return current
            union = np.union1d(current, rest[place])
            stopwatch.spend(_work(graph, union))
            if len(union) == len(current) or _dense(inner_degrees(graph, union), gamma):
                break
        else:
            return current
        current = union
        rest = [other for k, other in enumerate(rest) if k != place]
    return current


def _one_to_one(graph: ProductGraph, members: Vertices, gamma: float, stopwatch: Stopwatch) -> Vertices:
    """Members with one match per record: the assignment of highest total inner degree, thinned until it is dense."""
    rows, r = np.unique(graph.target[members], return_inverse=True)
    columns, c = np.unique(graph.known[members], return_inverse=True)
    gain = np.zeros((len(rows), len(columns)))
    vertex = np.full(gain.shape, -1, np.int64)
    gain[r, c] = inner_degrees(graph.graph, members) + 1
    vertex[r, c] = members
    chosen = vertex[linear_sum_assignment(gain, maximize=True)]
    return _thinned(graph.graph, np.sort(chosen[chosen >= 0]), gamma, stopwatch)


def _thinned(graph: Graph, members: Vertices, gamma: float, stopwatch: Stopwatch) -> Vertices:
    """Members without those of least inner degree, until it is a γ-quasi-clique."""
    while True:
        degrees = inner_degrees(graph, members)
        stopwatch.spend(_work(graph, members))
        if _dense(degrees, gamma):
            return members
        if stopwatch.over(0):
            return members[:1]
        members = np.delete(members, int(degrees.argmin()))


def _grown(graph: ProductGraph, members: Vertices, gamma: float, stopwatch: Stopwatch) -> Vertices:
    """Members after every step that adds a pair, or exchanges one for a better connected rival, while one exists."""
    plain, inside = graph.graph, members
    for _ in range(4 * min(len(set(graph.target.tolist())), len(set(graph.known.tolist())))):
        links = np.zeros(plain.order, np.int64)
        for v in inside.tolist():
            links[_row(plain, v)] += 1
        stopwatch.spend(_work(plain, inside) + plain.order)
        if stopwatch.over(0):
            return inside
        step = _addition(graph, inside, links, gamma)
        if step is None:
            step = _exchange(graph, inside, links, gamma)
        if step is None:
            return inside
        inside = step
    return inside


def _addition(graph: ProductGraph, inside: Vertices, links: Vertices, gamma: float) -> Vertices | None:
    """Return the members and the best connected pair of two unmatched records, if the set stays dense."""
    free = ~np.isin(graph.target, graph.target[inside]) & ~np.isin(graph.known, graph.known[inside])
    need = _need(gamma, len(inside) + 1)
    fits = np.flatnonzero(free & (links >= max(need, 1)))
    tight = inside[links[inside] < need]  # members that need the newcomer as a neighbour
    for v in fits[np.lexsort((fits, -links[fits]))].tolist():
        if np.isin(tight, _row(graph.graph, v)).all() and (links[tight] + 1 >= need).all():
            return np.sort(np.append(inside, v))
    return None


def _exchange(graph: ProductGraph, inside: Vertices, links: Vertices, gamma: float) -> Vertices | None:
    """The members with one of them exchanged for a pair with more edges to the others, if the set stays dense."""
    of_target = {int(graph.target[v]): int(v) for v in inside}
    of_known = {int(graph.known[v]): int(v) for v in inside}
    member = np.isin(np.arange(graph.order), inside)
    fits = np.flatnonzero(~member & (links > links[inside].min(initial=0)))
    for v in fits[np.lexsort((fits, -links[fits]))].tolist():
        rivals = {of_target.get(int(graph.target[v])), of_known.get(int(graph.known[v]))} - {None}
        if len(rivals) != 1:
            continue
        rival = rivals.pop()
        if links[v] <= links[rival]:  # pairs that share a record are never adjacent, so both counts are of the others
            continue
        changed = np.sort(np.append(inside[inside != rival], v))
        if _dense(inner_degrees(graph.graph, changed), gamma):
            return changed
    return None


def _bound(graph: ProductGraph, gamma: float) -> int:
    """Return a bound on every one-to-one γ-quasi-clique: records on either side, and vertices of sufficient degree."""
    degree = np.sort(np.diff(graph.graph.offsets))[::-1]
    sizes = np.arange(1, graph.order + 1)
    enough = degree >= np.ceil(gamma * (sizes - 1) - 1e-9)
    by_degree = int(sizes[enough].max(initial=0))
    return min(len(np.unique(graph.target)), len(np.unique(graph.known)), by_degree)
