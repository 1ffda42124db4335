"""A limit of 0.09 is meant for the most exposed person where it comes from: an audit that asks less says so."""

import pytest

import disclique as dq

PEOPLE = dq.microdata(dq.survey().iloc[:30], ["sex"], coordinates=["lon", "lat"], id="id")
CODE = "limit_of_the_most_exposed"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_risk": 0.09}, True),
        ({"max_risk": 1 / 11}, True),
        ({"max_risk": 0.09, "max_risk_person": 0.09}, False),
        ({"max_risk": 0.1}, False),
        ({"max_risk": 0.05}, False),
        ({}, False),
    ],
)
def test_a_limit_that_is_meant_for_everybody_is_said_to_be(limits: dict[str, float], said: bool) -> None:
    found = dq.audit(PEOPLE, "affine", attack="labels", repetitions=1, person_trials=2, sensitivity=False, **limits)
    assert (CODE in {one.code for one in found.verdict.cautions}) == said


def test_the_caution_offers_the_option() -> None:
    found = dq.audit(
        PEOPLE, "affine", attack="labels", repetitions=1, person_trials=2, sensitivity=False, max_risk=0.09
    )
    caution = next(one for one in found.verdict.cautions if one.code == CODE)
    assert "--max-risk-person 0.09" in str(caution)
