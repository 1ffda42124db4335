"""Rows of codes that agree, held against the definition written as a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from disclique.records.code_joins import join_codes

CODES = st.tuples(st.integers(0, 6), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(-1, 2)),
        arrays(np.int64, (5, shape[1]), elements=st.integers(-1, 2)),
    )
)


@pytest.mark.parametrize("few", [0, 10**6])
@given(CODES, st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4))
def test_pairs_are_those_of_the_definition(
    few: int, sides: tuple[np.ndarray, np.ndarray], classes: set[tuple[int, int]]
) -> None:
    """However they are found: class by class as the relation says, and codes equal where none is missing."""
    own, theirs = sides
    relation = np.array(sorted(classes), dtype=np.int64).reshape(-1, 2)
    expected = [
        (i, j, k)
        for i, mine in enumerate(own)
        for j, other in enumerate(theirs)
        for k, (a, b) in enumerate(relation)
        if mine[0] == a and other[0] == b
        if all(x == y or x < 0 or y < 0 for x, y in zip(mine[1:], other[1:], strict=True))
    ]
    found = join_codes(own, theirs, relation, few=few)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected
