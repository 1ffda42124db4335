"""How kernels are compiled, and the two bit operations that NumPy has no compiled form of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


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
