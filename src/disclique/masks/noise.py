"""Masks that alter each published distance by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from disclique.masks.base import LENGTH, EntryMask, between, parameter_in
from disclique.masks.distance_laws import CutOff, DistanceLaw, Factor, GaussianNoise, LaplaceNoise, Rounded
from disclique.masks.registry import register_mask
from disclique.messages import Message
from disclique.units import Quantity
from disclique.values import FloatArray

_KENTHAPADI = "Kenthapadi, Korolova, Mironov and Mishra 2013, Journal of Privacy and Confidentiality 5(1):39-71"


def _number(quantity: Quantity) -> float:
    """Return kilometres or minutes, or the number as it stands where it has no unit."""
    return quantity.size


@register_mask
@dataclass(frozen=True)
class MatrixGaussian(EntryMask):
    """Independent Gaussian noise of standard deviation ``sd`` on every distance; below 0 it is published as 0."""

    name: ClassVar[str] = "matrix-gaussian"
    summary: ClassVar[Message | None] = Message("mask_does_matrix_gaussian")
    reference: ClassVar[str] = _KENTHAPADI
    dial: ClassVar[str | None] = "sd"

    sd: Quantity = field(metadata=LENGTH)

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return distances plus noise, at least 0."""
        return np.asarray(np.maximum(d + rng.normal(0.0, parameter_in(unit, self, "sd"), d.shape), 0.0))

    def distance_law(self, unit: str | None) -> DistanceLaw:
        """Return it in the unit of the distances."""
        return GaussianNoise(parameter_in(unit, self, "sd"))

    def score(self, masked: FloatArray, true: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray]:
        """Return the deviation over the variance, and one over the variance."""
        variance = parameter_in(unit, self, "sd") ** 2
        return (masked - true) / variance, np.full_like(true, 1 / variance)

    @property
    def matrix_sd(self) -> float:
        """The noise's standard deviation."""
        return _number(self.sd)

    @property
    def law(self) -> Any:
        """Normal around 0."""
        from scipy.stats import norm

        return norm(0.0, self.matrix_sd)


@register_mask
@dataclass(frozen=True)
class MatrixLaplace(EntryMask):
    """Independent Laplace noise of scale ``b`` on every distance; below 0 it is published as 0."""

    name: ClassVar[str] = "matrix-laplace"
    summary: ClassVar[Message | None] = Message("mask_does_matrix_laplace")
    reference: ClassVar[str] = "Dwork, McSherry, Nissim and Smith 2006, Theory of Cryptography, 265-284"
    dial: ClassVar[str | None] = "b"

    b: Quantity = field(metadata=LENGTH)

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return distances plus noise, at least 0."""
        return np.asarray(np.maximum(d + rng.laplace(0.0, parameter_in(unit, self, "b"), d.shape), 0.0))

    def distance_law(self, unit: str | None) -> DistanceLaw:
        """Return it in the unit of the distances."""
        return LaplaceNoise(parameter_in(unit, self, "b"))

    def score(self, masked: FloatArray, true: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray]:
        """Return the sign of the deviation over the scale, and one over its square."""
        scale = parameter_in(unit, self, "b")
        return np.sign(masked - true) / scale, np.full_like(true, 1 / scale**2)

    @property
    def matrix_sd(self) -> float:
        """√2 times the scale."""
        return float(np.sqrt(2) * _number(self.b))

    @property
    def law(self) -> Any:
        """Laplace around 0."""
        from scipy.stats import laplace

        return laplace(0.0, _number(self.b))


@register_mask
@dataclass(frozen=True)
class Multiplicative(EntryMask):
    """Every distance times an independent lognormal factor of mean 1 whose logarithm has standard deviation ``sd``."""

    name: ClassVar[str] = "multiplicative"
    tried: ClassVar[tuple[str, ...] | None] = ("sd=0.05..5",)
    summary: ClassVar[Message | None] = Message("mask_does_multiplicative")
    reference: ClassVar[str] = "Kim and Winkler 2003, Multiplicative noise for masking continuous data, US Census"
    dial: ClassVar[str | None] = "sd"
    conditional: ClassVar[bool] = True

    sd: float = field(metadata=between())

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return distances times their factors."""
        return np.asarray(d * rng.lognormal(-(self.sd**2) / 2, self.sd, d.shape))

    def distance_law(self, unit: str | None) -> DistanceLaw:
        """Return the lognormal factor."""
        return Factor(self.sd)

    def score(self, masked: FloatArray, true: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray]:
        """Return those of Gaussian noise on the logarithm: a short distance tells more than a long one."""
        there = np.maximum(true, 1e-100)
        with np.errstate(divide="ignore"):
            deviation = np.log(masked) + self.sd**2 / 2 - np.log(there)
        deviation = np.where(masked > 0, deviation, 0.0)  # the distance 0 is published as 0, whatever the factor
        return deviation / (self.sd**2 * there), 1 / (self.sd * there) ** 2

    @property
    def relative_sd(self) -> float:
        """The logarithm's standard deviation."""
        return self.sd

    def known_interval(self, masked: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the masked distance over the quantiles of the factor: proportional to the distance."""
        from scipy.stats import norm

        bounds = np.exp(self.sd**2 / 2 + self.sd * norm.ppf([(1 - alpha) / 2, (1 + alpha) / 2]))
        return masked * bounds[0], masked * bounds[1]


@register_mask
@dataclass(frozen=True)
class Round(EntryMask):
    """Every distance rounded to the nearest multiple of ``to``, halves to the even one."""

    name: ClassVar[str] = "round"
    summary: ClassVar[Message | None] = Message("mask_does_round")
    reference: ClassVar[str] = "Willenborg and de Waal 2001, Elements of Statistical Disclosure Control (rounding)"
    dial: ClassVar[str | None] = "to"
    conditional: ClassVar[bool] = True

    to: Quantity = field(metadata=LENGTH)

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return rounded distances."""
        step = parameter_in(unit, self, "to")
        return np.asarray(np.round(d / step) * step)

    def distance_law(self, unit: str | None) -> DistanceLaw:
        """Return it in the unit of the distances."""
        return Rounded(parameter_in(unit, self, "to"))

    def possible(self, masked: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the rounding interval."""
        half = parameter_in(unit, self, "to") / 2
        return masked - half, masked + half

    def known_interval(self, masked: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the middle part α of the rounding interval, in which distances are nearly uniform."""
        half = alpha * _number(self.to) / 2
        return masked - half, masked + half


@register_mask
@dataclass(frozen=True)
class TopCode(EntryMask):
    """Every distance above ``max`` published as ``max``."""

    name: ClassVar[str] = "topcode"
    summary: ClassVar[Message | None] = Message("mask_does_topcode")
    reference: ClassVar[str] = "Willenborg and de Waal 2001, Elements of Statistical Disclosure Control (top-coding)"
    dial: ClassVar[str | None] = "max"
    dial_rises: ClassVar[bool] = False
    conditional: ClassVar[bool] = True

    max: Quantity = field(metadata=LENGTH)

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return distances cut at the top."""
        return np.asarray(np.minimum(d, parameter_in(unit, self, "max")))

    def distance_law(self, unit: str | None) -> DistanceLaw:
        """Return it in the unit of the distances."""
        return CutOff(parameter_in(unit, self, "max"))

    def possible(self, masked: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray]:
        """Return the distance itself; at the top it may be any larger one."""
        return masked, np.where(masked < parameter_in(unit, self, "max"), masked, np.inf)
