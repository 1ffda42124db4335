"""The base of every mask: a small frozen value with parameters, units, a reference, and a spec that reads back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, Spread
from disclique.masks.distance_laws import DistanceLaw
from disclique.masks.entrywise import Entrywise, draw_key
from disclique.masks.laws import GaussianLaw, PlaceLaw, unit_of_places
from disclique.messages import Message
from disclique.model import Microdata
from disclique.spaces import Points, full_matrix, matrix_like
from disclique.spaces.base import ENCODINGS, TEXTS, Distances
from disclique.units import (
    DISTANCE_UNITS,
    KM,
    PLACE_UNITS,
    RATE_UNITS,
    Quantity,
    length_in,
    number,
    parse_quantity,
)
from disclique.values import FloatArray

Read = Callable[[object], Any]
Parameter = dict[str, Any]  # metadata of a field: how its value is read from a spec


def between(low: float = 0.0, high: float = np.inf, *, closed: bool = False) -> Parameter:
    """Return how to read a number without a unit strictly between two bounds, or including them if ``closed``."""

    def read(text: object) -> float:
        value = parse_quantity(text, units=("",)).value
        if not (low < value < high or (closed and low <= value <= high)):
            if np.isinf(high):
                raise InputError("parameter_not_above", text=text, low=number(low))
            raise InputError("parameter_not_between", text=text, low=number(low), high=number(high))
        return value

    return {"read": read}


def whole(low: int = 1) -> Parameter:
    """Return how to read a whole number of at least ``low``."""

    def read(text: object) -> int:
        value = parse_quantity(text, units=("",)).value
        if not value.is_integer() or value < low:
            raise InputError("parameter_not_whole", text=text, low=low)
        return int(value)

    return {"read": read}


def one_of(*words: str) -> Parameter:
    """Return how to read one of a few words."""

    def read(text: object) -> str:
        word = str(text).strip().lower()
        if word not in words:
            raise InputError("parameter_not_a_word", text=text, words=words)
        return word

    return {"read": read}


def text() -> Parameter:
    """Return how to read a text, such as the name of a column or of a file; it may have two dots in it."""
    return {"read": lambda value: str(value).strip(), "text": True}


def extra(parameter: Parameter) -> Parameter:
    """Return the same for an addition to the mask, which a spec leaves out where it is not made."""
    return {**parameter, "extra": True}


def _positive(quantity: Quantity, *, zero: bool = False) -> Quantity:
    if quantity.value < 0 and zero:
        raise InputError("quantity_below_zero", quantity=quantity)
    if quantity.value <= 0 and not zero:
        raise InputError("quantity_not_positive", quantity=quantity)
    return quantity


PLACE: Parameter = {"read": lambda text: _positive(parse_quantity(text, units=PLACE_UNITS))}
LENGTH: Parameter = {"read": lambda text: _positive(parse_quantity(text, units=DISTANCE_UNITS))}
LENGTH_OR_ZERO: Parameter = {"read": lambda text: _positive(parse_quantity(text, units=DISTANCE_UNITS), zero=True)}
RATE: Parameter = {"read": lambda text: _positive(parse_quantity(text, units=RATE_UNITS))}


@dataclass(frozen=True)
class Mask:
    """A way to alter points, distances or strings before release.

    Subclasses set the class attributes, declare each parameter as ``field(metadata=PLACE)`` (or ``LENGTH``, ``RATE``,
    ``between(...)``, ``whole(...)``, ``one_of(...)``, ``text()``), and implement ``apply`` or the simpler hook of
    ``PointMask`` or ``EntryMask``. One that looks at columns of the file implements ``prepare``.

    ``summary`` says in a sentence what it does, to people who choose. ``on`` says what it takes: ``coordinates``,
    ``distances`` (of any kind) or ``text``. ``scope`` says what one masked distance depends on besides chance: its two
    points (``point``), its own value (``entry``), or the whole file (``file``). ``conditional`` says that the deviation
    d - d' depends on the distance. ``simulated_files`` is how many files a calibration of scope ``file`` masks, more
    where a file shares one draw.

    ``dial`` is the one parameter that makes protection stronger when it rises (``dial_rises``) or falls;
    ``other_dials`` are more of the kind, each with whether it must rise. ``gaussian`` says that every point moves by
    exactly Gaussian noise of ``displacement_spread()``: only there is the ceiling, what the masked data themselves
    would give if truly aligned, an upper bound on what an attack of this kind finds. A ``rigid`` mask leaves every
    distance as it is, and so protects nothing. A ``replayed`` mask publishes exact distances, or exact values of one
    function that was drawn for the whole file: whoever finds out that function tells all people apart. One that
    ``withholds`` publishes no distances. ``tried`` are the parameters with which advice tries the mask, each with a
    range of a dial: ``{near}`` and ``{far}`` are lengths of the file, ``{twice}`` is twice the first, ``{half}`` half
    of its records, ``{columns}`` how many columns its vectors have and ``{group}`` a column that makes groups of near
    records; without one such a parameter is not tried. None: the dial from near to far; none at all: it is not tried.
    ``leading`` is a parameter whose name may be left out of a spec: ``clkhash:schema.json``. ``writes`` is how its
    encodings are written, where it says so.
    """

    name: ClassVar[str]
    summary: ClassVar[Message | None] = None
    on: ClassVar[str]
    scope: ClassVar[str]
    reference: ClassVar[str]
    dial: ClassVar[str | None] = None
    dial_rises: ClassVar[bool] = True
    other_dials: ClassVar[dict[str, bool]] = {}
    conditional: ClassVar[bool] = False
    simulated_files: ClassVar[int] = 20
    gaussian: ClassVar[bool] = False
    rigid: ClassVar[bool] = False
    replayed: ClassVar[bool] = False
    withholds: ClassVar[bool] = False
    tried: ClassVar[tuple[str, ...] | None] = None
    leading: ClassVar[str | None] = None
    writes: ClassVar[str | None] = None

    def __init_subclass__(cls) -> None:
        """Keep the unit whatever ``apply`` returns: a mask of one's own makes lengths of lengths, too."""
        if "apply" in cls.__dict__:
            cls.apply = _keeping_unit(cls.__dict__["apply"])  # type: ignore[method-assign,assignment]

    def __post_init__(self) -> None:
        for parameter in dataclasses.fields(self):
            given = getattr(self, parameter.name)
            try:
                object.__setattr__(self, parameter.name, parameter.metadata["read"](given))
            except InputError as problem:
                raise InputError(
                    "mask_parameter_wrong", name=self.name, key=spec_name(parameter.name), problem=problem
                ) from None

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of a file that it looks at besides the distances."""
        return ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it looks at."""
        return ()

    def prepare(self, data: Microdata) -> Mask:
        """Return the mask that knows what columns of the file say of its records; itself where it needs nothing."""
        return self

    @property
    def inner(self) -> Mask:
        """What is done to each distance, of a mask that publishes only those within groups; else the mask itself."""
        return self

    def find_groups(self, data: Microdata) -> NDArray[np.int64] | None:
        """Return the groups of people that a release shows: whose distances are published; None if it shows none.

        Those of whom none is known have a number of their own each.
        """
        return None

    def select(self, rows: NDArray[np.integer]) -> Mask:
        """Return the mask of some records of the file for which it was prepared."""
        return self

    def apply(self, distances: Distances, rng: np.random.Generator) -> Distances:
        """Return the masked distances: points of coordinates, encodings of text, else a matrix (NaN is unpublished)."""
        raise NotImplementedError

    def in_unit_of(self, distances: Distances) -> Self:
        """Return the same mask with km behind bare numbers, where the holder said that a matrix is in km.

        Beside places in km they stay bare, and are refused: there a number could as well be one of degrees or of the
        metres in which the coordinates were given.
        """
        if distances.unit != KM or distances.points() is not None:
            return self
        bare = {
            parameter.name: Quantity(value.value, km_of(parameter))
            for parameter in dataclasses.fields(self)
            if isinstance(value := getattr(self, parameter.name), Quantity) and not value.unit
        }
        return dataclasses.replace(self, **bare) if bare else self

    def check_lengths(self, unit: str | None) -> None:
        """Raise an error if a length of the mask has a unit and the distances that it meets are not kilometres."""
        for parameter in dataclasses.fields(self):
            value = getattr(self, parameter.name)
            if isinstance(value, Quantity) and value.unit != "deg":
                length_in(value, unit, _where(self, parameter.name))

    @property
    def secret(self) -> bool:
        """Whether something must be known to do as the holder did, such as a key; False where everybody can."""
        return True

    @property
    def noise(self) -> float:
        """The probability that a published bit of an encoding is not the one that follows from text and key."""
        return 0.0

    @property
    def faked(self) -> float:
        """How many records of invented people are added to a release, as a share of its own."""
        return 0.0

    @property
    def copies(self) -> int:
        """How often an encoding shows each bit."""
        return 1

    def without_noise(self) -> Mask:
        """Return the same mask without the noise on bits."""
        return self

    @property
    def compares(self) -> str | None:
        """The distance of strings that an encoding keeps; None where only encodings of one's own tell it."""
        return None

    @property
    def spec(self) -> str:
        """The text that ``parse_mask`` reads back as this mask."""
        told = [
            parameter.name
            for parameter in list_parameters(type(self))
            if not parameter.metadata.get("extra") or getattr(self, parameter.name) != parameter.default
        ]
        return self._spec(told)

    @property
    def brief(self) -> str:
        """The spec without parameters that are as by default, but for the dial: what people need to tell settings."""
        told = [
            parameter.name
            for parameter in list_parameters(type(self))
            if parameter.name == self.dial or getattr(self, parameter.name) != parameter.default
        ]
        return self._spec(told)

    def _spec(self, parameters: Sequence[str]) -> str:
        parts = []
        for name in parameters:
            value = getattr(self, name)
            text = str(value) if isinstance(value, (Quantity, str)) else number(value)
            parts.append(f"{spec_name(name)}={text}")
        return f"{self.name}:{','.join(parts)}" if parts else self.name

    def __str__(self) -> str:
        return self.spec

    @property
    def dial_value(self) -> float:
        """The dial's number in the unit in which it was given."""
        if self.dial is None:
            raise InputError("mask_without_dial", name=self.name)
        return float(getattr(self, self.dial))

    def with_dial(self, value: object) -> Self:
        """Return the same mask with its dial at ``value``: a quantity, a text, or a number in the dial's own unit."""
        if self.dial is None:
            raise InputError("mask_without_dial", name=self.name)
        return self._with(self.dial, value)

    def _with(self, parameter: str, value: object) -> Self:
        present = getattr(self, parameter)
        if isinstance(present, Quantity) and isinstance(value, (int, float)):
            value = Quantity(float(value), present.unit)
        return dataclasses.replace(self, **{parameter: value})

    @property
    def dials(self) -> dict[str, bool]:
        """The parameters that may be turned, the dial first, and whether each protects more when it rises."""
        return ({} if self.dial is None else {self.dial: self.dial_rises}) | self.other_dials

    def turned(self, dial: str, value: object) -> Self:
        """Return the same mask with one of its dials at ``value``."""
        return self.with_dial(value) if dial == self.dial else self._with(dial, value)

    def displacement_spread(self) -> Spread | None:
        """Return how far points move, where the law of the displacement is known."""
        return None

    def place_law(self, points: Points | None = None) -> PlaceLaw | None:
        """Return the law of a masked place given the true one; None where it is not written down.

        ``points`` are places like the target's, by which a law may be chosen. It is not ``law``, that of distances.
        """
        return GaussianLaw(Spread(0.0, 0.0, unit_of_places(points))) if self.rigid else None

    @property
    def matrix_sd(self) -> float | None:
        """Standard deviation of independent additive noise on every entry (km, or the unit of the distances)."""
        return None

    @property
    def relative_sd(self) -> float | None:
        """Standard deviation of the logarithm of an independent lognormal factor of mean 1 on every entry."""
        return None

    @property
    def law(self) -> Any:
        """The law of d - d' as a frozen scipy distribution, where it is known and the same for every distance."""
        return None

    def score(self, masked: FloatArray, true: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray] | None:
        """Return the slope of log f(d′ | d) in d of each masked distance, if its noise has a density, and its square.

        The second is its mean, Fisher's information: what one published distance says about the true one.
        """
        return None

    def possible(self, masked: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray] | None:
        """Return the least and the largest distance that can have been published so, where only some can."""
        return None

    def distance_law(self, unit: str | None) -> DistanceLaw | None:
        """Return the law of a published distance given the true one; None where it is not written down."""
        return None

    def by_group(self) -> tuple[Mask, Mask] | None:
        """Return how it treats two records of one secret group, and two of different ones, if it makes groups."""
        return None

    def known_interval(self, masked: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray] | None:
        """Return the interval in which the known distance lies with probability ``alpha``, where theory gives it."""
        if self.law is None:
            return None
        low, high = self.law.ppf([(1 - alpha) / 2, (1 + alpha) / 2])
        return masked + low, masked + high


Apply = Callable[[Any, Distances, np.random.Generator], Distances]


def _keeping_unit(apply: Apply) -> Apply:
    @wraps(apply)
    def applied(self: Any, distances: Distances, rng: np.random.Generator) -> Distances:
        masked = apply(self, distances, rng)
        if distances.unit is None or masked.unit is not None or (matrix := masked.matrix()) is None:
            return masked
        return dataclasses.replace(matrix, unit=distances.unit)

    return applied


class PointMask(Mask):
    """A mask that moves each point by itself: subclasses implement ``moved``."""

    on: ClassVar[str] = "coordinates"
    scope: ClassVar[str] = "point"

    def apply(self, distances: Distances, rng: np.random.Generator) -> Points:
        """Return the masked points, with the same metric."""
        points = distances.points()
        if points is None:
            raise InputError(
                "mask_needs_coordinates", name=self.name, given=_NO_PLACES.get(distances.kind, _ONLY_MATRIX)
            )
        if points.coordinates.dtype.kind not in "fiu":
            raise InputError("mask_needs_numbers", name=self.name)
        return dataclasses.replace(points, coordinates=self.in_unit_of(points).moved(points, rng))

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the coordinates after masking."""
        raise NotImplementedError


_NO_PLACES = {
    TEXTS: Message("records_are_text"),
    ENCODINGS: Message("records_are_encodings"),
}
_ONLY_MATRIX = Message("records_are_a_matrix")


class EntryMask(Mask):
    """A mask that alters each distance by itself: subclasses implement ``perturbed``."""

    on: ClassVar[str] = "distances"
    scope: ClassVar[str] = "entry"

    def apply(self, distances: Distances, rng: np.random.Generator) -> Distances:
        """Return the masked matrix: symmetric unless directed, not negative, unpublished where it was.

        Of many records none is formed; every distance then has its noise whenever it is asked for.
        """
        if distances.is_large:
            masked = Entrywise(distances, self.in_unit_of(distances), draw_key(rng))
            masked.block(np.arange(2, dtype=np.int32), np.arange(2, dtype=np.int32))  # what does not fit is said now
            return masked
        values = np.array(full_matrix(distances))
        if distances.directed:
            entries = np.nonzero(~np.eye(len(values), dtype=bool))
        else:
            entries = np.triu_indices(len(values), 1)
        values[entries] = self.in_unit_of(distances).perturbed(values[entries], rng, distances.unit)
        if not distances.directed:
            values.T[entries] = values[entries]
        return matrix_like(values, distances)

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return each distance of ``d`` masked; ``unit`` is theirs, None where nobody said it."""
        raise NotImplementedError


def parameter_in(unit: str | None, mask: Mask, parameter: str) -> float:
    """Return a length of the mask, or a rate per length, in the unit of the distances."""
    quantity: Quantity = getattr(mask, parameter)
    where = _where(mask, parameter)
    if unit == KM and not quantity.unit:
        km = next(km_of(one) for one in dataclasses.fields(mask) if one.name == parameter)
        raise InputError("length_without_unit", where=where, quantity=quantity, km=km, metres=km.replace("k", ""))
    return length_in(quantity, unit, where)


def km_of(parameter: dataclasses.Field[Any]) -> str:
    """Return the unit in km of a parameter that is a length or a rate per length; empty for any other."""
    read = parameter.metadata.get("read")
    if read is RATE["read"]:
        return f"/{KM}"
    return KM if any(read is kind["read"] for kind in (LENGTH, LENGTH_OR_ZERO, PLACE)) else ""


def _where(mask: Mask, parameter: str) -> Message:
    return Message("mask_parameter", name=mask.name, key=spec_name(parameter), value=getattr(mask, parameter))


def place_in(points: Points, mask: Mask, parameter: str) -> tuple[float, str]:
    """Return a displacement of the mask and its unit: ``deg``, ``km``, or "" for that of the coordinates."""
    quantity: Quantity = getattr(mask, parameter)
    if quantity.unit == "deg":
        if points.metric not in GEOGRAPHIC:
            raise InputError("degrees_off_the_earth", where=_where(mask, parameter))
        return quantity.value, "deg"
    return parameter_in(points.unit, mask, parameter), quantity.unit and "km"


def list_parameters(kind: type[Mask]) -> list[dataclasses.Field[Any]]:
    """Return the parameters of a mask as a spec lists them: what is added comes last."""
    return sorted(dataclasses.fields(kind), key=lambda one: bool(one.metadata.get("extra")))


def spec_name(parameter: str) -> str:
    """Return a parameter's name in a spec: ``set-size`` for the field ``set_size``."""
    return parameter.replace("_", "-")
