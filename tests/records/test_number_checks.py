"""The look at numbers: each remark on a file that has it, and on none of those that have not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import rng
from conftest import Run

N = 200
UNITS = {"km": "km", "income": "none"}
Change = Callable[[pd.DataFrame], object]


def table(seed: int = 1) -> pd.DataFrame:
    """Return people of a town with ways to the metre and incomes to the unit: nothing is odd about them."""
    chance = rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(N)],
            "sex": chance.choice(["f", "m"], N),
            "lon": chance.uniform(13.2, 13.6, N),
            "lat": chance.uniform(52.4, 52.6, N),
            "km": np.round(chance.gamma(2, 2, N), 3),
            "income": np.round(chance.lognormal(10, 0.5, N)),
        }
    )


def people(frame: pd.DataFrame, units: dict[str, str] | None = None, **options: object) -> dq.Microdata:
    """Return them as microdata on a map."""
    options = {"coordinates": ["lon", "lat"], "ids": "id", "name": "people"} | options
    return dq.microdata(frame, ["sex"], numbers=units or UNITS, **options)  # type: ignore[arg-type]


def codes(found: dq.Inspection) -> set[str]:
    """Return the codes of the remarks."""
    return {remark.message.code for remark in found.remarks}


def test_numbers_that_are_in_order_are_described_without_a_remark() -> None:
    """How many there are and about their median, to two digits: nobody's number."""
    found = dq.inspect(people(table()))
    assert codes(found) == set()
    km, income = found.files[0].numbers
    assert (km.name, km.unit, km.values, km.missing) == ("km", "km", table()["km"].nunique(), 0)
    assert km.median == float(f"{table()['km'].median():.2g}")
    assert income.median == float(f"{table()['income'].median():.2g}")
    assert "numbers: km (" in str(found)


ODD: dict[str, tuple[Change, bool]] = {  # what is changed, and whether it can only be a mistake
    "number_always_empty": (lambda t: {"income": np.nan}, True),
    "number_often_empty": (lambda t: {"income": t["income"].where(t.index % 10 > 0)}, False),
    "number_of_one_value": (lambda t: {"income": 7}, False),
    "number_looks_like_code": (lambda t: {"income": (t["sex"] == "f") + 1}, False),
    "number_looks_like_id": (lambda t: {"income": np.arange(N) + 1000}, True),
    "number_rounded_already": (lambda t: {"km": np.round(t["km"] * 2) / 2}, False),
    "number_finer_than_metre": (lambda t: {"km": t["km"] + np.linspace(0, 1e-3, N)}, False),
    "number_of_many_decimals": (lambda t: {"income": t["income"] / 7}, False),
    "number_negative_length": (lambda t: {"km": t["km"].where(t.index % 50 > 0, -9)}, False),
    "number_stands_for_missing": (lambda t: {"income": t["income"].where(t.index % 20 > 0, 999_999)}, False),
    "number_longer_than_earth": (lambda t: {"km": t["km"].where(t.index % 50 > 0, 30_000)}, True),
    "numbers_longer_than_extent": (lambda t: {"km": np.round(t["km"] * 100.37 + 1, 3)}, False),
    "some_numbers_longer_than_extent": (lambda t: {"km": t["km"].where(t.index % 50 > 0, 999.9)}, False),
}


@pytest.mark.parametrize("code", ODD)
def test_what_is_odd_about_a_column_is_remarked(code: str) -> None:
    """Each is seen by its code, and accepted by its name; what can only be a mistake ends a run."""
    change, mistake = ODD[code]
    found = dq.inspect(people(table().assign(**change(table()))))  # type: ignore[arg-type]
    assert codes(found) == {code}
    remark = found.remarks[0]
    assert remark.mistake is mistake
    if mistake:
        with pytest.raises(dq.InputError):
            found.check()
    assert found.check(accept=[remark.name]).accepted == (remark.name,)


@pytest.mark.parametrize(
    ("values", "unit", "step"),
    [
        (np.round, "km", "1 km"),
        (lambda km: np.round(km * 10) * 100, "m", "100 m"),
        (lambda km: np.round(km * 1000 / 50) * 50, "m", "50 m"),
        (lambda km: np.round(km * 10_000 / 500) * 500, "none", "500"),
    ],
)
def test_it_is_said_to_what_numbers_were_rounded(values: Callable[[object], object], unit: str, step: str) -> None:
    """The largest step of which most numbers are multiples."""
    frame = table().assign(x=values(table()["km"]))
    remark = dq.inspect(people(frame, {"x": unit})).remarks[0].message
    assert (remark.code, remark.values["step"]) == ("number_rounded_already", step)


def test_whole_years_and_few_records_are_left_in_peace() -> None:
    """A year of birth is no rounded number and no id; of a dozen people nothing is said."""
    frame = table().assign(yob=1930 + rng(4).integers(0, 70, N))
    assert codes(dq.inspect(people(frame, {"yob": "none"}))) == set()
    few = frame.head(12).assign(k=range(12))
    assert "number_looks_like_id" not in codes(dq.inspect(people(few, {"k": "none"})))


def test_metres_beside_kilometres_are_a_mistake() -> None:
    """The known file has the same ways in metres, and nobody said it; said so, all is well."""
    mine, theirs = people(table()), table(2).assign(km=lambda t: t["km"] * 1000)
    wrong = dq.inspect(mine, people(theirs, name="known"))
    assert codes(wrong) == {"number_in_another_unit", "numbers_longer_than_extent", "number_rounded_already"}
    assert [one.message.code for one in wrong.mistakes] == ["number_in_another_unit"]
    assert codes(dq.inspect(mine, people(theirs, {"km": "m", "income": "none"}, name="known"))) == set()


def test_numbers_of_another_size_or_of_other_people_are_likely_wrong() -> None:
    """Incomes by the week beside those of a year; the same people with somebody else's numbers."""
    weekly = people(table(2).assign(income=lambda t: np.round(t["income"] / 52)), name="known")
    found = dq.inspect(people(table()), weekly)
    assert codes(found) == {"number_medians_differ"}
    assert found.unaccepted
    mixed = people(table().assign(income=lambda t: rng(3).permutation(t["income"])), name="known")
    assert codes(dq.inspect(people(table()), mixed, same_ids=True)) == {"people_have_other_numbers"}
    assert codes(dq.inspect(people(table()), people(table(), name="known"), same_ids=True)) == set()


def test_a_file_without_distances_is_called_so(run: Run, tmp_path: Path) -> None:
    """It has no crowd at one place, and an audit ends with a mistake that nobody accepted."""
    look = dq.inspect(people(table(), coordinates=None)).files[0]
    assert (look.kind, look.crowd) == ("nothing", 1)
    table().assign(k=range(N)).to_csv(tmp_path / "f.csv", index=False)
    ask = ("mask", "f.csv", "--label", "sex", "--number", "k:none", "--mask", "none", "--out", "r.csv")
    code, _, err = run(*ask)
    assert code == 2
    assert "number-looks-like-id" in err
    assert not Path("r.csv").exists()
    assert run(*ask, "--accept", "number-looks-like-id")[0] == 0
