"""Masks as cards: what each does, its dials, and values to begin with that suit the file."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from disclique.errors import DiscliqueError, InputError
from disclique.locale import mark
from disclique.messages import Message
from disclique.specs import parse_spec

if TYPE_CHECKING:
    from disclique.app.looks import Seen
    from disclique.masks import Mask
    from disclique.spaces.base import Distances

MOVES, ALTERS, PUBLISHES, ENCODES, NOTHING = "moves", "alters", "publishes", "encodes", "nothing"
# The groups in which cards are shown, each with a sentence.
GROUPS = (
    (MOVES, mark("Move the places"), mark("Every place is changed; distances follow from the new places.")),
    (
        ALTERS,
        mark("Alter the distances"),
        mark("Places are not released; every published distance is changed by itself."),
    ),
    (
        PUBLISHES,
        mark("Publish something else"),
        mark("Only a part of the distances, or those of other points made from them."),
    ),
    (ENCODES, mark("Encode names"), mark("Names become bit patterns that can still be compared.")),
    (
        NOTHING,
        mark("Protect nothing"),
        mark("Every distance stays as it is. Offered so that you can see that it does not help."),
    ),
)
# Ends of the dial to begin with, as shares of the median distance: from the weakest to the strongest.
SHARES = (1 / 300, 1 / 20)
_ENDS = {
    ("topcode", "max"): (1.0, 0.1),
    ("donut", "min"): (1 / 1000, None),
    ("matrix-gaussian", "sd"): (1 / 100, 1 / 3),
    ("matrix-laplace", "b"): (1 / 100, 1 / 3),
    ("round", "to"): (1 / 100, 1 / 3),
}
_NUMBERS = {
    ("knn", "k"): ("20", "5"),
    ("lipschitz", "sets"): ("20", "2"),
    ("projection", "dimensions"): ("5", "1"),
    ("multiplicative", "sd"): ("0.05", "0.5"),
    ("bloom", "flip"): ("0.01", "0.2"),
    ("minhash", "length"): ("1024", "64"),
    ("two-step", "columns"): ("1000", "100"),
}


@dataclass(frozen=True)
class Dial:
    """A parameter of a mask: its name, whether a range can stand for it, words to choose from, and what to begin with.

    ``unit`` says what stands behind its number: ``place`` (m, km or degrees), ``length``, ``rate`` or nothing.
    """

    name: str
    turns: bool
    unit: str
    low: str = ""
    high: str = ""
    needed: bool = True
    default: str = ""


@dataclass(frozen=True)
class Card:
    """A mask to choose; ``reason`` says why it cannot be applied to the file, None if it can."""

    name: str
    group: str
    sentence: Message | str
    reference: str
    dials: tuple[Dial, ...]
    replayed: bool = False
    reason: Message | None = None


def list_cards(seen: Seen, *, places: bool) -> list[Card]:
    """Return all masks as cards, with values for the file that was looked at."""
    from disclique.masks import masks

    fits, begins = dict(seen.fits), dict(seen.begins)
    made = [
        _begin(make_card(kind, seen.median, seen.unit, places=places, reason=fits.get(name)), begins.get(name, ""))
        for name, kind in masks().items()
    ]
    order = [name for name, _, _ in GROUPS]
    return sorted(made, key=lambda card: order.index(card.group))


def _begin(card: Card, parameters: str) -> Card:
    """Return a card that begins with other values, as a spec has them; of the rest with those that it has."""
    said = split_spec(f"{card.name}:{parameters}")[1] if parameters else {}
    dials = (
        dataclasses.replace(one, low=said[one.name][0], high=said[one.name][1] if one.turns else "")
        if one.name in said
        else one
        for one in card.dials
    )
    return dataclasses.replace(card, dials=tuple(dials))


def make_card(
    kind: type[Mask], median: float | None, unit: str | None, *, places: bool, reason: Message | None = None
) -> Card:
    """Return one mask as a card."""
    own = " ".join((kind.__doc__ or "").split("\n\n")[0].split()).replace("``", "")  # of a mask that others wrote
    dials = tuple(_dial(kind, one, median, unit, places=places) for one in dataclasses.fields(kind))
    return Card(kind.name, _group(kind), kind.summary or own, kind.reference, dials, kind.replayed, reason)


def _group(kind: type[Mask]) -> str:
    from disclique.masks import EntryMask

    if kind.rigid:
        return NOTHING
    if kind.on == "text":
        return ENCODES
    if kind.on == "coordinates":
        return MOVES
    return ALTERS if issubclass(kind, EntryMask) else PUBLISHES


def _dial(
    kind: type[Mask], one: dataclasses.Field[Any], median: float | None, unit: str | None, *, places: bool
) -> Dial:
    from disclique.masks.base import spec_name

    name = spec_name(one.name)
    measure = _measure(one)
    turns = one.name == kind.dial or one.name in kind.other_dials
    needed = one.default is dataclasses.MISSING
    if (kind.name, name) in _NUMBERS:
        low, high = _NUMBERS[kind.name, name]
    elif not needed:
        low, high = str(one.default), ""
        if kind.name == "lipschitz" and name == "drawn" and not places:
            low = "records"  # without places nothing can be drawn from the area
    elif one.metadata.get("text"):  # a file of the holder's
        low, high = "", ""
    elif measure:
        low, high = _lengths(kind, name, measure, 1.0 if median is None else median, unit)
    else:
        low, high = ("0.05", "0.5") if one.type == "float" else ("20", "5")
    default = "" if needed else str(one.default)
    return Dial(name, turns, measure, low, high if one.name == kind.dial else "", needed, default)


def _measure(one: dataclasses.Field[Any]) -> str:
    """Return what a parameter measures: a place, a length, a rate per length, or nothing of the kind."""
    from disclique.masks.base import LENGTH, LENGTH_OR_ZERO, PLACE, RATE

    read = one.metadata.get("read")
    kinds = (("place", PLACE), ("length", LENGTH), ("length", LENGTH_OR_ZERO), ("rate", RATE))
    return next((name for name, kind in kinds if read is kind["read"]), "")


def _lengths(kind: type[Mask], name: str, measure: str, median: float, unit: str | None) -> tuple[str, str]:
    shares: Sequence[float | None] = _ENDS.get((kind.name, name), SHARES)
    found = []
    for share in shares:
        if share is None:
            found.append("")
        elif measure == "rate":
            found.append(_write(round_nicely(2 / (share * median)), f"/{unit}" if unit == "km" else ""))
        else:
            found.append(write_length(share * median, unit))
    return found[0], found[1]


def write_length(value: float, unit: str | None) -> str:
    """Write a length as a mask reads it, with one digit: short ones on the Earth in metres.

    >>> write_length(0.23, "km"), write_length(17.2, "km"), write_length(17.2, None)
    ('200m', '20km', '20')
    """
    if unit != "km":
        return _write(round_nicely(value), "")
    near = round_nicely(value)
    return _write(round_nicely(1000 * value), "m") if near < 1 else _write(near, "km")


def round_nicely(value: float) -> float:
    """Return the number 1, 2 or 5 times a power of ten that is nearest in ratio.

    >>> round_nicely(0.34), round_nicely(870)
    (0.5, 1000.0)
    """
    if not value > 0 or not math.isfinite(value):
        return 1.0
    power = math.floor(math.log10(value))
    near = min(
        (digit * 10.0**step for digit in (1, 2, 5) for step in (power, power + 1)),
        key=lambda one: abs(math.log(one / value)),
    )
    return float(f"{near:.0e}")


def _write(value: float, unit: str) -> str:
    from disclique.units import number

    return f"{number(value)}{unit}"


def spec_of(name: str, values: Mapping[str, tuple[str, str]]) -> str:
    """Return the spec of a mask from the values of its dials, each with a second one where a range is meant.

    >>> spec_of("donut", {"min": ("200m", ""), "max": ("1km", "5km")})
    'donut:min=200m,max=1km..5km'
    """
    parts = []
    for dial, (low, high) in values.items():
        if high and not low:
            raise InputError("range_without_begin", name=name, dial=dial)
        if low:
            parts.append(f"{dial}={low}..{high}" if high else f"{dial}={low}")
        for text in (low, high):
            if any(sign in text for sign in (",", "=", "..", "|", "\n")):
                raise InputError("dial_not_one_value", name=name, dial=dial, text=text)
    return f"{name}:{','.join(parts)}" if parts else name


def split_spec(spec: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return name and values of a spec: what ``spec_of`` makes one from.

    >>> split_spec("donut:min=200m,max=1km..5km")
    ('donut', {'min': ('200m', ''), 'max': ('1km', '5km')})
    """
    if "|" in spec:  # with what is done to labels or numbers no card shows it
        return "", {}
    asked = parse_spec(spec)
    return asked.name, {one.key: (one.ends[0], one.ends[1] if len(one.ends) > 1 else "") for one in asked.parameters}


def try_mask(kind: type[Mask], some: Distances) -> Message | None:
    """Apply a mask with values to begin with to some records; return why that is impossible, None if it is not."""
    import numpy as np

    from disclique.masks import parse_mask
    from disclique.spaces import full_matrix

    values = full_matrix(some)
    there = values[np.triu_indices(len(values), 1)]
    there = there[np.isfinite(there) & (there > 0)]
    median = float(np.median(there)) if len(there) else 1.0
    card = make_card(kind, median, some.unit, places=some.points() is not None)
    spec = spec_of(kind.name, {dial.name: (dial.low, "") for dial in card.dials if dial.needed or dial.name == "drawn"})
    try:
        parse_mask(spec).apply(some, np.random.default_rng(0))
    except DiscliqueError as problem:
        return problem.message
    return None
