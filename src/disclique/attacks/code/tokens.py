"""What an encoding may be made of: pieces of the text of a person, in the few ways that are in use.

Which of them an encoding hashes is not asked: all are tried, and what predicts the bits of records whose people are
known is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from disclique.spaces.strings import Texts, grams_of, normalise

Cells = Sequence[str]  # of one person, a text for each column


@dataclass(frozen=True)
class Way:
    """A way to cut the text of a person into tokens.

    ``joined``: all columns are one string, else every column has tokens of its own. ``q`` letters are a piece, with
    ``pad`` blanks before and behind the string; with ``placed`` a piece at another place is another token.

    >>> Way(joined=True).cut(("Ann", "Lee")), Way(q=1, placed=True).cut(("12", ""))
    (('an', 'nn', 'n ', ' l', 'le', 'ee'), ((0, 0, '1'), (0, 1, '2')))
    """

    joined: bool = False
    q: int = 2
    pad: int = 0
    placed: bool = False

    def cut(self, cells: Cells) -> tuple[object, ...]:
        """Return the tokens of a person."""
        if self.joined:
            return tuple(grams_of(" ".join(filter(None, map(normalise, cells))), self.q, self.pad))
        return tuple(token for column, cell in enumerate(cells) for token in self._cut_cell(column, cell))

    def cut_cell(self, column: int, cell: str, last: int) -> tuple[object, ...]:
        """Return the tokens that one cell adds to those of a person with columns up to ``last``."""
        if not self.joined:
            return tuple(self._cut_cell(column, cell))
        text = normalise(cell)
        if not text:
            return ()
        before, behind = (" " if column else " " * self.pad), (" " if column < last else " " * self.pad)
        return tuple(grams_of(before + text + behind, self.q))

    def _cut_cell(self, column: int, cell: str) -> list[object]:
        text = normalise(cell)
        if not text:
            return []
        if self.placed:
            padded = " " * self.pad + text + " " * self.pad
            return [(column, k, padded[k : k + self.q]) for k in range(max(len(padded) - self.q + 1, 1))]
        return [(column, gram) for gram in grams_of(text, self.q, self.pad)]


def list_ways(q: int = 2) -> tuple[Way, ...]:
    """Return the ways that are tried, by the letters of a piece that the mask says.

    >>> len(list_ways())
    4
    """
    return Way(joined=True, q=q), Way(q=q), Way(q=q, pad=q - 1), Way(q=1, placed=True)


@dataclass
class Vocabulary:
    """The tokens that were seen, numbered in order of appearance."""

    way: Way

    def __post_init__(self) -> None:
        self.number: dict[object, int] = {}

    def __len__(self) -> int:
        return len(self.number)

    def learn(self, people: Sequence[Cells]) -> sparse.csr_matrix:
        """Return which tokens each person has, numbering those that are new."""
        rows = [[self.number.setdefault(token, len(self.number)) for token in set_of(self.way.cut(c))] for c in people]
        return _mark(rows, len(self.number))

    def mark(self, tokens: Sequence[tuple[object, ...]]) -> tuple[sparse.csr_matrix, np.ndarray]:
        """Return which of the numbered tokens each has, and how many others."""
        sets = [set_of(some) for some in tokens]
        rows = [[self.number[token] for token in some if token in self.number] for some in sets]
        strange = np.array([len(some) - len(row) for some, row in zip(sets, rows, strict=True)], dtype=np.float32)
        return _mark(rows, len(self.number)), strange


def set_of(tokens: tuple[object, ...]) -> tuple[object, ...]:
    """Return each token once."""
    return tuple(dict.fromkeys(tokens))


def _mark(rows: Sequence[Sequence[int]], width: int) -> sparse.csr_matrix:
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(rows), width))


def cells_of(texts: Texts) -> list[Cells]:
    """Return the cells of every person."""
    return list(zip(*texts.fields, strict=True))


Cut = Callable[[Cells], tuple[object, ...]]
