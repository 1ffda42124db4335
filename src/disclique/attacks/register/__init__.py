"""Attacks that rebuild the target's map from its distances and lay it on the known file."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.register.align import Tell
from disclique.attacks.register.positions import frame_of
from disclique.attacks.register.rebuild import refuse_directed, short_map, whole_map
from disclique.attacks.register.weigh import Task, candidate_pairs, evened, link, posterior
from disclique.data.distances import Points
from disclique.errors import InputError
from disclique.model import Candidates, Claims, Distances, IntArray

__all__ = ["ceiling", "isomap", "register"]


def _silent(step: str) -> None:
    """Nothing: the listener of those who do not want to know."""


def register(
    target: Distances,
    known: Points,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
    start: tuple[IntArray, IntArray] | None = None,
    progress: Tell | None = None,
) -> Claims:
    """Pairs that lie together once the target's map is rebuilt from its distances and laid on the known file.

    Labels that may be wrong weigh by ``candidates.evidence``. ``start`` are matches to begin with, target rows and
    known rows, which may be wrong; ``progress`` is told each step. Distances that fit no map are refused; an alignment
    that is not clearly better than chance claims nothing and says so, unless the snooper is bold.
    """
    tell = progress or _silent
    began = perf_counter()
    refuse_directed(target)
    task = Task(frame_of(known), candidates, knowledge, start, tell)
    if target.size < 2 or known.size < 2:
        return no_claims("fewer than two records in a file: there is nothing to align", attack="register")
    tell("rebuilding the map of the target")
    chart = whole_map(target, task.frame.radius, knowledge.matrix_noise)
    return link(chart, task, "register", {"seconds": {"map": perf_counter() - began}})


def isomap(
    target: Distances,
    known: Points,
    *,
    candidates: Candidates,
    knowledge: Knowledge,
    progress: Tell | None = None,
) -> Claims:
    """Pairs that lie together once a map is made from the small distances of the target alone.

    For releases that keep only small distances (lists of neighbours, truncated matrices); of a complete matrix the
    nearest neighbours are used, of a capped one what lies below the cap. A release that does not determine a map
    claims nothing and says so.
    """
    tell = progress or _silent
    began = perf_counter()
    refuse_directed(target)
    task = Task(frame_of(known), candidates, knowledge, None, tell)
    tell("making a map from the small distances")
    try:
        chart = short_map(target, task.frame.radius, knowledge.matrix_noise)
    except InputError as why:
        return no_claims(str(why), attack="isomap")
    return link(chart, task, "isomap", {"seconds": {"map": perf_counter() - began}})


def ceiling(masked: Points, known: Points, *, candidates: Candidates, knowledge: Knowledge) -> Claims:
    """Pairs that a snooper who were given the masked coordinates themselves could claim: no attack can do better.

    ``masked`` are the target's points after the mask, in the coordinates of the known file.
    """
    if knowledge.noise is None:
        raise InputError("the ceiling is for a known mask: state its spread")
    task = Task(frame_of(known), candidates, knowledge)
    scene = task.scene(knowledge.noise, task.finest)
    who = np.flatnonzero(scene.alive)
    pairs = candidate_pairs(scene, task.frame.place(masked)[who], np.zeros(len(who)), who)
    share, probability = posterior(pairs, (masked.size, known.size), knowledge.common)
    claims, tied = evened((pairs.target.astype(np.int32), pairs.known.astype(np.int32), probability))
    return make_claims(claims, attack="ceiling", details={"common": share} | tied)
