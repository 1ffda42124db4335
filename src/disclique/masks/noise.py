"""Masks that alter each published distance by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from disclique.errors import InputError, TooLarge
from disclique.masks.base import LENGTH, EntryMask, between, parameter_in
from disclique.masks.registry import register_mask
from disclique.messages import Message
from disclique.spaces.lazy import Derived
from disclique.units import KM_IN, Quantity
from disclique.values import FloatArray, IntArray

if TYPE_CHECKING:
    from disclique.masks.base import EntryMask

_KENTHAPADI = "Kenthapadi, Korolova, Mironov and Mishra 2013, Journal of Privacy and Confidentiality 5(1):39-71"


def _number(quantity: Quantity) -> float:
    """Return kilometres, or the number as it stands where it has no unit."""
    return quantity.km if quantity.unit in KM_IN else quantity.value


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
    summary: ClassVar[Message | None] = Message("mask_does_multiplicative")
    reference: ClassVar[str] = "Kim and Winkler 2003, Multiplicative noise for masking continuous data, US Census"
    dial: ClassVar[str | None] = "sd"
    conditional: ClassVar[bool] = True

    sd: float = field(metadata=between())

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return distances times their factors."""
        return np.asarray(d * rng.lognormal(-(self.sd**2) / 2, self.sd, d.shape))

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

    def possible(self, masked: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray]:
        """Return the distance itself; at the top it may be any larger one."""
        return masked, np.where(masked < parameter_in(unit, self, "max"), masked, np.inf)


Words = NDArray[np.uint64]
Key = tuple[int, int]
_TURNS = (16, 42, 12, 31, 16, 32, 24, 21)
_PARITY = 0x1BD11BDAA9FC1A22
_ROUNDS = 20
_CHUNK = 16_384  # counters at a time: they stay in the cache


def threefry(first: Words, second: Words, key: Key) -> tuple[Words, Words]:
    """Return two words of 64 random bits for every pair of counters.

    >>> [hex(int(word[0])) for word in threefry(np.zeros(1, np.uint64), np.zeros(1, np.uint64), (0, 0))]
    ['0xc2b6e3a8c2c69865', '0x6f81ed42f350084d']
    """
    words = [np.uint64(part) for part in (*key, _PARITY ^ key[0] ^ key[1])]
    one, other = first + words[0], second + words[1]
    for number in range(_ROUNDS):
        turn = _TURNS[number % len(_TURNS)]
        one += other
        turned = other << np.uint64(turn)
        other >>= np.uint64(64 - turn)
        other |= turned
        other ^= one
        if number % 4 == 3:
            times = number // 4 + 1
            one += words[times % 3]
            other += words[(times + 1) % 3]
            other += np.uint64(times)
    return one, other


def draw_key(rng: np.random.Generator) -> Key:
    """Draw the key of all entries of one release."""
    one, other = rng.integers(0, 2**64, 2, dtype=np.uint64)
    return int(one), int(other)


@dataclass(eq=False)
class EntryChance:
    """Chance like that of a generator, but of given entries: the n-th draw of an entry is always the same.

    It draws what masks of single distances need, one number for every entry.
    """

    key: Key
    first: IntArray
    second: IntArray
    draws: int = 0

    def random(self, size: object = None) -> FloatArray:
        """Draw numbers between 0 and 1, neither included."""
        if size != self.first.shape and size != len(self.first):
            raise TooLarge("mask_drew_too_many", size=str(size), many=len(self.first), one_draw_each=_ONE_DRAW_EACH)
        found, use_second = np.empty(len(self.first)), self.draws % 2 == 1
        for begin in range(0, len(found), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            counter = self.first[part].astype(np.uint64) | np.uint64((self.draws // 2) << 32)
            words = threefry(counter, self.second[part].astype(np.uint64), self.key)[int(use_second)]
            found[part] = ((words >> np.uint64(12)) + 0.5) * 2.0**-52
        self.draws += 1
        return found

    def uniform(self, low: float = 0.0, high: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers uniform between two bounds."""
        return np.asarray(low + (high - low) * self.random(size))

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: object = None) -> FloatArray:
        """Draw Gaussian numbers."""
        return np.asarray(loc + scale * ndtri(self.random(size)))

    def standard_normal(self, size: object = None) -> FloatArray:
        """Draw Gaussian numbers of variance 1."""
        return self.normal(size=size)

    def lognormal(self, mean: float = 0.0, sigma: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers whose logarithm is Gaussian."""
        return np.asarray(np.exp(self.normal(mean, sigma, size)))

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers of the Laplace law."""
        off = self.random(size) - 0.5
        return np.asarray(loc - scale * np.sign(off) * np.log1p(-2 * np.abs(off)))

    def exponential(self, scale: float = 1.0, size: object = None) -> FloatArray:
        """Draw numbers of the exponential law."""
        return np.asarray(-scale * np.log(self.random(size)))

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise TooLarge("mask_draws_otherwise", name=name, one_draw_each=_ONE_DRAW_EACH)


_LAWS = ("random", "uniform", "normal", "standard_normal", "lognormal", "laplace", "exponential")
_ONE_DRAW_EACH = Message("one_draw_each", draws=_LAWS)


@dataclass(frozen=True, eq=False, repr=False)
class Entrywise(Derived):
    """The distances of a source, each masked by itself when it is asked for."""

    mask: EntryMask
    key: Key = field(repr=False)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the masked distances from each of ``rows`` to each of ``columns``."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        shape = len(rows), len(columns)
        first, second = np.broadcast_to(rows[:, None], shape), np.broadcast_to(columns[None, :], shape)
        itself = first == second
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        chance: Any = EntryChance(self.key, first.ravel(), second.ravel())
        true = self.source.block(rows, columns).ravel()
        found = np.array(self.mask.perturbed(true, cast(np.random.Generator, chance), self.unit)).reshape(shape)
        found[itself] = 0.0
        wrong = (found < 0) | np.isinf(found)
        if wrong.any():
            i, j = (int(place[0]) for place in np.nonzero(wrong))
            value, first_row, second_row = found[i, j], rows[i] + 1, columns[j] + 1
            raise InputError(
                "mask_makes_no_distance", mask=self.mask, value=value, first_row=first_row, second_row=second_row
            )
        return found
