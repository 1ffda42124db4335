"""What can be done to a file before it is released: the masks that fit it, each with its dial; labels and numbers made
coarser in steps; and people left out.

Steps of a ladder only join what the steps before told apart, so that the risk falls along each of them: that is what
the search relies on.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from disclique.advice.groups import choose_group
from disclique.advice.purposes import Purpose
from disclique.audits.definition import Audit
from disclique.errors import DiscliqueError
from disclique.masks import LENGTH, PLACE, RATE, Mask, masks
from disclique.masks.base import spec_name
from disclique.masks.numbers import NUMBERS_AS_THEY_ARE, NumberRecoding, is_number_part
from disclique.masks.settings import MaskRange, Setting, parse_range
from disclique.model import Microdata
from disclique.numbers import NumberColumn
from disclique.records.coarsening import AS_THEY_ARE, DROP, JOINED, Recoding, list_steps, nest_widths, parse_number
from disclique.spaces import spaced
from disclique.units import KM, MINUTES, number


@dataclass(frozen=True)
class Reach:
    """From where to where dials are turned: ``near`` and ``far`` are lengths of the file.

    ``near`` is half the way to the nearest record, ``far`` half of nearly the longest way.
    """

    near: float
    far: float
    unit: str = ""

    @property
    def words(self) -> dict[str, str]:
        """The lengths as a spec writes them."""
        lengths = {"near": self.near, "twice": 2 * self.near, "far": self.far}
        return {name: f"{number(float(f'{value:.2g}'))}{self.unit}" for name, value in lengths.items()}

    def rate(self, value: float) -> str:
        """Return the inverse of a length, as a spec writes it."""
        return f"{number(float(f'{1 / value:.2g}'))}{f'/{self.unit}' if self.unit else ''}"


@dataclass(frozen=True)
class Measuring:
    """How the lengths of a file are found: records that are looked at, and the quantile that counts as far."""

    records: int = 1000
    far: float = 0.95


MEASURING = Measuring()


def measure_reach(data: Microdata, by: Measuring = MEASURING) -> Reach | None:
    """Return the lengths of a file between which dials are turned; None where nothing is published."""
    distances = data.distances
    if not distances.are_published or distances.size < 2:
        return None
    rows = spaced(distances.size, by.records).astype(np.int32)
    block = np.array(distances.block(rows, np.arange(distances.size, dtype=np.int32)), dtype=float)
    block[np.arange(len(rows)), rows] = np.nan
    there = np.where(block > 0, block, np.nan)
    if np.isnan(there).all():
        return None
    nearest = np.nanmin(there, axis=1, initial=np.inf, where=~np.isnan(there))
    near, far = float(np.median(nearest[np.isfinite(nearest)])) / 2, float(np.nanquantile(there, by.far)) / 2
    return Reach(min(near, far / 10), far, distances.unit if distances.unit in (KM, MINUTES) else "")


@dataclass(frozen=True, eq=False)
class Family:
    """A mask with the settings of its dial, from the weakest to the strongest."""

    name: str
    spec: str
    masks: tuple[Mask, ...]


def list_families(
    audit: Audit, purposes: Sequence[Purpose], asked: Sequence[str] = (), steps: int = 13
) -> tuple[Family, ...]:
    """Return the masks that fit a file, with the settings that are tried; those ``asked`` for alone, if there are any.

    Nothing at all between records is tried only where no purpose needs it.
    """
    data = audit.target
    specs = list(asked) if asked else list(dict.fromkeys(_list_specs(data, purposes)))
    found = []
    for spec in specs:
        try:
            made = parse_range(spec, steps)
        except DiscliqueError:
            if asked:
                raise
            continue
        if asked or mask_fits(made, data, audit.chance.rng("trial")):
            masks = tuple(dict.fromkeys(one.mask for one in made.settings))
            found.append(Family(masks[0].name, made.spec, masks))
    return tuple(found)


def _list_specs(data: Microdata, purposes: Sequence[Purpose]) -> list[str]:
    reach = measure_reach(data)
    if reach is None:
        return ["none"]
    words = words_of(data, reach)
    needless = all(one.of_columns or one.measure == "numbers" for one in purposes)
    kinds = [cls for cls in masks().values() if not cls.withholds or needless]
    return [join_spec(cls.name, part) for cls in kinds for part in list_parameters(cls, reach, words)]


def words_of(data: Microdata, reach: Reach) -> dict[str, str]:
    """Return what stands for a file in the parameters that are tried: its lengths, records, columns and groups."""
    points, group = data.distances.points(), choose_group(data)
    words = reach.words | {
        "half": str(max(data.distances.size // 2, 1)),
        "columns": str(1 if points is None else max(points.coordinates.shape[1] - 1, 1)),
    }
    return words if group is None else words | {"group": group}


def join_spec(name: str, parameters: str) -> str:
    """Return the spec of a mask with parameters."""
    return f"{name}:{parameters}" if parameters else name


def list_parameters(cls: type[Mask], reach: Reach, words: dict[str, str]) -> list[str]:
    """Return the parameters with which a mask is tried, with the lengths of the file in them."""
    if cls.tried is not None:
        return [text.format(**words) for text in cls.tried if "group" in words or "{group}" not in text]
    own = {one.name: one for one in dataclasses.fields(cls)}
    needed = [name for name, one in own.items() if one.default is dataclasses.MISSING]
    if cls.dial is None or needed not in ([], [cls.dial]):
        return [""] if not needed else []
    read = own[cls.dial].metadata.get("read")
    if read is RATE["read"]:
        ends = reach.rate(reach.near), reach.rate(reach.far)
    elif read in (LENGTH["read"], PLACE["read"]):
        ends = words["near"], words["far"]
    else:
        return [] if needed else [""]
    return [f"{spec_name(cls.dial)}={ends[0]}..{ends[1]}"]


def mask_fits(asked: MaskRange, data: Microdata, rng: np.random.Generator) -> bool:
    """Say whether a mask can be applied to a file; what does not fit its kind of data is not tried."""
    try:
        for one in (asked.settings[0], asked.settings[-1]):
            one.mask.prepare(data).apply(data.distances, rng)
    except DiscliqueError:
        return False
    return True


@dataclass(frozen=True)
class Ladders:
    """How finely labels and numbers are made coarser, and how many ways of both together are tried at the most."""

    label_steps: int = 3
    number_steps: tuple[float, ...] = (0.002, 0.01, 0.03, 0.1, 0.3)  # of the spread of a column
    fewest_values: int = 4  # of a label that is made coarser before it is left out
    most_joined: int = 40  # values of a label whose rare ones are joined: a setting names them one by one
    most: int = 60


LADDERS = Ladders()


@dataclass(frozen=True)
class Arm:
    """What is done to labels and numbers; ``rank`` is how far up each ladder, ``gone`` which numbers are left out."""

    labels: Recoding
    numbers: NumberRecoding
    rank: tuple[int, ...]
    gone: Recoding = AS_THEY_ARE

    def under(self, mask: Mask) -> Setting:
        """Return the setting of a mask with this done to labels and numbers."""
        return Setting(mask, self.labels, self.numbers.without(self.labels.dropped))

    def is_within(self, other: Arm) -> bool:
        """Say whether the other one does at least as much on every ladder."""
        return all(a <= b for a, b in zip(self.rank, other.rank, strict=True))

    @property
    def height(self) -> int:
        """How much is done in all."""
        return sum(self.rank)


Step = tuple[str, ...]  # parts of a setting


def list_arms(data: Microdata, generalise: Sequence[str] = (), by: Ladders = LADDERS) -> tuple[Arm, ...]:
    """Return the ways to make labels and numbers coarser, from none to all left out.

    ``generalise`` says how labels may be made coarser, instead of what follows from their values. Where there are too
    many ways together, all numbers are made coarser at once, and then steps between are left out.
    """
    labels: list[list[Step]] = [
        [(part,) if part else () for part in steps] for steps in _label_ladders(data, generalise, by)
    ]
    numbers: list[list[Step]] = [_number_ladder(one, by) for one in data.numbers.columns]
    if _count(labels + numbers) > by.most and len(numbers) > 1:
        numbers = [[sum(step, ()) for step in zip(*numbers, strict=True)]]
    ladders = labels + numbers
    while _count(ladders) > by.most and (longest := max(ladders, key=len)) and len(longest) > 2:
        longest.pop(len(longest) // 2)
    ways = product(*(range(len(one)) for one in ladders))
    names = data.numbers.names
    found = [
        _make_arm(rank, [part for k, step in enumerate(rank) for part in ladders[k][step]], names) for rank in ways
    ]
    if len(found) <= by.most:
        return tuple(found)
    # with very many columns: none touched, each one alone, each one left, all of them
    last = tuple(len(one) - 1 for one in ladders)
    few = [arm for arm in found if sum(map(bool, arm.rank)) <= 1 or sum(map(bool, arm.rank)) >= len(last) - 1]
    return tuple(sorted(few, key=lambda arm: arm.height)[: by.most - 1]) + tuple(a for a in found if a.rank == last)


def _count(ladders: Sequence[Sequence[Step]]) -> int:
    return int(np.prod([float(len(one)) for one in ladders]))


def _make_arm(rank: tuple[int, ...], parts: Sequence[str], numbers: Sequence[str]) -> Arm:
    """Return an arm from the parts of its steps: those of numbers, and those of labels and what is left out."""
    coarser = tuple(part for part in parts if is_number_part(part))
    rest = tuple(part for part in parts if part not in coarser)
    gone = tuple(part for part in rest if part.removeprefix(DROP) in numbers)
    return Arm(Recoding(rest), NumberRecoding(coarser) if coarser else NUMBERS_AS_THEY_ARE, rank, Recoding(gone))


def _label_ladders(data: Microdata, generalise: Sequence[str], by: Ladders) -> list[list[str]]:
    if generalise:
        return [list(dict.fromkeys(["", *list_steps(spec, by.label_steps)])) for spec in generalise]
    return [_label_ladder(str(name), list(data.labels[name]), by) for name in data.labels.columns]


def _label_ladder(name: str, values: Sequence[Any], by: Ladders) -> list[str]:
    """Return the steps of one label: as it is, wider classes, shorter codes or rare values joined, left out."""
    there = sorted({value for value in values if value is not None}, key=str)
    ladder = [""]
    if len(there) >= by.fewest_values:
        ladder += _shorten_codes(name, there, by) or _widen_classes(name, there, by) or _join_rare(name, values, by)
    return [*ladder, f"{DROP}{name}"]


def _shorten_codes(name: str, values: Sequence[Any], by: Ladders) -> list[str]:
    texts = [str(value) for value in values]
    length = len(texts[0])
    if length < 3 or not all(re.fullmatch(rf"\d{{{length}}}", text) for text in texts):
        return []
    if (
        len({float(text) for text in texts}) == len(texts)
        and length == 4
        and all(1800 <= float(t) <= 2100 for t in texts)
    ):
        return []  # years
    lengths = np.unique(np.linspace(length - 1, 1, by.label_steps).astype(int))[::-1]
    return [f"{name}=prefix:{name}:{one}" for one in lengths]


def _widen_classes(name: str, values: Sequence[Any], by: Ladders) -> list[str]:
    try:
        numbers = np.sort(np.unique([parse_number(value) for value in values]))
    except (DiscliqueError, TypeError, ValueError):
        return []
    spread = float(np.ptp(numbers))
    if len(numbers) < by.fewest_values or spread <= 0:
        return []
    gap = float(np.median(np.diff(numbers)))
    narrow = float(f"{2 * gap:.1g}")
    if narrow > spread / 2:
        return []
    return [f"{name}=width:{name}:{width:g}" for width in nest_widths(narrow, spread / 2 * 1.001, by.label_steps)]


def _join_rare(name: str, values: Sequence[Any], by: Ladders) -> list[str]:
    """Return steps in which the rarest categories are joined to one, until half of all values and then two are left.

    None where a category is written with signs that mean something in a setting.
    """
    many = Counter(str(value) for value in values if value is not None)
    ordered = [value for value, _ in sorted(many.items(), key=lambda one: (one[1], one[0]))]  # the rarest first
    if len(ordered) > by.most_joined or any(sign in value for value in ordered for sign in (JOINED, "|", "..", "\n")):
        return []
    counts = dict.fromkeys((len(ordered) - (len(ordered) + 1) // 2 + 1, len(ordered) - 1))
    return [f"{name}=join:{name}:{JOINED.join(ordered[:count])}" for count in counts]


def _number_ladder(column: NumberColumn, by: Ladders) -> list[Step]:
    """Return the steps of a number: as it is, rounded by its spread, left out."""
    there = column.values[~np.isnan(column.values)]
    low, high = np.quantile(there, [0.05, 0.95]) if len(there) else (0.0, 0.0)
    spread = float(high - low) or 1.0
    unit = KM if column.unit == KM else ""
    sizes = dict.fromkeys(float(f"{spread * share:.1g}") for share in by.number_steps)
    return [(), *((f"{column.name}=round:{size:g}{unit}",) for size in sizes), (f"{DROP}{column.name}",)]
