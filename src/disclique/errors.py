"""What can go wrong, said so that the data holder can put it right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from disclique.messages import Message


def guess_meant(word: object, known: Iterable[str]) -> Message | None:
    """Return the end of a sentence that asks for the word which was probably meant; None if none is near.

    >>> str(guess_meant("regsiter", ["labels", "register"]))
    "; did you mean 'register'?"
    """
    near = get_close_matches(str(word).strip().lower(), list(known), n=1)
    return Message("did_you_mean", word=near[0]) if near else None


class DiscliqueError(Exception):
    """Base of every error that disclique raises on purpose: a message, which reads in English as a text.

    >>> issubclass(InputError, DiscliqueError)
    True
    """

    def __init__(self, code: str | Message, /, **values: Any) -> None:
        """Take the code of a message and its values, or a message that there is already."""
        self.message = code if isinstance(code, Message) else Message(code, values)
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


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
