"""Attacks: what a snooper could do with a release, from the paper's clique to the strongest known.

An attack is a value with ``run(target, known, candidates) -> Claims``; ``registry`` knows them all by name. ``act``
carries attacks out and judges them, whoever asks; ``attack`` is the door to it. How a release is made, how often it is
drawn and what is decided from it does not live here.
"""

from disclique.attacks.act import Outcome, act, fetcher
from disclique.attacks.bend import BendAttack
from disclique.attacks.claims import AttackResult, Baseline
from disclique.attacks.code import CodeAttack
from disclique.attacks.equal import EqualAttack
from disclique.attacks.extend import ExtendAttack
from disclique.attacks.knowledge import Holder, Knowledge, Search, learn
from disclique.attacks.kroll import CliqueAttack, QuasiCliqueAttack
from disclique.attacks.labels import Guess, LabelAttack, LabelRule
from disclique.attacks.link import attack, attack_by_all
from disclique.attacks.numbers import NumberAttack
from disclique.attacks.profiles import ProfilesAttack
from disclique.attacks.registration import Ceiling, IsomapAttack, RegisterAttack
from disclique.attacks.registry import (
    Attack,
    Fetch,
    attack_names,
    attacks,
    build_attacks,
    parse_attack,
    parse_attacks,
    register_attack,
)

# One line adds an attack: people see them in this order.
for _kind in (
    LabelAttack,
    NumberAttack,
    CliqueAttack,
    ExtendAttack,
    RegisterAttack,
    IsomapAttack,
    ProfilesAttack,
    CodeAttack,
    EqualAttack,
    BendAttack,
    QuasiCliqueAttack,
    Ceiling,
    Guess,
):
    register_attack(_kind)

__all__ = [
    "Attack",
    "AttackResult",
    "Baseline",
    "BendAttack",
    "Ceiling",
    "CliqueAttack",
    "CodeAttack",
    "EqualAttack",
    "ExtendAttack",
    "Fetch",
    "Guess",
    "Holder",
    "IsomapAttack",
    "Knowledge",
    "LabelAttack",
    "LabelRule",
    "NumberAttack",
    "Outcome",
    "ProfilesAttack",
    "QuasiCliqueAttack",
    "RegisterAttack",
    "Search",
    "act",
    "attack",
    "attack_by_all",
    "attack_names",
    "attacks",
    "build_attacks",
    "fetcher",
    "learn",
    "parse_attack",
    "parse_attacks",
    "register_attack",
]
