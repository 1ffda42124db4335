"""The attacks that a study knows by name, and what a claim is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from disclique.attacks.knowledge import Knowledge
from disclique.data.distances import Points
from disclique.engine import SOLVERS, maximum_clique, maximum_cliques
from disclique.engine.quasi import quasi_clique
from disclique.errors import InputError
from disclique.masks import parse_mask
from disclique.measures.risk import Risk
from disclique.model import Claims, FloatArray, Json, ProductGraph
from disclique.studies.draw import Draw, Pairs
from disclique.studies.grid import Study, Unit

QUASI = "quasi"
BINS = 10  # classes of probability in which claims are compared with the truth


@dataclass(frozen=True, eq=False)
class Cell:
    """What one attack is given: the draw, and for those that link by a product graph α and the graph."""

    study: Study
    unit: Unit
    draw: Draw
    alpha: float | None
    graph: ProductGraph


@dataclass(frozen=True, eq=False)
class Claim:
    """What an attack claims: pairs, a bound on how many it could be if there is one, and ties that serve as well.

    ``weighed`` are all pairs that an attack with probabilities has considered, the claimed ones among them, and
    ``expected`` is the sum of all its probabilities.
    """

    pairs: Pairs
    bound: int | None
    ties: tuple[Pairs, ...]
    complete: bool
    weighed: tuple[Pairs, FloatArray] | None = None
    expected: float | None = None


@dataclass(frozen=True)
class Method:
    """An attack with at most one parameter in (0, 1].

    ``claim`` is a function of the cell and of the parameter's value (None if it is not given). With ``by_alpha`` it is
    made for every α; without, once a draw, with an empty product graph and no α in its record.
    """

    claim: Callable[[Cell, float | None], Claim]
    parameter: str = ""
    by_alpha: bool = True


def worth(claim: Claim, made: Draw) -> Json:
    """Size, certainty and risk of a claim, and the true positives over all its ties."""
    tp = int(made.true(claim.pairs).sum())
    found = Risk(tp=tp, fp=len(claim.pairs) - tp, fn=len(made.truth) - tp)
    tied = [int(made.true(pairs).sum()) for pairs in claim.ties]
    return {
        "size": len(claim.pairs),
        "bound": claim.bound,
        "proven": len(claim.pairs) == claim.bound,
        "tp": found.tp,
        "fp": found.fp,
        "fn": found.fn,
        "precision": found.precision,
        "recall": found.recall,
        "ties": len(tied),
        "ties_complete": claim.complete,
        "tp_mean": float(np.mean(tied)) if tied else None,
        "tp_min": min(tied, default=None),
        "tp_max": max(tied, default=None),
        "expected": claim.expected,
        **_reliability(claim, made),
    }


def _reliability(claim: Claim, made: Draw) -> Json:
    """How many pairs had a probability in each of BINS equal classes, its sum, and how many of them were true."""
    if claim.weighed is None:
        return {"weighed": None, "weight": None, "right": None}
    pairs, probability = claim.weighed
    of_pair = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    sums = {"weighed": None, "weight": probability, "right": made.true(pairs).astype(float)}
    return {name: np.bincount(of_pair, weights=values, minlength=BINS).tolist() for name, values in sums.items()}


def _clique(cell: Cell, _: float | None) -> Claim:
    """The paper's attack: a maximum clique of the product graph, or what the solver puts in its place."""
    search, graph = cell.study.search, cell.graph
    if search.solver == QUASI:
        return _quasi(cell, None)
    clique = maximum_clique(graph, solver=search.solver, budget=search.budget, threads=search.threads)
    cliques = maximum_cliques(graph, clique, limit=search.limit, budget=search.budget)
    return Claim(
        pairs=_pairs(graph, clique.members),
        bound=clique.bound,
        ties=tuple(_pairs(graph, members) for members in cliques.cliques),
        complete=cliques.complete,
    )


def _quasi(cell: Cell, gamma: float | None) -> Claim:
    """A large one-to-one γ-quasi-clique; nothing is proven about larger ones.

    True pairs are adjacent to about α of each other; by default a member may have a fifth less.
    """
    found = quasi_clique(cell.graph, gamma=gamma or 0.8 * (cell.alpha or 1.0), budget=cell.study.search.budget)
    pairs = _pairs(cell.graph, found.members)
    return Claim(pairs, bound=found.bound, ties=(pairs,), complete=False)


def _pairs(graph: ProductGraph, members: Sequence[int]) -> Pairs:
    chosen = np.array(members, dtype=np.int64)
    return np.column_stack([graph.target[chosen], graph.known[chosen]]).astype(np.int32)


def _informed(name: str, cell: Cell, _: float | None) -> Claim:
    """An attack of ``disclique.attacks`` that is told how the mask works and how many people are in both files."""
    from disclique.attacks.informed import methods

    study, made = cell.study, cell.draw
    told = _knowledge(study, cell.unit.mask, cell.unit.repetition % study.people.datasets)
    options = {} if cell.alpha is None else {"alpha": cell.alpha}
    method = methods([name], made.calibration, knowledge=told, search=study.search, **options)[0]
    return _weighed(method.run(made.target, made.known, made.candidates), method.threshold)


def _weighed(found: Claims, threshold: float) -> Claim:
    """The claim of an attack that gives probabilities."""
    pairs = np.column_stack(found.claimed()[:2]).astype(np.int32)
    every = np.column_stack([found.target, found.known]).astype(np.int32)
    return Claim(
        pairs, bound=None, ties=(pairs,), complete=False, weighed=(every, found.probability), expected=found.expected
    )


def _ceiling(cell: Cell, _: float | None) -> Claim:
    """The best that any snooper could do: the same posterior on the masked points themselves, truly aligned."""
    from disclique.attacks.methods import PROBABLE
    from disclique.attacks.register import ceiling

    made = cell.draw
    if not isinstance(made.masked, Points):
        raise InputError(f"mask {cell.unit.mask}: it masks distances, so there are no masked points to be a ceiling")
    told = _knowledge(cell.study, cell.unit.mask, cell.unit.repetition % cell.study.people.datasets)
    known = made.known.distances
    assert isinstance(known, Points)
    return _weighed(ceiling(made.masked, known, candidates=made.candidates, knowledge=told), PROBABLE)


def _guess(cell: Cell, _: float | None) -> Claim:
    """The worst: for each target record one of the known records that share its label, at random."""
    made = cell.draw
    rng = np.random.default_rng(cell.study.chance("guess", cell.unit.mask, cell.unit.repetition))
    members = {int(b): np.flatnonzero(made.candidates.known_class == b) for b in made.candidates.relation[:, 1]}
    related = dict(made.candidates.relation.tolist())
    rows = [v for v, own in enumerate(made.candidates.target_class.tolist()) if own in related]
    chosen = [rng.choice(members[related[int(made.candidates.target_class[v])]]) for v in rows]
    pairs = np.column_stack([rows, chosen]).astype(np.int32).reshape(-1, 2)
    return Claim(pairs, bound=None, ties=(pairs,), complete=False)


@lru_cache(maxsize=64)
def _knowledge(study: Study, mask: str, dataset: int) -> Knowledge:
    """What the snooper knows of a mask; where that is simulated, at the places of the known file."""
    from disclique.attacks.informed import knowledge_of
    from disclique.studies.draw import people_of

    places = Points(people_of(study, dataset).known[["lon", "lat"]].to_numpy(dtype=float), "sphere")
    rng = np.random.default_rng(study.chance("knowledge", mask, dataset))
    return knowledge_of(parse_mask(mask), places, common=study.people.common / study.people.n_target, rng=rng)


METHODS: dict[str, Method] = {
    "clique": Method(_clique),
    QUASI: Method(_quasi, parameter="gamma"),
    "extend": Method(partial(_informed, "extend")),
    "labels": Method(partial(_informed, "labels"), by_alpha=False),
    "register": Method(partial(_informed, "register"), by_alpha=False),
    "isomap": Method(partial(_informed, "isomap"), by_alpha=False),
    "ceiling": Method(_ceiling, by_alpha=False),
    "guess": Method(_guess, by_alpha=False),
}


def check(study: Study) -> None:
    """Raise before a long run if a study names an attack or a solver that does not exist."""
    for spec in study.grid.attacks:
        method_of(spec)
    if study.search.solver not in (*SOLVERS, QUASI):
        raise InputError(f"solver {study.search.solver!r}: choose one of {', '.join(dict.fromkeys((*SOLVERS, QUASI)))}")


def method_of(spec: str) -> tuple[Method, float | None]:
    """The attack that a spec names, such as ``clique`` or ``quasi:gamma=0.7``, and its parameter's value."""
    name, _, rest = spec.partition(":")
    if name not in METHODS:
        raise InputError(f"attack {spec!r}: there is no attack {name!r} in a study; there are {', '.join(METHODS)}")
    method = METHODS[name]
    if not rest:
        return method, None
    key, _, value = (part.strip() for part in rest.partition("="))
    if key != method.parameter or not key:
        raise InputError(f"attack {spec!r}: {name} has no parameter {key!r}")
    try:
        number = float(value)
    except ValueError:
        raise InputError(f"attack {spec!r}: {value!r} is not a number") from None
    if not 0 < number <= 1:
        raise InputError(f"attack {spec!r}: {key} must be more than 0 and at most 1")
    return method, number
