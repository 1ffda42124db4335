"""The snooper's file of one repetition, and one without any released person as a control."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.audits.definition import Audit
from disclique.audits.plan import GERMANY
from disclique.data.distances import Points
from disclique.data.tables import select_records
from disclique.geodesy import shift, to_space
from disclique.masks import Gaussian
from disclique.measures.risk import Truth
from disclique.model import FloatArray, Microdata
from disclique.synthetic.settlements import home_points

_NEIGHBOUR = 5  # synthetic people live about as far from a real home as its fifth neighbour


@dataclass(frozen=True, eq=False)
class KnownFile:
    """The snooper's file, and who in it is who in the release."""

    data: Microdata
    truth: Truth


def draw_known_file(audit: Audit, repetition: int) -> KnownFile:
    """Draw the snooper's file of one repetition: the same for every mask, in random order, with its errors."""
    rng = audit.chance.rng("known", repetition)
    drawn = _people(audit, rng)
    data = _add_errors(audit, select_records(drawn, rng.permutation(len(drawn))), rng)
    return KnownFile(data, Truth.of_people(audit.target.ids, data.ids))


def _people(audit: Audit, rng: np.random.Generator) -> Microdata:
    snooper, size = audit.plan.snooper, len(audit.target)
    if audit.known is not None:
        return audit.known
    if snooper.overlap is None:
        return audit.target
    common = max(1, round(snooper.overlap * size))
    chosen = select_records(audit.target, np.sort(rng.choice(size, common, replace=False)))
    return join_files(chosen, draw_others(audit, max((snooper.size or size) - common, 0), rng))


def draw_others(audit: Audit, count: int, rng: np.random.Generator) -> Microdata:
    """Find people who are not in the release: from the file of others, or invented."""
    if audit.others is not None:
        strangers = set(audit.target.ids)
        rows = np.array([row for row, person in enumerate(audit.others.ids) if person not in strangers], dtype=np.int64)
        if len(rows) > count and audit.plan.snooper.size is not None:
            rows = rng.choice(rows, count, replace=False)
        return select_records(audit.others, rows)
    return invent_people(audit, count, rng)


def invent_people(audit: Audit, count: int, rng: np.random.Generator) -> Microdata:
    """Draw synthetic people with labels and places like those of the file."""
    assert audit.points is not None
    labels = audit.target.labels.iloc[rng.integers(len(audit.target), size=count)].reset_index(drop=True)
    places = home_points(count, rng) if audit.plan.snooper.others == GERMANY else _places(audit.points, count, rng)
    ids = tuple(("other", number) for number in range(count))
    return Microdata(pd.DataFrame(index=range(count)), labels, replace(audit.points, coordinates=places), ids, "others")


def _places(points: Points, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw homes like those of ``points``: each near one of them, nearer where they are dense."""
    base = rng.integers(points.size, size=count)
    space = to_space(points.coordinates, points.metric)
    reach = cKDTree(space).query(space, k=min(_NEIGHBOUR + 1, points.size))[0].reshape(points.size, -1)[:, -1]
    step = rng.normal(0, 1, (count, points.coordinates.shape[1])) * (reach[base] / 2)[:, None]
    near = points.coordinates[base]
    if points.metric == "euclidean":
        return np.asarray(near + step)
    return shift(near, step[:, 0], step[:, 1], str(points.metric))


def join_files(one: Microdata, other: Microdata) -> Microdata:
    """Join the records of two files with coordinates, one after the other."""
    assert isinstance(one.distances, Points)
    assert isinstance(other.distances, Points)
    places = np.concatenate([one.distances.coordinates, other.distances.coordinates])
    labels = pd.concat([one.labels, other.labels], ignore_index=True)
    table = pd.DataFrame(index=range(len(labels)))
    return Microdata(table, labels, replace(one.distances, coordinates=places), one.ids + other.ids, "known")


def _add_errors(audit: Audit, data: Microdata, rng: np.random.Generator) -> Microdata:
    snooper = audit.plan.snooper
    if snooper.label_error:
        labels = data.labels.apply(lambda column: _replace_some(column, snooper.label_error, rng))
        data = replace(data, labels=labels)
    if snooper.coordinate_error is not None:
        data = replace(data, distances=Gaussian(snooper.coordinate_error).apply(data.distances, rng))
    return data


def _replace_some(column: pd.Series[Any], share: float, rng: np.random.Generator) -> pd.Series[Any]:
    """Return the column with a share of its values replaced by other ones, drawn as often as they occur."""
    values = column.to_numpy(dtype=object).copy()
    wrong = np.flatnonzero(rng.random(len(values)) < share)
    for row in wrong:
        rest = [value for value in column if value != values[row] and value is not None]
        if rest:
            values[row] = rest[int(rng.integers(len(rest)))]
    return pd.Series(values, index=column.index, dtype=object)


def draw_control(audit: Audit, known: KnownFile, repetition: int) -> tuple[NDArray[np.int64], Microdata] | None:
    """Choose released rows and a known file without any of these people: whatever an attack claims there is false.

    Known people stay as they are where they are no targets; others, drawn like the file, take the place of the targets.
    From a matrix nobody can be drawn: there one half of the release is attacked with the other half as known file.
    """
    rng = audit.chance.rng("control", repetition)
    everybody = np.arange(len(audit.target))
    rest = np.setdiff1d(np.arange(len(known.data)), known.truth.pairs[:, 1])
    if isinstance(known.data.distances, Points) and audit.points is not None:
        fillers = invent_people(audit, len(known.data) - len(rest), rng)
        strangers = join_files(select_records(known.data, rest), fillers)
        return everybody, select_records(strangers, rng.permutation(len(strangers)))
    if len(rest) >= len(known.data) / 2:
        return everybody, select_records(known.data, rng.permutation(rest))
    mixed = rng.permutation(everybody)
    attacked = np.sort(mixed[: len(mixed) // 2])
    theirs = np.setdiff1d(np.arange(len(known.data)), known.truth.pairs[np.isin(known.truth.pairs[:, 0], attacked), 1])
    if len(attacked) < 2 or len(theirs) < 2:
        return None
    return attacked, select_records(known.data, rng.permutation(theirs))
