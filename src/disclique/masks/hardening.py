"""What is done to encodings so that they tell less: each step a plain function of bits, one row a record.

``Hardening`` has the dials, and says in which order the steps are made.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.masks.hashing import chance_of, derive

Bits = NDArray[np.uint8]
RECORD = "record"


@dataclass(frozen=True)
class Rehashing:
    """How a window of bits becomes positions of a new filter."""

    step: float = 0.5  # of the width of the window, from one to the next
    samples: int = 2  # positions for each window


REHASHING = Rehashing()


@dataclass(frozen=True)
class Hardening:
    """Steps in the order in which they are made: salt, fold, rule 90, re-hash, diffuse, flip, balance, permute.

    What is linear or draws nothing comes before the noise, and what only moves bits behind it.

    >>> bits = np.array([[1, 0, 0, 1, 0, 1, 1, 1]], dtype=np.uint8)
    >>> Hardening(xor_fold=1).harden(bits, b"", np.random.default_rng(0))
    array([[1, 1, 1, 0]], dtype=uint8)
    """

    salt: int | str = 0
    xor_fold: int = 0
    rule90: int = 0
    rehash: int = 0
    diffuse: int = 0
    flip: float = 0.0
    balance: bool = False
    permute: bool = False

    def salts(self, records: int, key: bytes) -> NDArray[np.int64] | None:
        """Return the salt of each record, which follows from the key and its row; None where there are none."""
        if self.salt == RECORD:
            return np.arange(records)
        return chance_of(key, "salt").integers(int(self.salt), size=records) if self.salt else None

    def check(self, length: int) -> None:
        """Refuse steps that a filter of this length is too short for."""
        if length % (1 << self.xor_fold):
            raise InputError("folds_do_not_fit", folds=self.xor_fold, length=length, by=1 << self.xor_fold)
        folded = length >> self.xor_fold
        if self.rule90 and folded < 3:
            raise InputError("filter_too_short", length=folded, least=3)
        if self.rehash > min(folded, 32):
            raise InputError("rehash_too_wide", width=self.rehash, most=min(folded, 32))
        if self.diffuse > folded:
            raise InputError("bloom_diffuses_too_many", diffuse=self.diffuse, length=folded)

    def harden(self, bits: Bits, key: bytes, rng: np.random.Generator, part: int = 0) -> Bits:
        """Return the bits of one part after all steps but the salt; what is drawn by key is drawn anew for each."""
        self.check(bits.shape[1])
        of = f" {part}" if part else ""
        for _ in range(self.xor_fold):
            bits = fold_halves(bits)
        for _ in range(self.rule90):
            bits = apply_rule90(bits)
        if self.rehash:
            bits = rehash_windows(bits, self.rehash, derive(key, f"rehash{of}"))
        if self.diffuse:
            bits = diffuse_bits(bits, self.diffuse, chance_of(key, f"diffuse{of}"))
        if self.flip:
            bits = bits ^ (rng.random(bits.shape, dtype=np.float32) < self.flip)
        if self.balance:
            order = chance_of(key, f"balance{of}").permutation(2 * bits.shape[1])
            bits = np.concatenate([bits, 1 - bits], axis=1)[:, order]
        if self.permute:
            bits = bits[:, chance_of(key, f"permute{of}").permutation(bits.shape[1])]
        return bits


def fold_halves(bits: Bits) -> Bits:
    """Return the exclusive or of the first and the second half (XOR-folding).

    >>> fold_halves(np.array([[1, 1, 0, 1, 0, 0]], dtype=np.uint8))
    array([[0, 1, 0]], dtype=uint8)
    """
    half = bits.shape[1] // 2
    return np.asarray(bits[:, :half] ^ bits[:, half:])


def apply_rule90(bits: Bits) -> Bits:
    """Return bits of which each is the exclusive or of its two neighbours; the first and the last are neighbours, too.

    >>> apply_rule90(np.array([[1, 0, 0, 0, 0]], dtype=np.uint8))
    array([[0, 1, 0, 0, 1]], dtype=uint8)
    """
    return np.asarray(np.roll(bits, 1, axis=1) ^ np.roll(bits, -1, axis=1))


def rehash_windows(bits: Bits, width: int, key: bytes, how: Rehashing = REHASHING) -> Bits:
    """Return a new filter, in which every window of ``width`` bits sets positions that follow from what it reads."""
    length = bits.shape[1]
    starts = np.arange(0, length - width + 1, max(int(width * how.step), 1))
    weights = 1 << np.arange(width - 1, -1, -1, dtype=np.int64)
    found = np.zeros_like(bits)
    everybody = np.arange(len(bits))[:, None]
    read = np.stack([bits[:, start : start + width] @ weights for start in starts], axis=1)
    values, which = np.unique(read, return_inverse=True)
    which = which.reshape(read.shape)
    for sample in range(how.samples):
        own = derive(key, str(sample))
        digests = (hashlib.blake2b(int(value).to_bytes(4, "big"), key=own, digest_size=8).digest() for value in values)
        places = np.array([int.from_bytes(one, "big") % length for one in digests], dtype=np.int64)
        found[everybody, places[which]] = 1
    return found


def diffuse_bits(bits: Bits, count: int, secret: np.random.Generator) -> Bits:
    """Return bits of which each is the exclusive or of ``count`` distinct positions, the same for every record."""
    found = np.zeros_like(bits)
    for position in range(bits.shape[1]):
        chosen = secret.choice(bits.shape[1], size=count, replace=False)
        found[:, position] = np.bitwise_xor.reduce(bits[:, chosen], axis=1)
    return found
