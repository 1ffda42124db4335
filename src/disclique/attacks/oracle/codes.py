"""The oracle for encodings by their code: what is found by one who learns it from the pairs they know.

Whoever knows some pairs, and finds more by distances, learns which tokens make which bits. By that the others on the
list are named, and people on no list are read against a dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import make_claims
from disclique.attacks.code.learning import LEARNING, Form, Lesson, choose_form, learn_code
from disclique.attacks.code.naming import (
    NAMING,
    Files,
    Known,
    Named,
    Naming,
    Scores,
    name_people,
    score_pairs,
    weigh_scored,
)
from disclique.attacks.code.reading import read_records
from disclique.attacks.code.tokens import cells_of, list_ways
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer, Everybody
from disclique.masks.base import Mask
from disclique.measures.risk import SCENARIOS, Hits
from disclique.model import Claims
from disclique.spaces import Texts
from disclique.spaces.base import Distances
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Pairs = tuple[tuple[int, int], ...]
NAME = "oracle"


@dataclass(frozen=True)
class AskingCode:
    """How much the oracle does to learn a code."""

    naming: Naming = replace(  # noqa: RUF009 - frozen
        NAMING, learning=replace(LEARNING, folds=4, most=800), rounds=2, listed=True
    )
    sure: float = 0.9  # pairs that distances claim with that probability are learned from
    folds: int = 3  # in which everybody is named from all others
    read: int = 200  # records of a release that are read, drawn at random
    found: float = 0.995  # share found by distances from which on the code adds nothing that matters


ASKING_CODE = AskingCode()


def find_form(mask: Mask, texts: Texts, rng: np.random.Generator) -> Form | None:
    """Return the form that codes of a mask have, from texts encoded under a key of one's own."""
    encodings = mask.apply(texts, rng).encodings()
    if encodings is None or texts.size < LEARNING.fewest:
        return None
    lesson = Lesson(encodings.opened(), cells_of(texts), np.ones(texts.size, np.float32))
    return choose_form(lesson, list_ways(getattr(mask, "q", 2)), replace(LEARNING, trial_bits=64, trial_pairs=200))


def open_code(
    masked: Sequence[Distances], holder: Holder, form: Form | None, how: AskingCode = ASKING_CODE
) -> CodeOracle | None:
    """Return the oracle by code; None where there are no bits or no texts to learn from."""
    bits = [found.opened() for one in masked if (found := one.encodings()) is not None]
    known, own = holder.known.distances.texts(), holder.exact.distances.texts()
    if form is None or known is None or own is None or not bits or len(known.fields) != len(own.fields):
        return None
    files = Files(np.concatenate(bits, axis=1), cells_of(known), holder.candidates, forms={"form": form})
    return CodeOracle(files, own, holder, how)


@dataclass(frozen=True, eq=False)
class CodeOracle:
    """Releases with their bits, and the texts of all people."""

    files: Files
    texts: Texts
    holder: Holder
    how: AskingCode

    def search(self, seeds: Pairs, found: Claims | None = None) -> tuple[Named, Answer | None]:
        """Name people from some pairs, and from what distances claim; nothing where no code is learned."""
        more = Known.of(())
        if found is not None:
            rows = found.target.astype(np.int64), found.known.astype(np.int64)
            more = Named(*rows, found.probability, None).sure(self.how.sure)
        named = name_people(self.files, Known.of(seeds), more, self._common, self.how.naming)
        return named, self._judge(named, seeds) if named.clear else None

    def know_all(self) -> Answer | None:
        """Name everybody by a code that is learned from others; a part of the people at a time."""
        pairs, naming = self.holder.truth.pairs, self.how.naming
        order = np.random.default_rng(2).permutation(len(pairs))
        if len(order) < 2 * naming.learning.fewest:
            return None
        strangers = np.setdiff1d(np.arange(len(self.files.bits)), pairs[:, 0])
        parts: list[Scores] = []
        for fold in np.array_split(order, self.how.folds):
            rest = Known.of([(int(t), int(k)) for t, k in pairs[np.setdiff1d(order, fold)]])
            lesson = self.files.teach(rest)
            code = learn_code(lesson, self.files.form(lesson, naming.learning), naming.learning)
            if code is None or not code.clear:
                return None
            rows = np.concatenate([pairs[fold, 0], strangers]) if not parts else pairs[fold, 0]
            parts.append(score_pairs(self.files, code, Known.of(()), naming, rows=rows))
        scores = Scores(*(np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS))
        return self._judge(weigh_scored(scores, self.files, None, self._common), ())

    def read(self, named: Named, answer: Answer, seeds: Pairs, sought: Ints) -> Everybody | None:
        """Read records, and count everybody who is read or named; None without a dictionary.

        ``answer`` has the chances of the people ``sought`` (rows of the release) to be named. Records whose people are
        told count for nothing.
        """
        dictionary = self.holder.dictionary
        if dictionary is None:
            return None
        rows = np.setdiff1d(np.arange(len(self.files.bits)), [row for row, _ in seeds])
        if not len(rows):
            return None
        some = np.sort(np.random.default_rng(3).permutation(rows)[: self.how.read])
        people = [tuple(column[row] for column in self.texts.fields) for row in some.tolist()]
        read = np.full(len(some), min(dictionary.guess, 1.0))
        alike = np.zeros(len(some))
        if named.clear and named.code is not None:
            readings = read_records(named.code, self.files.bits[some], dictionary)
            read, alike = np.maximum(readings.right(people), read), readings.dice(people)
        place = np.full(len(self.files.bits), -1)
        place[sought] = np.arange(len(sought))
        either = []
        for name in SCENARIOS:
            chance = np.append(answer.of(name), 0.0)[place[some]]  # of those on no list the last: none
            either.append(float(np.maximum(chance, read).sum()))
        covered = np.mean([dictionary.covers(cells) for cells in people])
        return Everybody(
            Hits(*(round(one, 6) for one in either)),
            len(some),
            round(float(read.sum()), 6),
            float(covered),
            round(float(alike.mean()), 6),
        )

    @property
    def _common(self) -> float:
        share = self.holder.knowledge.common
        return self.how.naming.share if share is None else share

    def _judge(self, named: Named, seeds: Pairs) -> Answer:
        rows = named.record.astype(np.int32), named.person.astype(np.int32), named.probability
        claims = make_claims(rows, attack=NAME, floor=0.0)
        return Answer.of_claims(claims, replace(self.holder, seeds=seeds))


_FIELDS = ("record", "person", "ratio", "mass")


def better(one: Answer, other: Answer | None) -> Answer:
    """Return for every person what finds them more surely."""
    if other is None:
        return one
    chances: dict[str, FloatArray] = {name: np.maximum(one.of(name), other.of(name)) for name in SCENARIOS}
    told = tuple(
        replace(mine, right=np.fmax(mine.right, theirs.right), certain=mine.certain | theirs.certain)
        for mine, theirs in zip(one.told, other.told, strict=True)
    )
    return replace(one, chances=chances, told=told)


def prefer(one: Answer, other: Answer | None) -> Answer:
    """Return what finds more in all: of two ways that find few, nobody knows for whom which one is right."""
    if other is None:
        return one
    chances = {name: max(one.of(name), other.of(name), key=lambda found: float(found.sum())) for name in SCENARIOS}
    told = tuple(
        max(both, key=lambda found: float(np.nansum(found.right))) for both in zip(one.told, other.told, strict=True)
    )
    return replace(one, chances=chances, told=told)
