"""Arguments at the public door: what is of the wrong kind is refused in one sentence that names it."""

from __future__ import annotations

import numbers
from typing import Any, TypeVar

from disclique.errors import InputError

T = TypeVar("T")
SHOWN = 60  # characters of a value in a message


def show(value: object) -> str:
    """Return a value as a message shows it, never a page of numbers.

    >>> show("lon"), show([0] * 1000)
    ("'lon'", 'a list')
    """
    text = repr(value)
    if len(text) <= SHOWN and "\n" not in text:
        return text
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def check_kind(value: object, kind: type[T], what: str, wanted: str) -> T:
    """Return the value if it is of this kind; else say what is wanted in its place."""
    if not isinstance(value, kind):
        raise InputError(f"{what} = {show(value)}: {wanted}")
    return value


def check_number(value: Any, what: str, wanted: str) -> float:
    """Return a number that is not a truth value; ``wanted`` says what it is to be."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{what} = {show(value)}: {wanted}")
    return float(value)


def check_whole(value: Any, what: str, low: int = 0) -> int:
    """Return a whole number of at least ``low``.

    >>> check_whole(3, "repetitions", 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < low:
        raise InputError(f"{what} = {show(value)}: it must be a whole number of at least {low}")
    return int(value)


def check_share(value: Any, what: str, wanted: str = "a share lies between 0 and 1") -> float:
    """Return a number between 0 and 1; percents are asked to be written as a share."""
    found = check_number(value, what, wanted)
    if not 0 <= found <= 1:
        meant = f"; for {found:g} % write {found / 100:g}" if 1 < found <= 100 else ""
        raise InputError(f"{what} = {show(value)}: {wanted}{meant}")
    return found
