"""The oracle with numbers: against all assignments of few people, and beside masked places against plain sums."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import laplace, norm

import disclique as dq
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Holder, Knowledge, learn
from disclique.attacks.oracle import Answer, ask_oracle
from disclique.attacks.oracle.joint import ListedPairs, radial_density
from disclique.attacks.population import prepare
from disclique.masks import parse_mask
from disclique.masks.laws import GaussianLaw, RadialLaw
from disclique.masks.numbers import NumberRecoding
from disclique.masks.settings import Setting
from disclique.measures.risk import Truth
from disclique.model import Microdata
from disclique.numbers import Classes, NumberColumn, Numbers
from disclique.records.tables import microdata
from disclique.spaces.positions import locate_known
from disclique.values import FloatArray

PEOPLE = 7
ORDERS = np.array(list(permutations(range(PEOPLE))))
WAYS = (
    "round:1km",
    "classes:1km,2km,4km",
    "equal:3",
    "topcode:3km",
    "bottomcode:2km",
    "gaussian:1km",
    "laplace:1km",
    "multiplicative:0.3",
    "swap:0.4",
)


def all_assignments(weight: FloatArray) -> FloatArray:
    """The probability of each pair when every record is somebody known: the sum over all permutations."""
    product = weight[np.arange(PEOPLE), ORDERS].prod(axis=1)
    total = np.array([np.bincount(ORDERS[:, row], product, PEOPLE) for row in range(PEOPLE)])
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def name_right(chance: FloatArray) -> float:
    """The share of people whose record, of their own number, is the best of their column; ties are drawn."""
    right, top = np.diag(chance), chance.max(axis=0)
    many = (chance >= top * (1 - 1e-9)).sum(axis=0)
    return float(np.where(right >= top * (1 - 1e-9), 1 / np.maximum(many, 1), 0.0).mean())


def density(column: NumberColumn, way: str, known: FloatArray, true: FloatArray, error: float) -> FloatArray:
    """The law written down once more: of every released number given every known one, over errors on a grid."""
    name, y = way.partition(":")[0], column.values[:, None, None]
    steps = np.linspace(-6, 6, 201) if error else np.zeros(1)
    part = norm.pdf(steps) / norm.pdf(steps).sum()
    x = known[None, :, None] + error * steps
    same = np.abs(x - y) < (0.03 * error if error else 1e-9)
    if name in ("classes", "equal"):
        assert isinstance(column.law, Classes)
        found = np.searchsorted(np.round(column.law.edges, 9), np.round(x, 9), side="right") == y
    elif name == "round":
        found = np.abs(np.floor(x + 0.5) - y) < 1e-9
    elif name in ("topcode", "bottomcode"):
        found = np.where(y >= 3, x >= 3, same) if name == "topcode" else np.where(y <= 2, x <= 2, same)
    elif name == "multiplicative":
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(x > 0, norm.pdf(np.log(y / x) + 0.045, 0, 0.3), 0.0)
    elif name == "swap":
        found = 0.6 * same + 0.4 * (np.abs(true - y) < 1e-9).mean(axis=2)[:, :, None]
    else:
        found = norm.pdf(y, x, 1.0) if name == "gaussian" else laplace.pdf(y, x, 1 / np.sqrt(2))
    return np.asarray((found * part).sum(axis=2))


def ask(rel: Microdata, known: Microdata, told: Knowledge, masked: object = None) -> Answer:
    """The oracle's answer for files in which the same rows are the same people."""
    truth = Truth(np.column_stack([np.arange(len(rel))] * 2))
    rule = dq.LabelRule()
    holder = Holder(rel, known, rule.candidates(rel, known), truth, told, rule.candidates_by_labels(rel, known))
    return ask_oracle([rel.distances if masked is None else masked], holder)  # type: ignore[list-item]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("columns", "error"), [(1, 0.0), (3, 0.3)])
def test_all_assignments_of_seven_people(way: str, columns: int, error: float) -> None:
    """Every way, alone and three together, some released numbers missing, with an error of the snooper's or without."""
    if way.startswith("swap"):  # others' numbers are points beside a density
        error = 0.0
    names, told, gaps = [f"k{c}" for c in range(columns)], Knowledge(common=0.99, mask=parse_mask("none")), []
    noisy = way.partition(":")[0] in ("gaussian", "laplace", "multiplicative", "swap")
    for seed in range(200 if noisy and not error else 60):
        rng = np.random.default_rng(seed)
        true, sex = rng.uniform(0.3, 6, (columns, PEOPLE)), rng.choice(["f", "m"], PEOPLE)
        seen = true + error * rng.standard_normal(true.shape)
        own, known = (
            microdata(
                pd.DataFrame({"id": range(PEOPLE), "sex": sex, **dict(zip(names, values, strict=True))}),
                ["sex"],
                numbers=dict.fromkeys(names, "km"),
                ids="id",
            )
            for values in (true, seen)
        )
        known = replace(known, numbers=Numbers(tuple(replace(one, error=error) for one in known.numbers.columns)))
        released = NumberRecoding((f"k*={way}",)).apply(own, rng)
        gone = rng.random(true.shape) < 0.15
        shown = [
            replace(one, values=np.where(lost, np.nan, one.values))
            for one, lost in zip(released.numbers.columns, gone, strict=True)
        ]
        weight = (sex[:, None] == sex[None]).astype(float)
        for one, values, exact, lost in zip(shown, seen, true, gone, strict=True):
            weight *= np.where(lost[:, None], 1.0, density(one, way, values, exact, error))
        answer = ask(replace(released, numbers=Numbers(tuple(shown))), known, told)
        gaps.append(answer.of("prosecutor").mean() - name_right(all_assignments(weight)))
    assert abs(np.mean(gaps)) < 0.01


def test_a_number_that_the_snooper_lacks_fits_anybody() -> None:
    """Missing on the known side: as probable as for anybody of the town."""
    told, gaps = Knowledge(common=0.99, mask=parse_mask("none")), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        true, gone = rng.uniform(0, 60, (2, 200)), rng.random((2, 200)) < 0.2
        frames = [pd.DataFrame({"id": range(200), "a": a, "b": b}) for a, b in (true, np.where(gone, np.nan, true))]
        own, known = (microdata(one, [], numbers={"a": "km", "b": "km"}, ids="id") for one in frames)
        released = NumberRecoding(("*=gaussian:1km",)).apply(own, rng)
        weight = np.ones((200, 200))
        for one, exact, lost in zip(released.numbers.columns, true, gone, strict=True):
            weight *= np.where(lost[None], 1 / 60, norm.pdf(one.values[:, None], exact[None], 1.0))
        gaps.append(ask(released, known, told).of("prosecutor").mean() - name_right(believe(weight)))
    assert abs(np.mean(gaps)) < 0.01


def make_town(people: int, rng: np.random.Generator, size: float = 20.0) -> pd.DataFrame:
    """Households of a square town with their distances to the nearest of 3, 6 and 12 places."""
    homes = rng.uniform(0, size, (people, 2))
    table = pd.DataFrame(
        {"id": range(people), "sex": rng.choice(["f", "m"], people), "x": homes[:, 0], "y": homes[:, 1]}
    )
    for k in (3, 6, 12):
        table[f"km{k}"] = np.linalg.norm(homes[:, None] - rng.uniform(0, size, (k, 2))[None], axis=2).min(axis=1)
    return table


NUMBERS = {"km3": "km", "km6": "km", "km12": "km"}


def believe(weight: FloatArray, rounds: int = 150) -> FloatArray:
    """Chances one-to-one from weights of all pairs, every record somebody known: messages in a full table."""
    up, down = np.ones_like(weight), np.ones_like(weight)
    for _ in range(rounds):
        sent = weight * up
        down = 0.5 * down + 0.5 / (1e-6 + np.maximum(sent.sum(axis=1, keepdims=True) - sent, 0.0))
        sent = weight * down
        up = 0.5 * up + 0.5 / (1e-6 + np.maximum(sent.sum(axis=0, keepdims=True) - sent, 0.0))
    both = weight * down * up
    return np.asarray(both / (1 + both))


@pytest.mark.parametrize(
    ("spec", "way"),
    [
        ("gaussian:sigma=3km", "round:100m"),
        ("gaussian:sigma=3km", "gaussian:500m"),
        ("disc:max=5km", "round:1km"),
        ("donut:min=1km,max=5km", "gaussian:500m"),
        ("grid:cell=5km", "round:1km"),
        ("dhs", "round:100m"),
        ("dhs", "round:1km"),
    ],
)
def test_masked_places_beside_distances_to_places(spec: str, way: str) -> None:
    """Thousand households: the product of the laws, and what the displacement alone gives away beside it."""
    rng = np.random.default_rng(1)
    table = make_town(1000, rng)
    data = microdata(table, ["sex"], coordinates=["x", "y"], metric="euclidean", unit="km", ids="id", numbers=NUMBERS)
    setting = Setting.parse(f"{spec} | km*={way}")
    released, masked = setting.numbers.apply(data, rng), setting.mask.apply(data.distances, rng)
    points, moved = data.distances.points(), masked.points()
    assert points is not None
    assert moved is not None
    usual = calibrate(parse_mask("gaussian:sigma=1km"), rng=rng)
    told = replace(learn(setting.mask, usual, points, common=0.99, rng=rng), bold=True)
    apart = np.linalg.norm(moved.coordinates[:, None] - points.coordinates[None], axis=2)
    if isinstance(told.law, GaussianLaw):
        place = np.exp(-(apart**2) / (2 * told.law.spread.east**2))
    elif isinstance(told.law, RadialLaw):
        place = told.law.density(apart)
    else:  # whoever is in the same cell
        place = (np.abs(moved.coordinates[:, None] - moved.coordinates[None]).sum(axis=2) < 1e-9).astype(float)
    sex = table["sex"].to_numpy()
    weight = place * (sex[:, None] == sex[None])
    for column, name in zip(released.numbers.columns, NUMBERS, strict=True):
        y, x = column.values[:, None], table[name].to_numpy()[None]
        step = {"round:100m": 0.1, "round:1km": 1.0}.get(way)
        fits = np.exp(-2 * (y - x) ** 2) if step is None else np.abs(np.floor(x / step + 0.5) * step - y) < 1e-6
        weight = weight * fits
    found = ask(released, prepare(data), told, masked).of("prosecutor").mean()
    alone = weight / np.maximum(weight.max(axis=1, keepdims=True), 1e-300)
    assert found == pytest.approx(name_right(believe(alone)), abs=0.012)
    if way == "round:100m":  # two to five kilometres fall to tens of metres
        assert found > 0.98
        far = np.linalg.norm(points.coordinates[weight.argmax(axis=1)] - points.coordinates, axis=1)
        assert np.median(far) == 0
        bare = ask(replace(released, numbers=Numbers()), prepare(replace(data, numbers=Numbers())), told, masked)
        assert bare.of("prosecutor").mean() < 0.25


def test_mass_on_the_true_dwelling() -> None:
    """Each record by itself: the posterior over dwellings that pairs are weighed by is the plain one."""
    rng = np.random.default_rng(2)
    table = make_town(1000, rng)
    data = microdata(table, ["sex"], coordinates=["x", "y"], metric="euclidean", unit="km", ids="id", numbers=NUMBERS)
    setting = Setting.parse("disc:max=5km | km3=round:1km | km6=laplace:500m | km12=topcode:2km")
    released, masked = setting.numbers.apply(data, rng), setting.mask.apply(data.distances, rng).points()
    points = data.distances.points()
    assert points is not None
    assert masked is not None
    law, known_map = setting.mask.place_law(points), locate_known(points)
    assert isinstance(law, RadialLaw)
    pairs = ListedPairs.of(dq.LabelRule().candidates(released, data))
    place = pairs.measure(radial_density(known_map, [known_map.place(masked)], law, 0.0))
    weight = np.zeros((1000, 1000))
    weight[pairs.target, pairs.known] = np.exp(place + pairs.odds)
    apart = np.linalg.norm(masked.coordinates[:, None] - points.coordinates[None], axis=2)
    plain, sex = (apart <= 5).astype(float), table["sex"].to_numpy()
    plain *= sex[:, None] == sex[None]
    three, six, twelve = ((one.values[:, None], table[one.name].to_numpy()[None]) for one in released.numbers.columns)
    plain *= np.abs(np.floor(three[1] + 0.5) - three[0]) < 1e-6
    plain *= laplace.pdf(six[0], six[1], 0.5 / np.sqrt(2))
    plain *= np.abs(np.minimum(twelve[1], 2) - twelve[0]) < 1e-6
    mass = [np.diag(one) / one.sum(axis=1) for one in (weight, plain)]
    assert np.abs(mass[0] - mass[1]).max() < 0.01


@pytest.mark.parametrize(
    "way", ["round:100m", "round:1km", "classes:1km,3km", "topcode:3km", "gaussian:100m", "swap:0.4"]
)
def test_no_claims_between_strangers(way: str) -> None:
    """Files of the same town without a common person; those that share people are found where numbers tell enough."""
    rng = np.random.default_rng(5)
    table = make_town(1400, rng).drop(columns=["x", "y"])
    target, known = (microdata(one, ["sex"], ids="id", numbers=NUMBERS) for one in (table[:400], table[400:]))
    released = NumberRecoding((f"km*={way}",)).apply(target, rng)
    assert len(dq.attack(released, known, by="numbers").matches) == 0
    both = microdata(table[200:], ["sex"], ids="id", numbers=NUMBERS)
    found = dq.attack(released, both, by="numbers", truth="id")
    assert found.risk is not None
    if way == "round:100m":
        assert found.risk.tp > 180
        assert found.risk.fp < 10
