"""Record the figures of many small runs, so that a change of the house can be held to those of an earlier version.

    python benchmarks/figures.py record OUT.json [--only NAME ...]
    python benchmarks/figures.py compare OLD.json NEW.json [--tolerance 1e-9]

Every case is a function that goes through the public doors alone, ``import disclique as dq`` and the command line, and
returns numbers, codes, ids and statuses: no sentences, whose wording may change, and no times. All chance is seeded. A
case that fails is recorded by the type of its exception and stops no other. ``--only`` takes names of cases, or how
they begin. ``compare`` prints every difference and ends with status 1 if there is one; the figures of a version are in
``results/figures-VERSION.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import disclique as dq

Figures = dict[str, Any]
Case = Callable[[Path], Figures]

CASES: dict[str, Case] = {}
PLACES = ["lon", "lat"]
LABELS = ["sex", "age_class"]
SOLVERS = ("exact", "mcqd", "greedy")
QUICK = {"attacks": ["labels", "register"], "repetitions": 2, "seed": 1, "sensitivity": False, "person_trials": 10}
OFF_MAP = QUICK | {"attacks": ["labels", "profiles"]}


def case(name: str) -> Callable[[Case], Case]:
    """Register a function as a case; it is given an empty folder."""

    def enter(function: Case) -> Case:
        CASES[name] = function
        return function

    return enter


def cases(name: str, values: Mapping[str, Any]) -> Callable[[Callable[..., Figures]], Callable[..., Figures]]:
    """Register a function as one case for every value, which it is given before the folder."""

    def enter(function: Callable[..., Figures]) -> Callable[..., Figures]:
        for key, value in values.items():
            CASES[f"{name}/{key}"] = partial(function, value)
        return function

    return enter


# What is recorded of a result -----------------------------------------------------------------------------------------


def tried(function: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Return what a function returns, or the type of its exception."""
    try:
        return function(*given, **options)
    except Exception as problem:
        return f"raises {type(problem).__name__}"


def checksums(values: Any) -> Figures:
    """Return sums of an array that depend on every value and on its place, and bear a tolerance as no hash does."""
    array = np.asarray(values, dtype=float)
    flat = array.ravel()
    there = np.isfinite(flat)
    found = np.where(there, flat, 0.0)
    return {
        "shape": array.shape,
        "finite": there.sum(),
        "sum": found.sum(),
        "largest": found.max(initial=0.0),
        "weighted": (found * np.sin(np.arange(len(flat)) + 1.0)).sum(),
    }


def matrix(file: dq.Microdata) -> np.ndarray:
    """Return all distances of a file, as a snooper sees them."""
    rows = np.arange(len(file), dtype=np.int32)
    return file.distances.block(rows, rows)


def attacked(result: dq.AttackResult) -> Figures:
    """Return what an attack claims and what that is worth."""
    sure = [name for name in ("support", "probability") if name in result.matches]
    told = [name for name in ("target_row", "known_row", "target_id", "known_id", "true") if name in result.matches]
    figures: Figures = {name: result.matches[name].tolist() for name in told}
    figures |= {name: checksums(result.matches[name]) for name in sure}
    figures["claims"] = len(result.claims.target)
    if result.risk is not None:
        figures |= {"precision": result.risk.precision, "recall": result.risk.recall}
    return figures


def clique(result: dq.AttackResult) -> Figures:
    """Return the clique of an attack that rests on one."""
    return {"members": result.clique.members, "proven": result.clique.proven, "bound": result.clique.bound}


def audited(result: dq.AuditResult) -> Figures:
    """Return the verdict of an audit, its settings and sums over people."""
    people = result.people
    return {
        "status": result.verdict.status,
        "rows": len(result.table),
        "settings": {
            one.spec: {
                "risk": one.risk.value,
                "interval": one.risk.interval,
                "lower_bound": one.risk.lower_bound,
                "oracle": None if one.oracle is None else one.oracle.value,
                "usefulness": one.usefulness,
            }
            for one in result.settings
        },
        "table": checksums(result.table["risk"]),
        "people": len(people),
        "people_risk": checksums(people["risk"]),
    }


def written(folder: Path) -> Figures:
    """Return what the command line wrote of an audit."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    risks = {one["spec"]: one["risk"]["value"] for one in result["settings"]}
    return {"status": result["verdict"]["status"], "risk": risks}


def listed(path: Path) -> Figures:
    """Return the matches that the command line wrote of one or several attacks."""
    found = json.loads(path.read_text(encoding="utf-8"))["attacks"]
    rows = {one["attack"]: [[m["target_row"], m["known_row"]] for m in one.get("matches", ())] for one in found}
    return {"attacks": rows}


def looked(*files: dq.Microdata, **options: Any) -> Figures:
    """Return how many mistakes and remarks a look at the input finds."""
    found = dq.inspect(*files, **options)
    return {"mistakes": len(found.mistakes), "remarks": len(found.remarks)}


def run(folder: Path, *words: str) -> int:
    """Run a command in a folder and return its exit status."""
    command = [sys.executable, "-m", "disclique", *words]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode


# Small files ----------------------------------------------------------------------------------------------------------


@cache
def survey(n: int = 60, first: int = 0) -> pd.DataFrame:
    """Return some people of the bundled survey."""
    return dq.survey().iloc[first : first + n].reset_index(drop=True)


@cache
def people(n: int = 60, first: int = 0, metric: str = "sphere") -> dq.Microdata:
    """Return people with places on the Earth."""
    return dq.microdata(survey(n, first), LABELS, coordinates=PLACES, metric=metric, ids="id", name="people")


@cache
def two_files() -> tuple[dq.Microdata, dq.Microdata]:
    """Return synthetic people of Germany, of whom half of the target's are known."""
    drawn = dq.germany(n_target=60, n_known=80, common=30, rng=np.random.default_rng(5))
    return tuple(
        dq.microdata(table, LABELS, coordinates=PLACES, ids="id", name=name)
        for table, name in ((drawn.target, "target"), (drawn.known, "known"))
    )


@cache
def name_table(n: int = 60) -> pd.DataFrame:
    """Return invented names and birthdays, made of syllables so that some are alike."""
    rng = np.random.default_rng(11)
    parts = ["ma", "ri", "an", "ne", "lo", "ter", "ka", "sch", "mi", "del", "ber", "fe", "hol", "ste", "wi", "bu"]
    first = ["".join(rng.choice(parts, 2)).capitalize() for _ in range(n)]
    last = ["".join(rng.choice(parts, 3)).capitalize() for _ in range(n)]
    born = [f"{y}-{m:02d}-{d:02d}" for y, m, d in rng.integers([1940, 1, 1], [2005, 13, 29], (n, 3))]
    ids = [f"N{i:03d}" for i in range(n)]
    return pd.DataFrame({"id": ids, "first": first, "last": last, "born": born, "sex": rng.choice(["f", "m"], n)})


@cache
def names(metric: str = "dice:q=2", n: int = 60) -> dq.Microdata:
    """Return people with names, without labels."""
    return dq.microdata(name_table(n), text=["first", "last", "born"], metric=metric, ids="id", name="names")


@cache
def vectors(metric: str = "euclidean", n: int = 60) -> dq.Microdata:
    """Return people with vectors of six numbers, two of which follow from others."""
    rng = np.random.default_rng(12)
    values = rng.normal(size=(n, 6)) * [3, 2, 1, 1, 0.5, 0.5] + [4, 2, 0, 0, 0, 0]
    table = pd.DataFrame({"id": [f"V{i:03d}" for i in range(n)], "sex": rng.choice(["f", "m"], n)})
    unit = "none" if metric == "euclidean" else None
    return dq.microdata(table, ["sex"], coordinates=values, metric=metric, unit=unit, ids="id", name="vectors")


@cache
def records(n: int = 60) -> dq.Microdata:
    """Return a mixed table, numbers and categories, with Gower's distances."""
    rng = np.random.default_rng(13)
    table = pd.DataFrame(
        {
            "id": [f"G{i:03d}" for i in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(8, 0.5, n).round(-1),
            "job": rng.choice(["farm", "shop", "school", "works"], n),
            "rooms": rng.integers(1, 8, n),
        }
    )
    columns = ["age", "income", "job", "rooms"]
    return dq.microdata(table, ["sex"], coordinates=columns, metric="gower", ids="id", name="records")


@cache
def minutes(n: int = 60, directed: bool = False) -> pd.DataFrame:
    """Return invented minutes by road, which fit no map, with the ids of the people."""
    rng, table = np.random.default_rng(14), survey(n)
    detour = rng.uniform(1, 1.4, (n, n))
    if not directed:
        detour = (detour + detour.T) / 2
    times = (5 + matrix(people(n)) * 60 / 70 * detour).round(1)
    np.fill_diagonal(times, 0)
    return pd.DataFrame(times, index=table["id"], columns=table["id"])


@cache
def roads(n: int = 60, directed: bool = False) -> dq.Microdata:
    """Return people with minutes by road between them, without places."""
    table, times = survey(n).drop(columns=PLACES), minutes(n, directed)
    return dq.microdata(table, LABELS, distances=times, ids="id", unit="none", directed=directed, name="roads")


def write_pieces(table: pd.DataFrame, folder: Path, pieces: int) -> None:
    """Write a register as a folder of Parquet files."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), pieces)):
        table.iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)


# Masks ----------------------------------------------------------------------------------------------------------------

ON_PLACES = {
    "gaussian": "gaussian:sigma=500m",
    "gaussian-degrees": "gaussian:sigma=0.01deg",
    "disc": "disc:max=1km",
    "donut": "donut:min=200m,max=1km",
    "laplace": "laplace:epsilon=2/km",
    "grid": "grid:cell=5km",
    "grid-degrees": "grid:cell=0.1deg",
    "voronoi": "voronoi",
    "swap": "swap:radius=100km",
    "dhs": "dhs",
    "affine": "affine",
}
ON_VECTORS = {
    "gaussian": "gaussian:sigma=0.5",
    "grid": "grid:cell=1",
    "rotation": "rotation",
    "voronoi": "voronoi",
    "swap": "swap:radius=3",
    "affine": "affine",
}
ON_DISTANCES = {
    "matrix-gaussian": "matrix-gaussian:sd={}",
    "matrix-laplace": "matrix-laplace:b={}",
    "multiplicative": "multiplicative:sd=0.1",
    "round": "round:to={}",
    "topcode": "topcode:max={}",
    "knn": "knn:k=10",
    "lipschitz": "lipschitz:sets=20,size=1,drawn=records,norm=2",
    "lipschitz-area": "lipschitz:sets=10",
    "projection": "projection:dimensions=10",
}
ON_TEXT = {
    "bloom": "bloom:length=256,bits=10,q=2",
    "bloom-blake": "bloom:length=256,bits=10,q=2,hash=blake",
    "bloom-salt": "bloom:length=256,bits=10,q=2,salt=4",
    "bloom-salt-record": "bloom:length=256,bits=10,q=2,salt=record",
    "bloom-diffuse": "bloom:length=256,bits=10,q=2,diffuse=5",
    "bloom-flip": "bloom:length=256,bits=10,q=2,flip=0.05",
    "bloom-balance": "bloom:length=256,bits=10,q=2,balance=yes",
    "bloom-all": "bloom:length=256,bits=10,q=2,salt=2,diffuse=2,flip=0.02,balance=yes",
    "minhash": "minhash:length=256,q=2",
    "two-step": "two-step:columns=200,bits=10,q=2",
}


def mask_in_order(file: dq.Microdata, spec: str, seed: int = 7) -> dq.Microdata:
    """Return the file with masked distances, in its own order."""
    made = dq.release(file, spec, seed)
    return replace(file, distances=made.masked.select(np.argsort(made.key)).as_matrix())


def masked(file: dq.Microdata, spec: str, seed: int = 7) -> Any:
    """Return sums of the masked distances, or the type of the refusal."""
    return tried(lambda: checksums(matrix(mask_in_order(file, spec, seed=seed))))


@cases("mask-places", ON_PLACES)
def mask_places(spec: str, _: Path) -> Figures:
    return {
        "spec": str(dq.parse_mask(spec)),
        "sphere": masked(people(), spec),
        "seed 0": masked(people(), spec, seed=0),
        "wgs84": masked(people(metric="wgs84"), spec),
    }


@cases("mask-vectors", ON_VECTORS)
def mask_vectors(spec: str, _: Path) -> Figures:
    return {"euclidean": masked(vectors(), spec), "cosine": masked(vectors("cosine"), spec)}


@cases("mask-distances", ON_DISTANCES)
def mask_distances(spec: str, _: Path) -> Figures:
    return {
        "places": masked(people(), spec.format("20km")),
        "vectors": masked(vectors(), spec.format(1)),
        "cosine": masked(vectors("cosine"), spec.format(0.1)),
        "records": masked(records(), spec.format(0.1)),
        "roads": masked(roads(), spec.format(30)),
        "directed": masked(roads(directed=True), spec.format(30)),
        "texts": masked(names(), spec.format(0.2)),
    }


@cases("mask-texts", ON_TEXT)
def mask_texts(spec: str, _: Path) -> Figures:
    return {"spec": str(dq.parse_mask(spec)), "names": masked(names(), spec), "places": masked(people(), spec)}


@case("mask-plane")
def mask_plane(_: Path) -> Figures:
    values = np.random.default_rng(3).uniform(0, 40_000, (50, 2))
    table = pd.DataFrame({"id": [f"E{i:02d}" for i in range(50)]})
    plane = dq.microdata(table, coordinates=values, metric="euclidean", unit="m", ids="id")
    specs = ("gaussian:sigma=500m", "gaussian:sigma=0.01deg", "donut:min=200m,max=1km", "grid:cell=5km", "affine")
    return {spec: masked(plane, spec) for spec in specs}


@case("mask-large")
def mask_large(_: Path) -> Figures:
    # Beyond 4,000 records no matrix is formed, and single distances draw their noise by another way.
    drawn = dq.germany(n_target=4_100, n_known=1, common=0, rng=np.random.default_rng(4)).target
    file = dq.microdata(drawn, LABELS, coordinates=PLACES, ids="id")
    rows, columns = np.arange(0, 4_100, 100, dtype=np.int32), np.arange(0, 4_100, 70, dtype=np.int32)
    specs = [*ON_PLACES.values(), *(spec.format("20km") for spec in ON_DISTANCES.values())]
    return {
        s: tried(lambda s=s: checksums(mask_in_order(file, s, seed=7).distances.block(rows, columns))) for s in specs
    }


@case("read")
def read(folder: Path) -> Figures:
    survey().to_csv(folder / "people.csv", index=False)
    survey().to_parquet(folder / "people.parquet", index=False)
    name_table().to_csv(folder / "names.csv", index=False)
    minutes().to_csv(folder / "minutes.csv")
    np.save(folder / "minutes.npy", minutes().to_numpy())
    np.save(folder / "vectors.npy", np.random.default_rng(2).normal(size=(60, 5)))
    pairs = [(i, j, minutes().loc[i, j]) for n, i in enumerate(survey()["id"]) for j in survey()["id"][:n]]
    pd.DataFrame(pairs, columns=["i", "j", "distance"]).to_csv(folder / "list.csv", index=False)
    given = {"labels": LABELS, "id": "id"}
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "csv": ("people.csv", {"coordinates": "lon,lat"}),
        "parquet": ("people.parquet", {"coordinates": "lon,lat", "metric": "wgs84"}),
        "projected": ("people.csv", {"coordinates": "lon,lat", "crs": "EPSG:4326"}),
        "matrix": ("people.csv", {"distances": folder / "minutes.csv", "unit": "none"}),
        "array": ("people.csv", {"distances": folder / "minutes.npy", "unit": "m"}),
        "list": ("people.csv", {"distances": folder / "list.csv", "unit": "km"}),
        "vectors": ("people.csv", {"vectors": folder / "vectors.npy"}),
        "cosine": ("people.csv", {"vectors": folder / "vectors.npy", "metric": "cosine"}),
        "text": ("names.csv", {"labels": ["sex"], "text": "first,last", "metric": "jaro-winkler"}),
        "coarser": ("people.csv", {"labels": ["a"], "coordinates": "lon,lat", "generalise": ["a=prefix:age_class:1"]}),
        "no such column": ("people.csv", {"labels": ["height"], "coordinates": "lon,lat"}),
    }
    return {
        name: tried(lambda f=f, o=o: checksums(matrix(dq.read(folder / f, **given | o))))
        for name, (f, o) in asked.items()
    }


@case("text-metrics")
def text_metrics(_: Path) -> Figures:
    return {m: checksums(matrix(names(m))) for m in ("dice:q=2", "dice:q=3", "levenshtein", "damerau", "jaro-winkler")}


@case("release")
def release(folder: Path) -> Figures:
    figures: Figures = {}
    for name, file, spec in (
        ("places", people(), "gaussian:sigma=2km"),
        ("matrix", roads(), "round:to=10"),
        ("names", names(), ON_TEXT["bloom"]),
    ):
        made = dq.release(file, spec, seed=3)
        made.save(folder / f"{name}.csv", key=folder / f"{name}-key.csv")
        table = pd.read_csv(folder / f"{name}.csv", dtype=str)
        figures[name] = {
            "ids": [str(one) for one in made.ids],
            "columns": len(table.columns),
            "rows": len(table),
            "distances": checksums(made.distances),
        }
    return figures


@case("release-command")
def release_command(folder: Path) -> Figures:
    survey().to_csv(folder / "people.csv", index=False)
    words = (
        "--id id --label sex --label age_class --coordinates lon,lat --mask gaussian:sigma=2km --seed 3 --matrix npy"
    )
    status = run(folder, "mask", "people.csv", *words.split(), "--out", "release.csv")
    table = pd.read_csv(folder / "release.csv", dtype=str)
    labels = ["/".join(row) for row in table[LABELS].to_numpy()]
    return {"exit": status, "labels": labels, "distances": checksums(np.load(folder / "release_distances.npy"))}


# Attacks --------------------------------------------------------------------------------------------------------------

SEEDS = ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))


@cases("poets", {solver: solver for solver in SOLVERS})
def poets(solver: str, _: Path) -> Figures:
    target, known = dq.poets()
    agreements = {"within": dq.Within(5), "relative": dq.Relative(0.05), "between": dq.Between(-3, 8)}
    figures: Figures = {}
    for name, agreement in agreements.items():
        result = dq.attack(target, known, agreement=agreement, truth="name", search=dq.Search(solver=solver))
        figures[name] = attacked(result) | clique(result)
    return figures


@cases("attack", {name: name for name in dq.attack_names(every=True)})
def attack(by: str, _: Path) -> Figures:
    target, known = two_files()
    told = dq.Knowledge(noise=dq.Spread(2, 2, "km"), common=0.5)
    near = dq.Within(3)

    def link(spec: str, knowledge: dq.Knowledge, **options: Any) -> Figures:
        return attacked(
            dq.attack(mask_in_order(target, spec, seed=2), known, by=by, knowledge=knowledge, truth="id", **options)
        )

    rows = roads(), mask_in_order(roads(), "matrix-gaussian:sd=5", seed=2)
    return {
        "gaussian": tried(link, "gaussian:sigma=2km", told, agreement=near),
        "not told": tried(link, "gaussian:sigma=2km", dq.Knowledge(), agreement=near),
        "knn": tried(link, "knn:k=10", dq.Knowledge(common=0.5), agreement=near),
        "lipschitz": tried(link, "lipschitz:sets=10", dq.Knowledge(common=0.5), agreement=near),
        "roads": tried(lambda: attacked(dq.attack(rows[1], rows[0], by=by, agreement=dq.Within(5), truth="id"))),
    }


@case("attack-clique-of-people")
def attack_clique(_: Path) -> Figures:
    target, known = two_files()
    released = mask_in_order(target, "gaussian:sigma=0.01deg", seed=4)
    figures: Figures = {}
    for x in (0.5, 2, "3km"):
        result = dq.attack(released, known, agreement=dq.Within(x), truth="id")
        figures[str(x)] = attacked(result) | clique(result)
    return figures


@case("attack-insider")
def attack_insider(_: Path) -> Figures:
    file = roads(directed=True)
    released = mask_in_order(file, "matrix-gaussian:sd=60", seed=6)
    told = dq.Knowledge(common=0.99)
    inside = dq.Knowledge(common=0.99, seeds=SEEDS)
    return {
        "without": tried(lambda: attacked(dq.attack(released, file, by="profiles", knowledge=told, truth="id"))),
        "with": tried(lambda: attacked(dq.attack(released, file, by="profiles", knowledge=inside, truth="id"))),
    }


@case("attack-names")
def attack_names(_: Path) -> Figures:
    figures: Figures = {}
    for name in ("bloom", "bloom-salt", "bloom-diffuse", "minhash"):
        told = dq.Knowledge(common=0.99, mask=dq.parse_mask(ON_TEXT[name]))
        released = mask_in_order(names(), ON_TEXT[name], seed=8)
        figures[name] = attacked(dq.attack(released, names(), by="profiles", knowledge=told, truth="id"))
    return figures


@case("attack-vectors")
def attack_vectors(_: Path) -> Figures:
    figures: Figures = {}
    for metric in ("euclidean", "cosine"):
        released = mask_in_order(vectors(metric), "gaussian:sigma=0.2", seed=8)
        for by in ("profiles", "bend"):
            link = partial(dq.attack, released, vectors(metric), by=by, truth="id")
            figures[f"{metric} {by}"] = tried(lambda link=link: attacked(link()))
    return figures


@case("attack-command")
def attack_command(folder: Path) -> Figures:
    survey(80).to_csv(folder / "people.csv", index=False)
    columns = "--id id --label sex --label age_class"
    made = f"{columns} --coordinates lon,lat --mask gaussian:sigma=500m --seed 1 --matrix npy --key key.csv"
    figures: Figures = {"mask": run(folder, "mask", "people.csv", *made.split(), "--out", "release.csv")}
    files = "--target-distances release_distances.npy --known-coordinates lon,lat --unit km --key key.csv"
    told = "--mask gaussian:sigma=500m --common 0.99 --attack all --json out.json --threads 1"
    words = f"--label sex --label age_class --id id {files} {told}".split()
    figures["exit"] = run(folder, "attack", "release.csv", "people.csv", *words)
    return figures | listed(folder / "out.json")


@case("attack-command-errors")
def attack_command_errors(folder: Path) -> Figures:
    target, known = two_files()
    wrong = known.table.copy()
    wrong.loc[::7, "sex"] = wrong["sex"].iloc[0]  # half of these values are wrong
    wrong.to_csv(folder / "known.csv", index=False)
    np.save(folder / "released.npy", matrix(mask_in_order(target, "gaussian:sigma=2km", seed=2)))
    target.table.drop(columns=PLACES).to_csv(folder / "released.csv", index=False)
    both = sorted(set(target.table["id"]) & set(known.table["id"]))[:5]
    pd.DataFrame({"target_id": both, "known_id": both}).to_csv(folder / "seeds.csv", index=False)
    files = "released.csv known.csv --id id --label sex --label age_class --truth id --known-coordinates lon,lat"
    given = (
        "--target-distances released.npy --unit km --compare sex=exact:0.1 --coordinate-error 100m --seeds seeds.csv"
    )
    told = "--mask gaussian:sigma=2km --common 0.5 --attack register --attack extend --attack profiles --threads 1"
    words = f"{files} {given} {told} --json out.json"
    return {"exit": run(folder, "attack", *words.split())} | listed(folder / "out.json")


@case("attack-command-encodings")
def attack_command_encodings(folder: Path) -> Figures:
    spec = "bloom:length=1024,bits=10,q=2"
    made = dq.release(names(), spec, seed=8)
    encodings = made.table.iloc[:, [-1]].set_axis(["clk"], axis=1)
    encodings.assign(id=list(made.ids)).to_csv(folder / "released.csv", index=False)
    name_table().to_csv(folder / "people.csv", index=False)
    files = "released.csv people.csv --id id --truth id --target-encodings clk --text first,last,born"
    words = f"{files} --mask {spec} --attack profiles --common 0.99 --json out.json"
    return {"exit": run(folder, "attack", *words.split())} | listed(folder / "out.json")


@case("register-in-pieces")
def register_in_pieces(folder: Path) -> Figures:
    drawn = dq.germany(n_target=100, n_known=4_000, common=100, rng=np.random.default_rng(9))
    write_pieces(drawn.known, folder, 3)
    register = dq.read_register(folder, LABELS, coordinates=PLACES, ids="id")
    target = dq.microdata(drawn.target, LABELS, coordinates=PLACES, ids="id")
    told = dq.Knowledge(noise=dq.Spread(0.5, 0.5, "km"), common=0.99)
    released = mask_in_order(target, "gaussian:sigma=500m", seed=1)
    whole = dq.microdata(drawn.known, LABELS, coordinates=PLACES, ids="id")
    return {
        "people": len(register),
        "pieces": attacked(dq.attack(released, register, by="register", knowledge=told, truth="id")),
        "whole": attacked(dq.attack(released, whole, by="register", knowledge=told, truth="id")),
    }


@cases("register-larger-than-memory", {"200KB": "200KB", "4MB": "4MB"})
def register_larger(memory: str, folder: Path) -> Figures:
    drawn = dq.germany(n_target=300, n_known=20_000, common=300, rng=np.random.default_rng(9))
    write_pieces(drawn.known, folder, 4)
    register = dq.read_register(folder, LABELS, coordinates=PLACES, ids="id")
    target = dq.microdata(drawn.target, LABELS, coordinates=PLACES, ids="id")
    told = dq.Knowledge(noise=dq.Spread(0.01, 0.01, "deg"), common=0.99)
    released = mask_in_order(target, "gaussian:sigma=0.01deg", seed=1)
    return attacked(dq.attack(released, register, by="register", knowledge=told, truth="id", memory=memory))


@case("register-command")
def register_command(folder: Path) -> Figures:
    drawn = dq.germany(n_target=80, n_known=3_000, common=80, rng=np.random.default_rng(9))
    write_pieces(drawn.known, folder / "register", 2)
    drawn.target.to_csv(folder / "target.csv", index=False)
    files = "target.csv register --id id --label sex --label age_class --coordinates lon,lat --truth id"
    told = "--attack register --noise 500m --common 0.99 --json out.json"
    return {"exit": run(folder, "attack", *files.split(), *told.split())} | listed(folder / "out.json")


# Cliques of plain graphs ----------------------------------------------------------------------------------------------


@case("clique-command")
def clique_command(folder: Path) -> Figures:
    rng = np.random.default_rng(21)
    n = 60
    edges = [(i + 1, j + 1) for i in range(n) for j in range(i) if rng.random() < 0.5]
    lines = [f"p edge {n} {len(edges)}", *(f"e {u} {v}" for u, v in edges)]
    (folder / "graph.col").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = [word for solver in SOLVERS for word in ("--solver", solver)]
    status = run(folder, "clique", "graph.col", *words, "--count", "--threads", "1", "--json", "out.json")
    results = json.loads((folder / "out.json").read_text(encoding="utf-8"))["results"]
    # Which of several maximum cliques a library finds is its own affair; ours is fixed.
    told = ("size", "proven", "bound", "maximum_cliques")
    figures: Figures = {one["solver"]: {name: one[name] for name in told} for one in results}
    return figures | {"exit": status, "members": results[0]["members"]}


# Audits ---------------------------------------------------------------------------------------------------------------

AUDITED = {
    "gaussian": "gaussian:sigma=40km",
    "disc": "disc:max=150km",
    "donut": "donut:min=30km,max=150km",
    "laplace": "laplace:epsilon=0.03/km",
    "grid": "grid:cell=100km",
    "voronoi": "voronoi",
    "swap": "swap:radius=200km",
    "dhs": "dhs:urban=100km,rural=200km,far=300km",
    "affine": "affine",
    "matrix-gaussian": "matrix-gaussian:sd=200km",
    "matrix-laplace": "matrix-laplace:b=100km",
    "multiplicative": "multiplicative:sd=0.5",
    "round": "round:to=200km",
    "topcode": "topcode:max=40km",
    "knn": "knn:k=2",
    "lipschitz": "lipschitz:sets=10",
    "projection": "projection:dimensions=2",
}


@cases("audit", AUDITED)
def audit_mask(spec: str, _: Path) -> Figures:
    # One label and strong masks: where everybody is found, figures would not move.
    file = dq.microdata(survey(), ["sex"], coordinates=PLACES, ids="id")
    options = QUICK | {"attacks": ["labels", "register", "equal"]}
    return audited(dq.audit(file, spec, overlap=0.5, max_risk=0.3, **options))


@case("audit-all-attacks")
def audit_all(_: Path) -> Figures:
    return audited(dq.audit(people(40), "gaussian:sigma=20km", overlap=0.5, **QUICK | {"attacks": ["all"]}))


@cases("audit-scenario", {name: name for name in ("prosecutor", "journalist", "marketer")})
def audit_scenario(scenario: str, _: Path) -> Figures:
    return audited(dq.audit(people(), "gaussian:sigma=30km", overlap=0.5, max_risk=0.4, scenario=scenario, **QUICK))


SNOOPERS = {
    "whole": {},
    "label-error": {"overlap": 0.5, "label_error": 0.1},
    "coordinate-error": {"overlap": 0.5, "coordinate_error": "2km"},
    "seeds": {"overlap": 0.5, "seeds": 5},
    "larger": {"overlap": 0.2, "size": 120},
}


@cases("audit-snooper", SNOOPERS)
def audit_snooper(options: dict[str, Any], _: Path) -> Figures:
    return audited(dq.audit(people(), "gaussian:sigma=40km", **options, **QUICK))


@case("audit-given")
def audit_given(_: Path) -> Figures:
    return audited(dq.audit(people(60), "gaussian:sigma=10km", known=people(80, 30), **QUICK))


@case("audit-others")
def audit_others(_: Path) -> Figures:
    return audited(dq.audit(people(60), "gaussian:sigma=10km", others=people(150, 60), overlap=0.3, **QUICK))


@cases("audit-releases", {"linked": True, "unlinked": False})
def audit_releases(linked: bool, _: Path) -> Figures:
    return audited(dq.audit(people(), "gaussian:sigma=30km", overlap=0.5, releases=2, linked=linked, **QUICK))


@case("audit-missing")
def audit_missing(_: Path) -> Figures:
    table = survey().copy()
    table.loc[::5, "age_class"] = None
    file = dq.microdata(table, LABELS, coordinates=PLACES, ids="id")
    return {way: audited(dq.audit(file, "gaussian:sigma=20km", missing=way, **QUICK)) for way in ("any", "never")}


@case("audit-generalise")
def audit_generalise(_: Path) -> Figures:
    table = survey().copy()
    table["age"] = np.random.default_rng(0).integers(0, 90, len(table))
    file = dq.microdata(table, ["sex", "age"], coordinates=PLACES, ids="id")
    dials = ["age=width:age:1..40", "drop:sex"]
    return audited(dq.audit(file, "gaussian:sigma=20km", generalise=dials, overlap=0.5, **QUICK))


@case("audit-sensitivity")
def audit_sensitivity(_: Path) -> Figures:
    return audited(dq.audit(people(40), "gaussian:sigma=20km", overlap=0.5, **QUICK | {"sensitivity": True}))


@case("audit-utility")
def audit_utility(_: Path) -> Figures:
    found = {}
    for by in ("spearman", "pearson", "rand_index"):
        found[by] = audited(dq.audit(people(40), "gaussian:sigma=20km", utility=by, **QUICK))
    return found


@case("audit-range")
def audit_range(_: Path) -> Figures:
    return audited(dq.audit(people(40), "gaussian:sigma=5km..80km", overlap=0.5, **QUICK))


@case("audit-meets")
def audit_meets(_: Path) -> Figures:
    options = QUICK | {"repetitions": 12, "attacks": ["labels"]}
    return audited(dq.audit(people(), "gaussian:sigma=10km..2000km", overlap=0.5, max_risk=0.6, **options))


@case("audit-fails")
def audit_fails(_: Path) -> Figures:
    return audited(dq.audit(people(40), "gaussian:sigma=100m..5km", overlap=0.5, max_risk=0.05, **QUICK))


@case("audit-unproven")
def audit_unproven(_: Path) -> Figures:
    return audited(dq.audit(people(), "gaussian:sigma=500km", overlap=0.5, max_risk=0.3, **QUICK))


@case("audit-person")
def audit_person(_: Path) -> Figures:
    limits = {"max_risk": 0.6, "max_risk_person": 0.9}
    return audited(dq.audit(people(40), "gaussian:sigma=200km", overlap=0.5, **limits, **QUICK))


@cases("audit-names", {name: ON_TEXT[name] for name in ("bloom", "bloom-salt", "bloom-diffuse", "minhash", "two-step")})
def audit_names(spec: str, _: Path) -> Figures:
    options = OFF_MAP | {"attacks": ["profiles"]}
    return audited(dq.audit(names(), spec, overlap=0.5, max_risk=0.3, utility="linkage", **options))


@cases("audit-names-whole", {"flip": "bloom:length=512,bits=10,q=2,flip=0.02", "minhash": "minhash:length=1024,q=2"})
def audit_names_whole(spec: str, _: Path) -> Figures:
    options = OFF_MAP | {"attacks": ["profiles"], "repetitions": 1}
    return audited(dq.audit(names(n=40), spec, **options))


@case("audit-names-insider")
def audit_names_insider(_: Path) -> Figures:
    options = OFF_MAP | {"attacks": ["profiles"], "repetitions": 1, "seeds": 10}
    return audited(dq.audit(names(n=40), ON_TEXT["bloom"], overlap=0.8, **options))


@cases("audit-vectors", {"euclidean": "euclidean", "cosine": "cosine"})
def audit_vectors(metric: str, _: Path) -> Figures:
    masks = ["gaussian:sigma=0.5", "rotation", "projection:dimensions=3"]
    return audited(dq.audit(vectors(metric), masks, overlap=0.5, max_risk=0.3, **OFF_MAP))


@cases("audit-vectors-whole", {"euclidean": "euclidean", "cosine": "cosine"})
def audit_vectors_whole(metric: str, _: Path) -> Figures:
    return audited(dq.audit(vectors(metric, 40), "gaussian:sigma=0.4", **OFF_MAP | {"attacks": ["profiles", "bend"]}))


@case("audit-records")
def audit_records(_: Path) -> Figures:
    masks = ["matrix-gaussian:sd=0.1", "round:to=0.2"]
    return {
        "half": audited(dq.audit(records(), masks, overlap=0.5, max_risk=0.3, **OFF_MAP)),
        "whole": audited(dq.audit(records(40), "matrix-gaussian:sd=0.15", **OFF_MAP)),
    }


@cases("audit-roads", {"there-is-back": False, "directed": True})
def audit_roads(directed: bool, _: Path) -> Figures:
    masks = ["round:to=60", "matrix-gaussian:sd=120"]
    return audited(dq.audit(roads(80, directed), masks, overlap=0.5, max_risk=0.3, **OFF_MAP))


# Audits by the command line -------------------------------------------------------------------------------------------

COLUMNS = "--id id --label sex --label age_class --coordinates lon,lat"
LITTLE = "--repetitions 2 --seed 1 --no-sensitivity --person-trials 10 --processes 1 --yes --quiet --out audit"
TWO_ATTACKS = "--attack labels --attack register"


def audit_by_command(folder: Path, words: str) -> Figures:
    status = run(folder, "audit", "people.csv", *words.split(), *LITTLE.split())
    return {"exit": status} | written(folder / "audit")


@case("audit-command")
def audit_command(folder: Path) -> Figures:
    survey(40).to_csv(folder / "people.csv", index=False)
    masks = "--mask gaussian:sigma=1km --mask gaussian:sigma=10km..40km"
    return audit_by_command(folder, f"{COLUMNS} {masks} {TWO_ATTACKS} --overlap 0.5 --max-risk 0.1")


@case("audit-command-others-in-pieces")
def audit_command_others(folder: Path) -> Figures:
    survey(50).to_csv(folder / "people.csv", index=False)
    strangers = dq.germany(n_target=1, n_known=3_000, common=0, rng=np.random.default_rng(10)).known
    strangers["id"] = [f"R{i:05d}" for i in range(len(strangers))]
    write_pieces(strangers, folder / "register", 2)
    words = f"{COLUMNS} --mask gaussian:sigma=20km {TWO_ATTACKS} --overlap 0.3 --known-size 100 --others register"
    return audit_by_command(folder, words)


@case("audit-command-germany")
def audit_command_germany(folder: Path) -> Figures:
    survey(50).to_csv(folder / "people.csv", index=False)
    words = f"{COLUMNS} --mask gaussian:sigma=40km {TWO_ATTACKS} --overlap 0.3 --others germany"
    return audit_by_command(folder, words)


@case("audit-folder")
def audit_folder(folder: Path) -> Figures:
    made = dq.audit(people(40), "gaussian:sigma=40km", overlap=0.5, folder=folder / "audit", **QUICK)
    again = dq.audit(people(40), "gaussian:sigma=40km", overlap=0.5, folder=folder / "audit", **QUICK)
    return {"made": audited(made), "again": audited(again), "written": written(folder / "audit")}


@cases("audit-register", {"others": "others", "known": "known"})
def audit_register(role: str, folder: Path) -> Figures:
    drawn = dq.germany(n_target=50, n_known=3_000, common=25, rng=np.random.default_rng(15))
    write_pieces(
        drawn.known[~drawn.known["id"].isin(drawn.target["id"])] if role == "others" else drawn.known, folder, 3
    )
    register = dq.read_register(folder, LABELS, coordinates=PLACES, ids="id")
    target = dq.microdata(drawn.target, LABELS, coordinates=PLACES, ids="id")
    options: dict[str, Any] = {"others": {"overlap": 0.5, "size": 100}, "known": {}}[role]
    return audited(dq.audit(target, "gaussian:sigma=5km", **{role: register}, **options, **QUICK))


@case("audit-command-roads")
def audit_command_roads(folder: Path) -> Figures:
    survey(60).drop(columns=PLACES).to_csv(folder / "people.csv", index=False)
    minutes(60, True).to_csv(folder / "minutes.csv")
    files = "--id id --label sex --label age_class --distances minutes.csv --directed --unit none"
    words = f"{files} --mask round:to=30 --attack labels --attack profiles --overlap 0.5"
    return audit_by_command(folder, words)


# The rest -------------------------------------------------------------------------------------------------------------


@case("study")
def study(_: Path) -> Figures:
    found = dq.study(
        sigma=[0.01, 0.05], alpha=0.5, repetitions=2, n=100, common=30, attack=["clique", "register"], seed=0
    )
    told = ["mask", "attack", "repetitions", "tp", "precision", "recall", "precision_sd", "recall_sd"]
    return {name: found.summary[name].tolist() for name in told}


@case("study-attacks")
def study_attacks(_: Path) -> Figures:
    by = ["guess", "labels", "quasi", "extend", "register", "ceiling"]
    found = dq.study(sigma=[0.2], alpha=0.5, repetitions=2, n=80, common=30, attack=by, seed=0)
    told = ["mask", "attack", "repetitions", "tp", "expected", "precision", "recall"]
    return {name: found.summary[name].tolist() for name in told}


@case("study-masks")
def study_masks(_: Path) -> Figures:
    masks = ["grid:cell=5km", "matrix-gaussian:sd=7km", "lipschitz:sets=10"]
    found = dq.study(mask=masks, alpha=[0.3, 0.6], repetitions=2, n=80, common=20, attack=["clique", "labels"], seed=0)
    told = ["mask", "attack", "repetitions", "tp", "precision", "recall"]
    return {name: found.summary[name].tolist() for name in told}


CALIBRATED = ON_PLACES | {name: spec.format("20km") for name, spec in ON_DISTANCES.items()}


@case("calibrate")
def calibrate(_: Path) -> Figures:
    return {name: tried(calibrated, spec) for name, spec in CALIBRATED.items()}


def calibrated(spec: str) -> Figures:
    """Return the table of deviations of a mask, and bounds at three distances."""
    found = dq.calibrate(dq.parse_mask(spec), records=60, pairs=300, rng=np.random.default_rng(0))
    row = {str(name): value for name, value in found.row().items() if name not in ("mask", "pairs")}
    low, high = found.agreement(0.5).interval(np.array([5.0, 50.0, 300.0]))
    return {"row": row, "low": low.tolist(), "high": high.tolist()}


MEASURES = (
    *("published", "variance", "bias", "q0.05", "q0.5", "q0.95", "pearson", "spearman", "wasserstein", "stress"),
    *("neighbours_5", "neighbours_10", "neighbours_25", "rand_index", "neighbours", "displacement_mean"),
    *("displacement_median", "displacement_max", "displacement_centre_drift", "displacement_ripley"),
)


@case("utility")
def utility(_: Path) -> Figures:
    figures: Figures = {}
    for name, file, spec in (
        ("gaussian", people(), "gaussian:sigma=10km"),
        ("knn", people(), "knn:k=10"),
        ("roads", roads(), "round:to=30"),
        ("bloom", names(), ON_TEXT["bloom"]),
        ("records", records(), "matrix-gaussian:sd=0.1"),
    ):
        released = mask_in_order(file, spec, seed=1)
        found = dq.utility(file.distances, released.distances, rng=np.random.default_rng(0))
        figures[name] = {measure: tried(lambda m=measure, f=found: f[m]) for measure in MEASURES}
    return figures


@case("synthetic")
def synthetic(_: Path) -> Figures:
    drawn = dq.germany(n_target=200, n_known=150, common=20, rng=np.random.default_rng(0))
    whole = dq.survey()
    return {
        "target": checksums(drawn.target[PLACES]),
        "known": checksums(drawn.known[PLACES]),
        "common": len(drawn.truth),
        "sex": drawn.target["sex"].value_counts().sort_index().tolist(),
        "age_class": drawn.target["age_class"].value_counts().sort_index().tolist(),
        "survey": checksums(whole[PLACES]),
        "ids": whole["id"].tolist()[:20],
        "cities": matrix(dq.cities()).tolist(),
    }


@case("look")
def look(folder: Path) -> Figures:
    survey().to_csv(folder / "people.csv", index=False)
    table = survey()
    swapped = dq.microdata(table, LABELS, coordinates=table[["lat", "lon"]].to_numpy(), ids="id")
    by_id = dq.microdata(table, ["id"], coordinates=PLACES, ids="id")
    nowhere = dq.microdata(table.assign(lon=0.0, lat=0.0), LABELS, coordinates=PLACES, ids="id")
    other = dq.microdata(table.assign(sex=table["sex"].str.upper() + " "), LABELS, coordinates=PLACES, ids="id")
    return {
        "people": looked(people()),
        "read": looked(dq.read(folder / "people.csv", labels=LABELS, id="id", coordinates="lon,lat")),
        "poets": looked(*dq.poets()),
        "names": looked(names()),
        "vectors": looked(vectors()),
        "records": looked(records()),
        "roads": looked(roads(directed=True)),
        "two files": looked(*two_files()),
        "swapped": looked(swapped),
        "id as label": looked(by_id),
        "nowhere": looked(nowhere),
        "other spelling": looked(people(), other, same_ids=True),
        "audit refuses": tried(lambda: audited(dq.audit(swapped, "affine", **QUICK))),
    }


# Record and compare ---------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return figures in the types of JSON; what is no finite number there is a text."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value if isinstance(value, bool | int | float | str) else str(value)


def record(out: Path, only: Sequence[str]) -> int:
    """Run the cases and write their figures."""
    chosen = [name for name in CASES if not only or any(name.startswith(start) for start in only)]
    if not chosen:
        print(f"no case is called {', '.join(only)}: there are {', '.join(CASES)}")
        return 2
    found: dict[str, Any] = {}
    begun, cpu = time.perf_counter(), time.process_time()
    for number, name in enumerate(chosen, 1):
        at = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning is a sentence
            found[name] = plain(tried(CASES[name], Path(folder)))
        # After every case, so that a recording that is stopped keeps what it has.
        out.write_text(json.dumps({"cases": found}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        said = f"  {found[name]}" if isinstance(found[name], str) else ""
        print(f"{number}/{len(chosen)} {name}: {time.perf_counter() - at:.1f} s{said}", flush=True)
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    raised = sum(isinstance(one, str) for one in found.values())
    print(f"{len(found)} cases, {raised} of them exceptions: {wall:.0f} s, {cpu:.0f} CPU-seconds without commands")
    return 0


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every figure with its key; an empty list or mapping is a figure."""
    if isinstance(value, dict | list) and value:
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in named:
            yield from leaves(one, f"{key}.{name}" if key else str(name))
    else:
        yield key, value


def same(old: Any, new: Any, tolerance: float) -> bool:
    """Say whether two figures agree, numbers but for the tolerance: relative for those above 1."""
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in (old, new)]
    if all(numbers):
        return abs(old - new) <= tolerance * max(1.0, abs(old), abs(new))
    return type(old) is type(new) and old == new


def compare(old: Path, new: Path, tolerance: float) -> int:
    """Print every difference of two recordings, and how many there are."""
    before, after = (json.loads(path.read_text(encoding="utf-8"))["cases"] for path in (old, new))
    differ = figures = 0
    for name in dict.fromkeys([*before, *after]):
        was, now = (dict(leaves(side[name])) if name in side else {} for side in (before, after))
        for key in dict.fromkeys([*was, *now]):
            figures += 1
            here = key in was and key in now
            if not here or not same(was[key], now[key], tolerance):
                differ += 1
                said = [repr(side[key]) if key in side else "absent" for side in (was, now)]
                print(f"{name}  {key}: {said[0]} -> {said[1]}")
    print(f"{differ} of {figures} figures differ")
    return int(differ > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    recording = ways.add_parser("record", help="run the cases and write their figures")
    recording.add_argument("out", type=Path)
    recording.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases that are called, or begin, so")
    comparing = ways.add_parser("compare", help="print every difference of two recordings")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--tolerance", type=float, default=1e-9)
    asked = parser.parse_args()
    if asked.way == "record":
        return record(asked.out, asked.only)
    return compare(asked.old, asked.new, asked.tolerance)


if __name__ == "__main__":
    sys.exit(main())
