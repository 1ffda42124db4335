"""Masks follow their published laws: moments, isotropy, bounds, and the same seed gives the same release."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from disclique.errors import InputError
from disclique.geodesy import displacement_km
from disclique.masks import (
    LENGTH,
    Affine,
    Dhs,
    Disc,
    Donut,
    EntryMask,
    Gaussian,
    GridCells,
    Laplace,
    Lipschitz,
    MatrixGaussian,
    MatrixLaplace,
    Multiplicative,
    Nearest,
    Projection,
    Round,
    Swap,
    TopCode,
    Voronoi,
    masks,
    parse_mask,
    register_mask,
    usage,
    usages,
)
from disclique.masks.registry import _MASKS
from disclique.spaces import Matrix, Points, full_matrix
from disclique.spaces.metrics import paired, pairwise
from disclique.units import Quantity

# rotation turns vectors: see test_vectors; withheld has no distances; test_encodings has the masks on text
ELSEWHERE = ("rotation", "withheld")
PLACED = {name: cls for name, cls in masks().items() if cls.on != "text" and name not in ELSEWHERE}
SPECS = [
    "affine:mirror=random",
    "dhs:urban=2km,rural=5km,far=10km,far-share=0.01,urban-share=0.5",
    "disc:max=1km",
    "donut:min=200m,max=1km",
    "gaussian:sigma=0.01deg",
    "gaussian:sigma=500m",
    "grid:cell=0.1deg",
    "grid:cell=5km",
    "knn:k=10",
    "laplace:epsilon=2/km",
    "lipschitz:sets=10,size=2,drawn=records,norm=inf",
    "matrix-gaussian:sd=7km",
    "matrix-laplace:b=500m",
    "multiplicative:sd=0.1",
    "none",
    "projection:dimensions=5",
    "round:to=1km",
    "swap:radius=100km",
    "topcode:max=50km",
    "voronoi",
    "within:size=20km",
]
KM_PER_DEGREE = 6371 * np.pi / 180


def rng(seed=0):
    return np.random.default_rng(seed)


def places(n=300, seed=5):
    return Points(rng(seed).uniform([7, 48], [13, 54], (n, 2)))


def one_place(n=20_000, lon=10.0, lat=51.0, metric="sphere"):
    return Points(np.tile([lon, lat], (n, 1)), metric)


def walk(before, after):
    """Length and direction of each point's move, by an independent geodesic library on the same sphere."""
    from pyproj import Geod

    geod = Geod(ellps="WGS84") if before.metric == "wgs84" else Geod(a=6371000, b=6371000)
    azimuth, _, metres = geod.inv(*before.coordinates.T, *after.coordinates.T)
    return np.asarray(metres) / 1000, np.radians(azimuth)


@pytest.mark.parametrize("spec", SPECS)
def test_spec_round_trip_and_description(spec):
    mask = parse_mask(spec)
    assert str(mask) == mask.spec == spec
    assert parse_mask(mask.spec) == mask
    assert mask.reference
    assert mask.on in ("coordinates", "distances")
    assert usage(type(mask)).startswith(mask.name)
    assert hash(mask) == hash(parse_mask(spec))


def test_every_mask_is_tested_here():
    assert {spec.partition(":")[0] for spec in SPECS} == set(PLACED)


@pytest.mark.parametrize("spec", SPECS)
def test_seed_zero_is_a_seed(spec):
    """The same seed gives the same release, another one another (unless the mask draws nothing)."""
    mask, file = parse_mask(spec), places(80)
    first, again, other = (full_matrix(mask.apply(file, rng(seed))) for seed in (0, 0, 1))
    assert np.array_equal(first, again, equal_nan=True)
    drawn = mask.name not in ("grid", "knn", "none", "round", "topcode", "voronoi", "within")
    assert np.array_equal(first, other, equal_nan=True) != drawn


@pytest.mark.parametrize("spec", SPECS)
def test_what_comes_back_is_a_distance(spec):
    """Symmetric, zero diagonal, not negative; points for masks on coordinates; the original is left alone."""
    mask, file = parse_mask(spec), places(60)
    before = file.coordinates.copy()
    released = mask.apply(file, rng())
    values = full_matrix(released)
    assert isinstance(released, Points if mask.on == "coordinates" else Matrix)
    assert np.allclose(values, values.T, equal_nan=True)
    assert (np.diagonal(values) == 0).all()
    assert not (values < 0).any()
    assert np.array_equal(file.coordinates, before)


@pytest.mark.parametrize("metric", ["sphere", "wgs84"])
@pytest.mark.parametrize("lat", [0.0, 51.0, -80.0])
def test_gaussian_in_metres_is_normal_in_every_direction(metric, lat):
    before = one_place(lat=lat, metric=metric)
    length, angle = walk(before, Gaussian("500m").apply(before, rng()))
    assert stats.kstest(length, stats.rayleigh(scale=0.5).cdf).pvalue > 0.001
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 0.001


def test_gaussian_in_degrees_is_the_papers():
    """The same normal law on longitude and latitude, independent of each other."""
    before = one_place()
    moved = Gaussian("0.01deg").apply(before, rng()).coordinates - before.coordinates
    for axis in range(2):
        assert stats.kstest(moved[:, axis], stats.norm(0, 0.01).cdf).pvalue > 0.001
    assert abs(np.corrcoef(moved.T)[0, 1]) < 4 / np.sqrt(len(moved))
    spread = Gaussian("0.01deg").displacement_spread()
    assert (spread.east, spread.north, spread.unit) == (0.01, 0.01, "deg")


@pytest.mark.parametrize(
    ("mask", "law", "bounds"),
    [
        (Disc("2km"), lambda r: (r / 2) ** 2, (0, 2)),
        (Donut("1km", "3km"), lambda r: (r**2 - 1) / 8, (1, 3)),
        (Laplace("2/km"), stats.gamma(2, scale=0.5).cdf, (0, np.inf)),
        (Laplace("0.002/m"), stats.gamma(2, scale=0.5).cdf, (0, np.inf)),
        (Dhs(urban="2km", rural="5km", far_share=0, urban_share=1), lambda r: r / 2, (0, 2)),
        (Dhs(urban_share=0, far_share=1), lambda r: r / 10, (0, 10)),
    ],
)
def test_radius_and_direction(mask, law, bounds):
    """Radii follow the published law within their bounds; directions are uniform and independent of them."""
    before = one_place()
    if mask.name == "dhs":  # those at one place are a cluster, and stay together
        before = Points(before.coordinates + 1e-4 * np.arange(before.size)[:, None] * [1, 0])
    length, angle = walk(before, mask.apply(before, rng(3)))
    assert length.min() >= bounds[0] - 1e-6
    assert length.max() <= bounds[1] + 1e-6
    assert stats.kstest(length, law).pvalue > 0.001
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 0.001
    assert abs(stats.spearmanr(length, np.cos(angle)).statistic) < 4 / np.sqrt(len(length))
    spread = mask.displacement_spread()
    if spread is not None:
        assert np.std(length * np.sin(angle)) == pytest.approx(spread.east, rel=0.03)
        assert np.std(length * np.cos(angle)) == pytest.approx(spread.north, rel=0.03)


def test_dhs_kinds():
    """Dense records move up to 2 km, the others up to 5 km, about one in a hundred of these up to 10 km."""
    dense = rng().normal([10, 51], 0.01, (5000, 2))
    sparse = rng(1).uniform([7, 48], [13, 54], (5000, 2))
    file = Points(np.vstack([dense, sparse]))
    urban = Dhs().is_urban(file)
    assert urban[:5000].mean() > 0.99
    length, _ = walk(file, Dhs().apply(file, rng(2)))
    assert length[urban].max() <= 2 + 1e-6
    rural = length[~urban]
    assert rural.max() <= 10
    assert stats.binomtest(int((rural > 5).sum()), 5000, 0.005).pvalue > 0.001


@pytest.mark.parametrize("spec", [spec for spec in SPECS if parse_mask(spec).on == "coordinates"])
@pytest.mark.parametrize("metric", ["sphere", "wgs84"])
def test_poles_and_date_line(spec, metric):
    """Coordinates stay coordinates: longitudes wrap, latitudes do not leave ±90, moves stay as small as elsewhere."""
    corners = [(179.999, 0), (-180, 60), (0, 89.999), (77, 90), (10, -90), (359, 45)]
    file = Points(np.repeat(corners, 20, axis=0) + rng().normal(0, 1e-6, (120, 2)) * [1, 0], metric)
    moved = parse_mask(spec).apply(file, rng())
    assert (np.abs(moved.coordinates[:, 1]) <= 90).all()
    assert (np.abs(moved.coordinates[:, 0]) <= 360).all()
    if not spec.startswith(("affine", "grid:cell=0.1")):
        assert paired(file.coordinates, moved.coordinates, metric).max() < 20


def test_grid():
    """Cells have a centre to which everything in them moves: by half a diagonal at most, in few places."""
    file = places(5000)
    for spec, half in (("5km", 5 / np.sqrt(2)), ("0.1deg", 0.05 * KM_PER_DEGREE * np.sqrt(2))):
        moved = GridCells(spec).apply(file, rng())
        assert paired(file.coordinates, moved.coordinates).max() <= half * 1.02
        assert np.allclose(moved.coordinates, GridCells(spec).apply(moved, rng()).coordinates)
    assert len(np.unique(GridCells("100km").apply(file, rng()).coordinates, axis=0)) < 60
    flat = GridCells(10).apply(Points(np.array([[3.0, 17.0], [-3.0, 0.0]]), "euclidean"), rng())
    assert flat.coordinates.tolist() == [[5, 15], [-5, 5]]


@pytest.mark.parametrize("metric", ["sphere", "euclidean"])
def test_voronoi_is_half_way_to_the_nearest(metric):
    file = Points(places(150).coordinates, metric)
    distances = full_matrix(file)
    np.fill_diagonal(distances, np.inf)
    moved = Voronoi().apply(file, rng()).coordinates
    assert np.allclose(paired(file.coordinates, moved, metric), distances.min(axis=1) / 2)
    assert np.allclose(paired(file.coordinates[distances.argmin(axis=1)], moved, metric), distances.min(axis=1) / 2)


def test_voronoi_moves_households_together():
    file = Points(np.array([[10, 50], [10, 50], [10, 51], [11, 55]], dtype=float))
    moved = Voronoi().apply(file, rng()).coordinates
    assert np.allclose(moved[:2], [10, 50.5])
    with pytest.raises(InputError, match="all points are at one place"):
        Voronoi().apply(one_place(3), rng())


def test_swap_exchanges_places_within_the_radius():
    file = places(400)
    moved = Swap("30km").apply(file, rng()).coordinates
    assert np.array_equal(np.sort(moved, axis=0), np.sort(file.coordinates, axis=0))
    assert paired(file.coordinates, moved).max() <= 30
    stayed = (moved == file.coordinates).all(axis=1)
    assert stayed.mean() < 0.3
    lonely = full_matrix(file)[np.ix_(stayed, stayed)][np.triu_indices(stayed.sum(), 1)]
    assert lonely.min() > 30  # two that stayed would have found each other


@pytest.mark.parametrize("mirror", ["yes", "no", "random"])
@pytest.mark.parametrize("metric", ["sphere", "wgs84", "euclidean"])
def test_affine_protects_nothing(metric, mirror):
    file = Points(places(100).coordinates, metric)
    moved = Affine(mirror).apply(file, rng())
    assert paired(file.coordinates, moved.coordinates, metric).min() > 0.01
    assert np.allclose(full_matrix(moved), full_matrix(file), atol=1e-6)


def entries(n=20_000, d=100.0):
    """A vector of equal distances to be masked one by one."""
    return np.full(n, d)


@pytest.mark.parametrize(
    ("mask", "law"),
    [
        (MatrixGaussian("7km"), stats.norm(100, 7)),
        (MatrixLaplace("7km"), stats.laplace(100, 7)),
        (Multiplicative(0.1), stats.lognorm(0.1, scale=100 * np.exp(-0.005))),
    ],
)
def test_noise_on_distances(mask, law):
    masked = mask.perturbed(entries(), rng(4), "km")
    assert stats.kstest(masked, law.cdf).pvalue > 0.001
    assert masked.mean() == pytest.approx(100, abs=4 * law.std() / np.sqrt(len(masked)))
    if mask.law is not None:
        assert stats.kstest(100 - masked, mask.law.cdf).pvalue > 0.001
        assert mask.matrix_sd == pytest.approx(law.std())


def test_noise_is_independent_but_symmetric():
    file = places(150)
    noise = (full_matrix(MatrixGaussian("1km").apply(file, rng())) - full_matrix(file))[np.triu_indices(150, 1)]
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 4 / np.sqrt(len(noise))
    assert (full_matrix(MatrixGaussian("500km").apply(file, rng())) >= 0).all()


def test_round_topcode_and_units_of_a_matrix():
    matrix = Matrix([[0, 1.4, 7.6], [1.4, 0, 12.5], [7.6, 12.5, 0]])
    assert Round(5).apply(matrix, rng()).values.tolist() == [[0, 0, 10], [0, 0, 10], [10, 10, 0]]
    with pytest.raises(InputError, match="the distances do not say their unit"):
        Round("1km").apply(matrix, rng())
    said = Round("1km").apply(Matrix(matrix.values, unit="km"), rng())
    assert (said.values[0].tolist(), said.unit) == ([0, 1, 8], "km")
    assert TopCode(8).apply(matrix, rng()).values[1].tolist() == [1.4, 0, 8]
    assert MatrixGaussian("500m").matrix_sd == 0.5


def test_directed_and_unpublished_distances_stay_so():
    values = np.array([[0, 5, np.nan], [9, 0, 4], [2, 3, 0]])
    matrix = Matrix(values, directed=True, unpublished=True)
    for mask in (MatrixGaussian(1), Round(2), Multiplicative(0.2), TopCode(4), Nearest(1)):
        released = mask.apply(matrix, rng())
        assert released.directed
        assert np.isnan(released.values[0, 2])
    assert np.isnan(Nearest(1).apply(matrix, rng()).values).tolist() == [
        [False, False, True],
        [True, False, False],
        [False, True, False],
    ]


def test_knn_publishes_the_nearest_exactly():
    file = places(100)
    distances, released = full_matrix(file), full_matrix(Nearest(3).apply(file, rng()))
    there = ~np.isnan(released)
    assert np.array_equal(released[there], distances[there])
    order = np.argsort(distances, axis=1)[:, :4]
    nearest = np.zeros_like(there)
    np.put_along_axis(nearest, order, True, axis=1)
    assert np.array_equal(there, nearest | nearest.T)
    assert not np.isnan(full_matrix(Nearest(500).apply(file, rng()))).any()


@pytest.mark.parametrize("norm", ["1", "2", "inf"])
@pytest.mark.parametrize("drawn", ["area", "records"])
def test_lipschitz_never_lengthens(norm, drawn):
    """An embedding by distances to sets does not lengthen any distance, whatever the norm."""
    file = places(80)
    released = full_matrix(Lipschitz(sets=8, size=3, drawn=drawn, norm=norm).apply(file, rng()))
    assert (released <= full_matrix(file) + 1e-9).all()
    assert released.max() > 0


def test_lipschitz_by_hand():
    """Four records on a line, every record a reference set: the largest difference is the distance itself."""
    line = np.abs(np.subtract.outer([0, 1, 3, 7], [0, 1, 3, 7])).astype(float)
    mask = Lipschitz(sets=60, drawn="records", norm="inf")
    assert np.allclose(mask.apply(Matrix(line), rng()).values, line)
    with pytest.raises(InputError, match="write drawn=records"):
        Lipschitz(sets=2).apply(Matrix(line), rng())
    with pytest.raises(InputError, match="only 4 records"):
        Lipschitz(sets=2, size=9, drawn="records").apply(Matrix(line), rng())


def test_projection_is_right_on_average():
    """The squared projected distance over the true one follows chi-square(k)/k."""
    file = Points(rng().normal(0, 1, (2, 6)), "euclidean")
    true = full_matrix(file)[0, 1]
    ratios = [5 * (full_matrix(Projection(5).apply(file, child))[0, 1] / true) ** 2 for child in rng().spawn(2000)]
    assert stats.kstest(ratios, stats.chi2(5).cdf).pvalue > 0.001
    by_matrix = full_matrix(Projection(4000).apply(Matrix(full_matrix(places(40))), rng()))
    assert np.allclose(by_matrix, full_matrix(places(40)), rtol=0.15, atol=3)


@pytest.mark.parametrize("mask", [Gaussian(3), Disc(3), Donut(1, 3), Laplace(1), GridCells(3), Swap(50), Dhs(1, 2, 3)])
def test_points_in_a_plane_have_their_own_unit(mask):
    file = Points(rng().uniform(0, 100, (200, 2)), "euclidean")
    moved = paired(file.coordinates, mask.apply(file, rng()).coordinates, "euclidean")
    assert 0 < np.median(moved) < 50


def test_gaussian_moves_any_number_of_coordinates_and_metrics():
    space = Points(np.zeros((5000, 3)), "euclidean")
    assert Gaussian(2).apply(space, rng()).coordinates.std() == pytest.approx(2, rel=0.05)
    manhattan = Points(np.zeros((50, 2)), lambda a, b: float(np.abs(a - b).sum()))
    assert full_matrix(Gaussian(2).apply(manhattan, rng())).max() > 0


def test_dials():
    assert Gaussian("500m").with_dial(800).spec == "gaussian:sigma=800m"
    assert Gaussian("500m").with_dial("0.1deg").spec == "gaussian:sigma=0.1deg"
    assert Donut("200m", "1km").with_dial(2).spec == "donut:min=400m,max=2km"
    assert Nearest(10).with_dial(4) == Nearest(4)
    assert Gaussian("500m").dial_value == 500
    for name, cls in PLACED.items():
        if cls.dial is not None:
            mask = next(parse_mask(spec) for spec in SPECS if spec.startswith(name + ":"))
            assert mask.with_dial(mask.dial_value) == mask
    with pytest.raises(InputError, match="voronoi has no dial"):
        Voronoi().with_dial(1)


@pytest.mark.parametrize("name", [name for name, cls in PLACED.items() if cls.dial is not None])
def test_turning_the_dial_up_moves_distances_more(name):
    """The dial points where it says: stronger protection publishes less, or moves distances farther."""
    mask = next(parse_mask(spec) for spec in SPECS if spec.startswith(name + ":"))
    stronger = mask.with_dial(mask.dial_value * 4 if mask.dial_rises else max(1, mask.dial_value / 5))
    if name == "laplace":
        stronger = mask.with_dial(0.5)
    file = places(200)
    true = full_matrix(file)

    def damage(which):
        released = full_matrix(which.apply(file, rng()))
        return np.isnan(released).mean(), np.nanmean((released - true) ** 2)

    assert damage(stronger) > damage(mask)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("blur:sigma=1km", "there is no mask 'blur'; there are abf, affine, bloom, clkhash"),
        ("gaussian", "sigma is missing; write gaussian:sigma=…"),
        ("gaussian:s=1km", r"gaussian has no parameter 's' \(given '1km'\); there are sigma"),
        ("gaussian:sigma", "'sigma' is not of the form name=value"),
        ("gaussian:sigma=1km,sigma=2km", "sigma is given twice"),
        ("gaussian:sigma=-1km", "'gaussian:sigma=-1km'.*sigma = -1km: it must be more than 0"),
        ("gaussian:sigma=1mile", "'gaussian:sigma=1mile'.*sigma = '1mile': the unit 'mile' does not fit"),
        ("donut:min=2km,max=1km", "max = 1km: it must be more than min = 2km"),
        ("donut:min=2,max=3km", "must both have a unit, or neither"),
        ("disc:max=1deg", "the unit 'deg' does not fit here"),
        ("knn:k=2.5", "k = 2.5: it must be a whole number of at least 1"),
        ("knn:k=0", "whole number"),
        ("multiplicative:sd=0", "sd = 0: it must be more than 0"),
        ("dhs:far-share=2", "far-share = 2: it must be between 0 and 1"),
        ("lipschitz:sets=3,norm=3", "norm = 3: choose one of 1, 2, inf"),
        ("voronoi:x=1", "voronoi has no parameter 'x'.*it has none"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec, says):
    with pytest.raises(InputError, match=says):
        parse_mask(spec)


@given(
    st.text(max_size=40) | st.sampled_from(sorted(masks())).flatmap(lambda m: st.text(max_size=30).map(f"{m}:".__add__))
)
@settings(max_examples=300)
def test_any_text_is_a_mask_or_a_clear_error(spec):
    try:
        mask = parse_mask(spec)
    except InputError:
        return
    assert parse_mask(mask.spec) == mask


@pytest.mark.parametrize(
    ("mask", "distances", "says"),
    [
        (Gaussian("1deg"), Points(np.zeros((3, 2)), "euclidean"), "degrees fit longitude and latitude"),
        (
            Gaussian("1km"),
            Points(np.zeros((3, 2)), "euclidean"),
            "the distances do not say their unit; say --unit km, m, none",
        ),
        (Gaussian(1), Points(np.zeros((3, 2))), "the unit is missing; write 1km or 1m"),
        (Round(1), Points(np.zeros((3, 2))), "the unit is missing; write 1km or 1m"),
        (Laplace(1), Points(np.zeros((3, 2))), "the unit is missing; write 1/km or 1/m"),
        (Laplace("1/km"), Points(np.zeros((3, 2)), "euclidean"), "the distances do not say their unit"),
        (Gaussian("1km"), Matrix(np.zeros((3, 3))), "moves coordinates, but only a distance matrix was given"),
        (Disc(1), Points(np.zeros((3, 3)), "euclidean"), "points of the Earth or of a plane"),
        (Gaussian(1), Points(np.array(["ab", "c"]), lambda a, b: 1.0), "not given by numbers"),
        (Projection(2), Matrix([[0, np.nan], [np.nan, 0]], unpublished=True), "takes a complete matrix"),
    ],
)
def test_a_mask_that_does_not_fit_says_why(mask, distances, says):
    with pytest.raises(InputError, match=says):
        mask.apply(distances, rng())


def test_a_mask_of_ones_own():
    """A dozen lines add a mask that the command line can read."""

    @register_mask
    @dataclass(frozen=True)
    class Longer(EntryMask):
        name: ClassVar[str] = "longer"
        reference: ClassVar[str] = "this test"
        dial: ClassVar[str | None] = "by"

        by: Quantity = field(metadata=LENGTH)

        def perturbed(self, d, rng, unit):
            return d + self.by.km

    try:
        mask = parse_mask("longer:by=2km")
        assert np.allclose(full_matrix(mask.apply(places(5), rng()))[0, 1:], full_matrix(places(5))[0, 1:] + 2)
        with pytest.raises(InputError, match="already taken"):
            register_mask(type("Other", (Longer,), {}))
    finally:
        del _MASKS["longer"]


def test_pairwise_of_masked_points_is_the_released_matrix():
    file = places(30)
    moved = Gaussian("0.02deg").apply(file, rng())
    assert np.array_equal(full_matrix(moved), pairwise(moved.coordinates, moved.coordinates))


def test_only_gaussian_displacement_is_called_gaussian():
    """What is so called has the displacement it states; nothing else is."""
    assert [name for name, cls in masks().items() if cls.gaussian] == ["gaussian"]
    for file, spec in (
        (one_place(), "gaussian:sigma=2km"),
        (Points(np.zeros((4000, 2)), "euclidean"), "gaussian:sigma=2"),
    ):
        moved = parse_mask(spec).apply(file, rng())
        for steps in displacement_km(file.coordinates, moved.coordinates, file.metric):
            assert stats.kstest(steps, stats.norm(0, 2).cdf).pvalue > 0.001


def test_all_masks_are_listed_for_help():
    assert usages().count(";") == len(masks()) - 1
    assert "donut:min=…,max=…" in usages()
