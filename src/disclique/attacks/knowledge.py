"""What the snooper knows of the mask and of the files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.errors import InputError
from disclique.model import Spread


@dataclass(frozen=True)
class Knowledge:
    """What the snooper knows of the mask and of the files; None is estimated from the data.

    ``noise`` is the displacement of the target's points, ``matrix_noise`` the standard deviation of independent noise
    on each published distance, ``common`` the expected share of the target's records that are in the known file and
    ``coordinate_error`` the standard deviation, per axis, of the snooper's own coordinates. The two last-named
    lengths are in the unit of the distances. A ``bold`` snooper is sure that the files share people, and follows the
    best alignment of the maps where another one would find it too doubtful to claim anything.
    """

    noise: Spread | None = None
    matrix_noise: float | None = 0.0
    common: float | None = None
    coordinate_error: float = 0.0
    bold: bool = False

    def __post_init__(self) -> None:
        for name, value in (("matrix noise", self.matrix_noise), ("coordinate error", self.coordinate_error)):
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise InputError(f"{name} of {value}: a standard deviation is a finite number from 0 up")
        if self.common is not None and not 0 <= self.common <= 1:
            raise InputError(f"common share of {self.common}: a share lies between 0 and 1")
