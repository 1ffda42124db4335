"""Encodings as registries and their tools make them, by name, with the parameters of their publishers.

Every column of the text is a field. What could not be read in a publisher's own code is called a variant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from disclique.errors import InputError
from disclique.masks.base import Parameter, extra, one_of, whole
from disclique.masks.encoding import SchemeMask
from disclique.masks.registry import register_mask
from disclique.masks.schemes import EACH, EVERY, ONE, SAMPLED, Field, Scheme
from disclique.masks.tokens import WORDS, Tokens
from disclique.messages import Message
from disclique.units import number

SECRET, NONE = "secret", "none"
KEYS = (SECRET, NONE)


def _weights(text: object) -> str:
    """Read weights as ``3+2+1``, one for each column in its order; nothing: all are alike."""
    parts = [part.strip() for part in str(text).split("+") if part.strip()]
    try:
        values = [float(part) for part in parts]
    except ValueError:
        raise InputError("weights_unreadable", text=text) from None
    if any(not 0 < value < float("inf") for value in values):
        raise InputError("weights_unreadable", text=text)
    return "+".join(number(value) for value in values)


WEIGHTS: Parameter = {"read": _weights, "text": True}


def _listed(weights: str) -> tuple[float, ...]:
    return tuple(float(part) for part in weights.split("+") if part)


@dataclass(frozen=True)
class _Ready(SchemeMask):
    """A scheme by name; a subclass has the parameters of its publisher."""

    tried: ClassVar[tuple[str, ...] | None] = ()
    other_dials: ClassVar[dict[str, bool]] = {"bits": True, **SchemeMask.other_dials}


@register_mask
@dataclass(frozen=True)
class Mainzelliste(_Ready):
    """One Bloom filter for each column, as Mainzelliste and MainzellisteSEL make them: 500 bits, 15 hashes, bigrams.

    Texts lose marks at their ends, umlauts are spelled out, and letters are capitals; bigrams have a blank at both
    ends. There is no key: whoever has a list of names encodes it and compares. ``key=secret`` puts HMAC in the place of
    the two hashes, a variant.
    """

    name: ClassVar[str] = "mainzelliste"
    summary: ClassVar[Message | None] = Message("mask_does_mainzelliste")
    reference: ClassVar[str] = (
        "MainzellisteSEL, BloomFilterTransformer and StringNormalizer, as public in 2019; Schnell, Bachteler and "
        "Reiher 2009, BMC Medical Informatics and Decision Making 9:41"
    )

    length: int = field(default=500, metadata=whole(8))
    bits: int = field(default=15, metadata=whole(1))
    q: int = field(default=2, metadata=whole(1))
    key: str = field(default=NONE, metadata=one_of(*KEYS))

    def schemes(self) -> tuple[Scheme, ...]:
        """Return a filter for each column."""
        tokens = Tokens(sizes=(self.q,), pad=self.q - 1)
        one = Field(EVERY, tokens, self.bits, form="mainzelliste", hash="last-bytes")
        return (Scheme((one,), self.length, EACH, keyed=self.key == SECRET),)


@register_mask
@dataclass(frozen=True)
class Abf(_Ready):
    """One Bloom filter of 256 bits for each column (attribute-level); a variant: the hashing is that of ``bloom``."""

    name: ClassVar[str] = "abf"
    summary: ClassVar[Message | None] = Message("mask_does_abf")
    reference: ClassVar[str] = (
        "a variant of attribute-level Bloom filters: Schnell, Bachteler and Reiher 2009, BMC Medical Informatics and "
        "Decision Making 9:41; of 256 bits in the PPRL services of the University of Leipzig"
    )

    length: int = field(default=256, metadata=whole(8))
    bits: int = field(default=10, metadata=whole(1))
    q: int = field(default=2, metadata=whole(1))
    key: str = field(default=SECRET, metadata=one_of(*KEYS))

    def schemes(self) -> tuple[Scheme, ...]:
        """Return a filter for each column."""
        one = Field(EVERY, Tokens(sizes=(self.q,), pad=self.q - 1), self.bits)
        return (Scheme((one,), self.length, EACH, keyed=self.key == SECRET),)


@register_mask
@dataclass(frozen=True)
class Rbf(_Ready):
    """A record-level filter: bits drawn by key from a filter of each column, as many as its weight says, and shuffled.

    ``weights=3+2+1`` are those of the columns in their order. A variant: bits are drawn whatever they tell.
    """

    name: ClassVar[str] = "rbf"
    summary: ClassVar[Message | None] = Message("mask_does_rbf")
    reference: ClassVar[str] = (
        "a variant of Durham, Kantarcioglu, Xue, Toth, Kuzu and Malin 2014, IEEE Transactions on Knowledge and Data "
        "Engineering 26(12):2956-2968"
    )

    length: int = field(default=1024, metadata=whole(8))
    filter: int = field(default=500, metadata=whole(8))
    bits: int = field(default=15, metadata=whole(1))
    q: int = field(default=2, metadata=whole(1))
    key: str = field(default=SECRET, metadata=one_of(*KEYS))
    weights: str = field(default="", metadata=extra(WEIGHTS))

    def schemes(self) -> tuple[Scheme, ...]:
        """Return bits drawn from a filter for each column."""
        tokens = Tokens(sizes=(self.q,), pad=self.q - 1)
        one = Field(EVERY, tokens, self.bits, weights=_listed(self.weights))
        return (Scheme((one,), self.filter, SAMPLED, self.length, keyed=self.key == SECRET),)


@register_mask
@dataclass(frozen=True)
class Clkrbf(_Ready):
    """One filter into which each column sets the more bits the more it weighs (CLKRBF): ``bits`` for the least one.

    ``weights=3+2+1`` are those of the columns in their order. A variant: the length is given, not computed.
    """

    name: ClassVar[str] = "clkrbf"
    summary: ClassVar[Message | None] = Message("mask_does_clkrbf")
    reference: ClassVar[str] = (
        "a variant of Vatsalan, Christen, O'Keefe and Verykios 2014, Journal of Privacy and Confidentiality 6(1); "
        "ul-mds/pprl, Leipzig University"
    )

    length: int = field(default=1024, metadata=whole(8))
    bits: int = field(default=5, metadata=whole(1))
    q: int = field(default=2, metadata=whole(1))
    key: str = field(default=SECRET, metadata=one_of(*KEYS))
    weights: str = field(default="", metadata=extra(WEIGHTS))

    def schemes(self) -> tuple[Scheme, ...]:
        """Return one filter of all columns."""
        weights = _listed(self.weights)
        tokens = Tokens(sizes=(self.q,), pad=self.q - 1)
        one = Field(EVERY, tokens, self.bits, weights=weights, weighs_bits=bool(weights))
        return (Scheme((one,), self.length, ONE, keyed=self.key == SECRET),)


@register_mask
@dataclass(frozen=True)
class Ons(_Ready):
    """One filter of 1,024 bits with two hashes of every 2- and 3-gram of words, as the ONS' pprl_toolkit makes it.

    Without a key; ``key=secret`` is a salt that is appended to every token. A variant in so far as every column is a
    name: there dates and sexes are labelled tokens.
    """

    name: ClassVar[str] = "ons"
    summary: ClassVar[Message | None] = Message("mask_does_ons")
    reference: ClassVar[str] = "a variant of pprl_toolkit, Data Science Campus of the Office for National Statistics"

    length: int = field(default=1024, metadata=whole(8))
    bits: int = field(default=2, metadata=whole(1))
    key: str = field(default=NONE, metadata=one_of(*KEYS))

    def schemes(self) -> tuple[Scheme, ...]:
        """Return one filter of all columns."""
        one = Field(EVERY, Tokens(WORDS, (2, 3)), self.bits, form="lower", hash="sha256")
        return (Scheme((one,), self.length, ONE, keyed=self.key == SECRET),)
