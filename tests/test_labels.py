"""Labels: equal values are equal whatever their type, and the candidate rule is what a person would write down."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import disclique as dq
from disclique.generalise import century, parse_generaliser
from disclique.labels import Exact, candidates, canonical, canonical_labels


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
    """With an error rate every pair is a candidate, and unequal labels speak against it."""
    table = canonical_labels(pd.DataFrame({"x": ["a", "b", "c"]}), ["x"])
    found = candidates(table, table, comparators={"x": Exact(error=0.1)})
    assert len(found.relation) == 9
    equal = found.relation[:, 0] == found.relation[:, 1]
    assert np.allclose(found.evidence[equal], np.log(0.9))
    assert np.allclose(found.evidence[~equal], np.log(0.05))


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
