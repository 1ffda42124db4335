"""Releases that are no map and that a simple attack broke: two files for each, and thirty lines that break it.

Everybody released is known, in another order; the snooper knows the mask, and no pair. Names come from the folder of
``--data``, without which they are left out; roads, streets, census columns and vectors are invented.

    python benchmarks/off_map.py [--data DIR] [--show]    # or as a part of beaten.py; goes on where it was stopped
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, quadratic_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering

import disclique as dq
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.profiles import ProfilesAttack
from disclique.masks import Mask
from disclique.measures.risk import Truth, name_records
from disclique.model import Candidates, Claims, Microdata
from disclique.records.labels import Exact
from disclique.spaces import Matrix, Points, Texts, full_matrix
from disclique.spaces.base import Distances
from disclique.spaces.gower import Gower, mixed_table
from matching_files import draw_roads

Floats, Ints = NDArray[np.float64], NDArray[np.int64]
RESULTS = Path(__file__).parent / "results" / "beaten_off_map.csv"
ROOM = 0.03
BLOOM = "bloom:length=1024,bits=10,q=2"


@dataclass(frozen=True)
class Release:
    """A kind of people, how many, and the mask: a spec, or ``noise=.3``, a share of the mean distance."""

    kind: str
    people: int
    mask: str
    simple: str
    label_error: float | None = None
    said: float | None = None  # what a simple attack found on other data, as it was reported
    before: float | None = None  # what ``profiles`` found in version 0.2

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.kind}, {self.people}, `{self.mask.replace(BLOOM, 'bloom')}`"


FAQ, SPLIT, COLOURS, EXACT = "centred FAQ", "spectral groups, FAQ in each", "colour refinement", "law and labels"
RELEASES = (
    Release("names and birth dates", 200, f"{BLOOM},salt=4", SPLIT, said=1.0, before=0.005),
    Release("names and birth dates", 200, f"{BLOOM},salt=16", SPLIT, said=1.0, before=0.005),
    Release("names and birth dates", 500, f"{BLOOM},diffuse=5", FAQ, said=0.996, before=0.388),
    Release("names", 500, f"{BLOOM},diffuse=10", FAQ, said=0.8, before=0.002),
    Release("names and birth dates", 500, f"{BLOOM},flip=0.2", FAQ, said=1.0, before=0.960),
    Release("road times", 150, "noise=0.5", FAQ, said=0.59, before=0.357),
    Release("road times", 200, "noise=0.3", FAQ, said=0.84, before=0.732),
    Release("road times", 200, "round=1.5", COLOURS, said=0.4, before=0.005),
    Release("road times", 200, "round=1.2", COLOURS, said=0.74, before=0.005),
    Release("names and streets", 150, "noise=0.3", FAQ, said=0.54, before=0.007),
    Release("walking distances", 150, "noise=0.6", FAQ, said=0.58, before=0.007),
    Release("census columns", 200, "noise=0.3", FAQ, said=0.86, before=0.988),
    Release("vectors", 200, "gaussian:sigma=4", EXACT, label_error=0.02, said=0.37, before=0.005),
    Release("households of two", 300, "multiplicative:sd=30", EXACT, said=0.66, before=0.073),
)


@dataclass(frozen=True, eq=False)
class Case:
    """Two files, the mask, who may be whom by labels, and who is who."""

    target: Microdata
    known: Microdata
    mask: Mask
    candidates: Candidates
    truth: Truth


def draw_case(release: Release, split: int, data: Path | None) -> Case:
    """Draw the people, their labels and the release."""
    rng = np.random.default_rng([24, RELEASES.index(release), split])
    whole = draw_people(release.kind, release.people, data, rng)
    mask = make_mask(release.mask, whole)
    rows, order = rng.permutation(release.people), rng.permutation(release.people)
    labels = []
    group = rng.integers(20 if release.kind == "vectors" else 22, size=release.people)
    if release.kind in ("vectors", "households of two"):
        labels = ["group"]
    shown = group.copy()
    if release.label_error:
        wrong = rng.random(release.people) < release.label_error
        shown[wrong] = rng.integers(20, size=int(wrong.sum()))
    files = []
    for people, distances, own in (
        (rows, mask.apply(whole.select(rows), rng), shown),
        (order, whole.select(order), group),
    ):
        table = pd.DataFrame({"person": people, "group": own[people]})
        files.append(dq.microdata(table, labels, distances=distances))
    rule = dq.LabelRule(comparators={"group": Exact(release.label_error)} if release.label_error else {})
    return Case(files[0], files[1], mask, rule.candidates(*files), Truth.of_people(rows.tolist(), order.tolist()))


def make_mask(spec: str, whole: Distances) -> Mask:
    """Read a spec; noise and rounding may be given as a share of the mean distance."""
    for word, mask in (("noise=", "matrix-gaussian:sd"), ("round=", "round:to")):
        if spec.startswith(word):
            values = full_matrix(whole)
            mean = float(values[~np.eye(len(values), dtype=bool)].mean())
            return dq.parse_mask(f"{mask}={float(spec.removeprefix(word)) * mean:.9g}")
    return dq.parse_mask(spec)


def draw_people(kind: str, count: int, data: Path | None, rng: np.random.Generator) -> Distances:
    """Draw people of a kind."""
    if kind == "road times":
        return draw_roads(count, rng)
    if kind == "walking distances":
        return draw_streets(count, rng)
    if kind == "vectors":
        return Points(rng.normal(0, 3, (count, 6)), "euclidean")
    if kind == "households of two":
        return Points(np.repeat(rng.uniform(0, 100, (count // 2, 2)), 2, axis=0), "euclidean")
    if kind == "census columns":
        return draw_census(count, rng)
    assert data is not None, f"{kind}: give the folder of the names (--data DIR)"
    table = pd.read_csv(data / "fakename_2k.tsv", sep="\t", dtype=str, keep_default_na=False)
    table = table.iloc[rng.choice(len(table), count, replace=False)]
    names = table["GivenName"] + " " + table["Surname"]
    if kind == "names":
        return Texts(tuple(names))
    if kind == "names and birth dates":
        return Texts(tuple(names + " " + table["Birthday"]))
    streets = [f"{rng.choice(STEMS)}{rng.choice(ENDS)} {rng.integers(1, 120)}" for _ in range(count)]
    return Texts(tuple(f"{name} {street}" for name, street in zip(names, streets, strict=True)), "levenshtein")


STEMS = ("Garten", "Linden", "Berg", "Kirch", "Schul", "Mühlen", "Wiesen", "Bahnhof", "Wald", "Rosen", "Markt", "Hafen")
ENDS = ("straße", "weg", "gasse", "platz", "allee", "ring")


def draw_streets(count: int, rng: np.random.Generator) -> Matrix:
    """Return walking distances between homes at the corners of irregular streets."""
    places = rng.uniform(0, 1, (count, 2))
    corners = Delaunay(places).simplices
    ends = np.unique(
        np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1), axis=0
    )
    lengths = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1) * rng.uniform(1, 1.6, len(ends))
    return Matrix(1000 * shortest_path(csr_matrix((lengths, ends.T), (count, count)), directed=False))


def draw_census(count: int, rng: np.random.Generator) -> Points:
    """Return people by age, income, household, and five categories, dependent on each other."""
    age = rng.integers(16, 90, count)
    school = np.clip(rng.poisson(2, count), 0, 5)
    income = np.exp(7 + 0.15 * school + 0.01 * np.minimum(age, 55) + rng.normal(0, 0.4, count)).round(-1)
    columns = [age, income, rng.poisson(1.5, count) + 1, [f"s{k}" for k in school]]
    for many, power in ((16, 1.0), (5, 1.5), (8, 1.0), (4, 0.7)):
        share = 1 / np.arange(1, many + 1) ** power
        columns.append([f"c{k}" for k in rng.choice(many, count, p=share / share.sum())])
    table = mixed_table([list(row) for row in zip(*(list(column) for column in columns), strict=True)])
    return Points(table, Gower.of(table))


def measure(release: Release, data: Path | None, splits: int = 2) -> dict[str, object]:
    """Return what the attack and the simple one find, and the processor seconds of one run of the attack."""
    shares, simple, claimed, right, seconds = [], [], 0, 0, 0.0
    for split in range(splits):
        case = draw_case(release, split, data)
        began = time.process_time()
        share, claims = find(case, build(case))
        seconds += time.process_time() - began
        rows, others, _ = claims.claimed()
        shares.append(share)
        simple.append(break_simply(case, release))
        claimed, right = claimed + len(rows), right + int(case.truth.holds(rows, others).sum())
    return {
        "release": release.name,
        "before": release.before,
        "now": round(float(np.mean(shares)), 3),
        "claimed": claimed,
        "right": right,
        "simple": round(float(np.mean(simple)), 3),
        "how": release.simple,
        "reported": release.said,
        "seconds": round(seconds / splits, 1),
    }


def find(case: Case, attack: ProfilesAttack) -> tuple[float, Claims]:
    """Return the share of the people that a prosecutor names by an attack, and its claims."""
    claims = attack.run(case.target, case.known, case.candidates)
    return float(name_records(claims, case.truth, case.candidates, attack.told).mean()), claims


def build(case: Case, seeds: int = 0) -> ProfilesAttack:
    """Build the attack as a snooper would who knows the mask, an insider with some pairs."""
    told = tuple(map(tuple, case.truth.pairs[:seeds].tolist()))
    return ProfilesAttack.build(Knowledge(mask=case.mask, seeds=told), Search())


# Thirty lines each, independent of the package's attacks


def centre(values: Floats) -> Floats:
    """Return a matrix whose rows and columns have the mean 0."""
    return values - values.mean(axis=0) - values.mean(axis=1)[:, None] + values.mean()


def by_faq(a: Floats, b: Floats, tries: int = 6) -> Ints:
    """Return for every row of ``a`` its partner: scipy's quadratic assignment, the best of several starts.

    The first is from the quantiles of each record's distances, the others are random.
    """
    rng, best, pairs = np.random.default_rng(0), -np.inf, np.arange(len(a))
    one, other, grid = np.zeros(b.shape), centre(b), np.linspace(0, 1, 30)
    one[: len(a), : len(a)] = centre(a)
    apart = np.zeros(b.shape)
    apart[: len(a)] = cdist(np.quantile(a, grid, axis=1).T, np.quantile(b, grid, axis=1).T)
    start = np.exp(-apart / np.quantile(apart[: len(a)], 0.05))
    for _ in range(300):
        start /= start.sum(axis=0)
        start /= start.sum(axis=1, keepdims=True)
    for number in range(tries):
        options = {"maximize": True, "maxiter": 100, "rng": rng, "P0": "randomized" if number else start}
        found = quadratic_assignment(one, other, method="faq", options=options)
        if found.fun > best:
            best, pairs = found.fun, found.col_ind[: len(a)]
    return pairs


def by_groups(a: Floats, b: Floats, groups: int) -> Ints:
    """Split ``a`` by its own similarities, and assign each group by itself to whoever is left, the largest first."""
    group = SpectralClustering(groups, affinity="precomputed", random_state=0).fit_predict(a.max() - a)
    pairs, free = np.zeros(len(a), np.int64), np.arange(len(b))
    for number in np.argsort(-np.bincount(group)):
        rows = np.flatnonzero(group == number)
        pairs[rows] = free[by_faq(a[np.ix_(rows, rows)], b[np.ix_(free, free)])]
        free = np.setdiff1d(free, pairs[rows])
    return pairs


def by_colours(a: Floats, b: Floats) -> Ints:
    """Refine colours of both files by the colours at each distance; equal ones are named in turn."""
    colours = [[0] * len(a), [0] * len(b)]
    for _ in range(4):
        rows = [
            [hash(tuple(sorted(zip(row.tolist(), own, strict=True)))) for row in side]
            for side, own in zip((a, b), colours, strict=True)
        ]
        if not set(rows[0]) & set(rows[1]):
            break
        colours = rows
    where: dict[int, list[int]] = {}
    for row, colour in enumerate(colours[1]):
        where.setdefault(colour, []).append(row)
    return np.array([where.get(colour, [-1])[0] for colour in colours[0]])


def by_law(case: Case) -> Ints:
    """Return the likeliest partners by what every record says alone: its place, or its partner at distance zero."""
    rows = np.indices(case.candidates.sizes)
    odds = np.maximum(case.candidates.log_odds(rows[0].ravel(), rows[1].ravel()), -50).reshape(rows.shape[1:])
    theirs, ours = case.target.distances.points(), case.known.distances.points()
    assert ours is not None
    if theirs is not None:
        sigma = float(case.mask.displacement_spread().east)  # type: ignore[union-attr]
        apart = ((theirs.coordinates[:, None] - ours.coordinates[None]) ** 2).sum(axis=2)
        return np.asarray(linear_sum_assignment(odds - apart / (2 * sigma**2), maximize=True)[1])
    beside = []
    for side in (full_matrix(case.target.distances), full_matrix(case.known.distances)):
        np.fill_diagonal(side, np.inf)
        beside.append(np.where((side == 0).any(axis=1), (side == 0).argmax(axis=1), -1))
    both = odds + odds[np.ix_(beside[0], beside[1])]
    return np.asarray(linear_sum_assignment(both, maximize=True)[1])


def break_simply(case: Case, release: Release) -> float:
    """Return the share of the people that the simple attack finds."""
    a, b = full_matrix(case.target.distances), full_matrix(case.known.distances)
    if release.simple == EXACT:
        pairs = by_law(case)
    elif release.simple == SPLIT:
        pairs = by_groups(a, b, int(release.mask.rpartition("salt=")[2]))
    elif release.simple == COLOURS:
        pairs = by_colours(a, full_matrix(case.mask.apply(case.known.distances, np.random.default_rng(0))))
    else:
        pairs = by_faq((a + a.T) / 2, (b + b.T) / 2)
    return float(case.truth.holds(np.arange(len(a)), pairs).mean())


def run(data: Path | None) -> None:
    """Measure the releases that are not yet in the file of results."""
    done = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame({"release": []})
    for release in RELEASES:
        if release.name in set(done["release"]) or (data is None and release.kind.startswith("names")):
            continue
        row = measure(release, data)
        done = pd.concat([done, pd.DataFrame([row])], ignore_index=True)
        done.to_csv(RESULTS, index=False)
        print(row, file=sys.stderr, flush=True)


def show() -> bool:
    """Print the table; say whether the attack finds in every row what simple ones do, here or on the data reported."""
    print("| release | version 0.2 | simple attack | as reported | profiles now | claimed, right | CPU-s |")
    print("|---|---|---|---|---|---|---|")
    holds = True
    for row in pd.read_csv(RESULTS).to_dict("records"):
        kept = row["now"] >= max(row["simple"], row["reported"]) - ROOM
        holds &= kept
        print(
            f"| {row['release']} | {row['before']:.1%} | {row['simple']:.1%}: {row['how']} | {row['reported']:.0%} | "
            f"**{row['now']:.1%}**{'' if kept else ' ✖'} | {row['claimed']}, {row['right']} | {row['seconds']} |"
        )
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    if not given.show:
        run(given.data)
    sys.exit(0 if show() else 1)


if __name__ == "__main__":
    main()
