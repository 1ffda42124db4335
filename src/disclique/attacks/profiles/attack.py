"""The attack on two matrices: nothing but distances, of any kind."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from threadpoolctl import threadpool_limits

from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.kroll import CliqueAttack
from disclique.attacks.profiles.align import Clouds
from disclique.attacks.profiles.evidence import allowed_pairs
from disclique.attacks.profiles.features import discriminate
from disclique.attacks.profiles.refine import LEAST, NO_PAIRS, Pairs
from disclique.attacks.profiles.search import CHANCE, FEW, search
from disclique.attacks.profiles.sides import both_sides
from disclique.attacks.profiles.weigh import Task
from disclique.attacks.registry import Attack, Fetch
from disclique.engine.kernels.compiled import count_cores
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.model import Budget, Candidates, Claims, Microdata

STARTS = ((1500, 40), (3000, 16), (8000, 8))  # alignments tried, by the records of the larger file
FEWEST_STARTS = 4
CLIQUE_MEMORY = 64 * 1024**2  # bytes of a product graph from which it pays to start: the labels are selective
CLIQUE_WORK = Budget(work=0.2)  # billions of operations


@dataclass(frozen=True)
class ProfilesAttack(Attack):
    """Records are known by the profile of their distances: of all of them first, of those to matched records then.

    ``mask`` lets the snooper mask their own file as the holder did; ``seeds`` are pairs known beforehand. The
    matches of ``clique`` are one more start, if it has any.
    """

    name: ClassVar[str] = "profiles"
    needs: ClassVar[str] = "any distances, directed or incomplete ones too; labels are not needed"
    summary: ClassVar[str] = (
        "Records recognised by the profile of their distances alone, both files turned onto each other; pairs that "
        "agree with each other become anchors for the rest, by the probability that they are one person."
    )
    by_evidence: ClassVar[bool] = True
    by_seeds: ClassVar[bool] = True
    most: ClassVar[tuple[int, int] | None] = (10_000, 20_000)

    mask: Mask | None = None
    common: float | None = None
    seeds: tuple[tuple[int, int], ...] = ()
    chance: int = 0
    threads: int | None = None
    starts: int | None = None
    clique: Attack | None = None

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the mask, the pairs that an insider knows, and ≈ if it is known."""
        clique = None
        if knowledge.agreement is not None:  # the same one whatever is spent on the clique's own attack
            clique = CliqueAttack(knowledge.agreement, Search(budget=CLIQUE_WORK, limit=1), CLIQUE_MEMORY)
        # The share in common is estimated also where it is known: whoever is sure of it believes strangers.
        return cls(knowledge.mask, None, knowledge.seeds, search.seed, search.threads, search.starts, clique)

    @property
    def told(self) -> tuple[tuple[int, int], ...]:
        """The pairs that an insider knows."""
        return self.seeds

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link by the best alignment of the two files; nothing is claimed where none is clearly better than chance."""
        return self._link(target, known, candidates, NO_PAIRS)

    def run_from(self, fetch: Fetch, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Do the same, with the matches of a clique as one more start; that it finds none or is refused is no harm."""
        pairs = NO_PAIRS
        if self.clique is not None:
            with suppress(InputError):
                rows, others, _ = fetch(self.clique).claimed()
                pairs = Pairs(rows.astype(np.int64), others.astype(np.int64))
        return self._link(target, known, candidates, pairs)

    def _link(self, target: Microdata, known: Microdata, candidates: Candidates, pairs: Pairs) -> Claims:
        """Link from all starts; ``pairs`` are one more."""
        sizes = (len(target), len(known))
        self._check_seeds(sizes)
        if min(sizes) < LEAST:
            return no_claims(f"{min(sizes)} records: at least {LEAST} are needed to align files", attack=self.name)
        with threadpool_limits(1):  # the same sums on every machine; threads are used for whole alignments
            rng = np.random.default_rng(self.chance)
            theirs, ours = both_sides(target.distances, known.distances, self.mask, rng)
            allowed = allowed_pairs(candidates)
            seeds = Pairs(*np.array(self.seeds, np.int64).reshape(-1, 2).T)
            task = Task(theirs, ours, Clouds(theirs, ours, allowed, rng), allowed, seeds, self.common, self.chance)
            features = discriminate(theirs, ours, rng)
            starts = self.starts or next((n for most, n in STARTS if max(sizes) <= most), FEWEST_STARTS)
            found, tried = search(task, features, [seeds, pairs], starts=starts, threads=self.threads or count_cores())
        details = {
            "starts": tried,
            "common": found.share,
            "confirmed": found.confirmed,
            "unexplained": found.excess,
            "draws": len(ours.draws) if len(ours.draws) > 1 else 0,
        }
        if found.confirmed <= CHANCE or len(found.claimed) < FEW:
            why = f"none of {tried} alignments of the two files is clearly better than chance"
            return no_claims(why, attack=self.name, details=details)
        rows = found.target.astype(np.int32), found.known.astype(np.int32)
        return make_claims((*rows, found.probability), attack=self.name, details=details)

    def _check_seeds(self, sizes: tuple[int, int]) -> None:
        """Raise if a seed is no pair of these files."""
        for pair in self.seeds:
            for side, row, records in zip(("target", "known"), pair, sizes, strict=True):
                if not 0 <= row < records:
                    raise InputError(f"seed in {side} row {row}: the file has the rows 0 to {records - 1}")
