"""What a stream over a register brings home: a pilot to align the map on, and the candidates around the targets.

Both are found piece by piece, each piece a task of its own; what the pieces bring is put together in a way that does
not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.neighbours import RelatedClasses, build_index, find_near
from disclique.geodesy import Spread
from disclique.model import Candidates, FloatArray
from disclique.records.registers import Mapper, Records, Register, Survey, stream
from disclique.records.registers.files import Label
from disclique.records.registers.streams import is_drawn
from disclique.spaces.positions import KnownMap

Ints = NDArray[np.int64]
ENOUGH = 300  # targets of a pilot, so that a few common ones are among them even where few are
PILOT_SEED = 0x2545F491  # of who is in a thinned pilot


class Pilot(NamedTuple):
    """The people on whom the map is first laid: all of the ``classes``, or a ``share`` of them."""

    classes: Ints
    share: float


def choose_pilot(candidates: Candidates, counts: Ints, *, most: int, near: float, pairs: float) -> Pilot:
    """Choose whom to align a map with: all people of the rarest labels, or some of all labels where these are too few.

    The pilot has at most ``most`` people, and at most ``pairs`` pairs that lie near each other; ``near`` people of
    whatever label live near anybody. Restricted to some labels, target and register are files like any others: nobody
    of these labels is missing.
    """
    own = np.bincount(candidates.target_class[candidates.target_class >= 0], minlength=1)
    relation = candidates.relation.astype(np.int64)
    relation = relation[own[relation[:, 0]] > 0]
    classes = np.unique(relation[:, 1])
    targets = np.zeros(len(counts))
    np.add.at(targets, relation[:, 1], own[relation[:, 0]])
    alike = targets[classes] * counts[classes] * near / max(int(counts.sum()), 1)
    order = np.lexsort((classes, counts[classes]))
    fits = (np.cumsum(counts[classes][order]) <= most) & (np.cumsum(alike[order]) <= pairs)
    rare = np.sort(classes[order][fits])
    covered = np.setdiff1d(relation[np.isin(relation[:, 1], rare), 0], relation[~np.isin(relation[:, 1], rare), 0])
    every = int(own[np.unique(relation[:, 0])].sum())
    if len(rare) == len(classes) or own[covered].sum() >= min(ENOUGH, every):
        return Pilot(rare, 1.0)
    room = min(most / max(int(counts[classes].sum()), 1), pairs / max(float(alike.sum()), 1e-300))
    return Pilot(classes, min(room, 1.0))


def draw_pilot(survey: Survey, pilot: Pilot, *, mapper: Mapper, told: Callable[[float], None] | None) -> Records:
    """Read the people of a pilot; those of the sample where they are enough."""
    if pilot.share <= survey.share:
        sample = survey.sample
        few = is_drawn(sample.rows, pilot.share)
        return sample.select(few & np.isin(sample.classes, pilot.classes))
    number = {survey.labels[k]: int(k) for k in pilot.classes}
    read = partial(_read_classes, number=number, share=pilot.share)
    return Records.join(part for _, part in stream(survey.register, read, mapper=mapper, told=told))


def _read_classes(register: Register, piece: int, *, number: dict[Label, int], share: float) -> Records:
    parts = []
    for batch in register.batches([piece]):
        classes, rows = batch.classes(number), batch.first + np.arange(len(batch), dtype=np.int64)
        kept = np.flatnonzero((classes >= 0) & is_drawn(rows, share, PILOT_SEED))
        parts.append(Records(rows[kept], batch.coordinates[kept], classes[kept]))
    return Records.join(parts)


class Pairs(NamedTuple):
    """Pairs of targets and known records that lie near each other, with the log of how probable the place is."""

    target: Ints
    row: Ints
    weight: FloatArray
    coordinates: FloatArray
    classes: Ints

    def best(self, most: int) -> Pairs:
        """Return the ``most`` likeliest pairs of each target, ordered by target and falling likelihood."""
        order = np.lexsort((self.row, -self.weight, self.target))
        target = self.target[order]
        start = np.flatnonzero(np.diff(target, prepend=-1))
        size = np.diff(np.append(start, len(target)))
        rank = np.arange(len(target)) - np.repeat(start, size)
        kept = order[rank < most]
        return self.select(kept)

    def select(self, which: Ints) -> Pairs:
        """Return some of the pairs."""
        return Pairs._make(column[which] for column in self)

    def once(self) -> Pairs:
        """Return each pair once, with its highest weight."""
        order = np.lexsort((-self.weight, self.row, self.target))
        target, row = self.target[order], self.row[order]
        new = np.r_[True, (target[1:] != target[:-1]) | (row[1:] != row[:-1])] if len(order) else np.zeros(0, bool)
        return self.select(order[new])

    @staticmethod
    def join(parts: list[Pairs]) -> Pairs:
        """Join pairs of several batches."""
        return Pairs._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


NO_PAIRS = Pairs(*(np.zeros(0, np.int64),) * 2, np.zeros(0), np.zeros((0, 2)), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Candidacy:
    """Who is a candidate: a known record of a related label within ``reach`` of a target under one of the alignments.

    Of each target the ``most`` likeliest are kept; the density of the others is summed up.
    """

    number: dict[Label, int]  # of the related labels
    frame: KnownMap  # the sphere or plane, without records
    copies: tuple[FloatArray, ...]  # positions of the targets under each alignment
    target_class: Ints
    related: RelatedClasses
    axes: FloatArray
    reach: float
    extra: FloatArray  # (targets,): variance besides the displacement
    noise: Spread
    error: float
    floor: float
    most: int

    def variances(self, known_map: KnownMap) -> FloatArray:
        """Return the variance of the displacement around known records, east and north."""
        return np.maximum(known_map.variances(self.noise, self.error), self.floor**2)

    def find(self, register: Register, piece: int) -> tuple[Pairs, FloatArray]:
        """Find the candidates of a piece, and the sum of the densities of all of them at each target."""
        kept, mass = NO_PAIRS, np.zeros(len(self.target_class))
        for batch in register.batches([piece]):
            pairs = self._find_in_batch(register, batch.classes(self.number), batch.first, batch.coordinates)
            mass += np.bincount(pairs.target, np.exp(pairs.weight), len(mass))
            kept = Pairs.join([kept, pairs]).best(self.most)
        return kept, mass

    def _find_in_batch(self, register: Register, classes: Ints, first: int, coordinates: FloatArray) -> Pairs:
        some = np.flatnonzero(classes >= 0)
        if not len(some):
            return NO_PAIRS
        places = self.frame.place(register.place(coordinates[some]))
        index = build_index(places, classes[some], self.axes, 2 * self.reach)
        parts = []
        for positions in self.copies:
            at, known, relation = find_near(index, positions, self.target_class, self.related, self.reach)
            theirs, where = np.unique(known, return_inverse=True)
            known_map = self.frame.locate(register.place(coordinates[some[theirs]]))
            variance = self.variances(known_map)[where] + self.extra[at, None]
            offset = positions[at] - places[known]
            square = np.zeros(len(at))
            for axis, direction in enumerate((known_map.east, known_map.north)):
                square += (offset * direction[where]).sum(axis=1) ** 2 / variance[:, axis]
            weight = self.related.gain[relation] - np.log(2 * np.pi * np.sqrt(variance.prod(axis=1))) - square / 2
            row = some[known]
            parts.append(Pairs(at, first + row, weight, coordinates[row], classes[row]))
        return parts[0] if len(parts) == 1 else Pairs.join(parts).once()


class Gathered(NamedTuple):
    """The candidates around the targets, and of each target the log density of those that were left out."""

    people: Records
    left_out: FloatArray | None
    pairs: int


def gather_candidates(
    register: Register, who: Candidacy, *, mapper: Mapper, told: Callable[[float], None] | None
) -> Gathered:
    """Find the candidates in all pieces of a register."""
    masses: dict[int, FloatArray] = {}
    kept = NO_PAIRS
    for piece, (pairs, mass) in stream(register, who.find, mapper=mapper, told=told):
        masses[piece] = mass
        kept = Pairs.join([kept, pairs]).best(who.most)
    total = np.sum([masses[piece] for piece in range(len(masses))], axis=0)  # in one order, whoever was first
    rest = total - np.bincount(kept.target, np.exp(kept.weight), len(total))
    full = np.bincount(kept.target, minlength=len(total)) >= who.most
    left_out = np.where(full & (rest > 1e-9 * total), rest, 0.0)
    row, place = np.unique(kept.row, return_index=True)
    people = Records(row, kept.coordinates[place], kept.classes[place])
    with np.errstate(divide="ignore"):
        return Gathered(people, np.log(left_out) if left_out.any() else None, len(kept.target))
