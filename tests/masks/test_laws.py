"""The law of a mask: what it says of masked places holds for draws of the mask, and it is a law."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import learn
from disclique.masks import LENGTH, PointMask, Swap, masks, parse_mask
from disclique.masks.laws import (
    ExchangeLaw,
    Exponential,
    GaussianLaw,
    HalfWay,
    HalfWayLaw,
    RadialLaw,
    ReplayLaw,
    Ring,
    Walk,
    simulate_law,
)
from disclique.spaces import Points
from disclique.spaces.metrics import paired
from disclique.units import Quantity
from disclique.values import FloatArray

SPECS = {
    "affine": "affine",
    "dhs": "dhs",
    "disc": "disc:max=3km",
    "donut": "donut:min=1km,max=3km",
    "gaussian": "gaussian:sigma=2km",
    "grid": "grid:cell=5km",
    "laplace": "laplace:epsilon=0.5/km",
    "rotation": "rotation",
    "swap": "swap:radius=20km",
    "voronoi": "voronoi",
}


def moves(spec: str, n: int, seed: int, *, plane: bool = False) -> np.ndarray:
    """How far a mask moves points spread over a country."""
    rng = np.random.default_rng(seed)
    before = (
        Points(rng.uniform(0, 900, (n, 2)), "euclidean") if plane else Points(rng.uniform((6, 47), (15, 55), (n, 2)))
    )
    after = parse_mask(spec).apply(before, rng)
    return paired(before.coordinates, after.coordinates, before.metric)


def test_every_point_mask_says_its_law() -> None:
    """Whatever moves points has a law of its own, so that no attack falls back on the second moment."""
    points = Points(np.random.default_rng(0).uniform((6, 47), (15, 55), (50, 2)))
    kinds = {name: type(parse_mask(spec).place_law(points)) for name, spec in SPECS.items()}
    assert set(kinds) == {name for name, mask in masks().items() if mask.on == "coordinates"}
    assert kinds == {
        "affine": GaussianLaw,
        "dhs": RadialLaw,
        "disc": RadialLaw,
        "donut": RadialLaw,
        "gaussian": GaussianLaw,
        "grid": ReplayLaw,
        "laplace": RadialLaw,
        "rotation": GaussianLaw,
        "swap": ExchangeLaw,
        "voronoi": HalfWayLaw,
    }
    rigid = parse_mask("affine").place_law(points)
    assert isinstance(rigid, GaussianLaw)
    assert (rigid.spread.east, rigid.spread.north) == (0, 0)
    noise = parse_mask("gaussian:sigma=0.01deg").place_law(points)
    assert isinstance(noise, GaussianLaw)
    assert (noise.spread.east, noise.spread.unit) == (0.01, "deg")


lengths = st.floats(0.2, 20).map(lambda x: round(x, 2))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(lengths, lengths, st.floats(0.05, 0.95), st.booleans())
def test_radial_laws_are_those_of_the_draws(one: float, other: float, share: float, plane: bool) -> None:
    """How far a mask moves points follows its law, whatever the parameters, on the sphere and in the plane."""
    low, high = min(one, other), max(one, other) + 0.1
    unit, per = ("", "") if plane else ("km", "/km")
    specs = [
        f"disc:max={high}{unit}",
        f"donut:min={low}{unit},max={high}{unit}",
        f"laplace:epsilon={one}{per}",
        f"dhs:urban={low}{unit},rural={high}{unit},far={2 * high}{unit},far-share={share:.2f},urban-share=0.4",
    ]
    for number, spec in enumerate(specs):
        law = parse_mask(spec).place_law()
        assert isinstance(law, RadialLaw)
        assert not law.simulated
        moved = moves(spec, 2000, number, plane=plane)
        # of the kinds of dhs fixed numbers of records move, so the fit is only closer than that of independent draws
        assert stats.kstest(moved, law.cdf).pvalue > 1e-4, spec
        assert moved.max() <= law.reach * 1.001 or "laplace" in spec
        assert law.deviation == pytest.approx(np.sqrt((moved**2).mean() / 2), rel=0.1)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(lengths, lengths, st.sampled_from([0.0, 0.02, 0.3, 3.0]))
def test_laws_integrate_to_one(one: float, other: float, blur: float) -> None:
    """So do they with any blur, and the density is the derivative of the distribution."""
    low, high = min(one, other), max(one, other) + 0.1
    pieces = [Ring(low, high), Walk(high), Exponential(one), HalfWay(), HalfWay(5)]
    for piece in pieces:
        law = RadialLaw(((1.0, piece),))
        mass, _ = quad(
            lambda r, law=law: 2 * np.pi * r * float(law.density(np.array(r))), law.low, law.reach, limit=200
        )
        assert mass == pytest.approx(1, abs=2e-3)
        middle = np.array((law.low + law.reach) / 3 + law.low / 3)
        part, _ = quad(lambda r, law=law: 2 * np.pi * r * float(law.density(np.array(r))), law.low, middle, limit=200)
        assert part == pytest.approx(float(law.cdf(middle)), abs=2e-3)
        table = law.blurred((blur * law.reach) ** 2)
        r = np.linspace(0, table.end, 100_001)
        f = np.exp(table.look_up(r)[0])
        assert np.trapezoid(2 * np.pi * r * f, r) == pytest.approx(1, abs=5e-3)


@pytest.mark.parametrize("spec", ["disc:max=3", "donut:min=2,max=3", "laplace:epsilon=1", "dhs:urban=1,rural=3,far=9"])
@pytest.mark.parametrize("blur", [0.15, 0.6, 4.0])
def test_a_blurred_law_is_that_of_draws_with_more_noise(spec: str, blur: float) -> None:
    """The convolution agrees with simulation: displaced points with Gaussian noise on top."""
    rng = np.random.default_rng(1)
    before = Points(rng.uniform(0, 900, (40_000, 2)), "euclidean")
    after = parse_mask(spec).apply(before, rng).coordinates + rng.normal(0, blur, (40_000, 2))
    r = np.hypot(*(after - before.coordinates).T)
    law = parse_mask(spec).place_law()
    assert isinstance(law, RadialLaw)
    table = law.blurred(blur**2)
    edges = np.quantile(r, np.linspace(0, 1, 31))
    edges[0], edges[-1] = 0, table.end
    fine = np.linspace(edges[:-1], edges[1:], 400)
    expected = np.trapezoid(2 * np.pi * fine * np.exp(table.look_up(fine)[0]), fine, axis=0)
    counts = np.histogram(r, edges)[0]
    # blurs are rounded to an eighth of an octave of variance, at most 2 % of the width
    assert np.abs(counts / len(r) - expected).max() < 0.0035
    assert expected.sum() == pytest.approx(1, abs=5e-3)


def test_a_table_tells_its_own_slope() -> None:
    """The slope of the log density is the difference quotient, and outside of the law there is nothing."""
    table = RadialLaw(((1.0, Ring(2.0, 3.0)),)).blurred(0.01)
    r = np.linspace(table.start + 0.05, table.end - 0.05, 50)
    up, down = table.look_up(r + 1e-7)[0], table.look_up(r - 1e-7)[0]
    np.testing.assert_allclose(table.look_up(r)[1], (up - down) / 2e-7, rtol=1e-3, atol=1e-3)
    assert np.isneginf(table.look_up(np.array([0.0, 9.0]))[0]).all()


@pytest.mark.parametrize("spec", ["grid:cell=5km", "grid:cell=0.1deg"])
def test_a_grid_can_be_applied_again(spec: str) -> None:
    """The images of known points are those of the mask; with errors they are as probable as draws say."""
    rng = np.random.default_rng(2)
    points = Points(rng.uniform((6, 47), (15, 55), (60, 2)))
    mask = parse_mask(spec)
    law = mask.place_law()
    assert isinstance(law, ReplayLaw)
    rows, places, weight = law.images(points, 0.0)
    np.testing.assert_array_equal(places.coordinates, mask.apply(points, rng).coordinates)
    assert (rows == np.arange(60)).all()
    assert (weight == 1).all()
    rows, places, weight = law.images(points, 1.0)
    np.testing.assert_allclose(np.bincount(rows, weight), 1)
    noise = parse_mask("gaussian:sigma=1km")
    told = {(row, *np.round(place, 6)): w for row, place, w in zip(rows, places.coordinates, weight, strict=True)}
    drawn: dict[tuple[float, ...], float] = {}
    for _ in range(300):
        for row, place in enumerate(mask.apply(noise.apply(points, rng), rng).coordinates):
            key = (row, *np.round(place, 6))
            drawn[key] = drawn.get(key, 0) + 1 / 300
    for key, share in drawn.items():
        assert told.get(key, 0.0) == pytest.approx(share, abs=0.14)


def test_half_the_way_to_a_neighbour() -> None:
    """In units of the mean distance of uniform places, the move of the Voronoi mask has the law of half the way."""
    rng = np.random.default_rng(3)
    before = Points(rng.uniform(0, 1, (20_000, 2)), "euclidean")
    moved = paired(before.coordinates, parse_mask("voronoi").apply(before, rng).coordinates, "euclidean")
    inner = (np.abs(before.coordinates - 0.5) < 0.48).all(axis=1)
    scaled = moved[inner] * np.sqrt(20_000)
    assert np.abs(HalfWay().cdf(np.sort(scaled)) - np.linspace(0, 1, inner.sum())).max() < 0.02
    # a density that is itself counted from five neighbours: the mean over its possible values
    counted = rng.gamma(5, 1 / 5, 200_000)
    r = np.array([0.1, 0.3, 0.6])
    mixed = [(4 * counted * np.exp(-4 * np.pi * counted * x**2)).mean() for x in r]
    np.testing.assert_allclose(HalfWay(5).density(r), mixed, rtol=0.03)


def test_exchanged_places() -> None:
    """Masked places are the true ones, within the radius; about as many stay as the law says, and partners are fair."""
    rng = np.random.default_rng(4)
    law = parse_mask("swap:radius=0.08").place_law()
    assert law == ExchangeLaw(0.08)
    stayed, expected, chosen = [], [], []
    for _ in range(30):
        before = Points(rng.uniform(0, 1, (300, 2)), "euclidean")
        after = Swap("0.08").apply(before, rng)
        gap = paired(before.coordinates, after.coordinates, "euclidean")
        assert gap.max() <= 0.08
        np.testing.assert_array_equal(np.sort(before.coordinates, axis=0), np.sort(after.coordinates, axis=0))
        away = np.sqrt(((before.coordinates[:, None] - before.coordinates[None]) ** 2).sum(axis=2))
        partners = (away <= 0.08).sum(axis=1) - 1
        stayed.append(gap == 0)
        expected.append(law.stay(partners.astype(float)))
        for row in np.flatnonzero(gap > 0):
            near = np.sort(away[row][(away[row] <= 0.08) & (away[row] > 0)])
            chosen.append((np.searchsorted(near, gap[row] * (1 - 1e-9)) + 0.5) / len(near))
    assert np.mean(stayed) == pytest.approx(np.mean(expected), rel=0.15)
    assert np.histogram(chosen, 4, (0, 1))[0] / len(chosen) == pytest.approx([0.25] * 4, abs=0.03)


@dataclass(frozen=True)
class Square(PointMask):
    """A mask of one's own, without a law: uniform in a square, but for one in ten, who stay."""

    name: ClassVar[str] = "square"
    reference: ClassVar[str] = "none"
    side: Quantity = field(metadata=LENGTH)

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the coordinates with noise."""
        step = rng.uniform(-1, 1, points.coordinates.shape) * float(self.side) / 2
        return np.asarray(points.coordinates + step * (rng.random((points.size, 1)) > 0.1))


def test_a_mask_of_ones_own_is_simulated() -> None:
    """Its law is estimated from draws, says so, and takes nothing for impossible that was merely not drawn."""
    rng = np.random.default_rng(5)
    points = Points(rng.uniform(0, 100, (400, 2)), "euclidean")
    mask = Square("6")
    assert mask.place_law(points) is None
    told = learn(
        mask, calibrate(mask, points=points.coordinates, metric="euclidean", rng=rng), points, common=0.2, rng=rng
    )
    law = told.law
    assert isinstance(law, RadialLaw)
    assert law.simulated
    fresh = paired(points.coordinates, mask.apply(points, rng).coordinates, "euclidean")
    r = np.linspace(0.5, 4, 12)
    np.testing.assert_allclose(law.cdf(r), (fresh[:, None] <= r).mean(axis=0), atol=0.07)
    assert float(law.density(np.array(1.2 * fresh.max()))) > 0
    assert law.cdf(np.array(law.reach)) == pytest.approx(1)
    table = law.blurred(0.01)
    grid = np.linspace(0, table.end, 50_001)
    assert np.trapezoid(2 * np.pi * grid * np.exp(table.look_up(grid)[0]), grid) == pytest.approx(1, abs=0.03)
    assert simulate_law(mask, None, rng) is None
    assert simulate_law(mask, Points(rng.normal(size=(5, 4)), "euclidean"), rng) is None
