"""Attacks that rebuild the target's map from its distances and lay it on the known file.

The data go through three steps, each with its modules: *rebuild* (``rebuild`` chooses between ``maps``,
``least_squares`` and ``incomplete``) makes a map of the target from the published distances; *align* (``align``,
with motions from ``density`` and ``hypotheses``, refined by ``refine`` under the model of ``likelihood``, and
``noise`` where the displacement is not known) lays it on the known file; *weigh* (``weigh``, ``posterior``) gives every
pair that then lies together its probability. ``positions`` holds what all of them use: places in space and rigid
motions. Nothing here knows of masks, studies or audits.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.register.align import StepListener
from disclique.attacks.register.incomplete import MapNotFound
from disclique.attacks.register.likelihood import find_pairs
from disclique.attacks.register.maps import TargetMap, refuse_directed
from disclique.attacks.register.positions import locate_known
from disclique.attacks.register.rebuild import rebuild_from_short, rebuild_map
from disclique.attacks.register.weigh import (
    AttackInputs,
    best_of_each_target,
    equalise_ties,
    level_strangers,
    link_map,
    weigh_matchings,
)
from disclique.data.distances import Points
from disclique.errors import InputError
from disclique.model import Candidates, Claims, Distances, IntArray

__all__ = ["best_of_each_target", "ceiling", "isomap", "register"]

Rebuild = Callable[[Distances, float, float | None], TargetMap]
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
    inputs = AttackInputs(locate_known(known), candidates, knowledge, start, progress)
    if target.size < 2 or known.size < 2:
        return no_claims("fewer than two records in a file: there is nothing to align", attack="register")
    inputs.tell("rebuilding the map of the target")
    return _rebuild_and_link(target, inputs, rebuild_map, attack="register", unless=MapNotFound)


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
    inputs = AttackInputs(locate_known(known), candidates, knowledge, None, progress)
    inputs.tell("making a map from the small distances")
    return _rebuild_and_link(target, inputs, rebuild_from_short, attack="isomap", unless=InputError)


def _rebuild_and_link(
    target: Distances, inputs: AttackInputs, rebuild: Rebuild, *, attack: str, unless: type[InputError]
) -> Claims:
    """Claim what the rebuilt map gives; nothing, with the reason, where rebuilding it fails by ``unless``."""
    began = perf_counter()
    try:
        target_map = rebuild(target, inputs.known_map.radius, inputs.knowledge.matrix_noise)
    except unless as why:
        return no_claims(str(why), attack=attack, cut=_MAP_CUT if isinstance(why, MapNotFound) else "")
    return link_map(target_map, inputs, attack=attack, details={"seconds": {"map": perf_counter() - began}})


def ceiling(
    masked: Points, known: Points, *, candidates: Candidates, knowledge: Knowledge, bound: bool = False
) -> Claims:
    """Weigh all pairs as a snooper could who was given the masked coordinates themselves.

    ``masked`` are the target's points after the mask, in the coordinates of the known file. No pair within four
    standard deviations is left out. Pairs are weighed as by ``register``, which takes the density of
    strangers around each known record; an attack that does not can find a few more. As a ``bound`` it is taken once
    per target: then, as far as displacements are Gaussian with the stated spread and labels and the share of common
    targets are as stated, ``best_of_each_target`` of these claims is expected to be right at least as often as any
    attack that claims one known record per target.
    """
    if knowledge.noise is None:
        raise InputError("the ceiling is for a known mask: state its spread")
    inputs = AttackInputs(locate_known(known), candidates, knowledge)
    model = inputs.build_model(knowledge.noise, inputs.finest)
    who = np.flatnonzero(model.matchable)
    pairs = find_pairs(model, inputs.known_map.place(masked)[who], np.zeros(len(who)), who)
    pairs = level_strangers(model, pairs) if bound else pairs
    share, probability = weigh_matchings(pairs, (masked.size, known.size), knowledge.common)
    claims, tied = equalise_ties((pairs.target.astype(np.int32), pairs.known.astype(np.int32), probability))
    return make_claims(claims, attack="ceiling", floor=0.0, details={"common": share} | tied)
