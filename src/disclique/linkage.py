"""What an attack on coordinates or distance profiles is told, and what it claims."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import FloatArray, IntArray, Json, Spread


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


@dataclass(frozen=True, eq=False)
class Linkage:
    """Pairs (target row, known row, counted from 0) with the posterior probability that they are one person.

    All pairs above a small floor, by target row and falling probability; probabilities of one record sum to 1 at
    most. ``expected`` is their sum over all pairs: the number of correct links the snooper can expect to hold.
    ``doubtful`` is empty, or the sentence that says why nothing, or so little, is claimed.
    """

    target: IntArray
    known: IntArray
    probability: FloatArray
    method: str
    expected: float
    doubtful: str = ""
    details: Json = field(default_factory=dict)

    def claimed(self, threshold: float = 0.5) -> tuple[IntArray, IntArray, FloatArray]:
        """Target rows, known rows and probabilities of the pairs more probable than ``threshold``."""
        keep: NDArray[np.bool_] = self.probability > threshold
        return self.target[keep], self.known[keep], self.probability[keep]


def linkage(
    pairs: tuple[IntArray, IntArray, FloatArray],
    *,
    method: str,
    floor: float = 0.01,
    doubtful: str = "",
    details: Json | None = None,
) -> Linkage:
    """A linkage of (target rows, known rows, probabilities) without the pairs below ``floor``."""
    target, known, probability = pairs
    keep = probability >= floor
    order = np.lexsort((known[keep], -probability[keep], target[keep]))
    return Linkage(
        target=target[keep][order].astype(np.int32),
        known=known[keep][order].astype(np.int32),
        probability=probability[keep][order],
        method=method,
        expected=float(probability.sum()),
        doubtful=doubtful,
        details=details or {},
    )


def nothing(why: str, *, method: str, details: Json | None = None) -> Linkage:
    """A linkage that claims nothing, and says why."""
    none = np.zeros(0, np.int32)
    return Linkage(none, none, np.zeros(0), method, 0.0, doubtful=why, details=details or {})
