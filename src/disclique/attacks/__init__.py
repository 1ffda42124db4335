"""Attacks: what a snooper could do with a release, from the paper's clique to the strongest known."""

from disclique.attacks.kroll import LabelRule, Search, attack
from disclique.attacks.result import Attack, Baseline

__all__ = ["Attack", "Baseline", "LabelRule", "Search", "attack"]
