"""The attack on encodings by their code: from some pairs it is learned which tokens make which bits.

``tokens`` cuts texts, ``learning`` learns a code and says what it is worth where nothing was learned from, ``naming``
names listed people by it, and ``reading`` reads people who are on no list against a dictionary.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.code.naming import NAMING, Files, Known, Named, Naming, name_people
from disclique.attacks.code.tokens import cells_of
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.profiles import ProfilesAttack
from disclique.attacks.registry import Attack, Fetch
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata


@dataclass(frozen=True)
class CodeAttack(Attack):
    """Encodings are read by a code that is learned from pairs: those of an insider, and the surest of ``profiles``.

    Nothing is claimed where the code tells records that were not learned from no better than chance.
    """

    name: ClassVar[str] = "code"
    needs: ClassVar[Message | str] = Message("attack_needs_code")
    summary: ClassVar[Message | str] = Message("attack_does_code")
    by_evidence: ClassVar[bool] = True
    by_seeds: ClassVar[bool] = True

    mask: Mask | None = None
    seeds: tuple[tuple[int, int], ...] = ()
    profiles: ProfilesAttack | None = None
    naming: Naming = NAMING

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the mask, the pairs that an insider knows, and the attack that finds more of them."""
        return cls(knowledge.mask, knowledge.seeds, ProfilesAttack.build(knowledge, search))

    @property
    def told(self) -> tuple[tuple[int, int], ...]:
        """The pairs that an insider knows."""
        return self.seeds

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link by the code that an insider's pairs show."""
        return self._link(target, known, candidates, None)

    def run_from(self, fetch: Fetch, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Do the same, from what ``profiles`` claims surely too; that it finds nothing or is refused is no harm."""
        _open_files(target, known, candidates, self.mask)  # said before anything is searched
        found = None
        if self.profiles is not None:
            with suppress(InputError):
                found = fetch(self.profiles)
        return self._link(target, known, candidates, found)

    def _link(self, target: Microdata, known: Microdata, candidates: Candidates, found: Claims | None) -> Claims:
        files = _open_files(target, known, candidates, self.mask)
        told, more = Known.of(self.seeds), Known.of(())
        if found is not None:
            rows = found.target.astype(np.int64), found.known.astype(np.int64)
            more = Named(*rows, found.probability, None).sure(self.naming.sure)
        named = name_people(files, told, more, None, self.naming)
        pairs = len(told.with_more(more))
        if not named.clear or named.code is None:
            fewest = self.naming.learning.fewest
            if pairs < fewest:
                return no_claims(Message("code_of_too_few_pairs", count=pairs, fewest=fewest), attack=self.name)
            return no_claims(Message("code_no_better_than_chance", count=pairs), attack=self.name)
        code = named.code
        details = {"pairs": pairs, "gain": code.gain, "wins": code.wins, "kind": code.kind}
        rows_32 = named.record.astype(np.int32), named.person.astype(np.int32)
        return make_claims((*rows_32, named.probability), attack=self.name, details=details)


def _open_files(target: Microdata, known: Microdata, candidates: Candidates, mask: Mask | None) -> Files:
    """Return bits and cells; refuse files without them."""
    encodings, texts = target.distances.encodings(), known.distances.texts()
    if encodings is None or texts is None:
        raise InputError("code_needs_encodings_and_texts")
    return Files(encodings.opened(), cells_of(texts), candidates, getattr(mask, "q", 2))
