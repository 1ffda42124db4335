"""What the oracle tells of a sensitive column: by hand for four people, else against all assignments of few."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import disclique as dq
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Holder, Knowledge, learn
from disclique.attacks.oracle import ask_oracle
from disclique.attacks.oracle.places import Matching, weigh_points
from disclique.attacks.oracle.values import Told, guess_values
from disclique.attacks.population import Population
from disclique.masks import parse_mask
from disclique.masks.numbers import NumberRecoding
from disclique.measures.risk import Truth
from disclique.model import Microdata
from disclique.records.tables import microdata
from disclique.spaces import Matrix, Points, Texts, full_matrix
from disclique.spaces.base import Distances
from disclique.values import FloatArray

SIZE = 6
ORDERS = np.array(list(permutations(range(SIZE))))  # the record of each person
NAMES = ("anna meier", "otto weber", "ida kern", "paul schulz", "marie bauer", "karl wolf", "lena roth", "hugo lang")


def share_records(scores: FloatArray) -> FloatArray:
    """The mass of every record (rows) for every person, from the log weights of all assignments."""
    weight = np.exp(scores - scores.max())
    share = np.zeros((SIZE, SIZE))
    for person in range(SIZE):
        share[:, person] = np.bincount(ORDERS[:, person], weight, SIZE)
    return share


def tell_plainly(share: FloatArray, values: NDArray[np.int64]) -> FloatArray:
    """The chance of everybody, whose record is that of their number, that the value with the most mass is theirs."""
    sums = np.array([share[values == value].sum(axis=0) for value in range(values.max() + 1)])
    best = (sums >= sums.max(axis=0) * (1 - 1e-6)) & (sums > 0)
    right = best[np.maximum(values, 0), np.arange(SIZE)] / np.maximum(best.sum(axis=0), 1)
    return np.where(values < 0, np.nan, right)


def draw_values(rng: np.random.Generator) -> NDArray[np.int64]:
    """Two or three values, now and then none."""
    return np.where(rng.random(SIZE) < 0.1, -1, rng.integers(0, rng.integers(2, 4), SIZE)).astype(np.int64)


def file_of(distances: Distances) -> Microdata:
    table = pd.DataFrame(index=range(distances.size))
    return Microdata(table, table, distances, tuple(range(distances.size)))


def know(spec: str, points: Points | None = None) -> Knowledge:
    mask, rng = parse_mask(spec), np.random.default_rng(0)
    if points is None:
        return Knowledge(mask=mask, common=1.0)
    found = calibrate(parse_mask("gaussian:sigma=1km"), rng=rng)
    return replace(learn(mask, found, points, common=0.99, rng=rng), bold=True)


def ask(file: Microdata, told: Knowledge, masked: Distances, *values: NDArray[np.int64]) -> tuple[Told, ...]:
    truth, labels = Truth.of_people(file.ids, file.ids), dq.LabelRule().candidates(file, file)
    return ask_oracle([masked], Holder(file, file, labels, truth, told, values=values)).told


def test_four_people_by_hand() -> None:
    """On a line at 0, 1, 10 and 11 km, moved by less than 3 km: each is one of two, who never are the other two.

    Those at 0 and 1 both are ill, whichever of the two records is whose; of those at 10 and 11 one is, and nothing
    tells which, as the released places are the same. So three have one candidate value less than they would need to
    hide: two are told for certain, two by a coin, and the third column of numbers without values tells nothing.
    """
    line = Points(np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]]), "euclidean", unit="km")
    shown = Points(np.array([[0.5, 0.0], [0.5, 0.0], [10.5, 0.0], [10.5, 0.0]]), "euclidean", unit="km")
    file, told = file_of(line), know("disc:max=3km", line)
    ill, four, none = np.array([1, 1, 1, 0]), np.array([0, 1, 2, 3]), np.array([1, -1, -1, -1])
    found = ask(file, told, shown, ill, four, none)
    assert found[0].right.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert found[0].certain.tolist() == [True, True, False, False]
    assert found[1].right.tolist() == [0.5] * 4
    np.testing.assert_array_equal(found[2].right, [1.0, np.nan, np.nan, np.nan])
    assert not found[2].certain.any()  # the other record might be theirs, and nothing is said there
    truth, labels = Truth.of_people(file.ids, file.ids), dq.LabelRule().candidates(file, file)
    guessed = guess_values(Holder(file, file, labels, truth, values=(ill, four)))
    assert guessed[0].right.tolist() == [1.0, 1.0, 1.0, 0.0]  # three of four are ill
    assert guessed[1].right.tolist() == [0.25] * 4


def make(kind: str, rng: np.random.Generator) -> tuple[Distances, str]:
    if kind == "points":
        return Points(rng.uniform(0, 6, (SIZE, 2)), "euclidean", unit="km"), "gaussian:sigma=2.5km"
    if kind == "vectors":
        return Points(rng.normal(size=(SIZE, 4)), "euclidean"), "gaussian:sigma=1.5"
    if kind == "texts":
        return Texts(tuple(rng.permutation(NAMES)[:SIZE]), "levenshtein"), "matrix-gaussian:sd=6"
    home = rng.uniform(0, 1000, (SIZE, 2))
    way = np.abs(home[:, None] - home[None]).sum(axis=2) * rng.uniform(0.9, 1.5, (SIZE, SIZE))
    return Matrix(np.triu(way, 1) + np.triu(way, 1).T), "matrix-gaussian:sd=700"


def weigh(kind: str, spec: str, distances: Distances, masked: Distances) -> FloatArray:
    """The log likelihood of every record (rows) for every person if all others are known, from what the mask does."""
    own, moved = distances.points(), masked.points()
    strength = float(spec.split("=")[1].removesuffix("km"))
    if own is not None and moved is not None:
        apart = ((moved.coordinates[:, None] - own.coordinates[None]) ** 2).sum(axis=2)
        return np.asarray(-apart / (2 * strength**2))
    true, shown, found = full_matrix(distances), full_matrix(masked), np.zeros((SIZE, SIZE))
    for t, k in np.ndindex(SIZE, SIZE):
        who = np.arange(SIZE)
        who[[t, k]] = who[[k, t]]
        rest = np.arange(SIZE) != t
        d, seen = true[k, who[rest]], shown[t, rest]
        part = np.where(seen > 0, norm.logpdf(seen, d, strength), norm.logcdf(-d / strength))
        found[t, k] = part.sum()
    return found


@pytest.mark.parametrize("kind", ["points", "vectors", "texts", "roads"])
def test_few_people_against_all_their_assignments(kind: str) -> None:
    """Of one or two columns, some values missing, in every kind of space: as many are told as by all assignments."""
    rng, found, exact = np.random.default_rng(3), [], []
    for _ in range(100):
        distances, spec = make(kind, rng)
        masked = parse_mask(spec).apply(distances, rng)
        points = distances.points() if kind == "points" else None
        values = draw_values(rng), draw_values(rng)
        told = ask(file_of(distances), know(spec, points), masked, *values)
        scores = weigh(kind, spec, distances, masked)
        share = share_records(scores[ORDERS, np.arange(SIZE)].sum(axis=1))
        found += [one.right for one in told]
        exact += [tell_plainly(share, one) for one in values]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    assert np.nanmean(found) == pytest.approx(np.nanmean(exact), abs=0.015)


@pytest.mark.parametrize("way", ["gaussian:1km", "round:2km"])
def test_numbers_alone_against_all_assignments(way: str) -> None:
    """Where labels and a number are all that is released beside the column."""
    found, exact, told = [], [], Knowledge(common=0.99, mask=parse_mask("none"))
    for seed in range(150):
        rng = np.random.default_rng(seed)
        true, sex = rng.uniform(0.3, 6, SIZE), rng.choice(["f", "m"], SIZE)
        table = pd.DataFrame({"id": range(SIZE), "sex": sex, "k": true})
        own = microdata(table, ["sex"], numbers={"k": "km"}, ids="id")
        released, values = NumberRecoding((f"k={way}",)).apply(own, rng), draw_values(rng)
        rule, truth = dq.LabelRule(), Truth(np.column_stack([np.arange(SIZE)] * 2))
        alike = rule.candidates_by_labels(released, own)
        holder = Holder(released, own, rule.candidates(released, own), truth, told, alike, values=(values,))
        found.append(ask_oracle([released.distances], holder).told[0].right)
        seen = released.numbers.columns[0].values[:, None]
        same = (np.abs(np.floor(true / 2 + 0.5) * 2 - seen) < 1e-9).astype(float)
        fits = norm.pdf(seen, true[None], 1.0) if "gaussian" in way else same
        scores = np.log(np.maximum(fits * (sex[:, None] == sex[None]), 1e-200))
        share = share_records(scores[ORDERS, np.arange(SIZE)].sum(axis=1))
        exact.append(tell_plainly(share, values))
    assert np.nanmean(found) == pytest.approx(np.nanmean(exact), abs=0.015)


def test_encodings_by_an_insider() -> None:
    """Whoever is found is read; where nobody is, the value is told no better than its distribution allows."""
    rng = np.random.default_rng(0)
    texts = tuple(f"{a} {b}{k}" for k in range(5) for a, b in (name.split() for name in NAMES))
    file, values = file_of(Texts(texts, "dice:q=2")), rng.integers(0, 2, 40)
    labels, truth = dq.LabelRule().candidates(file, file), Truth.of_people(file.ids, file.ids)
    for spec, low, high in (("bloom", 0.85, 1.0), ("bloom:salt=record", 0.3, 0.75)):
        told, columns = replace(know(spec), common=0.99), (values, np.zeros(40, np.int64), np.arange(40))
        masked = parse_mask(spec).apply(file.distances, rng)
        answer = ask_oracle([masked], Holder(file, file, labels, truth, told, values=columns))
        half, all_, each = answer.told
        assert low <= half.right.mean() <= high
        assert half.right.mean() >= answer.of("prosecutor").mean()
        assert (all_.right == 1).all()
        assert all_.certain.all()
        np.testing.assert_allclose(each.right, answer.of("prosecutor"))


@pytest.mark.parametrize("spec", ["gaussian:sigma=2km", "disc:max=4km"])
def test_pairs_looked_up_say_the_same_as_pairs_kept(spec: str) -> None:
    rng = np.random.default_rng(0)
    places = Points(rng.uniform(0, 20, (250, 2)), "euclidean", unit="km")
    file, told = file_of(places), know(spec, places)
    values = np.where(rng.random(250) < 0.1, -1, rng.integers(0, 4, 250))
    labels, truth = dq.LabelRule().candidates(file, file), Truth.of_people(file.ids, file.ids)
    holder = Holder(file, file, labels, truth, told, values=(values,))
    moved = parse_mask(spec).apply(places, rng).points()
    assert moved is not None
    kept, asked = (
        weigh_points([moved], Population.of(places), holder, how).told[0].right
        for how in (Matching(), Matching(kept=0, calm=1e-4))
    )
    np.testing.assert_array_equal(np.isnan(kept), values < 0)
    assert np.nanmean(np.abs(kept - asked)) < 0.02
    assert 0.3 < np.nanmean(kept) < 0.95


@pytest.mark.parametrize("spec", ["gaussian:sigma=3km", "affine", "round:to=8km", "matrix-gaussian:sd=8km", "dhs"])
def test_a_value_that_all_share_is_told_for_certain_and_one_of_each_by_the_record(spec: str) -> None:
    """With a value for everybody it is told as often as the record is named; with one for all of them always."""
    rng = np.random.default_rng(1)
    places = Points(rng.uniform([9, 49], [9.4, 49.4], (40, 2)), "sphere")
    file = file_of(places)
    masked = parse_mask(spec).apply(places, rng)
    labels, truth = dq.LabelRule().candidates(file, file), Truth.of_people(file.ids, file.ids)
    values = np.zeros(40, np.int64), np.arange(40)
    answer = ask_oracle([masked], Holder(file, file, labels, truth, know(spec, places), values=values))
    assert (answer.told[0].right == 1).all()
    assert answer.told[0].certain.all()
    np.testing.assert_allclose(answer.told[1].right, answer.of("prosecutor"))
