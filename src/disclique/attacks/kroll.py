"""The graph theoretic linkage attack, to be read beside the box in the paper; and its relaxation to quasi-cliques."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.knowledge import ALPHA, Knowledge, Search
from disclique.attacks.registry import Attack, Fetch, attacks
from disclique.engine import maximum_clique, maximum_cliques
from disclique.engine.cluster import Workers
from disclique.engine.product import common_subgraph, member_pairs, product_graph, violation
from disclique.engine.quasi import quasi_clique
from disclique.errors import TooLarge
from disclique.messages import Message
from disclique.model import (
    Agreement,
    Candidates,
    Claims,
    Clique,
    CliqueWork,
    MaximumCliques,
    Microdata,
    ProductGraph,
)
from disclique.progress import tell, teller

PACE = 2.0  # billions of operations a second, see ``Budget``
ENOUGH = 10.0  # billions of operations for a search in a graph of about one vertex a person


@dataclass(frozen=True)
class CliqueAttack(Attack):
    """The paper's attack: the matches of a maximum approximate common subgraph.

    Where the product graph does not fit into ``memory`` (by default half of the machine's), its rows are made on demand
    if the budget allows that. Otherwise it is thinned to the pairs that the attack ``thinner`` holds for possible, if
    there is one.
    """

    name: ClassVar[str] = "clique"
    needs: ClassVar[Message | str] = Message("attack_needs_clique")
    summary: ClassVar[Message | str] = Message("attack_does_clique")
    who: ClassVar[Message | str] = Message("attack_who_clique")
    by_agreement: ClassVar[bool] = True

    agreement: Agreement
    search: Search = Search()  # noqa: RUF009 - a frozen value
    memory: int | None = None
    thinner: Attack | None = None

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the snooper's ≈."""
        thinner = attacks()["profiles"].build(knowledge, search)
        return cls(knowledge.needed_agreement(cls.name), search, search.memory, thinner)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link by a maximum clique; a pair is as probable as its support among all maximum cliques."""
        search, announce = self.search, teller()
        tell(Message("step_product_graph"))
        make = partial(
            product_graph,
            target.distances,
            known.distances,
            candidates=candidates,
            agreement=self.agreement,
            memory=self.memory,
            on_demand=_worth(search),
        )
        graph = make()
        tell(Message("step_maximum_clique"))
        clique = maximum_clique(
            graph,
            solver=search.solver,
            budget=search.budget,
            threads=search.threads,
            progress=lambda done, total, size: announce(
                Message("step_clique_so_far", count=size), done / max(total, 1)
            ),
            workers=None if search.executor is None else Workers(search.executor, make),
        )
        tell(Message("step_all_maximum_cliques"))
        cliques = maximum_cliques(graph, clique, limit=search.limit, budget=search.budget)
        wrong = violation(
            common_subgraph(clique, graph), target, known, agreement=self.agreement, candidates=candidates
        )
        if wrong is not None:
            raise AssertionError(f"the solver {search.solver} returned no common subgraph: {wrong}")
        return _claim(self.name, graph, clique, cliques)

    def run_from(self, fetch: Fetch, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Do the same, in a thinner graph where the whole one is too large; then nothing is proven."""
        try:
            return self.run(target, known, candidates)
        except TooLarge as error:
            if self.thinner is None:
                raise
            pairs = fetch(self.thinner)
            if not len(pairs.target):
                raise
            said = error.message
        only = single_pairs(pairs.target, pairs.known, candidates.sizes)
        work = self.search.budget.work
        budget = replace(self.search.budget, work=ENOUGH if work is None else min(work, ENOUGH))  # no proof to wait for
        found = replace(self, search=replace(self.search, budget=budget), thinner=None).run(target, known, only)
        assert found.work is not None
        clique = replace(found.work.clique, bound=min(len(target), len(known)), trace=None)
        cliques = replace(found.work.cliques, complete=False)
        cut = Message("product_graph_thinned", count=len(pairs.target), name=self.thinner.name, reason=said)
        return replace(
            found,
            cut=None if clique.proven else cut,
            most=None,
            work=replace(found.work, clique=clique, cliques=cliques),
            details={"thinned": len(pairs.target)},
        )


@dataclass(frozen=True)
class QuasiCliqueAttack(Attack):
    """A large γ-quasi-clique in the place of the clique, for noise on each distance; larger ones may exist.

    True pairs are adjacent to about α of each other; by default a member may have a fifth less.
    """

    name: ClassVar[str] = "quasi"
    needs: ClassVar[Message | str] = Message("attack_needs_clique")
    summary: ClassVar[Message | str] = Message("attack_does_quasi")
    who: ClassVar[Message | str] = Message("attack_who_quasi")
    by_agreement: ClassVar[bool] = True
    in_all: ClassVar[bool] = False  # extend finds more, and faster

    agreement: Agreement
    search: Search = Search()  # noqa: RUF009 - a frozen value
    gamma: float = field(default=0.8 * ALPHA, metadata={"spec": True})

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the snooper's ≈ and its detection probability."""
        return cls(knowledge.needed_agreement(cls.name), search, 0.8 * (knowledge.alpha or ALPHA))

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link by a quasi-clique in which every record has at most one match."""
        tell(Message("step_product_graph"))
        graph = product_graph(target.distances, known.distances, candidates=candidates, agreement=self.agreement)
        tell(Message("step_quasi_clique"))
        found = quasi_clique(graph, gamma=self.gamma, budget=self.search.budget)
        clique = Clique(found.members, max(found.bound, len(found.members)), self.name, found.seconds)
        return _claim(self.name, graph, clique, MaximumCliques((found.members,), complete=False))


def _worth(search: Search) -> float:
    """Return the billions of operations that a search may cost where rows are made on demand; 0 by other solvers."""
    budget = search.budget
    if search.solver not in ("exact", "greedy"):
        return 0.0
    return min(
        float("inf") if budget.work is None else budget.work,
        float("inf") if budget.seconds is None else PACE * budget.seconds,
    )


def _claim(attack: str, graph: ProductGraph, clique: Clique, cliques: MaximumCliques) -> Claims:
    """Claim every member; a pair's probability is the share of the maximum cliques that contain it."""
    count = Counter(member for members in cliques.cliques for member in members)
    support = [count[member] / cliques.count if cliques.count else 1.0 for member in clique.members]
    pairs = member_pairs(graph, clique.members)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    unproven = Message("clique_not_proven", size=clique.size, solver=clique.solver, bound=clique.bound)
    return Claims(
        attack=attack,
        target=pairs[order, 0],
        known=pairs[order, 1],
        probability=np.array(support, dtype=float)[order],
        threshold=0.0,  # the paper claims every member of the clique
        cut=None if clique.proven else unproven,
        most=clique.bound,
        ties=tuple(member_pairs(graph, members) for members in cliques.cliques),
        work=CliqueWork(graph.order, graph.size, clique, cliques),
    )


def single_pairs(target: NDArray[Any], known: NDArray[Any], sizes: tuple[int, int]) -> Candidates:
    """Return some pairs of rows as the only candidates, every record a class of its own."""
    pairs = np.unique(np.column_stack([target, known]), axis=0).astype(np.int32)
    return Candidates(np.arange(sizes[0], dtype=np.int32), np.arange(sizes[1], dtype=np.int32), pairs)
