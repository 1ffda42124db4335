"""A study beside the paper's printed tables: the difference in every cell, and whether chance explains it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.studies.run import StudyResult
from disclique.studies.summary import BAND, RATES, deviations, dials, summarise

REPETITIONS = 100  # of the paper, on one data set
_SPLIT = 0.3  # below this α the paper's cliques are so small that chance and ties decide


@dataclass(frozen=True, eq=False)
class Comparison:
    """Cells and deviations beside the printed ones.

    ``cells`` has a row for each rate, α and σ: ours, ties (the mean over all maximum cliques), paper, difference, se
    and ``explained``: "yes" if the difference is within 1.96 standard errors of the noise draws (ours and the
    paper's), "data set" if only with the spread between data sets, else "no"; "unknown" with one repetition.
    ``deviations`` has a row for each σ and column of table 3, ``relative`` being in units of the standard deviation
    for quantiles.
    """

    cells: pd.DataFrame
    deviations: pd.DataFrame
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return what the comparison comes to, in sentences."""
        said = []
        for rate in RATES:
            cells = self.cells[self.cells["rate"] == rate]
            size = cells["difference"].abs()
            ties = (cells["ties"] - cells["paper"]).abs()
            said.append(
                f"{rate}: mean absolute difference {size.mean():.3f} over {len(cells)} cells, mean difference "
                f"{cells['difference'].mean():+.3f}; with the mean over all maximum cliques instead of the solver's "
                f"{ties.mean():.3f}"
            )
            upper = cells[cells["alpha"] >= _SPLIT]
            if len(upper):
                worst = upper.iloc[int(upper["difference"].abs().to_numpy().argmax())]
                said.append(
                    f"{rate}: largest difference with α ≥ {_SPLIT:g} is {worst['difference']:+.3f} "
                    f"(σ {worst['sigma']:g}, α {worst['alpha']:g})"
                )
            counts = cells["explained"].value_counts()
            line = f"{rate}: {counts.get('yes', 0)} of {len(cells)} cells within what the noise draws explain"
            if cells["dataset_sd"].notna().any():
                line += f", {counts.get('data set', 0)} more with the spread between data sets"
            said.append(line)
        variance = self.deviations[self.deviations["column"] == "variance"]
        if len(variance):
            said.append(
                f"variance of d - d': within {variance['relative'].abs().max():.1%} of the printed one for every σ"
            )
        return [*said, *self.notes]


def printed(name: str) -> pd.DataFrame:
    """Return one of the paper's tables: ``deviations`` (table 3), ``precision`` (4) or ``recall`` (5)."""
    with (files("disclique.synthetic") / "tables" / f"kroll2014_{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, index_col=0)


def _values(name: str) -> dict[tuple[float, Any], float]:
    """Return the entries of one of the paper's tables by row and column."""
    table = printed(name)
    columns: list[Any] = list(table.columns) if name == "deviations" else [float(c) for c in table.columns]
    return {
        (float(row), column): float(value)
        for row, values in zip(table.index, table.to_numpy(), strict=True)
        for column, value in zip(columns, values, strict=True)
    }


def compare(outcome: StudyResult, *, spread: StudyResult | None = None, attack: str = "clique") -> Comparison:
    """Return the cells that a study has in common with the paper, beside the printed values.

    ``spread`` is a study of the same grid on several data sets; it tells how much the data set itself moves a cell.
    The paper's figures come from one data set that is not public, so that part of every difference cannot go away.
    """
    if any(one is not None and one.study.grid.turns_labels for one in (outcome, spread)):
        raise InputError("comparison_with_labels")
    sigmas = _sigmas(outcome)
    between = _between(outcome if outcome.study.people.datasets > 1 else spread, attack)
    table = summarise(outcome.records[outcome.records["attack"] == attack])
    rows = []
    for rate in RATES:
        paper = _values(rate)
        for ours in table.to_dict("records"):
            mask, alpha = str(ours["mask"]), round(float(ours["alpha"]), 9)
            place = (alpha, sigmas.get(mask, 0.0))
            if place not in paper:
                continue
            row = {"rate": rate, "alpha": alpha, "sigma": place[1], "ours": ours[rate], "ties": ours[f"{rate}_ties"]}
            error = float(np.hypot(ours[f"{rate}_se"], ours[f"{rate}_sd"] / np.sqrt(REPETITIONS)))
            rows.append(row | _judged(ours[rate], paper[place], error, between.get((rate, mask, alpha))))
    if not rows:
        raise InputError("comparison_without_cells")
    return Comparison(
        pd.DataFrame(rows), _deviations(outcome, sigmas), (*_notes(outcome, table), *map(str, outcome.notes))
    )


def _sigmas(outcome: StudyResult) -> dict[str, float]:
    """σ in degrees of the masks that are the paper's."""
    asked = {mask: Setting.parse(mask) for mask in outcome.study.grid.masks}
    masks = [mask for mask, one in asked.items() if one.mask.name == "gaussian" and mask.endswith("deg")]
    return {mask: round(value, 9) for mask, value in (dials(tuple(masks)) or {}).items()} if masks else {}


def _judged(ours: float, paper: float, error: float, between: float | None) -> dict[str, object]:
    """Return the printed value, the difference, its standard error and the verdict."""
    size = abs(ours - paper)
    explained = "yes" if size <= BAND * error else "no"
    if np.isnan(error):
        explained = "unknown"  # one repetition does not tell
    if explained == "no" and between is not None and size <= BAND * np.hypot(error, between):
        explained = "data set"
    return {"paper": paper, "difference": ours - paper, "se": error, "dataset_sd": between, "explained": explained}


def _between(spread: StudyResult | None, attack: str) -> dict[tuple[str, str, float], float]:
    """Standard deviation that a cell's difference has because the two studies have other data sets."""
    if spread is None:
        return {}
    if spread.study.people.datasets < 2:
        raise InputError("spread_of_one_data_set")
    found = {}
    records = spread.records[spread.records["attack"] == attack]
    for mask in spread.study.grid.masks:
        for alpha in spread.study.grid.alphas:
            cell = records[(records["mask"] == mask) & (records["alpha"] == alpha)]
            for rate in RATES:
                groups = cell.groupby("dataset")[rate]
                often = groups.count()
                noise = float((groups.var() / often).mean()) if (often > 1).all() else 0.0
                between = max(float(groups.mean().var()) - noise, 0.0)
                found[rate, mask, round(alpha, 9)] = float(
                    np.sqrt(2 * between)
                )  # theirs is one data set, and so is ours
    return found


def _deviations(outcome: StudyResult, sigmas: dict[str, float]) -> pd.DataFrame:
    """Table 3, ours beside the printed one."""
    paper = _values("deviations")
    ours = deviations(outcome.study).to_dict("records")
    rows = []
    for mask, row in zip(outcome.study.grid.masks, ours, strict=True):
        sigma = sigmas.get(mask, 0.0)
        for column in [column for at, column in paper if at == sigma]:
            mine, theirs = float(row[column]), paper[sigma, column]
            scale = theirs if column == "variance" else float(np.sqrt(paper[sigma, "variance"]))
            relative = (mine - theirs) / scale
            rows.append({"sigma": sigma, "column": column, "ours": mine, "paper": theirs, "relative": relative})
    return pd.DataFrame(rows, columns=["sigma", "column", "ours", "paper", "relative"])


def _notes(outcome: StudyResult, table: pd.DataFrame) -> tuple[str, ...]:
    said = ["the paper's data set is one draw that is not public; the noise draws do not show what that one draw adds"]
    vertices = sorted(set(outcome.records["vertices"]) - {0})
    shown = f"{vertices[0]:,}" if len(vertices) == 1 else f"{vertices[0]:,} to {vertices[-1]:,}"
    said.append(f"vertices of the product graph: {shown} (the paper's: 15,517)")
    if table["empty"].sum():
        said.append(f"{int(table['empty'].sum())} runs claimed nothing; they have no precision and are left out of it")
    if table["unproven"].sum():
        said.append(f"{int(table['unproven'].sum())} runs have no proof: a lower bound on the risk")
    return tuple(said)


def markdown(comparison: Comparison) -> str:
    """Return the comparison as a page."""
    parts = ["# The study beside the paper\n", *(f"- {line}" for line in comparison.lines()), ""]
    legend = "ours / the paper's, difference; \\* = more than the noise draws explain"
    if comparison.cells["dataset_sd"].notna().any():
        legend += ", \\*\\* = more than noise draws and the spread between data sets explain"
    for rate, number in (("precision", 4), ("recall", 5)):
        cells = comparison.cells[comparison.cells["rate"] == rate]
        shown = cells.assign(cell=[_cell(row) for row in cells.to_dict("records")])
        wide = shown.pivot(index="alpha", columns="sigma", values="cell")
        parts += [
            f"## Average {rate} (table {number} of the paper)\n",
            f"{legend}\n",
            _pipes("α \\ σ", wide, "g", ".3f"),
        ]
    if len(comparison.deviations):
        found = comparison.deviations
        cell = [f"{a:.3f} / {b:.3f}" for a, b in zip(found["ours"], found["paper"], strict=True)]
        wide = found.assign(cell=cell).pivot(index="sigma", columns="column", values="cell")
        wide = wide[list(dict.fromkeys(found["column"]))]
        parts += ["## Deviation d - d' (table 3 of the paper)\n", "ours / the paper's, in km (variance in km²)\n"]
        parts += [_pipes("σ", wide, ".3f", "")]
    return "\n".join(parts)


def _cell(row: dict[Any, Any]) -> str:
    no = "\\*" if np.isnan(row["dataset_sd"] or np.nan) else "\\*\\*"
    mark = {"data set": "\\*", "no": no}.get(row["explained"], "")
    return f"{row['ours']:.3f} / {row['paper']:.3f}, {row['difference']:+.3f}{mark}"


def _pipes(corner: str, wide: pd.DataFrame, index: str, columns: str) -> str:
    """Return a table in Markdown; row and column names are written in the given formats."""
    head = [corner, *(format(name, columns) for name in wide.columns)]
    rows = [[format(name, index), *map(str, row)] for name, row in zip(wide.index, wide.to_numpy(), strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---:"] * len(head), *rows]) + "\n"
