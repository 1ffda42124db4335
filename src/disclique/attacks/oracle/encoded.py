"""Strings and what is known of any two of them: the law of published distances is learned under keys of one's own.

Where secret groups (salts) tear a release apart, there is a law for those of one group and one for those of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from disclique.attacks.code.learning import Form
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.codes import find_form
from disclique.attacks.oracle.laws import LEARNING, LearnedLaw, Learning, chance_of, count_draws
from disclique.masks.base import Mask
from disclique.spaces import full_matrix
from disclique.spaces.base import Distances
from disclique.values import FloatArray

Ints = NDArray[np.int64]
OWN = "own"  # in the place of a metric: the mean distance of encodings under keys of one's own


@dataclass(frozen=True, eq=False)
class Encoded:
    """Strings of both files as one, what is known of any two of them, and the law of their published distances."""

    records: Ints  # the row of each released record in the joined file
    people: Ints  # of each known person
    codes: NDArray[np.uint8]  # (rows, rows): cells of what is known of two strings
    law: LearnedLaw
    trial: NDArray[np.uint8]  # (records, records): cells of the distances in a draw of one's own
    across: LearnedLaw | None = None  # that of records of different groups


def some_rows(size: int, count: int) -> Ints:
    """Return some rows, the same whenever they are asked for."""
    return np.sort(np.random.default_rng(1).permutation(size)[:count])


def encode(holder: Holder) -> Encoded:
    """Join both files, and say what is known of any two strings and what becomes of it."""
    joined, records, people = _join(holder)
    learned = recall(holder)
    assert holder.knowledge.mask is not None
    codes = learned.law.person.code(_compare(joined, learned.metric, holder.knowledge.mask))
    return Encoded(records, people, codes, learned.law, learned.trial, learned.across)


@dataclass(frozen=True, eq=False)
class Learned:
    """The law of published distances, the metric in which strings are compared by it, and a draw of one's own."""

    law: LearnedLaw
    metric: str
    trial: NDArray[np.uint8]  # (records, records)
    across: LearnedLaw | None = None
    form: Form | None = None  # of the code by which tokens make bits


def recall(holder: Holder) -> Learned:
    """Return what is learned of the holder's strings, once for all questions about them."""
    strings, told = holder.exact.distances.identities(), holder.knowledge.learned
    assert strings is not None
    key = ("encodings", tuple(strings))
    if key not in told:
        told[key] = _learn(holder)
    found: Learned = told[key]
    return found


def _learn(holder: Holder, learning: Learning = LEARNING) -> Learned:
    """Encode the strings under other keys, and learn the law by which their distances are published.

    They are compared as the file says, or by what the encoding keeps: whichever tells more. Where records fall into
    secret groups there is a law for those of one group and one for those of two.
    """
    mask, exact = holder.knowledge.mask, holder.exact.distances
    assert mask is not None
    groups = mask.by_group()
    within = mask if groups is None else groups[0]
    rng = chance_of(mask.spec, exact.size)
    some = some_rows(exact.size, learning.records)
    other = ~np.eye(len(some), dtype=bool)

    def draw(way: Mask) -> FloatArray:
        drawn = [full_matrix(way.apply(exact, rng), rows=some.astype(np.int32)) for _ in range(count_draws(len(some)))]
        return np.stack([one[other] for one in drawn])

    after, found = draw(within), []
    for metric in dict.fromkeys((str(exact.metric), mask.compares or OWN)):
        known = _compare(exact, metric, mask, some.astype(np.int32))[other]
        before = np.broadcast_to(known, after.shape)
        found.append((LearnedLaw.of(after.ravel(), before.ravel(), learning), metric, before))
    law, metric, before = max(found, key=lambda one: one[0].information)
    trial = law.record.code(full_matrix(within.apply(exact, rng)))
    across = None
    if groups is not None:
        across = LearnedLaw.of(draw(groups[1]).ravel(), before.ravel(), learning, law)
    texts = exact.texts()
    return Learned(law, metric, trial, across, None if texts is None else find_form(mask, texts, rng))


def split(encoded: Encoded, shown: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], Ints | None]:
    """Silence the distances between records of different secret groups; return the groups if there is one release.

    The holder finds the groups by what their distances became. A snooper sees them as clusters of the release.
    """
    if encoded.across is None:
        return shown, None
    inner = encoded.codes[np.ix_(encoded.records, encoded.records)]
    found, groups = shown.copy(), []
    for release, one in enumerate(shown):
        group = find_groups(encoded.law.log_density(one, inner) - encoded.across.log_density(one, inner))
        found[release][group[:, None] != group[None, :]] = encoded.law.silent
        groups.append(group)
    return found, groups[0] if len(groups) == 1 else None


def find_groups(together: FloatArray, rounds: int = 10) -> Ints:
    """Return the group of each record, by the log odds of any two of them to be in one group.

    Groups are joined as long as two records of them are on the mean more probably together than not; then every record
    goes where it fits best.
    """
    odds = (together + together.T) / 2
    np.fill_diagonal(odds, 0.0)
    if len(odds) < 2:
        return np.zeros(len(odds), np.int64)
    top = float(odds.max())
    tree = linkage(squareform(top - odds, checks=False), "average")
    group = fcluster(tree, top, "distance") - 1
    for _ in range(rounds):
        member = np.zeros((len(odds), int(group.max()) + 1))
        member[np.arange(len(odds)), group] = 1.0
        others = np.maximum(member.sum(axis=0) - member, 1.0)
        fresh = (odds @ member / others).argmax(axis=1)
        if np.array_equal(fresh, group):
            break
        group = np.unique(fresh, return_inverse=True)[1]
    return np.asarray(group, dtype=np.int64)


def _compare(distances: Distances, metric: str, mask: Mask, rows: NDArray[np.int32] | None = None) -> FloatArray:
    """Return the distances of strings, all or those of some, compared in another way."""
    texts = distances.texts()
    assert texts is not None
    if metric != OWN:
        return full_matrix(texts if str(texts.metric) == metric else replace(texts, metric=metric), rows=rows)
    groups = mask.by_group()
    plain, rng = (mask if groups is None else groups[0]).without_noise(), chance_of(mask.spec, LEARNING.own_keys)
    draws = [full_matrix(plain.apply(texts, rng), rows=rows) for _ in range(LEARNING.own_keys)]
    return np.asarray(np.mean(draws, axis=0))


def _join(holder: Holder) -> tuple[Distances, Ints, Ints]:
    """Return the strings of both files, and the rows of records and of people: those of equal strings share them."""
    own, theirs = holder.exact.distances, holder.known.distances
    ours, others = own.identities(), theirs.identities()
    assert ours is not None
    assert others is not None
    rows = np.full(theirs.size, -1)
    for target, known in holder.truth.pairs.tolist():
        if ours[target] == others[known]:
            rows[known] = target
    rest = np.flatnonzero(rows < 0)
    rows[rest] = own.size + np.arange(len(rest))
    joined = own.join(theirs.select(rest)) if len(rest) else own
    return joined, np.arange(own.size), rows
