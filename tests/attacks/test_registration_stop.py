"""When registration stops: what the truth would show is foretold, and only searches that can succeed are begun."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

import disclique as dq
from disclique.attacks.align import futility, search
from disclique.attacks.align.density import MotionPrior
from disclique.attacks.align.futility import choose_tilt, foretell
from disclique.attacks.align.likelihood import Aligner, LikelihoodModel, build_model
from disclique.attacks.align.search import build_prior
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.population import Population, prepare
from disclique.attacks.registration import ceiling, register
from disclique.attacks.weigh.background import Background
from disclique.engine.kernels.neighbours import CountedCubes, build_index, count_around, sum_bells
from disclique.geodesy import Spread
from disclique.model import Candidates, Claims
from disclique.spaces import Points
from disclique.spaces.positions import Motion, follow_step, locate_known
from disclique.spaces.rebuild.landmarks import TargetMap

STAY = Motion(np.eye(3), np.zeros(3))


class Scene(NamedTuple):
    """Masked points, known ones, their labels, who is who (-1: nobody), and what is known of the mask."""

    masked: Points
    known: Points
    labels: Candidates
    truth: np.ndarray
    knowledge: Knowledge


def scene(homes: np.ndarray, sizes: tuple[int, int, int], sigma: float, labels: int, seed: int) -> Scene:
    """The first homes are common, the next the target's, the last the known file's; noise N(0, σ²) in the plane."""
    rng = np.random.default_rng(seed)
    targets, known, common = sizes
    label = rng.choice(labels, len(homes)).astype(np.int32)
    order = rng.permutation(np.r_[:common, targets : targets + known - common])
    truth = np.full(len(homes), -1)
    truth[order] = np.arange(known)
    both = np.arange(labels, dtype=np.int32)
    return Scene(
        Points(homes[:targets] + rng.normal(0, sigma, (targets, 2)), "euclidean"),
        Points(homes[order], "euclidean"),
        Candidates(label[:targets], label[order], np.stack((both, both), axis=1)),
        truth[:targets],
        Knowledge(Spread(sigma, sigma, "plane"), common=common / targets),
    )


def towns(sizes: tuple[int, int, int], sigma: float, seed: int, labels: int = 6) -> Scene:
    """People of some towns of different size in a wide land."""
    rng = np.random.default_rng(1000 + seed)
    many = sizes[0] + sizes[1] - sizes[2]
    centres, width = rng.uniform(0, 100, (25, 2)), rng.uniform(1, 8, 25)
    which = rng.choice(25, many, p=rng.dirichlet(np.ones(25)))
    return scene(centres[which] + rng.normal(0, 1, (many, 2)) * width[which, None], sizes, sigma, labels, seed)


def city(sizes: tuple[int, int, int], sigma: float, seed: int, labels: int) -> Scene:
    """A round city whose people live on a grid of streets: densities do not tell how it lies."""
    rng = np.random.default_rng(seed)
    many = sizes[0] + sizes[1] - sizes[2]
    homes = np.round(rng.normal(0, 10, (many, 2)) / 0.5) * 0.5
    homes[:, 0] += rng.uniform(0, 0.5, many) * (rng.random(many) < 0.5)
    return scene(homes, sizes, sigma, labels, seed)


def run(one: Scene, *, bold: bool = False) -> Claims:
    return register(one.masked, one.known, candidates=one.labels, knowledge=replace(one.knowledge, bold=bold))


def name_rightly(claims: Claims, truth: np.ndarray) -> int:
    """Count the known people for whom the likeliest target is the right one."""
    best: dict[int, tuple[float, int]] = {}
    for t, k, p in zip(claims.target.tolist(), claims.known.tolist(), claims.probability.tolist(), strict=True):
        best[k] = max(best.get(k, (0.0, -1)), (p, t))
    return sum(best.get(int(k), (0.0, -1))[1] == t for t, k in enumerate(truth) if k >= 0)


def build(one: Scene) -> Aligner:
    known_map = locate_known(one.known)
    assert one.knowledge.noise is not None
    model = build_model(Population.of(one.known), one.labels, known_map.variances(one.knowledge.noise, 0.0))
    places = TargetMap(known_map.place(one.masked), np.zeros(one.masked.size), 0.0)
    return Aligner(model, places, build_prior(model, places)[0])


def slow_ratio(model: LikelihoodModel, places: np.ndarray, common: float) -> float:
    """The log likelihood ratio of targets at places, over all pairs; labels are their own relatives."""
    square = ((places[:, None] - model.known_map.positions[None]) ** 2).sum(axis=2)
    wide = float(model.variances[0, 0])
    alike = model.target_class[:, None] == model.known_class[None]
    gain = model.related.gain[model.target_class][:, None]
    likely = np.where(alike, model.rarity * np.exp(gain - square / (2 * wide)) / (2 * np.pi * wide), 0.0)
    return float(np.log(1 - common + common * likely.sum(axis=1)).sum())


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count the distances compared to refine motions, and how often pairs of rare records are searched."""
    counts = {"compared": 0, "searched": 0}
    evaluate, by_pairs = Aligner.evaluate, search.search_pairs

    def count_refining(self: Aligner, *given: Any) -> Any:
        found = evaluate(self, *given)
        counts["compared"] += int(found[0][5])
        return found

    def count_searching(*given: Any) -> None:
        counts["searched"] += 1
        by_pairs(*given)

    monkeypatch.setattr(Aligner, "evaluate", count_refining)
    monkeypatch.setattr(search, "search_pairs", count_searching)
    return counts


@pytest.mark.parametrize("sigma", [0.5, 2.0, 6.0])
def test_what_the_truth_shows_is_foretold(sigma: float) -> None:
    """The likelihood ratio at the true places, over all pairs, is as far from the foretold one as it is said to be."""
    off = []
    for seed in range(6):
        one = towns((400, 600, 120), sigma, seed)
        aligner, share = build(one), 0.3
        outlook = foretell(aligner, aligner.who, tilt=0.0).expect(len(aligner.who), share, share)
        true = slow_ratio(aligner.model, aligner.target_map.positions, share)
        off.append((true - outlook.mean) / outlook.deviation)
        strangers = foretell(aligner, aligner.who, tilt=0.0).expect_strangers(len(aligner.who), share)
        assert strangers.mean < outlook.mean
    assert np.abs(off).max() < 3.5
    assert abs(np.mean(off)) < 1.2


def test_a_map_of_sparse_places_is_not_taken_for_one_of_all() -> None:
    """Of a survey of the country only, more can be expected than of everybody's: crowds hide, empty land does not."""
    everybody = towns((400, 900, 300), 1.0, 3)
    aligner = build(everybody)
    assert choose_tilt(aligner) < 1.0
    lonely = np.argsort(-aligner.model.rarity)[:200]
    country = Points(everybody.known.coordinates[lonely], "euclidean")
    labels = replace(everybody.labels, target_class=everybody.labels.known_class[lonely])
    sparse = build(everybody._replace(masked=country, labels=labels))
    assert choose_tilt(sparse) > 0.0
    plain, tilted = (foretell(sparse, sparse.who, tilt=tilt).expect(200, 0.5, 0.5).mean for tilt in (0.0, 1.0))
    assert tilted > plain


def test_a_hopeless_release_costs_little_and_says_why(counted: dict[str, int]) -> None:
    """Noise as wide as the city: no pairs are searched, and refining costs as much as some looks at all candidates."""
    one = city((300, 5000, 150), 8.0, 0, labels=10)
    aligner = build(one)
    look = int(aligner.evaluate(STAY, 0.0, aligner.who, 0.5)[0][5])
    counted["compared"] = 0
    claims = run(one)
    assert not len(claims.target)
    assert claims.doubt.values["reasons"][-1].code == "truth_shows_little"
    assert claims.cut is None
    assert counted["searched"] == 0
    assert counted["compared"] < 120 * look
    counted["compared"] = 0
    bold = run(one, bold=True)
    assert len(bold.target)
    assert bold.cut is None
    assert counted["searched"] == 0
    assert counted["compared"] < 500 * look


def test_a_bold_snooper_finds_as_many_without_the_search(counted: dict[str, int]) -> None:
    """Where the alignment is in doubt the densities give nearly what the true one gives."""
    found, most = 0, 0
    for seed in range(4):
        one = towns((600, 900, 150), 6.0, seed)
        claims = run(one, bold=True)
        futile = None if claims.doubt is None else claims.doubt.values["reasons"][-1].code
        assert futile in (None, "truth_shows_little", "fits_like_the_truth", "rare_pairs_show_nothing")
        assert claims.cut is None
        top = ceiling(one.masked, one.known, candidates=one.labels, knowledge=one.knowledge)
        found, most = found + name_rightly(claims, one.truth), most + name_rightly(top, one.truth)
    assert counted["searched"] == 0
    assert found > 0.9 * most


def test_what_a_longer_search_can_find_is_searched(counted: dict[str, int]) -> None:
    """Densities mislead in a round city; what they suggest fits worse than the truth would, so pairs are searched."""
    one = city((300, 3000, 60), 0.8, 1, labels=20)
    claims = run(one, bold=True)
    assert counted["searched"] == 1
    assert name_rightly(claims, one.truth) > 45


def square(sizes: tuple[int, int, int], sigma: float, seed: int, labels: int) -> Scene:
    """People anywhere in a square: densities prefer one of its eight turns, but by chance."""
    rng = np.random.default_rng(seed)
    return scene(rng.uniform(0, 40, (sizes[0] + sizes[1] - sizes[2], 2)), sizes, sigma, labels, seed)


@pytest.mark.parametrize("seed", range(3))
def test_densities_decide_between_towns_but_not_between_the_turns_of_a_square(seed: int) -> None:
    """Of two samples of one land, each without a person of the other."""
    decided = []
    for one in (towns((400, 400, 0), 0.5, seed), square((400, 400, 0), 0.5, seed, labels=3)):
        aligner = build(one)
        motions = build_prior(aligner.model, aligner.target_map)[1]
        found = search.Alignments(aligner, 8.0, density_motions=motions)
        decided.append((futility.is_decided(found, motions[0]), futility.is_decided(found, STAY)))
    assert decided[0] == (True, True)
    assert not any(decided[1])


def test_an_alignment_that_chance_can_make_does_not_end_the_search(counted: dict[str, int]) -> None:
    """In a square a wrong one often fits as well as the true one is expected to: more are tried, or it is cut."""
    wrong = 0
    for seed in range(2):
        one = square((400, 400, 40), 0.25, seed, labels=2)
        claims = run(one, bold=True)
        wrong += name_rightly(claims, one.truth) < 20 and not claims.cut
    assert counted["searched"]
    assert wrong == 0


def test_what_pairs_cannot_show_but_everybody_might_is_called_cut(counted: dict[str, int]) -> None:
    """In a square without a centre: the ceiling finds many, nobody is found, and that is a lower bound."""
    one = square((500, 500, 50), 1.6, 2, labels=5)
    claims = run(one, bold=True)
    most = ceiling(one.masked, one.known, candidates=one.labels, knowledge=one.knowledge)
    assert name_rightly(most, one.truth) > 10
    assert claims.doubt.values["reasons"][-1].code == "rare_pairs_show_nothing"
    assert counted["searched"] == 0
    assert claims.cut.code == "rare_pairs_not_tried"


def test_files_that_share_nobody_are_searched_to_the_end(counted: dict[str, int]) -> None:
    """The truth would be seen, and it is not there: everything is tried, nothing is claimed and nothing was cut."""
    one = towns((300, 300, 0), 0.05, 1)
    told = one._replace(knowledge=replace(one.knowledge, common=0.3))
    claims = run(told)
    assert counted["searched"] == 1
    assert not len(claims.target)
    assert claims.cut is None


@pytest.mark.parametrize("sigma", [2.0, 12.0])
def test_long_steps_reach_the_peak(sigma: float) -> None:
    """From a motion that is off, refining gets as high as an optimiser does on the likelihood of all pairs."""
    one = towns((250, 400, 100), sigma, 5)
    aligner = build(one)
    aligner = Aligner(aligner.model, aligner.target_map, MotionPrior(1e6))
    pivot = aligner.target_map.positions.mean(axis=0)
    begin = follow_step(STAY, np.array([0.01, 0.4 * sigma, -0.3 * sigma]), pivot, True)

    def lose(step: np.ndarray) -> float:
        moved = follow_step(begin, step, pivot, True)
        return -slow_ratio(aligner.model, moved(aligner.target_map.positions), 0.4)

    slow = minimize(lose, np.zeros(3), method="Nelder-Mead", options={"initial_simplex": simplex(sigma)})
    fast = aligner.refine(begin, aligner.sigma, 0.4, fixed=True)
    assert fast.ratio > -slow.fun - 0.1  # candidates beyond four standard deviations are left out


def simplex(sigma: float) -> np.ndarray:
    """Small motions around none, as long as the noise."""
    return np.vstack((np.zeros(3), np.diag([0.02, sigma / 2, sigma / 2])))


def test_neighbours_are_counted() -> None:
    """Counts in cells against all distances, with radii wider and narrower than a cell."""
    rng = np.random.default_rng(0)
    places = np.column_stack((rng.normal(0, 3, (300, 2)), np.zeros(300)))
    radii = rng.uniform(0.1, 5, 300)
    index = build_index(places, np.zeros(300, np.int64), np.eye(3)[:2], 0.7)
    slow = (np.linalg.norm(places[:, None] - places[None], axis=2) <= radii[:, None]).sum(axis=1)
    assert (count_around(index, places, radii) == slow).all()


def test_bells_are_summed() -> None:
    """Over the records, those of the class and the homes of all cubes within reach, but for the record itself."""
    rng = np.random.default_rng(1)
    cell, label = rng.integers(0, 30, 200), rng.integers(-1, 4, 200)
    cell[:30] = np.arange(30)
    middle, homes = rng.normal(0, 4, (30, 3)), rng.integers(1, 5, 30).astype(float)
    count, order = np.bincount(cell, minlength=30).astype(float), np.lexsort((label, cell))
    cubes = CountedCubes(count, np.r_[0, np.cumsum(count.astype(np.int64))], label[order], homes)
    index = build_index(middle, np.zeros(30, np.int64), np.eye(3)[:2], 8.0)
    places, own = rng.normal(0, 4, (50, 3)), (cell[:50], label[:50])
    found = sum_bells(index, cubes, places, own, (1.5, 3.0))
    away = np.linalg.norm(places[:, None] - middle[None], axis=2)
    height = np.where(away <= 3.0, np.exp(-(away**2) / 3.0) / (3.0 * np.pi), 0.0)
    itself = own[0][:, None] == np.arange(30)[None]
    alike = np.array([[((cell == cube) & (label == mine)).sum() for cube in range(30)] for mine in own[1]])
    slow = [((part - itself) * height).sum(axis=1) for part in (count[None], alike)]
    assert found == pytest.approx(np.vstack((*slow, (homes * height).sum(axis=1))))


def test_the_density_of_strangers_is_learned_once_for_a_known_file() -> None:
    """Two releases share it; other labels of the same people do not."""
    one = towns((60, 80, 30), 1.0, 11)
    people = Population.of(one.known)

    def weigh(known: Population, labels: Candidates) -> Claims:
        return ceiling(one.masked, known, candidates=labels, knowledge=one.knowledge)

    def learned() -> list[object]:
        return [found for found in people.kept.values() if isinstance(found, Background)]

    first = weigh(people, one.labels)
    before = learned()
    again = weigh(people, one.labels)
    assert len(before) == 1
    assert learned()[0] is before[0]
    assert (first.probability == again.probability).all()
    other = replace(one.labels, known_class=one.labels.known_class[::-1].copy())
    shared, alone = (weigh(known, other) for known in (people, Population.of(one.known)))
    assert len(learned()) == 2
    assert (shared.probability == alone.probability).all()


def test_a_file_is_prepared_once_for_all_attacks() -> None:
    """The people of a prepared file stay the same; those of other distances are others."""
    known = prepare(dq.cities())
    assert prepare(known) is known
    assert known.population is known.population
    moved = replace(known, distances=dq.Points(known.population.points.coordinates + 1))
    assert moved.population is not known.population
