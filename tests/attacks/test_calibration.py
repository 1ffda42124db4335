"""The snooper's simulation gives the paper's table of deviations, and intervals that hold what α promises."""

import numpy as np
import pytest
from scipy.stats import laplace, norm

from builders import rng
from disclique.attacks.calibration import PROBABILITIES, ByDistance, calibrate, exact_agreement
from disclique.engine.agreement import Between
from disclique.errors import InputError
from disclique.masks import Affine, Gaussian, MatrixGaussian, MatrixLaplace, Multiplicative, Nearest, Round, parse_mask

# the paper's table of deviations: σ in degrees -> quantiles at PROBABILITIES, variance
PRINTED = {
    0.005: (-1.1088, -0.8558, -0.4261, 0.0226, 0.4496, 0.9256, 1.2192, 0.4799),
    0.010: (-2.3909, -1.7191, -0.8750, 0.0798, 0.9733, 1.8218, 2.2642, 1.9677),
    0.015: (-3.3063, -2.4633, -1.2288, 0.0810, 1.4714, 2.7492, 3.4624, 4.3312),
    0.020: (-4.6132, -3.6261, -2.0787, -0.0615, 1.7278, 3.4013, 4.3512, 7.8732),
    0.025: (-5.6147, -4.2924, -2.2826, -0.1592, 2.2177, 4.1254, 5.3089, 11.5378),
    0.030: (-6.4952, -4.9210, -2.5024, 0.1763, 2.9190, 5.2730, 6.6511, 16.1313),
    0.035: (-8.3848, -6.2351, -3.0673, -0.0665, 3.0206, 6.0428, 7.9411, 23.6334),
    0.040: (-9.1530, -6.7866, -3.7315, -0.1884, 3.4698, 7.0085, 8.7236, 30.2768),
    0.045: (-11.0830, -8.2160, -4.1860, -0.0680, 3.6953, 7.6620, 10.2638, 39.6836),
    0.050: (-11.4906, -8.9544, -4.7386, -0.0057, 4.5955, 8.6728, 11.4998, 48.8299),
}


@pytest.mark.parametrize("sigma", PRINTED)
def test_table_of_deviations(sigma):
    """One run within 15 % of the printed variance, the median of many within 8 %, quantiles within .15 of their sd.

    A quantile of the paper's 1,000 pairs has itself a standard error of up to .07 sd; the printed .95 quantile of
    σ = .005 (1.76 sd) is the one farthest from the normal law's 1.645.
    """
    printed = np.array(PRINTED[sigma])
    one_run = calibrate(Gaussian(f"{sigma}deg"), rng=rng(int(sigma * 1000)))
    assert one_run.variance == pytest.approx(printed[-1], rel=0.15)
    runs = [calibrate(Gaussian(f"{sigma}deg"), rng=child) for child in rng(7).spawn(40)]
    assert np.median([run.variance for run in runs]) == pytest.approx(printed[-1], rel=0.08)
    scaled = np.median([np.array(list(run.quantiles.values())) / np.sqrt(run.variance) for run in runs], axis=0)
    difference = np.abs(scaled - printed[:-1] / np.sqrt(printed[-1]))
    assert difference.max() < 0.15
    assert np.median(difference) < 0.08


def test_row_and_interval():
    calibration = calibrate(parse_mask("gaussian:sigma=0.01deg"), rng=rng())
    row = calibration.row()
    assert row["mask"] == "gaussian:sigma=0.01deg"
    assert row["pairs"] == 1000
    low, high = calibration.interval(0.9)
    assert (low, high) == pytest.approx((row["0.05"], row["0.95"]))
    agreement = calibration.agreement(0.9)
    assert isinstance(agreement, Between)
    assert (agreement.lo, agreement.hi) == pytest.approx((low, high))
    assert list(calibration.quantiles) == list(PROBABILITIES)


@pytest.mark.parametrize(
    ("mask", "law"), [(MatrixGaussian("7km"), norm(0, 7)), (MatrixLaplace("5000m"), laplace(0, 5))]
)
def test_noise_on_the_matrix_needs_no_simulation(mask, law):
    agreement = exact_agreement(mask, 0.5)
    assert agreement == Between(law.ppf(0.25), law.ppf(0.75))
    assert exact_agreement(Gaussian("1km"), 0.5) is None


FRESH = [
    "gaussian:sigma=2km",
    "disc:max=2km",
    "donut:min=1km,max=3km",
    "laplace:epsilon=1/km",
    "grid:cell=5km",
    "dhs",
    "voronoi",
    "swap:radius=30km",
    "matrix-gaussian:sd=7km",
    "matrix-laplace:b=7km",
    "multiplicative:sd=0.1",
    "round:to=20km",
    "lipschitz:sets=10",
    "projection:dimensions=10",
]


@pytest.mark.parametrize("alpha", [0.5, 0.9])
@pytest.mark.parametrize("spec", FRESH)
def test_detection_probability_on_fresh_pairs(spec, alpha):
    """Whatever the mask, about the share α of fresh pairs agrees."""
    mask = parse_mask(spec)
    learnt = calibrate(mask, pairs=4000, records=300, rng=rng(1))
    fresh = calibrate(mask, pairs=4000, records=300, rng=rng(2))
    low, high = learnt.agreement(alpha).interval(fresh.masked)
    assert ((low < fresh.original) & (fresh.original < high)).mean() == pytest.approx(alpha, abs=0.05)


def test_bounds_follow_the_distance():
    """Multiplicative noise widens with the distance; below the top code the distance is exact, at it it is not."""
    short, long = (
        np.diff(exact_agreement(Multiplicative(0.1), 0.5).interval(np.array([d])), axis=0) for d in (10, 100)
    )
    assert long == pytest.approx(10 * short)
    top = calibrate(parse_mask("topcode:max=200km"), rng=rng()).agreement(0.9)
    assert isinstance(top, ByDistance)
    low, high = top.interval(np.array([100.0, 200.0]))
    assert high[0] - low[0] < 1e-5
    assert low[0] < 100 < high[0]
    assert low[1] < 230 < high[1]
    for step in (5, 300):  # many and few values
        learnt = calibrate(parse_mask(f"round:to={step}km"), rng=rng())
        low, high = learnt.agreement(0.8).interval(learnt.masked)
        assert np.allclose(high - low, 0.8 * step)


@pytest.mark.parametrize("mask", [Affine(), Nearest(5)])
def test_exact_masks_agree_but_for_rounding(mask):
    """A mask that changes no distance leaves a tiny interval that contains every true distance."""
    learnt, fresh = (calibrate(mask, records=100, rng=rng(seed)) for seed in (1, 2))
    low, high = learnt.agreement(0.1).interval(fresh.masked)
    assert ((low < fresh.original) & (fresh.original < high)).all()
    assert (high - low).max() < 1e-4


def test_an_atom_at_the_end_of_the_interval_is_kept():
    """Where most records do not move, the open interval must still contain a deviation of exactly zero."""
    learnt = calibrate(parse_mask("swap:radius=3km"), records=200, rng=rng())
    low, high = learnt.agreement(0.5).interval(np.array([100.0]))
    assert low[0] < 100 < high[0]


def test_points_of_ones_own():
    """Points in a plane with their own unit, and a function that draws them."""
    plane = rng().uniform(0, 1000, (300, 2))
    flat = calibrate(Gaussian(3), points=plane, metric="euclidean", pairs=4000, rng=rng())
    assert flat.variance == pytest.approx(2 * 9, rel=0.1)
    drawn = calibrate(Round("1km"), points=lambda n, r: r.uniform([8, 48], [9, 49], (n, 2)), rng=rng())
    assert drawn.variance == pytest.approx(1 / 12, rel=0.1)


def test_refuses():
    with pytest.raises(InputError, match=r"alpha = 1\.5"):
        calibrate(Gaussian("1km"), rng=rng()).agreement(1.5)
    with pytest.raises(InputError, match="give the points"):
        calibrate(Gaussian(1), metric="euclidean", rng=rng())
    with pytest.raises(InputError, match="pairs = 1"):
        calibrate(Gaussian("1km"), pairs=1, rng=rng())
    with pytest.raises(InputError, match="1 points"):
        calibrate(Gaussian("1km"), points=np.zeros((1, 2)), rng=rng())
