"""Noise on single distances of which no matrix is formed: every entry has its own chance, whichever block asks for it.

The chance of the entry (i, j) is a block cipher of its two rows under a key of 128 bits that is drawn once (Threefry
2x64 of 20 rounds; Salmon, Moraes, Dror and Shaw 2011, SC'11, doi 10.1145/2063384.2063405). So the same distance gets
the same noise in every block, and without the key it tells nothing of the noise of another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from disclique.errors import InputError, TooLarge
from disclique.messages import Message
from disclique.spaces.lazy import Derived
from disclique.values import FloatArray, IntArray

if TYPE_CHECKING:
    from disclique.masks.base import EntryMask

Words = NDArray[np.uint64]
Key = tuple[int, int]
_TURNS = (16, 42, 12, 31, 16, 32, 24, 21)
_PARITY = 0x1BD11BDAA9FC1A22
_ROUNDS = 20
_CHUNK = 16_384  # counters at a time: they stay in the cache


def threefry(first: Words, second: Words, key: Key) -> tuple[Words, Words]:
    """Return two words of 64 random bits for every pair of counters.

    >>> [hex(int(word[0])) for word in threefry(np.zeros(1, np.uint64), np.zeros(1, np.uint64), (0, 0))]
    ['0xc2b6e3a8c2c69865', '0x6f81ed42f350084d']
    """
    words = [np.uint64(part) for part in (*key, _PARITY ^ key[0] ^ key[1])]
    one, other = first + words[0], second + words[1]
    for number in range(_ROUNDS):
        turn = _TURNS[number % len(_TURNS)]
        one += other
        turned = other << np.uint64(turn)
        other >>= np.uint64(64 - turn)
        other |= turned
        other ^= one
        if number % 4 == 3:
            times = number // 4 + 1
            one += words[times % 3]
            other += words[(times + 1) % 3]
            other += np.uint64(times)
    return one, other


def draw_key(rng: np.random.Generator) -> Key:
    """Draw the key of all entries of one release."""
    one, other = rng.integers(0, 2**64, 2, dtype=np.uint64)
    return int(one), int(other)


@dataclass(eq=False)
class EntryChance:
    """Chance like that of a generator, but of given entries: the n-th draw of an entry is always the same.

    It draws what masks of single distances need, one number for every entry.
    """

    key: Key
    first: IntArray
    second: IntArray
    draws: int = 0

    def random(self, size: object = None) -> FloatArray:
        """Draw numbers between 0 and 1, neither included."""
        if size != self.first.shape and size != len(self.first):
            raise TooLarge("mask_drew_too_many", size=str(size), many=len(self.first), one_draw_each=_ONE_DRAW_EACH)
        found, use_second = np.empty(len(self.first)), self.draws % 2 == 1
        for begin in range(0, len(found), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            counter = self.first[part].astype(np.uint64) | np.uint64((self.draws // 2) << 32)
            words = threefry(counter, self.second[part].astype(np.uint64), self.key)[int(use_second)]
            found[part] = ((words >> np.uint64(12)) + 0.5) * 2.0**-52
        self.draws += 1
        return found

    def uniform(self, low: float = 0.0, high: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers uniform between two bounds."""
        return np.asarray(low + (high - low) * self.random(size))

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: object = None) -> FloatArray:
        """Draw Gaussian numbers."""
        return np.asarray(loc + scale * ndtri(self.random(size)))

    def standard_normal(self, size: object = None) -> FloatArray:
        """Draw Gaussian numbers of variance 1."""
        return self.normal(size=size)

    def lognormal(self, mean: float = 0.0, sigma: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers whose logarithm is Gaussian."""
        return np.asarray(np.exp(self.normal(mean, sigma, size)))

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers of the Laplace law."""
        off = self.random(size) - 0.5
        return np.asarray(loc - scale * np.sign(off) * np.log1p(-2 * np.abs(off)))

    def exponential(self, scale: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers of the exponential law."""
        return np.asarray(-scale * np.log(self.random(size)))

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise TooLarge("mask_draws_otherwise", name=name, one_draw_each=_ONE_DRAW_EACH)


_LAWS = ("random", "uniform", "normal", "standard_normal", "lognormal", "laplace", "exponential")
_ONE_DRAW_EACH = Message("one_draw_each", draws=_LAWS)


@dataclass(frozen=True, eq=False, repr=False)
class Entrywise(Derived):
    """The distances of a source, each masked by itself when it is asked for."""

    mask: EntryMask
    key: Key = field(repr=False)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the masked distances from each of ``rows`` to each of ``columns``."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        shape = len(rows), len(columns)
        first, second = np.broadcast_to(rows[:, None], shape), np.broadcast_to(columns[None, :], shape)
        itself = first == second
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        chance: Any = EntryChance(self.key, first.ravel(), second.ravel())
        true = self.source.block(rows, columns).ravel()
        found = np.array(self.mask.perturbed(true, cast(np.random.Generator, chance), self.unit)).reshape(shape)
        found[itself] = 0.0
        wrong = (found < 0) | np.isinf(found)
        if wrong.any():
            i, j = (int(place[0]) for place in np.nonzero(wrong))
            value, first_row, second_row = found[i, j], rows[i] + 1, columns[j] + 1
            raise InputError(
                "mask_makes_no_distance", mask=self.mask, value=value, first_row=first_row, second_row=second_row
            )
        return found
