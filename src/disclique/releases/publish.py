"""A release: a table without ids, true places and texts in random order, what the mask made, and the recipe.

The table has the labels and numbers as a setting leaves them, numbers in the unit in which the file had them, and the
columns that are released as they are. What the mask made is released as distances, places, vectors or encodings.
"""

from __future__ import annotations

import html
import secrets
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_kind, check_path, check_seed
from disclique.errors import InputError, TooLarge
from disclique.locale import texts_in
from disclique.masks import Mask
from disclique.masks.settings import Setting
from disclique.messages import Message
from disclique.model import NO_SOURCE, Microdata, Source
from disclique.numbers import NO_NUMBERS, Numbers
from disclique.records.formats import PlaceColumns
from disclique.records.formats.projections import LAT, LON
from disclique.records.number_columns import round_released, write_numbers
from disclique.records.tables import select_records
from disclique.releases.described import describe_columns, describe_mask, measure_change
from disclique.releases.files import TRIAL, write_release
from disclique.releases.forms import (
    DISTANCES,
    ENCODINGS,
    NONE,
    PLACES,
    VECTORS,
    choose_form,
    count_decimals,
    warn_of_form,
    write_places,
)
from disclique.releases.note import NOTHING_SAID, About, Auditor
from disclique.spaces import full_matrix
from disclique.spaces.base import Distances
from disclique.spaces.bits import COLUMN
from disclique.values import FloatArray


@dataclass(frozen=True)
class Limits:
    """How long seeds are, and of how many records all distances are given at once."""

    records_at_once: int = 10_000
    drawn_seed_bits: int = 128  # as many as the generator's state has
    long_seed_bits: int = 100  # nobody types 31 digits for a trial, and 2**100 cannot be tried


LIMITS = Limits()
RECORD = "record"  # what the column of new ids is called


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What is published, and what the holder keeps.

    ``table`` and what the mask made, ``masked``, are in the same random order and are published; the first column of
    the table, ``id``, numbers its records anew, from 1, and row k of distances or vectors is that of record k. ``form``
    says what of ``masked`` is released: ``distances``, ``places`` or ``encodings``, which are columns of the table,
    ``vectors``, or ``none``. ``numbers`` are those of the table, each with its law. ``mask``, with what is done to
    labels and numbers, and ``seed`` repeat the release, ``key`` is the row of each released record in the file (-1 of
    invented people) and ``ids`` its name there: keep these. A release whose seed was given, and is short, is for trying
    out: it is not ``publishable``, and says so. ``about`` is what the note says, in a ``language``.

    >>> import disclique as dq
    >>> made = dq.release(dq.cities(), "gaussian:sigma=5km", seed=1)
    >>> list(made.table.columns), made.distances.shape, made.seed, made.publishable
    (['record', 'sex', 'yob'], (4, 4), 1, False)
    >>> list(dq.release(dq.cities(), "gaussian:sigma=5km", seed=1, as_="places").table.columns)
    ['record', 'sex', 'yob', 'lon', 'lat']
    """

    table: pd.DataFrame
    masked: Distances
    mask: str
    seed: int
    key: NDArray[np.int64]
    ids: tuple[Hashable, ...]
    numbers: Numbers = NO_NUMBERS
    form: str = DISTANCES
    id: str = RECORD
    about: About = NOTHING_SAID
    held: PlaceColumns | None = None
    language: str = "en"

    @cached_property
    def distances(self) -> FloatArray:
        """The published distances, a square matrix; of very many records ask ``masked`` for blocks of them."""
        if not self.has_distances:
            raise InputError("no_distances_released", mask=self.mask)
        if self.masked.size > LIMITS.records_at_once:
            raise TooLarge("matrix_too_large", size=self.masked.size, gigabytes=8e-9 * self.masked.size**2)
        return full_matrix(self.masked.as_matrix(most=self.masked.size))

    @property
    def unit(self) -> str | None:
        """The unit of the published distances: ``km``, also of a file in metres, ``none``, or None (nobody said)."""
        return self.masked.unit

    @property
    def has_distances(self) -> bool:
        """Whether distances are released, or follow from what is; a file of labels and numbers has none."""
        return self.masked.are_published and self.form != NONE

    @cached_property
    def decimals(self) -> int:
        """With how many decimals distances are written (``Rounding``)."""
        return count_decimals(Setting.parse(self.mask).mask, self.masked)

    @property
    def vectors(self) -> FloatArray | None:
        """The released vectors, where they stand in a file of their own: row k is that of record k."""
        points = self.masked.points()
        if self.form != VECTORS or self.about.in_table or points is None:
            return None
        columns, _ = write_places(points, Setting.parse(self.mask).mask, NO_SOURCE)
        return np.column_stack(list(columns.values()))

    @property
    def warnings(self) -> tuple[Message, ...]:
        """What somebody has to know before it is published: distances that are as they were, a short seed."""
        return (
            *self.about.warnings,
            *(() if self.publishable else (Message("seed_is_short", seed=self.seed, why=TRIAL),)),
        )

    @property
    def encoded(self) -> bool:
        """Whether the table has encodings, so that no matrix is needed."""
        return self.form == ENCODINGS

    @property
    def publishable(self) -> bool:
        """Whether the seed is long enough that nobody finds it by trying; that it is random too cannot be seen."""
        return self.seed >> LIMITS.long_seed_bits > 0

    def __repr__(self) -> str:
        columns = ", ".join(map(str, self.table.columns))
        trial = "" if self.publishable else ", not for publication: short seed"
        return f"Release({len(self.key)} records, columns ({columns}), mask {self.mask}{trial})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.table.head().to_html()}"

    def save(
        self,
        path: str | PathLike[str],
        *,
        kind: str | None = None,
        key: str | PathLike[str] | None = None,
        force: bool = False,
    ) -> dict[str, Path]:
        """Write the release and return where its table, distances, note, recipe and key are; see ``write_release``."""
        kept = None if key is None else check_path(key, "key")
        written = write_release(self, check_path(path, "path"), kind=kind, key=kept, force=force)
        return {file.name: file.path for file in written}


def release(
    data: Microdata,
    mask: str | Mask | Setting,
    seed: int | None = None,
    *,
    as_: str | None = None,
    audit: Auditor | None = None,
    language: str = "en",
) -> Release:
    """Return the release of a file: its released columns and what the mask made, shuffled so that no order leads back.

    ``mask`` may say what is done to labels and numbers, too: ``gaussian:sigma=5km | km_school=round:100m | drop:age``.
    Numbers are released in the unit in which the file has them, classes as ``[1,5) km``, and so are ``sensitive`` and
    ``plain`` columns, as they are. ``as_`` says what is released of that which the mask makes: ``distances``,
    ``places`` (under the names, and in the reference system, of the file), ``vectors``, ``encodings`` or ``none``; by
    default distances, or encodings where the mask encodes text. Places that are only turned or shifted, all alike, are
    the true map, and are refused. ``audit`` is the result of an audit of the file: the note says what it found of the
    setting, or that the setting was not audited. ``language`` is that of the note.

    Ids, true places, texts, weights and columns without a role are never released: the mask publishes encodings of
    text, or distances. Without a ``seed`` a fresh one of 128 bits is drawn; whoever has the seed can take the noise off
    again, and a short one (a date, a small number) is found by trying. Give one to try things out or, from a recipe, to
    repeat a release.

    >>> from disclique.records import microdata
    >>> people = pd.DataFrame({"sex": ["f", "m", "f"], "lon": [13.4, 2.35, 7.1], "lat": [52.5, 48.9, 50.7]})
    >>> release(microdata(people, ["sex"], coordinates=["lon", "lat"]), "gaussian:sigma=5km")
    Release(3 records, columns (record, sex), mask gaussian:sigma=5km)
    """
    texts_in(language)
    made = replace(_release(data, mask, seed, as_)[0], language=language)
    return made if audit is None else replace(made, about=replace(made.about, audited=audit.tell_of(made.mask, data)))


def _release(
    data: Microdata, mask: str | Mask | Setting, seed: int | None, as_: str | None = None
) -> tuple[Release, pd.DataFrame]:
    """Return a release, and the labels in it as they are compared."""
    setting, drawn, (noise, shuffle, chance, invented) = _begin(data, mask, seed)
    real, data = len(data), _add_fakes(data, setting.mask.faked, invented)
    rule, order = setting.mask.in_unit_of(data.distances), shuffle.permutation(len(data))
    if not (data.distances.are_published or rule.rigid or rule.withholds):
        raise InputError("mask_without_distances", file=data.name, mask=rule.name)
    kept = setting.labels.apply(data)
    masked = rule.prepare(data).apply(data.distances, noise)
    form = choose_form(as_, data, rule, masked)
    _refuse_columns(kept, form)
    if form == ENCODINGS and masked.cells() is None:
        masked = data.distances  # made elsewhere, and released as they are
    change, warnings = measure_change(data.distances, masked), warn_of_form(form, rule, data, masked)
    masked = masked.select(order)
    numbers = round_released(setting.numbers.apply(kept, chance).numbers).select(order)
    spelled = replace(setting, mask=rule, numbers=setting.numbers.spelled(kept.numbers))
    table = _released_columns(data, kept, setting, order).assign(**write_numbers(numbers))
    columns = tuple(one for one in describe_columns(data, spelled) if one.name in table.columns)
    table = table[[one.name for one in columns]]
    made, held = _made_columns(form, masked, rule, data)
    made = {free_name(name, table.columns): values for name, values in made.items()}
    if held is not None:
        held = replace(held, names=tuple(made))  # type: ignore[arg-type]
    id = free_name(RECORD, [*table.columns, *made])
    table = pd.DataFrame({id: np.arange(1, len(data) + 1)} | {str(n): table[n] for n in table.columns} | made)
    about = About(columns, describe_mask(rule, form, change), warnings, tuple(made), held.crs if held else None)
    ids = tuple(data.ids[row] for row in order)
    key = np.where(order < real, order, -1)
    found = Release(table, masked, str(spelled), drawn, key, ids, numbers, form, id, about, held)
    return found, kept.labels.iloc[order]


def _add_fakes(data: Microdata, share: float, rng: np.random.Generator) -> Microdata:
    """Return the file with records of invented people, who have labels, numbers and other columns of records in it."""
    count = round(share * len(data))
    if not count:
        return data
    like = rng.integers(len(data), size=count)
    both = select_records(data, np.concatenate([np.arange(len(data)), like]))
    ids = (*data.ids, *(f"fake {number + 1}" for number in range(count)))
    return replace(both, distances=data.distances.join(data.distances.invent(count, rng)), ids=ids)


def _released_columns(data: Microdata, kept: Microdata, setting: Setting, order: NDArray[np.int64]) -> pd.DataFrame:
    """Return labels as they are released, and further columns as they are, in the new order.

    Labels need not stand in a table; where they do it has them as the file writes them, but for what was made coarser.
    Categories are written as their values: a list of all of them would name those of people who are left out.
    """
    coarser = {one.into for one in setting.labels.made}
    found = {}
    for name in (*kept.labels.columns, *data.roles.released):
        own = name in kept.labels.columns and (name in coarser or name not in data.table.columns)
        column = (kept.labels if own else data.table)[name]
        plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
        found[str(name)] = plain.iloc[order].reset_index(drop=True)
    return pd.DataFrame(found, index=range(len(order)))


def _made_columns(
    form: str, masked: Distances, rule: Mask, data: Microdata
) -> tuple[dict[str, Any], PlaceColumns | None]:
    """Return the columns of the table that the mask made, and how places are held in a file of geometries."""
    if form == ENCODINGS:
        return _encoded_columns(masked, data.source, data.source.form or rule.writes), None
    points = masked.points()
    if points is None or form not in (PLACES, VECTORS) or (form == VECTORS and not data.source.columns):
        return {}, None
    return write_places(points, rule, data.source)


def _encoded_columns(masked: Distances, source: Source, written: str | None) -> dict[str, Any]:
    """Return the columns of encodings: one for each part, where they are called as in the file."""
    cells = masked.cells_of_parts(written)
    usual = [COLUMN] if len(cells) == 1 else [f"{COLUMN}_{number + 1}" for number in range(len(cells))]
    names = source.encodings if len(source.encodings) == len(cells) else usual
    return dict(zip(names, cells, strict=True))


def free_name(name: str, taken: Collection[object]) -> str:
    """Return a name that no other column has."""
    while name in taken:
        name = f"{name}_"
    return name


def _refuse_columns(data: Microdata, form: str) -> None:
    """Refuse what is never released, and a column of the name of another one in the release."""
    hidden = {*data.roles.hidden, *data.source.columns}
    for name in (*data.labels.columns, *data.numbers.names, *data.roles.released):
        if name in data.distances.unreleased:
            raise InputError("text_never_released", column=name)
        if name in hidden or name in (LON, LAT):
            raise InputError("column_is_hidden", name=name)
        if name in (data.source.encodings or (COLUMN,)) and form == ENCODINGS:
            raise InputError("label_named_as_encodings", column=name)


@overload
def mask(
    data: Microdata, mask: str | Mask | Setting, seed: int | None = None, *, key: Literal[False] = False
) -> Microdata: ...


@overload
def mask(
    data: Microdata, mask: str | Mask | Setting, seed: int | None = None, *, key: Literal[True]
) -> tuple[Microdata, tuple[Hashable, ...]]: ...


def mask(
    data: Microdata, mask: str | Mask | Setting, seed: int | None = None, *, key: bool = False
) -> Microdata | tuple[Microdata, tuple[Hashable, ...]]:
    """Return what a snooper sees of a release, and nothing else: labels, numbers and masked distances in random order.

    It is the release that ``release`` makes with the same seed, as a file to attack; give a seed for trials only. With
    ``key`` the second value says who is who, which only the holder knows: the id of each released record in ``data``.

    >>> from disclique.records import microdata
    >>> people = pd.DataFrame({"who": ["ada", "bob"], "sex": ["f", "m"]})
    >>> file = microdata(people, ["sex"], distances=[[0, 7.2], [7.2, 0]], id="who")
    >>> seen, who = mask(file, "round:to=5", seed=1, key=True)
    >>> seen.distances.values, list(seen.table.columns), seen.ids, who
    (array([[0., 5.],
           [5., 0.]]), ['record', 'sex'], (1, 2), ('bob', 'ada'))
    """
    made, labels = _release(data, mask, seed)
    rows = tuple(range(1, len(labels) + 1))
    shown = made.masked.as_matrix()
    seen = Microdata(made.table, labels.reset_index(drop=True), shown, rows, "release", numbers=made.numbers)
    return (seen, made.ids) if key else seen


def _begin(
    data: object, mask: str | Mask | Setting, seed: int | None
) -> tuple[Setting, int, list[np.random.Generator]]:
    """Return the setting, the seed, and the chance of the noise, of the order, of the numbers, and of invented people.

    A fresh seed has random bits below a one, so that it is never a short number by chance.
    """
    check_kind(data, Microdata, "data", "wanted_microdata")
    fresh = (1 << LIMITS.drawn_seed_bits) | secrets.randbits(LIMITS.drawn_seed_bits)
    drawn = fresh if seed is None else check_seed(seed)
    setting = mask if isinstance(mask, Setting) else Setting(mask) if isinstance(mask, Mask) else Setting.parse(mask)
    return setting, drawn, [np.random.default_rng(child) for child in np.random.SeedSequence(drawn).spawn(4)]
