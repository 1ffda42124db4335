"""How kernels are compiled and run side by side, and the two bit operations that NumPy has no compiled form of."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def kernel(function: F) -> F:
    """The compiled form of ``function``: cached on disk, and free of the interpreter lock so that threads run it."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


if numba.config.DISABLE_JIT:

    def popcount(word: int) -> int:
        """Number of bits set in a 64-bit word."""
        return (int(word) & 0xFFFFFFFFFFFFFFFF).bit_count()

    def lowest(word: int) -> int:
        """Index of the lowest bit set in a word that is not zero."""
        return (int(word) & -int(word)).bit_length() - 1

else:

    @intrinsic
    def popcount(typing: Any, word: Any) -> Any:
        """Number of bits set in a 64-bit word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return numba.int64(numba.int64), generate

    @intrinsic
    def lowest(typing: Any, word: Any) -> Any:
        """Index of the lowest bit set in a word that is not zero."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], context.get_constant(numba.boolean, True))

        return numba.int64(numba.int64), generate


def count_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_threads(work: Callable[[T], None], items: Iterable[T], stop: Callable[[], None] = lambda: None) -> None:
    """Do ``work`` on every item, each in a thread of its own, and wait; the first error is raised again.

    Kernels release the interpreter lock, so plain threads use every core.

    An interrupt calls ``stop``, which should make the work end soon, and goes on once it has.
    """
    items = list(items)
    if len(items) == 1:
        work(items[0])
        return
    errors: list[BaseException] = []

    def guarded(item: T) -> None:
        try:
            work(item)
        except BaseException as error:
            stop()
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(item,), daemon=True) for item in items]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        stop()
        for thread in threads:
            thread.join()
        raise
    if errors:
        raise errors[0]
