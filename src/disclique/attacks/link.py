"""Two files in, matches out: the labels' candidates, an attack, its claims, and what they are worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from disclique.arguments import check_kind, short_repr, show
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.link_register import attack_register, open_work
from disclique.attacks.registry import Attack, fetcher, parse_attack
from disclique.attacks.result import AttackResult, find_twins, match_table, measure_baseline, note_labels
from disclique.engine.agreement import check_agreement
from disclique.errors import InputError
from disclique.measures.risk import Truth, judge
from disclique.memory import parse_memory
from disclique.model import Agreement, Candidates, Claims, Microdata
from disclique.progress import Listener, listening, tell
from disclique.records.checks.pairs import inspect_pair
from disclique.records.labels import MISSING_POLICIES, Comparator, candidates
from disclique.records.registers import Mapper, Register
from disclique.spaces.distances import shared_unit
from disclique.values import canonical


@dataclass(frozen=True)
class LabelRule:
    """When labels coincide: how missing values match (``never`` or ``any``), and comparators that forgive errors.

    >>> import disclique as dq
    >>> target, known = dq.poets()
    >>> LabelRule(missing="any").candidates(target, known).relation.shape
    (4, 2)
    """

    missing: str = "never"
    comparators: Mapping[str, Comparator] = field(default_factory=dict)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if self.missing not in MISSING_POLICIES:
            raise InputError(f"missing = {self.missing!r}: choose one of {', '.join(MISSING_POLICIES)}")
        if not isinstance(self.comparators, Mapping):
            raise InputError(f"comparators = {show(self.comparators)}: give them by column, as {{'sex': Exact(0.01)}}")

    def candidates(self, target: Microdata, known: Microdata) -> Candidates:
        """Find the pairs of records that may match."""
        return candidates(target.labels, known.labels, missing=self.missing, comparators=self.comparators)


def attack(  # noqa: PLR0913 - the public door
    target: Microdata,
    known: Microdata | Register,
    *,
    agreement: Agreement | None = None,
    by: str | Attack = "clique",
    knowledge: Knowledge | None = None,
    truth: str | None = None,
    labels: LabelRule | None = None,
    search: Search | None = None,
    progress: Listener | None = None,
    executor: Mapper | None = None,
    memory: int | str | None = None,
) -> AttackResult:
    """Link ``target`` to ``known``: by the paper's maximum clique, or by another attack.

    Parameters
    ----------
    target, known : Microdata
        The released file and the snooper's identification file; the latter may be a ``Register`` of millions of people,
        which is read in pieces (``by="register"``).
    agreement : Agreement
        Which known distances agree with a target distance, such as ``Within(5)``; for ``clique``, ``quasi`` and,
        if it is known, ``extend`` and ``profiles``.
    by : str or Attack
        The name of an attack (see ``attacks()``), a spec such as ``quasi:gamma=0.7``, or an attack of one's own.
    knowledge : Knowledge
        What the snooper knows of the mask and the files; for ``register``, ``isomap``, ``extend`` and ``profiles``.
        Of the people in its ``seeds`` the risk says nothing: they were known beforehand.
    truth : column name
        A column of both tables that tells which records belong to one person; only the data holder has it.
    labels : LabelRule
        How missing label values match, and comparators for labels with errors.
    search : Search
        Solver, budget, threads, and how many maximum cliques to list.
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
            raise InputError("executor and memory are for a known file that is a register (read_register)")
        _check_files(target, known)
    if progress is not None and not callable(progress):
        raise InputError(f"progress = {show(progress)}: give a function of the step's name and the share done")
    rule = check_kind(labels or LabelRule(), LabelRule, "labels", "wanted_label_rule")
    if truth is not None and isinstance(known, Microdata):
        truth_of(target, known, truth)  # before any work
    work = None
    if isinstance(known, Register):
        rules = {"missing": rule.missing, "comparators": rule.comparators}
        allowed = None if memory is None else parse_memory(memory)
        with listening(progress):
            work = open_work(target, known, mapper=executor, memory=allowed, **rules)  # type: ignore[arg-type]
        known = work.survey.look
    if isinstance(by, Attack):
        if agreement is not None or knowledge is not None or search is not None:
            raise InputError(
                f"the attack {by.name} is built already: agreement, knowledge and search have no effect on it"
            )
    else:
        told = check_kind(knowledge or Knowledge(), Knowledge, "knowledge", "wanted_knowledge")
        told = told if agreement is None else replace(told, agreement=check_agreement(agreement))
        how = check_kind(search or Search(), Search, "search", "wanted_search")
        by = parse_attack(by).build(told.fit(target.distances, known.distances, (target.name, known.name)), how)
    with listening(progress):
        if work is not None:
            found = attack_register(work, {by.name: by}, truth=truth)[by.name]
            if isinstance(found, str):
                raise InputError(found)
            return found
        tell("labels")
        begun = time.perf_counter()
        related = rule.candidates(target, known)
        by.check_size(target, known)
        claims = by.run_from(fetcher(target, known, lambda attack: related), target, known, related)
        tell("matches")
        done = _Work(target, known, related, truth, by.told, _find_odd(target, known, rule))
        return done.judge(claims, time.perf_counter() - begun, by)


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
    truth: str | None = None,
    labels: LabelRule | None = None,
    progress: Listener | None = None,
) -> dict[str, AttackResult | str]:
    """Carry out several attacks, given by their specs; return the result of each, or why it does not apply."""
    _check_files(target, known)
    with listening(progress):
        rule = labels or LabelRule()
        found = rule.candidates(target, known)
        tried = run_attacks(attacks, target, known, lambda attack: found)
        told = tuple(dict.fromkeys(pair for attack in attacks.values() for pair in attack.told))
        work = _Work(target, known, found, truth, told, _find_odd(target, known, rule))
        return {
            one.spec: one.why if one.claims is None else work.judge(one.claims, one.seconds, attacks[one.spec])
            for one in tried
        }


def _find_odd(target: Microdata, known: Microdata, rule: LabelRule) -> tuple[str, ...]:
    """Say what can hardly be meant of two files side by side: then an attack finds nothing, and looks like safety."""
    found = inspect_pair(target, known, forgiven=rule.comparators)
    return tuple(remark.sentence for remark in found.remarks)


@dataclass(frozen=True, eq=False)
class _Work:
    """Two files, their candidates, and how claims about them are judged: the truth, without who was known before.

    ``odd`` is what looks wrong with the files side by side.
    """

    target: Microdata
    known: Microdata
    candidates: Candidates
    truth: str | None
    told: tuple[tuple[int, int], ...]
    odd: tuple[str, ...]

    def judge(self, claims: Claims, seconds: float, attack: Attack) -> AttackResult:
        """Return the claims of an attack as matches, with what they are worth where a truth is given."""
        target, known = self.target, self.known
        rows, others, probability = claims.claimed()
        more: dict[str, NDArray[Any]] = {"probability" if claims.weighed else "support": probability}
        risk = None
        if self.truth is not None:
            who = truth_of(target, known, self.truth)
            risk = judge(claims, who, self.told).risk
            more["true"] = who.holds(rows, others)
        return AttackResult(
            claims=claims,
            matches=match_table(rows, others, (target.ids, known.ids), **more),
            baseline=measure_baseline(self.candidates),
            twins=find_twins(target),
            risk=risk,
            notes=(*note_labels(target, known, self.candidates), *self.odd),
            seconds=seconds,
            files=(target, known),
            agreement=getattr(attack, "agreement", None),
        )


def truth_of(target: Microdata, known: Microdata, column: str) -> Truth:
    """Read from a column of both tables which records belong to one person."""
    people = []
    for data in (target, known):
        if not isinstance(column, Hashable) or column not in data.table.columns:
            columns = ", ".join(map(repr, map(str, data.table.columns)))
            raise InputError(f"{data.name}: no truth column {column!r}; it has {columns}")
        people.append([canonical(value) for value in data.table[column]])
    return Truth.of_people(*people)


@dataclass(frozen=True, eq=False)
class Tried:
    """An attack that was tried: its claims, or the sentence that says why it cannot or need not be carried out here."""

    spec: str
    claims: Claims | None
    why: str
    seconds: float
    spared: str = ""

    @property
    def laid(self) -> bool:
        """True if the attack laid a map of all records on the known file, and so used all that the release says."""
        found = self.claims
        return found is not None and len(found.target) > 0 and found.details.get("unlaid") == 0


def run_attacks(
    attacks: Mapping[str, Attack],
    target: Microdata,
    known: Microdata,
    candidates: Callable[[Attack], Candidates],
    *,
    spare: Callable[[Attack, Sequence[Tried]], str] | None = None,
) -> list[Tried]:
    """Carry out several attacks, by their specs, on the same files; what some of them share is searched once.

    ``candidates`` chooses the pairs that an attack may link. An attack that does not apply to these files says why, and
    the others go on. One that would apply but could not be carried out claims nothing and was cut short: that is no
    sign of safety. ``spare`` says of an attack, after those that were tried before it, why it need not be carried out;
    cheap ones are tried first.
    """
    fetch = fetcher(target, known, candidates)
    tried: list[Tried] = []
    for spec, attack in sorted(attacks.items(), key=lambda one: one[1].cost):
        needless = "" if spare is None else spare(attack, tried)
        if needless:
            tried.append(Tried(spec, None, "", 0.0, needless))
            continue
        begun = time.perf_counter()
        tell(spec)
        claims, why = None, ""
        try:
            claims = fetch(attack)
        except InputError as error:
            why = str(error)
        tried.append(Tried(spec, claims, why, round(time.perf_counter() - begun, 6)))
    place = {spec: number for number, spec in enumerate(attacks)}
    return sorted(tried, key=lambda one: place[one.spec])
