"""One work unit carried out: a noise draw, attacked with every α and in every way of the study."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from disclique.model import Graph, Json, Microdata, ProductGraph
from disclique.studies.draw import draw, with_distances
from disclique.studies.grid import Study, Unit
from disclique.studies.methods import Cell, method_of, worth

_NONE = np.zeros(0, np.int32)
NO_GRAPH = ProductGraph(_NONE, _NONE, Graph(np.zeros(1, np.int64), _NONE))


def run_unit(study: Study, unit: Unit) -> list[Json]:
    """The records of a work unit: one for each α and attack, and one for each attack that needs no α."""
    made = draw(study, unit)
    methods = {spec: method_of(spec) for spec in study.grid.attacks}
    records = []
    for alpha in (*study.grid.alphas, None):
        used = {spec: found for spec, found in methods.items() if found[0].by_alpha == (alpha is not None)}
        if not used:
            continue
        begun = time.perf_counter()
        cell = Cell(study, unit, made, alpha, NO_GRAPH if alpha is None else made.graph(alpha))
        building = time.perf_counter() - begun
        for spec, (method, value) in used.items():
            begun = time.perf_counter()
            claim = method.claim(cell, value)
            seconds = building + time.perf_counter() - begun
            record = {"mask": unit.mask, "alpha": alpha, "repetition": unit.repetition, "attack": spec}
            record |= {"dataset": unit.repetition % study.people.datasets}
            record |= {"seed": study.chance("noise", unit.mask, unit.repetition)}
            record |= {"vertices": cell.graph.order, "edges": cell.graph.size}
            records.append({**record, **worth(claim, made), "seconds": round(seconds, 6)})
    return records


@dataclass(frozen=True, eq=False)
class Example:
    """One cell of a study with the matches it claims, for a picture: rows counted from 1 and a column ``true``."""

    unit: Unit
    alpha: float
    target: Microdata
    known: Microdata
    matches: pd.DataFrame


def example(study: Study, unit: Unit, alpha: float) -> Example:
    """A cell carried out once more, by the study's first attack."""
    made = draw(study, unit)
    method, value = method_of(study.grid.attacks[0])
    pairs = method.claim(Cell(study, unit, made, alpha, made.graph(alpha)), value).pairs
    table = pd.DataFrame({"target_row": pairs[:, 0] + 1, "known_row": pairs[:, 1] + 1, "true": made.true(pairs)})
    return Example(unit, alpha, with_distances(made.target, made.masked), made.known, table)


def typical(study: Study) -> list[Example]:
    """The first repetition at the corners of the grid: weak and strong masks, small and large α."""
    alphas = sorted(study.grid.alphas)
    masks = dict.fromkeys((study.grid.masks[0], study.grid.masks[-1]))
    both = dict.fromkeys((alphas[len(alphas) // 4], alphas[-1]))
    return [example(study, Unit(mask, 0), alpha) for mask in masks for alpha in both]
