"""Units: a length never meets distances whose unit nobody said, and every number is printed with its unit."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import disclique as dq
from builders import mask_in_order
from conftest import Run
from disclique.attacks import CliqueAttack, parse_attacks
from disclique.attacks.calibration import calibrate_matrix
from disclique.audits import Audit, run_audit
from disclique.masks import Mask
from disclique.masks.registry import bare_lengths, masks, name_units
from disclique.spaces import ReleaseSeries, full_matrix, shared_unit
from disclique.spaces.base import Distances
from disclique.units import Quantity, length_in, measured
from small_files import LIGHT

N = 40
TABLE = dq.survey().iloc[:N].reset_index(drop=True)
LABELS = ["sex", "age_class"]
PLACES = TABLE[["lon", "lat"]].to_numpy()
KM = full_matrix(dq.Points(PLACES))
KM = (KM + KM.T) / 2
UNSAID = "do not say their unit"
BARE = "these distances are plain numbers"


def by_matrix(values: np.ndarray = KM, unit: str | None = None, name: str = "matrix") -> dq.Microdata:
    return dq.microdata(TABLE, LABELS, distances=values, ids="id", unit=unit, name=name)


def by_places(name: str = "places") -> dq.Microdata:
    return dq.microdata(TABLE, LABELS, coordinates=["lon", "lat"], ids="id", name=name)


def plane(unit: str | None = None, scale: float = 1.0) -> dq.Microdata:
    """The same people on a flat map; coordinates in km times ``scale``."""
    flat = scale * np.column_stack([(PLACES[:, 0] - 10) * 70, (PLACES[:, 1] - 50) * 111])
    return dq.microdata(TABLE, LABELS, coordinates=flat, metric="euclidean", ids="id", unit=unit, name="plane")


# The unit of a source of distances


def test_a_matrix_keeps_its_unit_and_metres_become_kilometres() -> None:
    """Whatever is chosen of it, masked, or averaged over releases."""
    said = by_matrix(1000 * KM, "m").distances
    np.testing.assert_allclose(said.values, KM, rtol=1e-12)
    assert (said.unit, by_matrix().distances.unit, by_matrix(unit="none").distances.unit) == ("km", None, "none")
    for unit in ("km", "none", None):
        own = dq.Matrix(KM, unit=unit)
        kept = [own, own.select(np.arange(5)), own.as_matrix(), ReleaseSeries((own, own)), replace(own, values=KM)]
        kept += [dq.parse_mask(spec).apply(own, np.random.default_rng(0)) for spec in ("round:to=5", "knn:k=3")]
        assert {one.unit for one in kept} == {unit}
    assert repr(said).endswith("matrix, km")
    assert repr(dq.Matrix(KM, unit="none")).endswith("matrix, no unit")


def test_the_unit_of_points_follows_from_the_metric_or_is_said() -> None:
    """Kilometres on the Earth, none by cosine, Gower and text; of a plane it is said, and its coordinates converted."""
    sphere, wgs84 = dq.Points(PLACES), dq.Points(PLACES, "wgs84")
    assert {one.unit for one in (sphere, wgs84, sphere.as_matrix(), wgs84.select(np.arange(3)))} == {"km"}
    texts = dq.Texts(("anna", "otto"))
    bare = [dq.Points(PLACES, "cosine"), dq.Points([[1, "a"], [2, "b"]], "gower"), texts]
    encoded = dq.parse_mask("bloom").apply(texts, np.random.default_rng(0))
    assert {one.unit for one in (*bare, encoded, bare[0].as_matrix())} == {"none"}
    assert plane().distances.unit is None
    metres, km = plane("m", 1000).distances, plane("km").distances
    np.testing.assert_allclose(metres.coordinates, km.coordinates)
    assert (metres.unit, metres.as_matrix().unit, metres.select(np.arange(3)).unit) == ("km",) * 3
    assert "euclidean, km" in repr(metres)
    own = dq.Points(PLACES, lambda a, b: float(abs(a - b).sum()))
    assert own.unit is None
    with pytest.raises(dq.InputError, match=r"let the metric .* return kilometres"):
        replace(own, unit="m")


@pytest.mark.parametrize(
    "spec", ["affine", "gaussian:sigma=1km", "lipschitz:sets=5", "projection:dimensions=3", "knn:k=4"]
)
def test_what_a_mask_makes_of_the_earth_is_in_kilometres(spec: str) -> None:
    """Also an embedding or a projection, which are lengths still."""
    assert (mask_in_order(by_places(), spec, 1).distances).unit == "km"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: by_matrix(unit="yards"), "matrix: unit = 'yards': choose one of m, km, s, min, h, none"),
        (
            lambda: dq.microdata(TABLE, coordinates=["lon", "lat"], unit="m"),
            "in km already; a unit is said of a matrix",
        ),
        (lambda: dq.microdata(TABLE, coordinates=["lon", "lat"], unit="none"), "in km already"),
        (lambda: dq.microdata(TABLE, text="sex", unit="km"), "plain numbers; a unit is said of a matrix"),
        (lambda: dq.microdata(TABLE, coordinates=["lon", "lat"], metric="cosine", unit="m"), "plain numbers"),
        (lambda: dq.microdata(TABLE, distances=dq.Matrix(KM, unit="km"), unit="none"), "in km already"),
        (lambda: by_matrix(1000 * KM, "km"), "longer than the way around the Earth; are these metres"),
        (lambda: plane("km", 1000), "longer than the way around the Earth; are these metres"),
    ],
)
def test_a_unit_that_cannot_be_is_refused(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(dq.InputError, match=says):
        make()


def test_the_unit_that_is_true_anyway_may_be_said() -> None:
    assert dq.microdata(TABLE, coordinates=["lon", "lat"], unit="km").distances.unit == "km"
    assert dq.microdata(TABLE, text="sex", unit="none").distances.unit == "none"


# The rule


@given(st.floats(1e-3, 1e6), st.sampled_from(["m", "km", ""]), st.sampled_from(["km", "none", None]))
def test_the_rule(value: float, unit: str, distances: str | None) -> None:
    """A bare number stays; one with a unit is converted beside kilometres only."""
    quantity = Quantity(value, unit)
    if not unit:
        assert length_in(quantity, distances, "x") == value
    elif distances == "km":
        assert length_in(quantity, distances, "x") == pytest.approx(value / {"m": 1000, "km": 1}[unit], rel=1e-12)
    else:
        with pytest.raises(dq.InputError, match=BARE if distances == "none" else UNSAID):
            length_in(quantity, distances, "x")


def test_two_files_are_compared_in_one_unit() -> None:
    """None may be guessed: one in km beside one of which nothing is said could be in metres."""
    km, none, unsaid = by_matrix(unit="km"), by_matrix(unit="none"), by_matrix(name="other")
    sources = {"km": km.distances, "none": none.distances, None: unsaid.distances}
    for one, other in (("km", "km"), ("none", "none"), (None, None)):
        assert shared_unit(sources[one], sources[other]) == one
    assert shared_unit(sources["none"], sources[None]) == "none"
    with pytest.raises(dq.InputError, match=f"^b: the distances {UNSAID}, but those of a are in km"):
        shared_unit(sources["km"], sources[None], ("a", "b"))
    with pytest.raises(dq.InputError, match=r"^a: the distances have no unit of length, but those of b are in km"):
        shared_unit(sources["none"], sources["km"], ("a", "b"))


# Masks


LENGTHS = {
    "matrix-gaussian:sd=500m": 0.5,
    "matrix-laplace:b=500m": 0.5,
    "round:to=500m": 0.5,
    "topcode:max=500m": 0.5,
}


@pytest.mark.parametrize("spec", LENGTHS)
def test_a_mask_with_a_length_needs_to_know_the_unit(spec: str) -> None:
    """In metres, in km, and as a bare number of km: one release; unsaid or none: refused."""
    expected = mask_in_order(by_matrix(unit="km"), spec, 1).distances.values
    np.testing.assert_allclose(mask_in_order(by_matrix(1000 * KM, "m"), spec, 1).distances.values, expected, atol=1e-9)
    bare = spec.replace("500m", "0.5")
    np.testing.assert_array_equal(mask_in_order(by_matrix(unit="km"), bare, 1).distances.values, expected)
    np.testing.assert_array_equal(mask_in_order(by_matrix(), bare, 1).distances.values, expected)
    assert dq.release(by_matrix(unit="km"), bare, 1).mask == spec.replace("500m", "0.5km")
    for unit, says in ((None, UNSAID), ("none", BARE)):
        with pytest.raises(dq.InputError, match=says):
            mask_in_order(by_matrix(1000 * KM, unit), spec, 1)


@pytest.mark.parametrize(
    "spec",
    [
        *("gaussian:sigma=500m", "disc:max=500m", "donut:min=200m,max=500m", "laplace:epsilon=2/km", "grid:cell=500m"),
        *("swap:radius=50km", "dhs"),
    ],
)
def test_a_plane_in_metres_is_masked_as_one_in_kilometres(spec: str) -> None:
    """Said units give the same moves; of a plane without a unit the same spec is refused."""
    one, other = (mask_in_order(plane(unit, scale), spec, 1).distances for unit, scale in (("km", 1), ("m", 1000)))
    np.testing.assert_allclose(one.values, other.values, atol=1e-9)
    for unit, says in ((None, UNSAID), ("none", BARE)):
        with pytest.raises(dq.InputError, match=says):
            mask_in_order(plane(unit), spec, 1)


def test_a_mask_of_ones_own_keeps_the_unit() -> None:
    """Also where its author returns a bare matrix: what it makes of kilometres is compared with kilometres."""

    @dataclass(frozen=True)
    class Halved(Mask):
        name, on, scope, reference = "halved", "distances", "file", "a test"

        def apply(self, distances: Distances, rng: np.random.Generator) -> dq.Matrix:
            return dq.Matrix(full_matrix(distances) / 2)

    made = mask_in_order(by_matrix(unit="km"), Halved(), 1)
    assert (made.distances.unit, mask_in_order(by_matrix(), Halved(), 1).distances.unit) == ("km", None)
    np.testing.assert_array_equal(made.distances.values, KM / 2)
    dq.attack(made, by_places(), by="labels")


def test_the_noise_is_as_large_as_it_is_said() -> None:
    """A matrix in metres and sd=500m: the deviation is half a kilometre, not half a metre."""
    made = mask_in_order(by_matrix(1000 * KM, "m"), "matrix-gaussian:sd=500m", 3).distances.values
    above = np.triu_indices(N, 1)
    assert np.std((made - KM)[above]) == pytest.approx(0.5, rel=0.1)


def test_bare_lengths_of_specs_are_found_and_named() -> None:
    """Every length of every mask, in ranges too; numbers that are no lengths stay."""
    own = dq.Matrix(KM, unit="km")
    named = {
        "round:to=1..5": "round:to=1km..5km",
        "donut:min=0,max=500m": "donut:min=0km,max=500m",
        "laplace:epsilon=2": "laplace:epsilon=2/km",
        "gaussian:sigma=.5..1km": "gaussian:sigma=.5km..1km",
        "multiplicative:sd=0.1": "multiplicative:sd=0.1",
        "knn:k=5": "knn:k=5",
        "affine": "affine",
        "nothing:x=5": "nothing:x=5",
    }
    for spec, expected in named.items():
        assert name_units(spec, own) == expected
        assert name_units(spec, dq.Matrix(KM)) == name_units(spec, dq.Points(PLACES)) == spec
    assert bare_lengths("gaussian:sigma=.5..1km") == [".5"]
    assert len(masks()) > 15


# Agreements and attacks


@given(st.floats(1e-3, 1e3), st.floats(0, 2e4))
def test_an_agreement_with_a_unit_is_exact_where_distances_are_known(x: float, distance: float) -> None:
    d = np.array([distance])
    assert dq.Within(f"{x!r}km").in_unit("km").interval(d) == dq.Within(x).interval(d)
    ends = dq.Between(f"-{x!r}km", f"{2 * x!r}km").in_unit("km")
    assert ends.interval(d) == dq.Between(-x, 2 * x).interval(d)


def test_agreements_are_read_as_people_write_them() -> None:
    assert dq.Between("\N{MINUS SIGN}1km", "2km") == dq.Between("-1km", "2km")
    assert dq.Within("500m") != dq.Within("5km")
    assert dq.Within("5") == dq.Within(5)
    assert dq.Relative("5 %") == dq.Relative(0.05)
    with pytest.raises(dq.InputError, match=f"within 500m: the distances {UNSAID}"):
        dq.Within("500m").interval(np.ones(1))


def test_an_attack_is_the_same_in_every_unit() -> None:
    """Metres or km, "500m" or 0.5; what is said of the agreement has its unit."""
    target, known = mask_in_order(by_matrix(unit="km"), "matrix-gaussian:sd=100m", 1), by_places()
    metres = by_matrix(1000 * target.distances.values, "m")
    found = [
        dq.attack(one, known, agreement=agreement, truth="id")
        for one in (target, metres)
        for agreement in (dq.Within("500m"), dq.Within(0.5), dq.Between("-500m", "0.5km"))
    ]
    assert {one.clique.members for one in found} == {found[0].clique.members}
    assert found[0].risk.recall > 0.5
    assert "distances agree if |d - d′| < 0.5 km" in found[0].lines()
    assert "distances agree if -0.5 km < d - d′ < 0.5 km" in found[2].lines()
    assert (found[0].unit, found[0].to_dict()["unit"]) == ("km", "km")
    poets = dq.attack(*dq.poets(), agreement=dq.Within(5))
    assert "distances agree if |d - d′| < 5" in poets.lines()
    assert poets.unit is None


@pytest.mark.parametrize("by", ["clique", "register", "profiles", "equal", "labels"])
def test_no_attack_guesses_a_unit(by: str) -> None:
    """A matrix in metres without a unit beside coordinates: refused, not recall 0 and "proven"."""
    target = by_matrix(1000 * KM)
    for one, other in ((target, by_places()), (by_places(), target), (target, by_matrix(unit="km", name="km"))):
        with pytest.raises(dq.InputError, match=f"matrix: the distances {UNSAID}"):
            dq.attack(one, other, by=by, agreement=dq.Within(0.5))
    with pytest.raises(dq.InputError, match="no unit of length"):
        dq.attack(by_matrix(unit="none"), by_places(), by=by, agreement=dq.Within(0.5))
    with pytest.raises(dq.InputError, match=f"within 500m: the distances {UNSAID}"):
        dq.attack(target, target, by=by, agreement=dq.Within("500m"))
    with pytest.raises(dq.InputError, match=f"within 500m: {BARE}"):
        dq.attack(by_matrix(unit="none"), by_matrix(unit="none"), by=by, agreement=dq.Within("500m"))


def test_an_attack_that_is_built_keeps_the_rule() -> None:
    """The agreement meets its distances in the product graph, and the files are compared before."""

    built = CliqueAttack(dq.Within("500m"))
    found = dq.attack(by_matrix(unit="km"), by_places(), by=built)
    assert found.clique.members == dq.attack(by_places(), by_places(), agreement=dq.Within(0.5)).clique.members
    with pytest.raises(dq.InputError, match=UNSAID):
        dq.attack(by_matrix(), by_matrix(), by=built)
    with pytest.raises(dq.InputError, match=UNSAID):
        dq.attack(by_matrix(), by_places(), by=built)


def test_what_the_snooper_learned_of_a_mask_meets_the_unit_of_the_release() -> None:
    """The law of a mask in km beside distances of which nobody said that."""
    mask, rng = dq.parse_mask("matrix-gaussian:sd=500m"), np.random.default_rng(0)
    said = by_matrix(unit="km")
    learned = calibrate_matrix(mask, said.distances, rng=rng)
    assert learned.unit == "km"
    told = dq.learn(mask, learned, None, common=0.9, rng=rng).at(0.9, learned)
    target = mask_in_order(said, "matrix-gaussian:sd=500m", 1)
    assert dq.attack(target, said, knowledge=told, truth="id").risk.recall > 0.2
    for unit, says in ((None, UNSAID), ("none", BARE)):
        file = by_matrix(unit=unit)
        with pytest.raises(dq.InputError, match=says):
            dq.attack(file, file, knowledge=told)


@pytest.mark.parametrize(("unit", "scale", "sigma"), [("m", 1000.0, "500m"), ("km", 1.0, "0.5km"), (None, 1.0, "0.5")])
def test_registration_in_a_plane_of_metres(unit: str | None, scale: float, sigma: str) -> None:
    """Noise with a unit on a flat map: the law, the oracle and the attack find what they find without one."""
    file = plane(unit, scale)
    plan = dq.Plan((f"gaussian:sigma={sigma}",), attacks=("register",), repetitions=1, person_trials=10)

    result = run_audit(Audit(plan, file)).settings[0]
    assert result.oracle is not None
    assert result.risk.value > 0.9
    assert result.spec == f"gaussian:sigma={sigma}"


def test_noise_in_km_is_understood_in_a_plane_of_km_only() -> None:
    """What the snooper was told of the noise meets the unit of the map."""
    told = dq.Knowledge(noise=dq.Spread(0.5, 0.5, "km"), common=0.9)
    for unit, scale in (("km", 1), ("m", 1000)):
        file = plane(unit, scale)
        found = dq.attack(
            mask_in_order(file, "gaussian:sigma=500m", 1), file, by="register", knowledge=told, truth="id"
        )
        assert found.risk.recall > 0.9
    with pytest.raises(dq.InputError, match=f"noise of 0.5km: the distances {UNSAID}"):
        dq.attack(plane(), plane(), by="register", knowledge=told)


def test_files_of_very_different_size_are_noted() -> None:
    """Two matrices need no unit, but one in metres beside one in km is not passed over."""
    found = dq.attack(by_matrix(1000 * KM), by_matrix(name="other"), agreement=dq.Within(1))
    assert "medians_differ" in [note.code for note in found.notes]
    assert dq.attack(by_matrix(), by_matrix(name="other"), agreement=dq.Within(1)).notes == ()


# Audits


def test_audits_compare_files_in_one_unit() -> None:
    plan = dq.Plan(("round:to=5",), dq.Snooper(given=True), attacks=("labels",), repetitions=1)
    with pytest.raises(dq.InputError, match=f"matrix: the distances {UNSAID}, but those of places are in km"):
        Audit(plan, by_places(), by_matrix())
    with pytest.raises(dq.InputError, match=UNSAID):
        dq.audit(by_matrix(1000 * KM), "matrix-gaussian:sd=500m", attacks="labels", repetitions=1)
    with pytest.raises(dq.InputError, match=BARE):
        dq.audit(by_matrix(unit="none"), "round:to=1km..5km", attacks="labels", repetitions=1)
    result = dq.audit(by_matrix(unit="km"), "round:to=5..10", attacks="labels", repetitions=1)
    assert [one.spec for one in result.settings][:1] == ["round:to=5km"]
    assert all(one.spec.endswith("km") for one in result.settings)


def test_a_bare_number_beside_places_in_km_is_refused() -> None:
    """It may be meant in the metres that were given; as an error of the snooper it would make them blind."""
    file, options = plane("m", 1000), {"attacks": "labels", "repetitions": 1}
    with pytest.raises(dq.InputError, match="coordinate error = 100: the unit is missing; write 100km or 100m"):
        dq.audit(file, "gaussian:sigma=500m", coordinate_error=100, **options)
    with pytest.raises(dq.InputError, match=f"coordinate error = 100m: the distances {UNSAID}"):
        dq.audit(plane(), "gaussian:sigma=0.5", coordinate_error="100m", **options)
    with pytest.raises(dq.InputError, match="sigma = 500: the unit is missing; write 500km or 500m"):
        dq.audit(file, "gaussian:sigma=500", **options)


# Calibration and usefulness


def test_a_calibration_says_its_unit() -> None:
    """The same numbers for points in metres and in km; refused where nobody said which."""
    mask, rng = dq.parse_mask("gaussian:sigma=500m"), np.random.default_rng
    flat = plane("km").distances.coordinates
    km, m = (
        dq.calibrate(mask, points=scale * flat, metric="euclidean", unit=unit, rng=rng(0))
        for unit, scale in (("km", 1), ("m", 1000))
    )
    np.testing.assert_allclose(km.deviation, m.deviation, atol=1e-9)
    assert (km.unit, m.unit, dq.calibrate(mask, rng=rng(0)).unit) == ("km",) * 3
    assert "0.7" in repr(m)
    assert " km)" in repr(m)
    with pytest.raises(dq.InputError, match=UNSAID):
        dq.calibrate(mask, points=flat, metric="euclidean", rng=rng(0))


def test_measures_of_usefulness_have_their_unit() -> None:
    """Lengths in km, the variance in km², shares in nothing; and the files must be in one unit."""
    rng = np.random.default_rng(0)
    titles = (
        dq.utility(by_places().distances, by_matrix(unit="km").distances, rng=rng).table().set_index("name")["title"]
    )
    assert titles["bias"] == "mean of d′ - d (km)"
    assert titles["variance"].endswith("(km²)")
    assert "km" not in titles["stress"] + titles["neighbours"]
    bare = dq.utility(by_matrix().distances, by_matrix().distances, rng=rng).table()["title"]
    assert not bare.str.contains("km").any()
    with pytest.raises(dq.InputError, match=f"released: the distances {UNSAID}"):
        dq.utility(by_places().distances, by_matrix().distances, rng=rng)


@pytest.mark.parametrize(
    ("value", "unit", "shown"), [(0.5, "km", "0.5 km"), (1234.5678, None, "1235"), (1e-7, "none", "1e-07")]
)
def test_numbers_are_shown_with_their_unit(value: float, unit: str | None, shown: str) -> None:
    assert measured(value, unit) == shown


# The command line


@pytest.fixture
def files(run: Run) -> Run:
    """A table, its distances in km and in metres, and places of a plane in metres."""
    flat = plane("km").distances.coordinates * 1000
    TABLE.assign(x=flat[:, 0], y=flat[:, 1]).to_csv("f.csv", index=False)
    TABLE.to_csv("k.csv", index=False)
    np.savetxt("km.csv", KM, delimiter=",")
    np.savetxt("m.csv", 1000 * KM, delimiter=",")
    np.savetxt("plane.csv", cdist(flat, flat), delimiter=",")
    return run


COLUMNS = ("--id", "id", "--label", "sex", "--label", "age_class")
MATRIX = ("--distances", "m.csv")
PLANE = ("--coordinates", "x,y", "--metric", "euclidean")
BESIDE = ("attack", "f.csv", "k.csv", *COLUMNS, "--target-distances", "m.csv", "--known-coordinates", "lon,lat")
BOTH = ("attack", "f.csv", "k.csv", *COLUMNS, "--target-distances", "m.csv", "--known-distances", "m.csv")
MASKED = ("mask", "f.csv", *COLUMNS, "--out", "r.csv")
AUDITED = (
    "audit",
    "f.csv",
    *COLUMNS,
    "--out",
    "a",
    "--repetitions",
    "1",
    "--attack",
    "labels",
    "--processes",
    "1",
    *LIGHT,
)
POINTS = ("calibrate", "--points", "f.csv", *PLANE, "--mask", "gaussian:sigma=500m")
REFUSED = {
    "mask, unsaid": ((*MASKED, *MATRIX, "--mask", "matrix-gaussian:sd=500m"), UNSAID),
    "mask, none": ((*MASKED, *MATRIX, "--unit", "none", "--mask", "matrix-gaussian:sd=500m"), BARE),
    "mask, plane unsaid": ((*MASKED, *PLANE, "--mask", "gaussian:sigma=500m"), UNSAID),
    "mask, bare beside metres": ((*MASKED, *MATRIX, "--unit", "m", "--mask", "round:to=500"), "write 500m or 500km"),
    "mask, metres said km": ((*MASKED, *MATRIX, "--unit", "km", "--mask", "affine"), "are these metres?"),
    "mask, degrees in m": (
        (*MASKED, "--coordinates", "lon,lat", "--unit", "m", "--mask", "affine"),
        "a unit is said of a matrix of distances, or of euclidean coordinates",
    ),
    "mask, miles": ((*MASKED, *MATRIX, "--unit", "miles", "--mask", "affine"), "choose one of m, km, s, min, h, none"),
    "audit, unsaid": ((*AUDITED, *MATRIX, "--mask", "matrix-gaussian:sd=500m..5km"), UNSAID),
    "audit, none": ((*AUDITED, *MATRIX, "--unit", "none", "--mask", "round:to=500m"), BARE),
    "audit, bare beside metres": ((*AUDITED, *MATRIX, "--unit", "m", "--mask", "round:to=5..9"), "write 5m or 5km"),
    "audit, bare error": (
        (*AUDITED, *PLANE, "--unit", "m", "--mask", "gaussian:sigma=500m", "--coordinate-error", "100"),
        "coordinate error = 100: the unit is missing",
    ),
    "audit, known by places": (
        (*AUDITED, *MATRIX, "--known", "k.csv", "--known-distances", "m.csv", "--mask", "round:to=1km"),
        UNSAID,
    ),
    "attack, places beside": ((*BESIDE, "--within", "500m"), UNSAID),
    "attack, places beside a bare number": ((*BESIDE, "--within", "5"), UNSAID),
    "attack, places beside no length": ((*BESIDE, "--within", "5", "--unit", "none"), "no unit of length"),
    "attack, within": ((*BOTH, "--within", "500m"), f"--within 500m: the distances {UNSAID}"),
    "attack, between": ((*BOTH, "--between", "-1km,1km"), f"--between -1km: the distances {UNSAID}"),
    "attack, mask": ((*BOTH, "--mask", "matrix-gaussian:sd=500m"), UNSAID),
    "attack, noise": ((*BOTH, "--within", "5", "--noise", "500m"), f"--noise 500m: the distances {UNSAID}"),
    "attack, matrix noise": (
        (*BOTH, "--within", "5", "--matrix-noise", "1m"),
        f"--matrix-noise 1m: the distances {UNSAID}",
    ),
    "attack, error": (
        (*BOTH, "--within", "5", "--coordinate-error", "1m"),
        f"--coordinate-error 1m: the distances {UNSAID}",
    ),
    "attack, none": ((*BOTH, "--unit", "none", "--within", "500m"), BARE),
    "attack, bare beside metres": ((*BOTH, "--unit", "m", "--within", "5"), "write 5m or 5km"),
    "attack, degrees in m": (
        (*BESIDE[:3], *COLUMNS, "--coordinates", "lon,lat", "--unit", "m", "--within", "1km"),
        "a unit is said of a matrix",
    ),
    "calibrate, unsaid": (POINTS, UNSAID),
    "calibrate, none": ((*POINTS, "--unit", "none"), BARE),
    "calibrate, degrees in m": (("calibrate", "--mask", "gaussian:sigma=500m", "--unit", "m"), "are in km"),
    "calibrate, bare beside metres": ((*POINTS[:-1], "gaussian:sigma=500", "--unit", "m"), "write 500m or 500km"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_command_line_refuses_to_guess(files: Run, case: str) -> None:
    """Exit code 2, one sentence, nothing written."""
    arguments, says = REFUSED[case]
    before = set(Path().iterdir())
    code, out, err = files(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert set(Path().iterdir()) == before


def test_with_the_unit_the_command_line_finds_what_is_there(files: Run) -> None:
    """The attack that found nothing on a matrix in metres: recall 1, in km as in m, and the numbers have their unit."""
    for unit, matrix in (("m", "m.csv"), ("km", "km.csv")):
        arguments = [matrix if word == "m.csv" else word for word in BESIDE]
        code, _, err = files(
            *arguments, "--unit", unit, "--within", "100m", "--truth", "id", "--json", "found.json", "--force"
        )
        assert code == 0, err
        assert "|d - d′| < 0.1 km" in err
        found = json.loads(Path("found.json").read_text())["attacks"][0]
        assert (found["recall"], found["unit"], found["agreement"]) == (1.0, "km", "|d - d′| < 0.1 km")


def test_the_release_of_a_matrix_in_metres_says_that_it_is_in_kilometres(files: Run) -> None:
    code, _, err = files(*MASKED, *MATRIX, "--unit", "m", "--mask", "matrix-gaussian:sd=500m", "--seed", "1")
    assert code == 0
    assert "distances in km" in err
    assert json.loads(Path("r_recipe.json").read_text())["unit"] == "km"
    made = np.loadtxt("r_distances.csv", delimiter=",")
    assert np.median(made) == pytest.approx(np.median(KM), rel=0.05)


def test_calibrate_prints_units(files: Run) -> None:
    """In the heads of its columns, which a pipe carries; none where there is none."""
    _, out, _ = files(*POINTS, "--unit", "m", "--alpha", "0.5", "--out", "row.csv")
    assert "\t0.05 (km)\t" in out
    assert "variance (km²)" in out
    assert "alpha\tlow (km)\thigh (km)" in out
    assert "variance (km²)" in pd.read_csv("row.csv").columns
    _, out, _ = files(*POINTS[:-1], "gaussian:sigma=500", "--unit", "none")
    assert "km" not in out


def test_a_unit_goes_to_the_file_that_has_one(files: Run) -> None:
    """Places of the holder beside the snooper's matrix in metres."""
    arguments = ("--coordinates", "lon,lat", "--known", "k.csv", "--known-distances", "m.csv", "--mask", "round:to=1km")
    code, _, err = files(*AUDITED, *arguments, "--unit", "m", "--dry-run")
    assert code == 0, err


# Work that was cut short


@pytest.fixture
def crowded(run: Run) -> tuple[str, ...]:
    """Random distances, in which a maximum clique is hard to prove, and a release with noise of its own."""
    rng = np.random.default_rng(3)
    places = rng.uniform(0, 100, (60, 2))
    true = cdist(places, places)
    noise = np.triu(rng.normal(0, 6, true.shape), 1)
    np.save("d.npy", true)
    np.save("e.npy", np.abs(true + noise + noise.T) * (1 - np.eye(60)))
    pd.DataFrame({"id": range(60), "x": rng.choice(["a", "b"], 60)}).to_csv("h.csv", index=False)
    return (
        *("attack", "h.csv", "h.csv", "--label", "x", "--id", "id", "--target-distances", "e.npy"),
        *("--known-distances", "d.npy", "--within", "20", "--truth", "id", "--budget", "0.001"),
        *("--attack", "labels", "--attack", "clique", "--attack", "quasi", "--attack", "extend"),
    )


def test_the_note_of_every_attack_that_was_cut_short_is_filled(
    run: Run, crowded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the table of a pipe and in that of a terminal; also of one that rests on another."""
    code, out, err = run(*crowded)
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]
    notes = {line[0]: dict(zip(lines[0], line, strict=True))["note"] for line in lines[1:]}
    assert notes["labels"] == ""
    for name in ("clique", "quasi", "extend"):
        assert notes[name].startswith("LOWER BOUND: "), name
        assert f"{name}: no sign of safety" in err
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    _, shown, _ = run(*crowded)
    rows = [line for line in shown.splitlines() if line.startswith("│ ")]
    for name in ("clique", "quasi", "extend"):
        assert any(row.startswith(f"│ {name} ") and "LOWER BOUND" in row for row in rows)


def test_every_attack_says_why_it_did_not_apply(run: Run, crowded: tuple[str, ...]) -> None:
    """One of several that does not apply is named with its reason, and the rest go on."""
    np.save("d.npy", np.sqrt(np.load("d.npy")))  # no map
    code, out, err = run(*crowded, "--attack", "register")
    assert code == 0
    assert "register does not apply: " in err
    assert "\nregister" not in out
    assert len(parse_attacks(["clique", "register"])) == 2
