"""The oracle where records have no places: against all assignments of few people, and plain computations of many."""

from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import laplace, norm

import disclique as dq
from disclique.attacks.knowledge import Across, Holder, Knowledge
from disclique.attacks.oracle import Answer, ask_oracle
from disclique.attacks.oracle.encoded import find_groups
from disclique.audits import Audit, make_plan
from disclique.audits.known_file import draw_known_file
from disclique.engine.kernels import likelihoods as kernels
from disclique.engine.kernels.pairs import marginalise_matchings
from disclique.masks import parse_mask
from disclique.masks.base import EntryMask, between
from disclique.measures.risk import Truth, name_records
from disclique.model import Microdata
from disclique.records.labels import Exact
from disclique.spaces import Matrix, Points, Texts, full_matrix
from disclique.spaces.base import Distances
from disclique.values import FloatArray

FIRST = ("anna", "otto", "ida", "paul", "marie", "karl", "lena", "emil", "rosa", "hugo", "clara", "jakob", "johanna")
LAST = ("meier", "weber", "kern", "schulz", "fischer", "bauer", "wolf", "klein", "neumann", "braun", "lang", "roth")
SPACES = ("roads", "one-way", "texts", "vectors", "cosine", "records", "map")
NOISE = ("matrix-gaussian", "matrix-laplace", "multiplicative", "round", "topcode")


def people(distances: Distances, labels: dict[str, Any] | None = None) -> Microdata:
    frame = pd.DataFrame(labels or {}, index=range(distances.size)).astype(object)
    ids = tuple(f"p{k}" for k in range(distances.size))
    return Microdata(pd.DataFrame(index=range(distances.size)), frame, distances, ids)


def roads(n: int, rng: np.random.Generator, *, directed: bool = False) -> Matrix:
    """Ways along streets, each longer than it might be: no map has them."""
    home = rng.uniform(0, 1000, (n, 2))
    way = np.abs(home[:, None] - home[None]).sum(axis=2) * rng.uniform(0.9, 1.5, (n, n))
    back = way if directed else way.T
    return Matrix(np.triu(way, 1) + np.tril(back, -1), directed=directed)


def names(n: int, rng: np.random.Generator, *, dates: bool = False) -> Texts:
    found: dict[str, None] = {}
    while len(found) < n:
        name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        born = f" {rng.integers(1940, 2005)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}" if dates else ""
        found.setdefault(name + born)
    return Texts(tuple(found), "dice:q=2" if dates else "levenshtein")


def make(kind: str, n: int, rng: np.random.Generator) -> Distances:
    if kind in ("roads", "one-way"):
        return roads(n, rng, directed=kind == "one-way")
    if kind == "texts":
        return names(n, rng)
    if kind == "map":
        return Points(rng.uniform([6, 48], [14, 54], (n, 2)), "sphere")
    if kind == "records":
        table = [[int(rng.integers(18, 80)), str(rng.choice(["a", "b", "c"])), rng.normal()] for _ in range(n)]
        return Points(np.array(table, dtype=object), "gower")
    return Points(rng.normal(size=(n, 4)), "cosine" if kind == "cosine" else "euclidean")


def setting(name: str, distances: Distances, strength: float) -> tuple[str, float]:
    """A mask as strong as a share of the mean distance, and its parameter."""
    mean = float(full_matrix(distances)[~np.eye(distances.size, dtype=bool)].mean())
    size = {"multiplicative": strength, "topcode": mean / (4 * strength), "round": 3 * strength * mean}
    value = float(f"{size.get(name, strength * mean):.3g}")
    key = {"matrix-laplace": "b", "round": "to", "topcode": "max"}.get(name, "sd")
    unit = "km" if distances.unit == "km" and name != "multiplicative" else ""
    return f"{name}:{key}={value}{unit}", value


def ask(file: Microdata, spec: str, masked: Distances, **more: Any) -> tuple[Answer, Holder]:
    """The oracle's answer; the snooper's file is the holder's unless another is given."""
    known = more.pop("known", file)
    rule = dq.LabelRule(comparators=more.pop("comparators", {}))
    told = Knowledge(mask=parse_mask(spec), common=more.pop("common", 0.999))
    who = Truth.of_people(file.ids, known.ids)
    alike = dq.LabelRule().candidates(file, known)
    holder = Holder(file, known, rule.candidates(file, known), who, told, alike=alike, **more)
    return ask_oracle([masked], holder), holder


def density(name: str, value: float, masked: FloatArray, true: FloatArray) -> FloatArray:
    """The log likelihood of published distances, straight from what the mask does."""
    with np.errstate(divide="ignore"):
        if name == "matrix-gaussian":
            return np.asarray(np.where(masked > 0, norm.logpdf(masked, true, value), norm.logcdf(-true / value)))
        if name == "matrix-laplace":
            return np.asarray(np.where(masked > 0, laplace.logpdf(masked, true, value), laplace.logcdf(-true / value)))
        if name == "multiplicative":
            gap = norm.logpdf(
                np.log(np.maximum(masked, 1e-300)) - np.log(np.maximum(true, 1e-300)), -(value**2) / 2, value
            )
            return np.where((masked > 0) & (true > 0), gap, np.where((masked > 0) == (true > 0), 0.0, -np.inf))
        again = np.round(true / value) * value if name == "round" else np.minimum(true, value)
        return np.where(np.isclose(again, masked, rtol=1e-9, atol=1e-12), 0.0, -np.inf)


def alone_scores(name: str, value: float, masked: FloatArray, true: FloatArray, directed: bool) -> FloatArray:
    """The log likelihood that record t (rows) is person k if everybody else is known, person i being record i.

    If k is t, then the person of t can only be the record that is left.
    """
    n, found = len(true), np.zeros((len(true), len(true)))
    for t in range(n):
        for k in range(n):
            who = np.arange(n)
            who[[t, k]] = who[[k, t]]  # whose each record is
            others = np.flatnonzero(np.arange(n) != t)
            found[t, k] = density(name, value, masked[t, others], true[k, who[others]]).sum()
            if directed:
                found[t, k] += density(name, value, masked[others, t], true[who[others], k]).sum()
    return found


def named(scores: FloatArray, orders: FloatArray) -> float:
    """The share of people named rightly who are given the record that most of the weight of assignments gives them."""
    weight = np.exp(scores - scores.max())
    share = np.zeros((orders.shape[1], orders.shape[1]))  # records by people
    for person in range(orders.shape[1]):
        share[:, person] = np.bincount(orders[:, person], weight, orders.shape[1])
    best = share >= share.max(axis=0) * (1 - 1e-6)
    return float(np.mean(np.diagonal(best) / best.sum(axis=0)))


@pytest.mark.parametrize("kind", SPACES)
def test_few_people_against_all_their_assignments(kind: str) -> None:
    """It is the posterior of all assignments by what each record says, and no less than that of all distances."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    orders = np.array(list(permutations(range(6))))
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in NOISE}
    for name in NOISE * 10:
        distances = make(kind, 6, rng)
        spec, value = setting(name, distances, 0.6)
        masked = parse_mask(spec).apply(distances, rng)
        answer, _ = ask(people(distances), spec, masked, common=1.0)
        true, published = full_matrix(distances), full_matrix(masked)
        scores = alone_scores(name, value, published, true, distances.directed)
        alone = named(scores[orders, np.arange(6)].sum(axis=1), orders)
        first, second = np.nonzero(~np.eye(6, dtype=bool) if distances.directed else np.triu(np.ones((6, 6)), 1))
        joint = density(name, value, published[orders[:, first], orders[:, second]], true[first, second]).sum(axis=1)
        found[name].append((float(answer.of("prosecutor").mean()), alone, named(joint, orders)))
    asked, alone, together = np.mean(list(found.values()), axis=(0, 1))
    assert asked == pytest.approx(alone, abs=0.02)
    assert asked >= together - 0.02


@pytest.mark.parametrize("kind", ["roads", "one-way", "texts", "records", "map"])
@pytest.mark.parametrize("name", NOISE)
def test_many_people_by_the_best_assignment(name: str, kind: str) -> None:
    """No fewer are named than by the assignment of the greatest likelihood, which scipy finds."""
    rng = np.random.default_rng(1)
    distances = make(kind, 100, rng)
    spec, value = setting(name, distances, {"texts": 1.5, "map": 2.5}.get(kind, 3.0))
    masked = parse_mask(spec).apply(distances, rng)
    answer, _ = ask(people(distances), spec, masked)
    true, published = full_matrix(distances), full_matrix(masked)
    scores = np.zeros((100, 100))
    for k in range(100):
        whose = np.tile(np.arange(100), (100, 1))
        whose[:, k] = np.arange(100)  # the record of k is then that of the person who had to give way
        terms = density(name, value, published, true[k, whose])
        np.fill_diagonal(terms, 0.0)
        scores[:, k] = terms.sum(axis=1)
    right = []
    for _ in range(20):  # ties are not decided by the order of the files
        ties = np.maximum(scores, -1e6) + 1e-6 * rng.random(scores.shape)
        records, persons = linear_sum_assignment(ties, maximize=True)
        right.append((records == persons).mean())
    assert answer.of("prosecutor").mean() >= np.mean(right) - 0.02


def test_kernels_against_plain_sums() -> None:
    """Record, own column, and the two that change their places, one distance after the other."""
    rng = np.random.default_rng(0)
    n, references = 8, np.array([5, 2, 7, 0])
    shown, true = rng.integers(0, 4, (2, n, 4)).astype(np.uint8), rng.integers(0, 3, (1, n, 4)).astype(np.uint8)
    tables, of_column = rng.normal(size=(2, 4, 3)), np.array([0, 1, 1, 0])
    of_record, of_person = np.full(n, -1), np.full(n, -1)
    of_record[references], of_person[[3, 2, 6, 1]] = np.arange(4), np.arange(4)
    t, k = (part.ravel() for part in np.indices((n, n)))
    coded = kernels.Coded(shown, true, tables, of_column, np.zeros(2, np.int64))
    total = np.zeros(n * n)
    for part in ((0, 1), (1, 4)):
        kernels.add_coded(t, k, coded, kernels.Columns(of_record, of_person, *part, kernels.GAUSSIAN), total)
    plain = np.zeros((n, n))
    measured = {shape: np.zeros((n, n)) for shape in (kernels.GAUSSIAN, kernels.LAPLACE)}
    place, mass = rng.normal(size=(1, n, 4)), rng.normal(size=(1, n, 4))
    published = rng.normal(size=(2, n, 4))
    published[0, 1, 2], published[1, 4, 0], place[0, 6, 3] = np.nan, np.inf, np.nan
    for row, person in np.ndindex(n, n):
        for sheet, column in np.ndindex(2, 4):
            other = column
            if column == of_record[row]:
                continue
            if column == of_person[person]:
                if of_record[row] < 0:
                    continue
                other = of_record[row]
            plain[row, person] += tables[of_column[column], shown[sheet, row, column], true[0, person, other]]
            gap = published[sheet, row, column] - place[0, person, other]
            at_mass = mass[0, person, other] if np.isinf(gap) else 0.0
            gap = gap if np.isfinite(gap) else 0.0
            measured[kernels.GAUSSIAN][row, person] += at_mass - gap**2 / 2
            measured[kernels.LAPLACE][row, person] += at_mass - abs(gap)
    np.testing.assert_allclose(total, plain.ravel())
    data = kernels.Measured(published, place, mass, np.zeros(2, np.int64))
    for shape, expected in measured.items():
        total = np.zeros(n * n)
        kernels.add_measured(t, k, data, kernels.Columns(of_record, of_person, 0, 4, shape), total)
        np.testing.assert_allclose(total, expected.ravel())


def test_probabilities_of_matchings_in_order() -> None:
    """The kernel for many pairs finds what the one for few finds."""
    rng = np.random.default_rng(0)
    t, k = (part.ravel() for part in np.indices((30, 40)))
    weight = np.exp(rng.normal(0, 4, len(t)))
    grouped = [
        (order := np.argsort(who, kind="stable"), np.searchsorted(who[order], np.arange(who.max() + 2)))
        for who in (t, k)
    ]
    expected = marginalise_matchings(weight, grouped[0], grouped[1], 400)
    np.testing.assert_allclose(kernels.marginalise_many(weight, t, k, (30, 40), 400), expected, atol=1e-3)


def test_households_are_told_by_their_zeros() -> None:
    """However strong a factor is, a distance of 0 stays 0: the labels of both members tell the household."""
    rng = np.random.default_rng(0)
    home = rng.uniform([6, 48], [14, 54], (150, 2)).repeat(2, axis=0)
    ages = rng.integers(0, 6, 300).astype(str)
    file = people(Points(home, "sphere"), {"sex": ["f", "m"] * 150, "age": ages})
    masked = parse_mask("multiplicative:sd=30").apply(file.distances, rng)
    answer, holder = ask(file, "multiplicative:sd=30", masked)
    assert answer.of("prosecutor").mean() > 0.66
    assert answer.of("prosecutor").mean() > 4 * name_records(None, holder.truth, holder.candidates).mean()
    alike = people(Points(home, "sphere"))  # two of one household are the same to everybody
    shares = ask(alike, "multiplicative:sd=0.001", parse_mask("multiplicative:sd=0.001").apply(alike.distances, rng))[0]
    assert shares.of("prosecutor").mean() == pytest.approx(0.5, abs=0.1)


def test_labels_stay_evidence_when_they_may_be_wrong() -> None:
    """One label in fifty may be wrong: that hides few people, of vectors as of rounded and cut distances."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(200, 6))
    group = rng.integers(0, 20, 200).astype(str)
    cases: list[tuple[Distances, str]] = [(Points(vectors, "euclidean"), "gaussian:sigma=2")]
    places = Points(rng.uniform([6, 48], [14, 54], (200, 2)), "sphere")
    cases += [(places, "round:to=1200km"), (places, "topcode:max=30km"), (roads(200, rng), "matrix-gaussian:sd=4000")]
    for distances, spec in cases:
        file = people(distances, {"group": group})
        masked = parse_mask(spec).apply(distances, rng)
        plain, doubtful = (
            ask(file, spec, masked, comparators=rule)[0].of("prosecutor").mean()
            for rule in ({}, {"group": Exact(error=0.02)})
        )
        assert doubtful > plain - 0.04, spec
        assert plain < 0.99, spec  # labels matter


def test_vectors_by_the_law_of_the_mask_in_any_metric() -> None:
    """Noise, cells, exchanges and half ways: as many as by plain nearness, or all who share a place a share."""
    rng = np.random.default_rng(0)
    for metric in ("euclidean", "cosine"):
        own = Points(rng.normal(size=(120, 4)), metric)
        masked = parse_mask("gaussian:sigma=0.5").apply(own, rng).points()
        assert masked is not None
        answer, _ = ask(people(own), "gaussian:sigma=0.5", masked)
        apart = ((own.coordinates[:, None] - masked.coordinates[None]) ** 2).sum(axis=2)
        rows, columns = linear_sum_assignment(apart)
        assert answer.of("prosecutor").mean() >= (rows == columns).mean() - 0.05
        masked = parse_mask("grid:cell=1.5").apply(own, rng).points()
        assert masked is not None
        answer, _ = ask(people(own), "grid:cell=1.5", masked)
        _, cell, many = np.unique(masked.coordinates, axis=0, return_inverse=True, return_counts=True)
        np.testing.assert_allclose(answer.of("prosecutor"), 1 / many[cell.ravel()])
    own = Points(rng.normal(size=(120, 4)), "euclidean")
    for spec in ("swap:radius=1", "voronoi", "rotation", "knn:k=3", "projection:dimensions=2"):
        answer, _ = ask(people(own), spec, parse_mask(spec).apply(own, rng))
        assert answer.of("prosecutor").mean() > 0.3, spec
        assert not answer.learned


def test_strangers_and_errors_of_the_snooper() -> None:
    """Half of the people are known, among as many others: no fewer are found than among all. Errors hide some."""
    rng = np.random.default_rng(0)
    whole = roads(160, rng)
    file, released = people(whole), np.arange(100)
    theirs = rng.permutation(np.arange(50, 160))
    out, known = (
        (replace(people(whole.select(rows)), ids=tuple(f"p{k}" for k in rows))) for rows in (released, theirs)
    )
    spec = "matrix-gaussian:sd=900"
    masked = parse_mask(spec).apply(out.distances, rng)
    across = Across(whole, theirs.astype(np.int32), released.astype(np.int32))
    with_all, _ = ask(out, spec, masked, known=known, common=0.5, across=across)
    with_common, _ = ask(out, spec, masked, known=known, common=0.5)
    assert len(with_all.of("prosecutor")) == 50
    assert with_all.of("prosecutor").mean() > with_common.of("prosecutor").mean() > 0.1
    same, _ = ask(out, spec, masked, common=0.999)
    assert with_all.of("prosecutor").mean() >= same.of("prosecutor").mean() - 0.15
    values = full_matrix(file.distances)
    wrong = np.triu(values * np.exp(rng.normal(0, 0.3, values.shape)), 1)
    noisy = people(Matrix(wrong + wrong.T))
    exact, learned = (
        ask(file, "round:to=500", parse_mask("round:to=500").apply(whole, rng), known=snooper)[0]
        for snooper in (file, noisy)
    )
    assert learned.learned
    assert not exact.learned
    assert 0.5 < learned.of("prosecutor").mean() <= exact.of("prosecutor").mean() == 1.0


@pytest.mark.long
def test_encodings_by_how_many_pairs_are_known() -> None:
    """Salts shared by many do not hide anybody from those who know some pairs; one for each record does."""
    rng = np.random.default_rng(0)
    file = people(names(150, rng, dates=True))
    found = {}
    for spec in ("bloom", "bloom:salt=4", "bloom:salt=record", "minhash"):
        masked = parse_mask(spec).apply(file.distances, rng)
        found[spec], _ = ask(file, spec, masked)
        shares = [point.hits.prosecutor / point.sought for point in found[spec].curve]
        assert [point.pairs for point in found[spec].curve] == [0, 10, 15, 50, 150]
        assert np.diff(shares).min() > -1e-6
        assert 1 / 150 <= shares[0] < 0.15  # without any pair how many bits there are tells a few
        assert found[spec].learned
    for spec in ("bloom", "bloom:salt=4", "minhash"):
        assert found[spec].of("prosecutor").mean() > 0.95
        assert found[spec].curve[-1].hits.prosecutor > 142
    assert found["bloom:salt=record"].of("prosecutor").mean() < 0.15
    masked = parse_mask("bloom").apply(file.distances, rng)
    told, _ = ask(file, "bloom", masked, seeds=tuple((k, k) for k in range(20)))
    assert len(told.of("prosecutor")) == 130
    assert told.of("prosecutor").mean() > 0.95


def test_groups_of_a_release() -> None:
    """Records are told apart by who is together, also where some pairs are misleading."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 5, 80)
    odds = np.where(true[:, None] == true[None], 2.0, -2.0) + rng.normal(0, 2, (80, 80))
    found = find_groups(odds)
    assert all(len(np.unique(found[true == group])) == 1 for group in range(5))
    assert len(np.unique(found)) == 5
    assert find_groups(np.zeros((1, 1))).tolist() == [0]


@dataclass(frozen=True)
class Longer(EntryMask):
    """Every distance up to ``by`` longer: a mask of one's own that says nothing of its law."""

    name = "longer"
    reference = "none"
    by: float = field(default=4.0, metadata=between())

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        return np.asarray(d * rng.uniform(1, 1 + self.by, d.shape))


@pytest.mark.parametrize("kind", SPACES)
def test_a_mask_of_ones_own_is_learned(kind: str) -> None:
    """Of 80 people nearly as many are found as by the law itself."""
    rng, mask = np.random.default_rng(0), Longer()
    distances = make(kind, 80, rng)
    file, masked = people(distances), mask.apply(distances, rng)
    every = dq.LabelRule().candidates(file, file)
    holder = Holder(file, file, every, Truth.of_people(file.ids, file.ids), Knowledge(mask=mask, common=0.999))
    answer = ask_oracle([masked], holder)
    true, published = full_matrix(distances), full_matrix(masked)
    possible = np.zeros((80, 80))
    for t, k in np.ndindex(80, 80):
        rest = (np.arange(80) != t) & (np.arange(80) != k)
        d, shown = true[k, rest], published[t, rest]
        inside = (shown >= d * (1 - 1e-9)) & (shown <= d * 5 * (1 + 1e-9))
        possible[t, k] = -np.log(np.maximum(d, 1e-9)).sum() if inside.all() else -1e9
    right = (possible.argmax(axis=1) == np.arange(80)).mean()
    assert answer.learned
    assert answer.of("prosecutor").mean() >= right - 0.15


def test_a_file_that_is_split_keeps_the_distances_between_its_parts() -> None:
    """Strangers are people of the file who are kept out of the release: the oracle knows how far they are from it."""
    plan = make_plan(["matrix-gaussian:sd=300"], overlap=0.5, attacks=["labels"])
    audit = Audit(plan, people(roads(60, np.random.default_rng(0))))
    known = draw_known_file(audit, 0)
    assert known.across is not None
    everybody = full_matrix(audit.target.distances)
    place = {person: row for row, person in enumerate(audit.target.ids)}
    assert [place[person] for person in known.data.ids] == known.across.known.tolist()
    assert [place[person] for person in known.released.ids] == known.across.released.tolist()
    target, theirs = known.truth.pairs.T
    np.testing.assert_array_equal(
        everybody[np.ix_(known.across.known[theirs], known.across.released[target])],
        full_matrix(known.released.distances, rows=target.astype(np.int32)),
    )
