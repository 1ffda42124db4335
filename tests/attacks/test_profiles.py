"""The attack on two matrices of any kind of distances, through the public door, against the truth of invented files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist

import disclique as dq
from conftest import Run
from disclique.attacks import CliqueAttack, ExtendAttack, ProfilesAttack, act, fetcher
from disclique.attacks.extend import estimate_deviation
from disclique.records.labels import Exact
from disclique.spaces import full_matrix

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
BLOOM = "bloom:length=1024,bits=10,q=2"
SYLLABLES = ("an", "be", "cor", "do", "el", "fi", "ga", "hu", "il", "jo", "ka", "lu", "mar", "ne", "ot", "pa", "ri")
SYLLABLES += ("sa", "ti", "ul", "vo", "wer", "za", "mei", "sch", "stein", "berg", "mann", "hof")
FEW = ProfilesAttack(starts=4)


def invent_names(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice(SYLLABLES, 2)) + " " + "".join(rng.choice(SYLLABLES, 3))] = None
    return list(found)


def add_noise(distances: Floats, size: float, seed: int) -> Floats:
    """Put independent noise on each distance, both ways the same."""
    noise = np.triu(np.random.default_rng(seed).normal(0, size, distances.shape), 1)
    found: Floats = np.abs(distances + noise + noise.T)
    np.fill_diagonal(found, 0)
    return found


def road_network(nodes: int, seed: int) -> Floats:
    """Travel times on a planar graph, each road of another speed in each direction."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 1, (nodes, 2))
    ends = np.concatenate([[(a, b), (b, c), (c, a)] for a, b, c in Delaunay(places).simplices])
    ends = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    time = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1) * rng.uniform(0.5, 2, len(ends))
    return np.asarray(shortest_path(csr_matrix((time, ends.T), (nodes, nodes))))


def mixture(count: int, dimensions: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(5, dimensions))
    points = centres[rng.integers(5, size=count)] + 0.6 * rng.normal(size=(count, dimensions))
    return cdist(points, points)


def make(values: Floats, rows: Rows, people: pd.DataFrame | None = None, **more: Any) -> dq.Microdata:
    """Return some records of a matrix as microdata, each with the number of its person."""
    table = (pd.DataFrame() if people is None else people.iloc[rows].reset_index(drop=True)).assign(who=rows)
    labels = [] if people is None else list(people.columns)
    return dq.microdata(table, labels, distances=values[np.ix_(rows, rows)], unpublished=True, **more)


def overlapping(count: int, target: int, known: int, common: int, seed: int = 0) -> tuple[Rows, Rows]:
    """Return the persons of two files in random order."""
    order = np.random.default_rng(seed).permutation(count)
    rng = np.random.default_rng(seed + 1)
    return rng.permutation(order[:target]), rng.permutation(order[target - common : target - common + known])


def pairs_of(result: dq.AttackResult) -> set[tuple[int, int]]:
    """Return the claimed pairs as persons."""
    rows, others, _ = result.claims.claimed()
    target, known = (data.table["who"].to_numpy() for data in result.files)
    return {(int(target[v]), int(known[w])) for v, w in zip(rows, others, strict=True)}


def encode(count: int, key: int) -> Floats:
    texts = dq.Texts(tuple(invent_names(count)))
    return full_matrix(dq.parse_mask(BLOOM).apply(texts, np.random.default_rng(key)))


# What it finds


@pytest.mark.parametrize(("common", "least"), [(200, 0.97), (100, 0.9)])
def test_encoded_names_are_found_by_their_distances_alone(common: int, least: float) -> None:
    """Bloom filters under a key that the snooper does not have, no labels; the names themselves are known."""
    names = invent_names(400 - common)
    table = pd.DataFrame({"name": names, "who": range(len(names))})
    rows = overlapping(len(names), 200, 200, common)
    release = make(encode(len(names), 7), rows[0])
    known = dq.microdata(table.iloc[rows[1]], [], text="name")
    result = dq.attack(release, known, by="profiles", knowledge=dq.Knowledge(mask=dq.parse_mask(BLOOM)), truth="who")
    assert result.risk is not None
    assert result.risk.recall >= least
    assert result.risk.precision >= 0.85
    assert not result.lower_bound
    assert result.claims.expected == pytest.approx(result.claims.probability.sum(), abs=common / 50)


@pytest.mark.parametrize(("released", "listed"), [(120, 360), (360, 180)])
def test_everybody_of_the_smaller_file_is_found_in_the_larger(released: int, listed: int) -> None:
    """A third of the list is released, or half of the release is on no list: the rehearsal must be of that kind."""
    names = invent_names(max(released, listed))
    rows = overlapping(len(names), released, listed, min(released, listed))
    release = make(encode(len(names), 7), rows[0])
    known = dq.microdata(pd.DataFrame({"name": names, "who": range(len(names))}).iloc[rows[1]], [], text="name")
    risk = dq.attack(release, known, by="profiles", knowledge=dq.Knowledge(mask=dq.parse_mask(BLOOM)), truth="who").risk
    assert risk is not None
    assert risk.recall >= 0.95
    assert risk.precision is not None
    assert risk.precision >= 0.95


@pytest.mark.parametrize("common", [200, 120])
def test_two_releases_of_encodings_need_no_mask(common: int) -> None:
    """Both sides encoded, under two keys: nothing is known but the two matrices."""
    rows = overlapping(400 - common, 200, 200, common)
    both = [make(encode(400 - common, key), some) for key, some in zip((3, 4), rows, strict=True)]
    risk = dq.attack(*both, by="profiles", truth="who").risk
    assert risk is not None
    assert risk.recall >= 0.9
    assert risk.precision >= 0.8


def test_directed_travel_times_are_attacked_both_ways() -> None:
    """A road network of another time each way, with noise on every entry."""
    times = road_network(200, 1)
    noisy = np.abs(times + np.random.default_rng(2).normal(0, 0.03 * times.mean(), times.shape))
    np.fill_diagonal(noisy, 0)
    rows = overlapping(200, 200, 200, 200)
    both = [make(values, some, directed=True) for values, some in zip((noisy, times), rows, strict=True)]
    risk = dq.attack(*both, by="profiles", truth="who").risk
    assert risk is not None
    assert risk.recall >= 0.95


@pytest.mark.parametrize(("spec", "least"), [("knn:k=20", 0.9), ("topcode:max=4", 0.9)])
def test_what_is_not_published_is_no_disagreement(spec: str, least: float) -> None:
    """Nearest neighbours only, or distances cut off at the top."""
    true = dq.Matrix(mixture(200, 8, 3))
    mask = dq.parse_mask(spec)
    shown = full_matrix(mask.apply(true, np.random.default_rng(0)))
    rows = overlapping(200, 200, 200, 200)
    both = [make(values, some) for values, some in zip((shown, true.values), rows, strict=True)]
    risk = dq.attack(*both, by="profiles", knowledge=dq.Knowledge(mask=mask), truth="who").risk
    assert risk is not None
    assert risk.recall >= least
    assert risk.precision >= least


def test_labels_help_and_wrong_ones_do_not_exclude() -> None:
    """In strong noise labels make the difference; with errors they are weighed."""
    true = mixture(200, 8, 4)
    noisy = add_noise(true, 0.3 * true.mean(), 5)
    rng = np.random.default_rng(6)
    people = pd.DataFrame({"town": rng.integers(0, 20, 200)})
    rows = overlapping(200, 200, 200, 200)

    def attack(theirs: pd.DataFrame | None, ours: pd.DataFrame | None, rule: dq.LabelRule | None = None) -> float:
        both = make(noisy, rows[0], theirs), make(true, rows[1], ours)
        risk = dq.attack(*both, by=FEW, labels=rule, truth="who").risk
        assert risk is not None
        return float(risk.recall or 0.0)

    wrong = people.copy()
    wrong.loc[rng.choice(200, 20, replace=False), "town"] += 1
    exact = attack(people, people)
    assert exact >= 0.9
    assert exact >= attack(None, None)
    forgiving = dq.LabelRule(comparators={"town": Exact(0.1)})
    assert attack(people, wrong, forgiving) >= 0.8


def test_an_insider_finds_what_nobody_else_does_and_is_not_praised_for_what_they_knew() -> None:
    """Seeds help in strong noise; the people in them are neither found nor missed."""
    true = mixture(200, 8, 7)
    noisy = add_noise(true, 0.2 * true.mean(), 8)
    both = make(noisy, np.arange(200)), make(true, np.arange(200))
    seeds = tuple((k, k) for k in range(0, 200, 4))
    plain = dq.attack(*both, by=FEW, truth="who").risk
    told = dq.attack(*both, by=ProfilesAttack(seeds=seeds, starts=4), truth="who").risk
    assert plain is not None
    assert told is not None
    assert told.tp + told.fn == 150
    assert told.fn <= plain.fn  # shares would compare 150 people with 200
    assert told.recall >= 0.8


def test_a_much_larger_known_file() -> None:
    """Sixty released among three hundred known people, and the other way round."""
    true = mixture(300, 8, 9)
    noisy = add_noise(true, 0.02 * true.mean(), 10)
    for sizes in ((60, 300), (300, 60)):
        rows = overlapping(300, *sizes, 60)
        risk = dq.attack(make(noisy, rows[0]), make(true, rows[1]), by="profiles", truth="who").risk
        assert risk is not None
        assert risk.precision is None or risk.precision >= 0.8  # rather nothing than anything


# What it must not claim


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["names", "vectors"])
def test_strangers_are_hardly_ever_claimed(kind: str, seed: int) -> None:
    """Files of the same kind of people without a common one: at most one in two hundred is claimed."""
    if kind == "names":
        names = invent_names(300, seed)
        texts = dq.Texts(tuple(names))
        values = [full_matrix(dq.parse_mask(BLOOM).apply(texts, np.random.default_rng(key))) for key in (1, 2)]
    else:
        values = [mixture(300, 8, seed)] * 2
    rows = overlapping(300, 150, 150, 0, seed)
    both = [make(matrix, some) for matrix, some in zip(values, rows, strict=True)]
    result = dq.attack(*both, by=ProfilesAttack(starts=8), truth="who")
    assert len(result.matches) <= 0.005 * 150
    assert result.claims.doubt


@pytest.mark.parametrize("count", [1, 5, 12])
def test_tiny_files_say_why_nothing_is_claimed(count: int) -> None:
    """A dozen records agree by chance, and fewer than ten cannot be aligned at all."""
    data = make(mixture(count, 3, 1), np.arange(count))
    result = dq.attack(data, data, by="profiles", truth="who")
    assert len(result.matches) == 0
    assert result.claims.doubt.code in ("too_few_records_to_align", "no_alignment_better_than_chance")


@pytest.mark.parametrize("kind", ["equal", "halves", "unpublished"])
def test_files_that_tell_nothing(kind: str) -> None:
    """All distances equal, two kinds of alike records, or none published: nothing is claimed, without a warning."""
    values = np.ones((400, 400)) - np.eye(400) if kind == "halves" else np.ones((40, 40)) - np.eye(40)
    if kind == "unpublished":
        values[~np.eye(40, dtype=bool)] = np.nan
    if kind == "halves":
        side = np.arange(400) % 2
        values[side[:, None] == side] = 0
    rows = np.arange(len(values))
    result = dq.attack(make(values, rows), make(values, rows[::-1].copy()), by=FEW, truth="who")
    assert len(result.matches) == 0
    assert result.claims.doubt


def test_twins_are_as_probable_as_each_other() -> None:
    """Every record stands in the file twice: nobody can say which of the two it is."""
    values = np.kron(mixture(100, 8, 2), np.ones((2, 2)))
    rows = np.arange(len(values))
    claims = dq.attack(make(values, rows), make(values, rows[::-1].copy()), by=FEW).claims
    assert claims.probability.max(initial=0) <= 0.55


# Laws


def easy() -> tuple[dq.Microdata, dq.Microdata]:
    true = mixture(150, 8, 11)
    rows = overlapping(150, 150, 150, 150)
    return make(add_noise(true, 0.03 * true.mean(), 12), rows[0]), make(true, rows[1])


def test_the_same_on_any_number_of_threads_and_every_time() -> None:
    """Same claims, same probabilities."""
    found = [dq.attack(*easy(), by=ProfilesAttack(threads=threads)).claims for threads in (1, 2, 2)]
    for other in found[1:]:
        for name in ("target", "known", "probability"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(other, name))


def test_the_order_of_records_and_the_unit_do_not_matter() -> None:
    """Permuted files and other units give the same pairs of persons."""
    target, known = easy()
    first = pairs_of(dq.attack(target, known, by=FEW))
    assert len(first) >= 145
    rng = np.random.default_rng(1)
    mixed = [make(data.distances.values, rng.permutation(150)) for data in (target, known)]  # type: ignore[attr-defined]
    people = [data.table["who"].to_numpy() for data in (target, known)]
    moved = {(int(people[0][a]), int(people[1][b])) for a, b in pairs_of(dq.attack(*mixed, by=FEW))}
    assert moved == first
    larger = [make(1000 * data.distances.values, np.arange(150)) for data in (target, known)]  # type: ignore[attr-defined]
    scaled = {(int(people[0][a]), int(people[1][b])) for a, b in pairs_of(dq.attack(*larger, by=FEW))}
    assert scaled == first


# With other attacks


def test_extend_needs_neither_clique_nor_agreement() -> None:
    """It starts from profiles, and says so."""
    target, known = easy()
    result = dq.attack(target, known, by="extend", truth="who")
    assert result.risk is not None
    assert result.risk.recall >= 0.9
    assert result.claims.details["start"] == "profiles"
    assert not result.lower_bound
    nothing = ExtendAttack(CliqueAttack(dq.Within(1e-12)), 0.1, otherwise=FEW)
    assert dq.attack(target, known, by=nothing).claims.details["start"] == "profiles"


def test_the_deviation_is_seen_in_the_distances_of_matches() -> None:
    """A robust standard deviation of d - d′, NaN left out."""
    true = mixture(200, 8, 1)
    noisy = add_noise(true, 0.2, 2)
    noisy[0, 1:] = noisy[1:, 0] = np.nan
    rows = np.arange(200, dtype=np.int32)
    assert estimate_deviation(dq.Matrix(noisy, unpublished=True), dq.Matrix(true), (rows, rows)) == pytest.approx(
        0.2, rel=0.05
    )


def test_a_product_graph_that_is_too_large_is_thinned() -> None:
    """The clique of the pairs that profiles holds for possible; nothing is proven, and without them it is refused."""
    true = mixture(200, 8, 11)
    rows = overlapping(200, 150, 150, 100)
    target, known = make(add_noise(true, 0.03 * true.mean(), 12), rows[0]), make(true, rows[1])
    small = CliqueAttack(dq.Within(0.5), dq.Search(budget=dq.Budget(work=0.2)), memory=2_000_000)
    with pytest.raises(dq.DiscliqueError, match=r"of the .* allowed"):
        dq.attack(target, known, by=small)
    thinned = CliqueAttack(small.agreement, small.search, small.memory, thinner=FEW)
    result = dq.attack(target, known, by=thinned, truth="who")
    assert result.risk is not None
    assert len(result.matches) >= 20
    assert result.risk.precision >= 0.95
    assert result.lower_bound
    assert result.claims.cut.code == "product_graph_thinned"
    assert result.claims.most is None
    assert not result.clique.proven
    assert not result.cliques.complete
    inside = full_matrix(target.distances), full_matrix(known.distances)
    rows, others, _ = result.claims.claimed()
    differ = np.abs(inside[0][np.ix_(rows, rows)] - inside[1][np.ix_(others, others)])
    assert (differ < 0.5).all()  # it is a common subgraph all the same
    strangers = make(mixture(150, 8, 77), np.arange(150))
    with pytest.raises(dq.DiscliqueError, match=r"of the .* allowed"):
        dq.attack(target, strangers, by=thinned)
    fetch = fetcher(target, strangers, lambda one: dq.LabelRule().candidates(target, strangers))
    [refused] = act({"clique": thinned}, fetch)
    assert refused.claims is not None
    assert refused.claims.cut.code == "attack_not_carried_out"


def test_profiles_starts_from_a_clique_and_is_not_cut_short_by_it() -> None:
    """Selective labels make a clique from which strong noise is overcome; one that is refused does no harm."""
    target, known = easy()
    alone = pairs_of(dq.attack(target, known, by=FEW))
    for clique in (
        CliqueAttack(dq.Within(0.5), memory=10),
        CliqueAttack(dq.Within(0.3), dq.Search(budget=dq.Budget(work=0.01))),
    ):
        result = dq.attack(target, known, by=ProfilesAttack(starts=4, clique=clique))
        assert not result.lower_bound
        assert len(pairs_of(result) & alone) >= 0.95 * len(alone)


# The command line


def save(data: dq.Microdata, name: str) -> None:
    data.table.assign(uid=[f"u{k}" for k in data.table["who"]])[["uid"]].to_csv(f"{name}.csv", index=False)
    np.save(f"{name}.npy", full_matrix(data.distances))


BARE = ("attack", "t.csv", "k.csv", "--id", "uid", "--truth", "uid", "--unit", "none")
BARE += ("--target-distances", "t.npy", "--known-distances", "k.npy")


def test_two_bare_matrices_are_attacked_by_everything_that_applies(run: Run) -> None:
    """Every attack stands in the result, those that do not apply with the reason."""
    for data, name in zip(easy(), "tk", strict=True):
        save(data, name)
    code, _, err = run(*BARE, "--attack", "all", "--json", "r.json")
    assert code == 0, err
    entries = {entry["attack"]: entry for entry in json.loads(Path("r.json").read_text())["attacks"]}
    assert set(entries) == set(dq.attack_names())
    assert entries["profiles"]["recall"] > 0.95
    assert entries["extend"]["applies"]
    assert not entries["clique"]["applies"]
    assert "needs to know when distances agree" in entries["clique"]["why"]
    assert all(isinstance(entry["matches"], list) for entry in entries.values())
    code, _, err = run(*BARE, "--attack", "clique", "--attack", "quasi")
    assert code == 2
    assert "no attack applies" in err


def test_seeds_come_from_a_file_of_ids(run: Run) -> None:
    """Also from the matches of another attack; wrong ones are named."""
    target, known = easy()
    for data, name in ((target, "t"), (known, "k")):
        save(data, name)
    seeds = pd.DataFrame({"target_id": [f"u{k}" for k in range(20)], "known_id": [f"u{k}" for k in range(20)]})
    seeds.assign(more=1).to_csv("s.csv", index=False)
    code, _, err = run(*BARE, "--attack", "profiles", "--seeds", "s.csv", "--json", "r.json", "--out", "m.csv")
    assert code == 0, err
    [entry] = json.loads(Path("r.json").read_text())["attacks"]
    assert entry["tp"] + entry["fn"] == 130
    code, _, err = run(*BARE, "--attack", "profiles", "--seeds", "m.csv")
    assert code == 0, err
    for wrong, said in (
        ("target_id,known_id\nu1,u1\nu2,zz\n", "s.csv: row 2, column 'known_id' = 'zz': no record of"),
        ("a,b\nu1,u1\nu1,u2\n", "row 2, column 'a' = 'u1': the id stands in row 1 already"),
        ("a,b\nu1,\n", "row 1, column 'b': an id is missing"),
        ("a,b,c\nu1,u1,u1\n", "it has 'a', 'b', 'c'"),
    ):
        Path("s.csv").write_text(wrong)
        code, _, err = run(*BARE, "--attack", "profiles", "--seeds", "s.csv")
        assert code == 2
        assert said in " ".join(err.split())
    code, _, err = run(*BARE, "--within", "1", "--attack", "clique", "--seeds", "m.csv")
    assert code == 2
    assert "add --attack profiles" in " ".join(err.split())
    with pytest.raises(dq.InputError, match="seed in known row 150: the file has the rows 0 to 149"):
        dq.attack(target, known, by="profiles", knowledge=dq.Knowledge(seeds=((0, 150),)))
