"""What risk means: the prosecutor's, the journalist's and the marketer's, against a plain reading of each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from disclique.attacks.claims import make_claims
from disclique.audits import Audit, Snooper, run_audit
from disclique.audits.known_file import draw_known_file
from disclique.audits.yardsticks import count_hits, guess_by_labels, match_labels
from disclique.errors import InputError
from disclique.masks import parse_mask
from disclique.measures.risk import Hits, Truth, name_people, name_records
from disclique.messages import Message
from disclique.model import Candidates, Claims
from disclique.records.tables import microdata
from small_files import make_audit, make_plan, people


@st.composite
def linkages(draw: st.DrawFn) -> tuple[Claims, Truth, Candidates, tuple[tuple[int, int], ...]]:
    """Claims, a truth, labels and pairs known beforehand, all at random."""
    targets, knowns = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    cells = [(t, k) for t in range(targets) for k in range(knowns)]
    some = draw(st.lists(st.sampled_from(cells), unique=True))
    weights = draw(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.25, 0.6, 1.0]), min_size=len(some), max_size=len(some)))
    rows, columns = (np.array([pair[side] for pair in some], dtype=np.int32) for side in (0, 1))
    claims = make_claims((rows, columns, np.array(weights)), attack="mine", floor=0.0)
    many = draw(st.integers(0, min(targets, knowns)))
    left = draw(st.permutations(range(targets)))[:many]
    right = draw(st.permutations(range(knowns)))[:many]
    truth = Truth(np.array(sorted(zip(left, right, strict=True)), dtype=np.int64).reshape(-1, 2))
    classes = [
        np.array(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)), np.int32) for n in (targets, knowns)
    ]
    relation = sorted(draw(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)))))
    labels = Candidates(classes[0], classes[1], np.array(relation, np.int32).reshape(-1, 2))
    told = tuple(map(tuple, truth.pairs[: draw(st.integers(0, max(many - 1, 0)))].tolist()))
    return claims, truth, labels, told


def named(
    claims: Claims, asked: int, answer: int, side: int, labels: Candidates, told: tuple[tuple[int, int], ...]
) -> float:
    """The chance that one record is given the right partner, pair by pair."""
    taken = [{pair[0] for pair in told}, {pair[1] for pair in told}]
    odds: dict[int, float] = {}
    for t, k, p in zip(claims.target.tolist(), claims.known.tolist(), claims.probability.tolist(), strict=True):
        if (t, k)[side] == asked and p > 0 and t not in taken[0] and k not in taken[1]:
            odds[(t, k)[1 - side]] = p
    if odds:
        best = [other for other, p in odds.items() if p >= max(odds.values()) * (1 - 1e-12)]
        return (answer in best) / len(best)
    related = {tuple(pair) for pair in labels.relation.tolist()}
    classes = labels.target_class, labels.known_class
    fits = []
    for other in range(len(classes[1 - side])):
        pair = (asked, other) if side == 0 else (other, asked)
        if other not in taken[1 - side] and (int(classes[0][pair[0]]), int(classes[1][pair[1]])) in related:
            fits.append(other)
    return (answer in fits) / max(len(fits), 1)


@settings(max_examples=300, deadline=None)
@given(linkages())
def test_the_most_probable_one_is_named_and_ties_share_the_chance(
    made: tuple[Claims, Truth, Candidates, tuple[tuple[int, int], ...]],
) -> None:
    """Against a plain reading, with ties, missing labels, people known beforehand, and nobody named at all."""
    claims, truth, labels, told = made
    sought = truth.without([t for t, _ in told])
    records, persons = name_records(claims, sought, labels, told), name_people(claims, sought, labels, told)
    assert records.tolist() == pytest.approx([named(claims, k, t, 1, labels, told) for t, k in sought.pairs.tolist()])
    assert persons.tolist() == pytest.approx([named(claims, t, k, 0, labels, told) for t, k in sought.pairs.tolist()])


def test_guessing_is_in_the_scenario_asked_for() -> None:
    """Counted by hand on a drawn file: over released records for the prosecutor, over known ones for the marketer."""
    audit = make_audit(snooper=Snooper(overlap=0.5, size=90))
    known = draw_known_file(audit, 0)
    labels = match_labels(audit, known.released, known.data, parse_mask("none")).exact
    guess = guess_by_labels(known, labels)
    ours = [tuple(row) for row in known.released.labels.itertuples(index=False)]
    theirs = [tuple(row) for row in known.data.labels.itertuples(index=False)]
    pairs = known.truth.pairs.tolist()
    assert guess.prosecutor == pytest.approx(sum(1 / ours.count(theirs[k]) for _, k in pairs), abs=1e-5)
    assert guess.marketer == pytest.approx(sum(1 / theirs.count(ours[t]) for t, _ in pairs), abs=1e-5)
    unique = sum(ours.count(ours[t]) == 1 == theirs.count(ours[t]) for t, _ in pairs)
    assert guess.journalist == unique
    assert count_hits(None, known, labels).prosecutor == guess.prosecutor


def test_the_headline_is_the_prosecutors_and_never_below_guessing() -> None:
    """One release, three meanings; a release in which nothing can be found still has the risk of a guess."""
    found = {
        name: run_audit(
            make_audit("gaussian:sigma=15km", n=50, repetitions=1, scenario=name, attacks=("labels", "register"))
        ).settings[0]
        for name in ("prosecutor", "journalist", "marketer")
    }
    register = {name: next(a for a in setting.attacks if a.attack == "register") for name, setting in found.items()}
    assert found["prosecutor"].risk.value >= (register["prosecutor"].named.value or 0)
    assert found["journalist"].risk.value >= (register["journalist"].recall.value or 0)
    assert found["prosecutor"].risk.value > found["journalist"].risk.value
    hopeless = run_audit(
        make_audit("gaussian:sigma=900km", n=30, repetitions=1, attacks=("clique",), budget=1e-9)
    ).settings[0]
    assert hopeless.risk.value >= hopeless.guess > 0
    assert dq.audit(make_audit().target, "affine", repetitions=1, attacks="labels").plan.scenario == "prosecutor"
    with pytest.raises(InputError, match="choose one of prosecutor, journalist, marketer"):
        make_plan(scenario="nosy")


def test_an_empty_label_excludes_nobody_by_default() -> None:
    """Forty per cent of the ages empty on both sides: everybody is found behind a rigid motion, and it is said."""
    table = people(60)
    table.loc[np.random.default_rng(0).random(60) < 0.4, "age"] = None
    file = microdata(table, ["sex", "age"], coordinates=["lon", "lat"], ids="id", name="file.csv")
    asked = {"attacks": ("labels", "clique", "register"), "repetitions": 2, "thorough": True}
    result = run_audit(Audit(make_plan("affine", **asked), file))
    assert result.settings[0].risk.value == 1.0
    empty = int(table["age"].isna().sum())
    assert result.file.missing_labels == empty
    assert Message("empty_labels_match_anything", empty=empty, records=60) in result.limits
    strict = run_audit(Audit(make_plan("affine", missing="never", **asked), file))
    assert strict.settings[0].attacks[1].recall.value is not None
    assert strict.settings[0].attacks[1].recall.value < 0.7
    assert any(line.code == "empty_labels_match_nothing" for line in strict.limits)


def test_shares_are_of_whom_they_say() -> None:
    """Known people who took part, in every scenario: it helps no release that few are known."""
    hits = Hits(10, 5, 8)
    assert [hits.share(name, 20, 80) for name in ("prosecutor", "journalist", "marketer")] == [0.5, 0.25, 0.4]
    assert Hits().share("prosecutor", 0, 0) == 0.0
