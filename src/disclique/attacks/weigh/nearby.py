"""The density of strangers around single places, counted over everybody in a register.

A sample of a register tells how densely people live where they live densely. Elsewhere it does not: where a candidate
is found, others are more likely to live than a sample knows, and a density from the sample alone would make pairs look
too sure. So at the scales at which few of the sample are near, everybody is counted, in a stream over the pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.weigh.background import (
    FAINT,
    REACH,
    Background,
    LeftOut,
    Predicted,
    lay_bells,
    leave_out,
    smooth_share,
)
from disclique.engine.kernels.neighbours import RelatedClasses, build_index, find_near
from disclique.model import FloatArray
from disclique.records.registers import Mapper, Register, Survey, stream
from disclique.records.registers.files import Label
from disclique.spaces.positions import KnownMap, find_east_north

Ints = NDArray[np.int64]
CROWD = 300.0  # of the sample near one of them, on average: so many tell the density well enough


@dataclass(frozen=True, eq=False)
class Around:
    """Places around which people are counted in bells of some widths.

    ``related`` says which classes speak for that of a place; the person of ``left_out`` is not counted there.
    """

    number: dict[Label, int]  # of all labels
    frame: KnownMap  # the sphere or plane, without records
    axes: FloatArray
    variances: FloatArray
    places: FloatArray
    classes: Ints
    related: RelatedClasses
    left_out: Ints  # rows; -1 is nobody

    def sum_bells(self, register: Register, piece: int) -> FloatArray:
        """Return the bells of everybody in a piece at each place: (any label or by label, scale, place)."""
        total = np.zeros((2, len(self.variances), len(self.places)))
        radius = REACH * float(np.sqrt(self.variances.max()))
        anybody = RelatedClasses(np.array([0, 1]), np.zeros(1, np.int64), np.zeros(1))
        for batch in register.batches([piece]):
            positions = self.frame.place(register.place(batch.coordinates))
            classes, nothing = batch.classes(self.number), np.zeros(len(batch), np.int64)
            for which, (seen, asked, related) in enumerate(
                ((nothing, np.zeros_like(self.classes), anybody), (classes, self.classes, self.related))
            ):
                index = build_index(positions, seen, self.axes, 2 * radius)
                at, known, relation = find_near(index, self.places, asked, related, radius)
                other = batch.first + known != self.left_out[at]
                at, known, relation = at[other], known[other], relation[other]
                square = ((self.places[at] - positions[known]) ** 2).sum(axis=1)
                odds = np.exp(np.minimum(related.gain[relation], 700.0))
                for scale, variance in enumerate(self.variances.tolist()):
                    height = np.exp(-square / (2 * variance)) / (2 * np.pi * variance)
                    height[square > REACH**2 * variance] = 0.0
                    total[which, scale] += np.bincount(at, odds * height, len(self.places))
        return total


@dataclass(frozen=True, eq=False)
class StreamedBackground(Background):
    """The density of strangers in a register: at the first ``close`` scales from everybody, else from the sample."""

    survey: Survey = field(kw_only=True)
    frame: KnownMap = field(kw_only=True)
    axes: FloatArray = field(kw_only=True)
    mapper: Mapper = field(kw_only=True)
    close: int = field(kw_only=True)
    kept: dict[tuple[bytes, bytes], FloatArray] = field(kw_only=True, default_factory=dict)  # the last answer

    def log_density(self, places: FloatArray, classes: Ints, related: RelatedClasses) -> FloatArray:
        """Return the log density of strangers at places, in records of the whole register per area.

        The last answer is kept: who asks whether people are shared and who weighs them ask about the same places.
        """
        asked = places.tobytes(), classes.tobytes()
        if asked not in self.kept:
            found = self._count(places, classes, related)
            self.kept.clear()
            self.kept[asked] = found
        return self.kept[asked]

    def _count(self, places: FloatArray, classes: Ints, related: RelatedClasses) -> FloatArray:
        far = np.arange(len(self.bells)) >= self.close
        rest = replace(self, any_label=self.any_label * far, same_label=self.same_label * far, close=0)
        scale = len(self.survey) / max(len(self.known_class), 1)
        total = np.asarray(Background.log_density(rest, places, classes, related) + np.log(scale))
        if not self.close or not len(places):
            return total
        clear = related._replace(gain=np.where(np.exp(np.minimum(related.gain, 700.0)) >= FAINT, related.gain, -np.inf))
        free, same = self.sum_around(LeftOut(np.full(len(places), -1), places, classes), clear)
        left = self.spell(related)[1][classes]
        near = self.any_label[: self.close] @ free + self.same_label[: self.close] @ (same + left * free)
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp(total, np.log(near)))

    def sum_around(self, asked: LeftOut, related: RelatedClasses) -> FloatArray:
        """Return the bells of everybody around places; ``asked.rows`` are the rows that are not counted."""
        around = Around(
            self.survey.number,
            self.frame,
            self.axes,
            np.array([one.variance for one in self.bells[: self.close]]),
            asked.places,
            asked.classes,
            related,
            asked.rows,
        )
        parts = dict(stream(self.survey.register, around.sum_bells, mapper=self.mapper))
        ordered = [parts[piece] for piece in range(len(parts))]  # whoever was first
        return np.asarray(np.sum(ordered, axis=0))

    def correct(self, predicted: Predicted, left_out: LeftOut) -> Predicted:
        """Return what is predicted of left-out records, at the close scales from everybody else in the register."""
        if not self.close:
            return predicted
        classes, n = len(self.survey.counts), len(self.survey)
        alone = RelatedClasses(np.arange(classes + 1), np.arange(classes), np.zeros(classes))
        rows = self.survey.sample.rows[left_out.rows]
        own = self.survey.sample.classes[left_out.rows]
        free, same = self.sum_around(LeftOut(rows, left_out.places, own), alone) / (n - 1)
        share = smooth_share(np.maximum(self.survey.counts[own] - 1.0, 0.0), 1.0, n - 1, max(classes, 1))
        unlabelled = left_out.classes < 0
        same = np.where(unlabelled, free, same / share)
        return Predicted(
            np.vstack((free, predicted.free[self.close :])),
            np.vstack((same, predicted.same[self.close :])),
            predicted.at_home,
        )


def learn_streamed(
    sample: KnownMap, classes: Ints, sigma: float, *, survey: Survey, mapper: Mapper, near: Callable[[float], float]
) -> StreamedBackground:
    """Learn where strangers live from a sample with its classes and from everybody.

    ``near`` says how many people live within a radius of one of them, on average; everybody is counted at the scales at
    which there are not enough of the sample.
    """
    laid = lay_bells(sample, classes, sigma)
    scale, close = len(survey) / max(len(classes), 1), 0
    for one in laid.bells:
        many = near(one.reach)
        if many > CROWD * scale:
            break
        close += 1
    none = np.zeros((0, 3))
    found = StreamedBackground(
        **vars(laid),
        survey=survey,
        frame=replace(sample, positions=none, east=none, north=none),
        axes=find_east_north(sample, sample.positions.mean(axis=0)),
        mapper=mapper,
        close=close,
    )
    if len(classes) < 3:
        return found
    left_out = leave_out(sample, classes, found.sigma)
    return found.fit(found.correct(found.predict(left_out, sample), left_out))
