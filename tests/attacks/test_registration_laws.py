"""Registration under the exact law of the mask: as good as an oracle that knows the alignment and the law."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Knowledge, learn
from disclique.attacks.posterior import matching_posterior
from disclique.attacks.registration import ceiling, register
from disclique.attacks.weigh.exchange import find_coinciding
from disclique.attacks.weigh.law import measure_scatter
from disclique.geodesy import Spread
from disclique.masks import LENGTH, PointMask, parse_mask
from disclique.masks.laws import GaussianLaw, RadialLaw, Ring, Walk
from disclique.model import Candidates, Claims
from disclique.records.labels import candidates
from disclique.spaces import Points, ReleaseSeries
from disclique.spaces.metrics import pairwise
from disclique.spaces.positions import locate_known
from disclique.synthetic.people import germany
from disclique.units import Quantity
from disclique.values import FloatArray

LABELS = ["sex", "age_class"]


class Case(NamedTuple):
    """Releases of the same people, the known file, which pairs have one label, who is who, what the snooper knows."""

    released: list[Points]
    known: Points
    candidates: Candidates
    same: np.ndarray  # (target, known)
    truth: np.ndarray  # (target,), -1 for strangers
    knowledge: Knowledge


def make(spec: str, *, common: int, size: int = 200, seed: int = 0, releases: int = 1) -> Case:
    """People of Germany, ``common`` of them in both files, and a bold snooper who knows the mask."""
    rng = np.random.default_rng(seed)
    people = germany(n_target=size, n_known=size, common=common, rng=rng)
    truth = np.full(size, -1)
    truth[people.truth[:, 0]] = people.truth[:, 1]
    points, known = (Points(side[["lon", "lat"]].to_numpy()) for side in (people.target, people.known))
    mask = parse_mask(spec)
    ours, theirs = (side[LABELS].astype(str).agg("|".join, axis=1).to_numpy() for side in (people.target, people.known))
    share = min(max(common, 30) / size, 0.99)
    told = learn(mask, calibrate(mask, rng=rng), points, common=share, rng=rng)
    return Case(
        [mask.apply(points, rng) for _ in range(releases)],
        known,
        candidates(people.target[LABELS], people.known[LABELS]),
        ours[:, None] == theirs[None, :],
        truth,
        replace(told, bold=True),
    )


def attack(case: Case) -> Claims:
    """Registration of what is released: distances."""
    releases = [one.as_matrix() for one in case.released]
    target = releases[0] if len(releases) == 1 else ReleaseSeries(tuple(releases))
    return register(target, case.known, candidates=case.candidates, knowledge=case.knowledge)


def best(case: Case) -> Claims:
    """The ceiling of a case."""
    return ceiling(case.released, case.known, candidates=case.candidates, knowledge=case.knowledge)


def name_people(weight: np.ndarray, truth: np.ndarray) -> float:
    """The share of known people whose released record weighs most; a tie counts as a guess."""
    found = []
    for target in np.flatnonzero(truth >= 0):
        column = weight[:, truth[target]]
        top = column >= column.max() * (1 - 1e-9)
        found.append(top[target] / top.sum() if column.max() > 0 else 0.0)
    return float(np.mean(found))


def spread_out(claims: Claims, case: Case) -> np.ndarray:
    """The claims as a matrix."""
    weight = np.zeros(case.same.shape)
    weight[claims.target, claims.known] = claims.probability
    return weight


def weigh(case: Case, spec: str) -> np.ndarray:
    """The likelihood of every pair by the definition of the mask, the truly aligned places given."""
    weight = case.same.astype(float)
    home = case.known.coordinates
    for release in case.released:
        d = pairwise(release.coordinates, home)
        name, _, rest = spec.partition(":")
        given = {
            key: float(value.rstrip("/km")) for key, value in (part.split("=") for part in rest.split(",") if part)
        }
        if name == "gaussian":
            weight *= np.exp(-(d**2) / 2 / given["sigma"] ** 2)
        elif name == "disc":
            weight *= d <= given["max"]
        elif name == "donut":
            weight *= (d >= given["min"]) & (d <= given["max"])
        elif name == "laplace":
            weight *= np.exp(-given["epsilon"] * d)
        elif name == "dhs":
            limits = ((2, 0.5), (5, 0.5 * 0.99), (10, 0.5 * 0.01))
            weight *= sum(share * (d <= most) / most for most, share in limits) / np.maximum(d, 1e-9)
        elif name == "grid":
            own = parse_mask(spec).apply(case.known, np.random.default_rng(0)).coordinates
            weight *= pairwise(release.coordinates, own) < 1e-3
        elif name == "swap":
            weight *= np.where(d < 1e-3, 0.05, d <= given["radius"])
        elif name == "voronoi":
            density = len(home) / 357_000  # people per km², as if they lived evenly
            weight *= np.exp(-4 * np.pi * density * d**2)
        else:
            assert name == "affine"
    return weight


MASKS = (
    "donut:min=26km,max=30km",
    "disc:max=25km",
    "laplace:epsilon=0.12/km",
    "dhs",
    "grid:cell=50km",
    "swap:radius=60km",
    "voronoi",
)


@pytest.mark.parametrize("spec", MASKS)
def test_an_oracle_with_the_alignment_finds_no_more(spec: str) -> None:
    """With a fifth of the people known and with everybody, registration names as many as the oracle does."""
    for common in (40, 200):
        case = make(spec, common=common)
        oracle = name_people(weigh(case, spec), case.truth)
        assert name_people(spread_out(best(case), case), case.truth) > oracle - 0.03
        assert name_people(spread_out(attack(case), case), case.truth) > oracle - 0.05
        assert oracle > 0.5  # the case tells good attacks from bad ones


def test_the_hole_of_a_ring_tells_more_than_its_second_moment() -> None:
    """A snooper who takes a ring for Gaussian noise names far fewer people."""
    case = make("donut:min=26km,max=30km", common=100, size=500)
    exact = name_people(spread_out(best(case), case), case.truth)
    rough = best(case._replace(knowledge=replace(case.knowledge, law=None)))
    assert exact > name_people(spread_out(rough, case), case.truth) + 0.1


def test_exchanges_in_pairs_are_used_where_both_are_known() -> None:
    """With the whole file known a partner's label must fit as well: far more than the radius alone tells."""
    case = make("swap:radius=60km", common=200)
    alone = name_people(weigh(case, "swap:radius=60km"), case.truth)
    assert name_people(spread_out(attack(case), case), case.truth) > min(alone + 0.15, 0.95)


def test_exchanges_agree_with_counting_all_of_them() -> None:
    """Six people of three labels: probabilities are those among all exchanges that explain the labels."""
    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(6):
        homes = rng.uniform(0, 10, (6, 2))
        label = rng.permutation([0, 0, 1, 1, 2, 2])
        owner = np.arange(6)
        chosen = rng.permutation(6)
        for a, b in ((chosen[0], chosen[1]), (chosen[2], chosen[3])):
            owner[[a, b]] = b, a  # record a is at the home of b
        told = np.asarray(label, dtype=np.int32)
        classes = np.arange(3, dtype=np.int32)
        law = parse_mask("swap:radius=100").place_law()
        knowledge = Knowledge(Spread(5, 5, "plane"), common=0.99, law=law, bold=True)
        pairs = Candidates(told, told, np.stack((classes, classes), axis=1))
        claims = ceiling(
            Points(homes[owner], "euclidean"), Points(homes, "euclidean"), candidates=pairs, knowledge=knowledge
        )
        at = np.empty(6, dtype=int)
        at[owner] = np.arange(6)  # the record at each home
        every = np.zeros((6, 6))
        for exchange in _list_exchanges(list(range(6))):
            partner = np.arange(6)
            for a, b in exchange:
                partner[[a, b]] = b, a
            record = at[partner]  # of each person, if it were so
            if (label[record] == label).all():
                # a pair is drawn with about 1/5 each way, a record stays with .55 / 6
                every[record, np.arange(6)] += (5 / 6 * 1.1 / 5) ** len(exchange) * (0.55 / 6) ** (
                    6 - 2 * len(exchange)
                )
        every /= every.sum(axis=0)
        found = np.zeros((6, 6))
        found[claims.target, claims.known] = claims.probability
        sure = every.max(axis=0) > 0.8
        compared += int(sure.sum())
        assert (found.argmax(axis=0) == every.argmax(axis=0))[sure].all()
    assert compared > 6


def _list_exchanges(people: list[int]) -> list[list[tuple[int, int]]]:
    """All ways to put some people into pairs."""
    if len(people) < 2:
        return [[]]
    first, rest = people[0], people[1:]
    alone = _list_exchanges(rest)
    return alone + [
        [(first, other), *more] for other in rest for more in _list_exchanges([one for one in rest if one != other])
    ]


def test_the_gaussian_law_changes_nothing() -> None:
    """Where the second moment is the law, claims are the same with it and without."""
    case = make("gaussian:sigma=5km", common=40)
    assert isinstance(case.knowledge.law, GaussianLaw)
    told, moment = attack(case), attack(case._replace(knowledge=replace(case.knowledge, law=None)))
    np.testing.assert_array_equal(told.probability, moment.probability)
    assert (
        name_people(spread_out(told, case), case.truth)
        > name_people(weigh(case, "gaussian:sigma=5km"), case.truth) - 0.05
    )


def test_a_bold_snooper_keeps_every_weighed_pair() -> None:
    """Everybody who is known can be named, however faint the best record is; a careful one keeps probable pairs."""
    case = make("gaussian:sigma=35km", common=200)
    oracle = name_people(weigh(case, "gaussian:sigma=35km"), case.truth)
    for claims in (attack(case), best(case)):
        weight = spread_out(claims, case)
        assert name_people(weight, case.truth) > oracle - 0.03
        reachable = (case.same & (pairwise(case.released[0].coordinates, case.known.coordinates) < 100)).any(axis=0)
        assert (weight.max(axis=0) > 0)[reachable].all()
    careful = attack(case._replace(knowledge=replace(case.knowledge, bold=False)))
    assert careful.probability.min() >= 0.01
    assert claims.probability.min() < 0.01


def test_the_best_pair_of_each_record_has_a_probability() -> None:
    """Belief propagation leaves out faint pairs, but never the best one of a record on either side."""
    target, known, ratio = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 2]), np.array([40.0, 0.0, -1.0, -30.0])
    found = matching_posterior(target, known, ratio, sizes=(9, 9), common=0.1)
    assert found[0] > 0.99
    assert 0 < found[2] < found[1] < 1e-4
    assert 0 < found[3] < 1e-12  # the only pair of a target


@pytest.mark.parametrize("spec", ["donut:min=5km,max=8km", "grid:cell=15km"])
def test_strangers_are_not_linked(spec: str) -> None:
    """Where no record is shared, the law of the mask does not make chance look like people."""
    case = make(spec, common=0, size=150, seed=3)
    link = attack(case._replace(knowledge=replace(case.knowledge, bold=False)))
    assert link.doubt.code == "alignment_doubtful"
    assert len(link.claimed()[0]) == 0


def test_probabilities_are_right_on_average() -> None:
    """Claims under the exact law hold as often as they say."""
    for seed, spec in enumerate(("donut:min=26km,max=30km", "swap:radius=60km", "grid:cell=30km")):
        case = make(spec, common=40, seed=seed)
        target, known, probability = best(case).claimed()
        assert (case.truth[target] == known).mean() == pytest.approx(probability.mean(), abs=0.15)
        assert probability.sum() < best(case).expected == pytest.approx(40, rel=0.2)


@pytest.mark.parametrize("spec", ["gaussian:sigma=34km", "donut:min=26km,max=30km", "swap:radius=100km"])
def test_a_series_of_releases_reaches_its_ceiling(spec: str) -> None:
    """Four releases of the same people are laid on each other, and their laws multiply."""
    many, one = make(spec, common=40, releases=4), make(spec, common=40)
    ours, top = (name_people(spread_out(claims, many), many.truth) for claims in (attack(many), best(many)))
    assert ours > top - 0.05
    assert top > name_people(weigh(many, spec), many.truth) - 0.03
    assert top > name_people(spread_out(best(one), one), one.truth)


def test_the_same_release_again_tells_nothing_new() -> None:
    """A rule without chance gives one release, and its repetition must not make anybody surer."""
    for spec in ("grid:cell=50km", "disc:max=25km"):
        case = make(spec, common=40)
        again = case._replace(released=case.released * 3)
        np.testing.assert_allclose(best(again).probability, best(case).probability)
    assert attack(again).expected == pytest.approx(attack(case).expected, rel=0.02)


def test_a_mask_that_moves_the_map_is_undone() -> None:
    """The ceiling exists for a rigid mask too: everybody is found."""
    case = make("affine", common=40, size=120)
    claims = best(case)
    assert name_people(spread_out(claims, case), case.truth) == 1.0
    assert claims.attack == "ceiling"


@dataclass(frozen=True)
class Jump(PointMask):
    """A mask of one's own: everybody is moved by nearly the same distance, in any direction."""

    name: ClassVar[str] = "jump"
    reference: ClassVar[str] = "none"
    by: Quantity = field(metadata=LENGTH)

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the coordinates after the jump."""
        angle, length = rng.uniform(0, 2 * np.pi, points.size), self.by.value * rng.uniform(0.95, 1, points.size)
        return np.asarray(points.coordinates + (length * np.stack((np.cos(angle), np.sin(angle)))).T)


def test_a_simulated_law_is_used() -> None:
    """In the plane, with a mask that nobody wrote a law for: as good as the oracle that knows it."""
    rng = np.random.default_rng(8)
    homes, label = rng.uniform(0, 1000, (340, 2)), rng.integers(0, 8, 340).astype(np.int32)
    rows = np.concatenate((np.arange(60), np.arange(200, 340)))  # known: 60 released people and 140 strangers
    mask, points = Jump("40"), Points(homes[:200], "euclidean")
    told = learn(mask, calibrate(mask, points=homes, metric="euclidean", rng=rng), points, common=0.3, rng=rng)
    assert told.law is not None
    assert told.law.simulated
    masked, known = mask.apply(points, rng), Points(homes[rows], "euclidean")
    same = np.arange(8, dtype=np.int32)
    pairs = Candidates(label[:200], label[rows], np.stack((same, same), axis=1))
    truth = np.where(np.arange(200) < 60, np.arange(200), -1)
    d = pairwise(masked.coordinates, known.coordinates, "euclidean")
    oracle = (label[:200, None] == label[rows]) * ((d >= 38) & (d <= 40)) * 1.0
    link = register(masked.as_matrix(), known, candidates=pairs, knowledge=replace(told, bold=True))
    weight = np.zeros(oracle.shape)
    weight[link.target, link.known] = link.probability
    assert name_people(weight, truth) > name_people(oracle, truth) - 0.05 > 0.7


@pytest.mark.parametrize("plane", [True, False])
def test_places_that_coincide_are_found_without_labels(plane: bool) -> None:
    """A tenth of the places in both files fixes the motion; none in common gives none."""
    rng = np.random.default_rng(5)
    ours = rng.uniform(0, 500, (200, 2)) if plane else rng.uniform((6, 47), (15, 55), (200, 2))
    theirs = rng.uniform(0, 500, (200, 2)) if plane else rng.uniform((6, 47), (15, 55), (200, 2))
    both = np.concatenate((ours[:20], theirs[20:]))
    metric = "euclidean" if plane else "sphere"
    known = locate_known(Points(both, metric))
    true = known.place(Points(ours, metric))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    if plane:
        turn = np.array([[0.6, 0.8, 0], [0.8, -0.6, 0], [0, 0, 1.0]])  # a mirror image
    motion = find_coinciding(true @ turn.T, known, 1e-4, kept=1)[0]
    np.testing.assert_allclose(motion(true @ turn.T), true, atol=1e-3)
    assert find_coinciding(true @ turn.T, locate_known(Points(theirs, metric)), 1e-4, kept=1) == []


def test_the_places_of_one_stranger_lie_together_too() -> None:
    """The integral over true places of the product of two laws agrees with a fine sum over places."""
    law = RadialLaw(((0.7, Ring(3.0, 5.0)), (0.3, Walk(4.0))))
    rng = np.random.default_rng(6)
    copies = [np.column_stack((rng.uniform(-3, 3, (4, 2)), np.zeros(4))) for _ in range(2)]
    line = np.arange(-12, 12, 0.02)
    x, y = np.meshgrid(line, line)
    for row, found in enumerate(measure_scatter(law, copies, 0.0)):
        first, second = (law.density(np.hypot(x - one[row, 0], y - one[row, 1])) for one in copies)
        assert np.exp(found) == pytest.approx((first * second).sum() * 0.02**2, rel=0.2)


def test_coordinate_errors_blur_every_law() -> None:
    """With an error of the known coordinates nobody is excluded by a law that has sharp edges."""
    for spec in ("donut:min=26km,max=30km", "grid:cell=50km", "swap:radius=60km"):
        case = make(spec, common=40, seed=2)
        known = parse_mask("gaussian:sigma=1km").apply(case.known, np.random.default_rng(3))
        told = replace(case.knowledge, coordinate_error=1.0)
        exact = name_people(spread_out(best(case), case), case.truth)
        blurred = case._replace(known=known, knowledge=told)
        claims = attack(blurred) if spec.startswith("swap") else best(blurred)
        assert name_people(spread_out(claims, blurred), case.truth) > 0.75 * exact
        weight = spread_out(best(blurred), blurred)
        true = [(t, k) for t, k in enumerate(case.truth) if k >= 0]
        assert np.mean([weight[t, k] > 0 for t, k in true]) > 0.97
