"""Maps in parts, and maps made from distances alone, against the truth and against the audit of the coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import disclique as dq
from builders import refused
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.registration import RegisterAttack, isomap, register
from disclique.attacks.weigh.pairs import exclude
from disclique.audits import run_audit
from disclique.audits.definition import Attacked, Audit
from disclique.audits.plan import Plan, Snooper
from disclique.audits.release_records import ReleaseRecord
from disclique.audits.unit import run_unit
from disclique.geodesy import Spread, shift
from disclique.masks.settings import Setting
from disclique.model import Candidates, Claims, Microdata
from disclique.runs import Unit
from disclique.spaces import Matrix, Points, ScaledMatrix, full_matrix
from disclique.spaces.base import Distances
from disclique.spaces.mapping import lay_matrix_on
from disclique.spaces.metrics import pairwise
from disclique.spaces.rebuild.incomplete import find_bodies
from disclique.spaces.rebuild.least_squares import Lengths

TOWNS = ((13.4, 52.5), (10.0, 53.55), (11.6, 48.1), (6.95, 50.9), (8.7, 50.1), (12.4, 51.3), (9.2, 48.8))
EXACT = Knowledge(Spread(0.0, 0.0), common=0.4)


def town(which: int, offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Homes around the middle of a town, in km east and north of it."""
    return shift(np.repeat([TOWNS[which]], len(offsets), axis=0), offsets[:, 0], offsets[:, 1], "sphere")


def towns(sizes: Sequence[int], seed: int = 0, reach: float = 3.0) -> NDArray[np.float64]:
    """Homes in several towns."""
    rng = np.random.default_rng(seed)
    return np.concatenate([town(which, rng.normal(0, reach, (size, 2))) for which, size in enumerate(sizes)])


def nearest(points: NDArray[np.float64], k: int) -> Matrix:
    """Publish each record's nearest neighbours only."""
    whole = full_matrix(Points(points).as_matrix())
    reach = np.partition(whole, k, axis=1)[:, k]
    return Matrix(np.where(whole > np.maximum(reach[:, None], reach[None, :]), np.nan, whole), unpublished=True)


def labels(target: Iterable[int], known: Iterable[int]) -> Candidates:
    """Classes that must be equal."""
    ours, theirs = np.array(list(target), np.int32), np.array(list(known), np.int32)
    every = np.union1d(ours, theirs)
    return Candidates(ours, theirs, np.stack((every, every), axis=1).astype(np.int32))


def scene(points: NDArray[np.float64], *, seed: int = 0, kinds: int = 6, common: float = 0.4):
    """A known file of some of the people and as many others in the same towns: points, candidates, truth."""
    rng = np.random.default_rng(seed)
    n = len(points)
    who = rng.permutation(n)[: round(common * n)]
    near = points[rng.integers(n, size=n - len(who))]
    others = shift(near, *rng.normal(0, 2, (2, len(near))), "sphere")
    kind = rng.integers(kinds, size=n)
    order = rng.permutation(n)
    known = np.concatenate((points[who], others))[order]
    theirs = np.concatenate((kind[who], rng.integers(kinds, size=len(near))))[order]
    place = np.argsort(order)
    return Points(known), labels(kind, theirs), {int(t): int(place[row]) for row, t in enumerate(who)}


def found(claims: Claims, truth: dict[int, int]) -> tuple[float, float]:
    """Precision and recall of what is claimed."""
    rows, others, _ = claims.claimed()
    right = sum(truth.get(int(t)) == int(k) for t, k in zip(rows, others, strict=True))
    return right / max(len(rows), 1), right / len(truth)


@pytest.mark.parametrize("attack", [register, isomap])
def test_every_town_is_laid_on_its_own(attack) -> None:
    """Between towns nothing is published: each has its own motion and mirror, and nearly everybody is found."""
    points = towns((70, 55, 60, 50))
    known, candidates, truth = scene(points)
    claims = attack(nearest(points, 10), known, candidates=candidates, knowledge=EXACT)
    assert claims.details["parts"]["parts"] == claims.details["parts"]["laid"] == 4
    assert claims.details["unlaid"] == 0
    assert not claims.doubt
    assert min(found(claims, truth)) > 0.97


def test_displaced_places_in_parts_are_found_as_if_the_towns_were_alone() -> None:
    """Equal distances tell nothing under displacement; maps do, and a town is found as if it were released alone."""
    sizes, rng = (80, 70), np.random.default_rng(1)
    points = towns(sizes, seed=5)
    known, candidates, truth = scene(points, seed=2)
    moved = shift(points, *rng.normal(0, 0.05, (2, len(points))), "sphere")
    knowledge = Knowledge(Spread(0.05, 0.05), common=0.4)
    together = isomap(nearest(moved, 12), known, candidates=candidates, knowledge=knowledge)
    right, alone = found(together, truth)[1] * len(truth), 0.0
    for rows in (np.arange(80), np.arange(80, 150)):
        own = replace(candidates, target_class=candidates.target_class[rows])
        claims = isomap(nearest(moved[rows], 12), known, candidates=own, knowledge=knowledge)
        here = {at: truth[int(row)] for at, row in enumerate(rows) if int(row) in truth}
        alone += found(claims, here)[1] * len(here)
    assert alone > 0.6 * len(truth)
    assert right >= alone - 2


def test_a_cap_between_towns_leaves_parts() -> None:
    """All distances beyond 25 km are 25 km: what is below makes the towns' maps."""
    points = towns((40, 35, 30))
    known, candidates, truth = scene(points)
    capped = Matrix(np.minimum(full_matrix(Points(points).as_matrix()), 25.0))
    claims = isomap(capped, known, candidates=candidates, knowledge=EXACT)
    assert claims.details["parts"]["laid"] == 3
    assert min(found(claims, truth)) > 0.97


def bodies_of(*groups: Iterable[int]) -> list[set[int]]:
    """The bodies of a graph in which each group is complete, found from places drawn at random."""
    pairs = sorted({pair for group in groups for pair in combinations(sorted(group), 2)})
    i, j = np.array(pairs).T
    n = int(j.max()) + 1
    places = np.zeros((n, 3))
    places[:, :2] = np.random.default_rng(0).normal(size=(n, 2))
    lengths = Lengths(i, j, np.linalg.norm(places[i] - places[j], axis=1), n, 0.0)
    return sorted((set(body.tolist()) for body in find_bodies(places, lengths, 5)), key=min)


def test_bodies_are_those_that_hang_together_by_three_records() -> None:
    """Two groups are one body with three records in common, and two with a hinge of two, of one, or one distance."""
    one, size = range(9), 17
    assert bodies_of(one, range(6, size)) == [set(range(size))]
    for first in (7, 8):
        assert bodies_of(one, range(first, size)) == [set(one), set(range(first, size))]
    assert bodies_of(one, (8, 9), range(9, size)) == [set(one), set(range(9, size))]
    assert bodies_of(one, (8, 9), (9, 10), (10, 11), range(11, size)) == [set(one), set(range(11, size))]
    links = (range(8), range(7, 15), range(14, 22))  # a chain of equal ones
    assert bodies_of(*links) == [set(link) for link in links]


def test_hinged_towns_are_laid_each_by_itself() -> None:
    """Two towns share one traveller: the parts turn around this record, so there is no single map."""
    points = towns((45, 40), seed=3)
    points = np.concatenate((points, [[11.9, 53.0]]))
    whole = full_matrix(Points(points).as_matrix())
    side = np.array([0] * 45 + [1] * 40 + [2])
    apart = (side[:, None] != side[None, :]) & (side[:, None] != 2) & (side[None, :] != 2)
    release = Matrix(np.where(apart, np.nan, whole), unpublished=True)
    known, candidates, truth = scene(points, seed=4)
    claims = isomap(release, known, candidates=candidates, knowledge=EXACT)
    assert claims.details["parts"]["parts"] == 2
    assert min(found(claims, truth)) > 0.97


def test_towns_that_nothing_tells_apart_share_the_odds() -> None:
    """The same layout twice and one label: each person may be in either town, and nobody is claimed."""
    layout = np.random.default_rng(6).normal(0, 3, (50, 2))
    points = np.concatenate((town(0, layout), town(2, layout)))
    everybody = labels([0] * 100, [0] * 100)
    knowledge = Knowledge(Spread(0.0, 0.0), common=0.99, bold=True)
    claims = isomap(nearest(points, 10), Points(points), candidates=everybody, knowledge=knowledge)
    assert len(claims.claimed()[0]) == 0
    for person in range(100):
        own = claims.known == person
        best = claims.target[own][claims.probability[own] >= claims.probability[own].max() * (1 - 1e-9)]
        assert set(best.tolist()) == {person % 50, person % 50 + 50}


def test_towns_of_the_same_layout_are_told_apart_by_labels() -> None:
    """With labels of their own the same two towns are no riddle."""
    layout = np.random.default_rng(6).normal(0, 3, (50, 2))
    points = np.concatenate((town(0, layout), town(2, layout)))
    known, candidates, truth = scene(points, seed=1)
    claims = isomap(nearest(points, 10), known, candidates=candidates, knowledge=EXACT)
    assert min(found(claims, truth)) > 0.97


def test_what_no_map_reaches_is_said() -> None:
    """Hamlets of three can be laid anywhere: they are counted, and the sentence names them."""
    points = towns((60, 3, 45, 3))
    known, candidates, truth = scene(points)
    whole = full_matrix(Points(points).as_matrix())
    release = Matrix(np.where(whole > 30, np.nan, whole), unpublished=True)
    claims = isomap(release, known, candidates=candidates, knowledge=EXACT)
    assert claims.details["unlaid"] == claims.details["parts"]["small"] == 6
    assert claims.doubt.code == "map_not_of_all_records"
    large = {t: k for t, k in truth.items() if t not in {60, 61, 62, 108, 109, 110}}
    assert min(found(claims, large)) > 0.97
    loose = isomap(nearest(points[:60], 1), known, candidates=labels([0] * 60, [0] * known.size), knowledge=EXACT)
    assert loose.details["unlaid"] == 60
    assert loose.doubt.code == "map_in_no_part"


def test_nobody_is_in_two_parts() -> None:
    """Of the claims of several parts on one person at most one is more probable than not; one part changes nothing."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        parts = []
        for part in range(3):
            rows, columns = (grid.ravel().astype(np.int32) for grid in np.mgrid[0:4, 0:5])
            chances = rng.random((4, 5)) ** 3
            chances /= np.maximum(chances.sum(axis=0), 1.0)
            parts.append((rows + 4 * part, columns, chances.ravel()))
        known, chance = exclude(parts, 5)[1:]
        assert np.bincount(known, weights=chance).max() <= 1 + 1e-9
        assert np.bincount(known, weights=chance > 0.5).max() <= 1
        assert exclude(parts[:1], 5)[2] == pytest.approx(parts[0][2], abs=1e-6)


def matrix_of(points: Points, digits: int | None = None) -> Matrix:
    """The distances between points, printed with some digits."""
    values = full_matrix(points.as_matrix())
    return Matrix(values if digits is None else np.round(values, digits))


def test_a_matrix_that_is_a_map_is_scaled_to_it() -> None:
    """The places give the distances back: in the plane, on the sphere, printed with digits, with a few left out."""
    rng = np.random.default_rng(0)
    plane, earth = Points(rng.normal(0, 5, (40, 2)), "euclidean"), Points(rng.uniform((-20, 30), (40, 60), (60, 2)))
    for points, metric in ((plane, "euclidean"), (earth, "sphere")):
        scaled = matrix_of(points).to_map()
        assert scaled is not None
        assert scaled.places().metric == metric
        assert np.abs(full_matrix(scaled.places()) - full_matrix(points)).max() < 1e-6
        assert scaled.error < 1e-4
    printed = matrix_of(plane, 1).to_map()
    assert printed is not None
    assert printed.digit == pytest.approx(0.1)
    assert 0.001 < printed.error < 0.05
    assert matrix_of(plane.select(np.arange(30)), 0).to_map() is not None  # whole kilometres in one town
    curved = Matrix(1000 * matrix_of(earth).values).to_map()  # metres on a large sphere, of which nobody knows
    assert curved is None or curved.error > 0.2 * np.abs(full_matrix(curved.places()) - curved.values).std()
    holes = matrix_of(plane).values.copy()
    holes[3, 7] = holes[7, 3] = holes[5, 30] = holes[30, 5] = np.nan
    some = Matrix(holes, unpublished=True).to_map()
    assert some is not None
    assert np.abs(full_matrix(some.places()) - full_matrix(plane)).max() < 1e-4


def test_what_is_no_map_stays_distances() -> None:
    """Vectors, texts, travel times, roots of distances, one-way streets and a handful of records fit no map."""
    rng = np.random.default_rng(0)
    points = Points(rng.normal(0, 5, (40, 2)), "euclidean")
    values = full_matrix(points)
    detours = np.triu(values * rng.uniform(1.0, 1.6, values.shape), 1)
    one_way = values * np.where(np.triu(np.ones_like(values)) > 0, 1.0, 1.2)
    for source in (
        matrix_of(Points(rng.normal(size=(40, 6)), "euclidean")),
        (
            dq.Texts(tuple(f"{a}{b}" for a in ("anna", "otto", "ida", "bert") for b in ("meier", "weber", "kern")))
        ).as_matrix(),
        Matrix(detours + detours.T),
        Matrix(np.sqrt(values)),
        Matrix(one_way, directed=True),
        matrix_of(points.select(np.arange(6))),
        Matrix(np.zeros((20, 20))),
        Points(rng.normal(size=(40, 3)), "euclidean"),
    ):
        assert source.places() is source.to_map() is None


def test_scaled_matrices_are_chosen_joined_and_laid_on_others() -> None:
    """What is selected keeps its distances, what is joined has those of the map, and a turned copy is turned back."""
    rng = np.random.default_rng(2)
    points = Points(rng.normal(0, 5, (40, 2)), "euclidean")
    scaled = matrix_of(points, 2).to_map()
    assert scaled is not None
    rows = np.array([5, 3, 20, 21, 30])
    some = scaled.select(rows)
    assert isinstance(some, ScaledMatrix)
    assert np.array_equal(some.values, scaled.values[np.ix_(rows, rows)])
    other = scaled.like(Points(rng.normal(0, 5, (4, 2)), "euclidean"))
    both = some.join(other)
    between = np.round(pairwise(some.places().coordinates, other.places().coordinates, "euclidean"), 2)
    assert both.values[:5, 5:] == pytest.approx(between)
    assert np.array_equal(both.values[:5, :5], some.values)
    laid = lay_matrix_on(matrix_of(points), points, [(row, row) for row in (0, 7, 19, 33)])
    assert laid is not None
    assert laid.places().coordinates == pytest.approx(points.coordinates, abs=1e-6)
    assert lay_matrix_on(matrix_of(points), points, [(0, 0), (1, 1)]) is None


def people(points: NDArray[np.float64], seed: int = 0) -> Microdata:
    """A file with two labels."""
    rng = np.random.default_rng(seed)
    n = len(points)
    table = pd.DataFrame({"pid": range(n), "lon": points[:, 0], "lat": points[:, 1]})
    table["sex"], table["age"] = rng.choice(["m", "w"], n), rng.choice(list("abcdef"), n)
    return dq.microdata(table, ["sex", "age"], coordinates=["lon", "lat"], ids="pid")


def bare(data: Microdata) -> Microdata:
    """The same file with distances only."""
    return replace(data, distances=data.distances.as_matrix())


def attempt(data: Microdata, spec: str, known: Microdata | None = None, overlap: float | None = 0.3) -> ReleaseRecord:
    """One repetition of an audit by registration."""
    snooper = Snooper(given=True) if known is not None else Snooper(overlap=overlap)
    audit, setting = Audit(Plan((spec,), snooper, attacks=("register",)), data, known), Setting.parse(spec)
    return run_unit(audit, Unit(setting, 3)).with_attacks(run_unit(audit, Unit(setting, 3, Attacked())))


@pytest.mark.parametrize("spec", ["matrix-gaussian:sd=3km", "round:to=2km"])
def test_an_audit_of_distances_finds_what_that_of_coordinates_does(spec: str) -> None:
    """Attack and oracle reach the same people from a matrix as from the coordinates it came from."""
    file = people(towns((50, 40, 45, 40), seed=8))
    by_places, by_distances = attempt(file, spec), attempt(bare(file), spec)
    assert by_distances.released == by_places.released == len(file)
    assert by_distances.oracle is not None
    assert by_places.oracle is not None
    for one, other in (
        (by_places.attempts[0], by_distances.attempts[0]),
        (by_places.oracle, by_distances.oracle),
    ):
        assert other.applies, other.why
        assert one.hits.prosecutor > 0.5 * len(by_places.common)
        assert other.hits.prosecutor >= one.hits.prosecutor - 0.05 * len(by_places.common)


@pytest.mark.parametrize(
    ("kind", "spec", "digits"),
    [
        ("both", "matrix-gaussian:sd=4km", None),
        ("known", "matrix-gaussian:sd=4km", None),
        ("target", "matrix-gaussian:sd=4km", None),
        ("target", "matrix-gaussian:sd=100m", 0),
    ],
)
def test_a_given_known_file_is_laid_on_the_same_map(kind: str, spec: str, digits: int | None) -> None:
    """With a matrix on either side the oracle sees both files on one map, and finds what it does from coordinates.

    Also where the places made of rounded distances are less exact than the release.
    """
    file = people(towns((40, 35, 30), seed=9))
    known = people(towns((40, 35, 30), seed=9), seed=0)
    target = bare(file) if kind != "known" else file
    if digits is not None:
        target = replace(target, distances=replace(matrix_of(file.distances, digits), unit="km"))
    theirs = bare(known) if kind != "target" else known
    by_places, mixed = attempt(file, spec, known), attempt(target, spec, theirs)
    assert mixed.oracle is not None
    assert by_places.oracle is not None
    assert mixed.oracle.applies, mixed.oracle.why
    assert mixed.attempts[0].applies, mixed.attempts[0].why
    assert abs(mixed.oracle.hits.prosecutor - by_places.oracle.hits.prosecutor) <= 0.08 * len(file)


def test_registration_takes_a_known_matrix_with_the_error_of_its_scaling() -> None:
    """Known distances printed in whole kilometres still make a map; what does not fit one is refused."""
    points = towns((60, 50, 40), seed=4)
    known, candidates, truth = scene(points, seed=4)
    release = Points(points).as_matrix()
    names = tuple(range(len(points)))
    frame = pd.DataFrame(index=names)

    def file(source: Distances) -> Microdata:
        return Microdata(frame, frame, source, names)

    attack = RegisterAttack(EXACT)
    for digits in (None, 0):
        claims = attack.run(file(release), file(matrix_of(known, digits)), candidates)
        assert min(found(claims, truth)) > (0.97 if digits is None else 0.9)
    with refused("attack_needs_places", name="register"):
        attack.run(file(release), file(Matrix(np.sqrt(full_matrix(known)))), candidates)


@pytest.mark.long
def test_the_verdict_says_what_no_map_reached() -> None:
    """Two neighbours each leave hardly any part rigid: the result says how many records no map reached."""
    plan = Plan(("knn:k=2",), Snooper(overlap=0.3), attacks=("labels", "isomap"), repetitions=1)
    result = run_audit(Audit(plan, people(towns((30, 30)))))
    assert max(one.unlaid or 0.0 for one in result.settings[0].attacks) > 0.02
    (many,) = attempt(people(towns((30, 30))), "knn:k=12").attempts
    assert many.unlaid == 0
