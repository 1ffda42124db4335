"""Values that a person would call equal and a program does not: what two ways to write them differ in."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable
from itertools import combinations
from typing import Any


def as_in_r(name: Any) -> str:
    """Return a name as R writes it: without the X that it puts before a number, a dot for every other sign."""
    return re.sub(r"\W", ".", re.sub(r"^X(?=\d)", "", str(name)))


FOLDS: dict[str, Callable[[str], str]] = {  # what may differ, and how to look past it
    "white space": lambda text: re.sub(r"\s+", "", text),
    "case": str.casefold,
    "leading zeros (spreadsheets drop them)": lambda text: re.sub(r"(?<!\d)0+(?=\d)", "", text),
    "the decimal sign": lambda text: re.sub(r"(?<=\d),(?=\d)", ".", text),
    "what R does to names (an X before numbers, dots for other signs)": as_in_r,
}


def find_twins(
    values: Collection[Hashable | None], others: Collection[Hashable | None]
) -> tuple[str, list[Hashable | None]]:
    """Find the values that the others have as well but for their writing; say in what it differs.

    Of several explanations the one that explains most counts, of equally good ones the simplest.

    >>> find_twins(["m", "w", "x"], ["M", "W"]), find_twins(["f"], ["m"])
    (('case', ['m', 'w']), ('', []))
    """
    best: tuple[str, list[Hashable | None]] = ("", [])
    for size in range(1, len(FOLDS) + 1):
        for chosen in combinations(FOLDS, size):
            there = {_fold(other, chosen) for other in others if other is not None}
            found = [value for value in values if value is not None and _fold(value, chosen) in there]
            if len(found) > len(best[1]):
                best = " and ".join(chosen), sorted(found, key=str)
    return best


def _fold(value: Hashable, names: Collection[str]) -> str:
    text = str(value)
    for name in names:
        text = FOLDS[name](text)
    return text


def describe_difference(strange: Collection[Hashable | None], lost: Collection[Hashable | None]) -> str:
    """Say in what values that do not match differ, if it is in their writing only; an empty text if it is not.

    >>> describe_difference(["p0001", "p0002"], ["P0001", "P0002"])
    'they differ only in case'
    """
    words, twins = find_twins(strange, lost)
    if not twins:
        return ""
    whole = len(set(twins)) >= min(len(set(strange)), len(set(lost)))
    return f"{'they' if whole else f'{len(set(twins))} of them'} differ only in {words}"
