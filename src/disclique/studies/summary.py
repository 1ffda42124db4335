"""From records to tables: averages with their uncertainty, in the layout of the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from disclique.masks.settings import Setting
from disclique.runs import Unit
from disclique.studies.definition import Study
from disclique.studies.unit import Cell, StudyDraws
from disclique.units import Quantity

KEYS = ["mask", "alpha", "repetition", "attack"]
RATES = ("precision", "recall")
BAND = float(norm.ppf(0.975))


def records_table(study: Study, done: Mapping[Unit, list[Cell]]) -> pd.DataFrame:
    """Return a row for each cell, in the order of the axes whatever the order of the work."""
    rows = [vars(cell) for unit in study.units() for cell in done.get(unit, [])]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame = frame.astype(COLUMNS)
    if not study.grid.turns_labels:
        frame = frame.drop(columns="labels")
    order = {mask: place for place, mask in enumerate(study.grid.masks)}
    attacks = {attack: place for place, attack in enumerate(study.grid.attacks)}
    place = frame.assign(mask=frame["mask"].map(order), attack=frame["attack"].map(attacks))
    # units come level by level, and a stable sort leaves them so
    return frame.loc[place.sort_values(KEYS, kind="stable").index].reset_index(drop=True)


_KINDS = {
    "str": "str",
    "bool": "bool",
    "int": "int64",
    "int | None": "Int64",
    "float": "float64",
    "float | None": "float64",
}
COLUMNS = {about.name: _KINDS.get(str(about.type), "object") for about in fields(Cell)}


def summarise(records: pd.DataFrame) -> pd.DataFrame:
    """Average over the repetitions of each mask, α and attack.

    A run that claims nothing has no precision: it is left out of the average and counted in ``empty``. ``_se`` is the
    standard error of the average over the repetitions, which share the data set; ``_ties`` is the average that results
    from the mean over all maximum cliques instead of the one that the solver returns; ``unproven`` counts runs with a
    bound that their claim does not reach, because a budget cut them short or the solver proves nothing: their risk is a
    lower bound.
    """
    tied = records.assign(
        precision_ties=records["tp_mean"] / records["size"].where(records["size"] > 0),
        unproven=records["bound"].notna() & ~records["proven"],
        recall_ties=records["tp_mean"] / (records["tp"] + records["fn"]).replace(0, np.nan),
    )
    axes = ["mask", "alpha", "attack", *(["labels"] if "labels" in tied.columns else [])]
    groups = tied.groupby(axes, sort=False, dropna=False)
    table = groups.agg(
        repetitions=("repetition", "size"),
        empty=("precision", lambda values: int(values.isna().sum())),
        unproven=("unproven", "sum"),
        size=("size", "mean"),
        tp=("tp", "mean"),
        expected=("expected", "mean"),
        **{rate: (rate, "mean") for rate in RATES},
        **{f"{rate}_sd": (rate, "std") for rate in RATES},
        **{f"{rate}_ties": (f"{rate}_ties", "mean") for rate in RATES},
        seconds=("seconds", "mean"),
    ).reset_index()
    for rate in RATES:
        table[f"{rate}_se"] = table[f"{rate}_sd"] / np.sqrt(groups[rate].count().to_numpy())
        for side, sign in (("low", -1), ("high", 1)):
            table[f"{rate}_{side}"] = (table[rate] + sign * BAND * table[f"{rate}_se"]).clip(0, 1)
    return table


def reliability(records: pd.DataFrame, attack: str) -> pd.DataFrame:
    """For each class of probability that an attack gave to pairs: how many there were, its mean, and the true share."""
    chosen = records[(records["attack"] == attack) & records["weighed"].notna()]
    if chosen.empty:
        return pd.DataFrame(columns=["pairs", "probability", "true"])
    count, weight, right = (np.array(chosen[name].tolist()).sum(axis=0) for name in ("weighed", "weight", "right"))
    some = count > 0
    shares = {"probability": weight[some] / count[some], "true": right[some] / count[some]}
    return pd.DataFrame({"pairs": count[some].astype(int), **shares})


def dials(masks: tuple[str, ...]) -> dict[str, float] | None:
    """Return the value of each mask's dial, if they differ in nothing else; None if they cannot be put on one axis."""
    settings = [Setting.parse(mask) for mask in masks]
    parsed = [setting.mask for setting in settings]
    if any(mask.dial is None for mask in parsed) or len({(one.labels, one.numbers) for one in settings}) > 1:
        return None
    if len({mask.with_dial(parsed[0].dial_value).spec for mask in parsed if _unit(mask) == _unit(parsed[0])}) > 1:
        return None
    if len({(mask.name, _unit(mask)) for mask in parsed}) > 1:
        return None
    return {spec: mask.dial_value for spec, mask in zip(masks, parsed, strict=True)}


def _unit(mask: object) -> str:
    value = getattr(mask, str(getattr(mask, "dial", "")), None)
    return value.unit if isinstance(value, Quantity) else ""


def dial_name(masks: tuple[str, ...]) -> str:
    """Return how the axis of the masks is called: the dial with its unit, or ``mask``."""
    if dials(masks) is None:
        return "mask"
    first = Setting.parse(masks[0]).mask
    unit = _unit(first)
    return f"{first.dial}_{unit}" if unit else str(first.dial)


def grid_table(study: Study, table: pd.DataFrame, rate: str, attack: str) -> pd.DataFrame:
    """Average precision or recall in the layout of the paper's tables: a row for each α, a column for each mask."""
    chosen = table[table["attack"] == attack]
    if study.grid.turns_labels:
        parts = [
            grid_table(_at_one_level(study), part.drop(columns="labels"), rate, attack).assign(labels=labels)
            for labels, part in chosen.groupby("labels", sort=False)
        ]
        found = pd.concat(parts, ignore_index=True)
        return found[["labels", *(name for name in found.columns if name != "labels")]]
    wide = chosen.pivot(index="alpha", columns="mask", values=rate).reindex(columns=list(study.grid.masks))
    names = dials(study.grid.masks)
    if names is not None:
        wide = wide.rename(columns={mask: f"{value:g}" for mask, value in names.items()})
    return wide.rename_axis(columns=None).reset_index()


def _at_one_level(study: Study) -> Study:
    return replace(study, grid=replace(study.grid, labels=("",)))


def deviations(study: Study) -> pd.DataFrame:
    """Quantiles and variance of d - d' for every mask, in the layout of the paper's table 3."""
    names: Mapping[str, float | str] = dials(study.grid.masks) or {mask: mask for mask in study.grid.masks}
    rows, draws = [], StudyDraws(study)
    for mask in study.grid.masks:
        row = draws.calibrate(Setting.parse(mask).mask).row()
        rows.append({dial_name(study.grid.masks): names[mask], **{k: v for k, v in row.items() if k != "mask"}})
    table = pd.DataFrame(rows)
    return table[[*(c for c in table.columns if c != "pairs"), "pairs"]]
