"""How encodings are written, and how what is written becomes bits: 0 and 1, hexadecimal, base64, or sets of numbers."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.messages import Message
from disclique.spaces.bits import BASE64, BINARY, COLUMN, HEXADECIMAL, SETS, Encodings

_FORMS = {
    BINARY: re.compile(r"[01]+"),
    HEXADECIMAL: re.compile(r"(0[xX])?[0-9a-fA-F]+"),
    BASE64: re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"),
    SETS: re.compile(r"[\[{(]\s*(\d+([,;\s]+\d+)*)?[,\s]*[\]})]"),
}
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Sets:
    """How sets of numbers become bits.

    Numbers below ``positions`` are those of bits that are set, in a string of the next power of 2: the length is not
    written, and filters have such lengths. Larger ones are hashes (two-step hashes): each different one becomes a bit.
    """

    positions: int = 1 << 16
    least: int = 64


SETS_OF_NUMBERS = Sets()


def parse_encodings(
    values: Sequence[Any], metric: str | None = "dice", *, name: str, column: str = COLUMN, gaps: bool = False
) -> Encodings:
    """Return the encodings that are written as 0 and 1, in hexadecimal, base64 or as sets: the first that fits all.

    Without a metric it is ``jaccard`` for sets of hashes, as their authors compare them, else ``dice``. With ``gaps`` a
    cell may be empty, which is an encoding without any bit.

    >>> parse_encodings(["8f", "0a"], name="clk.csv").length
    8
    >>> parse_encodings(["{912345, 7}", "{7}"], None, name="hashes.csv")
    2 encodings of 2 bits, jaccard
    """
    cells = [_cell(value) for value in values]
    for row, (value, text) in enumerate(zip(values, cells, strict=True)):
        if not text and not gaps:
            raise InputError("encoding_missing", name=name, row=row + 1, column=column)
        if text and not isinstance(value, (str, *_LISTS)):
            raise InputError("encoding_is_number", name=name, row=row + 1, column=column, text=text)
    there = [row for row, text in enumerate(cells) if text]
    if not there:
        raise InputError("encoding_missing", name=name, row=1, column=column)
    form = _form_of(cells, there, name, column)
    if form == SETS:
        return _encode_sets(cells, metric, SETS_OF_NUMBERS)
    length = _bits_in(cells[there[0]], form)
    for row in there:
        if _bits_in(cells[row], form) != length:
            found = {"text": _short(cells[row]), "bits": _bits_in(cells[row], form), "length": length}
            raise InputError("encodings_differ_in_length", name=name, row=row + 1, column=column, **found)
    bits = np.zeros((len(cells), (length + 7) // 8), dtype=np.uint8)
    for row in there:
        bits[row] = _packed(cells[row], form)
    return Encodings(bits, length, metric or "dice")


_LISTS = (list, tuple, set, frozenset, np.ndarray)


def _cell(value: Any) -> str:
    """Return a cell as text; an empty one where there is no encoding."""
    if isinstance(value, _LISTS):
        return "{" + ", ".join(map(str, value)) + "}"
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(value).strip()


def _encode_sets(cells: Sequence[str], metric: str | None, how: Sets) -> Encodings:
    """Return sets of numbers as bits; which are equal, and how much two of them share, stays as it is."""
    sets = [[int(number) for number in _NUMBER.findall(text)] for text in cells]
    owner = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    numbers = [number for one in sets for number in one]
    top = max(numbers, default=0)
    if top < how.positions:
        length = max(how.least, 1 << top.bit_length())
        place = np.array(numbers, dtype=np.int64)
    else:
        rank = {number: place for place, number in enumerate(sorted(set(numbers)))}
        length, place = len(rank), np.array([rank[number] for number in numbers], dtype=np.int64)
    bits = np.zeros((len(sets), (length + 7) // 8), dtype=np.uint8)
    np.bitwise_or.at(bits, (owner, place // 8), (128 >> (place % 8)).astype(np.uint8))
    return Encodings(bits, length, metric or ("dice" if top < how.positions else "jaccard"))


def parse_parts(
    columns: Mapping[str, Sequence[Any]], metric: str | None, *, name: str, gaps: bool = False
) -> Encodings:
    """Return the encodings of several columns as parts of one; an empty cell is a part that a person does not have.

    Somebody without any is refused, unless there may be ``gaps``.

    >>> parse_parts({"first": ["8f", None], "last": ["11", "0a"]}, None, name="clk.csv").parts
    (8, 8)
    """
    if len(columns) == 1:
        ((column, values),) = columns.items()
        return parse_encodings(values, metric, name=name, column=column, gaps=gaps)
    found = [parse_encodings(values, metric, name=name, column=column, gaps=True) for column, values in columns.items()]
    for row in np.flatnonzero(sum(one.weights for one in found) == 0) if not gaps else ():
        raise InputError("encoding_missing_everywhere", name=name, row=row + 1, columns=[repr(one) for one in columns])
    return join_parts(found)


def join_parts(found: Sequence[Encodings]) -> Encodings:
    """Return several encodings of the same people as parts of one.

    >>> one, other = (parse_encodings(["8f", "0a"], name="clk.csv") for _ in range(2))
    >>> join_parts([one, other]).cells()
    ['8f8f', '0a0a']
    """
    parts = tuple(part for one in found for part in one.parts)
    if all(one.length % 8 == 0 for one in found):
        bits = np.concatenate([one.bits for one in found], axis=1)
    else:
        opened = [np.unpackbits(one.bits, axis=1, count=one.length) for one in found]
        bits = np.packbits(np.concatenate(opened, axis=1), axis=1)
    return Encodings(bits, sum(parts), found[0].metric, parts)


def form_of(values: Sequence[Any]) -> str | None:
    """Return how encodings are written; None where no form fits them all.

    >>> form_of(["8f", "0a"]), form_of(["Zg==", "Zw=="])
    ('form_hexadecimal', 'form_base64')
    """
    cells = [text for value in values if (text := _cell(value))]
    return next((form for form, rule in _FORMS.items() if all(rule.fullmatch(text) for text in cells)), None)


def _form_of(cells: Sequence[str], there: Sequence[int], name: str, column: str) -> str:
    """Return how the encodings are written; where nothing fits them all, complain of the first odd one out."""
    given = [cells[row] for row in there]
    fits = {form: [rule.fullmatch(text) is not None for text in given] for form, rule in _FORMS.items()}
    for form, found in fits.items():
        if all(found):
            return form
    odd = next((row for row in range(len(given)) if not any(found[row] for found in fits.values())), None)
    usual = max(fits, key=lambda form: sum(fits[form]))  # the first of those that fit the most rows
    row = fits[usual].index(False) if odd is None else odd
    if odd is None:
        like = Message("encoding_unlike_others", form=Message(usual))
    else:
        like = Message("encoding_of_no_form", forms=[Message(form) for form in _FORMS])
    about = {"name": name, "row": there[row] + 1, "column": column, "text": _short(given[row])}
    raise InputError("encoding_unreadable", **about, like=like)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _bits_in(text: str, form: str) -> int:
    if form == BINARY:
        return len(text)
    if form == HEXADECIMAL:
        return 4 * len(_digits(text))
    return 8 * (len(text) // 4 * 3 - text.count("="))


def _digits(text: str) -> str:
    return text[2:] if text[:2].lower() == "0x" else text


def _packed(text: str, form: str) -> NDArray[np.uint8]:
    if form == BINARY:
        return np.packbits(np.frombuffer(text.encode("ascii"), dtype=np.uint8) - ord("0"))
    try:
        digits = _digits(text)
        raw = bytes.fromhex(digits + "0" * (len(digits) % 2)) if form == HEXADECIMAL else base64.b64decode(text)
    except binascii.Error as error:
        raise InputError("not_of_form", text=_short(text), form=Message(form), error=str(error)) from None
    return np.frombuffer(raw, dtype=np.uint8)


def encodings_of_array(array: NDArray[Any], metric: str = "dice", *, name: str = "encodings") -> Encodings:
    """Return the encodings in an array of 0 and 1, one column a bit, or of packed bytes (type uint8).

    >>> encodings_of_array(np.array([[1, 0, 1], [0, 0, 1]])), encodings_of_array(np.array([[255], [3]], np.uint8))
    (2 encodings of 3 bits, dice, 2 encodings of 8 bits, dice)
    """
    if array.ndim != 2 or 0 in array.shape:
        raise InputError("encodings_no_table", name=name, shape=str(array.shape))
    if array.dtype == np.uint8 and (array > 1).any():
        return Encodings(array, 8 * array.shape[1], metric)
    bad = ~((array == 0) | (array == 1))
    if bad.any():
        i, j = map(int, np.argwhere(bad)[0])
        raise InputError("no_bit", name=name, row=i + 1, column=j + 1, value=array[i, j])
    return Encodings(np.packbits(array.astype(bool), axis=1), array.shape[1], metric)
