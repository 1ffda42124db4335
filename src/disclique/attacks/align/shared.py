"""What attacks on one known file share: made once, and kept for the files and widths that were asked for last.

What is kept follows from the known file alone, so that it does not matter who asked first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar
from weakref import ReferenceType, ref

from disclique.spaces.positions import KnownMap

T = TypeVar("T")
MOST_RECORDS = 400_000  # of all that is kept together; some hundred megabytes at the most

_lock = Lock()
_kept: OrderedDict[Hashable, tuple[ReferenceType[KnownMap], int, Any]] = OrderedDict()


def recall(known_map: KnownMap, what: Hashable, make: Callable[[], T]) -> T:
    """Return ``what`` of a known file that was made before, or make it."""
    key = id(known_map), what
    with _lock:
        if key in _kept and _kept[key][0]() is known_map:
            _kept.move_to_end(key)
            found: T = _kept[key][2]
            return found
    found = make()
    with _lock:
        _kept[key] = ref(known_map), len(known_map.positions), found
        _kept.move_to_end(key)
        total = sum(one[1] for one in _kept.values())
        while total > MOST_RECORDS and len(_kept) > 1:
            total -= _kept.popitem(last=False)[1][1]
    return found
