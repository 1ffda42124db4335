"""Distances as they were understood: how long, in which unit, and whether they can be distances at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from disclique.messages import percent
from disclique.model import Distances, FloatArray, Microdata
from disclique.records.checks.values import Lengths, Remark, show_length
from disclique.spaces import spaced
from disclique.units import NO_UNIT

LOOKED_AT = 1000  # records between which distances are looked at
HALFWAY = 20_038.0  # km: no two places of the Earth lie farther apart
CAPPED = 0.05  # share of the distances that may be the longest one
NEAR = 1.0  # km: a file of many people with a median below this is a hamlet, or in another unit


@dataclass(frozen=True)
class Span:
    """The lengths of a file, and what is remarkable about them."""

    lengths: Lengths
    remarks: tuple[Remark, ...]


def name_unit(distances: Distances) -> str:
    """Return the unit of distances as it is written behind a number: nothing where they have none or none was said."""
    said = distances.unit
    return "" if said in (None, NO_UNIT) else str(said)


def sample_block(distances: Distances) -> FloatArray:
    """Return the distances between some records, evenly spaced."""
    rows = spaced(distances.size, LOOKED_AT).astype(np.int32)
    return distances.block(rows, rows)


def inspect_lengths(data: Microdata) -> Span | None:
    """Look at the distances of a file; None where none is published."""
    block = sample_block(data.distances)
    values = block[~np.eye(len(block), dtype=bool)]
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    lengths = Lengths(float(values.min()), float(np.median(values)), float(values.max()), name_unit(data.distances))
    remarks = [*_odd(data, lengths, values), *_in_unit(data, lengths, values)]
    if data.distances.matrix() is not None and not data.distances.directed:
        remarks += list(_no_metric(data.name, block))
    return Span(lengths, tuple(remarks))


def _odd(data: Microdata, found: Lengths, values: FloatArray) -> Iterator[Remark]:
    if found.most == 0:
        yield Remark(f"{data.name}: all distances are 0", mistake=True)
    elif found.least == found.most and len(values) > 2:
        yield Remark(f"{data.name}: all distances are {found.most:g}", mistake=True)
    elif (zero := float((values == 0).mean())) > 0.05:
        yield Remark(f"{data.name}: {percent(zero)} of the distances are 0: does 0 stand for something else?")
    given = data.distances.matrix() is not None
    if given and len(values) > 1000 and len(np.unique(values)) < 40 and found.most > 0:
        yield Remark(
            f"{data.name}: there are only {len(np.unique(values))} different distances: they have been rounded or "
            "classed before, so that what is audited is less than the truth"
        )


def _step(values: FloatArray) -> int:
    """Return the whole kilometres of which all distances are multiples; 0 if there are none."""
    return next((step for step in (100, 50, 20, 10, 5, 2, 1) if not np.any(values % step)), 0)


def _in_unit(data: Microdata, found: Lengths, values: FloatArray) -> Iterator[Remark]:
    if found.unit != "km":
        return
    if found.most > HALFWAY:
        yield Remark(
            f"{data.name}: a distance of {show_length(found.most, 'km')} is longer than halfway round the Earth: are "
            "these metres?",
            mistake=True,
        )
    elif len(values) > 1000 and (capped := float((values == found.most).mean())) > CAPPED:
        yield Remark(
            f"{data.name}: {percent(capped)} of the distances are the longest one, {show_length(found.most, 'km')}: "
            "has somebody cut off longer ones, or does it stand for something else?"
        )
    elif data.distances.matrix() is not None and len(values) > 1000 and (step := _step(values)):
        yield Remark(
            f"{data.name}: all distances are multiples of {step} km: they have been rounded before, so that what is "
            "audited is less than the truth"
        )
    elif 0 < found.median < NEAR and len(data) >= 100:
        yield Remark(
            f"{data.name}: half of the distances between {len(data)} records are shorter than "
            f"{show_length(found.median, 'km')}: is the unit right?"
        )


def _no_metric(name: str, block: FloatArray) -> Iterator[Remark]:
    """Count triangles with a side longer than the way round."""
    broken = _broken_triangles(block)
    if broken < 0.01:
        return
    squares = _broken_triangles(np.sqrt(block)) == 0
    hint = "are these squares of distances?" if squares else "is noise in them, or are they no distances?"
    yield Remark(f"{name}: in {percent(broken)} of the triangles one side is longer than the way round: {hint}")


def _broken_triangles(block: FloatArray) -> float:
    few = block[:: max(1, len(block) // 60), :: max(1, len(block) // 60)][:60, :60]
    round_by = few[:, :, None] + few[None, :, :]  # from i over j to k
    direct = few[:, None, :]
    i, j, k = np.ogrid[: len(few), : len(few), : len(few)]
    there = (i < k) & (j != i) & (j != k) & ~np.isnan(round_by) & ~np.isnan(np.broadcast_to(direct, round_by.shape))
    return float((direct > round_by * (1 + 1e-9))[there].mean()) if there.any() else 0.0
