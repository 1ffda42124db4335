"""What encodings leak before anybody attacks them, in seconds: no key, and what can be counted.

``find_leaks`` looks at encodings, with the names of the people where they are known. It computes no risk of its own but
for the dictionary: who is read without any secret is read by everybody.
"""

from __future__ import annotations

from disclique.attacks.leaks.dictionary import TRYING, Reading, Trying, read_by_dictionary
from disclique.attacks.leaks.statistics import (
    LOOKING,
    Looking,
    tell_duplicates,
    tell_frequencies,
    tell_length,
    tell_together,
)
from disclique.messages import Message, mark
from disclique.records.checks.values import Leak
from disclique.spaces import Encodings, Texts

__all__ = ["find_leaks", "read_by_dictionary"]

KEY = "key"  # the leak of what is read without a secret


def find_leaks(
    made: Encodings, names: Texts | None = None, *, trying: Trying = TRYING, looking: Looking = LOOKING
) -> tuple[Leak, ...]:
    """Return what encodings leak, what is read without a secret first; ``names`` are those of the same people in order.

    >>> import numpy as np
    >>> from disclique.masks import parse_mask
    >>> names = Texts(tuple(f"{first} {last}" for first in ("anna", "otto", "ida") for last in ("kern", "meier", "au")))
    >>> [leak.name for leak in find_leaks(parse_mask("mainzelliste").apply(names, np.random.default_rng(1)), names)]
    ['key']
    """
    found: list[Leak | None] = [_say_read(read_by_dictionary(made, names, trying), len(made.parts))]
    told = tell_length(made, names, looking)  # names may be those of others, where rows were taken by position
    found += [told or tell_length(made, None, looking), tell_duplicates(made, looking)]
    found += [tell_together(made, looking), tell_frequencies(made, looking)]
    return tuple(leak for leak in found if leak is not None)


def _say_read(reading: Reading | None, parts: int) -> Leak | None:
    if reading is None:
        return None
    first = reading.broken[0]
    key = Message(mark("with_no_key")) if first.code.secret is None else Message("with_key", key=first.code.secret)
    if first.code.secret == "":
        key = Message("with_empty_key")
    about = {"code": first.code.message, "key": key, "hashes": first.hashes, "exposed": reading.exposed}
    about |= {"share": reading.share, "parts": len(reading.broken), "all": parts}
    code = mark("leak_key_known") if reading.known else mark("leak_key")
    return Leak(KEY, Message(code, about), reading.share, risk=reading.exposed)
