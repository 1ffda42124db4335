"""How far registration's probabilities hold on other people than it was built on: figures of docs/evidence/attacks.md.

    python benchmarks/posteriors.py [--sets 20] [--document]

500 targets, 500 known people, a fifth or a half of them common, in four kinds of worlds (``worlds.py``) with Gaussian
noise of .3, 1, 3 and 10 km; the mean distance to the nearest known person is 2.2 km where people live uniformly.
``register`` is the attack itself; at 10 km, where it finds its alignment doubtful and claims nothing, it is given the
alignment. *Plain* weighs the same pairs by the five nearest neighbours and the global shares of
labels, *truth* by the true density of strangers; both are given the alignment. Runs are kept in
``results/posteriors.csv``, so that an interrupted benchmark goes on.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from disclique.attacks.align import AttackInputs
from disclique.attacks.align.likelihood import LikelihoodModel, find_pairs
from disclique.attacks.population import Population, measure_rarity
from disclique.attacks.registration import ceiling, register
from disclique.attacks.weigh.pairs import weigh_matchings
from disclique.model import Candidates
from disclique.records.labels import Exact, candidates
from disclique.show.plots import PLOT_COLOURS, save_figure
from disclique.values import FloatArray
from worlds import KINDS, Case, make_case

HERE = Path(__file__).parent
DOCS, RESULTS = HERE.parent / "docs", HERE / "results" / "posteriors.csv"
PAGE = DOCS / "evidence" / "attacks.md"
SIGMAS, OVERLAPS = (0.3, 1.0, 3.0, 10.0), (0.2, 0.5)
CLASSES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0])
FEW = 100  # pairs below which a class says nothing
WRONG = 0.05
DOUBTFUL = 10.0
METHODS = {"plain": "plain", "register": "`register`", "truth": "true density"}
FIELDS = ("part", "kind", "overlap", "sigma", "seed", "method", "right", "claims", "common", "expected", "classes")
Row = dict[str, object]
Weighed = tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]


def tally(one: Case, found: Weighed) -> Row:
    """Count what pairs with probabilities are worth: claims above one half, and by classes of probability."""
    target, known, probability = found
    true = one.truth[target] == known
    claimed = probability > 0.5
    place = np.digitize(probability, CLASSES[:-1]) - 1
    sums = [
        np.bincount(place[place >= 0], values[place >= 0], len(CLASSES) - 1)
        for values in (np.ones(len(place)), probability, true.astype(float))
    ]
    return {
        "right": int((true & claimed).sum()),
        "claims": int(claimed.sum()),
        "common": int((one.truth >= 0).sum()),
        "expected": round(float(probability.sum()), 4),
        "classes": " ".join(f"{n:.0f}:{p:.4f}:{t:.0f}" for n, p, t in zip(*sums, strict=True)),
    }


def attack(one: Case) -> Weighed:
    """Register the target of a case; with wide noise it is given how the map lies."""
    find = register if one.sigma < DOUBTFUL else ceiling
    claims = find(one.masked, one.known, candidates=one.candidates, knowledge=one.knowledge)
    return claims.target.astype(np.int64), claims.known.astype(np.int64), claims.probability


def yardsticks(one: Case) -> Iterator[tuple[str, Weighed]]:
    """Weigh the pairs of a case by the plain density and by the true one."""
    inputs = AttackInputs(Population.of(one.known), one.candidates, one.knowledge)
    assert one.knowledge.noise is not None
    model = inputs.build_model(one.knowledge.noise, inputs.finest)
    who = np.flatnonzero(model.matchable)
    places = inputs.known_map.place(one.masked)
    pairs = find_pairs(model, places[who], np.zeros(len(who)), who)
    height = -np.log(2 * np.pi * np.sqrt(pairs.variance.prod(axis=1)))
    height -= (pairs.residual**2 / pairs.variance).sum(axis=1) / 2
    labels = one.candidates.target_class[pairs.target].astype(np.int64)
    true = np.log(len(model.known_class) * one.strangers(places[pairs.target, :2], labels))
    for name, strangers in (("plain", plain_density(model, pairs.known)), ("truth", true)):
        found = pairs._replace(ratio=height - strangers)
        sizes = len(model.target_class), len(model.known_class)
        yield name, (pairs.target, pairs.known, weigh_matchings(found, sizes, one.knowledge.common)[1])


def plain_density(model: LikelihoodModel, known: NDArray[np.int64]) -> FloatArray:
    """Return the log density of strangers by five neighbours around each known record and its label's global share."""
    rarity = measure_rarity(model.known_map, np.sqrt(model.variances.max(axis=1)))
    share = np.bincount(model.known_class) / len(model.known_class)
    return np.asarray(np.log(share[model.known_class[known]]) - np.log(rarity[known]))


def with_errors(one: Case) -> Candidates:
    """Return who may be who where five in a hundred labels are wrong, and the snooper knows that."""
    both = [pd.DataFrame({"label": side}) for side in (one.candidates.target_class, one.candidates.known_class)]
    return candidates(*both, comparators={"label": Exact(WRONG)})


def runs(first: int, sets: int) -> Iterator[tuple[Row, str]]:
    """Return all cells, with what is to be done in each; wrong beliefs are tried on every second data set."""
    for seed in range(first, sets):
        for kind in KINDS:
            for overlap in OVERLAPS:
                for sigma in SIGMAS:
                    yield {"part": "as told", "kind": kind, "overlap": overlap, "sigma": sigma, "seed": seed}, ""
            for part in ("labels wrong", "half the share", "double the share") if seed % 2 == 0 else ():
                for sigma in (1.0, 3.0):
                    yield {"part": part, "kind": kind, "overlap": 0.2, "sigma": sigma, "seed": seed}, part


def carry_out(cell: Row, part: str) -> Iterator[Row]:
    """Carry out one cell."""
    wrong = WRONG if part == "labels wrong" else 0.0
    one = make_case(str(cell["kind"]), float(str(cell["sigma"])), float(str(cell["overlap"])), int(str(cell["seed"])),
                    wrong=wrong)  # fmt: skip
    if part == "labels wrong":
        one = one._replace(candidates=with_errors(one))
    elif part:
        assert one.knowledge.common is not None
        share = one.knowledge.common * (0.5 if part.startswith("half") else 2.0)
        one = one._replace(knowledge=replace(one.knowledge, common=share))
    yield {**cell, "method": "register", **tally(one, attack(one))}
    if not part:
        for name, found in yardsticks(one):
            yield {**cell, "method": name, **tally(one, found)}


def run(first: int, sets: int) -> None:
    """Carry out what is not in the results yet, from the data set ``first`` on."""
    done = set()
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8", newline="") as file:
            done = {tuple(row[name] for name in FIELDS[:5]) for row in csv.DictReader(file)}
    else:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    with RESULTS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        for cell, part in runs(first, sets):
            if tuple(str(cell[name]) for name in FIELDS[:5]) not in done:
                writer.writerows(carry_out(cell, part))
                file.flush()


def calibration(part: pd.DataFrame) -> pd.DataFrame:
    """Return for each class of probability the pairs, what was said on average and the share of true ones."""
    cells = np.array([[[float(x) for x in one.split(":")] for one in row.split(" ")] for row in part["classes"]])
    pairs, said, true = cells.sum(axis=0).T
    some = pairs >= FEW
    return pd.DataFrame({"pairs": pairs[some], "said": said[some] / pairs[some], "true": true[some] / pairs[some]})


def worst(part: pd.DataFrame) -> str:
    """Write the class in which what was said differs most from what is true."""
    found = calibration(part)
    if not len(found):
        return "–"
    at = found.loc[(found["said"] - found["true"]).abs().idxmax()]
    return f"{at['said'] - at['true']:+.3f}"


def rates(part: pd.DataFrame) -> str:
    """Write precision and recall of the claims above one half."""
    return f"{_share(part['right'].sum(), part['claims'].sum())}/{_share(part['right'].sum(), part['common'].sum())}"


def _share(hits: float, trials: float) -> str:
    return f"{hits / trials:.3f}".lstrip("0") if trials else "–"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def kinds_table(table: pd.DataFrame) -> str:
    """Return for each kind how far off the worst class is, and what is found, by each density."""
    told = table[table["part"] == "as told"]
    rows = []
    for kind in KINDS:
        by = {name: told[(told["kind"] == kind) & (told["method"] == name)] for name in METHODS}
        rows.append([kind, *(worst(part) for part in by.values()), *(rates(part) for part in by.values())])
    names = list(METHODS.values())
    return markdown(["people", *(f"off, {n}" for n in names), *(f"P/R, {n}" for n in names)], rows)


def recall_table(table: pd.DataFrame) -> str:
    """Return precision and recall at each noise, over both overlaps: plain, register, truth."""
    told = table[table["part"] == "as told"]
    rows = []
    for kind in KINDS:
        for method, name in METHODS.items():
            part = told[(told["kind"] == kind) & (told["method"] == method)]
            rows.append([kind, name, *(rates(part[part["sigma"] == sigma]) for sigma in SIGMAS)])
    return markdown(["people", "density", *(f"{sigma:g} km" for sigma in SIGMAS)], rows)


def wrong_table(table: pd.DataFrame) -> str:
    """Return what becomes of it where the snooper is told wrong: worst class and rates."""
    few = table[(table["method"] == "register") & (table["overlap"] == 0.2) & table["sigma"].isin([1.0, 3.0])]
    parts = list(dict.fromkeys(few["part"]))
    rows = []
    for kind in KINDS:
        by = [few[(few["kind"] == kind) & (few["part"] == part)] for part in parts]
        rows.append([kind, *(f"{worst(part)}, {rates(part)}" for part in by)])
    return markdown(["people", *parts], rows)


def draw(table: pd.DataFrame) -> Figure:
    """Draw the share of true pairs against what was said, a panel for each kind."""
    told = table[table["part"] == "as told"]
    figure = Figure(figsize=(11.5, 3.7), layout="constrained")
    panels = figure.subplots(1, len(KINDS), sharey=True)
    styles = {"plain": ("s", PLOT_COLOURS[1]), "truth": ("D", PLOT_COLOURS[6]), "register": ("o", PLOT_COLOURS[0])}
    for axes, kind in zip(panels, KINDS, strict=True):
        axes.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1)
        for method, (mark, colour) in styles.items():
            found = calibration(told[(told["kind"] == kind) & (told["method"] == method)])
            name = {"plain": "five neighbours, global labels", "truth": "true density"}.get(method, method)
            axes.plot(found["said"], found["true"], f"{mark}-", color=colour, markersize=5, linewidth=1.5, label=name)
        axes.set_title(kind, fontsize=11)
        axes.set(xlabel="probability said", xlim=(0, 1.02), ylim=(0, 1.02))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of true pairs")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    return figure


def put(name: str, text: str) -> None:
    """Put a table between its marks in docs/evidence/attacks.md."""
    begin, end, page = f"<!-- posteriors {name}: begin -->\n", f"<!-- posteriors {name}: end -->", PAGE
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}{text}{end}{rest.split(end)[1]}", encoding="utf-8")


def main() -> None:
    """Run what is missing, print the tables and, if asked, put them into the documentation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="where to begin, so that several can run side by side")
    parser.add_argument("--document", action="store_true")
    asked = parser.parse_args()
    run(asked.first, asked.sets)
    table = pd.read_csv(RESULTS)
    for name, make in (("kinds", kinds_table), ("recall", recall_table), ("wrong", wrong_table)):
        text = make(table)
        print(f"\n{name}\n\n{text}")
        if asked.document:
            put(name, text)
    if asked.document:
        save_figure(draw(table), DOCS / "img" / "posteriors.png")


if __name__ == "__main__":
    main()
