"""Places to which distances were asked for, held against where people live: a layer of another country looks harmless.

Distances to places that are nobody's would be released, and a snooper who has the right places would know more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from disclique.messages import Message
from disclique.records.checks.places import name_places
from disclique.records.checks.values import Remark, is_land, say_place
from disclique.records.near import LAYER, Near
from disclique.spaces import Points, spaced
from disclique.spaces.metrics import paired
from disclique.spaces.nearest import Found
from disclique.units import KM, measured


@dataclass(frozen=True)
class NearLimits:
    """From when on places are remarkable."""

    people: int = 10  # from which shares say something
    looked_up: int = 1000
    abroad_share: float = 0.8  # people at a border have some of their places beyond it
    far_times: float = 3.0  # the extent of the file: places of people are among them, or not much farther
    own_share: float = 0.5


NEAR_LIMITS = NearLimits()


def inspect_near(near: Near, points: Points | None, file: str, limits: NearLimits = NEAR_LIMITS) -> list[Remark]:
    """Look at the places of one column; nothing is remarked of travel times, nor of people without a map."""
    if points is None or not near.by_place or points.size < limits.people:
        return []
    some = points.select(spaced(points.size, limits.looked_up))
    nearest = near.nearest(some)
    abroad = list(_abroad(near, some, nearest, file, limits))
    return [*(abroad or _far(near, some, nearest, file, limits)), *_own(near, nearest, file, limits)]


def _abroad(near: Near, points: Points, nearest: Found, file: str, limits: NearLimits) -> Iterator[Remark]:
    """Compare in which country people live with that of their nearest place; lines may be the border itself."""
    pieces = near.pieces
    if pieces is None or not points.on_earth or near.wish.kind != LAYER or not (pieces.begin == pieces.end).all():
        return
    used, which = np.unique(nearest.piece, return_inverse=True)
    there = np.array(name_places(pieces.begin[used]), dtype=object)[which]
    pairs = [pair for pair in zip(name_places(points.coordinates), there, strict=True) if all(map(is_land, pair))]
    away = Counter(pair for pair in pairs if pair[0] != pair[1])
    if len(pairs) >= limits.people and away.total() >= limits.abroad_share * len(pairs):
        home, other = away.most_common(1)[0][0]
        told = {"share": away.total() / len(pairs), "home": say_place(home), "other": say_place(str(other))}
        yield Remark(Message("near_in_another_country", told, file=file, column=near.name))


def _far(near: Near, points: Points, nearest: Found, file: str, limits: NearLimits) -> Iterator[Remark]:
    """Compare how far places are with how far people are from one another."""
    places = points.coordinates
    middle = np.broadcast_to(np.median(places, axis=0), places.shape)
    extent = 2 * float(np.quantile(paired(places, middle, points.metric), 0.9))
    usual = float(np.median(nearest.length))
    if extent > 0 and usual > limits.far_times * extent:
        lengths = {"usual": measured(usual, KM, 3), "extent": measured(extent, KM, 3)}
        yield Remark(Message("near_far_away", lengths, file=file, column=near.name))


def _own(near: Near, nearest: Found, file: str, limits: NearLimits) -> Iterator[Remark]:
    """Say whether most people live at a place, as they do where the places are those of the people themselves."""
    share = float((nearest.length == 0).mean())
    if near.pieces is not None and near.pieces.places > 1 and share >= limits.own_share:
        yield Remark(Message("near_places_are_people", file=file, column=near.name, share=share))
