"""Arguments at the public door: what is of the wrong kind is refused in one sentence that names it."""

from __future__ import annotations

import numbers
from collections.abc import Sized
from dataclasses import MISSING, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from disclique.errors import InputError
from disclique.messages import Message, mark

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
SHOWN = 60  # characters of a value in a message
LONGEST = 180  # of a representation


def show(value: object) -> str:
    """Return a value as a message shows it, never a page of numbers.

    >>> show("lon"), show([0] * 1000)
    ("'lon'", 'a list of 1000')
    """
    text = repr(value)
    if len(text) <= SHOWN and "\n" not in text:
        return text
    name = type(value).__name__
    if isinstance(value, str):
        return f"{text[: SHOWN - 1].splitlines()[0]}…"
    many = f" of {len(value)}" if isinstance(value, Sized) else ""
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}{many}"


def short_repr(value: Any) -> str:
    """Return the representation of a dataclass in one line: what is as by default is left out, what is long is named.

    A class has it by ``__repr__ = short_repr``.
    """
    told = []
    for field in fields(value):
        held = getattr(value, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        plain = isinstance(held, (str, int, float, tuple, dict)) or is_dataclass(held)
        if field.repr and not (held is default or (plain and type(held) is type(default) and held == default)):
            told.append(f"{field.name}={show(held)}")
    while sum(map(len, told)) + 2 * len(told) > LONGEST:
        told = [*told[:-2], "…"]
    return f"{type(value).__name__}({', '.join(told)})"


def check_kind(value: object, kind: type[T], what: str, wanted: str) -> T:
    """Return the value if it is of this kind; else say what is wanted, by the code of a message."""
    if not isinstance(value, kind):
        raise InputError("argument_is_not", what=what, value=show(value), wanted=Message(wanted), meant=None)
    return value


def check_number(value: Any, what: str | Message, wanted: str) -> float:
    """Return a number that is not a truth value; ``wanted`` is the code of what it is to be."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError("argument_is_not", what=what, value=show(value), wanted=Message(wanted), meant=None)
    return float(value)


def check_whole(value: Any, what: str, low: int = 0) -> int:
    """Return a whole number of at least ``low``.

    >>> check_whole(3, "repetitions", 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < low:
        raise InputError("not_whole", what=what, value=show(value), low=low)
    return int(value)


def check_path(value: Any, what: str) -> Path:
    """Return the path that a text or a path names."""
    if not isinstance(value, (str, PathLike)):
        raise InputError("not_a_path", what=what, value=show(value))
    return Path(value)


def check_rng(value: object) -> np.random.Generator:
    """Return random numbers, which come from an explicit seed."""
    import numpy as np

    return check_kind(value, np.random.Generator, "rng", "wanted_rng")


def check_seed(value: Any) -> int:
    """Return a seed: chance follows from nothing but a whole number."""
    try:
        return check_whole(value, "seed")
    except InputError:
        raise InputError("not_a_seed", value=show(value)) from None


def check_share(value: Any, what: str | Message, wanted: str = mark("wanted_share")) -> float:
    """Return a number between 0 and 1; percents are asked to be written as a share."""
    found = check_number(value, what, wanted)
    if not 0 <= found <= 1:
        meant = Message("percent_as_share", percent=found, share=found / 100) if 1 < found <= 100 else None
        raise InputError("argument_is_not", what=what, value=show(value), wanted=Message(wanted), meant=meant)
    return found
