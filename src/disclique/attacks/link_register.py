"""A release and a register of millions in, matches out: what ``attack`` does where the known file is read in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from disclique.attacks.act import act, fail, show_outcomes
from disclique.attacks.claims import AttackResult, ComparedFiles
from disclique.attacks.labels import LabelRule
from disclique.attacks.population import Population
from disclique.attacks.registration import RegisterAttack, register
from disclique.attacks.registry import Attack
from disclique.attacks.thresholds import THRESHOLDS, Thresholds
from disclique.errors import InputError
from disclique.measures.risk import Truth
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.progress import tell
from disclique.records.checks.pairs import inspect_pair
from disclique.records.labels import candidates
from disclique.records.registers import Mapper, Register, Survey, check_column, find_people
from disclique.spaces import shared_unit
from disclique.values import canonical


@dataclass(frozen=True, eq=False)
class RegisterWork:
    """A release and a register that was gone over once: everything that attacks on them share."""

    target: Microdata
    population: Population
    rule: LabelRule

    @property
    def survey(self) -> Survey:
        """What the first stream over the register told."""
        assert self.population.survey is not None
        return self.population.survey

    @property
    def register(self) -> Register:
        """The register."""
        return self.survey.register

    def relate(self) -> Candidates:
        """Find the pairs of targets and labels of the register that may match."""
        labels, rule = self.survey.frame, self.rule
        return candidates(
            self.target.labels, labels, missing=rule.missing, comparators=rule.comparators, counts=self.survey.counts
        )

    def carry_out(self, attack: Attack, related: Candidates) -> Claims:
        """Carry out an attack; one that needs all known records at once is refused."""
        if not isinstance(attack, RegisterAttack):
            raise InputError("register_too_large_for_attack", size=len(self.register), name=attack.name)
        people, allowed = self.population, self.population.relate(related)
        return register(self.target.distances, people, candidates=allowed, knowledge=attack.knowledge, progress=tell)

    def find_truth(self, column: str) -> Truth:
        """Read from a column of both files which records belong to one person."""
        name = check_column(self.register, column)
        if name not in self.target.table.columns:
            columns = [repr(str(one)) for one in self.target.table.columns]
            raise InputError("no_truth_column", name=self.target.name, column=repr(column), columns=columns)
        people = [canonical(value) for value in self.target.table[name]]
        rows = find_people(self.register, people, name, mapper=self.population.mapper)
        alone = Truth.of_people(people, people)  # refuses somebody who stands in two rows
        pairs = [(row, rows[who]) for row, _ in alone.pairs.tolist() if (who := people[row]) in rows]
        return Truth(np.array(pairs, dtype=np.int64).reshape(-1, 2))

    def excerpt(self, claims: Claims, related: Candidates) -> ComparedFiles:
        """Return the release and the people of the register whom claims name."""
        shown = np.unique(claims.claimed()[1]).astype(np.int64)
        everybody = replace(related, known_class=np.repeat(related.known_class, self.survey.counts))
        odd = inspect_pair(self.target, self.survey.look, forgiven=self.rule.comparators).remarks
        return ComparedFiles(
            self.target,
            self.register.take(shown) if len(shown) else self.survey.look,
            everybody,
            tuple(remark.sentence for remark in odd),
            shown if len(shown) else None,
        )


def open_work(
    target: Microdata,
    register: Register,
    *,
    rule: LabelRule,
    mapper: Mapper | None = None,
    memory: int | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> RegisterWork:
    """Go over a register once, so that attacks on a release can be carried out with it."""
    population = Population.of_register(
        register,
        mapper=mapper,
        memory=memory,
        told=lambda share: tell(Message("step_going_over_register"), share),
        thresholds=thresholds,
    )
    work = RegisterWork(target, population, rule)
    mine, theirs = list(target.labels.columns), list(work.survey.frame.columns)
    if mine != theirs:
        raise InputError("different_labels", mine=str(mine), theirs=str(theirs))
    shared_unit(target.distances, population.points, (target.name, register.name))
    return work


def attack_register(
    work: RegisterWork, attacks: Mapping[str, Attack], *, truth: str | None
) -> dict[str, AttackResult | InputError]:
    """Carry out several attacks, given by their specs; return the result of each, or why it does not apply."""
    known = None if truth is None else work.find_truth(truth)
    tell(Message("step_labels"))
    related = work.relate()

    def run(attack: Attack) -> Claims:
        try:
            return work.carry_out(attack, related)
        except np.linalg.LinAlgError as error:
            return fail(attack, error)

    outcomes = act(attacks, run, truth=known)
    tell(Message("step_matches"))
    return show_outcomes(outcomes, attacks, lambda claims: work.excerpt(claims, related))
