"""What the attack on two matrices finds, beside what was published and beside other solvers, from fixed seeds.

    python benchmarks/matching.py [PART ...] [--data DIR] [--splits 5] [--show]

Every run is one line of a table that is appended to as soon as it is done; a run that is there is not done again. The
tables and pictures of the documentation are made from it (``--show``). Names come from the folder of ``--data``
(fakename_1k.tsv and others, gma_published.csv); what needs none runs without. The snooper knows the mask, not the
secret, and not how many people the files share; pairs with a probability above one half are claimed.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import disclique as dq
from disclique.attacks.link import truth_of
from disclique.measures.risk import judge
from disclique.measures.utility import best_f1, encode_twice
from matching_files import ENCODINGS, ROOT, Case, Cell, count_people, draw_case, grid_cell
from matching_peers import PEERS, solve_by_peer
from matching_show import show

RESULTS = Path(__file__).parent / "results" / "matching.csv"
CLASSES = (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)  # of probabilities, to see whether they are right
GRID = ("fakename_1k", "fakename_2k", "titanic_full", "fakename_5k")
PROTECTED = (
    "bloom:length=1024,bits=10,q=2",
    *(f"bloom:length=1024,bits={bits},q=2" for bits in (20, 80)),
    "bloom:length=256,bits=10,q=2",
    *(f"bloom:length=1024,bits=10,q=2,flip={flip}" for flip in (0.05, 0.1, 0.2)),
    *(f"bloom:length=1024,bits=10,q=2,diffuse={count}" for count in (2, 5, 10)),
    *(f"bloom:length=1024,bits=10,q=2,salt={count}" for count in (4, 16, "record")),
    "bloom:length=1024,bits=10,q=2,balance=yes",
    "minhash:length=1024,q=2",
    "two-step:columns=1000,bits=10,q=2",
)


@dataclass(frozen=True)
class Chosen:
    """What the command line asks for."""

    data: Path | None
    files: tuple[str, ...]
    overlaps: tuple[float, ...]
    strangers: tuple[str, ...]
    encodings: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What came out of one run: ``classes`` has pairs, sum of probabilities and true pairs for each class of them."""

    right: int
    claims: int
    expected: float
    seconds: float
    doubt: str = ""
    classes: str = ""
    linkage: float = float("nan")
    memory: float = float("nan")  # megabytes that the run took at the most


def first(chosen: Chosen) -> Iterator[Cell]:
    """300 × 300 records: what used to be refused or found nothing."""
    bloom = ENCODINGS["bf"]
    for sizes, errors in (((300, 300, 300), 0.0), ((300, 300, 300), 0.5), ((300, 600, 300), 0.0)):
        yield Cell("first", "fakename_1k names", bloom, *sizes, errors=errors)
    yield Cell("first", "fakename_1k names", bloom, 300, 300, 200)
    yield Cell("first", "fakename_1k names", bloom, 300, 300, 100)
    yield Cell("first", "fakename_2k names", bloom, 300, 1500, 300)
    yield Cell("first", "fakename_1k", bloom, 300, 300, 100)
    yield Cell("first", "fakename_2k", bloom, 300, 1500, 300)
    for source, mask in (("points-3", "noise=1.0"), ("roads", "noise=0.5"), ("edits", "matrix-gaussian:sd=10")):
        yield Cell("first", source, mask, 300, 300, 300, groups=20)


def spaces(chosen: Chosen) -> Iterator[Cell]:
    """Travel times on a road network of 500 junctions, and mixtures of normal distributions, 500 records."""
    everybody, third = (500, 500, 500), (300, 300, 100)
    yield Cell("spaces", "roads", "noise=0.5", *everybody, groups=20)
    yield Cell("spaces", "roads", "noise=0.05", *everybody)
    yield Cell("spaces", "roads", "noise=0.05", *third)
    yield Cell("spaces", "roads", "noise=0.3", *everybody)
    for source, share in (("mixture-8", 0.1), ("mixture-8", 0.3), ("mixture-32", 0.3)):
        yield Cell("spaces", source, f"noise={share}", *everybody)


def alarms(chosen: Chosen) -> Iterator[Cell]:
    """Files that share nobody."""
    bloom = ENCODINGS["bf"]
    for source, mask, sizes in (
        ("fakename_1k", bloom, (500, 500)),
        ("fakename_1k", bloom, (100, 900)),
        ("fakename_2k", bloom, (1000, 1000)),
        ("titanic_full", bloom, (445, 445)),
        ("fakename_1k", ENCODINGS["tmh"], (500, 500)),
        ("edits", "matrix-gaussian:sd=1", (300, 300)),
        ("roads", "noise=0.05", (250, 250)),
        ("mixture-8", "noise=0.1", (250, 250)),
        ("mixture-8", "noise=0.3", (500, 500)),
        ("mixture-32", "noise=0.1", (250, 250)),
        ("points-3", "noise=0.1", (300, 300)),
        ("germany", "gaussian:sigma=0.01deg", (300, 300)),
        ("germany", "gaussian:sigma=0.01deg", (500, 1000)),
        ("fakename_10k", bloom, (5000, 5000)),
        ("fakename_1k with typed", bloom, (500, 500)),
    ):
        yield Cell("alarms", source, mask, *sizes, 0)


def published(chosen: Chosen) -> Iterator[Cell]:
    """The grid of Schäfer, Armknecht and Heng (2024)."""
    assert chosen.data is not None
    for strangers in chosen.strangers:
        for encoding in chosen.encodings:
            for file in chosen.files:
                people = count_people(chosen.data, file)
                for overlap in chosen.overlaps:
                    yield grid_cell("published", file, people, strangers, overlap, mask=ENCODINGS[encoding])


def sizes(chosen: Chosen) -> Iterator[Cell]:
    """The largest files of that grid; that of 50,000 is recombined from the one of 20,000."""
    for file, people, overlaps in (
        ("fakename_10k", 10_000, (0.15, 0.1)),
        ("fakename_20k", 20_000, (0.1,)),
        ("recombined_50k", 50_000, (0.1,)),
    ):
        for overlap in overlaps:
            yield grid_cell("published", file, people, "Both", overlap, mask=ENCODINGS["bf"])


def errors(chosen: Chosen) -> Iterator[Cell]:
    """Known files with errors: those of the published runs, and errors in some of the records."""
    bloom = ENCODINGS["bf"]
    for file, people, fault, overlaps in (
        ("fakename_1k", 1000, "typed", (0.5, 0.9)),
        ("fakename_2k", 2000, "typed", (0.5, 0.7)),
        ("fakename_5k", 5000, "letters-15", (0.3, 0.5)),
        ("fakename_10k", 10_000, "letters-10", (0.1, 0.2)),
        ("fakename_10k", 10_000, "letters-20", (0.5,)),
        ("fakename_1k", 1000, "swapped-10", (0.5,)),
        ("fakename_1k", 1000, "missing-10", (0.5,)),
    ):
        for overlap, by in product(overlaps, ("profiles", "code")):
            yield grid_cell("errors", f"{file} with {fault}", people, "Both", overlap, mask=bloom, by=by)
    for share, by in product((0.02, 0.1, 0.2), ("profiles", "code")):
        yield grid_cell("errors", "fakename_1k", 1000, "Both", 0.5, mask=bloom, errors=share, by=by)


def fakes(chosen: Chosen) -> Iterator[Cell]:
    """A release of 1,000 listed people among whom are fake records: people of the same kind who are on no list."""
    for many in (10, 100, 1000, 5000):
        yield Cell("fakes", "fakename_10k", ENCODINGS["bf"], 1000 + many, 1000, 1000)


def several(chosen: Chosen) -> Iterator[Cell]:
    """Three Bloom filters of each person beside each of them alone."""
    for overlap in (0.2, 0.3, 0.5):
        for columns in ("01", "02", "12", "01+02+12"):
            yield grid_cell("several", "fakename_1k", 1000, "Both", overlap, mask=f"columns={columns}")


def peers(chosen: Chosen) -> Iterator[Cell]:
    """The same files given to quadratic assignment and Gromov-Wasserstein."""
    assert chosen.data is not None
    people = count_people(chosen.data, "fakename_1k")
    for overlap in (0.8, 0.5, 0.3, 0.2):
        for by in ("profiles", *PEERS):
            yield grid_cell("peers", "fakename_1k", people, "Both", overlap, mask=ENCODINGS["bf"], by=by)


def protect(chosen: Chosen) -> Iterator[Cell]:
    """Which dial helps: 500 people, everybody in both files, or half of them, or 50 known to an insider beforehand."""
    for mask in PROTECTED:
        for overlap, seeds in ((1.0, 0), (0.5, 0), (1.0, 50)):
            yield grid_cell("protect", "fakename_1k", 500, "Both", overlap, mask=mask, seeds=seeds)


PARTS: dict[str, Callable[[Chosen], Iterator[Cell]]] = {
    "first": first,
    "spaces": spaces,
    "alarms": alarms,
    "published": published,
    "sizes": sizes,
    "errors": errors,
    "fakes": fakes,
    "several": several,
    "peers": peers,
    "protect": protect,
}


def attack(cell: Cell, case: Case, split: int) -> Found:
    """Carry out the attack of a cell and hold it against the truth."""
    truth = truth_of(case.target, case.known, "person")
    begun = time.process_time()
    if cell.by in PEERS:
        pairs = solve_by_peer(cell.by, case, cell.common / cell.targets, ROOT.rng("peer", *cell.drawn, split))
        seconds = time.process_time() - begun
        return Found(int(truth.holds(*pairs).sum()), len(pairs[0]), float("nan"), seconds)
    seeds = truth.pairs[: cell.seeds]  # rows are in random order
    claims = dq.attack(case.target, case.known, by=cell.by, knowledge=dq.Knowledge(mask=case.mask, seeds=seeds)).claims
    seconds = time.process_time() - begun
    found = judge(claims, truth, seeds=[(int(row), int(column)) for row, column in seeds]).risk
    true = truth.holds(claims.target, claims.known)
    place = np.searchsorted(CLASSES, claims.probability, side="left")
    classes = " ".join(
        f"{(place == k).sum()}:{claims.probability[place == k].sum():.3f}:{true[place == k].sum()}"
        for k in range(1, len(CLASSES))
    )
    expected = 0.0 if claims.expected is None else claims.expected
    return Found(found.tp, found.tp + found.fp, expected, seconds, claims.doubt, classes)


def measure_linkage(cell: Cell, case: Case, split: int) -> float:
    """Return how well two files under one key could be linked although one has typing errors."""
    across = encode_twice(case.known.distances, case.mask, ROOT.rng("linkage", *cell.drawn, split))
    return float("nan") if across is None else best_f1(across)


def read_done(file: Path) -> set[tuple[str, ...]]:
    """Return the runs that a table has."""
    if not file.exists():
        return set()
    names = [*(field.name for field in fields(Cell)), "split"]
    with file.open(newline="", encoding="utf-8") as table:
        return {tuple(row[name] for name in names) for row in csv.DictReader(table)}


def run(cell: Cell, split: int, data: Path | None, file: Path) -> None:
    """Do one run and add it to the table."""
    case = draw_case(cell, split, data)
    found = asdict(attack(cell, case, split))
    if cell.part == "protect":
        found["linkage"] = round(measure_linkage(cell, case, split), 4)
    found["memory"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)  # of a process of its own
    row = {**asdict(cell), "split": split, **found, "expected": round(found["expected"], 2)}
    row["seconds"] = round(found["seconds"], 2)
    new = not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", newline="", encoding="utf-8") as table:
        writer = csv.DictWriter(table, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
        table.flush()
        os.fsync(table.fileno())
    share = (
        f"{found['right'] / (cell.common - cell.seeds):.3f}"
        if cell.common
        else f"{found['claims'] / cell.targets:.3%} claimed"
    )
    sure = found["right"] / max(found["claims"], 1)
    print(
        f"{cell.part:9} {cell.source:18} {cell.mask:36} {cell.targets} x {cell.known}, {cell.common} common, {cell.by}"
        f" #{split}: found {share}, precision {sure:.3f}, expected {found['expected']:.1f}, {found['seconds']:.1f} s,"
        f" {found['memory']:.0f} MB",
        flush=True,
    )


def main() -> None:
    """Do the runs that are asked for and not done yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[], help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, help="folder of names and published results")
    parser.add_argument("--splits", type=int, default=5, help="pairs of files per cell, each with fresh keys")
    parser.add_argument("--files", default=",".join(GRID), help="published: which files")
    parser.add_argument("--overlaps", default="0.1,0.15,0.2,0.3,0.5,0.8,1.0", help="published: shares of common people")
    parser.add_argument("--strangers", default="Both,Alice", help="published: where the strangers are")
    parser.add_argument("--encodings", default="bf", help=f"published: of {','.join(ENCODINGS)}")
    parser.add_argument("--only", default="", help="cells whose source, mask or attack has this in it")
    parser.add_argument("--results", type=Path, default=RESULTS, help="table to go on with")
    parser.add_argument("--show", action="store_true", help="run nothing; put tables and pictures into docs/")
    given = parser.parse_args()
    if not given.show:
        listed = {name: tuple(getattr(given, name).split(",")) for name in ("files", "strangers", "encodings")}
        chosen = Chosen(given.data, overlaps=tuple(map(float, given.overlaps.split(","))), **listed)
        cells = [cell for name in given.parts or PARTS for cell in PARTS[name](chosen)]
        cells = [cell for cell in cells if given.only in f"{cell.source} {cell.mask} {cell.by}"]
        done = read_done(given.results)
        # every cell once before any twice: a run that is stopped says most
        runs = [(cell, split) for split in range(given.splits) for cell in cells if cell.key(split) not in done]
        with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as alone:  # each has a peak of its own
            for cell, split in runs:
                alone.submit(run, cell, split, given.data, given.results).result()
    show(given.results, given.data, document=given.show)


if __name__ == "__main__":
    main()
