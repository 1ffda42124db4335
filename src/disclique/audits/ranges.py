"""Masks as they are asked for: one setting (``gaussian:sigma=500m``) or a range of the dial (``sigma=100m..5km``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.errors import InputError
from disclique.masks import Mask, parse_mask
from disclique.quantities import KM_IN, Quantity

SEARCHED = 17  # settings among which the smallest sufficient one is searched
SPREAD = 5  # settings shown of a range when no limit is given
_DIGITS = 3  # settings between the ends are rounded, so that people can read and repeat them


@dataclass(frozen=True)
class MaskRange:
    """A mask and its settings, from the weakest protection to the strongest.

    ``turns`` says that several were asked for, as a range of the dial such as ``sigma=100m..5km``.
    """

    spec: str
    settings: tuple[str, ...]
    turns: bool = False


def parse_range(spec: str, settings: int = SEARCHED) -> MaskRange:
    """Read the settings that a spec names: itself, or ``settings`` geometric steps of the one range ``a..b`` in it."""
    name, _, rest = str(spec).partition(":")
    parts = [part.partition("=") for part in rest.split(",")] if rest else []
    ranges = [key.strip() for key, _, value in parts if ".." in value]
    if not ranges:
        return MaskRange(parse_mask(spec).spec, (parse_mask(spec).spec,))
    if len(ranges) > 1:
        raise InputError(f"mask {spec!r}: a range can stand for one parameter only, not for {' and '.join(ranges)}")
    ends = []
    for end in (0, 1):
        chosen = [(key, value.split("..", 1)[end] if ".." in value else value) for key, _, value in parts]
        ends.append(parse_mask(f"{name}:" + ",".join(f"{key}={value}" for key, value in chosen)))
    first, last = ends
    if first.dial is None or first.dial.replace("_", "-") != ranges[0]:
        raise InputError(
            f"mask {spec!r}: {ranges[0]} is not the dial of {first.name}; "
            + (f"a range can stand for {first.dial}" if first.dial else "it has none")
        )
    turned = [first.with_dial(value).spec for value in _steps(first, last, settings)]
    ordered = list(dict.fromkeys(turned))
    rising = _value(last, first) >= first.dial_value
    return MaskRange(str(spec).strip(), tuple(ordered if rising == first.dial_rises else ordered[::-1]), turns=True)


def _steps(first: Mask, last: Mask, settings: int) -> list[float]:
    """Return values of the dial in the unit of ``first``, geometric from one end to the other; from 0 even steps."""
    low, high = first.dial_value, _value(last, first)
    whole = isinstance(getattr(first, str(first.dial)), int)
    steps = np.geomspace if low * high > 0 else np.linspace  # nothing is a share of 0
    inner = steps(low, high, settings)[1:-1]
    rounded = [round(value) if whole else float(f"{value:.{_DIGITS}g}") for value in inner.tolist()]
    return [low, *rounded, high]


def _value(mask: Mask, like: Mask) -> float:
    """Return the dial of ``mask`` in the unit of ``like``."""
    value, unit = getattr(mask, str(mask.dial)), getattr(like, str(like.dial))
    if not isinstance(value, Quantity) or value.unit == unit.unit:
        return float(value)
    if value.unit in KM_IN and unit.unit in KM_IN:
        return value.km / KM_IN[unit.unit]
    if value.unit.startswith("/") and unit.unit.startswith("/"):
        return value.per_km * KM_IN[unit.unit[1:]]
    raise InputError(f"mask {mask.name}: the ends {unit} and {value} of a range need the same kind of unit")
