"""Arrays of numbers, and cell values freed of the type that a file happened to give them."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
Json = dict[str, Any]

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)")
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,2})?")


def canonical(value: Any) -> Hashable | None:
    """Return the value freed of its file's type: 14, 14.0 and "14" are one value; None is missing.

    Text keeps its white space and case ("f " is not "f"), and "007" stays text: leading zeros carry meaning.
    """
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, str):
        if value == "":
            return None
        if _INTEGER.fullmatch(value):
            return int(value)
        return canonical(float(value)) if _NUMBER.fullmatch(value) else value
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isnan(number):
            return None
        return (int(value) if isinstance(value, numbers.Integral) else int(number)) if number.is_integer() else number
    return value if isinstance(value, Hashable) else str(value)
