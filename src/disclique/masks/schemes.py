"""One form for encodings of registries: fields × tokens × hash × combine, a frozen value; ``hardening`` does the rest.

A Bloom filter of the whole text is its shortest case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.masks.hardening import Bits, Hardening
from disclique.masks.hashing import BLAKE_LENGTH, HASHES, NO_KEYS, Derivation, chance_of, derive
from disclique.masks.tokens import FORMS, Tokens, write_date
from disclique.spaces import Texts
from disclique.values import FloatArray

ONE, EACH, SAMPLED = "one", "each", "sampled"
COMBINE = (ONE, EACH, SAMPLED)
TOKEN, FIELD = "token", "field"
EVERY = "*"
DATE = "date:"
BIGRAMS, AS_THEY_ARE = Tokens(), Hardening()


@dataclass(frozen=True)
class Field:
    """How one column is encoded.

    ``column`` is its name, ``*`` stands for every column of the text, and nothing for the whole text of a person. Its
    text is brought into a ``form`` (``date:%d.%m.%Y`` is one, too), cut into tokens, and each token sets ``bits``
    positions; ``per="field"`` shares as many out among all tokens of a cell. ``missing`` is what is encoded where a
    value is missing, and behind it how such a value is written. ``weight`` is the share of a filter that is sampled
    from several; ``weights`` are those of all columns for which ``*`` stands, which then set the more ``bits`` if it
    ``weighs_bits``.
    ``place`` numbers the keys, such that equal tokens of two columns set different bits.
    """

    column: str = ""
    tokens: Tokens = BIGRAMS
    bits: int = 10
    per: str = TOKEN
    form: str = "normal"
    hash: str = "double"
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    weight: float = 1.0
    weights: tuple[float, ...] = ()
    weighs_bits: bool = False
    place: int = 0

    def written(self, cell: str) -> str:
        """Return a cell as it is encoded; one that is not of its form stays as it is."""
        try:
            return self.checked(cell)
        except ValueError:
            return cell

    def checked(self, cell: str) -> str:
        """Return a cell as it is encoded; ValueError says that it is not of its form."""
        if cell in self.missing[1:]:
            return self.missing[0]
        if not cell:
            return ""
        return write_date(cell, self.form[len(DATE) :]) if self.form.startswith(DATE) else FORMS[self.form](cell)

    def split(self, cell: str) -> list[tuple[str, int]]:
        """Return the tokens of a cell, and how many positions each sets.

        >>> Field(bits=7, per="field").split("anna")
        [('an', 3), ('nn', 2), ('na', 2)]
        """
        try:
            tokens = self.tokens.split(self.written(cell))
        except ValueError:  # no number
            tokens = ()
        if self.per == TOKEN:
            return [(token, self.bits) for token in tokens]
        each, rest = divmod(self.bits, max(len(tokens), 1))
        return [(token, each + (k < rest)) for k, token in enumerate(tokens)]


@dataclass(frozen=True)
class Scheme:
    """How a person is encoded: into ``one`` filter, one for ``each`` field, or bits ``sampled`` from those of fields.

    ``length`` is that of a filter before it is hardened; ``sample`` the length of what is sampled. Keys follow from one
    secret, by ``derivation`` where there is one; without ``keyed`` there is no secret, and everybody can encode.
    """

    fields: tuple[Field, ...]
    length: int = 1024
    combine: str = ONE
    sample: int = 0
    keyed: bool = True
    derivation: Derivation | None = None
    features: int = 0  # pairs of keys that are derived; some may be of fields that are passed over
    hardening: Hardening = AS_THEY_ARE

    def __post_init__(self) -> None:
        for one in self.fields:
            power = self.length & (self.length - 1) == 0 and self.length <= BLAKE_LENGTH
            if one.hash == "blake" and not power:
                raise InputError("bloom_length_not_a_power", length=self.length)

    def parts(self, texts: Texts, key: bytes) -> list[Bits]:
        """Return the filters of all records, a list of one or of several for each person."""
        secret = key if self.keyed else b""
        salts = self.hardening.salts(texts.size, secret)
        matched = list(match_fields(self, texts))
        found = [_fill(one, cells, self._keys(one, secret), self.length, salts) for one, cells in matched]
        if self.combine == ONE:
            return [np.bitwise_or.reduce(found)]
        if self.combine == EACH:
            return found
        return [self._sampled(found, np.array([one.weight for one, _ in matched]), secret)]

    def _keys(self, one: Field, secret: bytes) -> Sequence[bytes]:
        if not self.keyed:
            return NO_KEYS
        if self.derivation is not None:
            return self.derivation.keys(secret, self.features)[one.place]
        of = f" {one.place}" if one.column else ""
        return derive(secret, f"first{of}"), derive(secret, f"second{of}")

    def _sampled(self, filters: Sequence[Bits], weights: FloatArray, secret: bytes) -> Bits:
        """Return positions drawn from the filter of each field, as many as its weight says, in random order."""
        ends = np.round(np.cumsum(weights) / weights.sum() * self.sample).astype(int)
        chance = chance_of(secret, "sample")
        drawn = [
            bits[:, chance.choice(bits.shape[1], size=int(count), replace=bool(count > bits.shape[1]))]
            for bits, count in zip(filters, np.diff(ends, prepend=0), strict=True)
        ]
        return np.asarray(np.concatenate(drawn, axis=1)[:, chance.permutation(self.sample)])


def match_fields(scheme: Scheme, texts: Texts) -> Iterator[tuple[Field, Sequence[str]]]:
    """Give every field with its cells: of the column of its name, of every column, or the whole text.

    Where no name is that of a column, as many columns as fields are taken in their order.
    """
    named = [one for one in scheme.fields if one.column and one.column != EVERY]
    places = _places([one.column for one in named], texts) if named else {}
    for one in scheme.fields:
        if not one.column:
            yield one, texts.strings
        elif one.column == EVERY:
            yield from _every(one, texts)
        else:
            yield one, texts.fields[places[one.column]]


def _every(one: Field, texts: Texts) -> Iterator[tuple[Field, Sequence[str]]]:
    """Give a field that stands for every column with the cells of each, and with its weight."""
    if one.weights and len(one.weights) != len(texts.fields):
        raise InputError("other_number_of_weights", weights=len(one.weights), columns=len(texts.fields))
    for place, cells in enumerate(texts.fields):
        weight = one.weights[place] if one.weights else one.weight
        bits = math.ceil(one.bits * weight / min(one.weights)) if one.weighs_bits else one.bits
        yield replace(one, place=place, weight=weight, bits=bits), cells


def _places(wanted: Sequence[str], texts: Texts) -> dict[str, int]:
    columns = list(texts.columns) or [str(place + 1) for place in range(len(texts.fields))]
    if all(name in columns for name in wanted):
        return {name: columns.index(name) for name in wanted}
    some = any(name in columns for name in wanted)  # the others are then missing, not called otherwise
    if len(columns) != len(wanted) or some or len(set(wanted)) < len(wanted):
        raise InputError("scheme_of_other_columns", wanted=list(wanted), columns=columns)
    return {name: place for place, name in enumerate(wanted)}


def check_cells(scheme: Scheme, texts: Texts, name: str) -> None:
    """Refuse a cell that is not of the form that the scheme says, such as a date."""
    for one, cells in match_fields(scheme, texts):
        for row, cell in enumerate(cells):
            try:
                for token in one.tokens.split(one.checked(cell)):
                    token.encode(one.encoding)
            except ValueError:
                form = one.form.removeprefix(DATE)
                raise InputError(
                    "cell_of_other_form", scheme=name, row=row + 1, column=one.column, value=cell, form=form
                ) from None


def _fill(
    one: Field, cells: Sequence[str], keys: Sequence[bytes], length: int, salts: NDArray[np.int64] | None
) -> Bits:
    """Return the filter of each cell; cells that are the same, under the same salt, are hashed once."""
    bits = np.zeros((len(cells), length), dtype=np.uint8)
    hashed: dict[tuple[bytes, int], list[int]] = {}
    filled: dict[tuple[str, int], NDArray[np.int64]] = {}

    def find(token: str, count: int, salt: int) -> list[int]:
        told = (token if salt < 0 else f"{salt}\x1f{token}").encode(one.encoding, "replace")
        if (told, count) not in hashed:
            hashed[told, count] = HASHES[one.hash](told, keys, count, length)
        return hashed[told, count]

    for row, cell in enumerate(cells):
        salt = -1 if salts is None else int(salts[row])
        if (cell, salt) not in filled:
            positions = [place for token, count in one.split(cell) for place in find(token, count, salt)]
            filled[cell, salt] = np.array(positions, dtype=np.int64)
        bits[row, filled[cell, salt]] = 1
    return bits
