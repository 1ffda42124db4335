"""Who is exposed: the risk of every record, how it is spread over people, the groups most at risk, and a coarse map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.audits.definition import Audit, Varied
from disclique.audits.facts import CoarseMap, Decision, GroupRisk, MapCell, PeopleRisk
from disclique.audits.rates import ORACLE, find_best
from disclique.audits.release_records import Records, ReleaseRecord
from disclique.locale import mark
from disclique.masks.settings import Setting
from disclique.measures.disclosure import count_members, lay_cells, number_classes
from disclique.messages import Message, percent
from disclique.records.coarsening import AS_THEY_ARE, Recoding
from disclique.values import FloatArray

GROUPS = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, None))  # label group sizes shown together
FEW_SHARING = 9  # people of a label group that is small
SPARSE = ((0.0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))  # shares of the file, the sparsest first


@dataclass(frozen=True, eq=False)
class Findings:
    """The records of every setting that was tried, the decisions, and how the run went.

    ``trials`` are those of settings in which the oracle was asked for every person, ``varied`` those of the verdict's
    setting with one thing assumed otherwise.
    """

    records: Mapping[Setting, Records]
    decisions: tuple[Decision, ...]
    seconds: float
    notes: tuple[Message, ...] = ()
    trials: Mapping[Setting, Records] = field(default_factory=dict)
    varied: Mapping[Varied, Records] = field(default_factory=dict)


def add_trials(trials: Records) -> tuple[NDArray[np.int64], FloatArray]:
    """Add up how often every person was asked for, and how often named rightly."""
    there = [one.trials for one in trials.values() if one.trials is not None]
    if not there:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.sum([one.asked for one in there], axis=0), np.sum([one.right for one in there], axis=0)


def count_sharing(audit: Audit, recoding: Recoding = AS_THEY_ARE) -> NDArray[np.int64]:
    """Count how many released records share the label of each one, recoded in a way: its k-anonymity by labels."""
    return count_members(number_classes(recoding.apply(audit.target).labels))


@dataclass(frozen=True, eq=False)
class Group:
    """Records that have something in common: by ``label`` its size, by ``density`` how sparsely people live there.

    By ``numbers`` it is the size of what label and released numbers have in common.

    ``most`` is the largest number of records that share a label in it, None where there is no such number.
    """

    by: str
    name: str
    inside: NDArray[np.bool_]
    most: int | None = None


def list_group_names() -> list[str]:
    """Return what groups by their size are called, the smallest first."""
    return [(f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}") for low, high in GROUPS]


def group_by_label(sizes: NDArray[np.int64]) -> list[Group]:
    """Return the records by how many share their label."""
    names = list_group_names()
    inside = [(sizes >= low) & (sizes <= (high or np.inf)) for low, high in GROUPS]
    there = zip(GROUPS, names, inside, strict=True)
    return [Group("label", name, found, high) for (_, high), name, found in there if found.any()]


def group_by_numbers(audit: Audit, setting: Setting) -> list[Group]:
    """Return the records by how many share their label and what is released of their numbers, without noise."""
    released = setting.numbers.apply(setting.labels.apply(audit.target), audit.chance.rng("groups"))
    if not any(one.law.sharp for one in released.numbers.columns):
        return []
    sizes = count_members(number_classes(lay_cells(released)))
    return [replace(group, by="numbers") for group in group_by_label(sizes)]


def group_by_distance(audit: Audit) -> list[Group]:
    """Return the records by how far their fifth nearest other record is: the sparsest tenth first."""
    source, size = audit.target.distances, len(audit.target)
    if size < 20 or not source.are_published:
        return []
    everybody, reach = np.arange(size, dtype=np.int32), np.empty(size)
    step = max(4_000_000 // size, 1)
    for first in range(0, size, step):
        rows = everybody[first : first + step]
        found = source.block(rows, everybody)
        reach[rows] = np.partition(np.where(np.isnan(found), np.inf, found), 5, axis=1)[:, 5]
    rank = np.empty(size)
    rank[np.lexsort((everybody, -reach))] = (np.arange(size) + 0.5) / size
    names = [mark("farthest 10 %"), mark("10-25 %"), mark("25-50 %"), mark("50-75 %"), mark("nearest 25 %")]
    inside = [(rank >= low) & (rank < high) for low, high in SPARSE]
    return [Group("density", name, found) for name, found in zip(names, inside, strict=True) if found.any()]


@dataclass(frozen=True, eq=False)
class RecordRisks:
    """The risk of every record under one setting: how often it was asked for, its risk (NaN: never), and by what.

    ``told`` has for every sensitive column the chance of each record that its value is told (NaN: not measured).
    """

    spec: str
    source: str
    asked: NDArray[np.int64]
    risk: FloatArray
    by_attack: dict[str, FloatArray]
    told: dict[str, FloatArray] = field(default_factory=dict)


def measure_people(audit: Audit, found: Findings, setting: Setting) -> RecordRisks:
    """Measure the risk of every record, and how surely its sensitive values are told."""
    risks = _measure_risks(audit, found, setting)
    told = {one.name: _measure_told(k, one.codes, found, setting) for k, one in enumerate(audit.sensitive)}
    if risks.source == ORACLE:  # whoever is identified is read
        told = {name: np.where(np.isnan(chance), chance, np.fmax(chance, risks.risk)) for name, chance in told.items()}
    return replace(risks, told=told)


def _measure_told(place: int, codes: NDArray[np.int64], found: Findings, setting: Setting) -> FloatArray:
    """Return the chance of every record that its value of a column is told; NaN where it has none or was not asked."""
    trials = [one.trials for one in found.trials.get(setting, {}).values() if one.trials is not None]
    asked = np.sum([one.asked for one in trials], axis=0) if trials else np.zeros(len(codes), dtype=np.int64)
    if (asked > 0).any():
        right = np.sum([one.told[place].right for one in trials], axis=0)
        share = np.divide(right, asked, out=np.full(len(codes), np.nan), where=asked > 0)
    else:
        kept = [(one, one.inference[place].named) for one in found.records[setting].values()]
        share = _average(len(codes), [(record, named) for record, named in kept if named])[1]
    return np.where(codes >= 0, share, np.nan)


def _measure_risks(audit: Audit, found: Findings, setting: Setting) -> RecordRisks:
    """Measure the risk of every record: by the oracle, in many draws where it was asked so; else by the best attack."""
    records, size, names = found.records[setting], len(audit.target), audit.plan.attack_names
    by_attack = {
        name: _average(
            size, [(record, one.named) for record in records.values() for one in record.attempts if one.attack == name]
        )[1]
        for name in names
    }
    asked, hits = add_trials(found.trials.get(setting, {}))
    if (asked > 0).any():
        with np.errstate(invalid="ignore"):
            return RecordRisks(str(setting), ORACLE, asked, hits / np.where(asked > 0, asked, np.nan), by_attack)
    kept = [(record, one.named) for record in records.values() if (one := record.oracle) is not None and one.named]
    if kept:
        times, risk = _average(size, kept)
        return RecordRisks(str(setting), ORACLE, times, risk, by_attack)
    best = find_best(records, names, audit.plan.scenario)
    attacked = [record for record in records.values() if record.attempts] or list(records.values())
    times, none = _average(size, [(record, ()) for record in attacked])
    return RecordRisks(
        str(setting),
        "" if best is None else best.attack,
        times,
        none if best is None else by_attack[best.attack],
        by_attack,
    )


def _average(
    size: int, releases: Sequence[tuple[ReleaseRecord, Sequence[tuple[int, float]]]]
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return how often each person was asked for in some releases, and the mean of their chances (NaN: never)."""
    times, right = np.zeros(size, dtype=np.int64), np.zeros(size)
    for record, named in releases:
        times[list(record.common)] += 1
        for row, chance in named:
            right[row] += chance
    with np.errstate(invalid="ignore"):
        return times, right / np.where(times > 0, times, np.nan)


def describe_people(found: RecordRisks, groups: Sequence[Group]) -> PeopleRisk:
    """Describe how the risk is spread over people, with what a mean would hide."""
    there = ~np.isnan(found.risk)
    risk = found.risk[there]
    mean, above = float(risk.mean()), int((risk > 0.5).sum())
    apart = []
    sparse = next((g for g in groups if g.by == "density"), None)
    if sparse is not None and (sparse.inside & there).any():
        apart.append((mark("of_the_farthest_tenth"), float(found.risk[sparse.inside & there].mean())))
    few = [g.inside for g in groups if g.by == "label" and g.most is not None and g.most <= FEW_SHARING]
    inside = np.any(few, axis=0) & there if few else np.zeros(len(there), dtype=bool)
    if inside.any():
        apart.append((mark("of_those_with_rare_labels"), float(found.risk[inside].mean())))
    shown = percent(mean)
    parts = [Message(code, share=share) for code, share in apart if percent(share) != shown]  # else nothing is hidden
    by_oracle = found.source == ORACLE
    if parts:
        parts.append(Message("people_above_half", count=above) if above else Message("nobody_above_half"))
        message = Message(
            mark("people_at_risk_but_by_oracle") if by_oracle else mark("people_at_risk_but"), share=mean, parts=parts
        )
    else:
        who = Message("people_are", count=above) if above else Message("nobody_is")
        message = Message(
            mark("people_at_risk_by_oracle") if by_oracle else mark("people_at_risk"), share=mean, who=who
        )
    points = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "highest": 1.0}
    quantiles = {name: float(np.quantile(risk, at)) for name, at in points.items()}
    trials = int(found.asked[there].min())
    return PeopleRisk(found.spec, found.source, trials, int(there.sum()), mean, quantiles, above, message)


def average_groups(found: RecordRisks, groups: Sequence[Group]) -> list[GroupRisk]:
    """Average the risk of the records by group, the most exposed group of each kind first."""
    there = [(group, found.risk[group.inside & ~np.isnan(found.risk)]) for group in groups]
    rows = [
        GroupRisk(found.spec, group.by, group.name, int(group.inside.sum()), float(risk.mean()), float(risk.max()))
        for group, risk in there
        if len(risk)
    ]
    return sorted(rows, key=lambda row: (row.by, -row.risk))


def tabulate_people(
    audit: Audit, risks: Mapping[Setting, RecordRisks], sizes: Mapping[Recoding, NDArray[np.int64]]
) -> pd.DataFrame:
    """Return a row for each record and setting: row number, id, k-anonymity of its label, and its risk by attack."""
    parts = [
        pd.DataFrame(
            {
                "row": np.arange(1, len(audit.target) + 1),
                "id": [str(person) for person in audit.target.ids],
                "label_k": sizes[setting.labels],
                "mask": found.spec,
                "asked": found.asked if len(found.asked) else 0,
                "risk": found.risk,
                "by": found.source,
                **{f"risk_{name}": share for name, share in found.by_attack.items()},
                **{f"told_{name}": share for name, share in found.told.items()},
            }
        )
        for setting, found in risks.items()
    ]
    return pd.concat(parts, ignore_index=True)


WORLD = ((-180.0, 180.0), (-90.0, 90.0))
_SAME = 1e-9


@dataclass(frozen=True)
class MapGrid:
    """``parts``: lines of the wide grid across the longer side of the file, at the least; ``fine``: lines between two.

    Edges of cells lie on lines of a fixed grid with round numbers, never at anybody's place. A rectangle is halved
    along the line nearest to its middle that leaves enough people on both sides, the longer side first. The rectangles
    cover the whole box, so that nothing is said about which parts of one are empty, and the box itself ends at lines of
    the wide grid: who lives farthest out is not shown either.
    """

    parts: int = 4
    fine: int = 10


MAP_GRID = MapGrid()


@dataclass(frozen=True)
class _Box:
    """Grid lines from ``low`` to ``high`` on both axes, and the people between them."""

    low: tuple[int, int]
    high: tuple[int, int]
    rows: NDArray[np.int64]

    def split(self, axis: int, line: int, below: NDArray[np.bool_]) -> tuple[_Box, _Box]:
        high = tuple(line if k == axis else self.high[k] for k in (0, 1))
        low = tuple(line if k == axis else self.low[k] for k in (0, 1))
        return _Box(self.low, high, self.rows[below]), _Box(low, self.high, self.rows[~below])  # type: ignore[arg-type]


def draw_coarse_map(
    places: FloatArray, risk: FloatArray, *, k: int, spec: str = "", earth: bool = True, grid: MapGrid = MAP_GRID
) -> CoarseMap | None:
    """Return a map that is safe to share: rectangles with at least k people each, and the mean risk of each.

    None where fewer than 2k have a risk (NaN: not measured).

    >>> rng = np.random.default_rng(0)
    >>> found = draw_coarse_map(rng.uniform(5, 15, (100, 2)), rng.random(100), k=10)
    >>> min(cell.people for cell in found.cells) >= 10, sum(cell.people for cell in found.cells)
    (True, 100)
    """
    there = ~np.isnan(risk)
    extent = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    if int(there.sum()) < 2 * k or not (math.isfinite(extent) and extent > 0):
        return None
    wide = _round_up(extent / grid.parts)
    step = wide / grid.fine
    if step < abs(places).max() * 1e-12:  # the grid is finer than numbers are
        return None
    cell = np.floor(places / step + _SAME).astype(np.int64)  # a place on a line counts to the east and north
    low = np.floor(places.min(axis=0) / wide + _SAME).astype(np.int64) * grid.fine
    high = (np.floor(places.max(axis=0) / wide + _SAME).astype(np.int64) + 1) * grid.fine
    if earth:
        ends = np.round(np.array(WORLD) / step).astype(np.int64)
        low, high = np.maximum(low, ends[:, 0]), np.minimum(high, ends[:, 1])
        cell = np.clip(cell, ends[:, 0], ends[:, 1] - 1)
    whole = _Box(_pair(low), _pair(high), np.arange(len(places)))
    return CoarseMap(spec, k, tuple(_describe(box, step, risk) for box in _divide(whole, cell, there, k)))


def _pair(values: NDArray[np.int64]) -> tuple[int, int]:
    return int(values[0]), int(values[1])


def _round_up(length: float) -> float:
    """Return the next number 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(length))
    return next(part * power for part in (1, 2, 5, 10) if part * power >= length * (1 - _SAME))


def _divide(whole: _Box, cell: NDArray[np.int64], there: NDArray[np.bool_], k: int) -> list[_Box]:
    """Halve boxes as long as both halves have k people whose risk is known."""
    done, waiting = [], [whole]
    while waiting:
        box = waiting.pop()
        sides = [box.high[axis] - box.low[axis] for axis in (0, 1)]
        for axis in sorted((0, 1), key=lambda one: -sides[one]):
            halves = _halve(box, axis, cell, there, k)
            if halves is not None:
                waiting += halves
                break
        else:
            done.append(box)
    return sorted(done, key=lambda box: (box.low, box.high))


def _halve(box: _Box, axis: int, cell: NDArray[np.int64], there: NDArray[np.bool_], k: int) -> tuple[_Box, _Box] | None:
    """Cut a box at the line nearest to its middle that leaves enough on both sides; None if none does."""
    middle = (box.low[axis] + box.high[axis]) / 2
    at = cell[box.rows, axis]
    for line in sorted(range(box.low[axis] + 1, box.high[axis]), key=lambda one: (abs(one - middle), one)):
        below = at < line
        counted = there[box.rows]
        if min(int((below & counted).sum()), int((~below & counted).sum())) >= k:
            return box.split(axis, line, below)
    return None


def _describe(box: _Box, step: float, risk: FloatArray) -> MapCell:
    (west, south), (east, north) = ([round(line * step, 12) for line in ends] for ends in (box.low, box.high))
    return MapCell(west, south, east, north, len(box.rows), float(np.nanmean(risk[box.rows])))
