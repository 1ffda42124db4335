"""Ready snoopers: answers that fill in what somebody is assumed to know, and which of them options say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from disclique.app.fields import SNOOPER_FILES, SNOOPERS
from disclique.errors import InputError
from disclique.locale import mark
from disclique.options.audits import AUDIT_ROWS

EVERYBODY, NEIGHBOUR, TRADER, OWN = "whole", "neighbour", "trader", "own"


@dataclass(frozen=True)
class ReadyNumbers:
    """What ready snoopers are like: shares of people and of labels, records, and how many times as many."""

    neighbour_overlap: float = 0.1
    neighbour_seeds: int = 3
    fewest_records_for_seeds: int = 40
    trader_overlap: float = 0.3
    trader_size: int = 2  # times the released records
    trader_label_error: float = 0.05
    trader_coordinate_error: str = "50m"


READY_NUMBERS = ReadyNumbers()


@dataclass(frozen=True)
class ReadySnooper:
    """A ready answer: its name, who it is, what they know, and the options that say so."""

    name: str
    title: str
    sentence: str
    options: dict[str, Any]


def list_ready(records: int, *, places: bool, earth: bool, of: ReadyNumbers = READY_NUMBERS) -> list[ReadySnooper]:
    """Return the ready answers for a file of so many records; ``places`` says that others can be invented beside it.

    The first is the worst case: whatever a snooper may know, the release is no riskier than it says.
    """
    neighbour: dict[str, Any] = {"overlap": of.neighbour_overlap}
    if records >= of.fewest_records_for_seeds:
        neighbour["seeds"] = of.neighbour_seeds
    trader: dict[str, Any] = {"scenario": "marketer", "overlap": of.trader_overlap}
    trader["label_error"] = of.trader_label_error
    if places:
        trader["known_size"] = of.trader_size * max(records, 1)
    if earth:
        trader["coordinate_error"] = of.trader_coordinate_error
    return [
        ReadySnooper(
            EVERYBODY,
            mark("Somebody who has the whole file"),
            mark("They know everybody in it, with all that is there, and look for the record of each: the worst case."),
            {},
        ),
        ReadySnooper(
            NEIGHBOUR,
            mark("A neighbour or colleague who knows that somebody took part"),
            mark("They know one in ten of the people and recognise a few records beforehand, their own among them."),
            neighbour,
        ),
        ReadySnooper(
            TRADER,
            mark("A data trader with a register of part of the population"),
            mark("They have three in ten of the people among many others, with errors, and name as many as they can."),
            trader,
        ),
    ]


def which(said: Mapping[str, Any], ready: list[ReadySnooper]) -> str:
    """Return which ready answer options say, else that it is an own one."""
    if any(said.get(name) is not None for name in SNOOPER_FILES):
        return OWN
    meant = _differing(said)
    return next((one.name for one in ready if _differing(one.options) == meant), OWN)


def _differing(said: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: said.get(name) for name in SNOOPERS}
    return {name: value for name, value in found.items() if value is not None and value != AUDIT_ROWS[name].default}


def ready_options(who: str, ready: tuple[ReadySnooper, ...]) -> dict[str, Any]:
    """Return what a ready answer says of the snooper, and nothing else of them."""
    if who == OWN:
        return {}
    for one in ready:
        if one.name == who:
            return dict.fromkeys((*SNOOPERS, *SNOOPER_FILES), None) | one.options
    raise InputError("no_such_snooper", who=who)
