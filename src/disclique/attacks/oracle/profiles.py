"""The oracle where records have no places: would a record stand out by its distances to all others, who are known?

For every person sought, and every released record that may be theirs, the published distances of the record are
compared with the true ones of the person, under the law of the mask. The holder knows whose the other records are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.laws import LEARNING, LearnedLaw, Learning, chance_of, count_draws
from disclique.attacks.posterior import matching_posterior
from disclique.engine.kernels import likelihoods as kernels
from disclique.errors import InputError
from disclique.masks.base import Mask
from disclique.masks.distance_laws import GAUSSIAN, LAPLACE, WITHIN, DistanceLaw
from disclique.messages import Message, mark
from disclique.model import Claims
from disclique.spaces.base import Distances
from disclique.values import FloatArray

NAME = "oracle"
Ints = NDArray[np.int64]
_SHAPES = {GAUSSIAN: kernels.GAUSSIAN, LAPLACE: kernels.LAPLACE, WITHIN: kernels.WITHIN}


@dataclass(frozen=True)
class Weighing:
    """How pairs are weighed by their distances, and how much of it there may be."""

    stages: tuple[int, ...] = (48, 240)  # references after which hopeless pairs are left out
    hopeless: float = 40.0  # nats behind the best pair of the record, and behind the best of the person
    records: int = 6000  # of which all distances are held
    pairs: int = 30_000_000  # that labels allow, at the most
    unknown_share: float = 0.5  # of common records where it is not known
    faint: float = 1e-3  # of the best of its record and of its person: pairs less probable than that are not listed
    rounds: int = 400  # by which probabilities of matchings are found
    same: float = 1e-9  # relative: distances of two files that differ by more are not the same


WEIGHING = Weighing()


@dataclass(frozen=True, eq=False)
class TrueDistances:
    """How far people are from the people whom the released records are: to them and, if directed, from them.

    Rows are the known people, behind them those released people whom the snooper does not know (``strangers`` are
    their records). NaN is not known.
    """

    sheets: FloatArray  # (1 or 2, people, records)
    strangers: Ints


def measure_true(holder: Holder) -> TrueDistances:
    """Return the true distances as the snooper knows them of people, and the holder of records."""
    own, theirs = holder.exact.distances, holder.known.distances
    everybody, people = np.arange(own.size, dtype=np.int32), np.arange(theirs.size, dtype=np.int32)
    strangers = np.setdiff1d(everybody, holder.truth.pairs[:, 0])
    ways = (False, True) if own.directed else (False,)
    sheets = []
    for back in ways:
        known = _reach(holder, people, everybody, back=back)
        rest = _block(own, strangers, everybody, back=back)
        rest[:, np.isnan(known).all(axis=0)] = np.nan
        sheets.append(np.concatenate([known, rest]))
    return TrueDistances(np.stack(sheets), strangers.astype(np.int64))


def _block(source: Distances, rows: NDArray[np.integer], columns: NDArray[np.integer], *, back: bool) -> FloatArray:
    """Return distances from rows to columns, or back from these, rows first all the same."""
    here, there = rows.astype(np.int32), columns.astype(np.int32)
    return np.array(source.block(there, here).T if back else source.block(here, there), dtype=np.float64)


def _reach(holder: Holder, people: NDArray[np.int32], everybody: NDArray[np.int32], *, back: bool) -> FloatArray:
    """Return the distances of known people to released ones: from both files, or from the file that both are of.

    Of bare matrices only those that the snooper's own has, which are those to common people.
    """
    own, theirs, across = holder.exact.distances, holder.known.distances, holder.across
    if across is not None:
        return _block(across.source, across.known[people], across.released[everybody], back=back)
    joins = theirs.can_join(own)
    if joins:
        found = _block(theirs.join(own), people, theirs.size + everybody, back=back)
    else:
        found = np.full((len(people), len(everybody)), np.nan)
    if not joins or own.scaled or theirs.scaled:  # a map that was made of distances is not as exact as these
        rows, columns = holder.truth.pairs.T
        found[:, rows] = _block(theirs, people, columns, back=back)
    return found


def _same_data(holder: Holder, true: TrueDistances, by: Weighing) -> bool:
    """Say whether the snooper's distances of the common people are those from which the release was made."""
    rows, people = holder.truth.pairs.T
    if not len(rows):
        return True
    exact = _block(holder.exact.distances, rows, rows, back=False)
    found = true.sheets[0][np.ix_(people, rows)]
    np.fill_diagonal(found, np.diagonal(exact))
    return bool(np.allclose(found, exact, rtol=by.same, atol=0.0, equal_nan=True))


@dataclass(frozen=True, eq=False)
class References:
    """Released records that are known to be somebody's: ``record`` and ``person`` of each, the latter -1 if unknown."""

    record: Ints
    person: Ints

    @staticmethod
    def of_truth(holder: Holder, true: TrueDistances) -> References:
        """Return everybody: known people, and behind them those released who are not known."""
        records, people = true.sheets.shape[2], true.sheets.shape[1]
        person = np.full(records, -1)
        person[holder.truth.pairs[:, 0]] = holder.truth.pairs[:, 1]
        person[true.strangers] = people - len(true.strangers) + np.arange(len(true.strangers))
        there = np.flatnonzero(~np.isnan(true.sheets[0]).all(axis=0))
        # in an order that has nothing to do with the records: the first ones must tell as much as others
        there = there[np.random.default_rng(0).permutation(len(there))]
        return References(there, person[there])

    def columns(self, records: int, people: int, part: tuple[int, int], shape: int) -> kernels.Columns:
        """Return the places of the references as the kernels take them."""
        of_record, of_person = np.full(records, -1), np.full(people, -1)
        of_record[self.record] = np.arange(len(self.record))
        of_person[self.person] = np.arange(len(self.record))
        return kernels.Columns(of_record, of_person, *part, shape)


@dataclass(frozen=True, eq=False)
class Profiles:
    """Published and true distances to the references as kernels take them, under a law."""

    data: kernels.Measured | kernels.Coded
    references: References
    shape: int = kernels.GAUSSIAN

    @staticmethod
    def of(
        published: FloatArray, true: FloatArray, which: Ints, references: References, law: DistanceLaw | LearnedLaw
    ) -> Profiles:
        """Return sheets of published and of true distances, a column for each reference, under their law."""
        if isinstance(law, LearnedLaw):
            sure = np.zeros(published.shape[2], np.int64)
            coded = kernels.Coded(law.record.code(published), law.person.code(true), law.table[None], sure, which)
            return Profiles(coded, references)
        measured = kernels.Measured(law.published(published), law.place(true), law.mass(true), which)
        return Profiles(measured, references, _SHAPES[law.shape])

    @property
    def sizes(self) -> tuple[int, int]:
        """How many records and people there are."""
        return self.data.record.shape[1], self.data.person.shape[1]

    def add(self, pairs: tuple[Ints, Ints], part: tuple[int, int], total: FloatArray) -> None:
        """Add the log likelihoods of pairs (records, people) by some of the references to ``total``."""
        columns = self.references.columns(*self.sizes, part, self.shape)
        if isinstance(self.data, kernels.Coded):
            kernels.add_coded(*pairs, self.data, columns, total)
        else:
            kernels.add_measured(*pairs, self.data, columns, total)

    def among(self, columns: Ints) -> Profiles:
        """Return the same by some of the references."""
        chosen = References(self.references.record[columns], self.references.person[columns])
        data = self.data
        parts = {name: np.ascontiguousarray(getattr(data, name)[:, :, columns]) for name in ("record", "person")}
        if isinstance(data, kernels.Coded):
            return replace(self, data=data._replace(**parts, of_column=data.of_column[columns]), references=chosen)
        mass = np.ascontiguousarray(data.mass[:, :, columns])
        return replace(self, data=data._replace(**parts, mass=mass), references=chosen)

    def score(self, pairs: tuple[Ints, Ints], by: Weighing = WEIGHING) -> FloatArray:
        """Return the log likelihood of each pair by all references, -inf where it is hopeless by some of them."""
        t, k = pairs
        found, many = np.full(len(t), -np.inf), len(self.references.record)
        alive, total = np.arange(len(t)), np.zeros(len(t))
        begin = 0
        for end in (*(stage for stage in by.stages if 2 * stage <= many), many):
            self.add((t[alive], k[alive]), (begin, end), total)
            if end < many:
                keep = _hopeful(t[alive], k[alive], total, self.sizes, by.hopeless)
                alive, total = alive[keep], total[keep]
            begin = end
        found[alive] = total
        return found


def _hopeful(t: Ints, k: Ints, total: FloatArray, sizes: tuple[int, int], margin: float) -> NDArray[np.bool_]:
    """Say which pairs are not far behind the best of their record, or not far behind the best of their person."""
    ahead = total - _top(t, total, sizes[0])[t]
    return np.asarray((ahead >= _top(k, ahead, sizes[1])[k] - margin) & np.isfinite(total) | (ahead >= -margin))


def _top(group: Ints, values: FloatArray, groups: int) -> FloatArray:
    """Return the largest value of each group, the least finite number where there is none."""
    found = np.full(groups, np.finfo(float).min)
    np.maximum.at(found, group, values)
    return found


@dataclass(frozen=True, eq=False)
class Scored:
    """Log likelihoods of pairs of a record and a known person, and of records for people who are not known."""

    t: Ints
    k: Ints
    score: FloatArray
    strangers: Ints  # records of people who are not known
    own: FloatArray  # how well they fit these

    def scaled(self, factor: float) -> Scored:
        """Return the same with all evidence weaker by a factor."""
        return replace(self, score=factor * self.score, own=factor * self.own)


def match_scored(scored: Scored, holder: Holder, by: Weighing = WEIGHING) -> FloatArray:
    """Return the probability of each pair, with what labels say, when nobody is twice in a file.

    A stranger is like the known people whose labels fit, or who they truly are.
    """
    records, people = holder.candidates.sizes
    live = np.flatnonzero(np.isfinite(scored.score))
    t, k, score = scored.t[live], scored.k[live], scored.score[live]
    odds = holder.candidates.log_odds(t, k)
    # of numbers each pair has odds of its own: whoever fits by them counts more among those like whom a stranger is
    heavy = holder.candidates.log_odds(scored.t, scored.k) if len(holder.exact.numbers) else np.zeros(len(scored.t))
    top_odds = np.maximum(_top(scored.t, heavy, records), -700.0)
    weight = np.exp(heavy - top_odds[scored.t])
    many = np.bincount(scored.t, weight, records)
    mean = np.where(many > 0, many / np.maximum(np.bincount(scored.t, minlength=records), 1), 1.0)[scored.strangers]
    many = np.maximum(many + np.bincount(scored.strangers, mean, records), 1e-300)
    rows, values = np.concatenate([t, scored.strangers]), np.concatenate([score, scored.own])
    top = _top(rows, values, records)
    total = np.bincount(rows, np.concatenate([weight[live], mean]) * np.exp(values - top[rows]), records)
    with np.errstate(divide="ignore"):
        anybody = top + np.log(total) - np.log(many)
    ratio = score - anybody[t] + odds
    share = by.unknown_share if holder.knowledge.common is None else holder.knowledge.common
    chance = matching_posterior(t, k, ratio, sizes=(records, people), common=share, rounds=by.rounds)
    found = np.zeros(len(scored.t))
    found[live] = _with_best(k, ratio, chance, people)
    return found


def _with_best(k: Ints, ratio: FloatArray, found: FloatArray, people: int) -> FloatArray:
    """Return the probabilities, of a person with none those that would follow from the person alone, all but 0.

    A snooper who must name a record names the best one, however poor it is.
    """
    lost = (np.bincount(k, found, people) < 1e-12)[k] & np.isfinite(ratio)
    if not lost.any():
        return found
    poor = np.where(lost, ratio, -np.inf)
    rest = np.exp(poor - _top(k, poor, people)[k])
    return np.where(lost, 1e-9 * rest / np.maximum(np.bincount(k, rest, people), 1e-300)[k], found)


def claim_scored(scored: Scored, holder: Holder, by: Weighing = WEIGHING) -> Claims:
    """Claim pairs by their probabilities."""
    found = match_scored(scored, holder, by)
    records, people = holder.candidates.sizes
    best = np.minimum(_top(scored.t, found, records)[scored.t], _top(scored.k, found, people)[scored.k])
    keep = (found > 0) & (found >= by.faint * best)
    pairs = scored.t[keep].astype(np.int32), scored.k[keep].astype(np.int32), found[keep]
    return make_claims(pairs, attack=NAME, floor=0.0)


def list_pairs(holder: Holder, by: Weighing = WEIGHING) -> tuple[Ints, Ints]:
    """Return the pairs that labels allow; refuse more than can be weighed."""
    if max(holder.candidates.sizes[0], holder.candidates.count / by.records) > by.records:
        raise refuse(holder, mark("data_many_records"))
    t, k = holder.candidates.pairs()
    return t.astype(np.int64), k.astype(np.int64)


def refuse(holder: Holder, data: str) -> InputError:
    """Return the error that says for which data a mask is not modelled."""
    assert holder.knowledge.mask is not None
    return InputError("oracle_not_modelled", mask=holder.knowledge.mask.name, data=Message(data))


def show_published(masked: Sequence[Distances], records: Ints, *, directed: bool) -> tuple[FloatArray, Ints]:
    """Return what releases publish of all records and some, a sheet for each release and direction."""
    everybody = np.arange(masked[0].size)
    ways = (False, True) if directed else (False,)
    sheets = [_block(one, everybody, records, back=back) for one in masked for back in ways]
    return np.stack(sheets), np.tile(np.arange(len(ways)), len(masked))


def weigh_profiles(masked: Sequence[Distances], holder: Holder, by: Weighing = WEIGHING) -> tuple[Claims, bool]:
    """Claim pairs of records and people by their distances to everybody else; say whether the law was learned."""
    t, k = list_pairs(holder, by)
    true = measure_true(holder)
    law = find_law(holder, true, by)
    references = References.of_truth(holder, true)
    shown, which = show_published(masked, references.record, directed=true.sheets.shape[0] > 1)
    profiles = Profiles.of(shown, true.sheets[:, :, references.record], which, references, law)
    scored = Scored(t, k, profiles.score((t, k), by), true.strangers, _score_strangers(profiles, true))
    return claim_scored(scored, holder, by), isinstance(law, LearnedLaw)


def _score_strangers(profiles: Profiles, true: TrueDistances) -> FloatArray:
    """Return the log likelihood of the records of people who are not known, for these people."""
    people = true.sheets.shape[1] - len(true.strangers) + np.arange(len(true.strangers))
    total = np.zeros(len(people))
    profiles.add((true.strangers, people), (0, len(profiles.references.record)), total)
    return total


def find_law(holder: Holder, true: TrueDistances, by: Weighing = WEIGHING) -> DistanceLaw | LearnedLaw:
    """Return the law of the mask as it is written down, else as it is learned.

    It is learned as well where the snooper's data are not those from which the release was made: it then has their
    errors in it.
    """
    mask, exact = holder.knowledge.mask, holder.exact.distances
    assert mask is not None
    mask = mask.in_unit_of(exact)
    law = mask.distance_law(exact.unit)
    if law is not None and holder.knowledge.coordinate_error == 0 and _same_data(holder, true, by):
        return law
    return learn_law(mask, holder, true)


def learn_law(mask: Mask, holder: Holder, true: TrueDistances, how: Learning = LEARNING) -> LearnedLaw:
    """Mask the holder's records afresh, and learn what is published of each true distance as the snooper knows it."""
    exact = holder.exact.distances
    rows, people = holder.truth.pairs.T
    if not len(rows):
        raise refuse(holder, mark("data_nobody_common"))
    some = np.sort(np.random.default_rng(0).permutation(len(rows))[: how.records])
    rows, people = rows[some], people[some]
    before, after = [], []
    rng = chance_of(mask.spec, exact.size)
    for _ in range(count_draws(len(rows), how)):
        drawn = mask.apply(exact, rng)
        for sheet, way in enumerate((False, True)[: true.sheets.shape[0]]):
            published = _block(drawn, rows, rows, back=way)
            known = true.sheets[sheet][np.ix_(people, rows)]
            np.fill_diagonal(known, np.nan)
            before.append(known.ravel())
            after.append(published.ravel())
    return LearnedLaw.of(np.concatenate(after), np.concatenate(before), how)
