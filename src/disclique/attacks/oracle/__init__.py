"""What the masked data would give a snooper who need not find out how they lie, under the exact law of the mask.

No attack: only the data holder can carry it out, who knows who is who. It tells a release that protects from one that
only was not broken. Displaced points are weighed where they truly lie (``places``). Noise on single distances is
undone for every record as well as it can be from the true places of all others: at Fisher's information, a limit for
every attack. Where distances are rounded or cut off, a record may be anybody from whose place all its published
distances are possible. And whoever finds out a function that was drawn once for the whole file can replay it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer, KnownPairs
from disclique.attacks.oracle.clusters import weigh_clusters
from disclique.attacks.oracle.encodings import ask_encodings
from disclique.attacks.oracle.numbers import ask_numbers
from disclique.attacks.oracle.places import weigh_placed, weigh_points
from disclique.attacks.oracle.profiles import WEIGHING, weigh_profiles
from disclique.attacks.oracle.unkeyed import ask_unkeyed
from disclique.attacks.oracle.vectors import weigh_vectors
from disclique.attacks.population import Population, prepare
from disclique.attacks.posterior import matching_posterior
from disclique.errors import InputError
from disclique.masks.base import Mask
from disclique.masks.surveys import SurveyLaw
from disclique.messages import Message, mark
from disclique.model import Claims
from disclique.spaces import Points, spaced
from disclique.spaces.base import Distances
from disclique.spaces.metrics import pairwise
from disclique.spaces.positions import KnownMap, locate_known
from disclique.values import FloatArray, IntArray

__all__ = ["ASKING", "NAME", "Answer", "Asking", "KnownPairs", "ask_oracle"]

NAME = "oracle"
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Asking:
    """How much the oracle looks at."""

    room: float = 1e-9  # share of a distance that rounding may take from an interval
    possible: float = 20.0  # log odds of a place from which all published distances are possible
    unknown_share: float = 0.5  # of common records where it is not known
    first: int = 40  # distances by which most strangers are told apart before all are compared
    partners: int = 2000  # records of a large file from whose distances the error of a place is found
    profiled: float = 3e9  # pairs times records of a map that are weighed by all their distances


ASKING = Asking()


@dataclass(frozen=True, eq=False)
class Places:
    """Where both files of the holder lie: their points, of a matrix that fits a map its places there."""

    own: Points
    theirs: Points

    @property
    def are_maps(self) -> bool:
        """True if both lie on a map."""
        return self.own.is_map and self.theirs.is_map


def _find_places(holder: Holder) -> Places | None:
    own, theirs = (one.distances.places() or one.distances.points() for one in (holder.exact, holder.known))
    return None if own is None or theirs is None else Places(own, theirs)


def _measure_gap(holder: Holder, places: Places) -> float:
    """Return the variance, per axis, between places of the same people where a map was made of distances.

    By the median, as of Gaussian errors: a few people under wrong ids must not blur all the others.
    """
    if not (holder.exact.distances.scaled or holder.known.distances.scaled) or not len(holder.truth):
        return 0.0
    rows, others = holder.truth.pairs.T
    apart = locate_known(places.own).positions[rows] - locate_known(places.theirs).positions[others]
    return float(np.median((apart**2).sum(axis=1)) / (2 * np.log(2)))


def ask_oracle(masked: Sequence[Distances], holder: Holder, by: Asking = ASKING) -> Answer:
    """Say of every person sought how surely one names them who knows how the releases lie; each is one draw.

    InputError says that the law of the mask is not modelled for such data.
    """
    law, mask = holder.knowledge.law, holder.knowledge.mask
    if not any(one.are_published for one in masked):
        return ask_numbers(holder)
    if mask is not None and mask.on == "text":
        return ask_encodings(masked, holder) if mask.secret else ask_unkeyed(masked, holder)
    if mask is not None and (found := _weigh_elsewhere(masked, holder, by)) is not None:
        return Answer.of_claims(found[0], holder, learned=found[1])
    weighed, learned = _weigh_pairs(masked, holder, by), law is not None and law.simulated
    if isinstance(weighed, Claims):
        return Answer.of_claims(weighed, holder, learned=learned)
    return replace(weighed, learned=learned)


def _weigh_elsewhere(masked: Sequence[Distances], holder: Holder, by: Asking) -> tuple[Claims, bool] | None:
    """Weigh pairs where records have no place on a map, or are few enough to be weighed by all their distances.

    The second value says that the law of the mask was learned. None is the answer where places are to be weighed.
    """
    mask, error, places = holder.knowledge.mask, holder.knowledge.coordinate_error, _find_places(holder)
    assert mask is not None
    if (mask.rigid or mask.replayed) and not error:
        return None
    moved = [points for one in masked if (points := one.points()) is not None]
    if places is not None and places.are_maps:
        sizes = holder.candidates.count * holder.exact.distances.size, holder.exact.distances.size
        entries = not error and _by_distances(mask, holder.exact.distances.unit)
        if moved or not entries or sizes[0] > by.profiled or sizes[1] > WEIGHING.records:
            return None
    elif places is not None and len(moved) == len(masked):
        claims = weigh_vectors(moved, places.theirs, places.own, holder)
        if claims is not None:
            return claims, False
    return weigh_profiles(masked, holder)


def _weigh_pairs(masked: Sequence[Distances], holder: Holder, by: Asking) -> Claims | Answer:
    """Weigh the pairs of two files as one could who knows how the releases lie; each is one draw of the same mask.

    InputError says that the law of the mask is not modelled for such data.
    """
    knowledge, mask = holder.knowledge, holder.knowledge.mask
    if mask is None:
        raise InputError("oracle_needs_mask")
    places = _find_places(holder)
    if mask.rigid or mask.replayed:
        return _replay(holder, places)
    assert places is not None  # all else is weighed elsewhere
    points = [points for one in masked if (points := one.points()) is not None]
    if len(points) == len(masked):
        weigh = weigh_clusters if isinstance(knowledge.law, SurveyLaw) else weigh_points
        return weigh(points, _find_people(holder, places.theirs), holder)
    if knowledge.coordinate_error == 0 and mask.possible(np.zeros(1), holder.exact.distances.unit) is not None:
        return _list_possible(masked, holder, places, by)
    return _undo_noise(masked, holder, places, by)


def _by_distances(mask: Mask, unit: str | None) -> bool:
    """Say whether a mask of distances has a law of these, or none at all, so that only draws of it tell one."""
    one = np.ones(1)
    placed = mask.score(one, one, unit) is not None or mask.possible(one, unit) is not None
    return mask.distance_law(unit) is not None or not placed


def _not_modelled(mask: Mask, data: str) -> InputError:
    return InputError("oracle_not_modelled", mask=mask.name, data=Message(data))


def _replay(holder: Holder, places: Places | None) -> Claims | Answer:
    """Name for every known person the released records that nothing tells apart: those at the same place.

    For a snooper whose own places are not exact each lies around the true one.
    """
    if holder.knowledge.coordinate_error:
        assert places is not None
        there = locate_known(places.theirs).place(Points(places.own.coordinates, metric=places.theirs.metric))
        return weigh_placed(there, np.zeros(places.own.size), _find_people(holder, places.theirs), holder)
    find_twins = _twins(holder.exact.distances)
    rows, columns, chances = [], [], []
    for target, known in holder.truth.pairs.tolist():
        same = find_twins(target)
        twins = same[holder.candidates.allowed(same, known)]
        rows.append(twins)
        columns.append(np.full(len(twins), known, np.int32))
        odds = holder.candidates.log_odds(twins, np.full(len(twins), known))
        weight = np.exp(odds - odds.max(initial=-np.inf)) if len(twins) else odds
        chances.append(weight / max(weight.sum(), 1e-300))
    return _claims(rows, columns, chances)


def _twins(distances: Distances) -> Callable[[int], IntArray]:
    """Return a function that names the records at the place of one, itself among them.

    Of many records these are asked what makes them the same, instead of all their distances.
    """
    everybody = np.arange(distances.size, dtype=np.int32)
    if distances.is_large and (named := distances.identities()) is not None:
        places: dict[Hashable, list[int]] = {}
        for row, place in enumerate(named):
            places.setdefault(place, []).append(row)
        return lambda row: np.array(places[named[row]], dtype=np.int32)

    def find_twins(row: int) -> IntArray:
        apart = distances.block(np.array([row], np.int32), everybody)[0]
        same = np.flatnonzero((apart == 0) | (everybody == row)).astype(np.int32)
        # at no distance, but farther from others or less far: no twin where distances need not fit each other
        there = distances.block(same, everybody)
        others = (everybody != row) & (everybody != same[:, None])
        alike = (~others | (there == apart) | (np.isnan(there) & np.isnan(apart))).all(axis=1)
        return np.asarray(same[alike])

    return find_twins


def _claims(rows: Sequence[IntArray], columns: Sequence[IntArray], chances: Sequence[FloatArray]) -> Claims:
    none = np.zeros(0, np.int32)
    parts = (
        np.concatenate([*rows, none]).astype(np.int32),
        np.concatenate([*columns, none]).astype(np.int32),
        np.concatenate([*chances, np.zeros(0)]),
    )
    return make_claims(parts, attack=NAME, floor=0.0)


def _match(target: Ints, known: Ints, ratio: FloatArray, holder: Holder, by: Asking) -> Claims:
    """Claim pairs by their log likelihood ratios, when nobody is twice in a file."""
    share = by.unknown_share if holder.knowledge.common is None else holder.knowledge.common
    ratio = ratio + holder.candidates.log_odds(target, known)
    chances = matching_posterior(target, known, ratio, sizes=holder.candidates.sizes, common=share)
    return _claims([target.astype(np.int32)], [known.astype(np.int32)], [chances])


def _list_possible(masked: Sequence[Distances], holder: Holder, places: Places, by: Asking) -> Claims:
    """Name for every known person the records whose published distances are all possible from that person's place."""
    own, theirs, exact, mask = places.own, places.theirs, holder.exact.distances, holder.knowledge.mask
    assert mask is not None
    everybody, unit = np.arange(own.size, dtype=np.int32), exact.unit

    def find_ends(rows: IntArray, others: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return between which lengths the published distances of some records may truly be."""
        ends = [mask.possible(one.block(rows, others), unit) for one in masked]
        # of what is not published every length is possible
        low = np.max([np.nan_to_num(part[0], nan=0.0) for part in ends if part is not None], axis=0)
        high = np.min([np.where(np.isnan(part[1]), np.inf, part[1]) for part in ends if part is not None], axis=0)
        itself = rows[:, None] == others[None, :]
        low, high = np.where(itself, 0.0, low), np.where(itself, np.inf, high)
        return low - by.room * np.maximum(low, 1.0), high + by.room * np.maximum(high, 1.0)

    whole = find_ends(everybody, everybody) if not own.is_large else None
    rows, columns = [], []
    first = spaced(own.size, by.first).astype(np.int32)
    lowest, highest = find_ends(everybody, first)
    for target, known in holder.truth.pairs.tolist():
        if exact.scaled:  # the places are not as exact as the distances
            away = exact.block(np.array([target], np.int32), everybody)[0]
        else:
            away = pairwise(theirs.coordinates[[known]], own.coordinates, own.metric)[0]
        likely = everybody[holder.candidates.allowed(everybody, known)]
        here = (away[first] >= lowest[likely]) & (away[first] <= highest[likely])
        own_column = likely[:, None] == first[None, :]
        likely = likely[(here | own_column).all(axis=1)]
        low, high = find_ends(likely, everybody) if whole is None else (whole[0][likely], whole[1][likely])
        inside = (away >= low) & (away <= high)
        # the person asked for is one of the released: nothing is published of them and themselves
        inside[:, target] |= away[target] == 0
        likely = likely[inside.all(axis=1)]
        rows.append(likely.astype(np.int64))
        columns.append(np.full(len(likely), known))
    if not rows:
        return _claims([], [], [])
    target_rows, known_rows = np.concatenate(rows), np.concatenate(columns)
    return _match(target_rows, known_rows, np.full(len(target_rows), by.possible), holder, by)


def _undo_noise(masked: Sequence[Distances], holder: Holder, places: Places, by: Asking) -> Answer:
    """Place every record as well as its published distances to the true places of all others allow, and weigh it.

    Of many records the distances to some say how large and of which shape the error is that those to all would leave.
    """
    mask, map_, n, unit = holder.knowledge.mask, locate_known(places.own), places.own.size, holder.exact.distances.unit
    assert mask is not None
    everybody = np.arange(n, dtype=np.int32)
    others = everybody if not places.own.is_large else spaced(n, by.partners).astype(np.int32)
    part = len(others) / n
    moved, variance = np.empty((n, 3)), np.empty(n)
    step = max(2_000_000 // max(len(others), 1), 1)
    for begin in range(0, n, step):
        rows = everybody[begin : begin + step]
        true = holder.exact.distances.block(rows, others)
        slope, information = np.zeros((len(rows), 2)), np.zeros((len(rows), 2, 2))
        towards = _directions(map_, rows, others)
        for one in masked:
            found = one.block(rows, others)
            score = _score(mask, found, true, unit)
            if score is None:
                raise _not_modelled(mask, mark("data_map"))
            there = ~np.isnan(found) & (rows[:, None] != others[None, :]) & (true > 0)
            first, second = (np.where(there, part, 0.0) for part in score)
            slope += np.einsum("ij,ija->ia", first, towards)
            information += np.einsum("ij,ija,ijb->iab", second, towards, towards)
        blind = ~(np.trace(information, axis1=1, axis2=2) > 0)  # nobody lies elsewhere, or nothing is published
        information[blind] = np.eye(2) / max(float(np.nanmax(true, initial=0.0)), 1.0) ** 2
        information += np.eye(2) * 1e-12 * (1e-300 + np.trace(information, axis1=1, axis2=2))[:, None, None]
        doubt = np.linalg.inv(information)
        # the error from some distances, made as small as that from all of them is
        offset = np.sqrt(part) * np.einsum("iab,ib->ia", doubt, slope)
        doubt = part * doubt
        moved[rows] = map_.displace(rows, offset)
        variance[rows] = np.trace(doubt, axis1=1, axis2=2) / 2
    if map_.radius:
        moved *= map_.radius / np.linalg.norm(moved, axis=1, keepdims=True)
    error = variance + _measure_gap(holder, places)
    return weigh_placed(moved, error, _find_people(holder, places.theirs), holder)


def _score(mask: Mask, masked: FloatArray, true: FloatArray, unit: str | None) -> tuple[FloatArray, FloatArray] | None:
    """Return the slope and the information of every distance; of a rounded one as if its error were noise."""
    found = mask.score(masked, true, unit)
    ends = mask.possible(masked, unit)
    if found is not None or ends is None:
        return found
    with np.errstate(invalid="ignore"):
        variance = np.maximum((ends[1] - ends[0]) ** 2 / 12, 1e-12)
    return np.where(np.isfinite(variance), (masked - true) / variance, 0.0), np.asarray(1 / variance)


def _directions(map_: KnownMap, rows: IntArray, others: IntArray) -> FloatArray:
    """Return how the distance to each of ``others`` grows when one of ``rows`` moves east and north."""
    offset = map_.positions[rows][:, None, :] - map_.positions[others][None, :, :]
    along = np.stack(
        ((offset * map_.east[rows][:, None, :]).sum(axis=2), (offset * map_.north[rows][:, None, :]).sum(axis=2)),
        axis=2,
    )
    return np.asarray(along / np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-300))


def _find_people(holder: Holder, theirs: Points) -> Population:
    """Return the known people, with what was worked out of them before."""
    return prepare(holder.known).population or Population.of(theirs)
