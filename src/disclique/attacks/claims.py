"""What an attack claims, pairs with probabilities or nothing and why; and what a reader is shown of it."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.measures.risk import Judged, Risk
from disclique.messages import Message, mark
from disclique.model import Agreement, Candidates, Claims, Clique, MaximumCliques, Microdata
from disclique.records.labels import label_tuples
from disclique.spaces import shared_unit
from disclique.values import FloatArray, IntArray, Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBABLE = 0.5  # a pair is claimed if it is more probable than not
FLOOR = 0.01  # pairs less probable than that are not kept
NOT_CARRIED_OUT = mark("attack_not_carried_out")  # the code of what was cut short before it began

Weighed = tuple[IntArray, IntArray, FloatArray]  # target rows, known rows, probabilities


def make_claims(
    pairs: Weighed,
    *,
    attack: str,
    floor: float = FLOOR,
    cut: Message | None = None,
    doubt: Message | None = None,
    details: Json | None = None,
) -> Claims:
    """Make claims of weighed pairs, leaving out those less probable than ``floor``."""
    target, known, probability = pairs
    keep = probability >= floor
    order = np.lexsort((known[keep], -probability[keep], target[keep]))
    return Claims(
        attack=attack,
        target=target[keep][order].astype(np.int32),
        known=known[keep][order].astype(np.int32),
        probability=probability[keep][order],
        threshold=PROBABLE,
        expected=float(probability.sum()),
        cut=cut,
        doubt=doubt,
        details=details or {},
    )


def no_claims(why: Message, *, attack: str, cut: Message | None = None, details: Json | None = None) -> Claims:
    """Claim nothing, and say why."""
    none = np.zeros(0, np.int32)
    return Claims(attack, none, none, np.zeros(0), expected=0.0, cut=cut, doubt=why, details=details or {})


@dataclass(frozen=True)
class Baseline:
    """Linkage by labels alone: all pairs with a common label, and how many records the label alone identifies."""

    pairs: int
    records: int
    unique: int


@dataclass(frozen=True, eq=False, kw_only=True)
class AttackResult:
    """What an attack claims and what that is worth.

    ``matches`` has a row for each claimed pair: target_row and known_row counted from 1, the records' ids, and how sure
    it is (``support`` of the maximum cliques, or ``probability``); with a truth also ``true``. ``twins`` names target
    records, from 1, that no attack can tell apart. ``risk`` is None without a truth. Of a register ``files`` hold the
    matched people alone, the rows ``known_rows`` of it, from 0. Where several attacks were asked for, ``beside``
    are the results of those that find fewer people.

    >>> import disclique as dq
    >>> result = dq.attack(*dq.poets(), agreement=dq.Within(5))
    >>> result.matches[["target_row", "known_row", "support"]].values.tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 1.0], [3.0, 3.0, 1.0], [4.0, 4.0, 1.0]]
    >>> result.lower_bound, result.twins
    (False, ((9, 10),))
    """

    claims: Claims
    matches: pd.DataFrame
    baseline: Baseline
    twins: tuple[tuple[int, ...], ...]
    risk: Risk | None
    notes: tuple[Message, ...]
    seconds: float
    files: tuple[Microdata, Microdata]
    agreement: Agreement | None = None
    known_rows: NDArray[np.int64] | None = None
    beside: tuple[AttackResult, ...] = ()

    @property
    def unit(self) -> str | None:
        """The unit of the distances: ``km``, ``none``, or None where nobody said it."""
        return shared_unit(self.files[0].distances, self.files[1].distances)

    @property
    def attack(self) -> str:
        """The name of the attack."""
        return self.claims.attack

    @property
    def lower_bound(self) -> bool:
        """True if work was cut short, so that the risk may be higher than what was found."""
        return not self.claims.complete

    @property
    def failed(self) -> bool:
        """True if the attack applies but could not be carried out."""
        return self.claims.cut is not None and self.claims.cut.code == NOT_CARRIED_OUT

    @property
    def clique(self) -> Clique:
        """The maximum clique, members counted from 0, of an attack that rests on one."""
        if self.claims.work is None:
            raise AttributeError(f"the attack {self.attack} has no clique")
        return self.claims.work.clique

    @property
    def cliques(self) -> MaximumCliques:
        """All maximum cliques that were listed, of an attack that rests on one."""
        if self.claims.work is None:
            raise AttributeError(f"the attack {self.attack} has no cliques")
        return self.claims.work.cliques

    @property
    def rank(self) -> tuple[int, int]:
        """A key that puts whoever finds most people first: by the truth, else by what is claimed."""
        return (0, -len(self.matches)) if self.risk is None else (-self.risk.tp, self.risk.fp)

    def plot(self) -> Figure:
        """Draw both files with a line for every match."""
        import disclique

        shown = self.matches
        if self.known_rows is not None:
            shown = shown.assign(known_row=np.searchsorted(self.known_rows, shown["known_row"] - 1) + 1)
        return disclique.plots.draw_matches(*self.files, shown)

    def __repr__(self) -> str:
        said = [f"{len(self.matches)} matches"]
        if self.risk is not None:
            rates = (("precision", self.risk.precision), ("recall", self.risk.recall))
            said += [f"{name} {'undefined' if rate is None else f'{rate:.3f}'}" for name, rate in rates]
        said += ["LOWER BOUND on the risk"] if self.lower_bound else []
        said += [f"{len(self.notes)} notes, see lines()"] if self.notes else []
        return f"AttackResult({self.attack}: {', '.join(said)})"

    def __str__(self) -> str:
        return "\n".join([f"Attack by {self.attack}: {len(self.matches)} matches", *self.lines()])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.lines())
        title = f"<b>Attack by {escape(self.attack)}: {len(self.matches)} matches</b>"
        return f"<div>{title}<ul>{lines}</ul>{self.matches.to_html(index=False, max_rows=10)}</div>"

    def to_dict(self) -> Json:
        """Return the result in plain types, as ``--json`` writes it; members of a clique count from 1 there."""
        claims, work, risk = self.claims, self.claims.work, self.risk
        rates = ("tp", "fp", "fn", "precision", "precision_interval", "recall", "recall_interval")
        found: Json = {}
        if work is not None:
            found = {
                "product_vertices": work.vertices,
                "product_edges": work.edges,
                "clique_size": work.clique.size,
                "members": [member + 1 for member in work.clique.members],
                "proven": work.clique.proven,
                "bound": work.clique.bound,
                "solver": work.clique.solver,
                "maximum_cliques": {"listed": work.cliques.count, "complete": work.cliques.complete},
            }
        return {
            "attack": self.attack,
            "applies": True,
            **found,
            "unit": self.unit,
            "agreement": self._agree() or "",
            "matches": self.matches.to_dict("records"),
            "expected_matches": claims.expected,
            "lower_bound": self.lower_bound,
            "cut": "" if claims.cut is None else str(claims.cut),
            "doubt": "" if claims.doubt is None else str(claims.doubt),
            "label_pairs": self.baseline.pairs,
            "label_unique": self.baseline.unique,
            "twins": [list(group) for group in self.twins],
            **{name: getattr(risk, name) if risk else None for name in rates},
            "notes": [str(note) for note in self.notes],
            "details": claims.details,
            "seconds": self.seconds,
        }

    def lines(self) -> list[str]:
        """Return the result in sentences, for people."""
        return [
            *self._found(),
            *([] if (agree := self._agree()) is None else [f"distances agree if {agree}"]),
            *([f"LOWER BOUND on the risk: {self.claims.cut}"] if self.lower_bound else []),
            f"labels alone: {self.baseline.pairs} possible pairs, {self.baseline.unique} records identified",
            *self._twins(),
            *describe_risk(self.risk),
            *map(str, self.notes),
        ]

    def _twins(self, groups: int = 3, records: int = 5) -> list[str]:
        """Name target records that cannot be told apart; of many the first ones and how many there are."""
        said = []
        for twins in self.twins[:groups]:
            few = [str(row) for row in twins[:records]]
            rest = len(twins) - len(few)
            *others, last = [*few, f"{rest} more"] if rest else few
            said.append(f"target records {', '.join(others)} and {last} cannot be told apart")
        rest = len(self.twins) - len(said)
        return [*said, f"{rest} more groups of target records cannot be told apart"] if rest > 0 else said

    def _agree(self) -> str | None:
        """Say when distances agree, with their unit; None for an attack that does not rest on that."""
        words = getattr(self.agreement, "words", None)
        return None if words is None else str(words(self.unit))

    def _found(self) -> list[str]:
        claims, work = self.claims, self.claims.work
        if work is not None and not claims.weighed:
            count = f"{work.cliques.count}{'' if work.cliques.complete else ' or more'}"
            sure = "proven maximum" if work.clique.proven else f"at most {work.clique.bound} are possible"
            return [
                f"product graph: {work.vertices} vertices, {work.edges} edges",
                f"{self.attack}: {work.clique.size} members ({sure}), {count} of this size",
                "a clique is no bound on the risk: other attacks may find more people",
            ]
        if claims.doubt is not None:
            claimed = f"{len(self.matches)} matches" if len(self.matches) else "nothing"
            return [f"{self.attack}: {claimed} is claimed: {claims.doubt}"]
        sure = f", {claims.expected:.1f} correct ones expected among all pairs" if claims.expected is not None else ""
        return [f"{self.attack}: {len(self.matches)} matches{sure}"]


def describe_risk(found: Risk | None) -> list[str]:
    """Say precision and recall in sentences; nothing without a truth."""
    if found is None:
        return []

    def rate(value: float | None, interval: tuple[float, float] | None) -> str:
        if value is None or interval is None:
            return "undefined"
        return f"{value:.3f} (95 % interval {interval[0]:.3f} to {interval[1]:.3f})"

    if found.found_nobody:  # an interval near zero would look like a proof of safety
        claimed = f"all {found.fp} matches are false" if found.fp else "it claims nothing"
        return [f"nobody of the {found.fn} people in both files is found: {claimed}; another attack may find them"]
    return [
        f"true {found.tp}, false {found.fp}, missed {found.fn}",
        f"precision {rate(found.precision, found.precision_interval)}",
        f"recall {rate(found.recall, found.recall_interval)}",
    ]


@dataclass(frozen=True, eq=False)
class ComparedFiles:
    """Two files as results show them: their candidates, and ``odd``, what looks wrong with them side by side.

    Of a register ``known`` holds some of its people alone, the rows ``known_rows`` of it, from 0.
    """

    target: Microdata
    known: Microdata
    candidates: Candidates
    odd: tuple[Message, ...] = ()
    known_rows: NDArray[np.int64] | None = None

    def show(
        self, claims: Claims, judged: Judged | None, *, seconds: float, agreement: Agreement | None
    ) -> AttackResult:
        """Return the claims of an attack as matches, with what they are worth where that was judged."""
        rows, others, probability = claims.claimed()
        columns: dict[str, Any] = {"probability" if claims.weighed else "support": probability}
        if judged is not None:
            columns["true"] = judged.weighed[claims.probability > claims.threshold]
        named: Sequence[Hashable] | Mapping[int, Hashable] = self.known.ids
        if self.known_rows is not None:
            named = dict(zip(self.known_rows.tolist(), self.known.ids, strict=True))
        table = pd.DataFrame(
            {
                "target_row": rows.astype(np.int64) + 1,
                "known_row": others.astype(np.int64) + 1,
                "target_id": pd.Series([self.target.ids[v] for v in rows], dtype=object),
                "known_id": pd.Series([named[w] for w in others.tolist()], dtype=object),
                **columns,
            }
        )
        return AttackResult(
            claims=claims,
            matches=table.sort_values(["target_row", "known_row"], ignore_index=True),
            baseline=self.baseline,
            twins=self.twins,
            risk=None if judged is None else judged.risk,
            notes=(*note_labels(self.target, self.known, self.candidates), *self.odd),
            seconds=seconds,
            files=(self.target, self.known),
            agreement=agreement,
            known_rows=self.known_rows,
        )

    @cached_property
    def baseline(self) -> Baseline:
        """What labels alone give."""
        found = self.candidates
        return Baseline(found.count, int((found.fitting > 0).sum()), len(found.alone[0]))

    @cached_property
    def twins(self) -> tuple[tuple[int, ...], ...]:
        """Groups of target rows, from 1, that no attack can tell apart."""
        return find_twins(self.target)


def note_labels(target: Microdata, known: Microdata, candidates: Candidates) -> tuple[Message, ...]:
    """Say what the reader should know about the labels: missing values, and why nothing matches if nothing does."""
    said = []
    for data, of_row in ((target, candidates.target_class), (known, candidates.known_class)):
        out = int(np.count_nonzero(of_row < 0))
        if out:
            said.append(Message("labels_missing_never_matched", name=data.name, count=out))
    if len(candidates.relation) == 0:
        said.append(Message("no_label_in_common"))
    return tuple(said)


def find_twins(data: Microdata) -> tuple[tuple[int, ...], ...]:
    """Find groups of rows, from 1, that no attack can tell apart: same label and same distances to all others."""
    buckets: dict[Hashable, list[list[int]]] = {}
    named = data.distances.identities()  # the same point or string
    keys = _order_distances(data) if named is None else named
    for row, (label, key) in enumerate(zip(label_tuples(data.labels), keys, strict=True)):
        bucket = buckets.setdefault((label, key), [])
        for group in bucket:
            if named is not None or _interchangeable(data, group[0], row):
                group.append(row)
                break
        else:
            bucket.append([row])
    groups = [group for bucket in buckets.values() for group in bucket if len(group) > 1]
    return tuple(tuple(row + 1 for row in group) for group in sorted(groups))


def _order_distances(data: Microdata) -> list[Hashable]:
    """Return what twins have in common and few others: their distances in ascending order, as a digest."""
    rows = np.arange(len(data), dtype=np.int32)
    ordered = (np.sort(data.distances.block(rows[i : i + 1], rows)).tobytes() for i in rows)
    return [hashlib.blake2b(row, digest_size=16).digest() for row in ordered]  # of many records a row is long


def _interchangeable(data: Microdata, i: int, j: int) -> bool:
    rest = np.delete(np.arange(len(data), dtype=np.int32), [i, j])
    pair = np.array([i, j], dtype=np.int32)
    there, back = data.distances.block(pair, rest), data.distances.block(rest, pair)
    return np.array_equal(there[0], there[1], equal_nan=True) and np.array_equal(back[:, 0], back[:, 1], equal_nan=True)
