"""Which pairs labels allow: how many, which and how likely, against a plain look at every pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disclique.model import Candidates

classes = st.lists(st.integers(-1, 3), max_size=9)
relations = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=10)


def make(target: list[int], known: list[int], relation: set[tuple[int, int]]) -> tuple[Candidates, np.ndarray]:
    """Return candidates and the same as a truth table, pair by pair."""
    related = np.array(sorted(relation), np.int32).reshape(-1, 2)
    table = [[a >= 0 and b >= 0 and (a, b) in relation for b in known] for a in target]
    found = Candidates(np.array(target, np.int32), np.array(known, np.int32), related)
    return found, np.array(table, bool).reshape(len(target), len(known))


@settings(max_examples=200, deadline=None)
@given(target=classes, known=classes, relation=relations, order=st.randoms(use_true_random=False))
def test_candidates_equal_a_look_at_every_pair(target, known, relation, order) -> None:
    found, table = make(target, known, relation)
    rows, others = np.arange(len(target)), np.arange(len(known))
    assert found.sizes == table.shape
    assert found.count == table.sum()
    np.testing.assert_array_equal(found.fitting, table.sum(axis=1))
    np.testing.assert_array_equal(found.swapped.fitting, table.sum(axis=0))
    np.testing.assert_array_equal(found.allowed(rows[:, None], others[None, :]), table)
    np.testing.assert_array_equal(np.isfinite(found.log_odds(rows[:, None], others[None, :])), table)
    np.testing.assert_array_equal(np.column_stack(found.pairs()), np.argwhere(table))
    some = np.array(order.sample(rows.tolist(), len(rows) // 2), np.int64)
    listed = [(t, k) for t in some.tolist() for k in np.flatnonzero(table[t]).tolist()]
    assert list(zip(*(side.tolist() for side in found.pairs(some)), strict=True)) == listed
    alone = [(t, k) for t, k in np.argwhere(table).tolist() if table[t].sum() == table[:, k].sum() == 1]
    assert list(zip(*(side.tolist() for side in found.alone), strict=True)) == alone
    kept = np.array([order.random() < 0.5 for _ in known], bool)
    np.testing.assert_array_equal(found.keep_known(kept).fitting, (table & kept).sum(axis=1))


def test_label_odds_say_how_much_rarer_a_label_is_than_any() -> None:
    """Three labels seen 6, 3 and 1 times among 10: each counts half a time more; whoever stands for many counts so."""
    known = [0] * 6 + [1] * 3 + [2]
    found, _ = make([0, 1, 2], known, {(0, 0), (1, 1), (2, 2)})
    assert found.label_odds() == pytest.approx(-np.log(np.array([6.5, 3.5, 1.5]) / 11.5))
    assert found.log_odds([2, 2], [9, 0]) == pytest.approx([np.log(11.5 / 1.5), -np.inf])
    few, _ = make([0, 1, 2], [0, 1, 2], {(0, 0), (1, 1), (2, 2)})
    assert few.label_odds(np.array([6, 3, 1])) == pytest.approx(found.label_odds())
    one, _ = make([0, 0], [0] * 7, {(0, 0)})
    assert one.label_odds() == pytest.approx([0.0])  # a label that everybody has says nothing
    told = Candidates(one.target_class, one.known_class, one.relation, np.array([2.0]))
    assert told.log_odds(0, [3, 4]) == pytest.approx([2.0, 2.0])
