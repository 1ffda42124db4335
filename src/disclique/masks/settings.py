"""Settings of a release: a mask, what is done to labels and numbers, and the settings for which a range stands.

A setting is written ``mask | part | part``. The text is read once, where it comes in; behind that only the value moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from disclique.arguments import show
from disclique.errors import InputError, guess_meant
from disclique.masks.base import Mask, spec_name
from disclique.masks.numbers import (
    NUMBERS_AS_THEY_ARE,
    WAYS,
    NumberRecoding,
    is_number_part,
    list_steps,
    parse_number_part,
)
from disclique.masks.registry import find_ends, parse_mask
from disclique.records.coarsening import AS_THEY_ARE, DROP, NONE, RULES, Recoding, parse_recoding
from disclique.specs import parse_rule, parse_spec, write_spec
from disclique.units import KM_IN, MINUTES_IN, Quantity

SEARCHED = 17  # settings among which the smallest sufficient one is searched
SPREAD = 5  # settings shown of a range when no limit is given
_DIGITS = 3  # settings between the ends are rounded, so that people can read and repeat them
_BAR = "|"


@dataclass(frozen=True)
class Setting:
    """A mask, and what is done to labels and numbers; ``str`` writes it as ``parse`` reads it.

    >>> setting = Setting.parse("gaussian:sigma=1km | age=width:age:10 | drop:sex | km_school=round:500m")
    >>> setting.mask.name, str(setting.labels.message), str(setting.numbers.message)
    ('gaussian', 'age in classes of 10, without sex', 'km_school rounded to 500m')
    """

    mask: Mask
    labels: Recoding = AS_THEY_ARE
    numbers: NumberRecoding = NUMBERS_AS_THEY_ARE

    @classmethod
    def parse(cls, text: str) -> Setting:
        """Read a setting; a mask alone leaves labels and numbers as they are."""
        if not isinstance(text, str):
            raise InputError("mask_not_a_spec", spec=show(text))
        mask, *parts = (part.strip() for part in text.split(_BAR))
        numbers = tuple(part for part in parts if is_number_part(part))
        for part in numbers:
            parse_number_part(part)
        for part in parts:
            _check_part(part)
        labels = f" {_BAR} ".join(part for part in parts if not is_number_part(part))
        return cls(parse_mask(mask), parse_recoding(labels), NumberRecoding(numbers))

    def __str__(self) -> str:
        return _join(self.mask.spec, self.labels, self.numbers)

    def under(self, labels: Recoding) -> Setting:
        """Return the same with the labels recoded, besides what is done to them already.

        To a number that is left out nothing else is done.
        """
        if not labels.parts:
            return self
        return replace(self, labels=_both(self.labels, labels), numbers=self.numbers.without(labels.dropped))

    @property
    def brief(self) -> str:
        """The text without parameters of the mask that are as by default."""
        return _join(self.mask.brief, self.labels, self.numbers)

    def __reduce__(self) -> tuple[Callable[[str], Setting], tuple[str]]:
        """Go to other processes as text: a mask of one's own need not be importable by its name there."""
        return Setting.parse, (str(self),)


def _check_part(part: str) -> None:
    """Refuse a part that is neither about numbers nor about labels: which of them was meant nobody can say."""
    rule = parse_rule(part).rule.strip()
    if part in ("", NONE) or part.startswith(DROP) or rule in (*WAYS, *RULES):
        return
    meant = guess_meant(rule, (*WAYS, *RULES))
    raise InputError("part_of_no_kind", spec=part, ways=list(WAYS), rules=RULES, meant=meant)


def _join(mask: str, labels: Recoding, numbers: NumberRecoding = NUMBERS_AS_THEY_ARE) -> str:
    return f" {_BAR} ".join((mask, *labels.parts, *numbers.parts))


@dataclass(frozen=True)
class MaskRange:
    """A mask as it was asked for and its settings, from the weakest protection to the strongest.

    ``turns`` says that several were asked for, as a range of the dial such as ``sigma=100m..5km``; ``dial`` is the one
    that is turned, else that of the mask; of numbers it is ``km_*=round``.
    """

    spec: str
    settings: tuple[Setting, ...]
    turns: bool = False
    dial: str | None = None

    def under(self, labels: Recoding) -> MaskRange:
        """Return the same settings of the mask with the labels recoded, besides what is done to them there."""
        if not labels.parts:
            return self
        settings = tuple(dict.fromkeys(one.under(labels) for one in self.settings))
        gone = self.dial is not None and "=" in self.dial and not _has_dial(settings[0], self.dial)
        whole = replace(self, spec=_join(self.spec, labels), settings=settings)
        return replace(whole, dial=None, turns=False) if gone else whole


def _has_dial(setting: Setting, dial: str) -> bool:
    return any(part.dial == dial for part in setting.numbers.made)


def _both(one: Recoding, other: Recoding) -> Recoding:
    return parse_recoding(f" {_BAR} ".join((*one.parts, *other.parts)))


def parse_range(spec: str, settings: int = SEARCHED) -> MaskRange:
    """Read the settings that a spec names: itself, or ``settings`` steps of the one range ``a..b`` in it.

    The range may be one of the mask's dial, in geometric steps, or of what is done to numbers.

    >>> [str(one) for one in parse_range("none | km=round:1km..4km", 3).settings]
    ['none | km=round:1km', 'none | km=round:2km', 'none | km=round:4km']
    """
    mask, *parts = (part.strip() for part in str(spec).split(_BAR))
    found, turning = _parse_mask_range(mask, settings), [part for part in parts if _turns(part)]
    if len(turning) + found.turns > 1:
        raise InputError("range_of_several", spec=spec, ranges=[*([found.dial] if found.turns else []), *turning])
    ways = list_steps(turning[0], settings) if turning else ("",)
    made = tuple(
        Setting.parse(f" {_BAR} ".join((one.mask.spec, *(way if part in turning else part for part in parts))))
        for way in ways
        for one in found.settings
    )
    whole = f" {_BAR} ".join((found.spec, *parts))
    if not turning:
        dials = [part.dial for part in made[0].numbers.made if part.kind.turns]
        # settings that are asked for one by one stand on one axis, too
        own = dials[0] if found.dial is None and len(dials) == 1 else found.dial
        return replace(found, spec=whole, settings=made, dial=own)
    return replace(found, spec=whole, settings=made, turns=True, dial=parse_number_part(turning[0]).dial)


def _turns(part: str) -> bool:
    return is_number_part(part) and ".." in part


def _parse_mask_range(spec: str, settings: int) -> MaskRange:
    asked = parse_spec(spec)
    ends = {one.key: find_ends(asked.name, one) for one in asked.parameters}
    ranges = [key for key, both in ends.items() if len(both) > 1]
    if not ranges:
        mask = parse_mask(spec)
        return MaskRange(mask.spec, (Setting(mask),), dial=mask.dial)
    if len(ranges) > 1:
        raise InputError("range_of_several", spec=spec, ranges=ranges)
    first, last = (
        parse_mask(write_spec(asked.name, {key: both[end] for key, both in ends.items()})) for end in (0, -1)
    )
    dial = ranges[0].replace("-", "_")
    if dial not in first.dials:
        key, dials = ranges[0], [spec_name(one) for one in first.dials]
        if not dials:
            raise InputError("range_without_dial", spec=spec, key=key, name=first.name)
        raise InputError("range_not_of_the_dial", spec=spec, key=key, name=first.name, dials=dials)
    ordered = list(dict.fromkeys(first.turned(dial, value) for value in _steps(first, last, dial, settings)))
    rising = measure_dial(last, first, dial) >= measure_dial(first, first, dial)
    if rising != first.dials[dial]:
        ordered.reverse()
    return MaskRange(spec.strip(), tuple(map(Setting, ordered)), turns=True, dial=dial)


def _steps(first: Mask, last: Mask, dial: str, settings: int) -> list[float]:
    """Return values of the dial in the unit of ``first``, geometric from one end to the other."""
    low, high = measure_dial(first, first, dial), measure_dial(last, first, dial)
    if min(low, high) <= 0:
        raise InputError("range_from_zero", name=first.name, key=spec_name(dial))
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
        raise InputError("range_not_of_numbers", name=mask.name, key=spec_name(dial), value=value)
    if not isinstance(value, Quantity) or value.unit == unit.unit:
        return float(value)
    for units in (KM_IN, MINUTES_IN):
        if value.unit in units and unit.unit in units:
            return value.size / units[unit.unit]
    if value.unit.startswith("/") and unit.unit.startswith("/"):
        return value.per_km * KM_IN[unit.unit[1:]]
    first, last = unit, value
    raise InputError("range_units_differ", name=mask.name, first=first, last=last)


def read_dial(setting: Setting, dial: str) -> Quantity | float:
    """Return where a dial of a setting stands: one of its mask, or of what is done to numbers.

    >>> str(read_dial(Setting.parse("none | km_*=round:500m"), "km_*=round"))
    '500m'
    """
    part = next((part for part in setting.numbers.made if part.dial == dial), None)
    if part is not None:
        return part.quantity
    value = getattr(setting.mask, dial)
    return value if isinstance(value, Quantity) else float(value)


def compare_dials(settings: Sequence[Setting], dial: str) -> list[float]:
    """Return where the dial of settings stands, all in the unit of the first: 50 km are more than 500 m."""
    found = [read_dial(one, dial) for one in settings]
    if _has_dial(settings[0], dial):
        first = found[0]
        assert isinstance(first, Quantity)
        return [one.km / KM_IN[first.unit] if isinstance(one, Quantity) and first.unit else float(one) for one in found]
    return [measure_dial(one.mask, settings[0].mask, dial) for one in settings]


def measured_in(setting: Setting, dial: str) -> str:
    """Return what a dial is measured in: dials of the same kind can be put on one axis, degrees and lengths cannot.

    >>> [measured_in(Setting.parse(f"gaussian:sigma={size}"), "sigma") for size in ("500m", "5km", "0.05deg")]
    ['length', 'length', 'deg']
    """
    unit = getattr(read_dial(setting, dial), "unit", "")
    return "length" if unit in KM_IN else "time" if unit in MINUTES_IN else "rate" if unit.startswith("/") else unit
