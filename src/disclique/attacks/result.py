"""What an attack found, what it is worth, and what the reader should know about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import numpy as np
import pandas as pd

from disclique.attacks.matches import label_pairs
from disclique.data.labels import canonical, label_hints
from disclique.errors import InputError
from disclique.measures.risk import Risk, risk, true_matches, truth_pairs
from disclique.model import Candidates, Clique, Json, MaximumCliques, Microdata


@dataclass(frozen=True)
class Baseline:
    """Linkage by labels alone: all pairs with a common label, and how many records the label alone identifies."""

    pairs: int
    records: int
    unique: int


def baseline(found: Candidates) -> Baseline:
    """What labels alone give."""
    pairs = label_pairs(found)
    return Baseline(int(pairs["candidates"].sum()), len(pairs), int(pairs["unique"].sum()))


@dataclass(frozen=True, eq=False, kw_only=True)
class Linked:
    """What an attack claims and what that is worth.

    ``matches`` has one row a match: target_row and known_row counted from 1, the records' ids, and how sure it is
    (``support`` of the maximum cliques, or ``probability``); with a truth also ``true``. ``ties`` names target records
    that no attack can tell apart. ``risk`` is None without a truth. ``doubtful`` says why an attack claims nothing, or
    little.
    """

    method: str
    matches: pd.DataFrame
    baseline: Baseline
    ties: tuple[tuple[int, ...], ...]
    risk: Risk | None
    notes: tuple[str, ...]
    seconds: float
    doubtful: str = ""
    expected: float | None = None
    details: Json = field(default_factory=dict)

    def __repr__(self) -> str:
        return "\n".join([f"Attack by {self.method}: {len(self.matches)} matches", *self.lines()])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.lines())
        title = f"<b>Attack by {escape(self.method)}: {len(self.matches)} matches</b>"
        return f"<div>{title}<ul>{lines}</ul>{self.matches.to_html(index=False)}</div>"

    def to_dict(self) -> Json:
        """The result in plain types, as ``--json`` writes it."""
        value = self.risk
        rates = ("tp", "fp", "fn", "precision", "precision_interval", "recall", "recall_interval")
        return {
            "attack": self.method,
            "matches": self.matches.to_dict("records"),
            "expected_matches": self.expected,
            "label_pairs": self.baseline.pairs,
            "label_unique": self.baseline.unique,
            "ties": [list(group) for group in self.ties],
            **{name: getattr(value, name) if value else None for name in rates},
            "doubtful": self.doubtful,
            "notes": list(self.notes),
            "details": self.details,
            "seconds": self.seconds,
        }

    def lines(self) -> list[str]:
        """The result in sentences, for people."""
        return [
            *self._found(),
            f"labels alone: {self.baseline.pairs} possible pairs, {self.baseline.unique} records identified",
            *(f"target records {_and(group)} cannot be told apart" for group in self.ties),
            *worth(self.risk),
            *self.notes,
        ]

    def _found(self) -> list[str]:
        if self.doubtful:
            claimed = f"{len(self.matches)} matches" if len(self.matches) else "nothing"
            return [f"{self.method}: {claimed} is claimed: {self.doubtful}"]
        sure = f", {self.expected:.1f} correct ones expected among all pairs" if self.expected is not None else ""
        return [f"{self.method}: {len(self.matches)} matches{sure}"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Attack(Linked):
    """The result of the paper's attack: the matches with the product graph and the clique they come from."""

    product_vertices: int
    product_edges: int
    clique: Clique
    cliques: MaximumCliques

    def to_dict(self) -> Json:
        """The result in plain types, as ``--json`` writes it."""
        return {
            "product_vertices": self.product_vertices,
            "product_edges": self.product_edges,
            "clique_size": self.clique.size,
            "members": [v + 1 for v in self.clique.members],
            "proven": self.clique.proven,
            "bound": self.clique.bound,
            "solver": self.clique.solver,
            "maximum_cliques": {"listed": self.cliques.count, "complete": self.cliques.complete},
            **super().to_dict(),
        }

    def _found(self) -> list[str]:
        clique = self.clique
        sure = "proven maximum" if clique.proven else f"cut short: a lower bound on the risk, at most {clique.bound}"
        count = f"{self.cliques.count}{'' if self.cliques.complete else ' or more'}"
        return [
            f"product graph: {self.product_vertices} vertices, {self.product_edges} edges",
            f"clique: {clique.size} members ({sure}), {count} of this size",
        ]


def _and(rows: tuple[int, ...]) -> str:
    return f"{', '.join(map(str, rows[:-1]))} and {rows[-1]}"


def worth(found: Risk | None) -> list[str]:
    """Precision and recall in sentences; nothing without a truth."""
    if found is None:
        return []

    def rate(value: float | None, interval: tuple[float, float] | None) -> str:
        if value is None or interval is None:
            return "undefined"
        return f"{value:.3f} (95 % interval {interval[0]:.3f} to {interval[1]:.3f})"

    return [
        f"true {found.tp}, false {found.fp}, missed {found.fn}",
        f"precision {rate(found.precision, found.precision_interval)}",
        f"recall {rate(found.recall, found.recall_interval)}",
    ]


def judged(
    linked: pd.DataFrame, target: Microdata, known: Microdata, truth: str | None
) -> tuple[pd.DataFrame, Risk | None]:
    """The matches with a column ``true``, and their worth; both only with a truth column."""
    if truth is None:
        return linked, None
    people = []
    for data in (target, known):
        if truth not in data.table.columns:
            columns = ", ".join(map(repr, map(str, data.table.columns)))
            raise InputError(f"{data.name}: no truth column {truth!r}; it has {columns}")
        people.append([canonical(value) for value in data.table[truth]])
    common = truth_pairs(*people)
    rows = (linked["target_row"].to_numpy() - 1, linked["known_row"].to_numpy() - 1)
    right = true_matches(rows[0], rows[1], common)
    return linked.assign(true=right), risk(right, len(common))


def notes(target: Microdata, known: Microdata, found: Candidates) -> tuple[str, ...]:
    """What the reader should know about the labels: missing values, and why nothing matches if nothing does."""
    said = []
    for data, of_row in ((target, found.target_class), (known, found.known_class)):
        out = int(np.count_nonzero(of_row < 0))
        if out:
            said.append(f"{data.name}: {out} records have a missing label value and were never matched")
    if len(found.relation) == 0:
        said.append("no label in common: no record of the target shares its label with a known record")
        said += label_hints(target.labels, known.labels)
    return tuple(said)
