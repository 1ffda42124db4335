"""Studies: what they are, what a cell says, tables as in the paper, and the commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import SMALL, Run
from disclique.engine.product import product_graph
from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.options.table import read_toml
from disclique.runs import Processes, Unit
from disclique.studies import (
    Study,
    StudyDraws,
    StudyResult,
    UnitRunner,
    define_study,
    deviations,
    grid_table,
    summarise,
)
from disclique.studies.compare import compare, markdown, printed
from disclique.studies.summary import COLUMNS

# What a study is


def test_the_preset_is_the_papers_grid() -> None:
    study = define_study({"preset": "kroll2014"})
    grid = study.grid
    assert len(grid.masks) * len(grid.alphas) * grid.repetitions == 9000
    assert grid.masks[0] == "gaussian:sigma=0.005deg"
    assert grid.masks[-1] == "gaussian:sigma=0.05deg"
    assert grid.alphas == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert (study.people.n_target, study.people.n_known, study.people.common, study.pairs) == (500, 500, 50, 1000)
    made = StudyDraws(study).draw(Unit(grid.settings[0], 0))
    agreement = made.calibration.agreement(0.1)
    files = made.target.distances, made.known.distances
    assert 14_750 <= product_graph(*files, candidates=made.candidates, agreement=agreement).order <= 16_630


def test_options_toml_and_definition_read_back(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('mask = "disc:max=1km"\nsigma = ["2km", "5km"]\nalpha = 0.5\nrepetitions = 2\nn = 80\n')
    study = define_study(read_toml(file))
    assert study.grid.masks == ("disc:max=2km", "disc:max=5km")
    assert (study.people.n_target, study.people.n_known) == (80, 80)
    assert define_study(study.to_dict()) == study
    assert define_study(study.to_dict()).digest == study.digest
    assert define_study({**study.to_dict(), "seed": 1}).digest != study.digest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sgima": [1]}, "unknown option 'sgima'"),
        ({"preset": "kroll2015"}, "preset 'kroll2015'"),
        ({"alpha": [1.5]}, "alpha = 1.5"),
        ({"alpha": ["x"]}, "could not convert"),
        ({"alpha": [0.5, 0.5]}, "0.5 is given twice"),
        ({"alpha": []}, "at least one"),
        ({"repetitions": 0}, "repetitions = 0"),
        ({"common": 600}, "common = 600"),
        ({"n": 0}, "n_target = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"pairs": 1}, "pairs = 1"),
        ({"mask": "blur"}, "no mask 'blur'"),
        ({"sigma": ["-1"]}, "sigma"),
        ({"shares": "x.csv"}, "give the points"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        define_study(options)


def test_wrong_attacks_and_config_files_are_named(tmp_path: Path) -> None:
    for attack, words in (("magic", "no attack 'magic'"), ("quasi:beta=1", "'beta'"), ("quasi:gamma=2", "at most 1")):
        with pytest.raises(InputError, match=words):
            dq.study(**{**SMALL, "attack": attack}, folder=tmp_path / "never")
    with pytest.raises(InputError, match="solver 'magic'"):
        dq.study(**SMALL, solver="magic", folder=tmp_path / "never")
    assert not (tmp_path / "never").exists()
    with pytest.raises(InputError, match="cannot be read"):
        read_toml(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(InputError, match="not a TOML file"):
        read_toml(tmp_path / "bad.toml")


def test_a_cell_has_the_same_numbers_in_every_study(small: Study) -> None:
    one = define_study({**SMALL, "sigma": [0.05], "alpha": [0.7], "repetitions": 1})
    unit = Unit(Setting.parse("gaussian:sigma=0.05deg"), 0)
    [alone] = UnitRunner(one)(unit)
    [inside] = [cell for cell in UnitRunner(small)(unit) if cell.alpha == 0.7]
    assert replace(alone, seconds=0) == replace(inside, seconds=0)
    other = UnitRunner(define_study({**SMALL, "seed": 1}))(unit)
    assert other[0].seed != alone.seed


def test_a_cell_says_what_the_attack_says(small: Study) -> None:
    unit = Unit(small.grid.settings[0], 1)
    made, people = StudyDraws(small).draw(unit), StudyDraws(small).draw_people()
    released = dq.microdata(people.target, people.label_names, distances=made.target.distances)
    held = dq.microdata(people.known, people.label_names, coordinates=["lon", "lat"])
    for cell in UnitRunner(small)(unit):
        agreement = StudyDraws(small).calibrate(unit.setting.mask).agreement(cell.alpha)
        found = dq.attack(released, held, agreement=agreement, truth="id")
        assert found.risk is not None
        assert (cell.tp, cell.fp, cell.fn) == (found.risk.tp, found.risk.fp, found.risk.fn)
        assert (cell.vertices, cell.edges) == (found.claims.work.vertices, found.claims.work.edges)
        assert (cell.size, cell.bound, cell.proven) == (found.clique.size, found.clique.bound, True)
        assert cell.ties == found.cliques.count
        assert cell.tp_min <= cell.tp <= cell.tp_max
        assert cell.tp_min <= cell.tp_mean <= cell.tp_max


def test_data_sets_take_turns() -> None:
    study = define_study({**SMALL, "datasets": 2, "repetitions": 4, "sigma": [0.01]})
    vertices = [UnitRunner(study)(unit)[0].vertices for unit in study.units()]
    assert vertices[0] == vertices[2] != vertices[1] == vertices[3]


def test_own_points_and_label_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.uniform((5, 50), (6, 51), (200, 2)), columns=["lon", "lat"]).to_csv(
        tmp_path / "p.csv", index=False
    )
    pd.DataFrame({"sex": ["f", "m"], "count": [3, 1]}).to_csv(tmp_path / "s.csv", index=False)
    study = define_study({**SMALL, "points": str(tmp_path / "p.csv"), "shares": str(tmp_path / "s.csv")})
    people = StudyDraws(study).draw_people()
    assert people.label_names == ["sex"]
    assert people.people["lon"].between(5, 6).all()
    assert UnitRunner(study)(next(study.units()))[0].tp >= 0
    before = study.digest
    (tmp_path / "s.csv").write_text("sex,count\nf,1\nm,1\n")
    assert study.digest != before


# Tables


def _records(rows: list[dict[str, Any]]) -> pd.DataFrame:
    blank = dict.fromkeys(COLUMNS, 0) | {"attack": "clique", "proven": True}
    return pd.DataFrame([{**blank, **row} for row in rows])


def test_averages_by_hand() -> None:
    cell = {"mask": "gaussian:sigma=0.005deg", "alpha": 0.5}
    table = summarise(
        _records(
            [
                {**cell, "size": 4, "tp": 2, "fn": 2, "tp_mean": 3.0, "precision": 0.5, "recall": 0.5},
                {**cell, "size": 2, "tp": 2, "fn": 2, "tp_mean": 1.0, "precision": 1.0, "recall": 0.5},
                {**cell, "size": 0, "tp": 0, "fn": 4, "precision": np.nan, "recall": 0.0, "proven": False},
            ]
        )
    ).iloc[0]
    assert table["precision"] == 0.75
    assert table["recall"] == pytest.approx(1 / 3)
    assert (table["empty"], table["unproven"], table["repetitions"]) == (1, 1, 3)
    assert table["precision_se"] == pytest.approx(np.std([0.5, 1.0], ddof=1) / np.sqrt(2))
    assert table["precision_low"] == pytest.approx(0.75 - 1.959964 * table["precision_se"])
    assert table["precision_high"] == 1.0
    assert table["precision_ties"] == pytest.approx((3 / 4 + 1 / 2) / 2)


def test_tables_have_the_papers_layout(undisturbed: StudyResult, tmp_path: Path) -> None:
    study = undisturbed.study
    names = {path.name for path in undisturbed.save(tmp_path)}
    assert names >= {"results.parquet", "timings.parquet", "deviations.csv", "precision.csv", "recall.csv"}
    wide = pd.read_csv(tmp_path / "precision.csv")
    assert wide.columns.tolist() == ["alpha", "0.01", "0.05"]
    assert wide["alpha"].tolist() == [0.3, 0.7]
    records = pd.read_parquet(tmp_path / "results.parquet")
    assert len(records) == 12
    assert "seconds" not in records
    chosen = records[(records["mask"] == study.grid.masks[1]) & (records["alpha"] == 0.7)]
    assert wide["0.05"][1] == pytest.approx(chosen["precision"].mean())
    deviation = pd.read_csv(tmp_path / "deviations.csv")
    assert deviation.columns.tolist()[:9] == [
        "sigma_deg",
        "0.05",
        "0.1",
        "0.25",
        "0.5",
        "0.75",
        "0.9",
        "0.95",
        "variance",
    ]
    assert deviation["variance"][0] == pytest.approx(StudyDraws(study).calibrate(study.grid.settings[0].mask).variance)


def test_masks_without_a_common_dial_are_columns_by_name(tmp_path: Path) -> None:
    study = define_study({**SMALL, "sigma": None, "mask": ["gaussian:sigma=1km", "matrix-gaussian:sd=2km"]})
    outcome = dq.study(study, folder=tmp_path)
    wide = grid_table(study, summarise(outcome.records), "recall", "clique")
    assert wide.columns.tolist() == ["alpha", *study.grid.masks]
    assert deviations(study)["mask"].tolist() == list(study.grid.masks)


def test_several_attacks_share_a_draw(tmp_path: Path) -> None:
    study = define_study({**SMALL, "attack": ["clique", "quasi:gamma=0.5", "labels"], "repetitions": 1})
    outcome = dq.study(study, folder=tmp_path)
    assert outcome.records["attack"].value_counts().to_dict() == {"clique": 4, "quasi:gamma=0.5": 4, "labels": 2}
    assert outcome.records.loc[outcome.records["attack"] == "labels", "alpha"].isna().all()
    names = {path.name for path in outcome.save(tmp_path)}
    assert "precision_quasi-gamma-0-5.csv" in names


def test_a_quasi_clique_is_an_attack_and_no_solver() -> None:
    options = {**SMALL, "sigma": None, "mask": "matrix-gaussian:sd=1km", "repetitions": 1, "alpha": 0.7}
    with pytest.raises(InputError, match="solver 'quasi': choose one of exact"):
        define_study({**options, "solver": "quasi"})
    unit = Unit(Setting.parse("matrix-gaussian:sd=1km"), 0)
    [plain] = UnitRunner(define_study({**options, "attack": "quasi"}))(unit)
    [same] = UnitRunner(define_study({**options, "attack": "quasi:gamma=0.56"}))(unit)  # a fifth less than α
    assert (plain.tp, plain.fp, plain.size) == (same.tp, same.fp, same.size)
    assert not plain.proven


def test_work_that_was_cut_short_is_said(tmp_path: Path) -> None:
    """Every attack that rests on an unproven clique is counted, in the table and in words."""
    options = {**SMALL, "alpha": 0.7, "repetitions": 1, "n": 150, "common": 50}
    cut = dq.study(**options, attack=["clique", "extend", "labels"], budget=1e-6)
    counts = cut.summary.groupby("attack")["unproven"].sum()
    assert counts.to_dict() == {"clique": 2, "extend": 2, "labels": 0}
    said = " ".join(cut.lines())
    assert "clique: 2 runs have no proof" in said
    assert "extend: 2 runs have no proof" in said
    assert "lower bound on the risk" in said


# The paper


def test_the_printed_tables() -> None:
    assert printed("precision").loc[0.5, "0.025"] == 0.8374
    assert printed("recall").loc[0.9, "0.050"] == 0.6468
    assert printed("deviations").loc[0.04, "variance"] == 30.2768
    assert printed("precision").shape == printed("recall").shape == (9, 10)
    assert printed("deviations").shape == (10, 8)


def test_table_3_of_the_preset_is_near_the_printed_one() -> None:
    ours, paper = deviations(define_study({"preset": "kroll2014"})), printed("deviations")
    assert (ours["variance"].to_numpy() / paper["variance"].to_numpy()) == pytest.approx(1, abs=0.15)
    columns = [column for column in paper.columns if column != "variance"]
    difference = (ours[columns].to_numpy() - paper[columns].to_numpy()) / np.sqrt(paper["variance"].to_numpy())[:, None]
    assert difference == pytest.approx(0, abs=0.2)  # the outer quantiles of 1,000 pairs each differ by .095 on average
    assert np.median(np.abs(difference)) < 0.08


def test_a_comparison_tells_chance_from_difference() -> None:
    study = define_study({"sigma": [0.005, 0.01], "alpha": [0.5], "repetitions": 4})
    noise = [0.01, -0.01, 0.01, -0.01]
    rows = []
    for mask, precision, recall in zip(study.grid.masks, (0.9808, 0.9458 - 0.2), (0.2774, 0.2874), strict=True):
        for repetition, e in enumerate(noise):
            place = {"mask": mask, "alpha": 0.5, "repetition": repetition, "vertices": 9, "size": 10, "tp_mean": 5.0}
            rows.append({**place, "tp": 5, "fn": 45, "precision": precision + e, "recall": recall + e})
    found = compare(StudyResult(study, _records(rows)))
    cells = found.cells[found.cells["rate"] == "precision"].set_index("sigma")
    assert cells.loc[0.005, "difference"] == pytest.approx(0, abs=1e-9)
    assert cells.loc[0.01, "difference"] == pytest.approx(-0.2)
    assert cells["explained"].tolist() == ["yes", "no"]
    sd = np.std(noise, ddof=1)
    assert cells.loc[0.005, "se"] == pytest.approx(np.hypot(sd / 2, sd / 10))
    assert "0.746 / 0.946, -0.200" in markdown(found)
    assert any("mean absolute difference 0.100 over 2 cells" in line for line in found.lines())
    spread = define_study({**study.to_dict(), "datasets": 2})
    far = [{**row, "dataset": row["repetition"] % 2, "precision": 0.5 + 0.4 * (row["repetition"] % 2)} for row in rows]
    again = compare(StudyResult(study, _records(rows)), spread=StudyResult(spread, _records(far)))
    assert again.cells["explained"].tolist() == ["yes", "data set", "yes", "yes"]
    with pytest.raises(InputError, match="one data set"):
        compare(StudyResult(study, _records(rows)), spread=StudyResult(study, _records(far)))


def test_a_study_that_is_not_the_papers_cannot_be_compared(tmp_path: Path) -> None:
    study = define_study({**SMALL, "sigma": ["500m"], "mask": "gaussian:sigma=1km", "repetitions": 1})
    with pytest.raises(InputError, match="no cell of this study stands in the paper"):
        compare(dq.study(study, folder=tmp_path))


# The command line


def test_the_commands(run: Run) -> None:
    options = ["--sigma", "0.01,0.05", "--alpha", "0.3,0.7", "--repetitions", "2", "--n", "60", "--common", "15"]
    code, out, err = run("study", "--out", "study", *options, "--processes", "1")
    assert code == 0, err
    assert "4 of 4 units" in err
    assert "a second" in err
    assert out.splitlines()[0].split("\t") == ["attack", "average", "alpha", "0.01", "0.05"]
    assert {path.name for path in Path("study").iterdir()} >= {
        "study.json",
        "journal.jsonl",
        "results.parquet",
        "files.png",
        "rates_by_mask.png",
        "rates_by_alpha.png",
        "risk_utility.png",
        "typical_1.png",
        "typical_4.png",
    }
    code, _, err = run("compare", "study", "--out", "page.md")
    assert code == 0, err
    assert "mean absolute difference" in err
    assert "| 0.3 |" in Path("page.md").read_text()
    assert run("compare", "study", "--out", "cells.csv", "--quiet") == (0, "", "")
    assert len(pd.read_csv("cells.csv")) == 8
    assert run("study", "--out", "study", *options, "--quiet", "--no-figures") == (0, "", "")
    for command, words in (("compare study --out x.doc", "a page"), ("study --out new", "say what to study")):
        code, _, err = run(*command.split())
        assert code == 2
        assert words in err
    assert not Path("new").exists()


def test_a_dry_run_estimates_and_leaves_nothing(run: Run) -> None:
    sizes = ("--n", "40", "--common", "9", "--processes", "1")
    code, out, err = run("study", "--out", "new", "--dry-run", "--sigma", "0.01", *sizes)
    assert (code, out) == (0, "")
    assert "100 units (1 masks, 100 repetitions)" in err
    assert "about 100 units" in err
    assert not Path("new").exists()


def test_calibrate_prints_the_row_of_table_3(run: Run) -> None:
    arguments = ["--mask", "gaussian:sigma=0.01deg", "--pairs", "4000", "--alpha", "0.5"]
    _, out, _ = run("calibrate", *arguments, "--out", "row.csv")
    head, row = out.splitlines()[:2]
    quantiles = [f"{p} (km)" for p in ("0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95")]
    assert head.split("\t") == ["mask", "pairs", *quantiles, "variance (km²)"]
    assert float(row.split("\t")[-1]) == pytest.approx(printed("deviations").loc[0.01, "variance"], rel=0.15)
    assert pd.read_csv("row.csv")["pairs"][0] == 4000
    Path("p.csv").write_text("x,y\n0,0\n3,4\n10,1\n")
    plane = ["--mask", "gaussian:sigma=0.1", "--metric", "euclidean", "--points", "p.csv", "--coordinates", "x,y"]
    assert run("calibrate", *plane, "--quiet") == (0, "", "")
    code, _, err = run("calibrate", "--mask", "gaussian:sigma=0.01deg", "--alpha", "x")
    assert code == 2
    assert "not a number" in err


@pytest.mark.slow
def test_the_preset_with_one_repetition(tmp_path: Path) -> None:
    outcome = dq.study(preset="kroll2014", repetitions=1, folder=tmp_path, executor=Processes())
    table = summarise(outcome.records)
    assert len(table) == 90
    assert outcome.records["proven"].all()
    cells = compare(outcome).cells
    upper = cells[cells["alpha"] >= 0.5]
    assert upper.groupby("rate")["difference"].apply(lambda d: d.abs().mean()).max() < 0.15
