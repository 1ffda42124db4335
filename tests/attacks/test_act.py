"""Several attacks on the same files, and what their claims are worth against the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from disclique.attacks import CliqueAttack, ExtendAttack, LabelAttack, ProfilesAttack, act, fetcher
from disclique.errors import MissingDependency, TooLarge
from disclique.measures.risk import Truth, judge
from disclique.model import Candidates
from disclique.records.labels import candidates


@dataclass(frozen=True)
class CountedSearch(CliqueAttack):
    """The clique attack, which notes every run."""

    runs: list[str] = field(default_factory=list, compare=False)

    def run(self, target: dq.Microdata, known: dq.Microdata, candidates: Candidates) -> dq.Claims:
        self.runs.append("run")
        return super().run(target, known, candidates)


@dataclass(frozen=True)
class Failing(dq.Attack):
    """An attack that ends in an error."""

    name: ClassVar[str] = "failing"
    error: Exception

    def run(self, target: dq.Microdata, known: dq.Microdata, candidates: Candidates) -> dq.Claims:
        raise self.error


@pytest.fixture(scope="module")
def data() -> dq.Microdata:
    places = np.random.default_rng(0).uniform(0, 100, (40, 2))
    people = pd.DataFrame({"x": ["a", "b"] * 20, "who": range(40)})
    return dq.microdata(people, ["x"], coordinates=places, metric="euclidean")


def test_a_start_that_attacks_share_is_searched_once(data: dq.Microdata) -> None:
    """Equal starts are one start, whichever attack asks for it first; the claims are those of each attack alone."""
    pairs = candidates(data.labels, data.labels)
    for order in (("clique", "extend", "wide"), ("wide", "extend", "clique")):
        first, equal = CountedSearch(dq.Within(0.1)), CountedSearch(dq.Within(0.1))
        every = {"clique": first, "extend": ExtendAttack(equal, 0.1), "wide": ExtendAttack(first, 0.5)}
        tried = act({name: every[name] for name in order}, fetcher(data, data, lambda attack: pairs))
        assert [one.spec for one in tried] == list(order)
        assert len(first.runs) + len(equal.runs) == 1
        for one in tried:
            alone = every[one.spec].run(data, data, pairs)
            for left, right in zip(one.claims.claimed(), alone.claimed(), strict=True):
                np.testing.assert_array_equal(left, right)
    other = CountedSearch(dq.Within(0.2))
    act({"one": first, "other": ExtendAttack(other, 0.1)}, fetcher(data, data, lambda attack: pairs))
    assert len(other.runs) == 1


def test_an_attack_that_does_not_apply_says_why(data: dq.Microdata) -> None:
    """Wrong input is no claim at all, and the others go on."""
    pairs = candidates(data.labels, data.labels)
    wrong = Failing(dq.InputError("these distances have a direction"))
    bad, good = act({"bad": wrong, "labels": LabelAttack()}, fetcher(data, data, lambda attack: pairs))
    assert bad.claims is None
    assert str(bad.refusal) == "these distances have a direction"
    assert good.claims is not None
    assert good.refusal is None


@pytest.mark.parametrize(
    "error", [TooLarge("it needs 900 GB"), MissingDependency("install it"), np.linalg.LinAlgError()]
)
def test_an_attack_that_cannot_be_carried_out_is_cut_short(data: dq.Microdata, error: Exception) -> None:
    """It would apply: it claims nothing, but that is a lower bound and no reason to think the data safe."""
    pairs = candidates(data.labels, data.labels)
    [tried] = act({"big": Failing(error)}, fetcher(data, data, lambda attack: pairs))
    assert tried.refusal is None
    assert tried.claims is not None
    assert not tried.claims.complete
    assert tried.claims.cut.code == "attack_not_carried_out"
    assert str(tried.claims.doubt) == str(error)
    assert len(tried.claims.claimed()[0]) == 0


def test_an_attack_whose_start_fails_fails_the_same_way(data: dq.Microdata) -> None:
    """Extension from a search that cannot be made: too large stays a lower bound, wrong input stays wrong input."""
    pairs = candidates(data.labels, data.labels)
    for error, applies in ((TooLarge("it needs 900 GB"), True), (dq.InputError("no"), False)):
        [tried] = act({"extend": ExtendAttack(Failing(error), 1.0)}, fetcher(data, data, lambda attack: pairs))
        assert (tried.claims is not None) == applies
        assert applies == (tried.refusal is None)
        if tried.claims is not None:
            assert not tried.claims.complete


# The truth and the judge


people_of_a_file = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=8).filter(
    lambda people: len(set(people) - {None}) == len([person for person in people if person is not None])
)
pairs_claimed = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from([0.0, 0.2, 0.5, 0.51, 1.0])), max_size=12
)


@settings(max_examples=300, deadline=None)
@given(target=people_of_a_file, known=people_of_a_file, claimed=pairs_claimed, threshold=st.sampled_from([0.0, 0.5]))
def test_judging_equals_looking_at_every_pair(
    target: list[int | None],
    known: list[int | None],
    claimed: list[tuple[int, int, float]],
    threshold: float,
) -> None:
    """Who is who, counts, rates and ties by a plain reading: two rows are one person if they hold the same name."""

    def is_true(v: int, w: int) -> bool:
        return v < len(target) and w < len(known) and target[v] is not None and target[v] == known[w]

    both = {(v, w) for v in range(len(target)) for w in range(len(known)) if is_true(v, w)}
    truth = Truth.of_people(target, known)
    assert sorted(map(tuple, truth.pairs.tolist())) == sorted(both)
    assert len(truth) == len(both)
    rows = np.array([v for v, _, _ in claimed], np.int32), np.array([w for _, w, _ in claimed], np.int32)
    ties = (np.column_stack(rows).astype(np.int32).reshape(-1, 2),)
    claims = dq.Claims(
        "test", *rows, probability=np.array([p for *_, p in claimed], float), threshold=threshold, ties=ties
    )
    found = judge(claims, truth)
    kept = [(v, w) for v, w, p in claimed if p > threshold]
    right = [pair for pair in kept if pair in both]
    assert (found.risk.tp, found.risk.fp) == (len(right), len(kept) - len(right))
    assert found.risk.fn == len(both) - len(right)
    assert [tuple(pair) for pair in found.correct.tolist()] == right
    assert [tuple(pair) for pair in found.wrong.tolist()] == [pair for pair in kept if pair not in both]
    assert found.weighed.tolist() == [(v, w) in both for v, w, _ in claimed]
    assert found.tied == (sum((v, w) in both for v, w, _ in claimed),)
    assert found.risk.precision == (len(right) / len(kept) if kept else None)
    assert found.risk.recall == (len(right) / len(both) if both else None)


def test_a_person_stands_in_a_file_once() -> None:
    """Otherwise nobody could say which of the two is meant."""
    with pytest.raises(dq.InputError, match="stands in rows 1 and 3 of the known file"):
        Truth.of_people(["a"], ["b", None, "b"])


def test_an_attack_that_needs_all_distances_refuses_large_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone it says so; among others it counts as work that was cut short, which is no sign of safety."""
    monkeypatch.setattr(ProfilesAttack, "most", (10, 9))
    target, known = dq.poets()
    with pytest.raises(TooLarge, match="10 records are too many for profiles, which needs all their distances"):
        dq.attack(target, known, by="profiles")
    pairs = candidates(target.labels, known.labels)
    attack = ProfilesAttack.build(dq.Knowledge(), dq.Search())
    (tried,) = act({"profiles": attack}, fetcher(target, known, lambda attack: pairs))
    assert tried.claims is not None
    assert tried.claims.cut.values["reason"].code == "too_many_records_for_attack"
