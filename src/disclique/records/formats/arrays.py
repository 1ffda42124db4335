"""NumPy files: one array of numbers, without names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.records.formats import Format, check_there, first_line


def read_array(path: Path) -> NDArray[Any]:
    """Return the one array of numbers in a file."""
    check_there(path)
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _of_numbers(loaded)
        with loaded:
            if len(loaded.files) != 1:
                raise InputError("several_arrays", path=path, count=len(loaded.files))
            return _of_numbers(loaded[loaded.files[0]])
    except (OSError, ValueError, TypeError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("not_a_numpy_array", path=path, why=first_line(error)) from None


def _of_numbers(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.kind in "buif" else np.asarray(array, dtype=float)


NUMPY = Format((".npy", ".npz"), "NumPy", array=read_array)
