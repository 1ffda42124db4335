"""Values of columns counted before and after: what coarser labels become, and what a release has in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from disclique.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from disclique.model import Microdata
    from disclique.releases import Release
    from disclique.spaces.base import Distances

SHOWN = 8  # values of a column that are shown, the commonest ones
STEPS = 5  # steps of a range that are shown, at the most
MEASURED = 300  # records whose distances are looked at
DISTANCES = ""  # the name under which distances stand beside columns


@dataclass(frozen=True)
class Tally:
    """How often values occur: how many different ones, how many people have the rarest, and the commonest with theirs.

    ``missing`` is how many people have none.
    """

    different: int
    rarest: int
    missing: int
    commonest: tuple[tuple[str, int], ...]


def tally(values: pd.Series) -> Tally:
    """Count the values of a column.

    >>> import pandas as pd
    >>> tally(pd.Series(["a", "b", "a", None]))
    Tally(different=2, rarest=1, missing=1, commonest=(('a', 2), ('b', 1)))
    """
    there = values.dropna().map(str)
    counts = there.value_counts()
    first = tuple((str(value), int(many)) for value, many in counts.head(SHOWN).items())
    return Tally(len(counts), int(counts.min()) if len(counts) else 0, len(values) - len(there), first)


@dataclass(frozen=True)
class RecodedStep:
    """One way to make a column: its rule, empty where it stays as it is, and its values; None where it is left out.

    ``alone`` is how many people have a combination of labels that nobody else has.
    """

    rule: str
    tally: Tally | None
    alone: int | None = None


@dataclass(frozen=True)
class RecodedColumn:
    """A column with the values that it has, and those of every step in which it is made coarser."""

    name: str
    steps: tuple[RecodedStep, ...]


def count_dials(labels: pd.DataFrame, rules: Sequence[str], *, file: str) -> list[RecodedColumn]:
    """Count the values of labels that are tried in several ways: as they are, and in every step."""
    from disclique.records.coarsening import DROP, list_steps, parse_generaliser
    from disclique.specs import parse_rule

    found = []
    for rule in rules:
        name = rule.removeprefix(DROP).strip() if rule.startswith(DROP) else parse_rule(rule).into
        if name not in labels:
            raise InputError("no_label_to_coarsen", file=file, column=name, labels=[repr(str(one)) for one in labels])
        steps = [RecodedStep("", tally(labels[name]), count_alone(labels))]
        for step in list_steps(rule, STEPS):
            if step.startswith(DROP):
                steps.append(RecodedStep(step, None, count_alone(labels.drop(columns=name))))
            elif step:
                made = parse_generaliser(step).apply(labels)
                steps.append(RecodedStep(step, tally(made[name]), count_alone(made)))
        found.append(RecodedColumn(name, tuple(steps)))
    return found


def count_rules(table: pd.DataFrame, rules: Sequence[str]) -> list[RecodedColumn]:
    """Count the values of columns that are made by rules, beside those of the columns from which they are made."""
    from disclique.records.coarsening import parse_generaliser

    found = []
    for rule in rules:
        one = parse_generaliser(rule)
        made = one.apply(table)
        before = [RecodedStep("", tally(table[one.source]))] if one.source in table else []
        found.append(RecodedColumn(one.into, (*before, RecodedStep(rule, tally(made[one.into])))))
    return found


def count_alone(labels: pd.DataFrame) -> int:
    """Return how many people have a combination of labels that nobody else has."""
    if not len(labels.columns):
        return int(len(labels) == 1)
    sizes = labels.astype(object).where(labels.notna(), None).map(str).value_counts(sort=False)
    return int((sizes == 1).sum())


@dataclass(frozen=True)
class Figures:
    """Numbers in a few figures: mean, standard deviation, and the values between which nine tenths lie."""

    mean: float
    deviation: float
    low: float
    high: float


@dataclass(frozen=True)
class Change:
    """A released column before and after: counted, or in figures where both are numbers. Distances have no name."""

    name: str
    counts: tuple[Tally, Tally] | None = None
    figures: tuple[Figures, Figures] | None = None


def compare_release(data: Microdata, made: Release) -> tuple[Change, ...]:
    """Return every released column that the file has, and the distances, before and after."""
    numbers = {one.name: one.values for one in data.numbers.columns}
    found = []
    for name in map(str, made.table.columns):
        before: Any = data.labels[name] if name in data.labels else data.table.get(name)
        if before is None:
            continue
        after = made.table[name]
        figures = _figure(numbers[name]) if name in numbers else None
        changed = None if figures is None else _figure(after)
        if figures is None or changed is None:
            found.append(Change(name, counts=(tally(before), tally(after))))
        else:
            found.append(Change(name, figures=(figures, changed)))
    own, released = (_spread(one) for one in (data.distances, made.masked))
    if own is not None and released is not None:
        found.append(Change(DISTANCES, figures=(own, released)))
    return tuple(found)


def _figure(values: Any) -> Figures | None:
    """Return numbers in a few figures; None where some are none."""
    import numpy as np
    import pandas as pd

    given = pd.Series(np.asarray(values)).dropna()
    plain = pd.to_numeric(given, errors="coerce")
    if not len(plain) or plain.isna().any():
        return None
    low, high = (float(plain.quantile(share)) for share in (0.05, 0.95))
    return Figures(float(plain.mean()), float(plain.std(ddof=0)), low, high)


def _spread(distances: Distances) -> Figures | None:
    import numpy as np

    from disclique.spaces import full_matrix, spaced

    if not distances.are_published or distances.size < 2:
        return None
    values = full_matrix(distances.select(spaced(distances.size, MEASURED)))
    there = values[np.triu_indices(len(values), 1)]
    there = there[np.isfinite(there)]
    return _figure(there) if len(there) else None
