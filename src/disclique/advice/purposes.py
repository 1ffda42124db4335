"""What a release will be used for: by which measures its usefulness is judged, and how what is left is said.

Usefulness is the mean over the purposes asked for. What is left is always compared with what chance would give, a
release that has nothing to do with the file: only what is more than that is of use to anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from disclique.errors import InputError, guess_meant
from disclique.masks.settings import Setting
from disclique.measures.label_information import share_kept
from disclique.measures.utility import LINKAGE, OF_NUMBERS, rank_correlation, rankings, utility
from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.spaces import Points

COLUMNS = "columns"


@dataclass(frozen=True)
class Purpose:
    """What a release is used for.

    ``name`` is the user's word, ``measure`` the measure of usefulness behind it, ``said`` the code of the sentence that
    says what is left. Of ``columns`` it is what these still tell.
    """

    name: str
    measure: str
    said: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}:{','.join(self.columns)}" if self.columns else self.name

    @property
    def of_columns(self) -> bool:
        """Whether it is about columns, and not about what is published between records."""
        return self.name == COLUMNS

    def describe(self, value: float, chance: float) -> Message:
        """Say what is left for the purpose, beside what chance would give."""
        shown = {"value": value, "lost": 1 - value, "ten": 10 * value, "columns": self.columns}
        return Message(self.said, shown, chance=chance, chance_lost=1 - chance, chance_ten=10 * chance)


PURPOSES = {
    one.name: one
    for one in (
        Purpose("neighbours", "neighbours", mark("left_of_neighbours")),
        Purpose("clusters", "rand_index", mark("left_of_clusters")),
        Purpose("distances", "pearson", mark("left_of_distances")),
        Purpose("accessibility", "accessibility", mark("left_of_ways")),
        Purpose("density", "density", mark("left_of_density")),
        Purpose("linkage", LINKAGE, mark("left_of_linkage")),
        Purpose(COLUMNS, "", mark("left_of_columns")),
    )
}


@dataclass(frozen=True)
class Worth:
    """From where a release is of use: the ``least`` share of what the file has above chance."""

    least: float = 0.05


WORTH = Worth()


def parse_purposes(asked: str | Iterable[str], data: Microdata) -> tuple[Purpose, ...]:
    """Read what a release will be used for; by default neighbours, of a file without distances its columns.

    A measure of one's own counts by its name. Accessibility of a file with columns of ways is what is left of these.
    """
    texts = [asked] if isinstance(asked, str) else list(asked)
    if not texts:
        default = PURPOSES["neighbours"] if data.distances.are_published else _of_columns((), data)
        return (default,)
    return tuple(dict.fromkeys(_parse(str(one), data) for one in texts))


def _parse(text: str, data: Microdata) -> Purpose:
    name, _, rest = (part.strip() for part in text.partition(":"))
    if name == COLUMNS:
        return _of_columns(tuple(part.strip() for part in rest.split(",") if part.strip()), data)
    if rest or (name not in PURPOSES and name not in rankings()):
        known = list(dict.fromkeys([*PURPOSES, *rankings()]))
        raise InputError("unknown_purpose", purpose=text, known=known, meant=guess_meant(name, known))
    found = PURPOSES.get(name) or Purpose(name, name, mark("left_of_measure"))
    if name == "accessibility" and len(data.numbers):
        return Purpose(name, OF_NUMBERS, found.said)
    if not data.distances.are_published and found.measure != OF_NUMBERS:
        raise InputError("purpose_without_distances", purpose=name, file=data.name)
    return found


def _of_columns(names: tuple[str, ...], data: Microdata) -> Purpose:
    known = [*map(str, data.labels.columns), *data.numbers.names, *data.roles.released]
    for name in names:
        if name not in known:
            there: Any = known or Message("no_column_released")
            raise InputError("purpose_of_no_column", file=data.name, column=name, known=there)
    found = PURPOSES[COLUMNS]
    return Purpose(COLUMNS, found.measure, found.said, names or tuple(known))


def wanted_measures(purposes: Sequence[Purpose]) -> tuple[str, ...]:
    """Return the measures of usefulness that purposes need, by name."""
    return tuple(dict.fromkeys(one.measure for one in purposes if not one.of_columns))


@dataclass(frozen=True, eq=False)
class Usefulness:
    """What settings of a file leave for some purposes, and what chance would leave."""

    data: Microdata
    purposes: tuple[Purpose, ...]
    chance: Mapping[str, float]

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that are needed, by name."""
        return wanted_measures(self.purposes)

    def of(self, setting: Setting, measured: Mapping[str, float | None]) -> dict[str, float]:
        """Return what is left for each purpose, from the measures of a release; nothing where one is not defined."""
        return {
            str(one): self._columns(one, setting) if one.of_columns else max(measured.get(one.measure) or 0.0, 0.0)
            for one in self.purposes
        }

    def _columns(self, purpose: Purpose, setting: Setting) -> float:
        """Return the mean over columns of what each still tells: of labels by entropy, of numbers by rank."""
        kept = setting.labels.apply(self.data)
        numbers = setting.numbers.apply(kept, np.random.default_rng(0)).numbers
        told = []
        for name in purpose.columns:
            if name in self.data.labels.columns:
                left = kept.labels[[name]] if name in kept.labels.columns else kept.labels[[]]
                told.append(share_kept(left, self.data.labels[[name]]))
            elif name in self.data.numbers.names:
                after = numbers.of(name).values if name in numbers.names else None
                found = rank_correlation(self.data.numbers.of(name).values, after)
                told.append(1.0 if found is None else max(found, 0.0))  # a column of one value told nothing before
            else:
                told.append(1.0)
        return float(np.mean(told)) if told else 1.0

    def mean(self, left: Mapping[str, float]) -> float:
        """Return the one number by which releases are ranked."""
        return float(np.mean([left[str(one)] for one in self.purposes]))

    def is_worth(self, left: Mapping[str, float], worth: Worth = WORTH) -> bool:
        """Say whether a release is of use for every purpose: more than chance would give."""
        return all(
            left[str(one)] - self.chance[str(one)] >= worth.least * (1 - self.chance[str(one)])
            for one in self.purposes
            if self.chance[str(one)] < 1
        )


def measure_chance(
    data: Microdata, purposes: Sequence[Purpose], rng: np.random.Generator, most: int = 2000
) -> dict[str, float]:
    """Return what a release that has nothing to do with the file leaves: of places strewn at random, else shuffled."""
    found = dict.fromkeys(map(str, purposes), 0.0)
    wanted = [name for name in wanted_measures(purposes) if name not in (OF_NUMBERS, LINKAGE)]
    if not wanted or not data.distances.are_published:
        return found
    size = data.distances.size
    rows = np.sort(rng.choice(size, min(size, most), replace=False)).astype(np.int32)
    own = data.distances.select(rows)
    points = own.points()
    if points is not None and points.is_map:
        low, high = points.coordinates.min(axis=0), points.coordinates.max(axis=0)
        there = Points(rng.uniform(low, high, points.coordinates.shape), metric=points.metric, unit=points.unit)
        values = utility(points, there, rng=rng, wanted=wanted).values
    else:
        values = utility(own, own.select(rng.permutation(len(rows)).astype(np.int32)), rng=rng, wanted=wanted).values
    for one in purposes:
        found[str(one)] = found[str(one)] if one.of_columns else max(values.get(one.measure) or 0.0, 0.0)
    return found
