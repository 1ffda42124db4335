"""A map in parts: towns between which nothing is published, or bodies that hang together as if by a hinge.

Each part that the published distances determine is a map of its own, with a motion and a mirror of its own. Records of
parts too small to be laid anywhere, and those that are free to move, are counted and said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.messages import Message
from disclique.spaces.base import Distances
from disclique.spaces.lazy import Hidden
from disclique.spaces.rebuild.incomplete import (
    MapNotFound,
    find_bodies,
    place_roughly,
    read_graph,
    sample_lengths,
)
from disclique.spaces.rebuild.landmarks import REBUILDING, Rebuilding, TargetMap
from disclique.spaces.rebuild.least_squares import Lengths, to_chords
from disclique.values import Json

Ints = NDArray[np.int64]


class MapPart(NamedTuple):
    """The map of some of the records."""

    rows: Ints
    map: TargetMap


@dataclass(frozen=True)
class Unplaced:
    """How many of the released records lie on no map, by the reason."""

    records: int  # of the release
    small: int = 0  # in parts of too few records
    free: int = 0  # free to move or to flip over
    missed: int = 0  # in parts whose map was not found, although it is determined
    later: int = 0  # in parts that were not attacked, as there were too many
    how: Rebuilding = REBUILDING

    @property
    def total(self) -> int:
        """How many lie on no map at all."""
        return self.small + self.free + self.missed + self.later

    def explain(self) -> Message | None:
        """Say it in a clause; None if all are placed."""
        reasons = (
            (self.small, Message("records_in_small_parts", records=self.small, least=self.how.part_records)),
            (self.free, Message("records_free_to_move", records=self.free)),
            (self.missed, Message("records_in_missed_parts", records=self.missed)),
            (self.later, Message("records_in_later_parts", records=self.later, most=self.how.most_parts)),
        )
        if not self.total:
            return None
        said = [message for count, message in reasons if count]
        return Message("records_on_no_map", total=self.total, records=self.records, reasons=said)

    def to_dict(self) -> Json:
        """Return the numbers in plain types."""
        return {"small": self.small, "free": self.free, "missed": self.missed, "later": self.later}


def rebuild_parts(
    published: Distances, radius: float, rebuild: Callable[[Distances], TargetMap], how: Rebuilding = REBUILDING
) -> tuple[list[MapPart], Unplaced]:
    """Rebuild the map of every part that the published distances determine, the largest first.

    ``rebuild`` makes the map of distances that determine one.
    """
    n, graph, least = published.size, read_graph(published, how), how.part_records
    bodies: list[Ints] = []
    small = 0
    for which, size in enumerate(np.bincount(graph.part)):
        members = np.flatnonzero(graph.part == which)
        if size < least:
            small += int(size)
            continue
        pairs = graph.within(members)
        lengths = Lengths(pairs.i, pairs.j, to_chords(pairs.arc, radius), len(members), radius, how)
        if not lengths.chord.any():  # all at one place: nothing to align
            small += int(size)
            continue
        if len(pairs.i) == size * (size - 1) // 2:
            bodies.append(members)
            continue
        sample = sample_lengths(lengths)
        few = lengths if sample is None else lengths.some(sample.which)
        bodies += [pairs.members[body] for body in find_bodies(place_roughly(pairs, radius, how.landmarks), few, least)]
    bodies.sort(key=len, reverse=True)
    found: list[MapPart] = []
    placed, missed, later = (np.zeros(n, bool) for _ in range(3))
    for body in bodies:
        if len(found) == how.most_parts:
            later[body] = True
            continue
        try:
            part = rebuild(Hidden(published, body.astype(np.int32)))
        except MapNotFound:
            missed[body] = True
            continue
        except InputError:
            continue
        variance = np.where(placed[body], np.inf, part.variance)  # a hinge lies on one map only
        here = np.isfinite(variance)
        if here.sum() >= least:
            placed[body[here]] = True
            found.append(MapPart(body, replace(part, variance=variance)))
    missed &= ~placed
    later &= ~placed & ~missed
    free = n - small - int(placed.sum() + missed.sum() + later.sum())
    return found, Unplaced(n, small, free, int(missed.sum()), int(later.sum()), how)
