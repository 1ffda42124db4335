"""Two files side by side: whether their ids, labels, places and distances can be those of the same people.

An attack looks for exactly these people. Where one file has another label for them, or another place, they are not
found, and the release looks safe because of the file it is held against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.records.checks.lengths import name_unit, sample_lengths
from disclique.records.checks.numbers import compare_numbers
from disclique.records.checks.places import inspect_places
from disclique.records.checks.values import Meeting, Remark, say_shares, show_length, some
from disclique.records.joins import find_twins
from disclique.records.labels import label_tuples
from disclique.spaces import read_in_blocks, spaced
from disclique.spaces.base import ENCODINGS
from disclique.spaces.metrics import paired
from disclique.values import FloatArray, IntArray

Rows = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class PairLimits:
    """From when on it is remarkable how two files differ."""

    strange_share: float = 0.1  # of the records whose label value the other file does not have
    misspelt_share: float = 0.02  # of the ids, from which it can only be a mistake
    unit_ratio: float = 30.0  # of the medians
    sure_unit_ratio: float = 300.0
    people: int = 10  # in both files, from which agreement says something
    same_share: float = 0.96  # of the shared people whose labels should coincide
    other_people: int = 3  # who differ before anything is said
    by_chance: float = 0.1  # more than which labels should coincide beyond chance
    related: float = 0.5  # correlation of the distances of the same people
    alike: float = 0.95  # the same, of those who have not moved
    likely_ratio: tuple[float, float] = (0.9, 1.1)  # of one distance in two files
    possible_ratio: tuple[float, float] = (0.65, 1.55)  # by road it is farther, but not so much; a mile is 1.6 km
    astray_share: float = 0.05  # of the people who lie elsewhere
    blurred: float = 0.3  # error of places, in distances to the nearest person of the same label, that mixes people up
    double_share: float = 0.1  # of records that are people of the other file under another id
    own_places_share: float = 0.8  # below it places are shared by many
    sampled_people: int = 300


PAIR_LIMITS = PairLimits()


@dataclass(frozen=True)
class Encounter:
    """How two files meet."""

    shared_ids: int | None
    meetings: tuple[Meeting, ...]
    remarks: tuple[Remark, ...]


def inspect_pair(
    target: Microdata, known: Microdata, *, same_ids: bool = False, forgiven: Collection[str] = (), errors: float = 0.0
) -> Encounter:
    """Look at a release and a known file side by side.

    With ``same_ids`` an id means the same person in both; ``forgiven`` are labels that are compared with errors, and
    ``errors`` is the share of wrong labels that was declared.
    """
    meetings, remarks = [], []
    for column in target.labels.columns:
        if column in known.labels.columns:
            meetings.append(_meet(str(column), target.labels[column], known.labels[column]))
            if column not in forgiven:
                remarks += list(_values(target, known, str(column), meetings[-1]))
    remarks += [*_far_apart(target, known), *_units(target, known)]
    if not same_ids:
        return Encounter(None, tuple(meetings), (*remarks, *compare_numbers(target, known, None)))
    where = {person: row for row, person in enumerate(known.ids)}
    both = [(row, where[person]) for row, person in enumerate(target.ids) if person in where]
    here, there = np.array(both, dtype=np.int32).reshape(-1, 2).T
    remarks += [*_ids(target, known, len(here)), *find_doubles(target, known)]
    remarks += compare_numbers(target, known, (here, there))
    if len(here) >= PAIR_LIMITS.people:
        remarks += compare_people(target, known, (here, there), forgiven=forgiven, errors=errors)
    return Encounter(len(here), tuple(meetings), tuple(remarks))


def _meet(column: str, target: pd.Series, known: pd.Series) -> Meeting:
    left, right = (Counter(value for value in side if value is not None) for side in (target, known))
    mine, theirs = set(left) - set(right), set(right) - set(left)
    return Meeting(
        column,
        len(left),
        len(mine),
        sum(left[value] for value in mine),
        len(right),
        len(theirs),
        sum(right[value] for value in theirs),
    )


def _values(target: Microdata, known: Microdata, column: str, found: Meeting) -> Iterator[Remark]:
    """Say whether the values of a label meet."""
    if not found.target_values or not found.known_values:
        return
    left, right = ({value for value in side.labels[column] if value is not None} for side in (target, known))
    folds, twins = find_twins(left - right, right - left)
    files = {"column": column, "target": target.name, "known": known.name}
    written = {"twins": some(twins), "folds": folds}
    if not left & right:
        both = files | {"mine": some(sorted(left, key=str)), "theirs": some(sorted(right, key=str))}
        message = Message("label_values_never_meet_but", both, **written) if twins else None
        yield Remark(message or Message("label_values_never_meet", both), mistake=True)
    elif twins:
        only = found.target_only
        yield Remark(Message("label_values_differ_in_writing", files, only=only, **written), mistake=True)
    elif max(found.target_records / len(target), found.known_records / len(known)) > PAIR_LIMITS.strange_share:
        mine, theirs = some(sorted(left - right, key=str)), some(sorted(right - left, key=str))
        yield Remark(Message("label_values_missing", files, meeting=found.message, mine=mine, theirs=theirs))


def _ids(target: Microdata, known: Microdata, shared: int) -> Iterator[Remark]:
    """Say whether ids look like the same ones written in another way."""
    mine, theirs = set(target.ids) - set(known.ids), set(known.ids) - set(target.ids)
    folds, twins = find_twins(theirs, mine)
    if twins:
        share = len(twins) / max(len(twins) + shared, 1)
        files = {"known": known.name, "target": target.name}
        message = Message("ids_differ_in_writing", files, ids=len(twins), folds=folds)
        yield Remark(message, mistake=share > PAIR_LIMITS.misspelt_share)


def _far_apart(target: Microdata, known: Microdata) -> Iterator[Remark]:
    """Say whether two files lie in different parts of the world."""
    ours, others = _box(target), _box(known)
    if ours is None or others is None or ours[2] != others[2]:
        return
    (low, high, _), (other_low, other_high, _) = ours, others
    if (low > other_high).any() or (other_low > high).any():
        extents = [inspect_places(data)[0] for data in (target, known)]
        mine, theirs = (say_shares(one.where[:2]) or one.message for one in extents if one is not None)
        files = {"target": target.name, "known": known.name}
        yield Remark(Message("no_area_in_common", files, mine=mine, theirs=theirs), mistake=True)


def _box(data: Microdata) -> tuple[FloatArray, FloatArray, bool] | None:
    """Return the ends of the places of a file, and whether they are degrees; None where it has no map."""
    places = data.distances.points()
    if places is None or not places.is_map:
        return None
    return places.coordinates.min(axis=0), places.coordinates.max(axis=0), places.on_earth


def _units(target: Microdata, known: Microdata) -> Iterator[Remark]:
    """Compare the lengths of two files where both have some."""
    if target.distances.on_earth:
        return
    lengths = [sample_lengths(data.distances) for data in (target, known)]
    middle = [float(np.median(one)) if len(one) else 0.0 for one in lengths]
    if not all(middle):
        return
    ratio = middle[1] / middle[0]
    times = max(ratio, 1 / ratio)
    if times > PAIR_LIMITS.unit_ratio:
        shown = [show_length(m, name_unit(data.distances)) for m, data in zip(middle, (target, known), strict=True)]
        files = {"target": target.name, "known": known.name}
        message = Message("medians_differ", files, mine=shown[0], theirs=shown[1])
        yield Remark(message, mistake=times > PAIR_LIMITS.sure_unit_ratio)


def compare_people(
    target: Microdata, known: Microdata, rows: Rows, *, forgiven: Collection[str] = (), errors: float = 0.0
) -> list[Remark]:
    """Compare the labels, distances and places that two files give the same people; ``rows`` say who they are."""
    columns = [str(column) for column in target.labels.columns if column not in forgiven]
    said = [remark for column in columns for remark in _agreement(target, known, column, rows, errors)]
    return [*(said or _together(target, known, columns, rows, errors)), *_moved(target, known, rows)]


def find_doubles(target: Microdata, known: Microdata) -> list[Remark]:
    """Find records that are equal in everything but their id to one of the other file that has a person's own place.

    As strangers they would be taken for look-alikes, one for each person who is released.
    """
    a, b = target.distances.points(), known.distances.points()
    if a is None or b is None or not len(target.labels.columns):
        return []
    mine, theirs = (
        list(zip(label_tuples(data.labels), map(str, side.identities()), strict=True))
        for data, side in ((target, a), (known, b))
    )
    often = Counter(mine)
    if sum(count == 1 for count in often.values()) < PAIR_LIMITS.own_places_share * len(target):
        return []
    released, held = set(target.ids), set(known.ids)
    free = {key for key, person in zip(mine, target.ids, strict=True) if person not in held}
    twice = sum(key in free for key, person in zip(theirs, known.ids, strict=True) if person not in released)
    if twice < max(PAIR_LIMITS.other_people, PAIR_LIMITS.double_share * min(len(target), len(known))):
        return []
    return [Remark(Message("records_are_doubles", twice=twice, known=known.name, target=target.name))]


def _agreement(target: Microdata, known: Microdata, column: str, rows: Rows, errors: float) -> Iterator[Remark]:
    """Compare the labels of the same people in both files."""
    pairs = [
        (a, b)
        for a, b in zip(target.labels[column].iloc[rows[0]], known.labels[column].iloc[rows[1]], strict=True)
        if a is not None and b is not None
    ]
    if len(pairs) < PAIR_LIMITS.people:
        return
    same = sum(a == b for a, b in pairs) / len(pairs)
    if same >= min(PAIR_LIMITS.same_share, 1 - 2 * errors) or (1 - same) * len(pairs) < PAIR_LIMITS.other_people:
        return
    recoded, left, right = _recoding(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(left[value] * right[value] for value in left) / len(pairs) ** 2
    here = {"column": column, "share": same, "people": len(pairs)}
    if recoded:
        shown = [Message("value_is_value", mine=a, theirs=b) for a, b in recoded[:3]]
        files = {"target": target.name, "known": known.name}
        yield Remark(Message("label_coded_otherwise", here, **files, examples=shown), mistake=True)
    elif same <= by_chance + PAIR_LIMITS.by_chance:
        yield Remark(Message("label_coincides_by_chance", here), mistake=True)
    else:
        yield Remark(Message("label_has_errors", here, error=round(1 - same, 2)))


def _recoding(pairs: Sequence[tuple[Hashable, Hashable]]) -> list[tuple[Hashable, Hashable]]:
    """Find values of the one file that nearly always are one other value of the other file."""
    found = []
    for value in dict.fromkeys(a for a, _ in pairs):
        there = Counter(b for a, b in pairs if a == value)
        other, often = there.most_common(1)[0]
        total = sum(there.values())
        spread = Counter(b for _, b in pairs)[other] / len(pairs)
        if other != value and total >= 5 and often / total > 0.8 and spread < 0.8:
            found.append((value, other))
    return found


def _together(
    target: Microdata, known: Microdata, columns: Sequence[str], rows: Rows, errors: float
) -> Iterator[Remark]:
    """Count the people with any label that differs, where no label stands out."""
    mine, theirs = (
        data.labels[list(columns)].iloc[side].to_numpy(dtype=object)
        for data, side in zip((target, known), rows, strict=True)
    )
    given = np.array(
        [
            [a is not None and b is not None for a, b in zip(*pair, strict=True)]
            for pair in zip(mine, theirs, strict=True)
        ],
        dtype=bool,  # also of no labels at all
    )
    other = int(((mine != theirs) & given.reshape(mine.shape)).any(axis=1).sum())
    expected = min(PAIR_LIMITS.same_share, (1 - 2 * errors) ** len(columns))
    if other >= PAIR_LIMITS.other_people and other / len(mine) > 1 - expected:
        about = {"other": other, "people": len(mine), "known": known.name}
        error = round(other / len(mine) / len(columns), 3)
        yield Remark(Message("people_have_other_labels", about, error=error))


def _moved(target: Microdata, known: Microdata, rows: Rows) -> Iterator[Remark]:
    """Say whether the people whom both files have lie elsewhere in one of them."""
    few = spaced(len(rows[0]), PAIR_LIMITS.sampled_people)
    here, there = rows[0][few], rows[1][few]
    a, b = target.distances.block(here, here), known.distances.block(there, there)
    upper = np.triu(np.ones(a.shape, dtype=bool), 1) & ~np.isnan(a) & ~np.isnan(b)
    if upper.sum() < PAIR_LIMITS.people or not a[upper].std() or not b[upper].std():
        return
    alike = float(np.corrcoef(a[upper], b[upper])[0, 1])
    ratio = float(np.median(b[upper & (a > 0)] / a[upper & (a > 0)]))
    if alike < PAIR_LIMITS.related:
        yield Remark(Message("distances_unrelated", alike=alike), mistake=True)
    elif (target.distances.kind == ENCODINGS) != (known.distances.kind == ENCODINGS):
        return  # those of encodings and of the texts themselves have each a scale of their own
    elif not PAIR_LIMITS.likely_ratio[0] < ratio < PAIR_LIMITS.likely_ratio[1]:
        message = Message("distances_of_other_length", ratio=ratio, known=known.name, target=target.name)
        yield Remark(message, mistake=not PAIR_LIMITS.possible_ratio[0] < ratio < PAIR_LIMITS.possible_ratio[1])
    else:
        said = list(_displaced(target, known, (here, there), np.abs(a - b), float(np.median(a[upper]))))
        yield from said or _unlike(a, b)


def _unlike(a: FloatArray, b: FloatArray) -> Iterator[Remark]:
    """Say whether distances differ although nobody stands out; the few who have moved are left aside."""
    differ = _middles(np.abs(a - b))
    rest = np.flatnonzero(differ <= np.nanquantile(differ, 1 - PAIR_LIMITS.astray_share))
    a, b = a[np.ix_(rest, rest)], b[np.ix_(rest, rest)]
    upper = np.triu(np.ones(a.shape, dtype=bool), 1) & ~np.isnan(a) & ~np.isnan(b)
    alike = float(np.corrcoef(a[upper], b[upper])[0, 1]) if upper.any() and a[upper].std() and b[upper].std() else 1.0
    if alike < PAIR_LIMITS.alike:
        yield Remark(Message("distances_differ", alike=alike))


def _displaced(target: Microdata, known: Microdata, rows: Rows, differ: FloatArray, typical: float) -> Iterator[Remark]:
    """Say whether people lie elsewhere although the distances correspond on the whole: few of them, or a little."""
    near = nearest_alike(target, rows[0])
    near = near[np.isfinite(near) & (near > 0)]
    unit, vague = name_unit(target.distances), PAIR_LIMITS.blurred * float(np.median(near)) if len(near) else np.inf
    vectors = _vectors(target, known, rows)
    if vectors is None:  # whoever moves changes their distances by some two thirds of that
        apart = 1.5 * _middles(differ)
        same_way = False
    else:
        apart = np.hypot(*vectors.T)
        middle = np.median(vectors, axis=0)
        same_way = float(np.median(np.hypot(*(vectors - middle).T))) < 0.2 * float(np.hypot(*middle))
    usual = float(np.nanmedian(apart))
    if usual > vague:
        message = Message(
            mark("people_shifted") if same_way else mark("people_blurred"), length=show_length(usual, unit)
        )
        yield Remark(message, mistake=same_way or usual > typical / 2)
        return
    lost = int((apart > max(vague, 10 * usual)).sum())
    if lost > max(PAIR_LIMITS.other_people, PAIR_LIMITS.astray_share * len(apart)):
        yield Remark(Message("people_elsewhere", lost=lost, people=len(apart), known=known.name))


def _middles(differ: FloatArray) -> FloatArray:
    """Return the median of each row without its own entry; nan where nothing is published."""
    others = np.where(np.eye(len(differ), dtype=bool), np.nan, differ)
    found = np.full(len(others), np.nan)
    there = ~np.isnan(others).all(axis=1)
    found[there] = np.nanmedian(others[there], axis=1)
    return found


def nearest_alike(data: Microdata, rows: IntArray) -> FloatArray:
    """Return how far the nearest person of the same label is from each of some records."""
    label, nearest = number_labels(data), [np.zeros(0)]
    for here, block in read_in_blocks(data.distances, rows):
        found = np.where((label[here][:, None] != label[None, :]) | np.isnan(block), np.inf, block)
        found[np.arange(len(here)), here] = np.inf
        nearest.append(found.min(axis=1))
    return np.concatenate(nearest)


def number_labels(data: Microdata) -> IntArray:
    """Return a number for the label of each record, the same for equal ones."""
    labels = label_tuples(data.labels)
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    return np.array([codes[label] for label in labels], dtype=np.int32)


def _vectors(target: Microdata, known: Microdata, rows: Rows) -> FloatArray | None:
    """Return from where to where people move between two maps, in the unit of the distances; None without two maps."""
    mine, theirs = target.distances.points(), known.distances.points()
    if mine is None or theirs is None or not mine.is_map or mine.metric != theirs.metric:
        return None
    a, b = mine.coordinates[rows[0]], theirs.coordinates[rows[1]]
    if a.shape[1] != 2:
        return None
    step = b - a
    along = np.column_stack(
        [
            paired(a, np.column_stack([b[:, 0], a[:, 1]]), mine.metric),
            paired(np.column_stack([b[:, 0], a[:, 1]]), b, mine.metric),
        ]
    )
    return np.asarray(np.sign(step) * along)
