"""A release says whether its setting was audited, and what came out: on the terminal and in the note beside it."""

import json
from pathlib import Path

import pytest

import disclique as dq
from conftest import Run

READ = ("--id", "id", "--label", "sex", "--coordinates", "lon,lat")
QUICK = ("--repetitions", "1", "--attack", "labels", "--no-sensitivity", "--person-trials", "1", "--yes", "--quiet")


@pytest.fixture
def survey(run: Run) -> Run:
    """Sixty people in a file of the present folder."""
    dq.survey().iloc[:60].to_csv("s.csv", index=False)
    return run


def test_a_setting_that_nobody_audited_is_said_to_be_so(survey: Run) -> None:
    code, _, err = survey("mask", "s.csv", *READ, "--mask", "gaussian:sigma=5km", "--out", "r.csv")
    assert code == 0
    assert err.splitlines()[-1].startswith("This setting was not audited")
    assert "This setting was not audited" in Path("r_about.txt").read_text()
    assert json.loads(Path("r_about.json").read_text())["audited"].startswith("This setting was not audited")


def test_a_mask_that_moves_all_alike_is_said_to_protect_nothing(survey: Run) -> None:
    """On the terminal and in the note, in the language of the note."""
    code, _, err = survey("mask", "s.csv", *READ, "--mask", "affine", "--out", "r.csv", "--language", "de")
    assert (code, "protects nothing" in err) == (0, True)
    note = Path("r_about.txt").read_text()
    assert "nichts ist geschützt" in note
    assert "nicht geprüft" in note


def test_an_audit_beside_the_file_speaks_for_its_settings_alone(survey: Run) -> None:
    """It is found by the hash of the file; other settings, other labels and a changed file were not audited."""
    masks = ("--mask", "gaussian:sigma=5km", "--mask", "none", "--max-risk", "0.09")
    assert survey("audit", "s.csv", *READ, *masks, *QUICK, "--out", "found")[0] in (3, 4)
    made = ("mask", "s.csv", "--out", "r.csv", "--force")
    code, _, err = survey(*made, *READ, "--mask", "gaussian:sigma=5km")
    assert (code, "NOT shown to keep the limit of 9" in err, "found/result.json" in err) == (0, True, True)
    assert "NOT shown to keep" in Path("r_about.txt").read_text()
    _, _, err = survey(*made, *READ, "--mask", "gaussian:sigma=6km")
    assert "This setting was not audited:" in err
    _, _, err = survey(*made, *READ, "--label", "age_class", "--mask", "gaussian:sigma=5km", "--audit", "found")
    assert "not audited for this file" in err
    dq.survey().iloc[:61].to_csv("s.csv", index=False)
    _, _, err = survey(*made, *READ, "--mask", "gaussian:sigma=5km")
    assert "This setting was not audited:" in err
    code, _, err = survey(*made, *READ, "--mask", "gaussian:sigma=5km", "--audit", "found")
    assert (code, "not of the files" in err) == (2, True)


def test_python_names_the_audit() -> None:
    """Without a limit the note has what was measured."""
    people = dq.microdata(dq.survey().iloc[:30], ["sex"], coordinates=["lon", "lat"], ids="id")
    found = dq.audit(people, "gaussian:sigma=5km", attacks="labels", repetitions=1, person_trials=1, sensitivity=False)
    made = dq.release(people, "gaussian:sigma=5km", audit=found).about.audited
    assert (made.code, made.values["value"]) == ("setting_audited_measured", found.settings[0].risk.value)
    assert dq.release(people, "gaussian:sigma=5km").about.audited.code == "setting_not_audited"
    other = dq.microdata(dq.survey().iloc[:30], ["age_class"], coordinates=["lon", "lat"], ids="id")
    assert dq.release(other, "gaussian:sigma=5km", audit=found).about.audited.code == "audit_of_another_file"
