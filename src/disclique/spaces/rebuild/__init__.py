"""From distances to a map: which method rebuilds it, and one map of several releases of the same records.

Where the distances are exact a few ``landmarks`` determine it; noisy ones are fitted by ``least_squares``, those with a
random factor each by their logarithms (``relative``), and where some are not published the map is fitted to those that
are (``incomplete``), or to every part of the records that they determine (``parts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from disclique.errors import InputError
from disclique.geodesy import Spread
from disclique.messages import mark
from disclique.spaces.base import Distances, spaced
from disclique.spaces.lazy import Derived
from disclique.spaces.positions import KnownMap, average_places, lay_on
from disclique.spaces.rebuild.incomplete import MapNotFound, rebuild_from_incomplete
from disclique.spaces.rebuild.landmarks import (
    REBUILDING,
    Rebuilding,
    TargetMap,
    measure_distances,
    rebuild_from_landmarks,
    refuse_directed,
)
from disclique.spaces.rebuild.least_squares import rebuild_from_noisy
from disclique.spaces.rebuild.relative import rebuild_from_relative
from disclique.values import FloatArray, IntArray


def rebuild_map(
    target: Distances, radius: float, noise: float | None, relative: float | None = None, how: Rebuilding = REBUILDING
) -> TargetMap:
    """Rebuild the map of a release of all distances, or nearly all.

    Without noise on the distances themselves a few landmark columns determine it; with it all distances are used. The
    standard deviation of the noise is ``noise``, or ``relative`` that of the logarithm of a factor. Where neither is
    known, the fit that explains the release better is taken.
    """
    refuse_directed(target)
    block, marks = _read_landmark_columns(target, how)
    if np.isnan(block).any():
        return rebuild_from_incomplete(target, radius, noise=noise or 0.0, how=how)
    positions = rebuild_from_landmarks(block, marks.astype(np.int64), radius)
    misfit = float(np.sqrt(np.mean((measure_distances(positions, positions[marks], radius) - block) ** 2)))
    spread = float(block.std())
    if noise == 0 and misfit <= how.exact_share * spread:
        return TargetMap(positions, np.zeros(target.size), misfit)
    if relative:
        return _rebuild_relative(target, radius, relative, how)
    target_map = rebuild_from_noisy(target, radius, noise=noise or None, how=how)
    if not noise and misfit > how.rough_share * spread:
        better = _try_relative(target, radius, target_map, (block, marks), how)
        if better is not None:
            return better
    _check_embeddable(target_map.misfit, spread, noise, radius, how)
    return target_map


def _try_relative(
    target: Distances, radius: float, additive: TargetMap, sample: tuple[FloatArray, IntArray], how: Rebuilding
) -> TargetMap | None:
    """Return the map under a random factor on each distance, if that explains the release better than an additive one.

    Both laws are held to the same sample of distances; a factor must leave the map something to explain.
    """
    block, marks = sample
    try:
        tried = _rebuild_relative(target, radius, None, how)
    except MapNotFound:
        return None
    use = (block > 0) & (np.arange(target.size)[:, None] != marks[None, :])
    published = block[use]
    least = how.tiny_share * float(published.mean())
    drawn = [
        np.maximum(measure_distances(one.positions, one.positions[marks], radius)[use], least)
        for one in (additive, tried)
    ]
    sd, off = float((published - drawn[0]).std()), np.log(published / drawn[1])
    gain = np.log(max(sd, 1e-300)) - np.log(max(float(off.std()), 1e-300)) - float(np.log(published).mean())
    explained = 1 - float(off.var()) / max(float(np.log(published).var()), 1e-300)
    return tried if gain > how.better_log and explained > how.related_share else None


def _rebuild_relative(target: Distances, radius: float, noise: float | None, how: Rebuilding) -> TargetMap:
    """Return the map under a random factor on each distance; factors so strong that its equations overflow fix none."""
    try:
        with np.errstate(all="ignore"):
            found = rebuild_from_relative(target, radius, noise=noise, how=how)
    except InputError:
        raise
    except (np.linalg.LinAlgError, ValueError):  # not solvable, or not finite
        raise MapNotFound("map_overflows", records=target.size) from None
    if not np.isfinite(found.positions).all():
        raise MapNotFound("map_overflows", records=target.size)
    return found


def rebuild_from_short(
    target: Distances, radius: float, noise: float | None, relative: float | None = None, how: Rebuilding = REBUILDING
) -> TargetMap:
    """Rebuild the map of a release of which only the small distances are distances."""
    refuse_directed(target)
    block, _ = _read_landmark_columns(target, how)
    if not np.isnan(block).any():
        cap = float(block.max(initial=0.0))
        capped = np.mean(block == cap) > how.capped_share and cap > 0
        reach = np.full(target.size, cap) if capped else _find_neighbour_reach(target, how.short_neighbours)
        target = ShortDistances(target, reach)
    return rebuild_from_incomplete(target, radius, noise=noise or 0.0, how=how)


def _read_landmark_columns(target: Distances, how: Rebuilding) -> tuple[FloatArray, IntArray]:
    """Return the distances of every record to landmark records, and those records."""
    n = target.size
    marks = spaced(n, how.landmarks).astype(np.int32)
    return target.block(np.arange(n, dtype=np.int32), marks), marks


def _check_embeddable(misfit: float, spread: float, noise: float | None, radius: float, how: Rebuilding) -> None:
    explained = 1 - (misfit / spread) ** 2 if spread > 0 else 1.0
    if explained < how.explained_share and not (noise and misfit < 2 * noise):
        raise InputError(mark("no_map_on_sphere") if radius else mark("no_map_in_plane"), explained=max(explained, 0))


@dataclass(frozen=True, eq=False)
class ShortDistances(Derived):
    """A release without the distances that are not below the reach of either record."""

    reach: FloatArray  # (n,)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``, NaN where they are left out."""
        found = np.array(self.source.block(rows, columns), dtype=float)
        found[found >= np.maximum(self.reach[rows][:, None], self.reach[columns][None, :])] = np.nan
        return found


def _find_neighbour_reach(target: Distances, short: int) -> FloatArray:
    """Return how far the nearest neighbours of each record lie, whose distances may be trusted."""
    n = target.size
    if n <= short + 1:
        return np.full(n, np.inf)
    columns, found = np.arange(n, dtype=np.int32), np.zeros(n)
    step = max(4_000_000 // n, 1)
    for first in range(0, n, step):
        rows = columns[first : first + step]
        found[rows] = np.partition(target.block(rows, columns), short + 1, axis=1)[:, short + 1]
    return found


def join_maps(maps: Sequence[TargetMap], radius: float, least: float) -> TargetMap:
    """Return the mean of several maps of the same records, with each of them laid on it.

    A record that some releases do not place is taken from the others. Maps nearer to each other than ``least`` say the
    same, and stand for one.
    """
    if len(maps) == 1:
        return maps[0]
    placed = np.array([np.isfinite(one.variance) for one in maps])
    middle, laid = maps[0].positions, [one.positions for one in maps]
    for turn in range(3):  # times that every map is laid on their mean
        for which, one in enumerate(maps):
            there = placed[which] & (placed[0] if turn == 0 else placed.any(axis=0))
            if there.sum() >= 2:
                laid[which] = lay_on(one.positions[there], middle[there], radius == 0)(one.positions)
        middle = average_places(laid, radius, placed)
    kept = find_different(laid, least)
    laid, placed, maps = [laid[j] for j in kept], placed[kept], [maps[j] for j in kept]
    copies = tuple(np.where(here[:, None], one, middle) for one, here in zip(laid, placed, strict=True))
    error = np.where(placed, [one.variance for one in maps], 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(placed.any(axis=0), error / placed.sum(axis=0) ** 2, np.inf)
    misfit = float(np.sqrt(np.mean([one.misfit**2 for one in maps])))
    return TargetMap(average_places(copies, radius), variance, misfit, copies if len(copies) > 1 else ())


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
