"""One error of coordinates in several distances to places, against places that are simulated for every person."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import rng
from disclique.attacks.shared_errors import weigh_shared_errors
from disclique.geodesy import shift
from disclique.numbers import EXACTLY, GaussianNoise, NumberColumn, Rounded
from disclique.records.near import Near, parse_near
from disclique.spaces import Points

PEOPLE, DRAWS = 120, 1500
EVERY = np.indices((PEOPLE, PEOPLE)).reshape(2, -1)


def draw_town(count: int, seed: int) -> np.ndarray:
    """Return places of a town."""
    return rng(seed).uniform((13.1, 52.35), (13.7, 52.65), (count, 2))


@pytest.fixture
def places(tmp_path: Path) -> list[Near]:
    """Return distances to three kinds of places."""
    made = []
    for kind, count in enumerate((6, 12, 40)):
        pd.DataFrame(draw_town(count, 50 + kind), columns=["lon", "lat"]).to_csv(tmp_path / f"{kind}.csv", index=False)
        made.append(parse_near(f"km_{kind}={tmp_path / f'{kind}.csv'}"))
    return made


def find_chances(density: np.ndarray) -> np.ndarray:
    """Return the chance of every known person for every record, one among them."""
    chances = np.exp(density - density.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("error", [0.1, 0.3])
@pytest.mark.parametrize("law", [EXACTLY, Rounded(0.1), GaussianNoise(0.1)])
def test_chances_are_those_of_simulated_places(places: list[Near], error: float, law: object) -> None:
    draw, true = rng(1), draw_town(PEOPLE, 2)
    seen = shift(true, *draw.normal(0, error, (2, PEOPLE)), "sphere")
    steps = draw.normal(0, error, (DRAWS, 2))
    may_be = Points(np.concatenate([shift(seen, *np.repeat(one[:, None], PEOPLE, axis=1), "sphere") for one in steps]))
    pairs, alone, simulated = [], np.zeros((PEOPLE, PEOPLE)), np.zeros((DRAWS, PEOPLE, PEOPLE))
    wide = error * DRAWS ** (-1 / 6) / 1.5  # of the kernel that stands for what was not drawn
    for near in places:
        released = near.measure(Points(true))
        if isinstance(law, Rounded):
            released = law.publish(released)
        if isinstance(law, GaussianNoise):
            released = released + draw.normal(0, law.sd, PEOPLE)
        theirs = NumberColumn(near.name, near.measure(Points(seen)), "km", near=near).moved(Points(seen), error)
        pairs.append((NumberColumn(near.name, released, "km", law), theirs))
        density = pairs[-1][0].log_density(EVERY[0], theirs.values[EVERY[1]], error)
        alone += density.reshape(PEOPLE, PEOPLE)
        away = near.measure(may_be).reshape(DRAWS, 1, PEOPLE)
        spread = np.hypot(wide, {Rounded: 0.1 / np.sqrt(12), GaussianNoise: 0.1}.get(type(law), 0.0))
        simulated -= 0.5 * ((released[None, :, None] - away) / spread) ** 2
    together = alone + weigh_shared_errors(pairs, *EVERY).reshape(PEOPLE, PEOPLE)
    wanted = find_chances(np.logaddexp.reduce(simulated, axis=0)).diagonal().mean()
    found, apart = find_chances(together).diagonal().mean(), find_chances(alone).diagonal().mean()
    assert found == pytest.approx(wanted, abs=0.04)
    assert found - apart > (0.03 if error > 0.2 else -0.01)  # of 100 m nearly everybody is found either way


def test_one_number_is_not_changed(places: list[Near]) -> None:
    true = Points(draw_town(PEOPLE, 3))
    theirs = NumberColumn("km", places[0].measure(true), "km", near=places[0]).moved(true, 0.2)
    mine = NumberColumn("km", theirs.values, "km")
    assert not weigh_shared_errors([(mine, theirs)], *EVERY).any()
    bare = NumberColumn("km", theirs.values, "km", error=0.2)  # the snooper's own column, whose error is its own
    assert not weigh_shared_errors([(mine, theirs), (mine, bare)], *EVERY).any()


def test_missing_numbers_and_open_classes_say_nothing(places: list[Near]) -> None:
    true = Points(draw_town(PEOPLE, 3))
    pairs = []
    for near in places[:2]:
        theirs = NumberColumn(near.name, near.measure(true), "km", near=near).moved(true, 0.2)
        pairs.append((NumberColumn(near.name, np.where(np.arange(PEOPLE) < 60, np.nan, theirs.values), "km"), theirs))
    found = weigh_shared_errors(pairs, *EVERY).reshape(PEOPLE, PEOPLE)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:60], 0.0, atol=1e-9)


def test_what_follows_is_kept_with_its_records(places: list[Near]) -> None:
    true = Points(draw_town(PEOPLE, 4))
    whole = NumberColumn("km", places[0].measure(true), "km", near=places[0]).moved(true, 0.2)
    parts = [whole.select(rows) for rows in (np.arange(50), np.arange(50, PEOPLE))]
    np.testing.assert_array_equal(parts[0].append(parts[1]).drift, whole.drift)
    mean, east, north, left = whole.drift.T
    assert (np.hypot(east, north) <= 1 + 1e-6).all()  # one cannot come nearer by more than one moves
    assert (left >= 0).all()
    np.testing.assert_allclose(mean, whole.values, atol=0.25)
