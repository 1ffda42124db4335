"""Labels: equal values are equal whatever their type, and the candidate rule is what a person would write down."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from disclique.records.coarsening import century, parse_generaliser
from disclique.records.labels import (
    Exact,
    Hierarchy,
    Similar,
    Tolerance,
    candidates,
    canonical_labels,
    parse_comparator,
)
from disclique.values import canonical


@pytest.mark.parametrize(
    ("values", "same"),
    [
        ([14, 14.0, "14", "14.0", np.int8(14), np.float32(14)], True),
        (["f", "f "], False),
        (["007", "7"], False),
        (["f", "F"], False),
        ([True, "True", np.True_], True),
        ([0.1, "0.1"], True),
        ([12345678901234567890, "12345678901234567890"], True),
        ([12345678901234567890, 12345678901234567891], False),
        ([-1, "-1"], True),
    ],
)
def test_equal_values_are_equal_whatever_their_type(values: list[object], same: bool) -> None:
    """One canonical value for one meaning."""
    assert (len({canonical(v) for v in values}) == 1) == same


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, "", np.float64("nan")])
def test_missing_values_are_none(nothing: object) -> None:
    """Every way to write a missing value is one."""
    assert canonical(nothing) is None


@given(st.one_of(st.integers(), st.floats(allow_nan=False), st.text(), st.booleans()))
def test_canonical_is_idempotent(value: object) -> None:
    """A canonical value is its own canonical value."""
    assert canonical(canonical(value)) == canonical(value)


def brute(target: pd.DataFrame, known: pd.DataFrame, missing: str) -> set[tuple[int, int]]:
    """Pairs of rows that may match, one by one."""

    def meet(a: object, b: object) -> bool:
        if a is None or b is None:
            return missing == "any"
        return a == b

    rows = itertools.product(range(len(target)), range(len(known)))
    return {(v, w) for v, w in rows if all(meet(a, b) for a, b in zip(target.iloc[v], known.iloc[w], strict=True))}


@pytest.mark.parametrize("missing", ["never", "any"])
def test_candidates_equal_the_pairwise_rule(missing: str) -> None:
    """100 random pairs of label tables with missing values."""
    rng = np.random.default_rng(8)
    for _ in range(100):
        tables = []
        for _ in range(2):
            n = int(rng.integers(1, 12))
            raw = pd.DataFrame(rng.choice(["a", "b", 1, 1.0, "1", None], (n, 2)), columns=["x", "y"])
            tables.append(canonical_labels(raw, ["x", "y"]))
        found = candidates(*tables, missing=missing)
        pairs = {
            (int(v), int(w))
            for a, b in found.relation
            for v in np.flatnonzero(found.target_class == a)
            for w in np.flatnonzero(found.known_class == b)
        }
        assert pairs == brute(*tables, missing)


def test_error_rates_admit_and_weigh_unequal_labels() -> None:
    """With an error rate every pair is a candidate; the evidence is Bayes' rule with the shares of the labels."""
    table = canonical_labels(pd.DataFrame({"x": ["a", "b", "c"]}), ["x"])
    found = candidates(table, table, comparators={"x": Exact(error=0.1)})
    assert len(found.relation) == 9
    equal = found.relation[:, 0] == found.relation[:, 1]
    assert np.allclose(found.evidence[equal], np.log(0.9 * 3))
    assert np.allclose(found.evidence[~equal], np.log(0.05 * 3))


def test_numbers_within_a_tolerance_are_candidates() -> None:
    """An age that is off by one year still matches; text never does."""
    left = canonical_labels(pd.DataFrame({"age": [30, 31, "old"]}), ["age"])
    right = canonical_labels(pd.DataFrame({"age": [31, 33]}), ["age"])
    found = candidates(left, right, comparators={"age": Tolerance(1)})
    assert found.relation.tolist() == [[0, 0], [1, 0]]


def test_similar_words_are_candidates() -> None:
    """A misspelt name matches, another one does not; the similarity is rapidfuzz's."""
    left = canonical_labels(pd.DataFrame({"name": ["Mueller", "Schmidt"]}), ["name"])
    right = canonical_labels(pd.DataFrame({"name": ["Müller", "Meier", "Schmitt"]}), ["name"])
    found = candidates(left, right, comparators={"name": Similar(0.75)})
    assert found.relation.tolist() == [[0, 0], [1, 2]]


def test_hierarchies_match_a_value_with_its_generalisation() -> None:
    """A released region matches every known town in it."""
    tree = Hierarchy({"Essen": "NRW", "Köln": "NRW", "NRW": "DE", "Mainz": "RLP", "RLP": "DE"})
    left = canonical_labels(pd.DataFrame({"place": ["NRW", "DE", "Mainz"]}), ["place"])
    right = canonical_labels(pd.DataFrame({"place": ["Essen", "Mainz"]}), ["place"])
    found = candidates(left, right, comparators={"place": tree})
    assert found.relation.tolist() == [[0, 0], [1, 0], [1, 1], [2, 1]]
    with pytest.raises(dq.InputError, match="circle"):
        Hierarchy({"a": "b", "b": "a"})


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ("age=tolerance:2", ("age", Tolerance(2))),
        ("age=tolerance:2:0.05", ("age", Tolerance(2, 0.05))),
        ("name=similar:0.85", ("name", Similar(0.85))),
        ("sex=exact:0.01", ("sex", Exact(0.01))),
    ],
)
def test_comparators_from_text(spec: str, made: object) -> None:
    """The command line's form."""
    assert parse_comparator(spec) == made


@pytest.mark.parametrize(
    "spec", ["", "age", "age=near:1", "age=tolerance:-1", "age=similar:2", "sex=exact:1", "x=hierarchy:no.csv"]
)
def test_wrong_comparators_are_refused(spec: str) -> None:
    """One sentence."""
    with pytest.raises(dq.InputError):
        parse_comparator(spec)


@settings(max_examples=50, deadline=None)
@given(error=st.floats(0, 0.5), values=st.lists(st.integers(0, 9), min_size=2, max_size=8, unique=True))
def test_weights_are_probabilities(error: float, values: list[int]) -> None:
    """Over all target values they sum to one, whatever the known value."""
    for rule in (Exact(error), Tolerance(2, error)):
        total = np.exp(rule.weight(values, values)).sum(axis=0)
        assert ((total <= 1 + 1e-9) & (total >= 1 - error - 1e-9)).all()


def test_paper_years_fall_into_the_printed_centuries() -> None:
    """The table of poets, and Ovid."""
    years = [1313, 1547, 1749, 1622, 1265, 1759, 1637, 1564, 1908, 1905, -43, 100, 101, 2000]
    assert [century(y) for y in years] == [14, 16, 18, 17, 13, 18, 17, 16, 20, 20, -1, 1, 2, 20]


@pytest.mark.parametrize(
    ("spec", "value", "made"),
    [
        ("c=century:v", "1547", 16),
        ("c=decade:v", 1547, 1540),
        ("c=width:v:1000", 2350, 2000),
        ("c=classes:v:18,65", 17, "[,18)"),
        ("c=classes:v:18,65", 18, "[18,65)"),
        ("c=classes:v:18,65", 90.5, "[65,)"),
        ("c=prefix:v:2", "45127", "45"),
        ("c=century:v", None, None),
    ],
)
def test_generalisers(spec: str, value: object, made: object) -> None:
    """Each rule on one value; a missing one stays missing."""
    assert parse_generaliser(spec).apply(pd.DataFrame({"v": [value]}, dtype=object))["c"].iloc[0] == made


@pytest.mark.parametrize(
    "spec", ["", "c", "c=", "c=century", "c=width:v:0", "c=width:v:x", "c=prefix:v:-1", "c=magic:v"]
)
def test_wrong_generalisers_are_refused(spec: str) -> None:
    """One sentence with the rules that exist."""
    with pytest.raises(dq.InputError, match="generaliser"):
        parse_generaliser(spec)


def test_generaliser_names_the_cell_it_cannot_take() -> None:
    """File, row, column and value."""
    with pytest.raises(dq.InputError, match=r"people: row 2, column 'v' = 'old'"):
        parse_generaliser("c=century:v").apply(pd.DataFrame({"v": [1900, "old"]}), "people")
