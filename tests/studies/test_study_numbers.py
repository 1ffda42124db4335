"""Studies of files with numbers: what is done to them is part of the mask, and what they give away is measured."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import refused, rng
from conftest import Run
from disclique.runs import Unit
from disclique.studies import StudyDraws, define_study, study


@pytest.fixture(autouse=True)
def people(tmp_path: Path) -> None:
    """Put a file of people into the folder."""
    n, chance = 400, rng(2)
    pd.DataFrame(
        {
            "sex": chance.choice(["f", "m"], n),
            "km": np.round(chance.gamma(2, 2, n), 3),
            "yob": chance.integers(1930, 2000, n),
            "name": [f"{a}{b} person" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"],
        }
    ).to_csv(tmp_path / "people.csv", index=False)


OF_FILE = {"people": "people.csv", "label": ["sex"], "number": ["km:km", "yob:none"], "n": [80, 80], "common": 40}


def test_coarser_numbers_find_fewer(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without distances the attack by numbers finds everybody by exact ones, and ever fewer by coarser ones."""
    monkeypatch.chdir(tmp_path)
    masks = ["none | km=round:1m", "none | km=round:1km | yob=round:10", "none | km=gaussian:2km | drop:yob"]
    work = define_study({**OF_FILE, "mask": masks, "attack": ["numbers"], "alpha": [0.5], "repetitions": 2, "seed": 3})
    assert define_study(work.to_dict()) == work
    found = study(work).records
    assert found["mask"].drop_duplicates().tolist() == list(work.grid.masks)
    right = found.groupby("mask", sort=False)["tp_mean"].mean() / 40
    assert right.iloc[0] == 1
    assert right.iloc[0] > right.iloc[1] > right.iloc[2]
    draws = StudyDraws(work)
    for repetition in range(2):
        made, drawn = draws.draw(Unit(work.grid.settings[1], repetition)), draws.draw_people()
        coarse = [
            frame.assign(km=np.floor(frame["km"].astype(float) + 0.5), yob=(frame["yob"].astype(int) + 5) // 10)
            for frame in (drawn.target, drawn.known)
        ]
        fits = coarse[0].merge(coarse[1], on=["sex", "km", "yob"])
        assert made.candidates.count == len(fits)


def test_numbers_beside_text_and_alpha(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The clique takes pairs whose numbers agree with probability α: with numbers its graph is smaller."""
    monkeypatch.chdir(tmp_path)
    asked = {**OF_FILE, "text": ["name"], "n": [30, 30], "common": 10, "mask": ["round:to=0.1"], "alpha": [0.5]}
    asked |= {"repetitions": 1, "attack": ["clique", "numbers"]}
    with_numbers = study(define_study({**asked, "mask": ["round:to=0.1 | km=laplace:500m"]})).records
    without = study(define_study({**{k: v for k, v in asked.items() if k != "number"}, "attack": ["clique"]})).records
    clique = with_numbers[with_numbers["attack"] == "clique"]
    assert 0 < clique["vertices"].iloc[0] < without["vertices"].iloc[0]


def test_a_range_of_a_number_is_an_axis() -> None:
    """A range stands for a few settings."""
    work = define_study({**OF_FILE, "mask": "none | km=round:100m..10km", "attack": "numbers"})
    assert work.grid.masks[0] == "none | km=round:100m"
    assert work.grid.masks[-1] == "none | km=round:10000m"
    assert len(work.grid.masks) == 5


def test_what_does_not_fit_is_said_before_the_study(run: Run, tmp_path: Path) -> None:
    """By the command too, in one sentence; nothing is begun."""
    ask = ("study", "--people", "people.csv", "--number", "km:km", "--n", "80", "--common", "40", "--out", "out")
    for more in (
        ("--mask", "gaussian:sigma=1km", "--attack", "numbers"),
        ("--mask", "none | yob=round:5", "--attack", "numbers"),
        ("--mask", "none | km=round:5", "--attack", "numbers"),
    ):
        code, _, err = run(*ask, "--alpha", "0.5", "--repetitions", "1", *more)
        assert code == 2, err
        assert not Path("out").exists(), err
    with refused("people_without_text"):
        define_study({"number": ["km:km"]})
    code, _, err = run(
        *ask,
        "--alpha",
        "0.5",
        "--repetitions",
        "2",
        "--mask",
        "none | km=round:1km",
        "--attack",
        "numbers",
        "--no-figures",
    )
    assert code == 0, err
    averages = pd.read_csv(Path("out") / "summary.csv")
    assert averages["mask"].tolist() == ["none | km=round:1km"]
    assert dq.load_study("out").records["tp"].notna().all()
