"""Chance that follows from a seed and from *what* is drawn, never from when or where."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from disclique.arguments import check_seed


@dataclass(frozen=True)
class Chance:
    """All chance of a study or an audit: the same thing has the same numbers in every run with this seed.

    >>> Chance(0).seed("noise", "gaussian", 3) == Chance(0).seed("noise", "gaussian", 3)
    True
    """

    root: int

    def __post_init__(self) -> None:
        check_seed(self.root)

    def seed(self, *what: str | int) -> int:
        """Return a seed for one thing that is drawn, such as ("noise", mask, repetition)."""
        digest = hashlib.sha256(json.dumps(what).encode()).digest()
        key = tuple(int.from_bytes(digest[at : at + 4], "big") for at in range(0, 16, 4))
        state = np.random.SeedSequence(self.root, spawn_key=key).generate_state(1, np.uint64)
        return int(state[0] >> np.uint64(1))  # fits the signed integers of tables

    def rng(self, *what: str | int) -> np.random.Generator:
        """Return random numbers for one thing that is drawn."""
        return np.random.default_rng(self.seed(*what))
