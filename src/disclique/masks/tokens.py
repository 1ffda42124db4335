"""From a cell of text to the tokens that are hashed: how it is written, and into which pieces it is cut."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from disclique.spaces.strings import normalise

GRAMS, WHOLE, WORDS, NUMBER = "grams", "whole", "words", "number"
KINDS = (GRAMS, WHOLE, WORDS, NUMBER)
_EDGES = " .:,;-'"
_LETTERS = str.maketrans({"ä": "ae", "Ä": "AE", "ö": "oe", "Ö": "OE", "ü": "ue", "Ü": "UE", "ß": "ss"})


def _trim_german(text: str) -> str:
    """Return a text as Mainzelliste writes it: without marks at its ends, umlauts spelled out, in capitals."""
    return text.strip(_EDGES).translate(_LETTERS).upper()


FORMS: dict[str, Callable[[str], str]] = {
    "written": lambda text: text,
    "normal": normalise,
    "lower": lambda text: text.lower(),
    "mainzelliste": _trim_german,
    "integer": lambda text: str(int(text, base=10)),
}


@dataclass(frozen=True)
class Number:
    """Numbers near to each other share tokens: 2·resolution + 1 of them, as clkhash's numeric comparison has them."""

    distance: float
    resolution: int
    decimals: int = 0

    def split(self, text: str) -> tuple[str, ...]:
        """Return the tokens of a number.

        >>> Number(8, 2).split("25")
        ('88', '96', '104', '112', '120')
        """
        step = round(self.distance * 10**self.decimals)
        try:
            value = int(text, base=10) * 10**self.decimals
        except ValueError:
            value = round(float(text) * 10**self.decimals) if self.decimals else int(float(text))
        value *= 2 * self.resolution
        rest = value % step
        value += -rest if rest < step / 2 else step - rest
        return tuple(str(value + k * step) for k in range(-self.resolution, self.resolution + 1))


@dataclass(frozen=True)
class Tokens:
    """Into which pieces a text is cut.

    ``grams`` are pieces of each of ``sizes`` letters, with ``pad`` blanks before and after the text, ``positional``
    with their place before them. ``whole`` is the text itself, ``words`` are grams of each word between underscores,
    ``number`` is the neighbourhood of a number.

    >>> Tokens(pad=1).split("jo"), Tokens(sizes=(1,), positional=True).split("19"), Tokens(WORDS, (2, 3)).split("jo b")
    ((' j', 'jo', 'o '), ('1 1', '2 9'), ('_j', 'jo', 'o_', '_b', 'b_', '_jo', 'jo_', '_b_'))
    """

    kind: str = GRAMS
    sizes: tuple[int, ...] = (2,)
    pad: int = 0
    positional: bool = False
    number: Number | None = None

    def split(self, text: str) -> tuple[str, ...]:
        """Return the tokens of a text, in order; those that occur twice are listed twice."""
        if not text:
            return ()
        if self.kind == NUMBER and self.number is not None:
            return self.number.split(text)
        if self.kind == WHOLE:
            return (text,)
        pieces = [" " * self.pad + text + " " * self.pad]
        if self.kind == WORDS:
            pieces = [f"_{word}_" for word in re.split(r"[\s+\-_,.]+", text) if word]
        return tuple(gram for size in self.sizes for piece in pieces for gram in self._grams(piece, size))

    def _grams(self, text: str, size: int) -> list[str]:
        short = self.kind == GRAMS  # then a text that is too short is its only piece
        count = max(len(text) - size + 1, int(short))
        found = [text[k : k + size] for k in range(count)]
        return [f"{k + 1} {gram}" for k, gram in enumerate(found)] if self.positional else found


def write_date(text: str, form: str) -> str:
    """Return a date as digits, year first: ``form`` says how it is written."""
    return datetime.strptime(text, form).strftime("%Y%m%d")
