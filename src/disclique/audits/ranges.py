"""Masks as they are asked for: one setting (``gaussian:sigma=500m``) or a range of the dial (``sigma=100m..5km``)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from disclique.errors import InputError
from disclique.masks import Mask, parse_mask
from disclique.masks.base import spec_name
from disclique.records.coarsening import join_setting
from disclique.units import KM_IN, Quantity

SEARCHED = 17  # settings among which the smallest sufficient one is searched
SPREAD = 5  # settings shown of a range when no limit is given
_DIGITS = 3  # settings between the ends are rounded, so that people can read and repeat them


@dataclass(frozen=True)
class MaskRange:
    """A mask and its settings, from the weakest protection to the strongest.

    ``turns`` says that several were asked for, as a range of the dial such as ``sigma=100m..5km``; ``dial`` is the one
    that is turned, else that of the mask.
    """

    spec: str
    settings: tuple[str, ...]
    turns: bool = False
    dial: str | None = None

    def under(self, labels: str) -> MaskRange:
        """Return the same settings of the mask with the labels recoded."""
        settings = tuple(join_setting(setting, labels) for setting in self.settings)
        return replace(self, spec=join_setting(self.spec, labels), settings=settings)


def parse_range(spec: str, settings: int = SEARCHED) -> MaskRange:
    """Read the settings that a spec names: itself, or ``settings`` geometric steps of the one range ``a..b`` in it."""
    name, _, rest = str(spec).partition(":")
    parts = [part.partition("=") for part in rest.split(",")] if rest else []
    ranges = [key.strip() for key, _, value in parts if ".." in value]
    if not ranges:
        mask = parse_mask(spec)
        return MaskRange(mask.spec, (mask.spec,), dial=mask.dial)
    if len(ranges) > 1:
        raise InputError(f"mask {spec!r}: a range can stand for one parameter only, not for {' and '.join(ranges)}")
    ends = []
    for end in (0, 1):
        chosen = [(key, value.split("..", 1)[end] if ".." in value else value) for key, _, value in parts]
        ends.append(parse_mask(f"{name}:" + ",".join(f"{key}={value}" for key, value in chosen)))
    first, last = ends
    dial = ranges[0].replace("-", "_")
    if dial not in first.dials:
        raise InputError(
            f"mask {spec!r}: {ranges[0]} is not the dial of {first.name}; "
            + (f"a range can stand for {' or '.join(map(spec_name, first.dials))}" if first.dials else "it has none")
        )
    turned = [first.turned(dial, value).spec for value in _steps(first, last, dial, settings)]
    ordered = list(dict.fromkeys(turned))
    rising = measure_dial(last, first, dial) >= measure_dial(first, first, dial)
    strongest_last = rising == first.dials[dial]
    return MaskRange(str(spec).strip(), tuple(ordered if strongest_last else ordered[::-1]), turns=True, dial=dial)


def _steps(first: Mask, last: Mask, dial: str, settings: int) -> list[float]:
    """Return values of the dial in the unit of ``first``, geometric from one end to the other."""
    low, high = measure_dial(first, first, dial), measure_dial(last, first, dial)
    if min(low, high) <= 0:
        raise InputError(f"mask {first.name}, {spec_name(dial)}: a range goes in equal ratios and cannot begin at 0")
    whole = isinstance(getattr(first, dial), int)
    inner = np.geomspace(low, high, settings)[1:-1]
    rounded = [round(value) if whole else float(f"{value:.{_DIGITS}g}") for value in inner.tolist()]
    return [low, *rounded, high]


def measure_dial(mask: Mask, like: Mask, dial: str) -> float:
    """Return the dial of ``mask`` in the unit of ``like``.

    >>> measure_dial(parse_mask("gaussian:sigma=50km"), parse_mask("gaussian:sigma=500m"), "sigma")
    50000.0
    """
    value, unit = getattr(mask, dial), getattr(like, dial)
    if isinstance(value, str):
        raise InputError(f"mask {mask.name}, {spec_name(dial)} = {value}: a range goes from one number to another")
    if not isinstance(value, Quantity) or value.unit == unit.unit:
        return float(value)
    if value.unit in KM_IN and unit.unit in KM_IN:
        return value.km / KM_IN[unit.unit]
    if value.unit.startswith("/") and unit.unit.startswith("/"):
        return value.per_km * KM_IN[unit.unit[1:]]
    raise InputError(f"mask {mask.name}: the ends {unit} and {value} of a range need the same kind of unit")


def measured_in(mask: Mask, dial: str) -> str:
    """Return what a dial is measured in: dials of the same kind can be put on one axis, degrees and lengths cannot.

    >>> [measured_in(parse_mask(f"gaussian:sigma={size}"), "sigma") for size in ("500m", "5km", "0.05deg")]
    ['length', 'length', 'deg']
    """
    unit = getattr(getattr(mask, dial), "unit", "")
    return "length" if unit in KM_IN else "rate" if unit.startswith("/") else unit
