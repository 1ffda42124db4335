"""Who the snooper may be: three ready answers, each a sentence and the options that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from disclique.app.fields import SNOOPER_FILES, SNOOPERS
from disclique.locale import mark
from disclique.options.audits import AUDIT_ROWS

EVERYBODY, NEIGHBOUR, TRADER, OWN = "whole", "neighbour", "trader", "own"
KNOWN, SEEDS, LEAST = 0.1, 3, 40  # share that a neighbour knows, records they recognise, of files of this size
SHARE, TIMES, ERROR, PLACE = 0.3, 2, 0.05, "50m"  # what a register of part of the population is like


@dataclass(frozen=True)
class Ready:
    """A ready answer: its name, who it is, what they know, and the options that say so."""

    name: str
    title: str
    sentence: str
    options: dict[str, Any]


def list_ready(records: int, *, places: bool, earth: bool) -> list[Ready]:
    """Return the ready answers for a file of so many records; ``places`` says that others can be invented beside it.

    The first is the worst case: whatever a snooper may know, the release is no riskier than it says.
    """
    neighbour: dict[str, Any] = {"overlap": KNOWN}
    if records >= LEAST:
        neighbour["seeds"] = SEEDS
    trader: dict[str, Any] = {"scenario": "marketer", "overlap": SHARE, "label_error": ERROR}
    if places:
        trader["known_size"] = TIMES * max(records, 1)
    if earth:
        trader["coordinate_error"] = PLACE
    return [
        Ready(
            EVERYBODY,
            mark("Somebody who has the whole file"),
            mark("They know everybody in it, with labels and places, and look for the record of each: the worst case."),
            {},
        ),
        Ready(
            NEIGHBOUR,
            mark("A neighbour or colleague who knows that somebody took part"),
            mark("They know one in ten of the people and recognise a few records beforehand, their own among them."),
            neighbour,
        ),
        Ready(
            TRADER,
            mark("A data trader with a register of part of the population"),
            mark("They have three in ten of the people among many others, with errors, and name as many as they can."),
            trader,
        ),
    ]


def which(said: Mapping[str, Any], ready: list[Ready]) -> str:
    """Return which ready answer options say, else that it is an own one."""
    if any(said.get(name) is not None for name in SNOOPER_FILES):
        return OWN
    meant = _differing(said)
    return next((one.name for one in ready if _differing(one.options) == meant), OWN)


def _differing(said: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: said.get(name) for name in SNOOPERS}
    return {name: value for name, value in found.items() if value is not None and value != AUDIT_ROWS[name].default}
