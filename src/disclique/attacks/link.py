"""Two files in, matches out: ``attack`` by one attack, ``attack_by_all`` by several, ``attack_register`` in pieces."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from disclique.arguments import check_kind, show
from disclique.attacks.act import act, carry_out, fail, fetcher, show_outcomes
from disclique.attacks.claims import AttackResult, ComparedFiles
from disclique.attacks.knowledge import ALPHA, Knowledge, Search
from disclique.attacks.labels import LabelRule
from disclique.attacks.population import Population
from disclique.attacks.registration import RegisterAttack, register
from disclique.attacks.registry import ALL, Attack, build_attacks, parse_attack, parse_attacks
from disclique.attacks.rounding import see_rounding
from disclique.attacks.thresholds import THRESHOLDS, Thresholds
from disclique.engine.agreement import check_agreement
from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.measures.risk import Truth
from disclique.memory import parse_memory
from disclique.messages import Message
from disclique.model import Agreement, Budget, Candidates, Claims, Executor, Microdata
from disclique.progress import listening, tell
from disclique.records.checks.pairs import inspect_pair
from disclique.records.labels import candidates
from disclique.records.registers import Register, Survey, check_column, find_people
from disclique.spaces import shared_unit
from disclique.values import canonical

Who = str | Sequence[Hashable | None]  # a column of both files, or for each target record its id in the known file
SEVERAL = 60.0  # seconds of a clique search that must not keep other attacks waiting
Progress = Callable[[str, float | None], None]  # the step at work in English, and the share of it that is done if known


def attack(  # noqa: PLR0913 - the public door
    target: Microdata,
    known: Microdata | Register,
    *,
    agreement: Agreement | None = None,
    by: str | Attack | Sequence[str] = "clique",
    knowledge: Knowledge | None = None,
    truth: Who | None = None,
    labels: LabelRule | None = None,
    search: Search | None = None,
    release: str | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    memory: int | str | None = None,
) -> AttackResult:
    """Link ``target`` to ``known`` by one attack: the paper's maximum clique, unless another is named.

    The clique is far from the worst: what it does not find ``register`` or ``profiles`` may. An audit runs them all,
    and so does the command line.

    Parameters
    ----------
    target, known : Microdata
        The released file and the snooper's identification file; the latter may be a ``Register`` of millions of people,
        which is read in pieces (``by="register"``).
    agreement : Agreement
        Which known distances agree with a target distance, such as ``Within(5)``; for ``clique``, ``quasi`` and,
        if it is known, ``extend`` and ``profiles``.
    by : str or Attack, or list of names
        The name of an attack (``attack_names()``), a spec such as ``quasi:gamma=0.7``, or an attack of one's own. Of
        several, or of ``"all"``, the result of the one that finds most people comes back, the others ``beside`` it.
    knowledge : Knowledge
        What the snooper knows of the mask and the files; for ``register``, ``isomap``, ``extend`` and ``profiles``.
        Of the people in its ``seeds`` the risk says nothing: they were known beforehand.
    truth : column name, or ids
        Who is who, which only the data holder knows: a column of both tables, or for each target record the id of that
        person in the known file (None: nobody), such as the key of ``mask``.
    labels : LabelRule
        How missing label values match, and comparators for labels with errors.
    search : Search
        Solver, budget, threads, and how many maximum cliques to list.
    release : text
        How the release was made, as a setting has it: what was done to its numbers, ``"none | km_*=round:100m"``.
        Without it numbers are taken as exact, unless the target comes from ``mask``.
    progress : function of the step's name and the share of it that is done
    executor, memory : of a register
        Where its pieces are read (``Serial``, ``Processes``, ``OnDask``; in turn by default), and how much memory may
        be taken (``"4GB"``, half of the machine's by default).

    Examples
    --------
    >>> import disclique as dq
    >>> target, known = dq.poets()
    >>> result = dq.attack(target, known, agreement=dq.Within(5), truth="name")
    >>> result.clique.members, result.clique.proven, result.risk.precision
    ((0, 1, 2, 4), True, 1.0)
    """
    if isinstance(known, Register):
        check_kind(target, Microdata, "target", "wanted_microdata")
    else:
        if executor is not None or memory is not None:
            raise InputError("executor_is_for_registers")
        _check_files(target, known)
    if progress is not None and not callable(progress):
        raise InputError("progress_is_no_function", progress=show(progress))
    if release is not None:
        target = Setting.parse(check_kind(release, str, "release", "wanted_setting")).numbers.read(target)
    rule = check_kind(labels or LabelRule(), LabelRule, "labels", "wanted_label_rule")
    if truth is not None and isinstance(known, Microdata):
        truth_of(target, known, truth)  # before any work
    with _listening(progress):
        work = None
        if isinstance(known, Register):
            work = _open_register(target, known, rule, executor, memory)
            known = work.survey.look
        built: dict[str, Attack | InputError]
        if isinstance(by, Attack):
            if agreement is not None or knowledge is not None or search is not None:
                raise InputError("attack_built_already", name=by.name)
            built = {by.name: by}
        else:
            told = knowledge or Knowledge()
            told = check_kind(told, Knowledge, "knowledge", "wanted_knowledge")
            told = told if agreement is None else replace(told, agreement=check_agreement(agreement))
            usual = Search(budget=Budget(SEVERAL)) if by == ALL or isinstance(by, (list, tuple)) else Search()
            how = check_kind(search or usual, Search, "search", "wanted_search")
            told = told.fit(target.distances, known.distances, (target.name, known.name))
            known = replace(known, numbers=known.numbers.off_by(told.coordinate_error, known.distances.points()))
            built = _build(by, told, how)
        ready = {spec: one for spec, one in built.items() if isinstance(one, Attack)}
        if work is None:
            found = _attack_files(target, known, ready, truth, rule, alone=len(built) == 1)
        else:
            found = attack_register(work, ready, truth=truth)
    return _take_best([*found.values(), *(one for one in built.values() if isinstance(one, InputError))])


def _build(by: object, knowledge: Knowledge, search: Search) -> dict[str, Attack | InputError]:
    """Return the attack that is named, or all of several; one alone that cannot be built raises why."""
    if by != ALL and not isinstance(by, (list, tuple)):
        built = parse_attack(by).build(knowledge, search)  # type: ignore[arg-type]
        return {built.name: built}
    return build_attacks(parse_attacks(by), knowledge, search)


def _take_best(found: Sequence[AttackResult | InputError]) -> AttackResult:
    """Return the result of the attack that finds most, with the others beside it; raise why none applies."""
    results = sorted((one for one in found if isinstance(one, AttackResult)), key=lambda one: one.rank)
    if not results:
        raise next(one for one in found if isinstance(one, InputError))
    return replace(results[0], beside=tuple(results[1:])) if len(results) > 1 else results[0]


def _open_register(
    target: Microdata, register: Register, rule: LabelRule, executor: Executor | None, memory: int | str | None
) -> RegisterWork:
    allowed = None if memory is None else parse_memory(memory)
    return open_work(target, register, rule=rule, mapper=executor, memory=allowed)


def _listening(progress: Progress | None) -> AbstractContextManager[None]:
    return listening(None if progress is None else lambda step, share: progress(str(step), share))


def _check_files(target: object, known: object) -> None:
    """Refuse what is no file, and two files whose distances cannot be compared because of their units."""
    for name, data in (("target", target), ("known", known)):
        check_kind(data, Microdata, name, "wanted_microdata")
    assert isinstance(target, Microdata)
    assert isinstance(known, Microdata)
    shared_unit(target.distances, known.distances, (target.name, known.name))


def attack_by_all(
    target: Microdata,
    known: Microdata,
    attacks: Mapping[str, Attack],
    *,
    truth: Who | None = None,
    labels: LabelRule | None = None,
    progress: Progress | None = None,
) -> dict[str, AttackResult | InputError]:
    """Carry out several attacks, given by their specs; return the result of each, or why it does not apply."""
    _check_files(target, known)
    with _listening(progress):
        return _attack_files(target, known, attacks, truth, labels or LabelRule(), alone=False)


def _attack_files(
    target: Microdata,
    known: Microdata,
    attacks: Mapping[str, Attack],
    truth: Who | None,
    rule: LabelRule,
    *,
    alone: bool,
) -> dict[str, AttackResult | InputError]:
    """Carry out attacks on two files; one that stands ``alone`` raises what others only note as work cut short."""
    tell(Message("step_labels"))
    target, seen = see_rounding(target, known)
    related = rule.candidates(target, known)
    agreeing = rule.candidates(target, known, alpha=ALPHA) if len(target.numbers) else related

    def relate(attack: Attack) -> Candidates:
        return related if attack.by_evidence else agreeing

    fetch = fetcher(target, known, relate)

    def run(attack: Attack) -> Claims:
        return carry_out(attack, target, known, relate(attack), fetch) if alone else fetch(attack)

    outcomes = act(attacks, run, truth=None if truth is None else truth_of(target, known, truth))
    tell(Message("step_matches"))
    # what can hardly be meant of two files: then an attack finds nothing, and that looks like safety
    odd = inspect_pair(target, known, forgiven=rule.comparators).remarks
    files = ComparedFiles(target, known, related, (*seen, *(remark.message for remark in odd)))
    return show_outcomes(outcomes, attacks, lambda claims: files)


def truth_of(target: Microdata, known: Microdata, truth: Who) -> Truth:
    """Read which records belong to one person: from a column of both tables, or from the known ids of the targets."""
    if _are_ids(truth):
        return Truth.of_people(_people_of(target, truth), [canonical(one) for one in known.ids])
    return Truth.of_people(_people_of(target, truth), _people_of(known, truth))


def _are_ids(truth: object) -> bool:
    return isinstance(truth, (list, tuple, np.ndarray, pd.Series))


def _people_of(data: Microdata, truth: Any) -> list[Hashable]:
    """Return who each record is by a column of its table, or as it is said."""
    if _are_ids(truth):
        if len(truth) != len(data):
            raise InputError("truth_of_other_length", name=data.name, records=len(data), found=len(truth))
        return [canonical(one) for one in truth]
    if not isinstance(truth, Hashable) or truth not in data.table.columns:
        columns = [repr(str(name)) for name in data.table.columns]
        raise InputError("no_truth_column", name=data.name, column=repr(truth), columns=columns)
    return [canonical(value) for value in data.table[truth]]


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

    def find_truth(self, truth: Who) -> Truth:
        """Read which records belong to one person: from a column of both files, or from the ids of the targets."""
        name = check_column(self.register, self.register.layout.id if _are_ids(truth) else truth)
        people = _people_of(self.target, truth if _are_ids(truth) else name)
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
            tuple(remark.message for remark in odd),
            shown if len(shown) else None,
        )


def open_work(
    target: Microdata,
    register: Register,
    *,
    rule: LabelRule,
    mapper: Executor | None = None,
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
    work: RegisterWork, attacks: Mapping[str, Attack], *, truth: Who | None
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
