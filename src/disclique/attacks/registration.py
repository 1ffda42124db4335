"""Attacks that rebuild the target's map from its distances and lay it on the known file.

The data go through three steps: *rebuild* (``spaces/rebuild``) makes a map of the target from the published distances,
or several where these leave parts; *align* (``attacks/align``) lays it on the known file; *weigh* (``attacks/weigh``,
``attacks/posterior``) gives every pair that then lies together its probability.
Nothing here knows of studies or audits, and of masks only their laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar, Self

import numpy as np

from disclique.attacks.align.likelihood import find_pairs
from disclique.attacks.align.search import UNKNOWN, StepListener
from disclique.attacks.align.setting import StreamedInputs, refuse_law, relate_register
from disclique.attacks.align.streaming import link_streamed, weigh_masked
from disclique.attacks.claims import FLOOR, make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search, learn_scaled
from disclique.attacks.registry import Attack
from disclique.attacks.weigh.pairs import (
    AttackInputs,
    best_of_each_target,
    equalise_ties,
    find_law_pairs,
    link_map,
    weigh_matchings,
)
from disclique.attacks.weigh.parts import link_parts
from disclique.errors import InputError
from disclique.model import Candidates, Claims, Distances, IntArray, Json, Microdata
from disclique.progress import tell
from disclique.records.registers import InTurn, Mapper, Survey
from disclique.spaces import Points, Series
from disclique.spaces.positions import average_places, locate_known
from disclique.spaces.rebuild import rebuild_from_short, rebuild_map
from disclique.spaces.rebuild.incomplete import MapInParts, MapNotFound
from disclique.spaces.rebuild.landmarks import TargetMap, refuse_directed
from disclique.spaces.rebuild.parts import rebuild_parts
from disclique.spaces.rebuild.series import find_different, join_maps

__all__ = ["best_of_each_target", "ceiling", "ceiling_streamed", "isomap", "register", "register_streamed"]

Rebuild = Callable[[Distances, float, float | None, float | None], TargetMap]
Link = Callable[..., Claims]  # of a map, inputs, the attack's name and details
_IN_PARTS = "the parts of the release's map were not laid on the register, which is too large to be held at once"
_MAP_CUT = "the search for a map of the target ended without one; a longer one may succeed"


def register(
    target: Distances,
    known: Points,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
    start: tuple[IntArray, IntArray] | None = None,
    progress: StepListener | None = None,
) -> Claims:
    """Claim pairs that lie together once the target's map is rebuilt from its distances and laid on the known file.

    Labels that may be wrong weigh by ``candidates.evidence``. ``start`` are matches to begin with, target rows and
    known rows, which may be wrong; ``progress`` is told each step. Distances that fit no map are refused; an alignment
    that is not clearly better than chance claims nothing and says so, unless the snooper is bold. A search that was
    given up, for a map or for an alignment, is said in ``cut``.
    """
    refuse_directed(target)
    inputs = AttackInputs(locate_known(known), candidates, knowledge, start, progress, known)
    if target.size < 2 or known.size < 2:
        return no_claims("fewer than two records in a file: there is nothing to align", attack="register")
    inputs.tell("rebuilding the map of the target")
    return _rebuild_and_link(target, inputs, rebuild_map, attack="register", unless=MapNotFound)


def register_streamed(
    target: Distances,
    survey: Survey,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
    mapper: Mapper,
    memory: int,
    progress: StepListener | None = None,
) -> Claims:
    """Do the same as ``register`` with a register that is read in pieces; known rows are those of the register.

    ``candidates`` are pairs of targets and *labels* of the register (``survey.frame``); tasks run where ``mapper`` runs
    them and take about ``memory`` bytes together. A register that fits is held at once, and ``register`` itself does
    the work.
    """
    refuse_directed(target)
    related = relate_register(candidates, survey)
    if survey.whole:
        return register(target, survey.points, candidates=related, knowledge=knowledge, progress=progress)
    refuse_law(knowledge, len(survey))
    inputs = _hold_sample(survey, related, knowledge, mapper=mapper, memory=memory, progress=progress)
    if target.size < 2:
        return no_claims("fewer than two records in a file: there is nothing to align", attack="register")
    inputs.tell("rebuilding the map of the target")
    return _rebuild_and_link(target, inputs, rebuild_map, attack="register", unless=MapNotFound, link=link_streamed)


def ceiling_streamed(
    masked: Points,
    survey: Survey,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
    mapper: Mapper | None = None,
    memory: int,
) -> Claims:
    """Do the same as ``ceiling`` with a register that is read in pieces; for Gaussian noise."""
    related = relate_register(candidates, survey)
    if survey.whole:
        return ceiling(masked, survey.points, candidates=related, knowledge=knowledge)
    return weigh_masked(masked, _hold_sample(survey, related, knowledge, mapper=mapper or InTurn(), memory=memory))


def _hold_sample(
    survey: Survey,
    related: Candidates,
    knowledge: Knowledge,
    *,
    mapper: Mapper,
    memory: int,
    progress: StepListener | None = None,
) -> StreamedInputs:
    """Return what is given besides a target's map, the sample of the register laid out."""
    points = survey.points
    return StreamedInputs(
        locate_known(points), related, knowledge, None, progress, points, survey=survey, mapper=mapper, memory=memory
    )


def isomap(
    target: Distances,
    known: Points,
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
    inputs = AttackInputs(locate_known(known), candidates, knowledge, None, progress, known)
    inputs.tell("making a map from the small distances")
    return _rebuild_and_link(target, inputs, rebuild_from_short, attack="isomap", unless=InputError)


def _rebuild_and_link(
    target: Distances,
    inputs: AttackInputs,
    rebuild: Rebuild,
    *,
    attack: str,
    unless: type[InputError],
    link: Link = link_map,
) -> Claims:
    """Claim what the rebuilt map gives; nothing, with the reason, where rebuilding it fails by ``unless``."""
    began = perf_counter()
    try:
        target_map = _rebuild_all(target, inputs, rebuild, unless)
    except MapInParts as why:
        if link is not link_map:
            return no_claims(str(why), attack=attack, cut=_IN_PARTS, details={"unlaid": target.size})
        inputs.tell("rebuilding the parts of the map")
        told = inputs.known_map.radius, inputs.knowledge.matrix_noise, inputs.knowledge.relative_noise
        parts, unplaced = rebuild_parts(why.published, told[0], lambda part: rebuild_map(part, *told))
        if not parts and not issubclass(MapInParts, unless):
            raise
        spent: Json = {"seconds": {"map": perf_counter() - began}}
        return link_parts(parts, unplaced, inputs, attack=attack, why=str(why), details=spent)
    except unless as why:
        cut = _MAP_CUT if isinstance(why, MapNotFound) else ""
        return no_claims(str(why), attack=attack, cut=cut, details={"unlaid": target.size})
    details: Json = {"seconds": {"map": perf_counter() - began}}
    if target_map.copies:
        inputs = inputs.take_mean(target_map.copies)
        details["releases"] = len(target_map.copies)
    return link(target_map, inputs, attack=attack, details=details)


def _rebuild_all(target: Distances, inputs: AttackInputs, rebuild: Rebuild, unless: type[InputError]) -> TargetMap:
    """Rebuild the map of a release; of a series that of every release from which it can be done, as one."""
    knowledge = inputs.knowledge
    radius = inputs.known_map.radius
    rest = radius, knowledge.matrix_noise, knowledge.relative_noise
    if not isinstance(target, Series):
        return rebuild(target, *rest)
    maps, failed = [], None
    for release in target.releases:
        try:
            maps.append(rebuild(release, *rest))
        except (unless, MapInParts) as why:
            failed = why
    if failed is not None and not maps:
        raise failed
    return join_maps(maps, radius, inputs.least_difference)


def ceiling(
    masked: Points | Sequence[Points],
    known: Points,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
) -> Claims:
    """Weigh all pairs as a snooper could who was given the masked coordinates themselves.

    ``masked`` are the target's points after the mask, in the coordinates of the known file, or those of several
    releases of the same records, whose likelihoods multiply. A mask that only moves the whole map is undone as by
    ``register``.
    No pair is left out that the law of the mask allows (of Gaussian noise within four standard deviations), and pairs
    are weighed as by ``register``. As far as the law and the labels are exact, displacements independent of each other
    and the share of common targets as stated, ``best_of_each_target`` of these claims is expected to be right at least
    as often as any attack that claims one known record per target. A simulated law, places that are exchanged and ways
    to a neighbour are only approximated.
    """
    if knowledge.noise is None:
        raise InputError("the ceiling is for a known mask: state its spread")
    releases = (masked,) if isinstance(masked, Points) else tuple(masked)
    if knowledge.mask is not None and knowledge.mask.rigid:
        told = replace(knowledge, bold=True)
        return replace(register(releases[0], known, candidates=candidates, knowledge=told), attack="ceiling")
    inputs = AttackInputs(locate_known(known), candidates, knowledge, points=known)
    copies = [inputs.known_map.place(one) for one in releases]
    copies = [copies[which] for which in find_different(copies, inputs.least_difference)]
    inputs = inputs.take_mean(copies)
    assert inputs.knowledge.noise is not None
    model = inputs.build_model(inputs.knowledge.noise, inputs.finest)
    who, laws = np.flatnonzero(model.matchable), inputs.build_laws(model)
    if laws is None:
        places = average_places(copies, inputs.known_map.radius)
        pairs = find_pairs(model, places[who], np.zeros(len(who)), who)
    else:
        common = UNKNOWN if knowledge.common is None else knowledge.common
        pairs = find_law_pairs(laws.of_series(copies), copies, np.full(len(copies[0]), inputs.finest**2), who, common)
    share, probability = weigh_matchings(pairs, (len(copies[0]), known.size), knowledge.common)
    claims, tied = equalise_ties((pairs.target.astype(np.int32), pairs.known.astype(np.int32), probability))
    return make_claims(claims, attack="ceiling", floor=0.0, details={"common": share} | tied)


@dataclass(frozen=True)
class MapAttack(Attack):
    """An attack that lays the target's map on the known one."""

    by_evidence: ClassVar[bool] = True

    knowledge: Knowledge

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from what the snooper knows of displacement and noise."""
        return cls(knowledge)

    def locate(self, known: Microdata) -> tuple[Points, Knowledge]:
        """Return the known places, from coordinates or scaled from a matrix, and what the snooper knows there."""
        if isinstance(known.distances, Points) and not callable(known.distances.metric):
            return known.distances, self.knowledge
        scaled = known.distances.to_map()
        if scaled is None:
            raise InputError(
                f"{known.name}: the attack {self.name} needs coordinates of the known records, or distances that fit "
                "a map; profiles does not"
            )
        return scaled.places(), learn_scaled(self.knowledge, scaled)


@dataclass(frozen=True)
class RegisterAttack(MapAttack):
    """The target's map rebuilt from its distances and laid on the known one by labels and density."""

    name: ClassVar[str] = "register"
    needs: ClassVar[str] = (
        "distances on the sphere or in the plane, and coordinates of the known records or such distances"
    )
    summary: ClassVar[str] = (
        "The map is rebuilt from the distances, laid on the snooper's map by labels and density, and pairs are judged "
        "by the probability that they belong together."
    )
    cost: ClassVar[int] = 1

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        points, knowledge = self.locate(known)
        return register(target.distances, points, candidates=candidates, knowledge=knowledge, progress=tell)


@dataclass(frozen=True)
class IsomapAttack(MapAttack):
    """Registration of a map made from small distances only, by shortest paths and a fit to the published lengths."""

    name: ClassVar[str] = "isomap"
    needs: ClassVar[str] = "small distances on the sphere or in the plane, and coordinates (or distances) of the known"
    summary: ClassVar[str] = "The same as register from small distances only, by shortest paths."
    cost: ClassVar[int] = 2
    most: ClassVar[tuple[int, int] | None] = (10_000, 100_000_000)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        points, knowledge = self.locate(known)
        return isomap(target.distances, points, candidates=candidates, knowledge=knowledge, progress=tell)


@dataclass(frozen=True)
class Ceiling(MapAttack):
    """What a snooper could claim who is given the masked points themselves, truly aligned."""

    name: ClassVar[str] = "ceiling"
    needs: ClassVar[str] = "the masked coordinates themselves, which only the data holder has"
    summary: ClassVar[str] = "What a snooper could claim who is given the masked points themselves, truly aligned."
    in_all: ClassVar[bool] = False
    sees_points: ClassVar[bool] = True
    cost: ClassVar[int] = 1

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together; the target's distances must be its masked points."""
        if not isinstance(target.distances, Points):
            raise InputError(f"{target.name}: the ceiling needs the masked points themselves, not their distances")
        if not isinstance(known.distances, Points) or callable(known.distances.metric):
            raise InputError(f"{known.name}: the ceiling needs coordinates of the known records")
        claims = ceiling(target.distances, known.distances, candidates=candidates, knowledge=self.knowledge)
        kept = claims.probability >= (0.0 if self.knowledge.bold else FLOOR)
        return replace(
            claims, target=claims.target[kept], known=claims.known[kept], probability=claims.probability[kept]
        )
