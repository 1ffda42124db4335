"""What can go wrong, said so that the data holder can put it right."""

from collections.abc import Iterable
from difflib import get_close_matches


def guess_meant(word: object, known: Iterable[str]) -> str:
    """Return the end of a sentence that asks for the word which was probably meant; empty if none is near.

    >>> guess_meant("regsiter", ["labels", "register"])
    "; did you mean 'register'?"
    """
    near = get_close_matches(str(word).strip().lower(), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class DiscliqueError(Exception):
    """Base of every error that disclique raises on purpose.

    >>> issubclass(InputError, DiscliqueError)
    True
    """


class InputError(DiscliqueError, ValueError):
    """Something in the given data or parameters is wrong; the message says what, where and with which value.

    >>> import disclique as dq
    >>> dq.Within(-1)
    Traceback (most recent call last):
        ...
    disclique.errors.InputError: within = -1: it must be a positive number
    """


class MissingDependency(DiscliqueError, ImportError):
    """An optional library is needed; the message says how to get it."""


class TooLarge(DiscliqueError, MemoryError):
    """The work would not fit into the memory budget; the message gives the estimate."""
