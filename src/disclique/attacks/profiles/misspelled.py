"""Copies of a list of names with errors: what scores mean where the snooper's list is spoiled and the release is not.

The snooper misspells their own list and takes it for the list, and the list as it is for the release: they know who is
who there, under as many errors as they find in truth. A trial of a list without a fault promised what no release keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.attacks.profiles.sides import Side
from disclique.masks.encoding import TextMask
from disclique.masks.hashing import KEY_BYTES
from disclique.spaces import Encodings, Texts
from disclique.synthetic.people import mistype


@dataclass(frozen=True)
class Spelling:
    """How the share of wrong letters is sought."""

    first: float = 0.1  # that is supposed at first
    shares: tuple[float, float] = (0.002, 0.4)  # between which it is sought
    rounds: int = 3
    close: float = 0.15  # of the share by which what is supposed and what is found may differ
    fewest: int = 3  # draws of the list: one is left for trials

    def better(self, share: float, made: float, found: float) -> float:
        """Return the share that explains errors of variance ``found`` if one of ``share`` makes them ``made``.

        Both are relative to what the mask alone explains.
        """
        return float(np.clip(share * (found - 1) / max(made - 1, 1e-6), *self.shares))


@dataclass(frozen=True)
class Copier:
    """Makes copies of a list beside a misspelled one: both encoded under one key, the records of the list first.

    So what an error in a record does is told apart from what an error in an anchor does.
    """

    texts: Texts
    mask: TextMask
    times: int = 3  # the first copy is for trials

    def copies(self, known: Side, share: float, rng: np.random.Generator) -> tuple[Side, ...]:
        """Return copies in which so large a share of the letters is wrong.

        Raise if the mask takes no such texts: dates of days that are none.
        """
        return tuple(self._copy(known, share, rng) for _ in range(self.times))

    def _copy(self, known: Side, share: float, rng: np.random.Generator) -> Side:
        """Return one copy, as it is expected to be released: the mean of as many draws as for the list itself."""
        wrong = mistype(self.texts, rng, share)
        draws = tuple(self._encode_both(wrong, rng) for _ in range(max(len(known.draws) - 1, 1)))
        return Side(draws, known.landmarks, known.directed, sampling=known.sampling, spared=0)

    def _encode_both(self, wrong: Texts, rng: np.random.Generator) -> Encodings:
        key = rng.bytes(KEY_BYTES)
        return self.mask.encode(self.texts, key, rng).join(self.mask.encode(wrong, key, rng))
