"""Both files as clouds of points: the target by classical scaling, the known one by its places."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from disclique.attacks.register.scaling import scale_matrix
from disclique.errors import DiscliqueError, InputError
from disclique.geodesy import to_space
from disclique.masks import Mask
from disclique.model import Distances, FloatArray
from disclique.spaces import Matrix, full_matrix
from disclique.spaces.rebuild.landmarks import choose_landmarks, refuse_directed

Ints = NDArray[np.int64]
DIMENSIONS = 6  # of a cloud at the most
LANDMARKS = 1500  # records whose distances are scaled; the others are placed among them
EXPLAINED = 0.7  # share of the eigenvalues' mass that the dimensions must hold
FAINT = 1e-8  # a dimension of less than that share of the first one's variance is rounding
DRAWS = 20  # times the snooper masks their own file, to see how it bends on the mean
BENT = 3  # dimensions of the known cloud in which the map may bend


@dataclass(frozen=True, eq=False)
class Cloud:
    """Records as points of a space, centred, each axis of standard deviation 1, the widest first.

    ``sheet`` is how many of the axes are free: places on the Earth lie in a sheet of two.
    """

    places: FloatArray  # (n, dimensions)
    sheet: int

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.places)


def scale_target(target: Distances) -> Cloud:
    """Return the cloud of a complete release; an InputError says why there is none."""
    refuse_directed(target)
    if target.size < 4:
        raise InputError("fewer than four records: there is nothing to align")
    places, explained = _scale(target)
    if explained < EXPLAINED:
        raise InputError(
            f"the target's distances fit no space of {DIMENSIONS} dimensions: the best one explains {explained:.0%} of "
            "them; bend does not apply, profiles does"
        )
    return _whiten(places, places.shape[1])


def locate_known(known: Distances) -> Cloud:
    """Return the cloud of the known records, from their coordinates or by classical scaling of their distances."""
    scaled = scale_matrix(known)
    known = known if scaled is None else scaled.places()
    vectors = known.vectors()
    if vectors is not None and vectors.on_earth:
        return _whiten(to_space(vectors.coordinates, vectors.metric), 2)
    if vectors is not None:
        places = np.asarray(vectors.coordinates, dtype=float)
        if vectors.metric == "cosine":
            places = places / np.linalg.norm(places, axis=1, keepdims=True)
        if len(places) > 1:
            return _whiten(places, DIMENSIONS)
    refuse_directed(known)
    if known.size < 4:
        raise InputError("fewer than four known records: there is nothing to align")
    places, explained = _scale(known)
    if explained < EXPLAINED:
        raise InputError(f"the known distances fit no space of {DIMENSIONS} dimensions; bend does not apply")
    return _whiten(places, places.shape[1])


def _scale(source: Distances) -> tuple[FloatArray, float]:
    """Return places by classical scaling, and the share of the eigenvalues' mass that they hold."""
    marks = choose_landmarks(source.size, LANDMARKS).astype(np.int32)
    square = np.asarray(full_matrix(source, rows=marks)) ** 2
    if np.isnan(square).any():
        raise InputError("some distances are not published: bend needs all of them; equal and isomap do not")
    mean = square.mean(axis=0)
    values, vectors = eigh((mean[:, None] + mean[None, :] - mean.mean() - square) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = np.flatnonzero(values[:DIMENSIONS] > FAINT * max(float(values[0]), 1e-300))
    if not len(keep):
        raise InputError("all records lie at one place: their distances say nothing beyond their labels")
    explained = float(values[keep].sum() / np.abs(values).sum())
    axes = vectors[:, keep] / np.sqrt(values[keep])
    if len(marks) == source.size:
        return vectors[:, keep] * np.sqrt(values[keep]), explained
    rows, found = np.arange(source.size, dtype=np.int32), np.zeros((source.size, len(keep)))
    for begin in range(0, source.size, 2000):
        block = source.block(rows[begin : begin + 2000], marks)
        if np.isnan(block).any():
            raise InputError("some distances are not published: bend needs all of them; equal and isomap do not")
        found[begin : begin + 2000] = (mean - block**2) @ axes / 2
    return found, explained


def _whiten(places: FloatArray, sheet: int) -> Cloud:
    """Return the places in their principal axes, each of standard deviation 1."""
    centred = places - places.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / max(len(centred), 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = np.flatnonzero(values[:DIMENSIONS] > FAINT * max(float(values[0]), 1e-300))
    if not len(keep):
        raise InputError("all records lie at one place: their distances say nothing beyond their labels")
    return Cloud(np.asarray(centred @ vectors[:, keep] / np.sqrt(values[keep])), min(sheet, len(keep)))


@dataclass(frozen=True)
class Basis:
    """Functions of the known places of which the map is made: polynomials, and bumps around some places.

    Of degree 1 all axes take part, of higher ones the first few.
    """

    degree: int = 1
    bumps: int = 0

    def of(self, places: FloatArray, cloud: Cloud) -> FloatArray:
        """Return the functions at some places, the constant first."""
        columns = [np.ones(len(places)), *places.T]
        bent = places[:, : min(cloud.sheet, BENT)]
        for degree in range(2, self.degree + 1):
            columns.extend(
                np.prod(bent[:, list(chosen)], axis=1) / degree
                for chosen in combinations_with_replacement(range(bent.shape[1]), degree)
            )
        if self.bumps:
            centres, width = find_centres(cloud, self.bumps)
            square = ((bent[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
            columns.extend(np.exp(-square / (2 * width**2)).T)
        return np.stack(columns, axis=1)

    def price(self, functions: int) -> FloatArray:
        """Return the ridge of each function: bumps must be worth their while, polynomials are free."""
        price = np.full(functions, 1e-9)
        if self.bumps:
            price[functions - self.bumps :] = 1e-3
        return price


def find_centres(cloud: Cloud, count: int) -> tuple[FloatArray, float]:
    """Return places spread over the cloud, each the farthest from those before, and how far apart they lie."""
    places = cloud.places[:, : min(cloud.sheet, BENT)]
    chosen = [int(np.argmin((places**2).sum(axis=1)))]
    gap = ((places - places[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(min(count, len(places)) - 1):
        chosen.append(int(np.argmax(gap)))
        gap = np.minimum(gap, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
    repeated = np.resize(np.array(chosen), count)
    return places[repeated], 1.5 * max(float(np.sqrt(gap.max(initial=0.0))), 1e-3)


def expect_known(known: Distances, mask: Mask, rng: np.random.Generator) -> list[Cloud]:
    """Return the cloud that the known file becomes on the mean under the mask; none where the mask does not take it."""
    if known.size > LANDMARKS:
        return []
    try:
        square = sum(full_matrix(mask.apply(known, rng)) ** 2 for _ in range(DRAWS)) / DRAWS
        return [_whiten(_scale(Matrix(np.sqrt(square)))[0], locate_known(known).sheet)]
    except DiscliqueError:
        return []
