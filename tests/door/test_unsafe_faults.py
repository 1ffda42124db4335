"""Faults that made data look safer than they are, each as somebody met it."""

import pytest

import disclique as dq
from disclique.messages import Message
from small_files import make_file


def test_a_marketer_who_knows_few_breaks_a_limit_above_the_overlap() -> None:
    """A rigid motion gives everybody away: one in ten of the people known is no protection for these."""
    asked = {"attacks": "labels", "repetitions": 2, "overlap": 0.1, "scenario": "marketer"}
    result = dq.audit(make_file(), "affine", max_risk=0.15, **asked)
    assert result.verdict.status != "meets"
    assert result.settings[0].oracle is not None
    assert result.settings[0].oracle.value == pytest.approx(1.0)


@pytest.mark.parametrize("limit", ["max_risk", "max_risk_person"])
def test_a_limit_that_no_release_could_break_is_refused(limit: str) -> None:
    """A share of one is kept by whatever is released: it limits nothing."""
    asked = {"max_risk": 0.5, limit: 1}
    with pytest.raises(dq.InputError) as caught:
        dq.audit(make_file(), "affine", attacks="labels", repetitions=1, **asked)
    assert caught.value.message.code == "argument_is_not"
    assert caught.value.message.values["wanted"] == Message("wanted_limit", low=0, high=1)
