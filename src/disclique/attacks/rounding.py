"""Numbers of a release that are rounded and nobody said so: a snooper sees it, and compares them as rounded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from disclique.messages import Message
from disclique.model import Microdata
from disclique.numbers import DECIMALS, EXACTLY, NumberColumn, Numbers, Rounded
from disclique.units import KM, measured
from disclique.values import FloatArray


@dataclass(frozen=True)
class Seeing:
    """When numbers look rounded: nearly all are multiples of a step, and those of the known file are not."""

    steps: tuple[float, ...] = tuple(
        float(f"{digit}e{power}") for power in range(5, -5, -1) for digit in (5, 2.5, 2, 1)
    )
    released: float = 0.99
    known: float = 0.5
    different: int = 3  # fewer released numbers are too few to tell


SEEING = Seeing()


def see_rounding(target: Microdata, known: Microdata, by: Seeing = SEEING) -> tuple[Microdata, tuple[Message, ...]]:
    """Return a release with the law of numbers that look rounded, and what was seen.

    Taken as exact they would fit nobody, and a release that gives much away would look safe.
    """
    made, seen = [], []
    for column in target.numbers.columns:
        step = _find_step(column, known.numbers, by)
        if step is None:
            made.append(column)
            continue
        made.append(replace(column, law=Rounded(step)))
        said = measured(step, column.unit if column.unit == KM else None)
        seen.append(Message("numbers_look_rounded", column=column.name, step=said))
    return (replace(target, numbers=Numbers(tuple(made))), tuple(seen)) if seen else (target, ())


def _find_step(column: NumberColumn, known: Numbers, by: Seeing) -> float | None:
    if column.law != EXACTLY or column.name not in known.names:
        return None
    mine, theirs = (values[~np.isnan(values)] for values in (column.values, known.of(column.name).values))
    if len(np.unique(mine)) < by.different or not len(theirs):
        return None
    steps = (step for step in by.steps if _count(mine, step) >= by.released)
    step = next(steps, None)
    return step if step is not None and _count(theirs, step) < by.known else None


def _count(values: FloatArray, step: float) -> float:
    """Return the share of multiples of a step."""
    times = values / step
    return float((np.abs(times - np.round(times)) * step < 10.0**-DECIMALS * np.maximum(1.0, np.abs(values))).mean())
