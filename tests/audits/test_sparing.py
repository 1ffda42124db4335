"""Costly attacks are spared where they cannot be expected to find more, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import disclique as dq
from disclique.attacks import Attack, registry
from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.audits import Audit, make_plan, run_audit
from disclique.audits.definition import SparingRules, UnitTuning
from disclique.audits.result import AuditResult
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata

PEOPLE = dq.microdata(dq.survey().iloc[:80], ["sex", "age_class"], coordinates=["lon", "lat"], ids="id")
QUICK: dict[str, Any] = {"person_trials": 10, "sensitivity": False, "overlap": 0.4}


MUCH_LEFT = SparingRules(gain_share=-1.0)  # much is left to be found, as it seems


def run(mask: str, attacks: tuple[str, ...], rules: SparingRules | None = None, **options: Any) -> AuditResult:
    plan = make_plan([mask], attacks=["labels", "register", *attacks], **{"repetitions": 5, **QUICK, **options})
    return run_audit(Audit(plan, PEOPLE, tuning=UnitTuning(sparing=rules or SparingRules())))


def by_name(result: AuditResult) -> dict[str, Any]:
    return {one.attack: one for one in result.settings[0].attacks}


def test_nothing_is_tried_where_nothing_is_left_to_find() -> None:
    lean, slow = run("gaussian:sigma=300m", ("dull",)), run("gaussian:sigma=300m", ("dull",), thorough=True)
    spared = by_name(lean)["dull"]
    assert (spared.applies, spared.spared) == (False, 5)
    assert spared.why == spared.spared_why == Message("nothing_to_gain", share=0.01)
    assert (by_name(slow)["dull"].applies, by_name(slow)["dull"].spared) == (True, 0)
    assert lean.settings[0].risk.value == slow.settings[0].risk.value
    assert lean.settings[0].oracle == slow.settings[0].oracle
    assert Message("left_out", attacks=["dull"], why=spared.why) in lean.verdict.cautions
    assert any(line.code == "costly_attacks_spared" for line in lean.limits)
    assert not any(line.code == "costly_attacks_spared" for line in slow.limits)


def test_everything_is_tried_where_the_oracle_is_only_approximate() -> None:
    result = run("swap:radius=20km", ("dull",), repetitions=1)
    assert all(one.applies and not one.spared for one in result.settings[0].attacks)


def test_everything_is_tried_where_there_is_no_oracle() -> None:
    table = dq.survey().iloc[:30]
    texts = dq.microdata(table.assign(name=[f"person {k * k}" for k in range(30)]), ["sex"], text="name", ids="id")
    found = dq.audit(texts, "bloom:length=512", attacks=["labels", "dull"], repetitions=1, **QUICK)
    assert not any(one.spared for one in found.settings[0].attacks)


def test_large_files_leave_costly_attacks_out_with_a_sentence() -> None:
    result = run("gaussian:sigma=30km", ("dull",), replace(MUCH_LEFT, large_pairs=100), repetitions=1)
    why = Message("too_many_records_for_it", mine=80, theirs=80, attack="register")
    assert by_name(result)["dull"].why == why
    assert by_name(result)["register"].applies
    assert result.settings[0].risk.by_oracle


def test_an_attack_that_finds_more_on_the_first_releases_is_carried_out_on_all() -> None:
    found = by_name(run("gaussian:sigma=40km", ("seer",)))["seer"]
    assert (found.applies, found.spared, found.risk.value) == (True, 0, 1.0)


def test_an_attack_that_finds_less_is_tried_on_the_first_releases_only() -> None:
    lean = run("gaussian:sigma=40km", ("dull",), MUCH_LEFT)
    dull, register = by_name(lean)["dull"], by_name(lean)["register"]
    assert (dull.applies, dull.spared) == (True, 2)
    assert dull.why == Message("spared_in", some=2, all=5, why=Message("tried_on_the_first_only", times=3))
    assert dull.risk.value < register.risk.value  # by what others found in two of five
    assert lean.settings[0].risk.attack == "register"


def test_a_journalist_who_is_too_sure_may_claim_more_than_the_oracle_and_is_not_spared() -> None:
    found = by_name(run("gaussian:sigma=40km", ("seer", "dull"), scenario="journalist"))
    assert (found["seer"].applies, found["seer"].risk.value) == (True, 1.0)


def test_size_alone_spares_no_attack_of_a_journalist() -> None:
    large = replace(MUCH_LEFT, large_pairs=100)
    found = by_name(run("gaussian:sigma=40km", ("dull",), large, scenario="journalist", repetitions=1))["dull"]
    assert (found.applies, found.spared) == (True, 0)


def test_insiders_are_told_of_where_attacks_from_seeds_were_spared() -> None:
    result = run("gaussian:sigma=300m", ("bend",), repetitions=1)
    assert [one.seeds for one in result.settings[0].seeded] == [10]


@dataclass(frozen=True)
class Seer(Attack):
    """An attack that sees who is who, as none could: stronger than the oracle."""

    name: ClassVar[str] = "seer"
    needs: ClassVar[str] = "a crystal ball"
    summary: ClassVar[str] = "Sees who is who."

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        return cls()

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        row = {person: number for number, person in enumerate(known.ids)}
        pairs = [(number, row[person]) for number, person in enumerate(target.ids) if person in row]
        rows, others = np.array(pairs, np.int32).reshape(-1, 2).T
        return make_claims((rows, others, np.ones(len(rows))), attack="seer")


@dataclass(frozen=True)
class Dull(Seer):
    """An attack that takes its time and finds nobody."""

    name: ClassVar[str] = "dull"

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        return no_claims("it sees nothing", attack="dull")


@pytest.fixture(autouse=True)
def fakes() -> Iterator[None]:
    for one in (Seer, Dull):
        registry.register_attack(one)
    yield
    for one in (Seer, Dull):
        registry._ATTACKS.pop(one.name)
