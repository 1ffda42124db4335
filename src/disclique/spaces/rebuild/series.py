"""One map of several releases of the same records: their maps laid on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from disclique.geodesy import Spread
from disclique.spaces.positions import KnownMap, average_places, fit_motion
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.values import FloatArray

ROUNDS = 3  # times that every map is laid on their mean
SAME = 1e-3  # of the displacement: releases that differ by less are one


def join_maps(maps: Sequence[TargetMap], radius: float, least: float) -> TargetMap:
    """Return the mean of several maps of the same records, with each of them laid on it.

    A record that some releases do not place is taken from the others. Maps nearer to each other than ``least`` say the
    same, and stand for one.
    """
    if len(maps) == 1:
        return maps[0]
    placed = np.array([np.isfinite(one.variance) for one in maps])
    middle, laid = maps[0].positions, [one.positions for one in maps]
    for turn in range(ROUNDS):
        for which, one in enumerate(maps):
            there = placed[which] & (placed[0] if turn == 0 else placed.any(axis=0))
            laid[which] = _lay_on(one.positions, middle, there, radius == 0)
        middle = average_places(laid, radius, placed)
    kept = find_different(laid, least)
    laid, placed, maps = [laid[j] for j in kept], placed[kept], [maps[j] for j in kept]
    copies = tuple(np.where(here[:, None], one, middle) for one, here in zip(laid, placed, strict=True))
    error = np.where(placed, [one.variance for one in maps], 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(placed.any(axis=0), error / placed.sum(axis=0) ** 2, np.inf)
    misfit = float(np.sqrt(np.mean([one.misfit**2 for one in maps])))
    return TargetMap(average_places(copies, radius), variance, misfit, copies if len(copies) > 1 else ())


def _lay_on(positions: FloatArray, middle: FloatArray, there: FloatArray, flat: bool) -> FloatArray:
    """Return positions moved, mirrored or not, onto others of the same records."""
    if there.sum() < 2:
        return positions
    tried = [fit_motion(positions[there], middle[there], flat, mirror=mirror)(positions) for mirror in (False, True)]
    return min(tried, key=lambda one: float(((one[there] - middle[there]) ** 2).sum()))


def find_different(copies: Sequence[FloatArray], least: float) -> list[int]:
    """Return the releases that are not the same as an earlier one: a rule without chance gives one and the same."""
    kept: list[int] = []
    for which, one in enumerate(copies):
        gaps = [float(np.sqrt(((one - copies[other]) ** 2).sum(axis=1).mean())) for other in kept]
        if not gaps or min(gaps) > least:
            kept.append(which)
    return kept


def shrink_spread(noise: Spread, copies: Sequence[FloatArray], known_map: KnownMap) -> Spread:
    """Return the displacement of the mean of several releases.

    With independent noise it shrinks by the square root of their number. Noise that they share does not shrink: how far
    they differ from each other tells how much of it is their own.
    """
    many = len(copies)
    whole = float(known_map.variances(noise, 0.0).mean())
    if many < 2 or whole == 0:
        return noise
    middle = np.mean(copies, axis=0)
    own = float(((np.asarray(copies) - middle) ** 2).sum(axis=2).mean()) / 2 * many / (many - 1)
    left = float(np.sqrt(np.clip(1 - own / whole * (many - 1) / many, 1 / many, 1.0)))
    return replace(noise, east=noise.east * left, north=noise.north * left)
