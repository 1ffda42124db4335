"""What is printed stays short: ten rows on a terminal, digits that mean something, and no flood beside a file."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
from rich.console import Console

import disclique as dq
from conftest import Run
from disclique.cli.screen import Screen


def write_people(count: int) -> None:
    """Two files of the same people, by their places."""
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"id": range(count), "lon": rng.uniform(8, 11, count), "lat": rng.uniform(49, 52, count)})
    people.to_csv("t.csv", index=False)
    people.to_csv("k.csv", index=False)


def test_matches_that_are_in_a_file_are_not_printed_too(run: Run) -> None:
    """The attack says in at most ten lines what it found; names of people are in the file alone."""
    write_people(30)
    question = ("attack", "t.csv", "k.csv", "--coordinates", "lon,lat", "--truth", "id", "--attack", "register")
    code, out, err = run(*question, "--out", "m.csv")
    assert (code, out, len(pd.read_csv("m.csv"))) == (0, "", 30)
    said = err[err.index("register:") :].splitlines()
    assert len(said) <= 10
    assert said[-1] == "matches: m.csv"
    code, out, _ = run(*question)  # a pipe carries all of them
    assert (code, len(out.splitlines())) == (0, 31)


def test_a_terminal_shows_ten_rows_and_says_where_the_rest_is() -> None:
    screen, drawn, said = Screen(), io.StringIO(), io.StringIO()
    screen.out = Console(file=drawn, force_terminal=True, width=100)
    screen.err = Console(file=said, width=100)
    screen.table(pd.DataFrame({"row": [f"row{k:02}" for k in range(25)]}), rest="all.csv")
    assert drawn.getvalue().count("row") == 11  # ten and the heading
    assert said.getvalue().strip() == "… and 15 more rows: all.csv"


def test_a_pipe_has_no_digits_that_a_sum_left(capsys) -> None:
    """Also in a column that has no number in some rows; whole numbers and the values themselves stay as they are."""
    frame = pd.DataFrame({"risk": [0.1 + 0.324, None], "rate": [0.7 + 0.1, 123456789.0], "big": [1234567.89, 0.0]})
    kept = frame.copy()
    Screen().table(frame.astype({"risk": object}))
    assert capsys.readouterr().out.splitlines()[1:] == ["0.424\t0.8\t1234567.9", "\t123456789.0\t0.0"]
    pd.testing.assert_frame_equal(frame, kept)


def test_many_records_that_are_alike_are_counted() -> None:
    """Twenty pairs of people at one place: three are named, the rest counted."""
    places = np.repeat(np.random.default_rng(1).uniform(size=(20, 2)) * 100, 2, axis=0)
    file = dq.microdata(pd.DataFrame(places, columns=["x", "y"]), coordinates=["x", "y"], metric="euclidean")
    found = dq.attack(file, file, by="register")
    said = [line for line in found.lines() if "told apart" in line]
    assert len(found.twins) == 20
    assert said == [
        "target records 1 and 2 cannot be told apart",
        "target records 3 and 4 cannot be told apart",
        "target records 5 and 6 cannot be told apart",
        "17 more groups of target records cannot be told apart",
    ]
    many = replace(found, twins=((*range(1, 41),),))
    assert [line for line in many.lines() if "told apart" in line] == [
        "target records 1, 2, 3, 4, 5 and 35 more cannot be told apart"
    ]
    assert many._repr_html_().count("<tr") <= 13
