"""Extension: a few matches grow to nearly all, in any metric space; false anchors lose their support."""

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.attacks import CliqueAttack, ExtendAttack
from disclique.attacks.calibration import calibrate
from disclique.attacks.extend import TrueScores, extend
from disclique.engine.kernels.pairs import Anchored, crowding, profile_scores
from disclique.masks import parse_mask
from disclique.records.labels import candidates
from disclique.spaces import full_matrix
from disclique.synthetic.people import germany

LABELS = ["sex", "age_class"]


def files(seed: int, spec: str) -> tuple[dq.Microdata, dq.Microdata, object]:
    """Synthetic people, masked, and what the snooper's simulation says of the mask."""
    people = germany(n_target=300, n_known=300, common=40, rng=np.random.default_rng(seed))
    mask, rng = parse_mask(spec), np.random.default_rng(seed + 1)
    homes = dq.Points(people.target[["lon", "lat"]].to_numpy())
    target = dq.microdata(people.target.reset_index(drop=True), LABELS, distances=mask.apply(homes, rng))
    known = dq.microdata(people.known.reset_index(drop=True), LABELS, coordinates=["lon", "lat"])
    return target, known, calibrate(mask, rng=rng)


@pytest.mark.parametrize("spec", ["gaussian:sigma=0.005deg", "matrix-gaussian:sd=2km"])
def test_extension_finds_nearly_everybody(spec: str) -> None:
    """The clique finds a quarter; from it the extension finds nearly all, and few others."""
    hits = claims = common = 0
    for seed in range(3):
        target, known, told = files(seed, spec)
        search = CliqueAttack(told.agreement(0.5))
        clique = dq.attack(target, known, by=search, truth="id")
        extended = ExtendAttack(search, float(np.sqrt(told.variance)), 40 / 300)
        found = dq.attack(target, known, by=extended, truth="id")
        assert found.risk.tp > clique.risk.tp
        hits, claims, common = hits + found.risk.tp, claims + len(found.matches), common + 40
    assert hits / common > 0.9
    assert hits / claims > 0.85


def test_false_anchors_are_dropped_again() -> None:
    """Two false ones among eight anchors neither survive nor spoil the rest."""
    target, known, told = files(7, "gaussian:sigma=0.002deg")
    truth = {row["id"]: i for i, row in known.table.iterrows()}
    pairs = [(i, truth[row["id"]]) for i, row in target.table.iterrows() if row["id"] in truth]
    found = candidates(target.labels, known.labels)
    same = [(a, b) for a, _ in pairs for _, b in pairs if found.target_class[a] == found.known_class[b]]
    wrong = [pair for pair in same if pair not in pairs][:2]
    start = np.array(pairs[:6] + wrong, dtype=np.int32)
    result = extend(
        (target.distances, known.distances),
        candidates=found,
        anchors=(start[:, 0], start[:, 1]),
        spread=float(np.sqrt(told.variance)),
        common=40 / 300,
    )
    claimed = set(zip(*(side.tolist() for side in result.claimed()[:2]), strict=True))
    assert not claimed & set(wrong)
    assert len(claimed & set(pairs)) >= 38


@pytest.mark.parametrize("kind", ["directed", "incomplete"])
def test_directed_and_incomplete_distances_are_extended(kind: str) -> None:
    """Travel times and released nearest neighbours: no map is needed, only distances that agree."""
    rng = np.random.default_rng(3)
    n, anchors = 60, 8
    points = rng.uniform(0, 100, (n, 2))
    d = full_matrix(dq.Points(points, "euclidean"))
    if kind == "directed":
        d = d * rng.uniform(1, 2, (1, n))  # slower towards some places
    noisy = np.abs(d + rng.normal(0, 0.05, d.shape))
    if kind == "incomplete":
        noisy = np.triu(noisy, 1) + np.triu(noisy, 1).T
        gone = np.triu(rng.random((n, n)) < 0.4, 1)
        noisy[gone | gone.T] = np.nan
    np.fill_diagonal(noisy, 0)
    options = {"directed": kind == "directed", "unpublished": kind == "incomplete"}
    frame = pd.DataFrame({"x": rng.choice(["a", "b"], n)})
    target = dq.microdata(frame, ["x"], distances=noisy, **options)
    np.fill_diagonal(d, 0)
    known = dq.microdata(frame, ["x"], distances=d, directed=kind == "directed")
    start = np.arange(anchors, dtype=np.int32)
    result = extend(
        (target.distances, known.distances),
        candidates=candidates(target.labels, known.labels),
        anchors=(start, start),
        spread=0.05,
        common=0.95,
    )
    left, right, _ = result.claimed()
    assert (left == right).mean() > 0.98
    assert len(left) > 0.9 * n


def test_too_few_anchors_claim_nothing() -> None:
    """Two distances fix no place; the result says so."""
    target, known, _ = files(1, "gaussian:sigma=0.005deg")
    two = np.arange(2, dtype=np.int32)
    result = extend(
        (target.distances, known.distances),
        candidates=candidates(target.labels, known.labels),
        anchors=(two, two),
        spread=1.0,
    )
    assert len(result.target) == 0
    assert result.doubt.code == "too_few_matches_to_start"


def test_exact_copies_are_linked_completely() -> None:
    """Without noise every record with a place of its own is found."""
    people = germany(n_target=80, n_known=80, common=80, rng=np.random.default_rng(5))
    points = people.known[["lon", "lat"]].to_numpy()
    data = dq.microdata(people.known.reset_index(drop=True), LABELS, distances=full_matrix(dq.Points(points)))
    result = dq.attack(data, data, by=ExtendAttack(CliqueAttack(dq.Within(0.001)), 0.0, 1.0), truth="id")
    assert (result.risk.tp, result.risk.fp) == (80, 0)


def test_small_scores_equal_their_plain_reading() -> None:
    """The kernel against NumPy, with gaps and with records that are anchors themselves."""
    rng = np.random.default_rng(0)
    target, known = rng.uniform(0, 10, (6, 5)), rng.uniform(0, 10, (7, 5))
    known[2, :3] = np.nan
    mine, theirs = np.array([-1, 0, -1, 4, -1, -1]), np.array([-1, 1, -1, -1, 0, -1, -1])
    anchored = Anchored(target, known, np.arange(5), mine, theirs)
    for v in range(6):
        scores = profile_scores(anchored, v, 2.0)
        for w in range(7):
            used = [a for a in range(5) if a not in (mine[v], theirs[w]) and not np.isnan(known[w, a])]
            squares = [((known[w, a] - target[v, a]) / 2) ** 2 for a in used]
            expected = np.expm1(np.mean(np.log1p(squares))) if len(used) >= 3 else np.inf
            assert scores[w] == pytest.approx(expected)


def test_small_crowding_is_the_density_of_scores() -> None:
    """Evenly spread scores have the same density everywhere, but for the window that holds few of them."""
    scores = np.sort(np.concatenate([np.arange(1, 1001) / 100.0, [np.inf]]))
    assert crowding(scores, np.array([2.0, 5.0, 8.0]), 8) == pytest.approx([100, 100, 100], rel=0.05)


def test_scores_that_are_all_alike_have_a_law() -> None:
    """Places that were only exchanged give every true pair the same score; a law without any width ended an audit."""
    law = TrueScores(0.0, 0.0)
    assert np.isfinite(law.reach)
    assert np.isfinite(law.log_density(np.array([0.0, 1.0]))[0])
    assert law.log_density(np.array([0.0]))[0] > law.log_density(np.array([1.0]))[0]
