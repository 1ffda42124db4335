"""Figures that other tools give, of the file as it is and of the release that the verdict names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from disclique.audits.definition import Audit
from disclique.audits.facts import KnownFigures
from disclique.geodesy import to_space
from disclique.masks.settings import Setting
from disclique.measures.disclosure import (
    Diversity,
    count_fits,
    count_members,
    count_spatial_k,
    estimate_individual_risk,
    estimate_population_unique,
    lay_cells,
    measure_diversity,
    number_classes,
)
from disclique.messages import mark
from disclique.model import Microdata
from disclique.spaces import Points
from disclique.values import FloatArray, canonical

FILE, RELEASE = "file", "release"
FEW = 5  # people of a class that is small, as tools print it


def describe_figures(audit: Audit, setting: Setting) -> tuple[KnownFigures, ...]:
    """Return what other tools would say of the file as it is, and of the release under a setting."""
    labels = setting.labels.apply(audit.target)
    released = setting.numbers.apply(labels, audit.chance.rng("numbers", 0, 0))
    homes = audit.target.distances.points()
    homes = homes if homes is not None and homes.is_map else None
    return (
        _measure(audit, FILE, audit.target, _count_places(homes, homes)),
        _measure(audit, RELEASE, released, _count_places(homes, _draw_places(audit, setting))),
    )


def _draw_places(audit: Audit, setting: Setting) -> Points | None:
    """Return the places of the first release, None where none are released.

    A rigid motion leaves the map as it is: whoever turns it back has the homes. What one function makes of all of them
    are no places at all.
    """
    mask, published = setting.mask, audit.target.distances
    if mask.rigid:
        return published.points()
    if mask.withholds or mask.replayed or mask.on != "coordinates":
        return None
    return mask.prepare(audit.target).apply(published, audit.chance.rng("noise", mask.name, 0)).points()


def _count_places(homes: Points | None, released: Points | None) -> FloatArray | None:
    """Return the spatial k of every record, None where it has no place on a map."""
    if homes is None or released is None or released.metric != homes.metric:
        return None
    if released.coordinates.shape != homes.coordinates.shape:
        return None
    return count_spatial_k(*(to_space(one.coordinates, one.metric) for one in (homes, released))).astype(float)


def _measure(audit: Audit, of: str, data: Microdata, spatial: FloatArray | None) -> KnownFigures:
    """Measure one table: its labels, and numbers that are released without noise."""
    cells = lay_cells(data)
    classes = number_classes(cells)
    members, weights = count_members(classes), _find_weights(audit)
    alone, risk = None, None
    if weights is not None:
        alone = estimate_population_unique(np.bincount(classes), min(len(weights) / weights.sum(), 1.0))
        risk = float(estimate_individual_risk(count_fits(cells), count_fits(cells, weights)).mean())
    diverse = _measure_diversity(data, classes)
    return KnownFigures(
        of=of,
        k=int(members.min()),
        average_risk=len(np.unique(classes)) / len(classes),
        highest_risk=float(1 / members.min()),
        unique=float((members == 1).mean()),
        below=float((members < FEW).mean()),
        population_unique=None if alone is None else alone.share,
        population_model="" if alone is None else alone.model,
        journalist_risk=risk,
        diversity={column: found.distinct for column, found in diverse.items()},
        entropy_diversity={column: found.entropy for column, found in diverse.items()},
        spatial_k=None if spatial is None else float(np.median(spatial)),
        spatial_k_below=None if spatial is None else float((spatial < FEW).mean()),
        uncounted=tuple(dict.fromkeys(one.name for one in data.numbers.columns if not one.law.sharp)),
    )


def _find_weights(audit: Audit) -> FloatArray | None:
    """Return for how many people of the population each record stands, None where that is not known."""
    column, fraction = audit.target.roles.weight, audit.plan.sampling_fraction
    if column is not None:
        return np.asarray(pd.to_numeric(audit.target.table[column]), dtype=float)
    return None if fraction is None else np.full(len(audit.target), 1 / fraction)


def _measure_diversity(data: Microdata, classes: np.ndarray) -> dict[str, Diversity]:
    """Return the diversity of every sensitive column that has a value."""
    columns = {name: pd.Series(list(map(canonical, data.table[name])), dtype=object) for name in data.roles.sensitive}
    found = {name: measure_diversity(classes, values) for name, values in columns.items()}
    return {name: one for name, one in found.items() if one is not None}


@dataclass(frozen=True)
class FigureKind:
    """A figure: the field that has it, what people read, the tools it is known from, and whether it is a share."""

    name: str
    title: str
    tools: str
    share: bool = False


DIVERSITY = FigureKind(
    "diversity", mark("l-diversity of {column}: fewest different values in a class"), "ARX, sdcMicro"
)
KINDS = (
    FigureKind("k", mark("k-anonymity: records in the smallest class"), "ARX, sdcMicro"),
    FigureKind("below", mark("records in classes of fewer than five"), "sdcMicro", share=True),
    FigureKind("unique", mark("records alone in their class (sample uniqueness)"), "ARX, sdcMicro", share=True),
    FigureKind("average_risk", mark("average prosecutor risk"), "ARX", share=True),
    FigureKind("highest_risk", mark("highest prosecutor risk"), "ARX", share=True),
    FigureKind("population_unique", mark("records alone in the population (estimated)"), "ARX", share=True),
    FigureKind("journalist_risk", mark("mean individual risk by sampling weights"), "sdcMicro", share=True),
    FigureKind("spatial_k", mark("spatial k: median of homes at least as near"), "MaskMyPy"),
    FigureKind("spatial_k_below", mark("records with a spatial k of fewer than five"), "MaskMyPy", share=True),
)


@dataclass(frozen=True)
class FigureRow:
    """A figure of a table: its kind, of which sensitive column it is, and its values, None where it was not measured.

    ``values`` are in the order of the tables that were measured.
    """

    kind: FigureKind
    values: tuple[float | None, ...]
    column: str = ""

    @property
    def name(self) -> str:
        """The field, and the column where there may be several."""
        return f"{self.kind.name}:{self.column}" if self.column else self.kind.name


def list_figures(figures: Sequence[KnownFigures]) -> list[FigureRow]:
    """Return the figures one below the other, also those that could not be measured."""
    rows = [FigureRow(kind, tuple(getattr(one, kind.name) for one in figures)) for kind in KINDS]
    columns = dict.fromkeys(column for one in figures for column in one.diversity)
    diverse = [FigureRow(DIVERSITY, tuple(one.diversity.get(name) for one in figures), name) for name in columns]
    return rows + diverse if figures else []


def tabulate_known(figures: Sequence[KnownFigures]) -> pd.DataFrame:
    """Return the figures as a table: a row for each, a column for the file and for the release."""
    rows = list_figures(figures)
    tables = {one.of: pd.Series([row.values[k] for row in rows], dtype=object) for k, one in enumerate(figures)}
    named = pd.Index([row.name for row in rows], name="figure")
    return pd.DataFrame({**tables, "known_from": [row.kind.tools for row in rows]}).set_index(named)
