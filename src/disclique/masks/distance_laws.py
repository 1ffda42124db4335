"""The law of a published distance given the true one, of masks that alter every distance by itself.

It is another thing than ``Mask.law``, that of the difference, and than the law of a masked place (``laws``): it knows
that distances end at 0, that a distance of 0 stays one under a factor, and which values are impossible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from disclique.values import FloatArray

GAUSSIAN, LAPLACE, WITHIN = "gaussian", "laplace", "within"
_NEAR = 0.6  # of a width of ``WITHIN``
_ROOM = 1e-9  # share of a distance that floating point may take


@dataclass(frozen=True)
class DistanceLaw:
    """Noise of some ``shape`` around the place of a true distance on a scale, and a mass at one published value.

    ``published`` and ``place`` put distances on that scale, in widths of the noise; inf stands for the published value
    that has a mass, of which ``mass`` is the logarithm. ``within`` has no noise: on its scale a published distance lies
    within ``NEAR`` of the true one, or is impossible.
    """

    width: float
    shape = GAUSSIAN

    def published(self, masked: FloatArray) -> FloatArray:
        """Return where published distances lie on the scale; those with a mass at inf."""
        return np.where(masked <= 0, np.inf, masked / self.width)

    def place(self, true: FloatArray) -> FloatArray:
        """Return where true distances lie on the scale."""
        return np.asarray(true / self.width)

    def mass(self, true: FloatArray) -> FloatArray:
        """Return the log probability that each true distance is published as the value that has a mass."""
        return np.asarray(log_ndtr(-true / self.width))

    def log_density(self, masked: FloatArray, true: FloatArray) -> FloatArray:
        """Return the log likelihood of published distances, but for a term that depends on them alone."""
        shown, place = self.published(masked), self.place(true)
        with np.errstate(invalid="ignore"):
            gap = np.abs(shown - place)
            if self.shape == GAUSSIAN:
                found = -(gap**2) / 2
            else:
                found = -gap if self.shape == LAPLACE else np.where(gap <= _NEAR, 0.0, -np.inf)
        found = np.where(np.isinf(shown), self.mass(true), found)
        return np.where(np.isnan(shown) | np.isnan(place), 0.0, found)


@dataclass(frozen=True)
class GaussianNoise(DistanceLaw):
    """Gaussian noise; what falls below 0 is published as 0."""


@dataclass(frozen=True)
class LaplaceNoise(DistanceLaw):
    """Laplace noise; what falls below 0 is published as 0."""

    shape = LAPLACE

    def mass(self, true: FloatArray) -> FloatArray:
        """Return the log probability of noise below minus the distance."""
        return np.asarray(-true / self.width - np.log(2))


@dataclass(frozen=True)
class Factor(DistanceLaw):
    """A lognormal factor of mean 1, ``width`` the deviation of its logarithm: 0, and only 0, is published as 0."""

    def published(self, masked: FloatArray) -> FloatArray:
        """Return logarithms, less the mean of the factor's."""
        with np.errstate(divide="ignore"):
            return np.where(masked <= 0, np.inf, np.log(masked) / self.width + self.width / 2)

    def place(self, true: FloatArray) -> FloatArray:
        """Return logarithms: that of 0 is infinitely far from all others."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(true) / self.width)

    def mass(self, true: FloatArray) -> FloatArray:
        """Return that 0 is certain, and nothing else becomes 0."""
        return np.where(true <= 0, 0.0, -np.inf)


@dataclass(frozen=True)
class Rounded(DistanceLaw):
    """The nearest multiple of ``width``, halves to the even one; at an edge both where floating point may decide."""

    shape = WITHIN

    def published(self, masked: FloatArray) -> FloatArray:
        """Return the number of the multiple."""
        return np.asarray(np.round(masked / self.width))

    def place(self, true: FloatArray) -> FloatArray:
        """Return the number of the multiple, between two of them where it is open."""
        steps = true / self.width
        room = _ROOM * np.maximum(np.abs(steps), 1.0)
        low, high = np.round(steps - room), np.round(steps + room)
        return np.where(steps - np.floor(steps) == 0.5, np.round(steps), (low + high) / 2)

    def mass(self, true: FloatArray) -> FloatArray:
        """Return nothing: no value stands for itself."""
        return np.zeros_like(true)


@dataclass(frozen=True)
class CutOff(DistanceLaw):
    """The distance itself below ``width``; there a mass that stands for all larger ones."""

    shape = WITHIN

    def _scale(self, distances: FloatArray) -> FloatArray:
        """Return logarithms in units of what floating point may take; 0 far below all others."""
        return np.asarray(np.log(distances / self.width + 1e-30) / _ROOM)

    def published(self, masked: FloatArray) -> FloatArray:
        """Return logarithms, those of the top at inf."""
        return np.where(masked >= self.width * (1 - _ROOM), np.inf, self._scale(masked))

    def place(self, true: FloatArray) -> FloatArray:
        """Return logarithms."""
        return self._scale(true)

    def mass(self, true: FloatArray) -> FloatArray:
        """Return that all larger ones are published as the top, and no other."""
        return np.where(true >= self.width * (1 - _ROOM), 0.0, -np.inf)
