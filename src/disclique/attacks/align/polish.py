"""From an alignment under Gaussian noise to the best one under the exact law of the mask.

The law is blurred, at first widely and then ever less, and Newton's steps climb the likelihood each time. A blur finer
than the alignment is good loses the true pairs: kept is the one with the most evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align.likelihood import Aligner, Alignment
from disclique.attacks.align.search import Alignments
from disclique.attacks.weigh.exchange import find_coinciding
from disclique.attacks.weigh.law import Component, LawModel
from disclique.spaces.positions import Motion, average_places, find_east_north, follow_step
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.values import FloatArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Links:
    """The links of one component that may count near a motion."""

    component: Component
    at: Ints  # places in the targets that are looked at
    row: Ints
    base: FloatArray


@dataclass(frozen=True, eq=False)
class _Surroundings:
    """What the likelihood near a motion needs: targets that are looked at, their links, and small motions.

    ``scales`` are small motions that move points by about a unit of length, ``weight`` how many targets each one that
    is looked at stands for.
    """

    copies: list[FloatArray]
    links: list[_Links]
    extra: FloatArray  # variance of each target
    common: float
    weight: float
    scales: FloatArray  # (3, 3), in columns
    pivot: FloatArray


class Polisher:
    """Climbs the likelihood of one map, or of several releases of it, under one law."""

    def __init__(self, laws: LawModel, aligner: Aligner, *, finest: float, common: float | None) -> None:
        """Take the law and the map; no blur is finer than ``finest``, and ``common`` is the share if it is known."""
        target_map = aligner.target_map
        self.laws, self.aligner, self.finest, self.common = laws, aligner, finest, common
        self.who = aligner.who if laws.labelled else np.arange(len(target_map.positions))
        releases = target_map.releases if laws.labelled else target_map.releases[:1]
        self.copies = [positions[self.who] for positions in releases]
        self.variance = target_map.variance[self.who]
        self.flat, self.how = laws.model.known_map.flat, aligner.how

    def polish_all(self, found: Alignments) -> Alignments:
        """Return the best alignments as they are under the law, in the order of their evidence under it."""
        again, width = replace(found, ranked=[]), self.how.start_sd * found.aligner.sigma
        for one in found.ranked[: self.how.polished]:
            again.add(self.polish(one.motion, width, one.common))
        return again

    def settle_releases(self, motion: Motion) -> TargetMap:
        """Return the map of several releases, each laid on the known file by itself from a common ``motion``.

        Laid on each other they are off by the noise over the square root of the number of records, which is more than
        a law with sharp edges bears.
        """
        target_map, width = self.aligner.target_map, self.how.start_sd * self.aligner.sigma
        copies = []
        for positions in target_map.releases:
            alone = Aligner(self.aligner.model, replace(target_map, positions=positions, copies=()), self.aligner.prior)
            polisher = Polisher(self.laws, alone, finest=self.finest, common=self.common)
            copies.append(polisher.polish(motion, width, self.how.unknown_share).motion(positions))
        return replace(
            target_map, positions=average_places(copies, self.laws.model.known_map.radius), copies=tuple(copies)
        )

    def start_from_coincidence(self, tolerance: float) -> Alignments:
        """Return the alignments under which places coincide exactly."""
        found, how = Alignments(self.aligner, self.how.clear_log_odds), self.how
        for motion in find_coinciding(self.copies[0], self.laws.model.known_map, tolerance, kept=how.polished, how=how):
            found.add(self.polish(motion, 4 * tolerance, how.unknown_share))
        return found

    def polish(self, motion: Motion, width: float, common: float) -> Alignment:
        """Return the best alignment near a motion that may be off by about ``width``.

        The share of common targets is ``common`` where it is not known.
        """
        share = min(max(common if self.common is None else self.common, 1e-6), 1 - 1e-6)
        blur, best, finest, how = max(width, self.finest), -np.inf, self.finest, self.how
        kept: tuple[Motion, float, float, FloatArray] | None = None
        while True:
            motion, value, curvature = self.climb(motion, blur**2, share)
            if self.laws.gathers and kept is not None:
                curvature = kept[3]  # a narrower blur is no better a fit: strangers lie at the same places
            evidence = value - 0.5 * float(np.linalg.slogdet(curvature)[1])
            # places that coincide do so exactly; that both files are dense here and there is no evidence
            counts = self.laws.labelled or blur <= how.close_blurs * finest
            if kept is None or (counts and evidence > best - (how.slight_log if self.laws.gathers else 0.0)):
                best, kept = max(evidence, best) if counts else -np.inf, (motion, blur, value, curvature)
            if blur <= finest or evidence < best - how.lost_log:
                break
            blur = max(blur * how.narrower, finest)
        assert kept is not None
        return self.assess(*kept, share)

    def climb(self, motion: Motion, variance: float, common: float) -> tuple[Motion, float, FloatArray]:
        """Take some Newton steps under a blur; return motion, log likelihood ratio and curvature."""
        blur, how = float(np.sqrt(variance)), self.how
        for _ in range(how.polish_steps):
            near = self.look_around(motion, variance, common)
            value, slope = self.evaluate(motion, near)
            curvature = self.measure_curvature(motion, near, how.probe_blurs * blur)
            step = np.linalg.solve(curvature, near.scales.T @ slope)
            step *= min(how.stride_blurs * blur / max(float(np.linalg.norm(step)), 1e-300), 1.0)
            moved, better = motion, value
            for _ in range(3):
                moved = follow_step(motion, near.scales @ step, near.pivot, self.flat)
                better, _ = self.evaluate(moved, near)
                if better >= value:
                    break
                step = step / 3
            gain = better - value
            if gain <= 0:
                break
            motion, value = moved, better
            if gain < 1e-2:
                break
        unscaled = np.linalg.inv(near.scales)
        return motion, value, np.asarray(unscaled.T @ curvature @ unscaled)

    def look_around(self, motion: Motion, variance: float, common: float) -> _Surroundings:
        """Return what counts near a motion under a blur; of very many links, those of some targets only."""
        how = self.how
        extra, slack = self.variance + variance, 2 * how.stride_blurs * float(np.sqrt(variance))
        expected = self.laws.expect_links(len(self.who), float(extra.max(initial=0.0)), slack)
        seen = np.arange(0, len(self.who), max(int(np.ceil(expected / how.most_links)), 1))
        copies, extra = [positions[seen] for positions in self.copies], extra[seen]
        here, who = motion(copies[0]), self.who[seen]
        links = [_Links(one, *self.laws.collect(one, here, who, extra, slack)) for one in self.laws.components]
        pivot, radius = here.mean(axis=0), self.laws.model.known_map.radius
        if self.flat:
            arm = np.sqrt(((here - pivot) ** 2).sum(axis=1).mean())
            scales = np.diag([1 / max(float(arm), 1e-300), 1.0, 1.0])
        else:
            east, north = find_east_north(self.laws.model.known_map, pivot)
            up = np.cross(east, north)
            arm = np.sqrt(((here - np.outer(here @ up, up)) ** 2).sum(axis=1).mean())
            scales = np.column_stack((east / radius, north / radius, up / max(float(arm), 1e-300)))
        return _Surroundings(copies, links, extra, common, len(self.who) / max(len(seen), 1), scales, pivot)

    def evaluate(self, motion: Motion, near: _Surroundings) -> tuple[float, FloatArray]:
        """Return the log likelihood ratio at a motion, and its slope over small motions."""
        places, size = [motion(positions) for positions in near.copies], len(near.extra)
        total, shares = np.full(size, 1 - near.common), []
        for link in near.links:
            value, parts = link.base, []
            for positions in places:
                offset = positions[link.at] - link.component.centre[link.row]
                r = self.laws.measure(offset)
                found, slope = link.component.log_density(r, near.extra[link.at], link.row)
                value = value + found
                parts.append((offset, slope / np.maximum(r, 1e-300)))
            likelihood = near.common * np.exp(np.minimum(value, 600.0))
            total += np.bincount(link.at, likelihood, size)
            shares.append((likelihood, parts))
        turn = np.zeros(3)
        for copy, positions in enumerate(places):
            pull = np.zeros((size, 3))
            for link, (likelihood, parts) in zip(near.links, shares, strict=True):
                offset, slope = parts[copy]
                force = likelihood / total[link.at] * slope
                for axis in range(3):
                    pull[:, axis] += np.bincount(link.at, force * offset[:, axis], size)
            turn += self.find_turn(positions, pull)
        return near.weight * float(np.log(total).sum()), near.weight * turn

    def find_turn(self, positions: FloatArray, pull: FloatArray) -> FloatArray:
        """Return the slope over small motions that pulls at positions give."""
        if not self.flat:
            return np.asarray(np.cross(positions, pull).sum(axis=0))
        arm = positions - positions.mean(axis=0)
        turn = float((arm[:, 0] * pull[:, 1] - arm[:, 1] * pull[:, 0]).sum())
        return np.array([turn, pull[:, 0].sum(), pull[:, 1].sum()])

    def measure_curvature(self, motion: Motion, near: _Surroundings, probe: float) -> FloatArray:
        """Return the curvature over small motions in units of length, made that of a peak."""
        columns = []
        for axis in range(3):
            ends = []
            for side in (probe, -probe):
                moved = follow_step(motion, side * near.scales[:, axis], near.pivot, self.flat)
                ends.append(near.scales.T @ self.evaluate(moved, near)[1])
            columns.append((ends[1] - ends[0]) / (2 * probe))
        observed = np.column_stack(columns)
        values, vectors = np.linalg.eigh((observed + observed.T) / 2)
        room = 1 / max(self.laws.model.area, 1e-300)  # the motion is somewhere among the known records
        values = np.maximum(np.abs(values), max(1e-3 * float(np.abs(values).max()), room))
        return np.asarray(vectors @ np.diag(values) @ vectors.T)

    def assess(self, motion: Motion, blur: float, ratio: float, curvature: FloatArray, common: float) -> Alignment:
        """Return the motion with the evidence for it, as the search for alignments counts it."""
        before = self.aligner.prior.log_density(motion(self.aligner.target_map.positions[self.aligner.who]))
        peak = 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(curvature)[1]
        price = 0.5 * np.log(max(len(self.who), 2))
        evidence = float(ratio + min(before + peak, 0.0) - price)
        return Alignment(motion, ratio, evidence, common, curvature, blur**2)
