"""One table of options: whatever follows from a row says the same at every door."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import disclique as dq
from disclique.audits.from_options import read_plan
from disclique.audits.plan import write_call
from disclique.cli import app
from disclique.errors import InputError
from disclique.options.attacks import StudyOptions
from disclique.options.audits import AUDIT_ROWS, PLAN_ROWS, SNOOPER_ROWS, AuditOptions
from disclique.options.files import FileOptions
from disclique.options.table import LINES, NUMBER, SWITCH, WHOLE, differing, rows_of, write_toml

PLANNED = [*PLAN_ROWS.values(), *SNOOPER_ROWS.values()]
OTHER = {  # a value that is not the default, as it is said at a door
    "mask": ["gaussian:sigma=1km", "affine"],
    "scenario": "marketer",
    "missing": "never",
    "utility": "spearman",
    "attack": ["labels"],
    "generalise": ["drop:sex"],
    "others": "germany",
    "known_label": ["sex"],
    "coordinate_error": "100m",
    "overlap": 0.25,
    "label_error": 0.125,
    "sampling_fraction": 0.0625,
    "max_risk": 0.5,
    "max_risk_person": 0.75,
    "max_inference": 0.875,
    "alpha": 0.25,
}


def another(name: str) -> Any:
    """A value of an option that is not its default."""
    row = AUDIT_ROWS[name]
    if name in OTHER:
        return OTHER[name]
    return not row.default if row.kind == SWITCH else (row.default or 0) + 3


def all_said() -> dict[str, Any]:
    """Every option of plan and snooper, each otherwise than by default."""
    return {row.door or row.name: another(row.door or row.name) for row in PLANNED}


def test_what_is_not_said_is_the_default_of_the_plan() -> None:
    made = read_plan(AuditOptions(**{"mask": ["affine"]}).filled())
    assert made == dq.Plan(("affine",))
    assert differing(made) == {"masks": ("affine",)}


def test_a_file_says_what_the_command_line_says(tmp_path: Path) -> None:
    """Every option by TOML, and every option given: one plan, in which nothing is as by default."""
    path = tmp_path / "a.toml"
    path.write_text(write_toml(all_said()), encoding="utf-8")
    given_here, written = AuditOptions(**all_said()).filled(), AuditOptions().filled(path)
    assert read_plan(given_here) == read_plan(written)
    plan = read_plan(given_here)
    assert set(differing(plan)) == set(PLAN_ROWS)
    assert set(differing(plan.snooper)) == set(SNOOPER_ROWS)
    assert {name: getattr(plan.facts, name) for name in PLAN_ROWS if name != "attacks"} == {
        name: getattr(plan, name) for name in PLAN_ROWS if name != "attacks"
    }
    assert all(f"{name}=" in write_call(plan) for name in {*PLAN_ROWS, *SNOOPER_ROWS} - {"masks"})


@pytest.mark.parametrize("name", [row.door or row.name for row in PLANNED])
def test_only_what_changes_records_changes_the_digest(name: str) -> None:
    beside = {"mask": ["affine"], "max_risk": 0.9, "overlap": 0.5}
    before = read_plan(AuditOptions(**beside).filled())
    after = read_plan(AuditOptions(**(beside | {name: another(name)})).filled())
    assert (before.digest == after.digest) == (not AUDIT_ROWS[name].records)


@pytest.mark.parametrize("row", [row for row in PLANNED if row.bounds is not None], ids=lambda row: row.name)
def test_bounds_are_those_of_the_row(row: Any) -> None:
    """What lies at an end is refused exactly if it is excluded; so are truth values and texts."""
    ends = [(row.bounds.low, row.bounds.above, -1)]
    ends += [(row.bounds.high, row.bounds.below, 1)] if row.bounds.high < float("inf") else []
    for end, excluded, outwards in ends:
        value = int(end) if row.kind == WHOLE else float(end)
        if excluded:
            with pytest.raises(InputError):
                row.check(value)
        else:
            row.check(value)
        with pytest.raises(InputError) as refused:
            row.check(value + outwards)
        assert refused.value.message.code == "argument_is_not"
    for wrong in (True, "1", None if row.default is not None else "x"):
        with pytest.raises(InputError):
            row.check(wrong)
    if row.kind == WHOLE:
        with pytest.raises(InputError):
            row.check(row.bounds.low + 0.5)


def test_every_row_is_an_option_of_its_command() -> None:
    group: Any = typer.main.get_command(app)
    for command, kind in (("audit", AuditOptions), ("mask", FileOptions), ("study", StudyOptions)):
        shown = {parameter.name: parameter for parameter in group.commands[command].params}
        for name, row in rows_of(kind).items():
            assert f"--{name.replace('_', '-')}" in shown[name].opts
            assert shown[name].help == row.help
            assert shown[name].multiple == (row.kind == LINES)


def test_an_unknown_option_in_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("max-rsk = 0.1\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        AuditOptions().filled(path)
    assert refused.value.message.code == "unknown_option_in_file"
    assert refused.value.message.values["option"] == "max-rsk"


@pytest.mark.parametrize(("text", "read"), [('"7"', 7), ("7", 7), ("7.0", 7)])
def test_a_number_in_a_file_may_be_a_text_and_is_never_altered(tmp_path: Path, text: str, read: int) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f'mask = ["affine"]\nrepetitions = {text}\n', encoding="utf-8")
    assert read_plan(AuditOptions().filled(path)).repetitions == read
    path.write_text('mask = ["affine"]\nrepetitions = 7.5\n', encoding="utf-8")
    with pytest.raises(InputError):
        read_plan(AuditOptions().filled(path))


VALUES = st.one_of(
    st.booleans(),
    st.integers(-(10**15), 10**15),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,9}", fullmatch=True), VALUES))
def test_what_is_written_as_toml_is_read_back(said: dict[str, Any]) -> None:
    found = tomllib.loads(write_toml(said, {"decision": said}))
    names = {name.replace("_", "-"): value for name, value in said.items()}
    assert {name: found[name] for name in names if name != "decision"} == {
        name: value for name, value in names.items() if name != "decision"
    }
    assert found["decision"] == said


def test_numbers_are_read_of_texts() -> None:
    for row in PLANNED:
        if row.kind in (NUMBER, WHOLE):
            assert row.to_python("3") == 3
            assert row.to_python(None) == row.default
