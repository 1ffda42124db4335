"""Attacks tuned to a mask, as Kerckhoffs' principle demands: the snooper knows how the release was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from disclique.attacks.calibration import Calibration
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.kroll import Search
from disclique.attacks.methods import NAMES, ByClique, ByExtension, ByLabels, ByRegistration, ByShortPaths, Method
from disclique.data.distances import Points
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, KM_PER_DEGREE
from disclique.masks import Mask
from disclique.model import Spread

ALPHA = 0.5  # the paper's middle of the detection probabilities


def knowledge_of(
    mask: Mask, points: Points | None, *, common: float | None, coordinate_error: float = 0.0, rng: np.random.Generator
) -> Knowledge:
    """What the snooper knows of the points' displacement and of the noise on the distances.

    Where the mask's law is not written down, its displacement is simulated on ``points``, places like the target's; a
    mask that displaces no points is known by the noise that it puts on distances. None is left to be estimated.
    """
    told = Knowledge(noise=None, matrix_noise=0.0, common=common, coordinate_error=coordinate_error)
    if mask.on == "distances":
        exact = Spread(0.0, 0.0, "km" if points is None or points.metric in GEOGRAPHIC else "plane")
        return replace(told, noise=exact, matrix_noise=mask.matrix_sd)
    spread = mask.displacement_spread()
    return replace(told, noise=spread if spread is not None else simulated_spread(mask, points, rng))


def simulated_spread(mask: Mask, points: Points | None, rng: np.random.Generator) -> Spread | None:
    """Standard deviations of the displacement that ``mask`` causes at ``points``; None where there are none."""
    if points is None:
        return None
    moved = mask.apply(points, rng)
    assert isinstance(moved, Points)
    step = moved.coordinates - points.coordinates
    if points.metric not in GEOGRAPHIC:
        east, north = np.sqrt((step**2).mean(axis=0))[:2]
        return Spread(float(east), float(north), "plane")
    step = np.column_stack([(step[:, 0] + 180) % 360 - 180, step[:, 1]])
    east_km = step[:, 0] * KM_PER_DEGREE * np.cos(np.radians(points.coordinates[:, 1]))
    return Spread(float(np.sqrt((east_km**2).mean())), float(np.sqrt(((step[:, 1] * KM_PER_DEGREE) ** 2).mean())), "km")


def methods(
    names: Sequence[str],
    calibration: Calibration,
    *,
    knowledge: Knowledge,
    alpha: float = ALPHA,
    search: Search | None = None,
) -> list[Method]:
    """The named attacks (``all`` is every one), each told what the calibration and the knowledge say of the mask."""
    wanted = list(NAMES) if "all" in names else list(dict.fromkeys(names))
    strange = [name for name in wanted if name not in NAMES]
    if strange:
        raise InputError(f"attack {strange[0]!r}: choose one of {', '.join(NAMES)} or all")
    how = search or Search()
    agreement = calibration.agreement(alpha)
    spread = float(np.sqrt(calibration.variance))
    made: dict[str, Method] = {
        "labels": ByLabels(),
        "clique": ByClique(agreement, how),
        "extend": ByExtension(agreement, spread, knowledge.common, how),
        "register": ByRegistration(knowledge),
        "isomap": ByShortPaths(knowledge),
    }
    return [made[name] for name in wanted]
