"""The search for the motion that lays the target's map on the known file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from disclique.attacks.register.density import Land, Prior, by_density, chart_of, land_of
from disclique.attacks.register.hypotheses import Rare
from disclique.attacks.register.likelihood import Scene
from disclique.attacks.register.maps import Map
from disclique.attacks.register.positions import Frame, Motion
from disclique.attacks.register.refine import Aligner, Alignment
from disclique.model import FloatArray, IntArray

UNKNOWN = 0.1  # what the share of common targets is first taken for
CLEAR = 8.0  # log odds above which no further alignment is tried
RIVAL = 8.0  # an alignment so much worse than the best is forgotten
SMALL = 40  # so few targets may lie in several ways; all are looked at
DENSITY_MOTIONS = 4
LOCAL_BUDGET, GLOBAL_BUDGET = 150_000_000, 600_000_000  # distances compared; a few seconds
SEED = 0  # of the order in which pairs of records are tried; not of anything that is published

Start = tuple[IntArray, IntArray]
Tell = Callable[[str], None]


@dataclass
class Found:
    """The alignments found so far, best first, without those that say the same.

    ``land`` are the motions that the shape of the land suggests. With ``granted`` the files are known to share records,
    so that the alignments compete with each other only, and not with there being none.
    """

    aligner: Aligner
    clear: float
    ways: list[Alignment] = field(default_factory=list)
    land: list[Motion] = field(default_factory=list)
    granted: bool = False

    @property
    def belief(self) -> FloatArray:
        """The probability of each alignment."""
        evidence = np.array([way.evidence for way in self.ways])
        return np.asarray(softmax(evidence) if self.granted else softmax(np.append(evidence, 0.0))[:-1])

    def take(self, motions: Iterable[Motion], width: float, common: float) -> bool:
        """Refine motions; True once an alignment is beyond doubt."""
        for motion in motions:
            self.add(self.aligner.refine(motion, width, common))
            if self.ways[0].evidence > self.clear:
                return True
        return False

    def add(self, one: Alignment) -> None:
        """Add an alignment unless a better one lays the map at the same place."""
        positions = self.aligner.map.positions[self.aligner.who]
        sigma = float(np.sqrt(self.aligner.scene.variances.mean() + self.aligner.map.variance.mean()))
        here, kept = one.motion(positions), []
        for other in self.ways:
            gap = np.sqrt(((other.motion(positions) - here) ** 2).sum(axis=1).mean())
            if gap < 2 * sigma:
                if other.evidence >= one.evidence:
                    return
            else:
                kept.append(other)
        self.ways = sorted([*kept, one], key=lambda way: -way.evidence)
        self.ways = [way for way in self.ways if way.evidence > self.ways[0].evidence - RIVAL]


def terrain(scene: Scene, chart: Map) -> tuple[Prior, list[Motion]]:
    """The prior over motions from the shape of the settled land, and the motions that fit it best."""
    positions = chart.positions[scene.alive]
    flat = chart_of(scene.frame, positions).flatten(positions)
    land = land_of(scene.frame, float(np.percentile(np.linalg.norm(flat, axis=1), 99)))
    room = 4 * np.pi * max(scene.area, 1e-300) / (scene.frame.radius or 1.0) ** 2
    if land is None:
        return Prior(room), []
    motions, integral = by_density(land, positions, kept=DENSITY_MOTIONS)
    return Prior(room, land, integral), motions


def align(aligner: Aligner, motions: list[Motion], share: float | None, start: Start | None, tell: Tell) -> Found:
    """All alignments worth considering, from the start if one is given, the land, and pairs of rare records.

    ``share`` is the share of common targets, if the snooper knows it.
    """
    common = UNKNOWN if share is None else share
    found = Found(aligner, CLEAR if len(aligner.who) > SMALL else np.inf, land=motions)
    sigma = float(np.sqrt(aligner.scene.variances.mean() + aligner.map.variance.mean()))
    rng = np.random.default_rng(SEED)
    if start is not None and found.take(from_pairs(aligner, start), 3 * sigma, common):
        return found
    land = aligner.prior.land
    if land is not None and found.take(motions, max(0.9 * land.cell, sigma), common):
        return found
    rare, budget = Rare(aligner, rng), GLOBAL_BUDGET
    if land is not None and comparable(aligner.scene.frame, aligner.map.positions[aligner.who]):
        tell("looking around the densest overlap for pairs of rare records")
        for guess in motions[:2]:
            batches = rare.motions(common, budget=LOCAL_BUDGET, guess=guess, slack=2.5 * land.cell)
            if any(found.take(batch, 3 * sigma, common) for batch in batches):
                return found
        budget = LOCAL_BUDGET  # the land rarely misleads: in 48 noisy cases a start from the truth found no more
    tell("looking everywhere for pairs of rare records")
    for batch in rare.motions(common, budget=budget, sure=share is not None):
        if found.take(batch, 3 * sigma, common):
            break
    return found


def granted(found: Found, share: float) -> Found:
    """The alignments given that ``share`` of the targets are in the known file.

    The density of strangers is only estimated: with many targets that each tell little, its error drowns the evidence
    for sharing records at all, but not the differences between alignments.
    """
    aligner, land = found.aligner, found.aligner.prior.land
    sigma = float(np.sqrt(aligner.scene.variances.mean() + aligner.map.variance.mean()))
    again = Found(aligner, np.inf, granted=True)
    for motion in found.land:
        again.add(aligner.refine(motion, max(0.9 * land.cell, sigma) if land else sigma, share, fixed=True))
    for way in found.ways:
        again.add(aligner.refine(way.motion, sigma, share, fixed=True))
    return again


def comparable(frame: Frame, positions: FloatArray) -> bool:
    """Whether the map is about as wide as the known file, so that the shape of the land can have placed it."""
    return bool(positions.var(axis=0).sum() > frame.positions.var(axis=0).sum() / 4)


def from_pairs(aligner: Aligner, start: Start) -> list[Motion]:
    """Motions that bring given pairs together, robustly: the best of the motions of two pairs, and its mirror."""
    target, known = (np.asarray(part, dtype=np.int64) for part in start)
    ours, theirs = aligner.map.positions[target], aligner.scene.frame.positions[known]
    if len(target) < 2:
        return []
    i, j = np.triu_indices(len(target), 1)
    long = np.argsort(-np.linalg.norm(ours[i] - ours[j], axis=1), kind="stable")[:500]
    best: dict[bool, tuple[float, Motion]] = {}
    for a, b in zip(i[long], j[long], strict=True):
        for mirror in (False, True):
            motion = procrustes(ours[[a, b]], theirs[[a, b]], aligner.scene.frame.flat, mirror=mirror)
            miss = float(np.median(np.linalg.norm(motion(ours) - theirs, axis=1)))
            if mirror not in best or miss < best[mirror][0]:
                best[mirror] = (miss, motion)
    return [motion for _, motion in sorted(best.values(), key=lambda one: one[0])]


def procrustes(ours: FloatArray, theirs: FloatArray, flat: bool, *, mirror: bool) -> Motion:
    """The motion, mirrored or not, that brings positions together with the least squares."""
    centre, there = (ours.mean(axis=0), theirs.mean(axis=0)) if flat else (np.zeros(3), np.zeros(3))
    left, _, right = np.linalg.svd((theirs - there).T @ (ours - centre))
    if flat:  # only a mirror within the plane counts; the third axis stays
        left2, _, right2 = np.linalg.svd(((theirs - there).T @ (ours - centre))[:2, :2])
        turn = np.eye(3)
        sign = np.linalg.det(left2 @ right2) * (-1 if mirror else 1)
        turn[:2, :2] = left2 @ np.diag([1.0, sign]) @ right2
    else:
        sign = np.linalg.det(left @ right) * (-1 if mirror else 1)
        turn = left @ np.diag([1.0, 1.0, sign]) @ right
    return Motion(turn, there - turn @ centre)


def land_cell(land: Land | None, scene: Scene) -> float:
    """The grain at which the land was looked at, or a length of the known file."""
    return land.cell if land is not None else float(np.sqrt(max(scene.area, 1e-300)))
