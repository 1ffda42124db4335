"""Attacks that rebuild the target's map from its distances and lay it on the known file.

The data go through three steps: *rebuild* (``spaces/rebuild``) makes a map of the target from the published distances,
or several where these leave parts; *align* (``attacks/align``) lays it on the known file; *weigh* (``attacks/weigh``,
``attacks/posterior``) gives every pair that then lies together its probability. The known people are a ``population``,
in memory or read in pieces.
Nothing here knows of studies or audits, and of masks only their laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar, Self

import numpy as np

from disclique.attacks.align import AttackInputs, StartPairs, StepListener
from disclique.attacks.align.lay import drop_unplaced, lay_map, lay_masked
from disclique.attacks.align.likelihood import find_pairs
from disclique.attacks.align.settle import RegisterCase
from disclique.attacks.claims import FLOOR, Weighed, make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search, learn_scaled
from disclique.attacks.population import Population, prepare
from disclique.attacks.registry import Attack
from disclique.attacks.weigh.pairs import (
    best_of_each_target,
    describe_alignment,
    equalise_ties,
    find_law_pairs,
    link_parts,
    weigh_matchings,
    weigh_pairs,
)
from disclique.errors import InputError
from disclique.masks.laws import ExchangeLaw, HalfWayLaw
from disclique.messages import Message, mark
from disclique.model import Candidates, Claims, Microdata
from disclique.progress import tell
from disclique.spaces import Points
from disclique.spaces.base import Distances
from disclique.spaces.positions import average_places
from disclique.spaces.rebuild import find_different, join_maps, rebuild_from_short, rebuild_map
from disclique.spaces.rebuild.incomplete import MapInParts, MapNotFound
from disclique.spaces.rebuild.landmarks import Rebuilding, TargetMap, refuse_directed
from disclique.spaces.rebuild.parts import rebuild_parts
from disclique.values import FloatArray, Json

__all__ = ["best_of_each_target", "ceiling", "isomap", "register"]

Rebuild = Callable[[Distances, float, float | None, float | None, Rebuilding], TargetMap]


def register(
    target: Distances,
    known: Points | Population,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
    start: StartPairs | None = None,
    progress: StepListener | None = None,
) -> Claims:
    """Claim pairs that lie together once the target's map is rebuilt from its distances and laid on the known file.

    Labels that may be wrong weigh by ``candidates.evidence``. ``start`` are matches to begin with, target rows and
    known rows, which may be wrong; ``progress`` is told each step. Distances that fit no map are refused; an alignment
    that is not clearly better than chance claims nothing and says so, unless the snooper is bold. A search that was
    given up, for a map or for an alignment, is said in ``cut``. The known people may be a register that is read in
    pieces; known rows are then those of the register.
    """
    refuse_directed(target)
    population = Population.of(known)
    refuse_law(knowledge, population)
    if min(target.size, population.size) < 2:
        return no_claims(Message("nothing_to_align"), attack="register")
    inputs = AttackInputs(population, candidates, knowledge, start, progress)
    inputs.tell(mark("step_rebuilding_map"))
    return _rebuild_and_link(target, inputs, rebuild_map, attack="register", unless=MapNotFound)


def isomap(
    target: Distances,
    known: Points | Population,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
    progress: StepListener | None = None,
) -> Claims:
    """Claim pairs that lie together once a map is made from the small distances of the target alone.

    For releases that keep only small distances (lists of neighbours, truncated matrices); of a complete matrix the
    nearest neighbours are used, of a capped one what lies below the cap. A release that does not determine a map
    claims nothing and says so.
    """
    refuse_directed(target)
    inputs = AttackInputs(Population.of(known), candidates, knowledge, None, progress)
    inputs.tell(mark("step_small_distances"))
    return _rebuild_and_link(target, inputs, rebuild_from_short, attack="isomap", unless=InputError)


def refuse_law(knowledge: Knowledge, population: Population) -> None:
    """Refuse laws that depend on all known records at once where these are not at hand."""
    if not population.whole and isinstance(knowledge.law, (HalfWayLaw, ExchangeLaw)):
        mask = Message("the_mask") if knowledge.mask is None else knowledge.mask.name
        raise InputError("register_too_large_for_mask", size=population.size, mask=mask)


def _rebuild_and_link(
    target: Distances, inputs: AttackInputs, rebuild: Rebuild, *, attack: str, unless: type[InputError]
) -> Claims:
    """Claim what the rebuilt map gives; nothing, with the reason, where rebuilding it fails by ``unless``."""
    began = perf_counter()
    try:
        target_map = _rebuild_all(target, inputs, rebuild, unless)
    except MapInParts as why:
        if not inputs.population.whole:
            cut = Message("parts_not_laid_on_register")
            return no_claims(why.message, attack=attack, cut=cut, details={"unlaid": target.size})
        inputs.tell(mark("step_rebuilding_parts"))
        how, told = inputs.thresholds.rebuild, _tell_rebuilding(inputs)
        parts, unplaced = rebuild_parts(why.published, told[0], lambda part: rebuild_map(part, *told), how)
        if not parts and not issubclass(MapInParts, unless):
            raise
        spent: Json = {"seconds": {"map": perf_counter() - began}}
        return link_parts(parts, unplaced, inputs, attack=attack, why=why.message, details=spent)
    except MapNotFound as why:
        cut = Message("map_search_ended")
        return no_claims(why.message, attack=attack, cut=cut, details={"unlaid": target.size})
    except unless as why:
        return no_claims(why.message, attack=attack, details={"unlaid": target.size})
    details: Json = {"seconds": {"map": perf_counter() - began}}
    if target_map.copies:
        inputs = inputs.take_mean(target_map.copies)
        details["releases"] = len(target_map.copies)
    return link_map(target_map, inputs, attack=attack, details=details)


def _rebuild_all(target: Distances, inputs: AttackInputs, rebuild: Rebuild, unless: type[InputError]) -> TargetMap:
    """Rebuild the map of a release; of a series that of every release from which it can be done, as one."""
    rest = _tell_rebuilding(inputs)
    if len(target.releases) == 1:
        return rebuild(target.releases[0], *rest)
    maps, failed = [], None
    for release in target.releases:
        try:
            maps.append(rebuild(release, *rest))
        except (unless, MapInParts) as why:
            failed = why
    if failed is not None and not maps:
        raise failed
    return join_maps(maps, inputs.known_map.radius, inputs.least_difference)


def _tell_rebuilding(inputs: AttackInputs) -> tuple[float, float | None, float | None, Rebuilding]:
    """Return what is told to whoever rebuilds a map."""
    knowledge = inputs.knowledge
    return inputs.known_map.radius, knowledge.matrix_noise, knowledge.relative_noise, inputs.thresholds.rebuild


def link_map(target_map: TargetMap, inputs: AttackInputs, *, attack: str, details: Json) -> Claims:
    """Claim what a snooper with the target's map can claim."""
    began = perf_counter()
    details["unlaid"] = int((~np.isfinite(target_map.variance)).sum())
    target_map, inputs = drop_unplaced(target_map, inputs)
    details["map"] = {"misfit": target_map.misfit, "error": float(np.sqrt(target_map.variance.mean()))}
    laid = lay_map(target_map, inputs)
    found, aligned = laid.found, perf_counter()
    seconds = details.get("seconds", {}) | {"align": aligned - began}
    if laid.streams is not None:
        details["register"] = laid.streams
    if laid.doubt is not None and (found is None or not inputs.knowledge.bold):
        details |= {"seconds": seconds, "evidence": None if found is None else found.ranked[0].evidence}
        return no_claims(laid.doubt, attack=attack, cut=laid.cut, details=details)
    assert found is not None
    inputs.tell(mark("step_weighing"))
    (target, known, probability), share = weigh_pairs(found, inputs.knowledge.common, laid.laws)
    details |= describe_alignment(found, share) | {"alignments": len(found.ranked)}
    details["seconds"] = seconds | {"posterior": perf_counter() - aligned}
    if laid.rows is not None:
        known = laid.rows[known].astype(np.int32)
    claims, tied = equalise_ties((target, known, probability), inputs.thresholds.weigh)
    lowest = 0.0 if inputs.knowledge.bold else FLOOR
    return make_claims(claims, attack=attack, floor=lowest, cut=laid.cut, doubt=laid.doubt, details=details | tied)


def ceiling(
    masked: Points | Sequence[Points], known: Points | Population, *, candidates: Candidates, knowledge: Knowledge
) -> Claims:
    """Weigh all pairs as a snooper could who was given the masked coordinates themselves.

    ``masked`` are the target's points after the mask, in the coordinates of the known file, or those of several
    releases of the same records, whose likelihoods multiply. A mask that only moves the whole map is undone as by
    ``register``.
    No pair is left out that the law of the mask allows (of Gaussian noise within four standard deviations), and pairs
    are weighed as by ``register``. As far as the law and the labels are exact, displacements independent of each other
    and the share of common targets as stated, ``best_of_each_target`` of these claims is expected to be right at least
    as often as any attack that claims one known record per target. A simulated law, places that are exchanged and ways
    to a neighbour are only approximated; of a register that is read in pieces every law is taken for Gaussian noise.
    """
    if knowledge.noise is None:
        raise InputError("ceiling_needs_spread")
    population = Population.of(known)
    releases = tuple(masked) if isinstance(masked, Sequence) else (masked,)
    if knowledge.mask is not None and knowledge.mask.rigid:
        told = replace(knowledge, bold=True)
        return replace(register(releases[0], population, candidates=candidates, knowledge=told), attack="ceiling")
    inputs = AttackInputs(population, candidates, knowledge)
    copies = [population.known_map.place(one) for one in releases]
    copies = [copies[which] for which in find_different(copies, inputs.least_difference)]
    weighed, share = _weigh_masked(copies, inputs.take_mean(copies))
    claims, tied = equalise_ties(weighed, inputs.thresholds.weigh)
    return make_claims(claims, attack="ceiling", floor=0.0, details={"common": share} | tied)


def _weigh_masked(copies: list[FloatArray], inputs: AttackInputs) -> tuple[Weighed, float]:
    """Return the pairs of places that lie truly aligned, with their probabilities, and the share of common targets."""
    population, common = inputs.population, inputs.knowledge.common
    if not population.whole:
        positions = copies[0] if len(copies) == 1 else average_places(copies, population.known_map.radius)
        target_map = TargetMap(positions, np.zeros(len(positions)), 0.0)
        laid = lay_masked(RegisterCase(target_map, inputs, inputs.find_floor(target_map), inputs.noise))
        (target, place, probability), share = weigh_pairs(laid.found, common)
        return (target, laid.gathered.people.rows[place].astype(np.int32), probability), share
    model = inputs.build_model(inputs.noise, inputs.finest)
    who, laws = np.flatnonzero(model.matchable), inputs.build_laws(model)
    if laws is None:
        places = average_places(copies, population.known_map.radius)
        pairs = find_pairs(model, places[who], np.zeros(len(who)), who)
    else:
        variance = np.full(len(copies[0]), inputs.finest**2)
        pairs = find_law_pairs(laws.of_series(copies), copies, variance, who, inputs.share)
    share, probability = weigh_matchings(pairs, (len(copies[0]), population.size), common)
    return (pairs.target.astype(np.int32), pairs.known.astype(np.int32), probability), share


@dataclass(frozen=True)
class MapAttack(Attack):
    """An attack that lays the target's map on the known one."""

    by_evidence: ClassVar[bool] = True

    knowledge: Knowledge

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from what the snooper knows of displacement and noise."""
        return cls(knowledge)

    def locate(self, known: Microdata) -> tuple[Population, Knowledge]:
        """Return the known people, by coordinates or scaled from a matrix, and what the snooper knows there."""
        people = prepare(known).population
        if people is not None and known.distances.vectors() is not None:
            return people, self.knowledge
        scaled = known.distances.to_map()
        if people is None or scaled is None:
            raise InputError("attack_needs_places", file=known.name, name=self.name)
        return people, learn_scaled(self.knowledge, scaled)


@dataclass(frozen=True)
class RegisterAttack(MapAttack):
    """The target's map rebuilt from its distances and laid on the known one by labels and density."""

    name: ClassVar[str] = "register"
    needs: ClassVar[Message | str] = Message("attack_needs_register")
    summary: ClassVar[Message | str] = Message("attack_does_register")
    who: ClassVar[Message | str] = Message("attack_who_register")
    cost: ClassVar[int] = 1

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        people, knowledge = self.locate(known)
        return register(target.distances, people, candidates=candidates, knowledge=knowledge, progress=tell)


@dataclass(frozen=True)
class IsomapAttack(MapAttack):
    """Registration of a map made from small distances only, by shortest paths and a fit to the published lengths."""

    name: ClassVar[str] = "isomap"
    needs: ClassVar[Message | str] = Message("attack_needs_isomap")
    summary: ClassVar[Message | str] = Message("attack_does_isomap")
    who: ClassVar[Message | str] = Message("attack_who_isomap")
    cost: ClassVar[int] = 2
    most: ClassVar[tuple[int, int] | None] = (10_000, 100_000_000)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        people, knowledge = self.locate(known)
        return isomap(target.distances, people, candidates=candidates, knowledge=knowledge, progress=tell)


@dataclass(frozen=True)
class Ceiling(MapAttack):
    """What a snooper could claim who is given the masked points themselves, truly aligned."""

    name: ClassVar[str] = "ceiling"
    needs: ClassVar[Message | str] = Message("attack_needs_ceiling")
    summary: ClassVar[Message | str] = Message("attack_does_ceiling")
    who: ClassVar[Message | str] = Message("attack_who_ceiling")
    in_all: ClassVar[bool] = False
    sees_points: ClassVar[bool] = True
    cost: ClassVar[int] = 1

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together; the target's distances must be its masked points."""
        masked, people = target.distances.points(), prepare(known).population
        if masked is None:
            raise InputError("ceiling_needs_points", file=target.name)
        if people is None or known.distances.vectors() is None:
            raise InputError("ceiling_needs_coordinates", file=known.name)
        claims = ceiling(masked, people, candidates=candidates, knowledge=self.knowledge)
        kept = claims.probability >= (0.0 if self.knowledge.bold else FLOOR)
        return replace(
            claims, target=claims.target[kept], known=claims.known[kept], probability=claims.probability[kept]
        )
