"""Distances as they were understood: how long, in which unit, and whether they can be distances at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.records.checks.values import Lengths, Remark, show_length
from disclique.spaces import spaced
from disclique.spaces.base import Distances
from disclique.units import NO_UNIT
from disclique.values import FloatArray


@dataclass(frozen=True)
class LengthLimits:
    """From when on distances are remarkable."""

    looked_at_records: int = 1000
    zero_share: float = 0.05
    many_distances: int = 1000  # from which it says something how often one occurs
    few_different: int = 40
    halfway_km: float = 20_038.0  # no two places of the Earth lie farther apart
    longest_share: float = 0.05
    near_km: float = 1.0  # a file of many people with a median below this is a hamlet, or in another unit
    many_records: int = 100
    broken_share: float = 0.01  # of the triangles
    triangle_records: int = 60


LENGTH_LIMITS = LengthLimits()


def name_unit(distances: Distances) -> str:
    """Return the unit of distances as it is written behind a number: nothing where they have none or none was said."""
    said = distances.unit
    return "" if said in (None, NO_UNIT) else str(said)


def sample_lengths(distances: Distances) -> FloatArray:
    """Return the published distances between some records, evenly spaced."""
    block = _sample_block(distances)
    values = block[~np.eye(len(block), dtype=bool)]
    return values[~np.isnan(values)]


def _sample_block(distances: Distances) -> FloatArray:
    rows = spaced(distances.size, LENGTH_LIMITS.looked_at_records).astype(np.int32)
    return distances.block(rows, rows)


def inspect_lengths(data: Microdata, limits: LengthLimits = LENGTH_LIMITS) -> tuple[Lengths | None, list[Remark]]:
    """Look at the distances of a file; there are no lengths where none is published."""
    values = sample_lengths(data.distances)
    if not len(values):
        return None, []
    lengths = Lengths(float(values.min()), float(np.median(values)), float(values.max()), name_unit(data.distances))
    remarks = [*_odd(data, lengths, values, limits), *_in_unit(data, lengths, values, limits)]
    if data.distances.matrix() is not None and not data.distances.directed:
        block = _sample_block(data.distances)
        broken = _broken_triangles(block, limits.triangle_records)
        if broken >= limits.broken_share:
            squares = _broken_triangles(np.sqrt(block), limits.triangle_records) == 0
            code = mark("distances_squared") if squares else mark("distances_no_metric")
            remarks.append(Remark(Message(code, file=data.name, share=broken)))
    return lengths, remarks


def _odd(data: Microdata, found: Lengths, values: FloatArray, limits: LengthLimits) -> Iterator[Remark]:
    if found.most == 0:
        yield Remark(Message("distances_all_zero", file=data.name), mistake=True)
    elif found.least == found.most and len(values) > 2:
        yield Remark(Message("distances_all_equal", file=data.name, value=found.most), mistake=True)
    elif (zero := float((values == 0).mean())) > limits.zero_share:
        yield Remark(Message("distances_often_zero", file=data.name, share=zero))
    if data.distances.matrix() is not None and len(values) > limits.many_distances and found.most > 0:
        different = len(np.unique(values))
        if different < limits.few_different:
            yield Remark(Message("distances_in_classes", file=data.name, different=different))


def _in_unit(data: Microdata, found: Lengths, values: FloatArray, limits: LengthLimits) -> Iterator[Remark]:
    if found.unit != "km":
        return
    longest, many = show_length(found.most, "km"), len(values) > limits.many_distances
    if found.most > limits.halfway_km:
        yield Remark(Message("distances_round_the_earth", file=data.name, length=longest), mistake=True)
    elif many and (capped := float((values == found.most).mean())) > limits.longest_share:
        yield Remark(Message("distances_cut_off", file=data.name, share=capped, length=longest))
    elif data.distances.matrix() is not None and many and not np.any(values % 1):
        step = next(km for km in (100, 50, 20, 10, 5, 2, 1) if not np.any(values % km))
        yield Remark(Message("distances_rounded", file=data.name, step=step))
    elif 0 < found.median < limits.near_km and len(data) >= limits.many_records:
        length = show_length(found.median, "km")
        yield Remark(Message("distances_short", file=data.name, records=len(data), length=length))


def _broken_triangles(block: FloatArray, records: int) -> float:
    """Return the share of triangles with a side longer than the way round."""
    step = max(1, len(block) // records)
    few = block[::step, ::step][:records, :records]
    round_by = few[:, :, None] + few[None, :, :]  # from i over j to k
    direct = few[:, None, :]
    i, j, k = np.ogrid[: len(few), : len(few), : len(few)]
    there = (i < k) & (j != i) & (j != k) & ~np.isnan(round_by) & ~np.isnan(np.broadcast_to(direct, round_by.shape))
    return float((direct > round_by * (1 + 1e-9))[there].mean()) if there.any() else 0.0
