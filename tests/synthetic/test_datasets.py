"""The synthetic population follows the facts it is made of, and the files hold what they promise."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from builders import rng
from disclique.errors import InputError
from disclique.spaces import Texts
from disclique.spaces.metrics import paired
from disclique.synthetic.people import (
    area_points,
    germany,
    germany_settlements,
    home_points,
    inside,
    mistype,
    population,
    read_table,
    uniform_points,
)


def label_matching_pairs(people):
    labels = people.label_names
    return int(people.target.groupby(labels).size().mul(people.known.groupby(labels).size(), fill_value=0).sum())


def test_default_files_and_truth():
    """500 and 500 people, 50 in both, found by their ids and in an order that gives nothing away."""
    people = germany(rng=rng())
    assert (len(people.target), len(people.known), len(people.truth), len(people.common_ids)) == (500, 500, 50, 50)
    assert list(people.people.columns) == ["id", "sex", "age_class", "lon", "lat"]
    target, known = people.truth.T
    assert (people.target["id"].to_numpy()[target] == people.known["id"].to_numpy()[known]).all()
    assert set(people.target["id"]) & set(people.known["id"]) == set(people.common_ids)
    assert not np.array_equal(target, known)
    assert people.people["id"].is_unique


def test_the_same_seed_gives_the_same_people():
    first, second, other = germany(rng=rng(0)), germany(rng=rng(0)), germany(rng=rng(1))
    pd.testing.assert_frame_equal(first.target, second.target)
    assert not first.target.equals(other.target)


def test_order_of_the_product_graph():
    """The default data set has as many label-matching pairs as census shares let one expect (15,666, sd 476)."""
    found = [label_matching_pairs(germany(rng=rng(seed))) for seed in range(21)]
    assert 14_750 <= found[0] <= 16_630
    assert abs(np.mean(found) - 15_666) < 3 * 476 / np.sqrt(21)


def test_labels_follow_the_census():
    census = read_table("germany_census2011")
    assert census["inhabitants"].sum() == 80_327_900
    people = germany(n_target=30_000, n_known=1, common=0, rng=rng(3)).target
    seen = people.groupby(["sex", "age_class"]).size().reindex(list(zip(census.sex, census.age_class, strict=True)))
    expected = census["inhabitants"] / census["inhabitants"].sum() * len(people)
    assert chisquare(seen.to_numpy(), expected.to_numpy()).pvalue > 0.001


def test_the_map_is_germany():
    """Area within 2 % of 357,000 km², every listed city inside, 76 cities above 100,000, about 80 million people."""
    from pyproj import Geod

    outline = read_table("germany_outline").to_numpy()
    area, _ = Geod(ellps="WGS84").polygon_area_perimeter(*outline.T)
    assert abs(area) / 1e6 == pytest.approx(357_000, rel=0.02)
    cities = read_table("germany_cities")
    assert inside(cities[["lon", "lat"]].to_numpy(), outline).all()
    assert (cities["inhabitants"] >= 100_000).sum() == 76
    assert germany_settlements().inhabitants.sum() == pytest.approx(80.3e6, rel=0.01)


def test_inside_agrees_with_shapely():
    shapely = pytest.importorskip("shapely")
    outline = read_table("germany_outline").to_numpy()
    points = rng().uniform([5, 46], [16, 56], (5000, 2))
    assert np.array_equal(inside(points, outline), shapely.contains_xy(shapely.Polygon(outline), points))


def test_people_live_where_people_live():
    """All inside the country; Berlin's and Saxony-like shares as stated; cities are spread over their area."""
    homes = home_points(40_000, rng(1))
    assert inside(homes, germany_settlements().outline).all()
    berlin = paired(homes, np.tile([13.405, 52.52], (len(homes), 1)))
    share = 3_326_000 / germany_settlements().inhabitants.sum()
    radius = np.sqrt(892 / np.pi)
    within = 1 - np.exp(-2)  # of a Gaussian with the disc's second moment, the share inside the disc
    assert (berlin < radius).mean() == pytest.approx(share * within, rel=0.12)
    assert np.unique(homes, axis=0).shape == homes.shape


def test_area_points_are_uniform():
    """Equal-area latitude bands of a box-shaped country get equal numbers."""
    box = np.array([[0, 40], [10, 40], [10, 60], [0, 60]], dtype=float)
    points = uniform_points(20_000, box, rng())
    bands = np.histogram(np.sin(np.radians(points[:, 1])), 10, np.sin(np.radians([40, 60])))[0]
    assert chisquare(bands).pvalue > 0.001
    assert inside(area_points(1000, rng()), germany_settlements().outline).all()


def test_own_points_and_shares(tmp_path):
    """Points and label shares of another country by file; without weights nobody shares a home."""
    points, shares = tmp_path / "points.csv", tmp_path / "shares.csv"
    pd.DataFrame({"lon": np.linspace(0, 1, 50), "lat": 45.0}).to_csv(points, index=False)
    shares.write_text("# made up\nsex,region,count\nf,north,1\nm,south,3\n", encoding="utf-8")
    people = population(points, shares, n_target=30, n_known=20, common=5, rng=rng())
    assert people.label_names == ["sex", "region"]
    assert people.people["lon"].is_unique
    assert set(people.people["sex"]) == {"f", "m"}


def test_weighted_points_may_be_shared():
    points = np.array([[10.0, 50.0, 1.0], [11.0, 51.0, 0.0]])
    shares = pd.DataFrame({"sex": ["f"], "count": [1]})
    people = population(points, shares, n_target=5, n_known=5, common=0, rng=rng()).people
    assert (people["lon"] == 10).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"common": 11}, "common = 11: no more people"),
        ({"n_target": 0}, "n_target = 0"),
        ({"points": np.zeros((3, 2))}, "3 points for 18 people"),
        ({"points": pd.DataFrame({"x": [1], "lat": [2]})}, "no column 'lon'; there are x, lat"),
        ({"points": pd.DataFrame({"lon": [1, 5e6], "lat": [2, 3]})}, r"points row 2: lon = 5000000.0 is not in"),
        ({"points": "nowhere.csv"}, "cannot read nowhere.csv"),
        ({"shares": pd.DataFrame({"sex": ["f"], "count": [-1]})}, "shares, column count, row 1: -1.0 is not"),
        ({"shares": pd.DataFrame({"sex": ["f"], "count": [0]})}, "all zero"),
    ],
)
def test_refuses(change, says):
    given = {
        "points": home_points,
        "shares": pd.DataFrame({"sex": ["f", "m"], "count": [1, 1]}),
        "n_target": 10,
        "n_known": 10,
        "common": 2,
    } | change
    with pytest.raises(InputError, match=says):
        population(given.pop("points"), given.pop("shares"), **given, rng=rng())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_a_share_of_the_signs_is_mistyped_and_each_stays_of_its_kind(share):
    """Digits stay digits and letters letters; what stands between them is kept."""
    people = Texts(("Anna-Maria Ö. 1950-01-23", "Otto Weber 1988-12-05") * 300)
    (before,), (after,) = people.fields, mistype(people, rng(), share).fields
    both = [pair for one, other in zip(before, after, strict=True) for pair in zip(one, other, strict=True)]
    assert all((one.isdigit(), one.isalpha()) == (other.isdigit(), other.isalpha()) for one, other in both)
    assert all(one == other for one, other in both if not one.isalnum())
    signs = [pair for pair in both if pair[0].isalnum()]
    by_chance = sum((one.isdigit() and 1 / 7) or 1 / 12 for one, _ in signs) / len(signs)  # the same sign again
    assert np.mean([one != other for one, other in signs]) == pytest.approx(share * (1 - by_chance), abs=0.02)
