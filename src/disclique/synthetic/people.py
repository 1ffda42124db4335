"""Synthetic people for studies and demonstrations: where they live, and what a survey would say of them.

``germany`` is the population of the paper's simulation study: homes from the settlement pattern of ``settlements``, sex
and age class with the shares of the census of 2011. ``population`` does the same with points and shares of one's own.
``misspell`` types their names as another clerk would have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_rng, check_whole
from disclique.errors import InputError
from disclique.geodesy import shift_nearby
from disclique.messages import Message
from disclique.spaces import Texts
from disclique.values import FloatArray

__all__ = ["Population", "area_points", "choose_people", "germany", "home_points", "misspell", "mistype", "population"]

DrawPlaces = Callable[[int, np.random.Generator], FloatArray]
PointsSource = str | PathLike[str] | pd.DataFrame | NDArray[np.float64] | DrawPlaces
Shares = str | PathLike[str] | pd.DataFrame


@dataclass(frozen=True, eq=False)
class Population:
    """People and the two files drawn from them.

    ``people`` has the columns ``id``, one for each label, ``lon`` and ``lat`` (degrees). ``target_rows`` and
    ``known_rows`` are row numbers of ``people`` in the (random) order of the files. Who is in both files has the same
    ``id`` in both: that is the truth which a release must not give away.
    """

    people: pd.DataFrame
    target_rows: NDArray[np.int64]
    known_rows: NDArray[np.int64]

    @property
    def target(self) -> pd.DataFrame:
        """The file to be released, still with ids and unmasked coordinates."""
        return self.people.iloc[self.target_rows].reset_index(drop=True)

    @property
    def known(self) -> pd.DataFrame:
        """The snooper's identification file."""
        return self.people.iloc[self.known_rows].reset_index(drop=True)

    @property
    def label_names(self) -> list[str]:
        """The names of the label columns."""
        return [str(name) for name in self.people.columns if name not in ("id", "lon", "lat")]

    @property
    def common_ids(self) -> list[str]:
        """Ids of the people in both files, ascending."""
        return sorted(self.people["id"].iloc[np.intersect1d(self.target_rows, self.known_rows)])

    @property
    def truth(self) -> NDArray[np.int32]:
        """Pairs (target row, known row) of the same person, counted from 0, in the order of the target."""
        where = {row: place for place, row in enumerate(self.known_rows.tolist())}
        pairs = [(t, where[row]) for t, row in enumerate(self.target_rows.tolist()) if row in where]
        return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def germany(*, n_target: int = 500, n_known: int = 500, common: int = 50, rng: np.random.Generator) -> Population:
    """Draw people in Germany as in the paper's study: two files of 500 people, 50 of them in both.

    >>> people = germany(n_target=3, n_known=3, common=1, rng=np.random.default_rng(0))
    >>> list(people.target.columns), len(people.truth)
    (['id', 'sex', 'age_class', 'lon', 'lat'], 1)
    """
    return population(
        home_points, read_table("germany_census2011"), n_target=n_target, n_known=n_known, common=common, rng=rng
    )


def population(
    points: PointsSource, shares: Shares, *, n_target: int, n_known: int, common: int, rng: np.random.Generator
) -> Population:
    """Draw people at ``points`` with labels in the proportions of ``shares``, in two files with ``common`` in both.

    ``points`` is a CSV file, a table or an array with ``lon``, ``lat`` and possibly ``weight``, or a function of
    (n, rng). Without weights every point is the home of at most one person; with weights (inhabitants of a grid cell,
    say) a point is drawn with replacement. ``shares`` is a CSV file or a table with one column per label
    and a last column of counts or shares.
    """
    _check_sizes(n_target, n_known, common)
    check_rng(rng)
    n = n_target + n_known - common
    labels = _draw_labels(shares, n, rng)
    homes = _draw_points(points, n, rng)
    width = len(str(n))
    ids = pd.Series([f"P{number:0{width}d}" for number in range(1, n + 1)], name="id")
    places = pd.DataFrame(homes, columns=["lon", "lat"])
    return _in_two_files(pd.concat([ids, labels, places], axis=1), n_target, common, rng)


def choose_people(
    table: pd.DataFrame, *, n_target: int, n_known: int, common: int, rng: np.random.Generator
) -> Population:
    """Choose people of a table at random, in two files with ``common`` in both.

    >>> chosen = choose_people(
    ...     pd.DataFrame({"name": list("abcdef")}), n_target=3, n_known=2, common=1, rng=np.random.default_rng(0)
    ... )
    >>> len(chosen.target), len(chosen.known), len(chosen.truth)
    (3, 2, 1)
    """
    _check_sizes(n_target, n_known, common)
    n = n_target + n_known - common
    if len(table) < n:
        raise InputError("too_few_people", people=len(table), wanted=n)
    chosen = table.iloc[rng.choice(len(table), size=n, replace=False)].reset_index(drop=True)
    return _in_two_files(chosen, n_target, common, rng)


def _in_two_files(people: pd.DataFrame, n_target: int, common: int, rng: np.random.Generator) -> Population:
    return Population(
        people=people,
        target_rows=rng.permutation(n_target),
        known_rows=rng.permutation(np.r_[:common, n_target : len(people)]),
    )


def _check_sizes(n_target: int, n_known: int, common: int) -> None:
    for what, number, least in (("n_target", n_target, 1), ("n_known", n_known, 1), ("common", common, 0)):
        check_whole(number, what, least)
    if common > min(n_target, n_known):
        raise InputError("common_above_smaller", common=common, people=min(n_target, n_known))


def _draw_points(source: PointsSource, n: int, rng: np.random.Generator) -> FloatArray:
    if callable(source):
        return np.asarray(source(n, rng), dtype=float)
    table = _points_table(source)
    for column, limit in (("lon", 360), ("lat", 90)):
        bad = ~(table[column].abs() <= limit)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            value = table[column].iloc[row]
            raise InputError("point_off_the_earth", row=row + 1, column=column, value=value, limit=limit)
    if "weight" in table:
        weight = table["weight"].to_numpy(dtype=float)
        _check_weights(weight, "points")
        return table[["lon", "lat"]].to_numpy()[rng.choice(len(table), size=n, p=weight / weight.sum())]
    if len(table) < n:
        raise InputError("too_few_points", points=len(table), people=n)
    return table[["lon", "lat"]].to_numpy()[rng.choice(len(table), size=n, replace=False)]


def _points_table(source: Any) -> pd.DataFrame:
    """Return the points as numbers in columns lon, lat and possibly weight."""
    if isinstance(source, np.ndarray):
        if source.ndim != 2 or source.shape[1] not in (2, 3):
            raise InputError("points_of_wrong_shape", shape=str(source.shape))
        return pd.DataFrame(source, columns=["lon", "lat", "weight"][: source.shape[1]]).astype(float)
    table = _table(source, "points")
    for column in ("lon", "lat"):
        if column not in table:
            raise InputError("points_without_column", column=column, columns=list(table.columns))
    numbers = table[[column for column in ("lon", "lat", "weight") if column in table]]
    return pd.DataFrame({column: pd.to_numeric(numbers[column], errors="coerce") for column in numbers})


def _draw_labels(source: Shares, n: int, rng: np.random.Generator) -> pd.DataFrame:
    table = _table(source, "shares")
    if table.shape[1] < 2:
        raise InputError("shares_too_narrow")
    weight = pd.to_numeric(table.iloc[:, -1], errors="coerce").to_numpy(dtype=float)
    _check_weights(weight, Message("shares_column", column=str(table.columns[-1])))
    rows = rng.choice(len(table), size=n, p=weight / weight.sum())
    return table.iloc[rows, :-1].reset_index(drop=True)


def _table(source: Any, what: str) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        return source
    try:
        return pd.read_csv(source, comment="#")
    except (OSError, ValueError) as problem:  # pandas' parser errors and encoding errors are ValueErrors
        raise InputError("table_not_read", what=what, source=str(source), problem=str(problem)) from problem


def _check_weights(weight: FloatArray, where: str | Message) -> None:
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError("not_a_count", where=where, row=row + 1, value=weight[row])
    if not weight.sum() > 0:
        raise InputError("counts_all_zero", where=where)


def misspell(texts: Texts, rng: np.random.Generator, share: float = 0.5) -> Texts:
    """Return the texts with one typing error in a share of them, drawn at random.

    A letter is replaced, inserted, left out, or exchanged with the next one, with equal chance; letters are drawn as
    often as they occur in the file, so that errors are of its script.

    >>> misspell(Texts(("anna meier", "otto weber")), np.random.default_rng(1), share=1.0).strings
    ('nana meier', 'otto webemr')
    """
    letters = [letter for text in texts.strings for letter in text if not letter.isspace()]
    wrong = rng.random(texts.size) < share
    if len(texts.fields) == 1:
        pairs = zip(texts.strings, wrong, strict=True)
        strings = tuple(_with_error(text, letters, rng) if bad else text for text, bad in pairs)
        return replace(texts, strings=strings, fields=())
    fields = [list(column) for column in texts.fields]
    for row in np.flatnonzero(wrong):
        long = np.array([len(column[row].strip()) for column in fields])
        place = int(rng.choice(len(fields), p=long / long.sum()))  # every letter is as easily mistyped
        fields[place][row] = _with_error(fields[place][row], letters, rng)
    return texts.with_fields(fields)


def mistype(texts: Texts, rng: np.random.Generator, share: float) -> Texts:
    """Return the texts with a share of their letters and digits replaced, each by one of its kind from the file.

    >>> mistype(Texts(("anna meier", "otto weber")), np.random.default_rng(1), share=0.2).strings
    ('anaa meiew', 'otto wnber')
    """
    signs = [sign for column in texts.fields for text in column for sign in text if sign.isalnum()]
    kinds = [[sign for sign in signs if sign.isdigit() == kind] for kind in (False, True)]
    columns = []
    for column in texts.fields:
        wrong = iter((rng.random(sum(map(len, column))) < share).tolist())
        columns.append(["".join(_other(sign, kinds, rng) if next(wrong) else sign for sign in text) for text in column])
    return texts.with_fields(columns)


def _other(sign: str, kinds: list[list[str]], rng: np.random.Generator) -> str:
    """Return a letter for a letter and a digit for a digit, and anything else as it is."""
    return kinds[sign.isdigit()][int(rng.integers(len(kinds[sign.isdigit()])))] if sign.isalnum() else sign


def _with_error(text: str, letters: list[str], rng: np.random.Generator) -> str:
    """Return the text with one error; after some tries that change nothing, with another letter at its end."""
    for _ in range(20):
        at, letter = int(rng.integers(len(text))), letters[int(rng.integers(len(letters)))]
        found = (
            text[:at] + letter + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at] + text[at + 1 :],
            text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
        )[int(rng.integers(4))]
        if found.strip() and found.strip() != text:
            return found
    return text + letters[0]


SETTLED_KM2_PER_INHABITANT = 600e-6
_PATTERN_SEED = 2011  # the pattern of municipalities is part of the country, not of a sample


@dataclass(frozen=True, eq=False)
class Settlements:
    """Places of a country: ``centres`` (lon, lat) in degrees, ``inhabitants``, ``radius`` in km, and ``outline``."""

    centres: FloatArray
    inhabitants: FloatArray
    radius: FloatArray
    outline: FloatArray

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw the homes of ``n`` people, (lon, lat) in degrees, shape (n, 2), all inside the outline."""
        place = rng.choice(len(self.centres), size=n, p=self.inhabitants / self.inhabitants.sum())
        homes = np.empty((n, 2))
        todo = np.arange(n)
        while len(todo):
            at = place[todo]
            homes[todo] = shift_nearby(self.centres[at], rng.normal(size=(len(todo), 2)) * self.radius[at, None] / 2)
            todo = todo[~inside(homes[todo], self.outline)]
        return homes


def home_points(n: int, rng: np.random.Generator) -> FloatArray:
    """Draw homes of ``n`` people in Germany from the settlement pattern, (lon, lat) in degrees."""
    return germany_settlements().draw(n, rng)


def area_points(n: int, rng: np.random.Generator) -> FloatArray:
    """Draw ``n`` points uniform over the area of Germany, (lon, lat) in degrees, as the paper does to calibrate ≈."""
    return uniform_points(n, read_table("germany_outline").to_numpy(), rng)


@cache
def germany_settlements() -> Settlements:
    """Return the settlement pattern of Germany; always the same."""
    cities = read_table("germany_cities")
    outline = read_table("germany_outline").to_numpy()
    rng = np.random.default_rng(_PATTERN_SEED)
    sizes = _municipality_sizes(rng)
    towns = _town_centres(len(sizes), outline, rng)
    areas = np.concatenate([cities["area_km2"].to_numpy(), sizes * SETTLED_KM2_PER_INHABITANT])
    return Settlements(
        centres=np.vstack([cities[["lon", "lat"]].to_numpy(), towns]),
        inhabitants=np.concatenate([cities["inhabitants"].to_numpy(dtype=float), sizes]),
        radius=np.sqrt(areas / np.pi),
        outline=outline,
    )


def _municipality_sizes(rng: np.random.Generator) -> FloatArray:
    """Draw the inhabitants of every municipality: log-uniform within its size class, scaled to those of the class."""
    sizes = []
    for smallest, largest, municipalities, inhabitants in read_table("germany_municipalities").to_numpy(dtype=float):
        drawn = np.exp(rng.uniform(np.log(smallest), np.log(largest), int(municipalities)))
        sizes.append(drawn * inhabitants / drawn.sum())
    return np.concatenate(sizes)


def _town_centres(n: int, outline: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw places inside the outline, as dense as the region of the nearest centre is settled outside its cities."""
    regions = read_table("germany_regions").set_index("region")
    cities = read_table("germany_cities").groupby("region")[["inhabitants", "area_km2"]].sum()
    rest = regions[["inhabitants", "area_km2"]].sub(cities.reindex(regions.index, fill_value=0))
    density = (rest["inhabitants"] / rest["area_km2"]).to_numpy()
    centres = regions[["lon", "lat"]].to_numpy()
    places = np.empty((0, 2))
    while len(places) < n:
        tried = uniform_points(4 * n, outline, rng)
        east = (tried[:, None, 0] - centres[None, :, 0]) * np.cos(np.radians(tried[:, None, 1]))
        nearest = np.argmin(east**2 + (tried[:, None, 1] - centres[None, :, 1]) ** 2, axis=1)
        places = np.vstack([places, tried[rng.random(len(tried)) * density.max() < density[nearest]]])
    return places[:n]


def uniform_points(n: int, outline: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw ``n`` points uniform by area on the sphere inside a polygon of (lon, lat) corners."""
    (west, south), (east, north) = outline.min(axis=0), outline.max(axis=0)
    low, high = np.sin(np.radians([south, north]))
    points = np.empty((0, 2))
    while len(points) < n:
        lat = np.degrees(np.arcsin(rng.uniform(low, high, 2 * n)))
        tried = np.column_stack([rng.uniform(west, east, 2 * n), lat])
        points = np.vstack([points, tried[inside(tried, outline)]])
    return points[:n]


def inside(points: FloatArray, outline: FloatArray) -> NDArray[np.bool_]:
    """Return which points lie in the polygon of (lon, lat) corners."""
    from matplotlib.path import Path

    return np.asarray(Path(outline).contains_points(points))


@cache
def read_table(name: str) -> pd.DataFrame:
    """Return a table that comes with the package, by the name of its file without ``.csv``."""
    with (resources.files("disclique.synthetic") / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, comment="#")
