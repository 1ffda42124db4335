"""Masks that move every point by a random amount."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, Spread, shift, walk, wrap
from disclique.masks.base import LENGTH, LENGTH_OR_ZERO, PLACE, RATE, PointMask, parameter_in, place_in
from disclique.masks.laws import Exponential, GaussianLaw, PlaceLaw, RadialLaw, Ring, spread_at
from disclique.masks.registry import register_mask
from disclique.messages import Message
from disclique.spaces import Points
from disclique.units import Quantity
from disclique.values import FloatArray


def _in_own_unit(quantity: Quantity) -> tuple[float, str]:
    """Return a length as a number in km, or as it stands where it has no unit or is in degrees."""
    return (quantity.km, "km") if quantity.unit in ("m", "km") else (quantity.value, quantity.unit)


@register_mask
@dataclass(frozen=True)
class Gaussian(PointMask):
    """Gaussian noise of standard deviation ``sigma`` on each coordinate.

    In degrees it is added to longitude and latitude alike, as in the paper, so that it moves less to the east than to
    the north; in m or km it is the same in all directions. Elsewhere than on the Earth every coordinate gets it.
    """

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[Message | None] = Message("mask_does_gaussian")
    reference: ClassVar[str] = "Armstrong, Rushton and Zimmerman 1999, Statistics in Medicine 18:497-525"
    dial: ClassVar[str | None] = "sigma"
    gaussian: ClassVar[bool] = True

    sigma: Quantity = field(metadata=PLACE)

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the coordinates with noise."""
        sigma, unit = place_in(points, self, "sigma")
        noise = rng.normal(0.0, sigma, points.coordinates.shape)
        if points.metric not in GEOGRAPHIC:
            return np.asarray(points.coordinates + noise)
        if unit == "deg":
            return wrap(*(points.coordinates + noise).T)
        return shift(points.coordinates, noise[:, 0], noise[:, 1], str(points.metric))

    def displacement_spread(self) -> Spread:
        """Return the same spread to the east and to the north, in the mask's own unit."""
        sigma, unit = _in_own_unit(self.sigma)
        return Spread(sigma, sigma, unit)

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return Gaussian noise."""
        return GaussianLaw(spread_at(self.displacement_spread(), points))


class RadiusMask(PointMask):
    """A mask that walks from each point in a uniform direction: subclasses draw the length of the walk."""

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the coordinates after the walk."""
        if not points.is_map or points.coordinates.shape[1] != 2:
            raise InputError(
                "mask_needs_a_map", name=self.name, dimensions=points.coordinates.shape[1], metric=points.metric
            )
        return walk(points.coordinates, self.radii(points, rng), str(points.metric), rng)

    def radii(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Draw the length of the walk of each point, km on the Earth or units of the coordinates."""
        raise NotImplementedError


@register_mask
@dataclass(frozen=True)
class Disc(RadiusMask):
    """A place uniform by area in the disc of radius ``max`` around each point."""

    name: ClassVar[str] = "disc"
    summary: ClassVar[Message | None] = Message("mask_does_disc")
    reference: ClassVar[str] = "Kwan, Casas and Schmitz 2004, Cartographica 39(2):15-28 (circular mask)"
    dial: ClassVar[str | None] = "max"

    max: Quantity = field(metadata=LENGTH)

    def radii(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Draw radii with density proportional to the radius."""
        return np.asarray(parameter_in(points.unit, self, "max") * np.sqrt(rng.random(points.size)))

    def displacement_spread(self) -> Spread:
        """Return half the radius on each axis."""
        radius, unit = _in_own_unit(self.max)
        return Spread(radius / 2, radius / 2, unit)

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return the disc."""
        return RadialLaw(((1.0, Ring(0.0, _in_own_unit(self.max)[0])),))


@register_mask
@dataclass(frozen=True)
class Donut(RadiusMask):
    """A place uniform by area in the ring between ``min`` and ``max`` around each point."""

    name: ClassVar[str] = "donut"
    tried: ClassVar[tuple[str, ...] | None] = ("min={near},max={twice}..{far}",)
    summary: ClassVar[Message | None] = Message("mask_does_donut")
    reference: ClassVar[str] = "Hampton et al. 2010, American Journal of Epidemiology 172:1062-1069"
    dial: ClassVar[str | None] = "max"

    min: Quantity = field(metadata=LENGTH_OR_ZERO)
    max: Quantity = field(metadata=LENGTH)

    def __post_init__(self) -> None:
        super().__post_init__()
        (low, a), (high, b) = _in_own_unit(self.min), _in_own_unit(self.max)
        if a != b and low > 0:
            raise InputError("donut_units_differ", min=self.min, max=self.max)
        if not low < high:
            raise InputError("donut_without_width", max=self.max, min=self.min)

    def radii(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Draw radii whose squares are uniform between those of the two circles."""
        high = parameter_in(points.unit, self, "max")
        low = parameter_in(points.unit, self, "min") if self.min.value else 0.0
        return np.sqrt(rng.uniform(low**2, high**2, points.size))

    def with_dial(self, value: object) -> Self:
        """Return the ring scaled as a whole, so that its shape stays."""
        probe = Disc(self.max).with_dial(value).max
        grown = _in_own_unit(probe)[0] / _in_own_unit(self.max)[0]
        return type(self)(min=Quantity(self.min.value * grown, self.min.unit), max=probe)

    def displacement_spread(self) -> Spread:
        """Return the ring's second moment on each axis."""
        (low, _), (high, unit) = _in_own_unit(self.min), _in_own_unit(self.max)
        sd = float(np.sqrt((low**2 + high**2) / 4))
        return Spread(sd, sd, unit)

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return the ring."""
        return RadialLaw(((1.0, Ring(_in_own_unit(self.min)[0], _in_own_unit(self.max)[0])),))


@register_mask
@dataclass(frozen=True)
class Laplace(RadiusMask):
    """Planar Laplace noise of geo-indistinguishability: radius Gamma(2, 1/``epsilon``), mean 2/``epsilon``."""

    name: ClassVar[str] = "laplace"
    summary: ClassVar[Message | None] = Message("mask_does_laplace")
    reference: ClassVar[str] = "Andrés, Bordenabe, Chatzikokolakis and Palamidessi 2013, ACM CCS, 901-914"
    dial: ClassVar[str | None] = "epsilon"
    dial_rises: ClassVar[bool] = False

    epsilon: Quantity = field(metadata=RATE)

    def _mean_step(self) -> tuple[float, str]:
        """Return 1/epsilon and its unit."""
        return (1 / self.epsilon.per_km, "km") if self.epsilon.unit else (1 / self.epsilon.value, "")

    def radii(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Draw radii of the planar Laplace law."""
        return rng.gamma(2.0, 1 / parameter_in(points.unit, self, "epsilon"), points.size)

    def displacement_spread(self) -> Spread:
        """Return half of E r² = 6/ε² on each axis."""
        step, unit = self._mean_step()
        return Spread(float(np.sqrt(3) * step), float(np.sqrt(3) * step), unit)

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return planar Laplace noise."""
        return RadialLaw(((1.0, Exponential(self._mean_step()[0])),))
