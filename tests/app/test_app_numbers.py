"""Columns of numbers in the app: recognised, given a role and a unit, and released in the ways that the form offers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

from app_visitor import Page, Visitor
from disclique.app.number_lines import NumberLine, begin, read_lines, show_lines, split_parts
from disclique.app.roles import IN_KM, IN_M, PLAIN, Column, guess_roles
from disclique.audits.from_options import read_audit
from disclique.errors import InputError
from disclique.options.audits import AuditOptions
from disclique.options.table import read_toml


def town(size: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(1, size + 1),
            "sex": rng.choice(["f", "m"], size),
            "km_hospital": rng.gamma(2, 2, size).round(3),
            "dist_pharmacy": (1000 * rng.gamma(2, 0.3, size)).round(),
            "minutes_to_school": rng.integers(1, 40, size),
        }
    )


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("km_hospital", ("1.2", "3"), IN_KM),
        ("dist_km", ("1.2", "3"), IN_KM),
        ("m_to_road", ("120", "30.5"), IN_M),
        ("distance_to_school", ("1200", "830"), IN_M),
        ("Entfernung_Bahnhof", ("1.2", "8.3"), IN_KM),
        ("entfernungStadt", ("1.2", "8.3"), IN_KM),
        ("minutes_to_hospital", ("12", "8"), PLAIN),
        ("dist_change", ("-12", "8"), ""),
        ("district", ("12", "8"), "label"),
        ("distance_class", ("near", "far"), ""),
        ("min", ("12", "8"), ""),
    ],
)
def test_a_distance_to_a_place_is_recognised(name: str, values: tuple[str, ...], role: str) -> None:
    columns = [Column("person", ("a", "b"), 2, 0), Column(name, values, 2, 0)]
    assert next(guess.role for guess in guess_roles(columns) if guess.column == name) == role


LINES = (NumberLine("*", "100m", "2km"), NumberLine("km_a", "100m", "2km"), NumberLine("km_b", "50m", "1km"))


@pytest.mark.parametrize(
    "parts",
    [(), ("*=round:100m..2km",), ("*=round:100m", "drop:km_b"), ("km_a=classes:1km,5km", "km_b=equal:4")],
)
def test_lines_say_what_they_show(parts: tuple[str, ...]) -> None:
    fields, rest = show_lines(parts, LINES)
    assert not rest
    assert read_lines(fields, LINES) == parts
    masks = [" | ".join((mask, *parts)) for mask in ("gaussian:sigma=1km", "donut:min=1m,max=2m")]
    assert split_parts(masks, LINES) == (["gaussian:sigma=1km", "donut:min=1m,max=2m"], parts)


def test_what_no_line_can_show_stays_with_its_mask() -> None:
    for masks in (["none | km_a=swap:0.2"], ["none | km_a=round:1km", "affine"]):
        assert split_parts(masks, LINES) == (masks, ())
    for wrong in ({"number:*:how": "fold"}, {"number:*:how": "round"}, {"number:*:how": "round", "number:*:a": "1..2"}):
        with pytest.raises(InputError):
            read_lines(wrong, LINES)
    assert begin(LINES, alone=True) == ("*=round:100m..2km",)
    assert begin(LINES, alone=False) == ("*=round:100m",)


def asked(visitor: Visitor, table: pd.DataFrame) -> tuple[str, Page]:
    table.to_csv(visitor.site.places.start / "town.csv", index=False)
    at = visitor.open("town.csv")
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    answer = visitor.post(f"{at}/open", page.fields)
    assert answer.status_code == 303, Page(answer.text).alerts
    return at, Page(visitor.get(f"{at}/ask").text, "ask-form")


def test_a_file_without_distances_is_asked_about(visitor: Visitor, tmp_path: Path) -> None:
    at, page = asked(visitor, town())
    assert page.fields["mask"] == ["none"]
    assert page.fields["utility"] == "numbers"
    assert page.fields["number:km_hospital:how"] == "round"
    answer = visitor.post(f"{at}/ask", page.fields)
    assert answer.status_code == 303, Page(answer.text).alerts
    again = Page(visitor.get(f"{at}/ask").text, "ask-form")
    assert again.fields | {"folder": ""} == page.fields | {"folder": ""}
    toml = re.search(r'id="plan-toml"[^>]*>(.*?)</', visitor.get(f"{at}/ask").text, re.S)
    assert toml is not None
    (tmp_path / "plan.toml").write_text(toml[1].replace("&#34;", '"').replace("&#39;", "'"), encoding="utf-8")
    said = read_toml(tmp_path / "plan.toml")
    assert said["number"] == ["km_hospital:km", "dist_pharmacy:m", "minutes_to_school:none"]
    options = AuditOptions(**said).filled()
    audit = read_audit(visitor.site.places.start / "town.csv", options)
    audit.check_masks()
    assert audit.file_kind == "nothing"


def test_numbers_beside_places_go_with_every_mask(visitor: Visitor) -> None:
    rng = np.random.default_rng(1)
    table = town().assign(lon=rng.uniform(8, 9, 60), lat=rng.uniform(50, 51, 60)).drop(columns="minutes_to_school")
    at, page = asked(visitor, table)
    fields = page.fields | {"mask": ["gaussian", "donut"], "number:*:how": "round", "number:*:a": "500m"}
    answer = visitor.post(f"{at}/ask", fields)
    assert answer.status_code == 303, Page(answer.text).alerts
    text = visitor.get(f"{at}/ask").text
    assert text.count("| *=round:500m") >= 2
    again = Page(text, "ask-form")
    assert again.fields["number:*:how"] == "round"
    assert again.fields["number:*:a"] == "500m"
    two = fields | {"number:*:b": "2km"}  # a second range beside that of a mask
    assert Page(visitor.post(f"{at}/ask", two).text).alerts
