"""Attacks: what a snooper could do with a release, from the paper's clique to the strongest known."""

from disclique.attacks.kroll import LabelRule, Search
from disclique.attacks.methods import (
    METHODS,
    ByClique,
    ByExtension,
    ByLabels,
    ByRegistration,
    ByShortPaths,
    Method,
    attack,
    link,
)
from disclique.attacks.result import Attack, Baseline, Linked

__all__ = [
    "METHODS",
    "Attack",
    "Baseline",
    "ByClique",
    "ByExtension",
    "ByLabels",
    "ByRegistration",
    "ByShortPaths",
    "LabelRule",
    "Linked",
    "Method",
    "Search",
    "attack",
    "link",
]
