"""The attack on two matrices of distances that need not be a map: nothing but distances, of any kind.

``sides`` brings both files to one scale, ``clouds`` tells records apart without a match and turns the two files onto
each other, ``anchors`` grows the right pairs, ``sight`` says what a pair is worth, and ``evidence`` holds scores and
what they mean. ``search`` tries starts and weighs the best; small files are assigned as a whole besides
(``rehearsal``). Here it is said what is believed of both. Where a list of names has errors, what scores mean is learned
from copies of it that have as many more (``misspelled``).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from threadpoolctl import threadpool_limits

from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.kroll import CliqueAttack
from disclique.attacks.meaning import Meaning
from disclique.attacks.profiles.anchors import FEWEST_PAIRS, NOBODY_PAIRED, Files, Pairs
from disclique.attacks.profiles.clouds import Clouds, discriminate
from disclique.attacks.profiles.evidence import allowed_pairs
from disclique.attacks.profiles.misspelled import Copier
from disclique.attacks.profiles.rehearsal import Joined, align_jointly
from disclique.attacks.profiles.search import Task, Tuning, search, weigh_again
from disclique.attacks.profiles.sides import both_sides
from disclique.attacks.profiles.weighed import Weighed
from disclique.attacks.registry import Attack, Fetch
from disclique.engine.kernels.compiled import count_cores
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.masks.encoding import TextMask
from disclique.messages import Message
from disclique.model import Budget, Candidates, Claims, Microdata
from disclique.progress import tell, teller


@dataclass(frozen=True)
class ProfilesAttack(Attack):
    """Records are known by the profile of their distances: of all of them first, of those to matched records then.

    ``mask`` lets the snooper mask their own file as the holder did; ``seeds`` are pairs known beforehand. The
    matches of ``clique`` are one more start, if it has any.
    """

    name: ClassVar[str] = "profiles"
    needs: ClassVar[Message | str] = Message("attack_needs_profiles")
    summary: ClassVar[Message | str] = Message("attack_does_profiles")
    who: ClassVar[Message | str] = Message("attack_who_profiles")
    by_evidence: ClassVar[bool] = True
    by_seeds: ClassVar[bool] = True
    most: ClassVar[tuple[int, int] | None] = (30_000, 30_000)

    mask: Mask | None = None
    common: float | None = None
    seeds: tuple[tuple[int, int], ...] = ()
    chance: int = 0
    threads: int | None = None
    starts: int | None = None
    clique: Attack | None = None
    tuning: Tuning = Tuning()  # noqa: RUF009 - a frozen value

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the mask, the pairs that an insider knows, and ≈ if it is known."""
        clique = None
        if knowledge.agreement is not None:  # the same one whatever is spent on the clique's own attack
            little = Search(budget=Budget(work=cls.tuning.clique_work), limit=1)
            clique = CliqueAttack(knowledge.agreement, little, cls.tuning.clique_bytes)
        # The share in common is estimated also where it is known: whoever is sure of it believes strangers.
        return cls(knowledge.mask, None, knowledge.seeds, search.seed, search.threads, search.starts, clique)

    @property
    def told(self) -> tuple[tuple[int, int], ...]:
        """The pairs that an insider knows."""
        return self.seeds

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link by the best alignment of the two files; nothing is claimed where none is clearly better than chance."""
        return self._link(target, known, candidates, NOBODY_PAIRED)

    def run_from(self, fetch: Fetch, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Do the same, with the matches of a clique as one more start; that it finds none or is refused is no harm."""
        pairs = NOBODY_PAIRED
        if self.clique is not None:
            with suppress(InputError):
                rows, others, _ = fetch(self.clique).claimed()
                pairs = Pairs(rows.astype(np.int64), others.astype(np.int64))
        return self._link(target, known, candidates, pairs)

    def _link(self, target: Microdata, known: Microdata, candidates: Candidates, pairs: Pairs) -> Claims:
        """Link from all starts; ``pairs`` are one more."""
        sizes = (len(target), len(known))
        self._check_seeds(sizes)
        if min(sizes) < FEWEST_PAIRS:
            why = Message("too_few_records_to_align", records=min(sizes), least=FEWEST_PAIRS)
            return no_claims(why, attack=self.name)
        with threadpool_limits(1):  # the same sums on every machine; threads are used for whole alignments
            rng = np.random.default_rng(self.chance)
            tuning = self.tuning
            tell(Message("step_comparing_files"), 0.0)
            theirs, ours = both_sides(target.distances, known.distances, self.mask, rng, tuning.sampling)
            seeds = Pairs(*np.array(self.seeds, np.int64).reshape(-1, 2).T)
            files = Files(theirs, ours, allowed_pairs(candidates), seeds, tuning.scoring, tuning.anchoring)
            tell(Message("step_comparing_files"), 0.2)
            clouds = Clouds(theirs, ours, files.allowed, rng, tuning.turning)
            task = Task(files, clouds, self._copier(known), self.common, self.chance, tuning, teller())
            tell(Message("step_comparing_files"), 0.5)
            features = discriminate(theirs, ours, rng, tuning.turning)
            starts = next((n for most, n in tuning.starts if max(sizes) <= most), tuning.fewest_starts)
            joined = align_jointly(files, self.chance, tuning.joining, tuning.turning, self.starts)
            given = [seeds, pairs]
            if joined is not None:
                starts = min(starts, tuning.joined_starts)
                if self.mask is not None and self.mask.on == "text":
                    # a list of names may have errors, of which a rehearsal knows nothing: ask the whole release
                    joined = replace(joined, judged=Meaning.among)
                given.append(joined.pairs)
            threads = self.threads or count_cores()
            found, tried = search(task, features, given, joined, starts=self.starts or starts, threads=threads)
            if joined is not None:
                joined = joined.improved(found.target, found.known, found.probability)
            found = weigh_again(task, found)
            if joined is not None:
                found = self._choose(found, joined)
        details = {
            "starts": tried,
            "common": found.share,
            "confirmed": found.confirmed,
            "unexplained": found.excess,
            "misspelled": found.misspelled,
            "draws": len(ours.draws) if len(ours.draws) > 1 else 0,
        }
        if joined is not None:
            groups = int(joined.group.max()) + 1
            details |= {"worth": joined.worth, "by_chance": joined.held.usual, "groups": groups}
        if self._stands(found):
            rows = found.target.astype(np.int32), found.known.astype(np.int32)
            return make_claims((*rows, found.probability), attack=self.name, details=details)
        why = Message("no_alignment_better_than_chance", tried=tried)
        if joined is None:
            return no_claims(why, attack=self.name, details=details)
        # who is sure that a person took part names the likeliest record, however doubtful
        doubtful = joined.weighed
        rows = doubtful.target.astype(np.int32), doubtful.known.astype(np.int32)
        chances = doubtful.probability * max(joined.trust, tuning.doubtful)
        return make_claims((*rows, chances), attack=self.name, doubt=why, details=details)

    def _copier(self, known: Microdata) -> Copier | None:
        """Return how copies of the list with more errors are made; None unless it is one of texts."""
        texts = known.distances.texts()
        return Copier(texts, self.mask) if texts is not None and isinstance(self.mask, TextMask) else None

    def _stands(self, found: Weighed) -> bool:
        """Return whether an alignment is confirmed by more pairs than chance confirms."""
        return found.confirmed > self.tuning.by_chance and len(found.claimed) >= self.tuning.few

    def _choose(self, found: Weighed, joined: Joined) -> Weighed:
        """Return what is believed: the likeliest assignment of the whole files where it is no chance.

        It is none either where an alignment that was confirmed by halves agrees with it; the rehearsal, in which all
        are common, then speaks for it only if nearly everybody is. Displaced points change all distances of a record
        together, of which the law of single distances knows nothing, and so do errors in a list of names: there the one
        that expects more to be right is believed, unless only the alignment was weighed by copies with errors: what was
        rehearsed without expects too much. So it is where both name the same people and the assignment expects
        far less: a release full of strangers is not what was rehearsed.
        """
        claimed, tuning = found.claimed, self.tuning
        sure = self._stands(found)
        agree = joined.agrees(claimed) > tuning.agreeing
        if not joined.clear and not (sure and agree and found.share > tuning.everybody):
            return found
        weighed = joined.weighed if joined.clear else replace(joined.weighed, confirmed=found.confirmed)
        together = self.mask is None or self.mask.on in ("coordinates", "text")
        if together or found.excess > tuning.anchoring.explained:
            least = tuning.preferred if found.misspelled else 1.0
            return found if sure and found.sure > least * weighed.sure else weighed
        return found if sure and agree and tuning.preferred * found.sure > weighed.sure else weighed

    def _check_seeds(self, sizes: tuple[int, int]) -> None:
        """Raise if a seed is no pair of these files."""
        for pair in self.seeds:
            for side, row, records in zip(("target", "known"), pair, sizes, strict=True):
                if not 0 <= row < records:
                    raise InputError("seed_row_outside", side=side, row=row, last=records - 1)
