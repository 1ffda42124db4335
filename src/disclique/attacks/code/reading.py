"""Read people who are on no list: the entries of a dictionary that explain the bits of a record best.

Each column is looked through by itself first: an entry whose tokens set bits that are not there is none of this
record. The few that are left are combined, column by column, and the best combinations weighed as whole texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.code.learning import Code, Floats
from disclique.attacks.code.tokens import Cells
from disclique.attacks.dictionaries import Dictionary
from disclique.engine.kernels import codes as kernels
from disclique.progress import tell
from disclique.spaces.strings import grams_of, normalise

Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """How records are read."""

    entries: int = 32  # of each column that are combined
    width: int = 24  # combinations that are kept
    block: int = 4096  # entries of a dictionary that are weighed at a time
    same: float = 1e-3  # nats: readings that differ by less are the same likely


READING = Reading()


@dataclass(frozen=True, eq=False)
class Readings:
    """The best readings of every record: entries by column, -1 where there is none, and how probable they are.

    ``chance`` is of the reading beside the others that were found.
    """

    dictionary: Dictionary
    entry: Ints  # (records, readings, columns)
    chance: NDArray[np.float64]  # (records, readings)

    def cells(self, record: int, place: int = 0) -> tuple[str, ...]:
        """Return what a reading of a record says."""
        return tuple(
            self.dictionary.entries[column][entry] for column, entry in enumerate(self.entry[record, place].tolist())
        )

    def right(self, people: Sequence[Cells], same: float = 1e-9) -> NDArray[np.float64]:
        """Return the chance of each record to be read exactly by who names its best reading, equal ones by chance."""
        found = np.zeros(len(people))
        for record, cells in enumerate(people):
            best = self.chance[record] >= self.chance[record].max() - same
            places = np.flatnonzero(best & (self.entry[record, :, 0] >= 0))
            true = tuple(map(normalise, cells))
            hits = sum(self.cells(record, int(place)) == true for place in places)
            found[record] = hits / max(len(places), 1)
        return found

    def dice(self, people: Sequence[Cells]) -> NDArray[np.float64]:
        """Return how alike the best reading is to the truth, by bigrams."""
        found = np.zeros(len(people))
        for record, cells in enumerate(people):
            if self.entry[record, 0, 0] < 0:
                continue
            one, other = (set(grams_of(" ".join(map(normalise, c)))) for c in (self.cells(record), cells))
            found[record] = 2 * len(one & other) / max(len(one) + len(other), 1)
        return found


def read_records(code: Code, bits: Bits, dictionary: Dictionary, how: Reading = READING) -> Readings:
    """Read records by a learned code."""
    turned = code.turn(bits)
    way, last = code.vocabulary.way, len(dictionary) - 1
    tables, tops = [], []
    rest = _usual_sums(code, dictionary)
    for column, entries in enumerate(dictionary.entries):
        tell("read", column / len(dictionary))
        parts = [
            code.sum_tokens([way.cut_cell(column, text, last) for text in entries[k : k + how.block]])
            for k in range(0, len(entries), how.block)
        ]
        others = code.base + sum(mean for other, mean in enumerate(rest) if other != column)
        score = np.empty((len(turned), len(entries)), np.float32)
        for k, sums in enumerate(parts):
            place = slice(k * how.block, k * how.block + len(sums))
            score[:, place] = _weigh_entries(code, turned, sums + others)
        score = code.worth * score + dictionary.usual[column]
        few = min(how.entries, len(entries))
        tops.append(np.argpartition(-score, few - 1, axis=1)[:, :few])
        tables.append(np.concatenate(parts))
    return _combine(code, turned, dictionary, (tables, tops), how)


def _usual_sums(code: Code, dictionary: Dictionary, most: int = 500) -> list[Floats]:
    """Return what a column adds on the mean."""
    way, last = code.vocabulary.way, len(dictionary) - 1
    found = []
    for column, entries in enumerate(dictionary.entries):
        order = np.argsort(-dictionary.usual[column], kind="stable")[:most] if len(entries) > most else None
        some = entries if order is None else [entries[k] for k in order]
        weight = dictionary.usual[column] if order is None else dictionary.usual[column][order]
        sums = code.sum_tokens([way.cut_cell(column, text, last) for text in some])
        found.append(np.average(sums, axis=0, weights=np.exp(weight)).astype(np.float32))
    return found


def _weigh_entries(code: Code, turned: Bits, sums: Floats) -> Floats:
    odds, zeros = np.empty(sums.shape, np.float32), np.empty(len(sums), np.float32)
    kernels.link_sums(np.ascontiguousarray(sums), code.link, odds, zeros)
    return np.asarray(turned.astype(np.float32) @ odds.T + zeros)


def _combine(
    code: Code, turned: Bits, dictionary: Dictionary, found: tuple[list[Floats], list[Ints]], how: Reading
) -> Readings:
    """Combine the entries that are left of every column, and weigh the best combinations as whole texts."""
    tables, tops = found
    columns, records = len(dictionary), len(turned)
    entry = np.full((records, how.width, columns), -1, np.int64)
    chance = np.zeros((records, how.width))
    ends = np.cumsum([top.shape[1] for top in tops]).astype(np.int64)
    for record in range(records):
        rows = [top[record] for top in tops]
        entries = np.concatenate([table[some] for table, some in zip(tables, rows, strict=True)])
        prior = np.concatenate([usual[some] for usual, some in zip(dictionary.usual, rows, strict=True)])
        beam = kernels.Beam(turned[record], code.base, code.link, how.width)
        chosen = np.full((how.width, columns), -1, np.int64)
        score = np.zeros(how.width, np.float32)
        heavy = (prior / max(code.worth, 1e-3)).astype(np.float32)
        many = kernels.search_columns(beam, entries, heavy, ends, chosen, score)
        flat = np.concatenate(rows)
        picked = flat[chosen[:many]]
        cells = [tuple(dictionary.entries[c][k] for c, k in enumerate(row)) for row in picked.tolist()]
        whole = _weigh_entries(code, turned[record : record + 1], code.sums(cells))[0]
        value = code.worth * whole + prior[chosen[:many]].sum(axis=1)
        order = np.argsort(-value, kind="stable")
        odds = np.exp(value[order] - value[order[0]])
        entry[record, :many], chance[record, :many] = picked[order], odds / odds.sum()
    return Readings(dictionary, entry, chance)
