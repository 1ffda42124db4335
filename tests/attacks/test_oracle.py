"""The oracle: what the masked data give away, against plain computations that know the truth."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, minimize

import disclique as dq
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Holder, Knowledge, learn
from disclique.attacks.oracle import ask_oracle
from disclique.audits import Audit, Snooper, run_audit
from disclique.audits.known_file import draw_known_file
from disclique.audits.rates import measure_oracle, measure_risk
from disclique.audits.unit import run_unit
from disclique.errors import InputError
from disclique.geodesy import sphere_km
from disclique.masks import masks, parse_mask
from disclique.measures.risk import Truth, name_records
from disclique.model import Microdata
from disclique.runs import Unit
from disclique.spaces import Matrix, Points, ReleaseSeries, full_matrix
from disclique.spaces.base import Distances
from disclique.spaces.metrics import pairwise
from disclique.values import FloatArray
from small_files import make_audit, make_file, make_plan


def ask(
    spec: str, *, n: int = 60, overlap: float | None = None, error: float = 0.0, copies: int = 1
) -> tuple[float, Holder, list[Distances]]:
    """One release of a small file: the share of people whom the oracle names, and what it was asked about."""
    audit = make_audit(n=n, snooper=Snooper(overlap=overlap))
    known = draw_known_file(audit, 0)
    mask, rng = parse_mask(spec), np.random.default_rng(0)
    masked = [mask.apply(known.released.distances, rng) for _ in range(copies)]
    points = known.released.distances
    assert isinstance(points, Points)
    found = calibrate(mask, points=points.coordinates, metric=points.metric, rng=rng)
    share = min(len(known.truth) / n, 0.99)
    told = replace(learn(mask, found, points, common=share, coordinate_error=error, rng=rng), bold=True)
    related = dq.LabelRule().candidates(known.released, known.data)
    holder = Holder(known.released, known.data, related, known.truth, told)
    return float(ask_oracle(masked, holder).of("prosecutor").mean()), holder, masked


@pytest.mark.parametrize("spec", ["affine", "knn:k=3", "lipschitz:sets=8", "projection:dimensions=2"])
def test_whoever_knows_the_function_tells_everybody_apart(spec: str) -> None:
    """But for people at one place with one label, who share the chance."""
    assert ask(spec)[0] == 1.0
    file = make_file(20)
    assert isinstance(file.distances, Points)
    places = file.distances.coordinates.copy()
    places[1:4] = places[0]
    labels = file.labels.copy()
    labels.iloc[1:3] = labels.iloc[0].to_numpy()
    twins = replace(file, distances=replace(file.distances, coordinates=places), labels=labels)
    result = run_audit(Audit(make_plan("affine", repetitions=1, attacks=("labels",)), twins))
    apart = [tuple(row) for row in labels.itertuples(index=False)][3] != tuple(labels.iloc[0])
    alike = 3 if apart else 4
    assert result.settings[0].oracle is not None
    assert result.settings[0].oracle.value == pytest.approx((20 - alike + 1) / 20)


@pytest.mark.parametrize("spec", ["round:to=30km", "topcode:max=25km"])
def test_rounded_and_capped_distances_by_what_is_possible(spec: str) -> None:
    """Against all pairs and all distances, one by one."""
    value, holder, (masked,) = ask(spec, n=40, overlap=0.5)
    own, theirs, mask = holder.exact.distances, holder.known.distances, parse_mask(spec)
    assert isinstance(own, Points)
    assert isinstance(theirs, Points)
    published = full_matrix(masked)
    chances = []
    for target, known in holder.truth.pairs.tolist():
        true = sphere_km(np.tile(theirs.coordinates[known], (own.size, 1)), own.coordinates)
        fits = []
        for t in range(own.size):
            if not fitting(holder)[known, t]:
                continue
            again = mask.perturbed(true, np.random.default_rng(0), own.unit)  # type: ignore[attr-defined]
            # the person asked for is at distance 0 of themselves; everybody else publishes the distance to them
            rest = [j for j in range(own.size) if j not in (t, target)]
            if np.allclose(again[rest], published[t, rest]) and (t == target or published[t, target] <= 30.0):
                fits.append(t)
        chances.append((target in fits) / max(len(fits), 1))
    assert value == pytest.approx(np.mean(chances), abs=0.06)


def fitting(holder: Holder) -> NDArray[np.bool_]:
    """Which known record may be which released one, by the labels themselves."""
    ours, theirs = (list(map(tuple, data.labels.to_numpy())) for data in (holder.exact, holder.known))
    return np.array([[own == other for own in ours] for other in theirs])


def relocated(spec: str, holder: Holder, masked: Distances) -> FloatArray:
    """The most likely place of every record given the true places of all others, by scipy."""
    own, mask, published = holder.exact.distances, parse_mask(spec), full_matrix(masked)
    assert isinstance(own, Points)
    places = own.coordinates.copy()
    for record in range(own.size):
        rest = np.delete(np.arange(own.size), record)

        def loss(place: FloatArray, record: int = record, rest: FloatArray = rest) -> float:
            d = pairwise(place[None], own.coordinates[rest], "sphere")[0]
            if mask.name == "multiplicative":
                gap = np.log(published[record, rest]) + mask.sd**2 / 2 - np.log(d)  # type: ignore[attr-defined]
                return float((gap**2).sum())
            return float(((published[record, rest] - d) ** 2).sum())

        places[record] = minimize(loss, own.coordinates[record], method="Nelder-Mead", options={"xatol": 1e-5}).x
    return places


@pytest.mark.parametrize("spec", ["matrix-gaussian:sd=60km", "multiplicative:sd=0.8"])
def test_noise_on_distances_is_undone_as_well_as_it_can_be(spec: str) -> None:
    """As many people are named as by the nearest assignment to the most likely places, both found by scipy."""
    value, holder, (masked,) = ask(spec, n=60)
    theirs = holder.known.distances
    assert isinstance(theirs, Points)
    apart = pairwise(theirs.coordinates, relocated(spec, holder, masked), "sphere")
    people, records = linear_sum_assignment(np.where(fitting(holder), apart**2, 1e9))
    best = dict(zip(people.tolist(), records.tolist(), strict=True))
    plain = np.mean([best[k] == t for t, k in holder.truth.pairs.tolist()])
    assert plain - 0.05 <= value <= plain + 0.15  # a bound, which strong noise on short distances does not reach


@pytest.mark.parametrize("spec", ["gaussian:sigma=15km", "matrix-gaussian:sd=100km"])
def test_more_releases_give_more_away(spec: str) -> None:
    """Four draws of the same people name clearly more of them than one, whatever the kind of mask."""
    once, _, _ = ask(spec, n=100)
    often, _, _ = ask(spec, n=100, copies=4)
    assert often > once + 0.05


def test_errors_of_the_snooper_hide_people_from_the_oracle_too() -> None:
    """A rigid motion hides nobody from exact places, and some from places that are 20 km off."""
    assert ask("affine", error=0.0)[0] == 1.0
    audit = make_audit("affine", "round:to=1km", snooper=Snooper(coordinate_error="20km"), attacks=("labels",))  # type: ignore[arg-type]
    for setting in run_audit(audit).settings:
        assert setting.oracle is not None
        assert setting.guess < setting.oracle.value < 0.95


def test_without_a_known_mask_there_is_no_oracle() -> None:
    """That is said, and not taken for safety."""
    file = make_file(40)
    holder = Holder(file, file, dq.LabelRule().candidates(file, file), Truth.of_people(file.ids, file.ids))
    with pytest.raises(InputError, match="known mask"):
        ask_oracle([file.distances], holder)


def test_vectors_under_gaussian_noise_have_an_oracle() -> None:
    """No worse than the nearest vector with the right label, and than the best assignment by scipy."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(80, 5))
    people: Microdata = replace(make_file(80), distances=Points(vectors, "euclidean"))
    mask = parse_mask("gaussian:sigma=0.8")
    masked = mask.apply(people.distances, rng)
    assert isinstance(masked, Points)
    who, told = Truth.of_people(people.ids, people.ids), Knowledge(mask=mask, common=0.99)
    holder = Holder(people, people, dq.LabelRule().candidates(people, people), who, told)
    value = ask_oracle([masked], holder).of("prosecutor").mean()
    apart = np.where(fitting(holder), pairwise(vectors, masked.coordinates, "euclidean") ** 2, 1e9)
    nearest = (apart.argmin(axis=1) == np.arange(80)).mean()
    people_rows, records = linear_sum_assignment(apart)
    assert value >= max(nearest, (people_rows == records).mean()) - 0.05  # one-to-one is worth more than the nearest


def test_a_series_is_the_mean_of_what_is_published() -> None:
    """Entry by entry; what no release has is not there."""
    one, other = (
        np.array([[0, 1, np.nan], [1, 0, 3], [np.nan, 3, 0.0]]),
        np.array([[0, 3, 5], [3, 0, np.nan], [5, np.nan, 0.0]]),
    )
    series = ReleaseSeries((Matrix(one, unpublished=True), Matrix(other, unpublished=True)))
    rows = np.arange(3, dtype=np.int32)
    assert series.block(rows, rows)[0].tolist() == [0, 2, 5]
    both = ReleaseSeries((Matrix(one, unpublished=True), Matrix(one, unpublished=True)))
    assert np.isnan(both.block(rows, rows)[0, 2])
    with pytest.raises(InputError, match="the same records"):
        ReleaseSeries((Matrix(one, unpublished=True), Matrix(np.zeros((2, 2)))))


def test_every_mask_of_a_map_has_an_oracle() -> None:
    """Of the registry, each mask that takes places gives a figure, and none is called safe for want of one."""
    specs = (
        "affine dhs disc:max=9km donut:min=4km,max=9km gaussian:sigma=9km grid:cell=20km laplace:epsilon=0.2/km "
        "knn:k=3 lipschitz:sets=5 matrix-gaussian:sd=9km matrix-laplace:b=9km multiplicative:sd=0.3 none "
        "projection:dimensions=2 round:to=9km swap:radius=20km topcode:max=40km voronoi"
    )
    named = {spec.partition(":")[0]: spec for spec in specs.split()}
    others = {name for name, kind in masks().items() if kind.on == "text"} | {
        "rotation",
        "withheld",
        "within",
    }  # groups have tests of their own
    assert set(named) | others >= set(masks())
    for name, spec in named.items():
        value, holder, _ = ask(spec, n=50, overlap=0.5)
        guess = name_records(None, holder.truth, holder.candidates).mean()
        assert guess - 0.1 <= value <= 1.0, name
        assert value > 0.5, name


def risk_of(**more: object) -> float:
    """The risk of a small file under strong noise, by registration."""
    asked = {"n": 120, "repetitions": 2, "attacks": ("labels", "register"), **more}
    return run_audit(make_audit("gaussian:sigma=25km", **asked)).settings[0].risk.value


@pytest.mark.slow
def test_a_series_is_attacked_as_a_whole() -> None:
    """Four releases give away more than one; rows that do not tell who is who help less, and never hinder."""
    once, linked, unlinked = risk_of(), risk_of(releases=4), risk_of(releases=4, linked=False)
    assert linked > once + 0.05
    assert once - 0.03 <= unlinked <= linked + 0.03
    said = run_audit(make_audit("gaussian:sigma=25km", repetitions=1, attacks=("labels",)))
    assert any(line.code in ("again_identifies", "again_not_measured") for line in said.limits)
    with pytest.raises(InputError, match="between 1 and 100 times"):
        make_plan(releases=0)


EVERY = [  # strong enough that the law matters
    "affine",
    "dhs:urban=10km,rural=25km,far=50km",
    "disc:max=30km",
    "donut:min=16km,max=32km",
    "gaussian:sigma=20km",
    "grid:cell=50km",
    "knn:k=5",
    "laplace:epsilon=0.1/km",
    "lipschitz:sets=20",
    "matrix-gaussian:sd=50km",
    "matrix-laplace:b=50km",
    "multiplicative:sd=0.5",
    "projection:dimensions=2",
    "round:to=50km",
    "swap:radius=50km",
    "topcode:max=50km",
    "voronoi",
]
OPEN = {"knn:k=5", "topcode:max=50km", "lipschitz:sets=20"}  # docs/evidence/verdicts.md has their figures


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [None, 0.2])
@pytest.mark.parametrize("spec", EVERY)
def test_no_attack_stays_far_behind_the_oracle(spec: str, overlap: float | None) -> None:
    """Of every mask that takes a map: the audit's worst attack is within .05 of the oracle, or it is a known gap."""
    survey = dq.microdata(dq.survey(), ["sex", "age_class"], coordinates=["lon", "lat"], ids="id")
    plan = make_plan(
        spec, snooper=Snooper(overlap=overlap), attacks=("labels", "register", "equal", "bend"), repetitions=5
    )
    audit = Audit(plan, survey)
    records = {k: run_unit(audit, Unit(plan.settings[0], 3 + k)) for k in range(2)}
    worst = measure_risk(records, plan.attack_names, "prosecutor").value
    oracle = measure_oracle(records, "prosecutor")
    assert oracle is not None
    assert worst >= oracle.value - (0.25 if spec in OPEN else 0.05)
