"""What an attack on a release is held against: guessing, the oracle, insiders, and a control."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from disclique.attacks import Attack, Ceiling, Holder, LabelAttack, LabelRule, Outcome, act, fetcher
from disclique.attacks.claims import NOT_CARRIED_OUT
from disclique.attacks.dictionaries import Dictionary
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.oracle import Answer, ask_oracle
from disclique.attacks.oracle.encodings import INSIDER
from disclique.attacks.oracle.values import Told, guess_values
from disclique.audits.definition import Audit
from disclique.audits.known_file import KnownFile, draw_control
from disclique.audits.release_records import Attempt, InferenceRecord, InsiderHits, OracleRecord
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.measures.risk import SCENARIOS, Hits, find_chances, judge
from disclique.model import Candidates, Claims, Microdata
from disclique.records.labels import Exact
from disclique.records.sensitive import SensitiveColumn
from disclique.records.tables import select_records
from disclique.runs import Unit
from disclique.spaces.base import Distances

GROUP = "shown group"
INSIDERS = (10, 50)  # true pairs that insiders know beforehand


@dataclass(frozen=True, eq=False)
class LabelPairs:
    """Who may match: ``exact`` by labels alone, ``agreeing`` if numbers agree or not, ``weighed`` by all evidence.

    Errors of labels are allowed for only where an attack weighs evidence.
    """

    exact: Candidates
    weighed: Candidates
    agreeing: Candidates

    def __call__(self, attack: Attack | type[Attack]) -> Candidates:
        """Return the pairs that an attack may link."""
        return self.weighed if attack.by_evidence else self.agreeing


def match_labels(audit: Audit, target: Microdata, known: Microdata, mask: Mask) -> LabelPairs:
    """Find the pairs whose labels fit, by those that the snooper knows of people, and by groups that the mask shows.

    A missing value matches as the plan says, errors are as the snooper's labels have. The group of a person is taken to
    be known without error: it is a district, or whatever else of a home a snooper can look up.
    """
    told, error = audit.plan.snooper.knows(target.labels.columns), audit.plan.snooper.label_error
    forgiven = {str(column): Exact(error) for column in told}
    target, known = (_add_group(replace(data, labels=data.labels[told]), mask) for data in (target, known))
    rule = LabelRule(audit.plan.missing)
    exact = rule.candidates_by_labels(target, known)
    if not (len(target.numbers) or error):
        return LabelPairs(exact, exact, exact)
    agreeing = rule.candidates(target, known, alpha=audit.plan.alpha) if len(target.numbers) else exact
    forgiving = replace(rule, comparators=forgiven)
    weighed = forgiving.candidates(target, known) if error else rule.candidates(target, known)
    return LabelPairs(exact, weighed, agreeing)


def _add_group(data: Microdata, mask: Mask) -> Microdata:
    """Return people with the group that a release shows of them as one more label."""
    groups = mask.find_groups(data)
    if groups is None:
        return data
    name = GROUP
    while name in data.labels.columns:
        name += "_"
    return replace(
        data, labels=data.labels.assign(**{name: pd.Series(groups.tolist(), index=data.labels.index, dtype=object)})
    )


def count_hits(claims: Claims | None, known: KnownFile, exact: Candidates) -> Hits:
    """Count the people whom claims are expected to find in each scenario."""
    return Hits(
        *(round(float(find_chances(claims, known.sought, exact, known.seeds, name).sum()), 6) for name in SCENARIOS)
    )


def guess_by_labels(known: KnownFile, exact: Candidates) -> Hits:
    """Count what labels alone give: a guess among those whose label fits, or a claim where only one does."""
    alone = LabelAttack().run(known.released, known.data, exact)
    return replace(count_hits(None, known, exact), journalist=float(judge(alone, known.truth, known.seeds).risk.tp))


def weigh_attempt(tried: Outcome, known: KnownFile, exact: Candidates, scenario: str) -> Attempt:
    """Return what an attack found of the people sought; or why it does not apply."""
    claims, judged = tried.claims, tried.judged
    if claims is None or judged is None:
        why = None if tried.refusal is None else tried.refusal.message
        return Attempt(tried.spec, why=why, seconds=tried.seconds)
    if claims.cut is not None and claims.cut.code == NOT_CARRIED_OUT:  # what is guessed instead was not shown by it
        return Attempt(tried.spec, why=claims.cut, seconds=tried.seconds)
    chances = find_chances(claims, known.sought, exact, known.seeds, scenario)
    rows, sought = known.rows, known.sought.pairs[:, 0]
    return Attempt(
        attack=tried.spec,
        correct=tuple(sorted(rows[judged.correct[:, 0]].tolist())),
        wrong=tuple(sorted((int(rows[t]), int(k)) for t, k in judged.wrong)),
        named=tuple((int(rows[t]), round(float(c), 4)) for t, c in zip(sought, chances, strict=True) if c > 0),
        taken=tuple((int(rows[t]), k) for t, k in find_taken(claims, known, scenario)),
        hits=count_hits(claims, known, exact),
        expected=claims.expected if claims.expected is not None and np.isfinite(claims.expected) else None,
        cut=claims.cut,
        doubt=claims.doubt,
        seconds=tried.seconds,
        unlaid=claims.details.get("unlaid"),
    )


def find_taken(claims: Claims, known: KnownFile, scenario: str) -> list[tuple[int, int]]:
    """Return pairs of a released and a known row that are named and wrong, one for each person sought.

    The prosecutor names the most probable record of every person, the marketer the most probable person for every
    record; of equally probable ones a wrong one. A journalist names nobody beyond what is claimed.
    """
    if scenario == "journalist":
        return []
    side = 1 if scenario == "prosecutor" else 0
    told = np.array(known.seeds, dtype=np.int64).reshape(-1, 2)
    pairs = np.column_stack([claims.target, claims.known]).astype(np.int64)
    keep = (claims.probability > 0) & ~np.isin(pairs[:, 0], told[:, 0]) & ~np.isin(pairs[:, 1], told[:, 1])
    pairs, probability = pairs[keep], np.round(claims.probability[keep], 12)
    sizes = len(known.released), len(known.data)
    true = np.full(sizes[side], -1)
    true[known.sought.pairs[:, side]] = known.sought.pairs[:, 1 - side]
    right = true[pairs[:, side]] == pairs[:, 1 - side]
    order = np.lexsort((pairs[:, 1 - side], right, -probability, pairs[:, side]))
    _, first = np.unique(pairs[order, side], return_index=True)
    best = order[first]
    wrong = best[~right[best] & (true[pairs[best, side]] >= 0)]
    return [(t, k) for t, k in pairs[wrong].tolist()]


@dataclass(frozen=True, eq=False)
class Consulted:
    """What the oracle answers, or why it cannot be asked; ``guessed`` is what labels tell of sensitive columns."""

    answer: Answer | None
    refusal: InputError | None = None
    seconds: float = 0.0
    guessed: tuple[Told, ...] = ()

    def record(self, known: KnownFile, scenario: str, *, most_named: int) -> OracleRecord:
        """Return it as it is recorded; the chances of people, where there are no more than ``most_named``."""
        if self.answer is None:
            assert self.refusal is not None
            return OracleRecord(why=self.refusal.message, seconds=self.seconds)
        rows, chances = known.rows[known.sought.pairs[:, 0]], self.answer.of(scenario)
        named = [(int(t), round(float(c), 4)) for t, c in zip(rows, chances, strict=True) if c > 0]
        curve, by_code = (
            tuple(InsiderHits(one.pairs, one.hits, one.sought) for one in some)
            for some in (self.answer.curve, self.answer.code_curve)
        )
        usual = min(INSIDER.usual, len(known.truth) // 2)
        return OracleRecord(
            curve=curve,
            seeds=len(known.seeds) or usual if curve else None,
            hits=self.answer.hits,
            sought=len(rows),
            named=tuple(named) if len(rows) <= most_named else (),
            learned=self.answer.learned,
            seconds=self.seconds,
            code_curve=by_code,
            everybody=self.answer.everybody,
        )

    def infer(self, columns: Sequence[str], known: KnownFile, scenario: str, most_named: int) -> list[InferenceRecord]:
        """Return what is told of sensitive columns as it is recorded."""
        rows, found = known.rows[known.sought.pairs[:, 0]], []
        for k, (column, guess) in enumerate(zip(columns, self.guessed, strict=True)):
            there = ~np.isnan(guess.right)
            record = InferenceRecord(column, int(there.sum()), None, 0.0, round(float(guess.right[there].sum()), 6))
            if self.answer is not None:
                told = self.answer.told[k]
                chances = zip(rows[there], told.right[there], strict=True)
                record = replace(
                    record,
                    right=round(float(told.right[there].sum()), 6),
                    identified=round(float(self.answer.of(scenario)[there].sum()), 6),
                    certain=int(told.certain.sum()),
                    named=tuple((int(t), round(float(c), 4)) for t, c in chances if c > 0)
                    if len(rows) <= most_named
                    else (),
                )
            found.append(record)
        return found


def consult_oracle(
    masked: Sequence[Distances],
    known: KnownFile,
    knowledge: Knowledge,
    labels: LabelPairs,
    columns: Sequence[SensitiveColumn] = (),
    dictionary: Dictionary | None = None,
) -> Consulted:
    """Ask what the masked data give one who knows how they lie, under the exact law of the mask; or say why not.

    ``columns`` are those of the audited file of which it is asked what is told; with a ``dictionary`` encodings are
    read.
    """
    holder = Holder(known.released, known.data, labels(Ceiling), known.truth, knowledge, labels.exact, known.seeds)
    holder = replace(holder, across=known.across, values=tuple(one.codes[known.rows] for one in columns))
    holder = replace(holder, dictionary=dictionary)
    begun = time.perf_counter()
    try:
        answer, refusal = ask_oracle(masked, holder), None
    except InputError as error:
        answer, refusal = None, error
    return Consulted(answer, refusal, round(time.perf_counter() - begun, 6), guess_values(holder))


def ask_insiders(
    audit: Audit,
    unit: Unit,
    target: Microdata,
    known: KnownFile,
    tries: Sequence[Outcome],
    build: Callable[[KnownFile], dict[str, Attack]],
) -> tuple[InsiderHits, ...]:
    """Count what insiders find who know some true pairs beforehand: by the attacks that start from these, or any other.

    ``tries`` are the attacks without seeds, which an insider can carry out as well; ``build`` builds those that are
    told a known file's seeds. Where those without seeds were enough, insiders show nothing more.
    """
    if known.seeds:  # the attacks themselves are those of an insider
        return ()
    found = []
    labels = match_labels(audit, target, known.data, unit.setting.mask)
    ran = {one.spec for one in tries if one.claims is not None}
    for count in INSIDERS:
        if count > len(known.truth) / 2:  # too few people are left to be found
            continue
        insider = known.with_seeds(count, audit.chance.rng("insider", count, unit.repetition))
        attacks = {spec: attack for spec, attack in build(insider).items() if attack.by_seeds and spec in ran}
        told = act(attacks, fetcher(target, known.data, labels))
        claims = [one.claims for one in (*told, *tries) if one.claims is not None]
        if any(one.claims is not None for one in told):
            hits = [count_hits(one, insider, labels.exact) for one in claims]
            most = Hits(*(max(one.of(name) for one in hits) for name in SCENARIOS))
            found.append(InsiderHits(count, most, len(insider.sought)))
    return tuple(found)


def run_control(
    audit: Audit,
    unit: Unit,
    attempts: Sequence[Attempt],
    target: Microdata,
    known: KnownFile,
    build: Callable[[KnownFile], dict[str, Attack]],
) -> list[Attempt]:
    """Add how many released records each attack claims to have found in a file that has none of them."""
    control = draw_control(audit, known, unit.repetition)
    if control is None:
        return list(attempts)
    rows, strangers = control.rows, control.data
    attacked = target if len(rows) == len(target) else select_records(target, rows)
    attacks = build(replace(known, seeds=control.seeds))
    labels = match_labels(audit, attacked, strangers, unit.setting.mask)
    tries = act(attacks, fetcher(attacked, strangers, labels))
    told = [row for row, _ in control.seeds]
    claimed = {
        one.spec: int((~np.isin(one.claims.claimed()[0], told)).sum()) for one in tries if one.claims is not None
    }
    return [
        replace(attempt, control=claimed[attempt.attack], control_targets=len(rows) - len(told))
        if attempt.applies and attempt.attack in claimed
        else attempt
        for attempt in attempts
    ]
