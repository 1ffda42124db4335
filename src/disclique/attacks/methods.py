"""Attacks as values: a name, what each needs, and ``run``; an audit runs all that apply and reports the worst."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, overload

import numpy as np

from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.kroll import LabelRule, Progress, Search, clique_attack, common_graph, silent
from disclique.attacks.matches import label_pairs, match_table, matches, twins, unique_label_pairs
from disclique.attacks.result import Attack, Linked, baseline, judged, notes
from disclique.data.distances import Points
from disclique.errors import InputError
from disclique.model import Agreement, Candidates, Claims, Microdata

PROBABLE = 0.5  # a match is claimed if it is more probable than not


class Method(Protocol):
    """A way to attack a release: ``needs`` says in words to which releases it applies."""

    name: ClassVar[str]
    needs: ClassVar[str]
    threshold: ClassVar[float]  # a pair is claimed if it is more probable than this

    def run(self, target: Microdata, known: Microdata, found: Candidates) -> Claims:
        """Pairs of records with the probability that they belong to one person."""


@dataclass(frozen=True)
class ByLabels:
    """Claims by labels alone: a pair is as probable as a guess among the records that share the label."""

    name: ClassVar[str] = "labels"
    needs: ClassVar[str] = "labels"
    threshold: ClassVar[float] = PROBABLE

    def run(self, target: Microdata, known: Microdata, found: Candidates) -> Claims:
        """The pairs that the label alone links, one record of it in either file."""
        left, right = unique_label_pairs(found)
        sure = make_claims((left.astype(np.int32), right.astype(np.int32), np.ones(len(left))), attack=self.name)
        guesses = label_pairs(found)["candidates"]
        return replace(sure, expected=float((1 / guesses).sum()))


@dataclass(frozen=True)
class ByClique:
    """The paper's attack: the maximum clique of the product graph."""

    agreement: Agreement
    search: Search = Search()  # noqa: RUF009 - a frozen value
    name: ClassVar[str] = "clique"
    needs: ClassVar[str] = "any distances"
    threshold: ClassVar[float] = 0.0  # the paper claims every member of the clique

    def run(self, target: Microdata, known: Microdata, found: Candidates) -> Claims:
        """The clique's pairs; their probability is the share of the maximum cliques that contain them."""
        graph, clique, cliques = common_graph(target, known, found, agreement=self.agreement, search=self.search)
        table = matches(graph, cliques, clique=clique, ids=(target.ids, known.ids))
        rows = table[["target_row", "known_row"]].to_numpy(dtype=np.int32) - 1
        details = {
            "product_vertices": graph.order,
            "product_edges": graph.size,
            "clique_size": clique.size,
            "bound": clique.bound,
            "proven": clique.proven,
        }
        pairs = (rows[:, 0], rows[:, 1], table["support"].to_numpy(dtype=float))
        return replace(make_claims(pairs, attack=self.name, floor=0.0, details=details), threshold=self.threshold)


@dataclass(frozen=True)
class ByExtension:
    """The clique's matches as anchors: every other pair is judged by its distances to them, and so on until stable."""

    agreement: Agreement
    spread: float  # standard deviation of d - d′ for a true pair, in the unit of the distances
    common: float | None = None
    search: Search = Search()  # noqa: RUF009 - a frozen value
    name: ClassVar[str] = "extend"
    needs: ClassVar[str] = "any distances, directed or incomplete ones too"
    threshold: ClassVar[float] = PROBABLE

    def run(self, target: Microdata, known: Microdata, found: Candidates) -> Claims:
        """The pairs that the anchors support."""
        from disclique.attacks.extend import extend

        start = ByClique(self.agreement, self.search).run(target, known, found)
        return extend(
            target.distances,
            known.distances,
            candidates=found,
            anchors=(start.target, start.known),
            spread=self.spread,
            common=self.common,
        )


@dataclass(frozen=True)
class ByRegistration:
    """The target's map rebuilt from its distances and laid on the known one by labels and density."""

    knowledge: Knowledge
    name: ClassVar[str] = "register"
    needs: ClassVar[str] = "distances on the sphere or in the plane, and coordinates of the known records"
    threshold: ClassVar[float] = PROBABLE

    def run(self, target: Microdata, known: Microdata, found: Candidates) -> Claims:
        """The pairs that lie together on the map."""
        from disclique.attacks.register import register

        return register(target.distances, needed_points(known, self.name), candidates=found, knowledge=self.knowledge)


@dataclass(frozen=True)
class ByShortPaths:
    """Registration of a map made from small distances only, by shortest paths and a fit to the published lengths."""

    knowledge: Knowledge
    name: ClassVar[str] = "isomap"
    needs: ClassVar[str] = "small distances on the sphere or in the plane, and coordinates of the known records"
    threshold: ClassVar[float] = PROBABLE

    def run(self, target: Microdata, known: Microdata, found: Candidates) -> Claims:
        """The pairs that lie together on the map."""
        from disclique.attacks.register import isomap

        return isomap(target.distances, needed_points(known, self.name), candidates=found, knowledge=self.knowledge)


def needed_points(known: Microdata, method: str) -> Points:
    """The known file's points, which attacks by a map cannot do without."""
    if not isinstance(known.distances, Points) or callable(known.distances.metric):
        raise InputError(
            f"{known.name}: the attack {method} needs coordinates of the known records; clique and extend do not"
        )
    return known.distances


def link(
    target: Microdata,
    known: Microdata,
    *,
    method: Method,
    truth: str | None = None,
    labels: LabelRule | None = None,
) -> Linked:
    """Link ``target`` to ``known`` by any method, and judge the result where a truth is given."""
    start = time.perf_counter()
    found = (labels or LabelRule()).candidates(target, known)
    claim = method.run(target, known, found)
    rows, others, probability = claim.claimed()
    table = match_table(rows, others, (target.ids, known.ids), probability=probability)
    table, value = judged(table, target, known, truth)
    return Linked(
        method=method.name,
        matches=table,
        baseline=baseline(found),
        ties=twins(target),
        risk=value,
        notes=notes(target, known, found),
        seconds=time.perf_counter() - start,
        doubtful=claim.doubt,
        expected=claim.expected,
        details=claim.details,
    )


METHODS = {method.name: method for method in (ByLabels, ByClique, ByExtension, ByRegistration, ByShortPaths)}
NAMES = tuple(METHODS)


@overload
def attack(
    target: Microdata,
    known: Microdata,
    *,
    agreement: Agreement,
    truth: str | None = None,
    labels: LabelRule | None = None,
    search: Search | None = None,
    progress: Progress = silent,
) -> Attack: ...


@overload
def attack(
    target: Microdata,
    known: Microdata,
    *,
    method: Method,
    truth: str | None = None,
    labels: LabelRule | None = None,
) -> Linked: ...


def attack(
    target: Microdata,
    known: Microdata,
    *,
    agreement: Agreement | None = None,
    method: Method | None = None,
    truth: str | None = None,
    labels: LabelRule | None = None,
    search: Search | None = None,
    progress: Progress = silent,
) -> Linked:
    """Link ``target`` to ``known``: by a maximum approximate common subgraph, or by another method.

    Parameters
    ----------
    target, known : Microdata
        The released file and the snooper's identification file.
    agreement : Agreement
        The paper's attack: which known distances agree with a target distance, such as ``Within(5)``.
    method : Method
        Instead of ``agreement``: another attack, such as ``METHODS["register"](Knowledge(...))``.
    truth : column name
        A column of both tables that tells which records belong to one person; only the data holder has it.
    labels : LabelRule
        How missing label values match, and comparators for labels with errors.
    search : Search
        Solver, time budget, threads, and how many maximum cliques to list.
    progress : function of the step's name and the share of it that is done
    """
    if agreement is not None and method is None:
        return clique_attack(
            target, known, agreement=agreement, truth=truth, labels=labels, search=search, progress=progress
        )
    if method is None or agreement is not None:
        raise InputError("say either when distances agree (agreement) or by which method to attack (method)")
    return link(target, known, method=method, truth=truth, labels=labels)
