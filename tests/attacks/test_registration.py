"""Registration: the released distances are the masked map; laid on the known file it re-identifies nearly everybody."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from builders import refused
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.registration import best_of_each_target, ceiling, isomap, register
from disclique.geodesy import Spread
from disclique.model import Candidates, Claims
from disclique.records.labels import candidates
from disclique.spaces import Matrix, Points, full_matrix
from disclique.spaces.metrics import pairwise
from disclique.synthetic.people import germany

LABELS = ["sex", "age_class"]


class Case(NamedTuple):
    """A masked target, a known file and who is who (-1: not in the known file)."""

    masked: Points
    known: Points
    candidates: Candidates
    truth: np.ndarray
    knowledge: Knowledge


def german(sizes: tuple[int, int, int], sigma: float, seed: int) -> Case:
    """People as in the paper's study, N(0, σ²) degrees on longitude and latitude."""
    n_target, n_known, common = sizes
    rng = np.random.default_rng(seed)
    people = germany(n_target=n_target, n_known=n_known, common=common, rng=rng)
    truth = np.full(n_target, -1)
    truth[people.truth[:, 0]] = people.truth[:, 1]
    return Case(
        Points(people.target[["lon", "lat"]].to_numpy() + rng.normal(0, sigma, (n_target, 2))),
        Points(people.known[["lon", "lat"]].to_numpy()),
        candidates(people.target[LABELS], people.known[LABELS]),
        truth,
        Knowledge(Spread(sigma, sigma, "deg"), common=common / n_target),
    )


def run(case: Case, target: object = None, **more: object) -> Claims:
    """Registration of a case."""
    known = {"candidates": case.candidates, "knowledge": case.knowledge} | more
    return register(case.masked if target is None else target, case.known, **known)


def best(case: Case) -> Claims:
    """The ceiling of a case."""
    return ceiling(case.masked, case.known, candidates=case.candidates, knowledge=case.knowledge)


def rates(link: Claims, truth: np.ndarray) -> tuple[float, float]:
    """Precision and recall of the claims."""
    target, known, _ = link.claimed()
    right = (truth[target] == known).sum()
    return right / max(len(target), 1), right / max((truth >= 0).sum(), 1)


def classes(target: object, known: object) -> Candidates:
    """Candidates by equal class numbers."""
    ours, theirs = (np.asarray(side, dtype=np.int32) for side in (target, known))
    both = np.unique(np.concatenate((ours, theirs))).astype(np.int32)
    return Candidates(ours, theirs, np.stack((both, both), axis=1))


def turned(points: np.ndarray, angle: float, *, mirror: bool = False) -> np.ndarray:
    """Plane points after a rigid motion."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return points * np.array([1.0, -1.0 if mirror else 1.0]) @ turn.T + np.array([31.0, -7.0])


@pytest.mark.parametrize(("sigma", "least", "below"), [(0.005, 0.97, 0.02), (0.025, 0.82, 0.05)])
def test_paper_scale_reaches_the_ceiling(sigma: float, least: float, below: float) -> None:
    """Without any clique nearly everybody is found, as many as from the masked coordinates themselves."""
    ours, top, expected = [], [], []
    for seed in range(4):
        case = german((500, 500, 50), sigma, seed)
        link = run(case, Matrix(full_matrix(case.masked)))
        assert link.doubt is None
        ours.append(rates(link, case.truth))
        top.append(rates(best(case), case.truth))
        expected.append(link.expected)
    assert np.mean(ours, axis=0)[1] > least
    assert (np.mean(ours, axis=0) > np.mean(top, axis=0) - below).all()
    assert np.mean(expected) == pytest.approx(50, rel=0.1)


def test_a_rural_region_is_found_in_a_nationwide_file() -> None:
    """Density alone would move it into the largest city; labels and distances put it where it belongs."""
    case = german((20_000, 1000, 0), 0.0, 3)
    near = np.flatnonzero(pairwise(case.masked.coordinates, np.array([[11.3, 53.2]]))[:, 0] < 60)[:120]
    homes, ours = case.masked.coordinates[near], case.candidates.target_class[near]
    same = dict(case.candidates.relation.tolist())
    known = np.concatenate((case.known.coordinates, homes[:40]))
    theirs = np.concatenate((case.candidates.known_class, [same[c] for c in ours[:40].tolist()])).astype(np.int32)
    truth = np.full(len(near), -1)
    truth[:40] = 1000 + np.arange(40)
    link = register(
        Points(homes + np.random.default_rng(0).normal(0, 0.005, homes.shape)),
        Points(known),
        candidates=replace(case.candidates, target_class=ours, known_class=theirs),
        knowledge=Knowledge(Spread(0.005, 0.005, "deg"), common=40 / len(near)),
    )
    assert link.doubt is None
    precision, recall = rates(link, truth)
    assert precision > 0.85
    assert recall > 0.9


def test_a_file_of_strangers_is_not_linked() -> None:
    """Where no record is shared hardly anything is claimed, and the reason is given."""
    for seed in range(3):
        case = german((300, 300, 0), 0.01, seed)
        link = run(case, knowledge=replace(case.knowledge, common=0.1))
        assert len(link.claimed()[0]) <= 0.05 * 300
    assert link.doubt.code == "alignment_doubtful"
    assert link.expected == 0


def test_a_bold_snooper_weighs_a_doubtful_alignment() -> None:
    """Where another claims nothing, the density of settled places decides: nearly what the ceiling gives."""
    bolder, hoped, ours, top = [], 0.0, 0.0, 0.0
    for seed in range(12):
        case = german((300, 300, 40), 0.16, 700 + seed)
        careful, bold = run(case), run(case, knowledge=replace(case.knowledge, bold=True))
        assert bool(careful.doubt) == bool(bold.doubt)
        if careful.doubt:
            assert careful.expected == 0
            bolder += (case.truth[bold.target] == bold.known).tolist()
            hoped += float(bold.probability.sum())
            ours += rates(bold, case.truth)[1]
            top += rates(best(case), case.truth)[1]
        else:
            np.testing.assert_array_equal(careful.probability, bold.probability[bold.probability >= 0.01])
    assert hoped > 40
    assert sum(bolder) == pytest.approx(hoped, rel=0.25)
    assert ours > 0.7 * top > 0


def test_noise_and_share_are_estimated_where_they_are_not_known() -> None:
    """The displacement and the share of common records can be read off the data at little loss."""
    case = german((500, 500, 100), 0.01, 5)
    told, link = run(case), run(case, knowledge=Knowledge(noise=None, matrix_noise=None, common=None))
    north = np.radians(0.01) * 6371
    assert link.details["noise"]["north"] == pytest.approx(north, rel=0.25)
    assert link.details["noise"]["east"] == pytest.approx(north * 0.63, rel=0.25)
    assert link.details["common"] == pytest.approx(0.2, rel=0.2)
    assert rates(link, case.truth)[1] > rates(told, case.truth)[1] - 0.06


def test_noise_on_the_matrix_averages_out() -> None:
    """Seven kilometres on every distance leave half a kilometre on every point."""
    case = german((400, 400, 60), 0.0, 2)
    rng = np.random.default_rng(0)
    noise = np.triu(rng.normal(0, 7, (400, 400)), 1)
    target = Matrix(np.maximum(full_matrix(case.masked) + noise + noise.T, 0))
    link = run(case, target, knowledge=Knowledge(Spread(0, 0, "km"), matrix_noise=7.0, common=0.15))
    assert rates(link, case.truth)[1] > 0.95
    assert 0.3 < link.details["map"]["error"] < 0.8


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("n", [2, 3, 40, 300])
def test_rigid_copies_are_linked_completely(n: int, mirror: bool) -> None:
    """Without noise every record is found, in a mirror image too."""
    points = np.random.default_rng(n).normal(0, 100, (n, 2))
    link = register(
        Points(points, "euclidean"),
        Points(turned(points, 1.0, mirror=mirror), "euclidean"),
        candidates=classes(np.arange(n) % 3, np.arange(n) % 3),
        knowledge=Knowledge(Spread(0, 0, "plane"), common=1.0),
    )
    target, known, probability = link.claimed()
    assert (target == np.arange(n)).all()
    assert (known == np.arange(n)).all()
    assert probability.min() > 0.99


def test_ties_stay_ties_and_are_named() -> None:
    """Two people of one label at one place, and the corners of a square, cannot be told apart."""
    points = np.random.default_rng(0).normal(0, 100, (30, 2))
    points[29] = points[0]
    exact = Knowledge(Spread(0, 0, "plane"), common=1.0)
    link = register(
        Points(points, "euclidean"),
        Points(turned(points, 2.0), "euclidean"),
        candidates=classes(np.zeros(30), np.zeros(30)),
        knowledge=exact,
    )
    assert link.details["ties"] == {"targets": 2, "rows": [1, 30]}
    assert link.claimed()[0].tolist() == list(range(1, 29))
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * 50.0
    link = register(
        Points(square, "euclidean"),
        Points(turned(square, 0.3), "euclidean"),
        candidates=classes(np.zeros(4), np.zeros(4)),
        knowledge=exact,
    )
    assert link.details["ties"]["targets"] == 4
    assert link.probability == pytest.approx(np.full(16, 0.25), abs=0.01)


def test_results_do_not_depend_on_row_order_or_place() -> None:
    """Shuffled files, and a known file elsewhere on the Earth, give the same probabilities."""
    case = german((200, 400, 60), 0.01, 4)
    knowledge = Knowledge(Spread(0.9, 0.9, "km"), common=0.3)
    base = run(case, knowledge=knowledge)
    rng = np.random.default_rng(1)
    ours, theirs = rng.permutation(200), rng.permutation(400)
    elsewhere = case.known.coordinates[theirs] + np.array([40.0, 0.0])
    shuffled = register(
        Points(case.masked.coordinates[ours]),
        Points(elsewhere),
        candidates=replace(
            case.candidates,
            target_class=case.candidates.target_class[ours],
            known_class=case.candidates.known_class[theirs],
        ),
        knowledge=knowledge,
    )
    dense = np.zeros((2, 200, 400))
    dense[0, base.target, base.known] = base.probability
    dense[1, ours[shuffled.target], theirs[shuffled.known]] = shuffled.probability
    assert np.abs(dense[0] - dense[1]).max() < 0.02
    assert shuffled.expected == pytest.approx(base.expected, rel=1e-3)


def test_wgs84_distances_are_rebuilt_on_the_ellipsoid() -> None:
    """Geodesics of the ellipsoid fit their map to metres across a country."""
    rng = np.random.default_rng(0)
    points = np.stack((rng.uniform(6, 15, 120), rng.uniform(47, 55, 120)), axis=1)
    link = register(
        Matrix(full_matrix(Points(points, "wgs84"))),
        Points(points, "wgs84"),
        candidates=classes(np.arange(120) % 4, np.arange(120) % 4),
        knowledge=Knowledge(Spread(0, 0, "km"), common=1.0),
    )
    assert rates(link, np.arange(120)) == (1.0, 1.0)
    assert link.details["map"]["misfit"] < 0.05


def test_given_matches_are_a_start() -> None:
    """Matches of a clique, two of them false, lead to the same alignment."""
    case = german((300, 300, 40), 0.005, 6)
    pairs = np.flatnonzero(case.truth >= 0)[:8]
    known = case.truth[pairs].copy()
    known[:2] = known[1::-1]
    start = (pairs.astype(np.int32), known.astype(np.int32))
    told: list[str] = []
    link = run(case, start=start, progress=told.append)
    assert link.expected == pytest.approx(run(case).expected, rel=1e-3)
    assert told


def test_label_evidence_weighs_pairs() -> None:
    """Labels that are off by one class are related too; the evidence says how much less they count."""
    case = german((300, 300, 60), 0.005, 8)
    codes = np.full(int(case.candidates.target_class.max()) + 1, -1)
    codes[case.candidates.relation[:, 0]] = case.candidates.relation[:, 1]
    ours, theirs = codes[case.candidates.target_class].astype(np.int32), case.candidates.known_class
    wrong = np.flatnonzero(case.truth >= 0)[:15]
    kinds = int(max(ours.max(), theirs.max())) + 1
    ours = ours.copy()
    ours[wrong] = (ours[wrong] + 1) % kinds
    relation = np.array([(a, b) for a in range(kinds) for b in range(kinds) if (a - b) % kinds in (0, 1)], np.int32)
    share = np.bincount(theirs, minlength=kinds)[relation[:, 0]] / 300 + 1e-3
    evidence = np.log(np.where(relation[:, 0] == relation[:, 1], 0.75, 0.25) / share)
    related = Candidates(ours, theirs, relation)
    link = run(case, candidates=replace(related, evidence=evidence))
    strict = run(case, candidates=classes(ours, theirs))
    assert rates(link, case.truth)[1] > 0.9
    assert rates(strict, case.truth)[1] < 0.8


def test_neighbour_lists_are_enough_for_a_map() -> None:
    """The ten nearest of each record determine the map; the three nearest only small parts of one, and that is said."""
    case = german((600, 6000, 600), 0.003, 1)
    whole = full_matrix(case.masked)

    def nearest(k: int) -> Matrix:
        reach = np.partition(whole, k, axis=1)[:, k]
        return Matrix(np.where(whole > np.maximum(reach[:, None], reach[None, :]), np.nan, whole), unpublished=True)

    link = isomap(nearest(10), case.known, candidates=case.candidates, knowledge=case.knowledge)
    top = rates(best(case), case.truth)
    assert (np.array(rates(link, case.truth)) > np.array(top) - 0.04).all()
    few = isomap(nearest(3), case.known, candidates=case.candidates, knowledge=case.knowledge)
    assert few.doubt.code == "map_not_of_all_records"
    assert few.details["unlaid"] > 400
    precision, recall = rates(few, case.truth)
    assert precision > 0.9
    assert 0.1 < recall < 0.3


PLANE = Points(np.random.default_rng(3).normal(0, 100, (40, 2)), "euclidean")
FOUR = classes(np.arange(40) % 4, np.arange(40) % 4)
EXACT = Knowledge(Spread(0, 0, "plane"), common=1.0)


def test_distances_that_fit_no_map_are_refused() -> None:
    """The reason is given, and the attack that does apply."""
    whole = full_matrix(PLANE)
    with refused("directed_no_map"):
        register(Matrix(whole + np.triu(whole > 0, 1), directed=True), PLANE, candidates=FOUR, knowledge=EXACT)
    rng = np.random.default_rng(0)
    with refused("no_map_in_plane"):
        register(Points(rng.normal(size=(40, 20)), "euclidean"), PLANE, candidates=FOUR, knowledge=EXACT)
    other = Points(PLANE.coordinates, lambda a, b: float(np.abs(a - b).max()))
    with refused("registration_needs_map"):
        register(PLANE, other, candidates=FOUR, knowledge=EXACT)
    with refused("spread_unit_in_plane", unit="km"):
        register(PLANE, PLANE, candidates=FOUR, knowledge=Knowledge(Spread(1, 1, "km")))


def test_degenerate_files_get_a_right_answer_or_one_sentence() -> None:
    """One place, one line, one record, no label in common, fewer known than targets, missing distances."""

    def answer(target: object, known: object, labels: Candidates) -> Claims:
        return register(target, known, candidates=labels, knowledge=EXACT)

    together = Points(np.zeros((40, 2)), "euclidean")
    assert answer(together, PLANE, FOUR).doubt.code == "targets_at_one_place"
    assert answer(PLANE, together, FOUR).doubt.code == "alignment_doubtful"
    lone = Points(PLANE.coordinates[:1], "euclidean")
    assert answer(lone, PLANE, classes([0], np.arange(40) % 4)).doubt.code == "nothing_to_align"
    assert answer(PLANE, PLANE, classes(np.zeros(40), np.ones(40))).doubt.code == "no_counterpart_by_label"
    odd = classes(np.arange(40) % 5, np.arange(40) % 4)  # a label that nobody known has
    assert (odd.target_class[answer(PLANE, PLANE, odd).claimed()[0]] != 4).all()
    line = Points(PLANE.coordinates * np.array([1.0, 0.0]), "euclidean")
    assert rates(answer(line, line, FOUR), np.arange(40)) == (1.0, 1.0)
    few = Points(turned(PLANE.coordinates[:15], 1.0), "euclidean")
    link = answer(PLANE, few, classes(np.arange(40) % 4, np.arange(15) % 4))
    assert rates(link, np.where(np.arange(40) < 15, np.arange(40), -1)) == (1.0, 1.0)
    holes = np.triu(np.random.default_rng(0).random((40, 40)) < 0.2, 1)
    partly = Matrix(np.where(holes | holes.T, np.nan, full_matrix(PLANE)), unpublished=True)
    assert rates(answer(partly, PLANE, FOUR), np.arange(40)) == (1.0, 1.0)


def test_a_search_that_is_given_up_is_said() -> None:
    """Without the share of common people no number of pairs is enough: the search ends at its budget, and says so."""
    case = german((300, 300, 40), 0.16, 3)
    told, untold = run(case), run(case, knowledge=replace(case.knowledge, common=None))
    assert told.doubt
    assert told.complete
    assert untold.doubt
    assert untold.cut.code == "alignment_search_ended"
    assert untold.cut.values["compared"] > 100_000_000
    assert run(german((300, 300, 40), 0.005, 3)).complete


def nearest_of_label(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Each target's nearest known record with its label, from the masked coordinates themselves."""
    gap = ((case.masked.coordinates[:, None] - case.known.coordinates[None]) ** 2).sum(axis=2)
    codes = np.full(int(case.candidates.target_class.max()) + 2, -2)
    codes[case.candidates.relation[:, 0]] = case.candidates.relation[:, 1]
    gap[codes[case.candidates.target_class][:, None] != case.candidates.known_class[None]] = np.inf
    rows = np.flatnonzero(np.isfinite(gap.min(axis=1)))
    return rows, gap[rows].argmin(axis=1)


@pytest.mark.parametrize(("known", "common", "sigma"), [(200, 40, 0.12), (2000, 200, 0.1)])
def test_the_best_of_each_target_bounds_what_others_find(known: int, common: int, sigma: float) -> None:
    """On average nobody finds more: not registration, not the pairs above one half, not the nearest of each label."""
    found: dict[str, list[int]] = {}
    expected = []
    for seed in range(12):
        case = german((200, known, common), sigma, seed)
        top = ceiling(case.masked, case.known, candidates=case.candidates, knowledge=case.knowledge)
        link = run(case)
        claims = {
            "bound": best_of_each_target(top),
            "ceiling": best(case).claimed(),
            "ceiling, best": best_of_each_target(best(case)),
            "register": link.claimed(),
            "register, best": best_of_each_target(link),
            "nearest": nearest_of_label(case),
        }
        for name, pairs in claims.items():
            found.setdefault(name, []).append(int((case.truth[pairs[0]] == pairs[1]).sum()))
        expected.append(np.maximum.reduceat(top.probability, np.flatnonzero(np.diff(top.target, prepend=-1))).sum())
    mean = {name: np.mean(counts) for name, counts in found.items()}
    assert mean["bound"] == max(mean.values()), mean
    assert mean["bound"] == pytest.approx(np.mean(expected), rel=0.06)


def test_the_ceiling_needs_the_mask() -> None:
    """There is no ceiling for a mask that is not stated."""
    with refused("ceiling_needs_spread"):
        ceiling(PLANE, PLANE, candidates=FOUR, knowledge=Knowledge())
