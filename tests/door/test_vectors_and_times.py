"""Vectors without a table, travel times with their unit, and names that are empty."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import refused
from conftest import Run
from disclique.masks.settings import parse_range

TIMES = np.array([[0, 30, 90], [30, 0, 75], [90, 75, 0]], dtype=float)
PEOPLE = pd.DataFrame({"id": ["a", "b", "c"], "sex": ["f", "m", "f"]})


def test_two_arrays_are_attacked_as_they_are(run: Run) -> None:
    """Rows are the records; the key of a release says who is who, without a table of ids."""
    vectors = np.random.default_rng(0).normal(size=(40, 8))
    np.save("known.npy", vectors)
    code, _, err = run(
        "mask", "known.npy", "--mask", "gaussian:sigma=0.1", "--as", "vectors", "--out", "r.csv", "--key", "k.csv"
    )
    assert code == 0, err
    code, _, err = run("attack", "r_vectors.npy", "known.npy", "--key", "k.csv", "--out", "m.csv", "--json", "r.json")
    assert code == 0, err
    found = pd.read_csv("m.csv").query("attack == 'profiles'")
    true = dict(pd.read_csv("k.csv")[["released_row", "file_row"]].to_numpy().tolist())
    assert dict(found[["target_row", "known_row"]].to_numpy().tolist()) == true
    assert json.loads(Path("r.json").read_text())["attacks"][0]["recall"] == 1.0
    code, out, err = run("attack", "r_vectors.npy", "known.npy", "--attack", "profiles")
    assert (code, len(out.splitlines())) == (0, 41), err

    file = dq.read("known.npy")
    assert (len(file), file.ids[:2], file.distances.kind) == (40, (1, 2), "vectors")
    assert np.allclose(
        file.distances.block(np.array([3], np.int32), np.array([7], np.int32)), np.linalg.norm(vectors[3] - vectors[7])
    )
    with refused("no_id_column"):
        dq.read("known.npy", id="who")


@pytest.mark.parametrize(
    ("unit", "minutes"), [("min", 1.0), ("minutes", 1.0), ("h", 60.0), ("hours", 60.0), ("s", 1 / 60)]
)
def test_travel_times_have_a_unit(unit: str, minutes: float) -> None:
    """They are kept in minutes, and a mask may say its dial in any of them."""
    file = dq.microdata(PEOPLE, ["sex"], distances=TIMES / minutes, unit=unit, id="id")
    assert file.distances.unit == "min"
    assert np.allclose(file.distances.values, TIMES)
    for spec in ("round:to=60min", "round:to=1h", "round:to=3600s", "round:to=60"):
        rounded = dq.mask(file, spec, seed=1).distances.values
        assert sorted(rounded[np.triu_indices(3, 1)]) == [0.0, 60.0, 120.0], spec  # halves to the even one
    with pytest.raises(dq.InputError, match="no time"):
        dq.mask(file, "round:to=5km", seed=1)


def test_times_are_not_compared_with_what_is_none() -> None:
    """Beside kilometres, plain numbers and unsaid ones they would agree with nothing, or by chance: that looks safe."""
    times = dq.microdata(PEOPLE, ["sex"], distances=TIMES, unit="min", id="id")
    hours = dq.microdata(PEOPLE, ["sex"], distances=TIMES / 60, unit="h", id="id")
    assert dq.attack(times, hours, agreement=dq.Within("2min"), truth="id").risk.recall == 1.0
    for unit, code in (
        ("km", "no_length_beside_km"),
        ("none", "unit_not_said_beside_times"),
        (None, "unit_not_said_beside_times"),
    ):
        other = dq.microdata(PEOPLE, ["sex"], distances=TIMES, unit=unit, id="id")
        for files in ((times, other), (other, times)):
            with refused(code):
                dq.attack(*files, agreement=dq.Within(2))
    with pytest.raises(dq.InputError, match="not a length"):
        dq.mask(dq.microdata(PEOPLE, distances=TIMES, unit="km"), "round:to=5min", seed=1)
    with refused("coordinates_are_no_times"):
        dq.microdata(pd.DataFrame({"x": [0, 1], "y": [1, 2]}), coordinates=["x", "y"], metric="euclidean", unit="min")


def test_a_range_of_minutes_and_hours_is_one_range() -> None:
    masks = [setting.mask for setting in parse_range("round:to=30min..2h", 3).settings]
    assert masks[0].to.minutes == 30
    assert masks[-1].to.minutes == pytest.approx(120)


def test_times_are_shown_with_their_unit(run: Run) -> None:
    PEOPLE.to_csv("p.csv", index=False)
    np.savetxt("d.csv", TIMES, delimiter=",")
    code, _, err = run(
        "mask",
        "p.csv",
        "--id",
        "id",
        "--label",
        "sex",
        "--distances",
        "d.csv",
        "--unit",
        "minutes",
        "--mask",
        "round:to=5min",
        "--out",
        "r.csv",
    )
    assert code == 0, err
    assert "median 75 min" in err
    assert "distances in minutes" in err
    assert json.loads(Path("r_about.json").read_text())["unit of distances"] == "min"


def test_an_empty_name_is_left_out_and_counted(run: Run) -> None:
    """The others are read as if it were not there; rows keep their number, and the look at the input says how many."""
    people = pd.DataFrame({"name": ["anna meier", "", None, "bert kohl", "carla fuchs"], "sex": list("ffmmf")})
    made = dq.microdata(people, ["sex"], text="name")
    assert (made.ids, made.distances.strings) == ((1, 4, 5), ("anna meier", "bert kohl", "carla fuchs"))
    assert list(made.labels["sex"]) == ["f", "m", "f"]
    remark = next(one for one in dq.inspect(made).remarks if one.message.code == "records_without_text")
    assert remark.message.values["count"] == 2
    people.assign(id=range(5)).to_csv("p.csv", index=False)
    assert dq.read("p.csv", text="name", id="id").ids == (0, 3, 4)
    quick = ("--repetitions", "1", "--attack", "labels", "--no-sensitivity", "--person-trials", "1", "--yes")
    code, _, err = run("audit", "p.csv", "--id", "id", "--text", "name", "--mask", "none", *quick, "--out", "a")
    assert code == 0, err
    assert "2 records have no text" in err
    with refused("text_missing"):
        dq.microdata(people.assign(name=""), text="name")
