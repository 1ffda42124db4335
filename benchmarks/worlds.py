"""Kinds of people on which probabilities are tried: uniform, labels clustered in space, villages, households.

A world is drawn once and then gives people; it knows the true density of a stranger's masked place and label, which no
snooper does. Lengths are kilometres in the plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from disclique.attacks.knowledge import Knowledge
from disclique.geodesy import Spread
from disclique.model import Candidates
from disclique.spaces import Points
from disclique.values import FloatArray

Ints = NDArray[np.int64]
SIDE = 100.0  # of the square in which everybody lives
LABELS = 22  # as many as sex by the census's age classes


def blurred_square(places: FloatArray, sigma: float) -> FloatArray:
    """Return the density of a uniform place of the square after Gaussian noise."""
    inside = ndtr((SIDE - places) / sigma) - ndtr(-places / sigma)
    return np.asarray(inside.prod(axis=1) / SIDE**2)


def blurred_points(places: FloatArray, centres: FloatArray, variance: FloatArray) -> FloatArray:
    """Return Gaussian densities at places (rows) around centres (columns)."""
    square = ((places[:, None] - centres[None]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-square / (2 * variance)) / (2 * np.pi * variance))


@dataclass(frozen=True, eq=False)
class World:
    """People spread uniformly whose labels do not depend on where they live."""

    shares: FloatArray  # of the labels

    @classmethod
    def build(cls, rng: np.random.Generator) -> World:
        """Draw a world."""
        return cls(rng.dirichlet(np.full(LABELS, 4.0)))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, Ints]:
        """Draw homes and labels of ``n`` people, in random order."""
        return rng.uniform(0, SIDE, (n, 2)), rng.choice(LABELS, n, p=self.shares)

    def density(self, places: FloatArray, labels: Ints, sigma: float, known: FloatArray) -> FloatArray:
        """Return the density of a stranger with this label at this masked place, as far as the world determines it."""
        return np.asarray(blurred_square(places, sigma) * self.shares[labels])


@dataclass(frozen=True, eq=False)
class ClusteredLabels(World):
    """People spread uniformly whose labels depend on where they live, as age and origin do."""

    centres: FloatArray
    local: FloatArray  # (centres, labels): shares around each centre
    reach: float = 12.0

    @classmethod
    def build(cls, rng: np.random.Generator) -> World:
        """Draw a world: around each of fifteen centres a few labels prevail."""
        shares = rng.dirichlet(np.full(LABELS, 4.0))
        local = rng.dirichlet(0.15 * LABELS * shares, 15)
        return cls(shares, rng.uniform(0, SIDE, (15, 2)), local)

    def _mixed(self, places: FloatArray) -> FloatArray:
        square = ((places[:, None] - self.centres[None]) ** 2).sum(axis=2)
        weight = np.exp(-(square - square.min(axis=1, keepdims=True)) / (2 * self.reach**2))
        return np.asarray((weight / weight.sum(axis=1, keepdims=True)) @ self.local)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, Ints]:
        """Draw homes, and labels by the shares there."""
        places = rng.uniform(0, SIDE, (n, 2))
        below = np.cumsum(self._mixed(places), axis=1)
        return places, (rng.random((n, 1)) * below[:, -1:] > below).sum(axis=1)

    def density(self, places: FloatArray, labels: Ints, sigma: float, known: FloatArray) -> FloatArray:
        """Return the density; shares are averaged over a few places of the noise's width."""
        angle = 2 * np.pi * np.arange(6) / 6
        ring = sigma * np.sqrt(2) * np.stack((np.cos(angle), np.sin(angle)), axis=1)
        around = [self._mixed(np.clip(places + step, 0, SIDE)) for step in (np.zeros(2), *ring)]
        mean = 0.3 * around[0] + 0.7 * np.mean(around[1:], axis=0)
        return np.asarray(blurred_square(places, sigma) * mean[np.arange(len(labels)), labels])


@dataclass(frozen=True, eq=False)
class Villages(World):
    """People in villages of different sizes, and a few scattered ones."""

    centres: FloatArray
    sizes: FloatArray  # shares of the people
    width: FloatArray  # standard deviation of each village
    scattered: float = 0.15

    @classmethod
    def build(cls, rng: np.random.Generator) -> World:
        """Draw eighty villages: most are small, a few are towns."""
        sizes = rng.lognormal(0.0, 1.2, 80)
        width = 0.4 * np.sqrt(sizes / np.median(sizes))
        return cls(rng.dirichlet(np.full(LABELS, 4.0)), rng.uniform(0, SIDE, (80, 2)), sizes / sizes.sum(), width)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, Ints]:
        """Draw homes around the villages."""
        village = rng.choice(len(self.sizes), n, p=self.sizes)
        places = self.centres[village] + rng.normal(0, 1, (n, 2)) * self.width[village, None]
        alone = rng.random(n) < self.scattered
        places[alone] = rng.uniform(0, SIDE, (int(alone.sum()), 2))
        return places, rng.choice(LABELS, n, p=self.shares)

    def density(self, places: FloatArray, labels: Ints, sigma: float, known: FloatArray) -> FloatArray:
        """Return the density of the mixture."""
        near = blurred_points(places, self.centres, self.width**2 + sigma**2) @ self.sizes
        both = (1 - self.scattered) * near + self.scattered * blurred_square(places, sigma)
        return np.asarray(both * self.shares[labels])


@dataclass(frozen=True, eq=False)
class Households(World):
    """Households of one to five people, each at one place; their members may be in different files."""

    SIZES = (0.3, 0.3, 0.18, 0.15, 0.07)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, Ints]:
        """Draw whole households, shuffled."""
        many = rng.choice(np.arange(1, 6), n, p=self.SIZES)
        home = np.repeat(np.arange(n), many)[:n]
        order = rng.permutation(n)
        return rng.uniform(0, SIDE, (n, 2))[home][order], rng.choice(LABELS, n, p=self.shares)

    def density(self, places: FloatArray, labels: Ints, sigma: float, known: FloatArray) -> FloatArray:
        """Return the density given the known homes: some strangers live with a known person (see ``with_known``)."""
        raise NotImplementedError

    def with_known(self, places: FloatArray, labels: Ints, sigma: float, known: FloatArray, with_: float) -> FloatArray:
        """Return the density when the share ``with_`` of the strangers lives at the home of a known person."""
        homes = blurred_points(places, known, np.full(len(known), sigma**2)).mean(axis=1)
        both = with_ * homes + (1 - with_) * blurred_square(places, sigma)
        return np.asarray(both * self.shares[labels])


KINDS: dict[str, type[World]] = {
    "uniform": World,
    "clustered labels": ClusteredLabels,
    "villages": Villages,
    "households": Households,
}


class Case(NamedTuple):
    """One data set: homes and labels on both sides, the masked target, who is who (-1: not in the known file)."""

    world: World
    masked: Points
    known: Points
    candidates: Candidates
    truth: Ints
    homes: FloatArray  # of the targets
    sigma: float
    knowledge: Knowledge

    def strangers(self, places: FloatArray, labels: Ints) -> FloatArray:
        """Return the true density of strangers."""
        known = self.known.coordinates
        if isinstance(self.world, Households):
            there = {tuple(home) for home in known.tolist()}
            others = self.homes[self.truth < 0].tolist()
            share = float(np.mean([tuple(home) in there for home in others]))
            return self.world.with_known(places, labels, self.sigma, known, share)
        return self.world.density(places, labels, self.sigma, known)


def make_case(kind: str, sigma: float, overlap: float, seed: int, *, n: int = 500, wrong: float = 0.0) -> Case:
    """Draw ``n`` targets and ``n`` known people, a share ``overlap`` common; a share ``wrong`` of the labels is."""
    rng = np.random.default_rng([40_000, list(KINDS).index(kind), seed])
    world = KINDS[kind].build(rng)
    common = round(overlap * n)
    homes, labels = world.draw(2 * n - common, rng)
    noise = rng.normal(0, sigma, (n, 2))
    known = rng.permutation(np.r_[:common, n : 2 * n - common])
    place = np.full(2 * n - common, -1)
    place[known] = np.arange(n)
    released = labels[:n].copy()
    off = rng.random(n) < wrong
    released[off] = (released[off] + rng.integers(1, LABELS, int(off.sum()))) % LABELS
    same = np.arange(LABELS, dtype=np.int32)
    candidates = Candidates(released.astype(np.int32), labels[known].astype(np.int32), np.stack((same, same), axis=1))
    return Case(
        world,
        Points(homes[:n] + noise, "euclidean"),
        Points(homes[known], "euclidean"),
        candidates,
        place[:n],
        homes[:n],
        sigma,
        Knowledge(Spread(sigma, sigma, "plane"), common=common / n),
    )
