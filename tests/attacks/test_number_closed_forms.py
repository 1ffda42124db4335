"""What distances to places leave of where somebody lives, by simulation: rings, points, cells, the nearest of some."""

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import disclique as dq
from disclique.attacks.labels import LabelRule
from disclique.masks.numbers import NumberRecoding
from disclique.model import Microdata
from disclique.records.tables import microdata
from disclique.values import FloatArray

HOME = np.array([0.0, 0.0])


def leave(dwellings: FloatArray, places: list[FloatArray], way: str) -> NDArray[np.bool_]:
    """Which dwellings fit what is released of the person at HOME: distances to the nearest of each kind of places."""

    def read(homes: FloatArray) -> Microdata:
        table = pd.DataFrame({f"k{i}": measure(homes, one) for i, one in enumerate(places)})
        return microdata(table, [], numbers=dict.fromkeys(table.columns, "km"))

    target, known = read(HOME[None]), read(dwellings)
    released = NumberRecoding((f"k*={way}",)).apply(target, np.random.default_rng(0)) if way else target
    return LabelRule().candidates(released, known).allowed(0, np.arange(len(dwellings)))


def measure(homes: FloatArray, places: FloatArray) -> FloatArray:
    """The distance of each home to the nearest place."""
    return np.asarray(np.linalg.norm(homes[:, None] - np.atleast_2d(places)[None], axis=2).min(axis=1))


def scatter(half: float, many: int, seed: int = 0) -> FloatArray:
    """Dwellings anywhere in a square around HOME."""
    return np.random.default_rng(seed).uniform(-half, half, (many, 2))


def test_one_rounded_distance_leaves_a_ring() -> None:
    """Of width δ and radius r: its area is 2πrδ; all of it lies at that distance from the place."""
    place, step, half = np.array([3.0, 0.0]), 0.1, 7.0
    dwellings = scatter(half, 200_000)
    left = leave(dwellings, [place], "round:100m")
    assert np.abs(measure(dwellings[left], place) - 3).max() <= step / 2 + 1e-9
    area = left.mean() * (2 * half) ** 2
    assert area == pytest.approx(2 * np.pi * 3 * step, rel=0.05)


def test_two_exact_distances_leave_two_points() -> None:
    """The home and its mirror image at the line through both places, and one only if they are three."""
    one, two, three = np.array([2.0, 1.0]), np.array([2.0, -3.0]), np.array([-1.0, 2.0])
    mirror = np.array([4.0, 0.0])
    dwellings = np.vstack([HOME, mirror, scatter(5.0, 20_000)])
    assert np.flatnonzero(leave(dwellings, [one], "")).tolist() == [0, 1]
    assert np.flatnonzero(leave(dwellings, [one, two], "")).tolist() == [0, 1]
    assert np.flatnonzero(leave(dwellings, [one, two, three], "")).tolist() == [0]


@pytest.mark.parametrize("angle", [90.0, 60.0, 30.0])
def test_two_rounded_distances_leave_a_cell(angle: float) -> None:
    """Where both directions cross at θ, of area δ²/sin θ around the home, and its mirror image far away."""
    far, step, turn = 40.0, 0.1, np.radians(angle)
    # distances in the middle of a step, so that the home is in the middle of its cell
    places = [far * np.array([1.0, 0.0]), far * np.array([np.cos(turn), np.sin(turn)])]
    half = 0.4
    dwellings = scatter(half, 200_000)
    area = leave(dwellings, places, "round:100m").mean() * (2 * half) ** 2
    assert area == pytest.approx(step**2 / np.sin(turn), rel=0.06)


@pytest.mark.parametrize("many", [1, 4, 25])
def test_the_nearest_of_several_leaves_part_of_as_many_rings(many: int) -> None:
    """Of K places at random in area A, at distance r: K rings of 2πrδ, less what lies nearer to another of them.

    A point of a ring is left if none of the other K - 1 places is nearer: on the mean K·2πrδ·(1 - πr²/A)^(K-1).
    """
    radius, step, half = 0.4, 0.1, 5.0
    size, areas, expected = (2 * half) ** 2, [], many * 2 * np.pi * radius * step
    dwellings = scatter(half, 40_000 if many > 1 else 200_000)
    for seed in range(15 if many > 1 else 1):
        rng = np.random.default_rng(seed)
        places = np.vstack([HOME + np.array([radius, 0.0]), rng.uniform(-half, half, (many - 1, 2))])
        if measure(HOME[None], places)[0] < radius - 1e-9:  # of those drawn one is nearer than that
            continue
        areas.append(leave(dwellings, [places], "round:100m").mean() * size)
    # the place that is the nearest one has its ring whole, but for others nearer to it
    shrunk = (1 - np.pi * radius**2 / size) ** (many - 1)
    assert np.mean(areas) == pytest.approx(expected * shrunk, rel=0.1)


def test_a_person_is_named_where_a_cell_has_no_other() -> None:
    """Dwellings at a density of λ: nobody else is in a cell of area a with probability exp(-λa), over many people."""
    rng = np.random.default_rng(1)
    density, step, half = 30.0, 0.1, 6.0
    homes = rng.uniform(-half, half, (int(density * (2 * half) ** 2), 2))
    table = pd.DataFrame({"id": range(len(homes)), "x": homes @ [1.0, 0.0], "y": homes @ [0.5, np.sqrt(0.75)]})
    data = microdata(table, [], ids="id", numbers={"x": "km", "y": "km"})  # two places very far away, 60° apart
    released = NumberRecoding(("*=round:100m",)).apply(data, rng)
    found = dq.attack(released, data, by="numbers", truth="id")
    assert found.risk is not None
    assert found.risk.recall == pytest.approx(np.exp(-density * step**2 / np.sin(np.radians(60))), abs=0.02)
