"""The oracle on maps: against all assignments of few people, the pairs listed one by one, and slow sums."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.attacks.align.likelihood import relate_classes
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Holder, Knowledge, learn
from disclique.attacks.oracle import Answer, ask_oracle
from disclique.attacks.oracle.places import Matching, _lay_cubes, weigh_points
from disclique.attacks.population import Population, prepare
from disclique.attacks.registration import ceiling
from disclique.engine.kernels.grid import add_strangers
from disclique.engine.kernels.oracle import Kept, Side, pass_messages
from disclique.masks import parse_mask
from disclique.masks.laws import GaussianLaw, RadialLaw
from disclique.measures.risk import SCENARIOS, Truth
from disclique.model import Candidates
from disclique.records.labels import Exact
from disclique.records.tables import microdata
from disclique.spaces import Points
from disclique.spaces.base import Distances
from disclique.synthetic.people import germany
from disclique.values import FloatArray


def make(
    spec: str,
    *,
    n: int = 150,
    overlap: float | None = None,
    label_error: float = 0.0,
    error: str = "",
    copies: int = 1,
    seed: int = 0,
) -> tuple[list[Distances], Holder]:
    """A release of people of Germany with four labels, and a known file as large."""
    rng = np.random.default_rng(seed)
    common = n if overlap is None else round(overlap * n)
    drawn = germany(n_target=n, n_known=n, common=common, rng=rng)
    tables = [
        one.assign(age=np.where(one[drawn.label_names[1]].rank(method="dense") > 5, "old", "young"))
        for one in (drawn.target, drawn.known)
    ]
    columns = [drawn.label_names[0], "age"]
    target, known = (microdata(one, columns, coordinates=["lon", "lat"], ids="id") for one in tables)
    if error:
        known = replace(known, distances=parse_mask(f"gaussian:sigma={error}").apply(known.distances, rng))
    mask, points = parse_mask(spec), target.distances.points()
    assert points is not None
    told = know(spec, points, common=min(common / n, 0.99), error=float(error.removesuffix("km") or 0))
    exact = dq.LabelRule().candidates(target, known)
    comparators = {column: Exact(label_error) for column in columns}
    weighed = dq.LabelRule(comparators=comparators).candidates(target, known) if label_error else exact
    truth = Truth.of_people(target.ids, known.ids)
    masked = [mask.apply(target.distances, rng) for _ in range(copies)]
    return masked, Holder(target, prepare(known), weighed, truth, told, alike=exact)


def know(spec: str, points: Points, *, common: float, error: float = 0.0) -> Knowledge:
    """What a snooper knows of a mask; how far it moves distances, which costs much, nobody asks here."""
    mask, rng = parse_mask(spec), np.random.default_rng(0)
    found = calibrate(parse_mask("gaussian:sigma=1km"), rng=rng)
    return replace(learn(mask, found, points, common=common, coordinate_error=error, rng=rng), bold=True)


def listed(masked: list[Distances], holder: Holder) -> Answer:
    """The same from a list of all pairs, as by the attack that is given the masked points."""
    points = [one.points() for one in masked]
    people = prepare(holder.known).population
    assert people is not None
    claims = ceiling(
        [one for one in points if one is not None], people, candidates=holder.candidates, knowledge=holder.knowledge
    )
    return Answer.of_claims(claims, holder)


def shares(answer: Answer) -> FloatArray:
    return np.array([answer.of(name).mean() for name in SCENARIOS])


RARE = ("dhs", "grid:cell=40km", "voronoi", "swap:radius=40km")  # pairs are listed for these, or hardly anybody moves


@pytest.mark.parametrize(
    ("spec", "how"),
    [
        ("gaussian:sigma=15km", {}),
        ("gaussian:sigma=15km", {"overlap": 0.3}),
        ("gaussian:sigma=15km", {"overlap": 0.3, "label_error": 0.05}),
        ("gaussian:sigma=15km", {"overlap": 0.3, "error": "5km"}),
        ("gaussian:sigma=30km", {"copies": 3}),
        ("gaussian:sigma=0.2deg", {"overlap": 0.3}),
        ("disc:max=40km", {"overlap": 0.3}),
        ("disc:max=40km", {"copies": 2}),
        ("donut:min=15km,max=40km", {}),
        ("laplace:epsilon=0.1/km", {"label_error": 0.05}),
        ("dhs", {"overlap": 0.3}),
        ("grid:cell=40km", {"overlap": 0.3}),
        ("voronoi", {}),
        ("swap:radius=40km", {"overlap": 0.3}),
    ],
)
def test_finds_no_less_than_a_list_of_all_pairs(spec: str, how: dict[str, float]) -> None:
    """In every scenario, over some draws: the same, or more where strangers are told better."""
    gaps = []
    for seed in range(3 if spec in RARE else 10):
        masked, holder = make(spec, **how, seed=seed)  # type: ignore[arg-type]
        gaps.append(shares(ask_oracle(masked, holder)) - shares(listed(masked, holder)))
    assert (np.mean(gaps, axis=0) >= -0.01).all()


@pytest.mark.parametrize("spec", ["gaussian:sigma=20km", "donut:min=15km,max=40km"])
@pytest.mark.parametrize("overlap", [None, 0.2])
def test_pairs_looked_up_in_every_round_say_the_same_as_pairs_kept(spec: str, overlap: float | None) -> None:
    gaps = []
    for seed in range(3):
        (masked,), holder = make(spec, n=300, overlap=overlap, seed=seed)
        points, people = masked.points(), prepare(holder.known).population
        assert points is not None
        assert people is not None
        both = [weigh_points([points], people, holder, how) for how in (Matching(), Matching(kept=0, calm=1e-4))]
        gaps.append([both[1].of(name).mean() - both[0].of(name).mean() for name in SCENARIOS])
    assert np.abs(np.mean(gaps, axis=0)).max() < 0.01


def best_of(chance: FloatArray) -> Mapping[str, FloatArray]:
    """The chances of person k, whose record is k, from those of all pairs (records × people)."""
    right, size = np.diag(chance), len(chance)
    found = {}
    for name, side in (("prosecutor", 0), ("marketer", 1)):
        top = chance.max(axis=side)
        many = (chance >= (top if side == 0 else top[:, None]) * (1 - 1e-9)).sum(axis=side)
        found[name] = np.where(right >= top * (1 - 1e-9), 1 / many, 0.0)
    found["journalist"] = (right > 0.5).astype(float)
    assert size == len(right)
    return found


def all_assignments(weight: FloatArray) -> FloatArray:
    """The probability of each pair when every record is somebody known: the sum over all permutations."""
    size, total = len(weight), np.zeros_like(weight)
    orders = np.array(list(permutations(range(size))))
    product = weight[np.arange(size), orders].prod(axis=1)
    for row in range(size):
        total[row] = np.bincount(orders[:, row], product, size)
    return total / total.sum(axis=1, keepdims=True)


SMALL = {"gaussian:sigma=1.5km": 1.5, "disc:max=3km": 3.0, "laplace:epsilon=1/km": 1.0}


@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_all_assignments_of_six_people(spec: str, error: float) -> None:
    """People of two labels in a square of six kilometres, with labels that are sure or may be wrong."""
    mask, told, found, exact = parse_mask(spec), None, [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        places, labels = rng.uniform(0, 6, (6, 2)), rng.choice(["f", "m"], 6)
        wrong = np.where(rng.random(6) < error, np.where(labels == "f", "m", "f"), labels)
        target, known = (
            microdata(
                pd.DataFrame({"id": range(6), "sex": sex, "x": places[:, 0], "y": places[:, 1]}),
                ["sex"],
                coordinates=["x", "y"],
                ids="id",
                metric="euclidean",
                unit="km",
            )
            for sex in (labels, wrong)
        )
        points = target.distances.points()
        assert points is not None
        rule = dq.LabelRule(comparators={"sex": Exact(error)}) if error else dq.LabelRule()
        candidates = rule.candidates(target, known)
        told = told or know(spec, points, common=0.99)
        truth = Truth(np.column_stack([np.arange(6)] * 2))
        masked = mask.apply(points, rng)
        answer = ask_oracle([masked], Holder(target, known, candidates, truth, told))
        moved = masked.points()
        assert moved is not None
        apart = np.linalg.norm(moved.coordinates[:, None] - places[None], axis=2)
        density = _density(told, apart)
        odds = candidates.log_odds(np.arange(6)[:, None], np.arange(6)[None])
        plain = best_of(all_assignments(density * np.exp(odds)))
        found.append([answer.of(name).mean() for name in SCENARIOS])
        exact.append([plain[name].mean() for name in SCENARIOS])
    prosecutor, journalist, marketer = np.mean(found, axis=0) - np.mean(exact, axis=0)
    assert max(abs(prosecutor), abs(marketer)) < 0.02
    assert -0.02 < journalist < 0.05  # belief in cycles of pairs is a little too sure


def _density(told: Knowledge, apart: FloatArray) -> FloatArray:
    if isinstance(told.law, RadialLaw):
        return told.law.density(apart) + 1e-300
    assert isinstance(told.law, GaussianLaw)
    return np.asarray(np.exp(-(apart**2) / (2 * told.law.spread.east**2)))


def partial_matchings(weight: FloatArray) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """All matchings of some rows with as many columns, with the product of their weights."""
    rows, columns = weight.shape
    for many in range(min(rows, columns) + 1):
        for chosen in combinations(range(rows), many):
            for others in permutations(range(columns), many):
                yield chosen, others, float(np.prod(weight[list(chosen), list(others)]))


def test_messages_against_all_matchings() -> None:
    """Exact where pairs form no cycle, and close to it where they form many."""
    rng = np.random.default_rng(5)
    for chain in (True, False):
        weight = rng.lognormal(0, 1.5, (4, 5))
        if chain:
            weight *= (np.arange(5)[None] - np.arange(4)[:, None] >= 0) & (
                np.arange(5)[None] - np.arange(4)[:, None] <= 1
            )
        total, sums = 0.0, np.zeros_like(weight)
        for rows, columns, product in partial_matchings(weight):
            total += product
            sums[list(rows), list(columns)] += product
        target, person = np.nonzero(weight)
        kept = Kept(np.searchsorted(target, np.arange(5)), person.astype(np.int32), weight[target, person])
        sides = tuple(Side(np.ones(k), np.ones(k), np.full(k, -1), np.zeros(k)) for k in weight.shape)
        chances = pass_messages(kept, 1.0, sides, 1e-9, 1e6)  # type: ignore[arg-type]
        assert np.abs(chances - (sums / total)[target, person]).max() < (1e-6 if chain else 0.05)


def test_strangers_as_in_a_sum_over_lists() -> None:
    """The density of strangers at every record, with labels that may be wrong."""
    (masked,), holder = make("gaussian:sigma=10km", overlap=0.2, label_error=0.05)
    people, points = prepare(holder.known).population, masked.points()
    assert people is not None
    assert points is not None
    related, classes = relate_classes(holder.candidates), holder.candidates.known_class.astype(np.int64)
    background, places = people.find_strangers(classes, 100.0), people.known_map.place(points)
    target = holder.candidates.target_class.astype(np.int64)
    total = np.full(len(places), background.anywhere * len(classes) / background.area)
    for one in _lay_cubes(background, related, people.known_map, Matching()):
        add_strangers(one, places, target, total)
    assert np.log(total) == pytest.approx(background.log_density(places, target, related), abs=1e-9)


def test_people_at_one_place_share_the_chance() -> None:
    """Two of the same label in every home: the record names both of them, and nothing is not a number."""
    for spec in ("gaussian:sigma=0.1km", "disc:max=0.2km", "grid:cell=1km", "affine", "gaussian:sigma=1e-6km"):
        rng = np.random.default_rng(0)
        homes = rng.uniform((7, 48), (14, 54), (30, 2)).repeat(2, axis=0)
        table = pd.DataFrame({"id": range(60), "sex": "f", "lon": homes[:, 0], "lat": homes[:, 1]})
        file = microdata(table, ["sex"], coordinates=["lon", "lat"], ids="id")
        points = file.distances.points()
        assert points is not None
        truth = Truth(np.column_stack([np.arange(60)] * 2))
        told = know(spec, points, common=0.99)
        holder = Holder(file, file, dq.LabelRule().candidates(file, file), truth, told)
        answer = ask_oracle([parse_mask(spec).apply(points, rng)], holder)
        assert answer.of("marketer") == pytest.approx(np.full(60, 0.5))
        assert answer.of("prosecutor").mean() == pytest.approx(0.5, abs=0.1)
        assert not answer.of("journalist").any()


def test_who_is_told_beforehand_is_neither_sought_nor_in_the_way() -> None:
    (masked,), holder = make("gaussian:sigma=30km")
    told = replace(holder, seeds=tuple((int(t), int(k)) for t, k in holder.truth.pairs[::2]))
    answer, without = ask_oracle([masked], told), ask_oracle([masked], holder)
    assert len(answer.of("prosecutor")) == len(holder.truth) // 2
    assert answer.of("prosecutor").mean() > without.of("prosecutor")[1::2].mean()


def test_nobody_in_reach_is_guessed_by_labels() -> None:
    """A record that lies where no law puts it is nobody's; the person is guessed among those whose label fits."""
    places = np.array([[8.0, 50.0], [8.1, 50.0], [12.0, 50.0]])
    table = pd.DataFrame({"id": range(3), "sex": "f", "lon": places[:, 0], "lat": places[:, 1]})
    file = microdata(table, ["sex"], coordinates=["lon", "lat"], ids="id")
    points = file.distances.points()
    assert points is not None
    far = replace(points, coordinates=np.array([[8.0, 50.0], [8.1, 50.0], [20.0, 50.0]]))
    told = know("disc:max=1km", points, common=0.99)
    truth = Truth(np.column_stack([np.arange(3)] * 2))
    answer = ask_oracle([far], Holder(file, file, dq.LabelRule().candidates(file, file), truth, told))
    assert answer.of("prosecutor").tolist() == pytest.approx([1.0, 1.0, 1 / 3])
    assert answer.of("journalist").tolist() == [1.0, 1.0, 0.0]


def test_a_line_is_a_map_too() -> None:
    rng = np.random.default_rng(0)
    places = Points(np.sort(rng.uniform(0, 100, (40, 1)), axis=0), "euclidean", unit="km")
    labels = Candidates(np.zeros(40, np.int32), np.zeros(40, np.int32), np.zeros((1, 2), np.int32))
    file = microdata(pd.DataFrame({"id": range(40), "sex": "f"}), ["sex"], distances=places, ids="id")
    truth = Truth(np.column_stack([np.arange(40)] * 2))
    moved = replace(places, coordinates=places.coordinates + rng.normal(0, 0.5, (40, 1)))
    told = know("gaussian:sigma=0.5km", places, common=0.99)
    chances = weigh_points([moved], Population.of(places), Holder(file, file, labels, truth, told))
    order = np.argsort(np.argsort(moved.coordinates[:, 0]))
    assert chances.of("prosecutor").mean() == pytest.approx((order == np.arange(40)).mean(), abs=0.15)
