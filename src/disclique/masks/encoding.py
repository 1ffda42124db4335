"""Masks on text: similarity-preserving encodings, as they are made to link files without showing names.

Each draws its secret key from the generator: who applies one to a file of their own encodes it under another key, and
sees how the encoding treats similar strings.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from disclique.errors import InputError
from disclique.masks.base import Mask, between, extra, one_of, whole
from disclique.masks.registry import register_mask
from disclique.messages import Message
from disclique.spaces import Encodings, Texts
from disclique.spaces.base import Distances
from disclique.spaces.strings import Grams, find_grams

KEY_BYTES = 32
RECORD = "record"
Bits = NDArray[np.uint8]
_AT_A_TIME = 64  # hash functions of a MinHash that are computed together


class TextMask(Mask):
    """A mask that encodes each string by itself under a secret key: subclasses implement ``encode``."""

    on: ClassVar[str] = "text"
    scope: ClassVar[str] = "file"
    conditional: ClassVar[bool] = True
    simulated_files: ClassVar[int] = 4
    metric: ClassVar[str] = "dice"

    def apply(self, distances: Distances, rng: np.random.Generator) -> Encodings:
        """Return the strings encoded under a key drawn from ``rng``."""
        return self.encode(distances, rng.bytes(KEY_BYTES), rng)

    def encode(self, distances: Distances, key: bytes, rng: np.random.Generator) -> Encodings:
        """Return the strings encoded under a key; two files under one key can be linked. ``rng`` is for noise."""
        texts = distances.texts()
        if texts is None:
            raise InputError("mask_needs_text", name=self.name)
        bits = self.encoded(texts, key, rng)
        return Encodings(np.packbits(bits, axis=1), bits.shape[1], self.metric)

    def encoded(self, texts: Texts, key: bytes, rng: np.random.Generator) -> Bits:
        """Return the bits of each string, one row a record."""
        raise NotImplementedError


def derive(key: bytes, purpose: str) -> bytes:
    """Return the part of a secret key that serves one purpose."""
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=KEY_BYTES).digest()


def chance_of(key: bytes, purpose: str) -> np.random.Generator:
    """Return chance that follows from a secret key: what both owners of the key draw alike."""
    return np.random.default_rng(int.from_bytes(derive(key, purpose), "big"))


def double_hash(token: bytes, keys: Sequence[bytes], bits: int, length: int) -> list[int]:
    """Return the positions of one gram by two keyed hashes: h1 + i·h2, as in clkhash's ``doubleHash``."""
    first = int.from_bytes(hmac.digest(keys[0], token, "sha1"), "big") % length
    step = int.from_bytes(hmac.digest(keys[1], token, "md5"), "big") % length
    return [(first + i * step) % length for i in range(bits)]


def blake_hash(token: bytes, keys: Sequence[bytes], bits: int, length: int) -> list[int]:
    """Return the positions of one gram by independent pieces of keyed BLAKE2b, as in clkhash's ``blakeHash``."""
    digests = (hashlib.blake2b(token, key=keys[0], salt=str(i).encode()).digest() for i in range((bits + 31) // 32))
    return [int(piece) % length for piece in np.frombuffer(b"".join(digests), dtype="<u2")[:bits]]


HASHES: dict[str, Callable[[bytes, Sequence[bytes], int, int], list[int]]] = {
    "double": double_hash,
    "blake": blake_hash,
}


def _salt(text: object) -> int | str:
    return RECORD if str(text).strip().lower() == RECORD else int(whole(0)["read"](text))


@register_mask
@dataclass(frozen=True)
class Bloom(TextMask):
    """A Bloom filter (cryptographic longterm key): each q-gram sets ``bits`` of ``length`` positions by keyed hashing.

    What is added, in this order: ``salt`` hashes each gram together with one of that many values, which stand for an
    attribute that does not change, such as the year of birth (``record``: one for each record); records with different
    salts look unrelated. ``diffuse`` makes each bit the exclusive or of that many secret positions. ``flip`` turns each
    bit round with that probability (BLIP). ``balance`` appends the complement and shuffles, so that all weights are
    equal. ``hash`` is ``double`` (any length) or ``blake`` (a length of 2^k up to 65,536), as clkhash has them.

    The salt of a record follows from the key and its row: two files under one key in the same order share it.

    >>> from disclique.spaces.strings import Texts
    >>> made = Bloom(length=64, bits=4).apply(Texts(("anna", "hanna", "otto")), np.random.default_rng(0))
    >>> made, made.block(np.array([0]), np.array([1, 2])).round(2).tolist()
    (3 encodings of 64 bits, dice, [[0.15, 0.82]])
    """

    name: ClassVar[str] = "bloom"
    tried: ClassVar[tuple[str, ...] | None] = ("flip=0.01..0.45", "diffuse=2..20", "bits=10..60", "salt=record")
    summary: ClassVar[Message | None] = Message("mask_does_bloom")
    reference: ClassVar[str] = (
        "Schnell, Bachteler and Reiher 2009, BMC Medical Informatics and Decision Making 9:41; salt: Niedermeyer, "
        "Steinmetzer, Kroll and Schnell 2014, Journal of Privacy and Confidentiality 6(2); flip, balance: Schnell and "
        "Borgs 2016, IEEE ICDM Workshops; diffuse: Armknecht, Heng and Schnell 2023, PoPETs 2023(2)"
    )
    dial: ClassVar[str | None] = "flip"
    other_dials: ClassVar[dict[str, bool]] = {"bits": True, "salt": True, "diffuse": True}

    length: int = field(default=1024, metadata=whole(8))
    bits: int = field(default=10, metadata=whole(1))
    q: int = field(default=2, metadata=whole(1))
    salt: int | str = field(default=0, metadata=extra({"read": _salt}))
    diffuse: int = field(default=0, metadata=extra(whole(0)))
    flip: float = field(default=0.0, metadata=extra(between(0, 0.5, closed=True)))
    balance: str = field(default="no", metadata=extra(one_of("no", "yes")))
    hash: str = field(default="double", metadata=extra(one_of(*HASHES)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hash == "blake" and not (self.length & (self.length - 1) == 0 and self.length <= 1 << 16):
            raise InputError("bloom_length_not_a_power", length=self.length)
        if self.diffuse > self.length:
            raise InputError("bloom_diffuses_too_many", diffuse=self.diffuse, length=self.length)

    def encoded(self, texts: Texts, key: bytes, rng: np.random.Generator) -> Bits:
        """Return the Bloom filters, hardened as asked for."""
        grams = find_grams(texts.strings, self.q)
        salts = self._salts(texts.size, key)
        tokens, members = _tokens(grams) if salts is None else _salted(grams, salts)
        keys = [derive(key, "first"), derive(key, "second")]
        positions = [HASHES[self.hash](token, keys, self.bits, self.length) for token in tokens]
        bits = _set_bits(members, np.array(positions, dtype=np.int64), self.length)
        if self.diffuse:
            bits = _diffused(bits, self.diffuse, chance_of(key, "diffuse"))
        if self.flip:
            bits = bits ^ (rng.random(bits.shape, dtype=np.float32) < self.flip)
        if self.balance == "yes":
            order = chance_of(key, "balance").permutation(2 * bits.shape[1])
            bits = np.concatenate([bits, 1 - bits], axis=1)[:, order]
        return bits

    def by_group(self) -> tuple[Bloom, Bloom] | None:
        """Return the same without salts, and with one for each record."""
        if self.salt == RECORD or int(self.salt) < 2:
            return None
        return replace(self, salt=0), replace(self, salt=RECORD)

    def _salts(self, records: int, key: bytes) -> NDArray[np.int64] | None:
        if self.salt == RECORD:
            return np.arange(records)
        return chance_of(key, "salt").integers(int(self.salt), size=records) if self.salt else None


def _tokens(grams: Grams) -> tuple[list[bytes], Any]:
    """Return what is hashed, and which of it each record has."""
    return [gram.encode() for gram in grams.vocabulary], grams.members


def _salted(grams: Grams, salts: NDArray[np.int64]) -> tuple[list[bytes], Any]:
    """Return what is hashed where every record has a salt: each gram together with each salt it occurs with."""
    members = grams.members
    pairs = np.repeat(salts, np.diff(members.indptr)) * len(grams.vocabulary) + members.indices
    distinct, column = np.unique(pairs, return_inverse=True)
    salt, gram = np.divmod(distinct, len(grams.vocabulary))
    tokens = [f"{s}\x1f{grams.vocabulary[g]}".encode() for s, g in zip(salt.tolist(), gram.tolist(), strict=True)]
    shape = (members.shape[0], len(distinct))
    return tokens, sparse.csr_matrix((members.data, column.ravel(), members.indptr), shape=shape)


def _set_bits(members: Any, positions: NDArray[np.int64], length: int) -> Bits:
    """Return for each record the positions of all that it has, as bits."""
    bits = np.zeros((members.shape[0], length), dtype=np.uint8)
    owner = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
    bits[owner[:, None], positions[members.indices]] = 1
    return bits


def _diffused(bits: Bits, count: int, secret: np.random.Generator) -> Bits:
    """Return bits of which each is the exclusive or of ``count`` distinct positions, the same for every record."""
    found = np.zeros_like(bits)
    for position in range(bits.shape[1]):
        chosen = secret.choice(bits.shape[1], size=count, replace=False)
        found[:, position] = np.bitwise_xor.reduce(bits[:, chosen], axis=1)
    return found


@register_mask
@dataclass(frozen=True)
class MinHash(TextMask):
    """One bit of each of ``length`` MinHashes of the set of q-grams, by tabulation hashing under secret tables.

    Two strings agree in a bit with probability (1 + J)/2, J the Jaccard coefficient of their sets: the share of bits
    that differ (``hamming``) is about (1 - J)/2, the more exactly the longer the encoding.

    >>> from disclique.spaces.strings import Texts
    >>> MinHash(length=256).apply(Texts(("anna", "hanna", "otto")), np.random.default_rng(0))
    3 encodings of 256 bits, hamming
    """

    name: ClassVar[str] = "minhash"
    tried: ClassVar[tuple[str, ...] | None] = ("length=1024..16",)
    summary: ClassVar[Message | None] = Message("mask_does_minhash")
    reference: ClassVar[str] = "Smith 2017, Journal of Information Security and Applications 34:204-210"
    dial: ClassVar[str | None] = "length"
    dial_rises: ClassVar[bool] = False
    metric: ClassVar[str] = "hamming"

    length: int = field(default=1024, metadata=whole(8))
    q: int = field(default=2, metadata=whole(1))

    def encoded(self, texts: Texts, key: bytes, rng: np.random.Generator) -> Bits:
        """Return the last bit of the smallest hash of each record's grams, for every hash function."""
        grams = find_grams(texts.strings, self.q)
        tokens, members = _tokens(grams)
        secret, own = chance_of(key, "tables"), derive(key, "gram")
        digests = b"".join(hashlib.blake2b(token, key=own, digest_size=8).digest() for token in tokens)
        pieces = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 8)
        bits = np.zeros((texts.size, self.length), dtype=np.uint8)
        for start in range(0, self.length, _AT_A_TIME):
            count = min(_AT_A_TIME, self.length - start)
            tables = secret.integers(1 << 32, size=(8, 256, count), dtype=np.uint32)
            hashes = np.bitwise_xor.reduce([tables[k][pieces[:, k]] for k in range(8)], axis=0)
            least = np.minimum.reduceat(hashes[members.indices], members.indptr[:-1], axis=0)
            bits[:, start : start + count] = least & 1
        return bits


@register_mask
@dataclass(frozen=True)
class TwoStep(TextMask):
    """A two-step hash: ``bits`` filters of ``columns`` positions are hashed column by column to a set of numbers.

    Each hash function sets one position of its own filter for every q-gram. Then every column of the filters laid upon
    each other that is not empty, with its number, becomes one number. Sets of them are compared by Jaccard; they are
    written as bit strings of ``length``, the numbers taken modulo it: few fall together where few bits are set.

    >>> from disclique.spaces.strings import Texts
    >>> TwoStep(columns=100).apply(Texts(("anna", "hanna", "otto")), np.random.default_rng(0))
    3 encodings of 16384 bits, jaccard
    """

    name: ClassVar[str] = "two-step"
    tried: ClassVar[tuple[str, ...] | None] = ("columns=1000..10",)
    summary: ClassVar[Message | None] = Message("mask_does_two_step")
    reference: ClassVar[str] = "Ranbaduge, Christen and Schnell 2020, PAKDD, LNCS 12085:139-151"
    dial: ClassVar[str | None] = "columns"
    dial_rises: ClassVar[bool] = False
    metric: ClassVar[str] = "jaccard"

    columns: int = field(default=1000, metadata=whole(1))
    bits: int = field(default=10, metadata=whole(1))
    q: int = field(default=2, metadata=whole(1))
    length: int = field(default=16384, metadata=whole(8))

    def encoded(self, texts: Texts, key: bytes, rng: np.random.Generator) -> Bits:
        """Return the sets of numbers as bits."""
        tokens, members = _tokens(find_grams(texts.strings, self.q))
        own = derive(key, "first step")
        places = np.array([_words(token, own, self.bits) for token in tokens], dtype=np.int64) % self.columns
        owner = np.repeat(np.arange(texts.size), np.diff(members.indptr))
        column = owner[:, None] * self.columns + places[members.indices]  # one of some record
        cells = np.unique(column * self.bits + np.arange(self.bits))  # each with its hash function, once
        column, function = np.divmod(cells, self.bits)
        mixed = chance_of(key, "second step").integers(1 << 63, size=(self.columns, self.bits))
        first = np.flatnonzero(np.diff(column, prepend=-1))
        numbers = np.bitwise_xor.reduceat(mixed[column % self.columns, function], first)
        bits = np.zeros((texts.size, self.length), dtype=np.uint8)
        bits[column[first] // self.columns, numbers % self.length] = 1
        return bits


def _words(token: bytes, key: bytes, count: int) -> NDArray[np.uint32]:
    """Return numbers of 32 bits that follow from a gram and the key."""
    digests = (hashlib.blake2b(token, key=key, salt=str(i).encode()).digest() for i in range((count + 15) // 16))
    return np.frombuffer(b"".join(digests), dtype="<u4")[:count]
