"""Masks on text: similarity-preserving encodings, as they are made to link files without showing names.

Each draws its secret key from the generator: who applies one to a file of their own encodes it under another key, and
sees how the encoding treats similar strings.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.masks.base import Mask, between, extra, one_of, whole
from disclique.masks.hardening import RECORD, Bits, Hardening
from disclique.masks.hashing import BLOOM_HASHES, KEY_BYTES, chance_of, derive
from disclique.masks.registry import register_mask
from disclique.masks.schemes import Field, Scheme
from disclique.masks.tokens import Tokens
from disclique.messages import Message
from disclique.spaces import Encodings, Texts
from disclique.spaces.base import Distances
from disclique.spaces.strings import Grams, find_grams

_AT_A_TIME = 64  # hash functions of a MinHash that are computed together


class TextMask(Mask):
    """A mask that encodes each string by itself under a secret key: subclasses implement ``encode``."""

    on: ClassVar[str] = "text"
    scope: ClassVar[str] = "file"
    conditional: ClassVar[bool] = True
    simulated_files: ClassVar[int] = 4
    metric: ClassVar[str] = "dice"

    @property
    def compares(self) -> str | None:
        """The distance of strings that it keeps; bigrams where nobody says another."""
        return "dice:q=2"

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


def _salt(text: object) -> int | str:
    return RECORD if str(text).strip().lower() == RECORD else int(whole(0)["read"](text))


@dataclass(frozen=True, kw_only=True)
class SchemeMask(TextMask):
    """A mask that encodes by one scheme or several, and hardens what they make; subclasses say which in ``schemes``.

    ``salt`` hashes each token together with one of that many values, which stand for an attribute that does not change,
    such as the year of birth (``record``: one for each record); records with different salts look unrelated.
    ``xor_fold`` lays the halves of a filter upon each other so many times, ``rule90`` makes each bit the exclusive or
    of its neighbours so many times, and ``rehash`` fills a new filter from windows of that many bits. ``diffuse`` makes
    each bit the exclusive or of that many secret positions. ``flip`` turns each bit round with that probability (BLIP;
    randomized response that replaces a share f of the bits at random is ``flip`` of f/2). ``balance`` appends the
    complement and shuffles, so that all weights are equal, and ``permute`` shuffles by key. ``fakes`` adds records of
    invented people to the release, as many as this share of its own.

    The salt of a record follows from the key and its row: two files under one key in the same order share it.
    """

    dial: ClassVar[str | None] = "flip"
    other_dials: ClassVar[dict[str, bool]] = {
        "salt": True,
        "xor_fold": True,
        "rule90": True,
        "rehash": True,
        "diffuse": True,
        "fakes": True,
    }

    salt: int | str = field(default=0, metadata=extra({"read": _salt}))
    xor_fold: int = field(default=0, metadata=extra(whole(0)))
    rule90: int = field(default=0, metadata=extra(whole(0)))
    rehash: int = field(default=0, metadata=extra(whole(0)))
    diffuse: int = field(default=0, metadata=extra(whole(0)))
    flip: float = field(default=0.0, metadata=extra(between(0, 0.5, closed=True)))
    balance: str = field(default="no", metadata=extra(one_of("no", "yes")))
    permute: str = field(default="no", metadata=extra(one_of("no", "yes")))
    fakes: float = field(default=0.0, metadata=extra(between(0, 10, closed=True)))

    def schemes(self) -> tuple[Scheme, ...]:
        """Return how a person is encoded, once for each encoding that they get."""
        raise NotImplementedError

    @property
    def hardening(self) -> Hardening:
        """What is done to each encoding."""
        steps = {name: getattr(self, name) for name in ("salt", "xor_fold", "rule90", "rehash", "diffuse", "flip")}
        return Hardening(**steps, balance=self.balance == "yes", permute=self.permute == "yes")

    @property
    def secret(self) -> bool:
        """Whether a key is needed to encode as the holder does: False where everybody can."""
        return all(scheme.keyed for scheme in self.schemes())

    @property
    def faked(self) -> float:
        """How many records of invented people are added to a release, as a share of its own."""
        return self.fakes

    @property
    def noise(self) -> float:
        """The probability that a published bit is not the one that follows from text and key."""
        return self.flip

    @property
    def copies(self) -> int:
        """How often it shows each bit: the complement is another copy."""
        return 2 if self.balance == "yes" else 1

    @property
    def compares(self) -> str | None:
        """Nothing: what it keeps of several columns only encodings under keys of one's own tell."""
        return None

    def without_noise(self) -> SchemeMask:
        """Return the same mask without the noise."""
        return replace(self, flip=0.0)

    def encode(self, distances: Distances, key: bytes, rng: np.random.Generator) -> Encodings:
        """Return the strings encoded under a key; two files under one key can be linked. ``rng`` is for noise."""
        texts = distances.texts()
        if texts is None:
            raise InputError("mask_needs_text", name=self.name)
        if self.salt and not self.secret:
            raise InputError("salt_needs_a_key", name=self.name)
        parts = [part for scheme in self.schemes() for part in self._parts(scheme, texts, key)]
        hardened = [self._harden(bits, place, key, rng, len(parts)) for place, bits in enumerate(parts)]
        lengths = tuple(bits.shape[1] for bits in hardened)
        return Encodings(np.packbits(np.concatenate(hardened, axis=1), axis=1), sum(lengths), self.metric, lengths)

    def _parts(self, scheme: Scheme, texts: Texts, key: bytes) -> list[Bits]:
        """Return the filters of one scheme, hardened as that says; the salt is that of the mask."""
        own = replace(scheme.hardening, salt=self.salt)
        secret, none = (key if scheme.keyed else b""), np.random.default_rng(0)
        found = replace(scheme, hardening=own).parts(texts, key)
        return [own.harden(bits, derive(secret, "scheme"), none, place) for place, bits in enumerate(found)]

    def _harden(self, bits: Bits, place: int, key: bytes, rng: np.random.Generator, parts: int) -> Bits:
        """Return one part hardened; of several, one that a person has not stays missing."""
        hardened = self.hardening.harden(bits, key if self.secret else b"", rng, place)
        if parts > 1:
            hardened[~bits.any(axis=1)] = 0
        return hardened

    def by_group(self) -> tuple[SchemeMask, SchemeMask] | None:
        """Return the same without salts, and with one for each record."""
        if self.salt == RECORD or int(self.salt) < 2:
            return None
        return replace(self, salt=0), replace(self, salt=RECORD)


@register_mask
@dataclass(frozen=True)
class Bloom(SchemeMask):
    """A Bloom filter (cryptographic longterm key): each q-gram sets ``bits`` of ``length`` positions by keyed hashing.

    ``hash`` is ``double`` (any length) or ``blake`` (a length of 2^k up to 65,536), as clkhash has them. What is added
    is that of ``SchemeMask``.

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
        "Borgs 2016, IEEE ICDM Workshops; diffuse: Armknecht, Heng and Schnell 2023, PoPETs 2023(2); rule90: Schnell "
        "and Borgs 2018, IEEE ICDM Workshops; xor-fold: Schnell and Borgs 2016, a paper of the German Record Linkage "
        "Center"
    )
    other_dials: ClassVar[dict[str, bool]] = {"bits": True, **SchemeMask.other_dials}

    length: int = field(default=1024, metadata=whole(8))
    bits: int = field(default=10, metadata=whole(1))
    q: int = field(default=2, metadata=whole(1))
    hash: str = field(default="double", metadata=extra(one_of(*BLOOM_HASHES)))

    def __post_init__(self) -> None:
        super().__post_init__()
        for scheme in self.schemes():
            self.hardening.check(scheme.length)

    def schemes(self) -> tuple[Scheme, ...]:
        """Return one filter of the whole text."""
        return (Scheme((Field(tokens=Tokens(sizes=(self.q,)), bits=self.bits, hash=self.hash),), self.length),)

    @property
    def compares(self) -> str:
        """The distance of strings that it keeps."""
        return f"dice:q={self.q}"


def _tokens(grams: Grams) -> tuple[list[bytes], Any]:
    """Return what is hashed, and which of it each record has."""
    return [gram.encode() for gram in grams.vocabulary], grams.members


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

    @property
    def compares(self) -> str:
        """The distance of strings that it keeps."""
        return f"dice:q={self.q}"

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

    @property
    def compares(self) -> str:
        """The distance of strings that it keeps."""
        return f"dice:q={self.q}"

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
