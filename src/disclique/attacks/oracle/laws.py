"""The law of a published distance given the true one, learned from draws of the mask on the holder's own records.

It is a table: how much more often than anyhow a published distance falls into a cell when the true one lies in
another. What is published very often (0, the largest distance, one of few values), and that nothing is
published, have cells of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.values import FloatArray

Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class Learning:
    """How a law is learned."""

    pairs: int = 3_000_000  # of records, that are looked at in all draws together: fewer blur a law that tells little
    sorted: int = 200_000  # distances by which cells are chosen
    least_draws: int = 2
    most_draws: int = 40
    records: int = 1000  # that are masked in a draw at the most
    cells: int = 60  # of equally many distances; few at both ends have some more
    tail: int = 24  # distances in the last cell at either end
    own_keys: int = 4  # under which strings are encoded where no distance of strings says what an encoding keeps
    weighed: int = 8  # draws by which it is learned how many bits a text has
    prior: float = 2.0  # draws that fell anyhow, in every row of the table: nothing that was not drawn is impossible


LEARNING = Learning()


@dataclass(frozen=True, eq=False)
class Cells:
    """Which cell a distance falls into: 0 if there is none, else the one between two of the ``edges``."""

    edges: FloatArray
    joined: NDArray[np.bool_]  # whether a cell is next to the one before it, and no value by itself

    @property
    def count(self) -> int:
        """How many there are, that of no distance among them."""
        return len(self.edges) + 2

    def code(self, values: FloatArray) -> Codes:
        """Return the cell of each distance."""
        found = 1 + np.searchsorted(self.edges, values, side="right")
        return np.where(np.isnan(values), 0, found).astype(np.uint8)

    @staticmethod
    def of(values: FloatArray, how: Learning = LEARNING) -> Cells:
        """Divide distances into cells of about equally many, finer at both ends; a frequent value is its own."""
        values = values[~np.isnan(values)]
        values = np.sort(values[:: max(len(values) // how.sorted, 1)])
        if not len(values):
            return Cells(np.zeros(0), np.zeros(2, dtype=bool))
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) <= how.cells:
            edges = (distinct[1:] + distinct[:-1]) / 2
            return Cells(edges, np.zeros(len(edges) + 2, dtype=bool))
        atoms = distinct[counts >= len(values) / how.cells]
        step, tails = len(values) / how.cells, []
        size = float(how.tail)
        while size < step:
            tails.append(size)
            size *= 2
        ranks = np.concatenate([tails, np.arange(step, len(values) - step / 2, step), len(values) - np.array(tails)])
        cuts = values[np.clip(np.sort(ranks).astype(np.int64), 0, len(values) - 1)]
        ends = np.concatenate([atoms, np.nextafter(atoms, np.inf)])
        edges = np.unique(np.concatenate([cuts, ends]))
        alone = np.isin(edges, atoms)  # the cell from such an edge to the next
        joined = np.ones(len(edges) + 2, dtype=bool)
        joined[:2] = False
        joined[2:] &= ~alone
        joined[3:] &= ~alone[:-1]
        return Cells(edges, joined)


@dataclass(frozen=True, eq=False)
class LearnedLaw:
    """The cells of published and of true distances, and the log likelihood ratio of each pair of them.

    ``information`` is how much a published distance tells on the mean, in nats. ``anyhow`` has the log share of each
    cell of published distances. The table ends with a row for those that tell nothing (``silent``).
    """

    record: Cells
    person: Cells
    table: FloatArray
    anyhow: FloatArray
    information: float

    @property
    def silent(self) -> int:
        """The cell of a published distance that tells nothing."""
        return self.record.count

    def log_density(self, masked: Codes, true: Codes) -> FloatArray:
        """Return the log probability of cells of published distances given those of true ones."""
        return np.asarray(self.table[masked, true] + self.anyhow[masked])

    @staticmethod
    def of(
        masked: FloatArray, true: FloatArray, how: Learning = LEARNING, like: LearnedLaw | None = None
    ) -> LearnedLaw:
        """Learn from published distances and the true ones, NaN where nothing is known; in the cells of another law."""
        there = ~np.isnan(true)
        masked, true = masked[there], true[there]
        record, person = (Cells.of(masked, how), Cells.of(true, how)) if like is None else (like.record, like.person)
        flat = record.code(masked).astype(np.int64) * person.count + person.code(true)
        counts = np.bincount(flat, minlength=record.count * person.count).reshape(record.count, person.count)
        smooth = _blur(_blur(counts.astype(float), record.joined), person.joined, axis=1)
        anyhow = (smooth.sum(axis=1) + 0.5) / (smooth.sum() + 0.5 * record.count)
        many = smooth.sum(axis=0)
        given = (smooth + how.prior * anyhow[:, None]) / (many + how.prior)
        table = np.log(given / anyhow[:, None])
        table[:, 0] = 0.0
        told = float((counts * table).sum() / max(counts.sum(), 1))
        return LearnedLaw(record, person, np.vstack([table, np.zeros(person.count)]), np.log(anyhow), told)


def _blur(counts: FloatArray, joined: NDArray[np.bool_], axis: int = 0) -> FloatArray:
    """Share the counts of every cell with those next to it; values by themselves keep theirs."""
    counts = np.moveaxis(counts, axis, 0)
    found = counts.copy()
    for cell in np.flatnonzero(joined).tolist():
        passed = 0.2 * (counts[cell] - counts[cell - 1])
        found[cell] -= passed
        found[cell - 1] += passed
    return np.moveaxis(found, 0, axis)


def count_draws(records: int, how: Learning = LEARNING) -> int:
    """Return how often a file is masked to learn the law."""
    pairs = max(records * (records - 1), 1)
    return int(np.clip(np.ceil(how.pairs / pairs), how.least_draws, how.most_draws))


def chance_of(*what: Any) -> np.random.Generator:
    """Return the chance by which a law is learned: it follows from what is masked, and from nothing else."""
    import hashlib

    digest = hashlib.blake2b(repr(what).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
