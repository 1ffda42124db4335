"""The graph theoretic linkage attack, to be read beside the box in the paper."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from disclique.attacks.matches import common_subgraph, matches, twins, violation
from disclique.attacks.result import Attack, baseline, judged, notes
from disclique.data.labels import Comparator, candidates
from disclique.engine import maximum_clique, maximum_cliques
from disclique.engine.product import product_graph
from disclique.engine.quasi import quasi_clique
from disclique.errors import InputError
from disclique.model import (
    UNLIMITED,
    Agreement,
    Budget,
    Candidates,
    Clique,
    MaximumCliques,
    Microdata,
    ProductGraph,
)

Progress = Callable[[str, float | None], None]  # the step at work, and the share of it that is done if known


def silent(step: str, share: float | None = None) -> None:
    """Nothing: the listener of those who do not want to know."""


QUASI = "quasi"


@dataclass(frozen=True)
class LabelRule:
    """When labels coincide: how missing values match (``never`` or ``any``), and comparators that forgive errors."""

    missing: str = "never"
    comparators: Mapping[str, Comparator] = field(default_factory=dict)

    def candidates(self, target: Microdata, known: Microdata) -> Candidates:
        """The pairs of records that may match."""
        return candidates(target.labels, known.labels, missing=self.missing, comparators=self.comparators)


@dataclass(frozen=True)
class Search:
    """How the maximum clique is searched: by which solver, how long, on how many threads, listing how many ties.

    ``solver`` is one of ``disclique.engine.SOLVERS``, or ``quasi`` for a one-to-one γ-quasi-clique.
    """

    solver: str = "exact"
    budget: Budget = UNLIMITED
    threads: int | None = None
    limit: int = 1000

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InputError(f"limit of {self.limit} maximum cliques: list at least one")


def clique_attack(
    target: Microdata,
    known: Microdata,
    *,
    agreement: Agreement,
    truth: str | None = None,
    labels: LabelRule | None = None,
    search: Search | None = None,
    progress: Progress = silent,
) -> Attack:
    """The paper's attack: the matches of a maximum approximate common subgraph (parameters: see ``attack``)."""
    how = search or Search()
    start = time.perf_counter()
    progress("labels", None)
    found = (labels or LabelRule()).candidates(target, known)
    graph, clique, cliques = common_graph(target, known, found, agreement=agreement, search=how, progress=progress)
    progress("matches", None)
    linked = matches(graph, cliques, clique=clique, ids=(target.ids, known.ids))
    linked, value = judged(linked, target, known, truth)
    return Attack(
        method="clique",
        matches=linked,
        baseline=baseline(found),
        ties=twins(target),
        risk=value,
        notes=notes(target, known, found),
        seconds=time.perf_counter() - start,
        product_vertices=graph.order,
        product_edges=graph.size,
        clique=clique,
        cliques=cliques,
    )


def _quasi(graph: ProductGraph, search: Search) -> tuple[Clique, MaximumCliques]:
    """A γ-quasi-clique in the place of the clique, for noise on the distances; nothing is proven about larger ones."""
    found = quasi_clique(graph, budget=search.budget)
    clique = Clique(found.members, max(found.bound, len(found.members)), QUASI, found.seconds)
    return clique, MaximumCliques((found.members,), complete=False)


def common_graph(
    target: Microdata,
    known: Microdata,
    found: Candidates,
    *,
    agreement: Agreement,
    search: Search,
    progress: Progress = silent,
) -> tuple[ProductGraph, Clique, MaximumCliques]:
    """The product graph, its maximum clique, and all cliques of that size; the clique is checked by definition 5.

    The solver ``quasi`` returns a quasi-clique instead, of which definition 5 need not hold.
    """
    progress("product graph", None)
    graph = product_graph(target.distances, known.distances, candidates=found, agreement=agreement)
    if search.solver == QUASI:
        return graph, *_quasi(graph, search)
    progress("maximum clique", None)

    def tell(done: int, total: int, size: int) -> None:
        progress(f"maximum clique, {size} members so far", done / max(total, 1))

    clique = maximum_clique(graph, solver=search.solver, budget=search.budget, threads=search.threads, progress=tell)
    progress("all maximum cliques", None)
    cliques = maximum_cliques(graph, clique, limit=search.limit, budget=search.budget)
    wrong = violation(common_subgraph(clique, graph), target, known, agreement=agreement, candidates=found)
    if wrong:
        raise AssertionError(f"the solver {search.solver} returned no common subgraph: {wrong}")
    return graph, clique, cliques
