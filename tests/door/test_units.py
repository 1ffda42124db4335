"""Quantities read and print as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disclique.errors import InputError
from disclique.units import LENGTH_UNITS, PLACE_UNITS, RATE_UNITS, Quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("500m", 500, "m"),
        ("5km", 5, "km"),
        ("0.005deg", 0.005, "deg"),
        (" 1.5 km ", 1.5, "km"),
        ("0.1°", 0.1, "deg"),
        ("0.1", 0.1, ""),
        ("1e-3KM", 1e-3, "km"),
        (7, 7, ""),
        (".5m", 0.5, "m"),
    ],
)
def test_reads(text, value, unit):
    assert parse_quantity(text) == Quantity(value, unit)


def test_rates_and_kilometres():
    assert parse_quantity("2/km", units=RATE_UNITS).per_km == 2
    assert parse_quantity("0.002/m", units=RATE_UNITS).per_km == pytest.approx(2)
    assert parse_quantity("500m").km == 0.5
    with pytest.raises(InputError, match=r"0\.1deg: not a length"):
        _ = Quantity(0.1, "deg").km


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(PLACE_UNITS))
def test_prints_what_it_reads(value, unit):
    quantity = Quantity(value, unit)
    assert parse_quantity(str(quantity)) == quantity


@pytest.mark.parametrize(
    ("text", "units", "says"),
    [
        ("fast", PLACE_UNITS, r"'fast' is not a number with a unit, such as 0\.005deg"),
        ("5 miles", PLACE_UNITS, "the unit 'miles' does not fit here; write one of deg, m, km or no unit"),
        ("5", ("m", "km"), "the unit is missing; write one of m, km"),
        ("5km", ("",), "a number without a unit is meant, not one in 'km'"),
        ("0.1deg", LENGTH_UNITS, "the unit 'deg' does not fit here"),
        ("1e999m", PLACE_UNITS, "finite"),
        (True, PLACE_UNITS, "not a number"),
        ("", PLACE_UNITS, "not a number"),
        ("nan", PLACE_UNITS, "not a number"),
    ],
)
def test_refuses(text, units, says):
    with pytest.raises(InputError, match=says):
        parse_quantity(text, units=units)
