"""A scheme of one's own, written in a TOML or JSON file, as a mask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from disclique.errors import InputError, guess_meant
from disclique.masks.base import Mask, text
from disclique.masks.encoding import SchemeMask
from disclique.masks.hardening import Hardening
from disclique.masks.hashing import HASHES
from disclique.masks.registries import KEYS, SECRET
from disclique.masks.registry import register_mask
from disclique.masks.schemes import COMBINE, DATE, FIELD, ONE, TOKEN, Field, Scheme, check_cells
from disclique.masks.tokens import FORMS, GRAMS, KINDS, NUMBER, Number, Tokens
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.schemas import read_description

Said = Mapping[str, Any]


@register_mask
@dataclass(frozen=True)
class Described(SchemeMask):
    """Encodings as a file in TOML or JSON describes them: fields, tokens, hashes, and how they are put together."""

    name: ClassVar[str] = "scheme"
    leading: ClassVar[str | None] = "file"
    tried: ClassVar[tuple[str, ...] | None] = ()
    summary: ClassVar[Message | None] = Message("mask_does_scheme")
    reference: ClassVar[str] = "a scheme of one's own"

    file: str = field(metadata=text())

    @property
    def files(self) -> tuple[str, ...]:
        """The file."""
        return (self.file,)

    @cached_property
    def _schemes(self) -> tuple[Scheme, ...]:
        return read_schemes(read_description(self.file), self.file)

    def schemes(self) -> tuple[Scheme, ...]:
        """Return what the file says."""
        return self._schemes

    def prepare(self, data: Microdata) -> Mask:
        """Refuse a file with other columns than the scheme, or with cells that are not of its forms."""
        texts = data.distances.texts()
        for scheme in self.schemes() if texts is not None else ():
            assert texts is not None
            check_cells(scheme, texts, self.file)
        return self


@dataclass(frozen=True)
class _Reader:
    """Takes values out of one table of a file, each of its kind, and refuses those that nobody asked for."""

    said: Said
    file: str
    where: str

    def refuse(self, key: str, wanted: object) -> InputError:
        """Return the error that a value is not what it should be."""
        return InputError("scheme_value_wrong", file=self.file, where=self.where, key=key, wanted=wanted)

    def known(self, *keys: str) -> None:
        """Refuse other keys than these."""
        for key in self.said:
            if key not in keys:
                meant = guess_meant(key, keys)
                raise InputError(
                    "scheme_key_unknown", file=self.file, where=self.where, key=key, known=keys, meant=meant
                )

    def whole(self, key: str, default: int, least: int = 0) -> int:
        """Return a whole number of at least so much."""
        value = self.said.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.refuse(key, f">= {least}")
        return value

    def positive(self, key: str, default: float) -> float:
        """Return a number above 0."""
        value = self.said.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise self.refuse(key, "> 0")
        return float(value)

    def word(self, key: str, words: tuple[str, ...], default: str) -> str:
        """Return one of a few words."""
        value = self.said.get(key, default)
        if value not in words:
            raise self.refuse(key, ", ".join(words))
        return str(value)

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self.said.get(key, False)
        if not isinstance(value, bool):
            raise self.refuse(key, "true, false")
        return value

    def text(self, key: str) -> str:
        """Return a text."""
        value = self.said.get(key, "")
        if not isinstance(value, str):
            raise self.refuse(key, '"…"')
        return value

    def tables(self, key: str) -> list[Said]:
        """Return several tables."""
        value = self.said.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.refuse(key, f"[[{key}]]")
        return value


def read_schemes(said: Said, file: str) -> tuple[Scheme, ...]:
    """Return the scheme that a file describes, or several under ``[[encoding]]``.

    >>> said = {"length": 512, "field": [{"column": "first", "bits": 15}, {"column": "last", "pad": 1}]}
    >>> [(one.column, one.bits, one.tokens.pad) for one in read_schemes(said, "own.toml")[0].fields]
    [('first', 15, 0), ('last', 10, 1)]
    """
    if "encoding" not in said:
        return (_scheme(_Reader(said, file, file)),)
    outer = _Reader(said, file, file)
    outer.known("encoding")
    found = tuple(_scheme(_Reader(one, file, f"encoding {k + 1}")) for k, one in enumerate(outer.tables("encoding")))
    if not found:
        raise InputError("schema_encodes_nothing", file=file)
    if len({one.keyed for one in found}) > 1:
        raise InputError("keys_of_some_encodings", file=file)
    return found


def _scheme(reader: _Reader) -> Scheme:
    reader.known("length", "combine", "sample", "key", "field", "harden")
    length = reader.whole("length", 1024, 8)
    fields = tuple(
        _field(_Reader(one, reader.file, f"field {place + 1}"), place)
        for place, one in enumerate(reader.tables("field"))
    )
    if not fields:
        raise InputError("schema_encodes_nothing", file=reader.file)
    harden = reader.said.get("harden", {})
    if not isinstance(harden, dict):
        raise reader.refuse("harden", "[harden]")
    return Scheme(
        fields,
        length,
        reader.word("combine", COMBINE, ONE),
        reader.whole("sample", length, 8),
        reader.word("key", KEYS, SECRET) == SECRET,
        hardening=_hardening(_Reader(harden, reader.file, "harden")),
    )


def _hardening(reader: _Reader) -> Hardening:
    """Read the steps that belong to the scheme; salt, noise and fakes are dials of the mask."""
    reader.known("xor-fold", "rule90", "rehash", "diffuse", "balance", "permute")
    return Hardening(
        xor_fold=reader.whole("xor-fold", 0),
        rule90=reader.whole("rule90", 0),
        rehash=reader.whole("rehash", 0),
        diffuse=reader.whole("diffuse", 0),
        balance=reader.flag("balance"),
        permute=reader.flag("permute"),
    )


_PLAIN = ("column", "bits", "per", "form", "hash", "weight", "missing", "tokens", "sizes", "pad", "positional")
_NUMBERS = ("distance", "resolution", "decimals")


def _field(reader: _Reader, place: int) -> Field:
    reader.known(*_PLAIN, *_NUMBERS)
    form = reader.text("form") or "normal"
    if form not in FORMS and not form.startswith(DATE):
        raise reader.refuse("form", ", ".join((*FORMS, f"{DATE}%Y-%m-%d")))
    missing = reader.said.get("missing", [])
    if not isinstance(missing, list) or not all(isinstance(one, str) for one in missing):
        raise reader.refuse("missing", '["…", "…"]')
    return Field(
        reader.text("column"),
        _tokens(reader),
        reader.whole("bits", 10, 1),
        reader.word("per", (TOKEN, FIELD), TOKEN),
        form,
        reader.word("hash", tuple(HASHES), "double"),
        missing=tuple(missing),
        weight=reader.positive("weight", 1.0),
        place=place,
    )


def _tokens(reader: _Reader) -> Tokens:
    kind = reader.word("tokens", KINDS, GRAMS)
    if kind == NUMBER:
        distance, decimals = reader.positive("distance", 1.0), reader.whole("decimals", 0)
        if not round(distance * 10**decimals):
            raise reader.refuse("distance", f">= {10.0**-decimals:g}")
        return Tokens(kind, number=Number(distance, reader.whole("resolution", 5, 1), decimals))
    sizes = reader.said.get("sizes", [2])
    if not isinstance(sizes, list) or not sizes or not all(isinstance(one, int) and one > 0 for one in sizes):
        raise reader.refuse("sizes", "[2]")
    return Tokens(kind, tuple(sizes), reader.whole("pad", 0), reader.flag("positional"))
