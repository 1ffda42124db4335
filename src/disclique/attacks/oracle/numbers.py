"""What labels and numbers give away where they are all that is released."""

from __future__ import annotations

import numpy as np

from disclique.attacks.beliefs import BELIEVING, Beliefs, Believing, believe
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer
from disclique.attacks.oracle.values import tell_classes
from disclique.measures.risk import EQUAL, SCENARIOS, find_chances
from disclique.values import FloatArray

UNKNOWN_SHARE = 0.5  # of common records where it is not known


def ask_numbers(holder: Holder, by: Believing = BELIEVING) -> Answer:
    """Say of every person sought how surely labels and numbers name them: the oracle is the attack."""
    told = np.array(holder.seeds, dtype=np.int64).reshape(-1, 2)
    free = ~np.isin(np.arange(holder.candidates.sizes[1]), told[:, 1])
    found = holder.candidates.keep_known(free).swapped
    found = found.keep_known(~np.isin(np.arange(found.sizes[1]), told[:, 0])).swapped
    common = UNKNOWN_SHARE if holder.knowledge.common is None else holder.knowledge.common
    return name_by(believe(found, common, by), holder)


def name_by(beliefs: Beliefs, holder: Holder) -> Answer:
    """Return the chance of everybody to be named, of whom nothing is known that of a guess by labels."""
    found, (target, known) = beliefs.candidates, holder.sought.pairs.T
    right = np.append(beliefs.chance, 0.0)[found.place_of(target, known)]
    chances: dict[str, FloatArray] = {"journalist": (right > 0.5 * (1 + EQUAL)).astype(float)}
    for name, side, own in (("prosecutor", 1, found.known_class[known]), ("marketer", 0, found.target_class[target])):
        top, many = beliefs.best(side)
        best, others = np.append(top, 0.0)[own], np.append(many, 1)[own]  # of no class: the last one
        named = ((right > 0) & (right >= best * (1 - EQUAL))) / np.maximum(others, 1)
        guess = find_chances(None, holder.sought, holder.alike or holder.candidates, holder.seeds, name)
        chances[name] = np.where(best > 0, named, guess)
    told = tell_classes(found, beliefs.chance, holder) if holder.values else ()
    return Answer({name: chances[name] for name in SCENARIOS}, told=told)
