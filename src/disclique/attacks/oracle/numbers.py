"""What labels and numbers give away where they are all that is released, or beside the law of a masked place."""

from __future__ import annotations

import numpy as np

from disclique.attacks.knowledge import Holder
from disclique.attacks.numbers import REACH, Reach, weigh_candidates
from disclique.attacks.oracle.answer import Answer
from disclique.measures.risk import SCENARIOS, find_chances

UNKNOWN_SHARE = 0.5  # of common records where it is not known


def ask_numbers(holder: Holder, by: Reach = REACH) -> Answer:
    """Say of every person sought how surely labels and numbers name them: the oracle is the attack."""
    told = np.array(holder.seeds, dtype=np.int64).reshape(-1, 2)
    free = ~np.isin(np.arange(holder.candidates.sizes[1]), told[:, 1])
    found = holder.candidates.keep_known(free).swapped
    found = found.keep_known(~np.isin(np.arange(found.sizes[1]), told[:, 0])).swapped
    common = UNKNOWN_SHARE if holder.knowledge.common is None else holder.knowledge.common
    if found.count > by.pairs and found.evidence is None:
        # too many to list, but all of a class are alike: a guess among those who fit is all there is
        return Answer({name: find_chances(None, holder.sought, found, holder.seeds, name) for name in SCENARIOS})
    return Answer.of_claims(weigh_candidates(found, common, "oracle"), holder)
