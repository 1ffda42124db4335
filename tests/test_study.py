"""Studies: the same numbers wherever they run and however often they are interrupted, and tables as in the paper."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import disclique as dq
from disclique.cli import calibrate as cli_calibrate
from disclique.cli import compare as cli_compare
from disclique.cli import study as cli_study
from disclique.errors import InputError
from disclique.runs.execute import OnDask, Processes
from disclique.runs.journal import journal
from disclique.studies import (
    Outcome,
    Study,
    Unit,
    calibration_of,
    deviations,
    draw,
    grid_table,
    load_study,
    people_of,
    read_options,
    run_study,
    run_unit,
    study_from,
    summary,
)
from disclique.studies.compare import compare, markdown, printed
from disclique.studies.outputs import write_tables
from disclique.studies.summary import COLUMNS

SMALL: dict[str, Any] = {"sigma": [0.01, 0.05], "alpha": [0.3, 0.7], "repetitions": 3, "n": [60, 50], "common": 15}


@pytest.fixture(scope="module")
def small() -> Study:
    return study_from(SMALL)


@pytest.fixture(scope="module")
def undisturbed(small: Study, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run_study(small, tmp_path_factory.mktemp("undisturbed"))


def same(a: Outcome, b: Outcome) -> None:
    pd.testing.assert_frame_equal(a.records.drop(columns="seconds"), b.records.drop(columns="seconds"))


# What a study is


def test_the_preset_is_the_papers_grid() -> None:
    study = study_from({"preset": "kroll2014"})
    grid = study.grid
    assert len(grid.masks) * len(grid.alphas) * grid.repetitions == 9000
    assert grid.masks[0] == "gaussian:sigma=0.005deg"
    assert grid.masks[-1] == "gaussian:sigma=0.05deg"
    assert grid.alphas == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert (study.people.n_target, study.people.n_known, study.people.common, study.pairs) == (500, 500, 50, 1000)
    made = draw(study, Unit(grid.masks[0], 0))
    assert 14_750 <= made.graph(0.1).order <= 16_630


def test_options_toml_and_definition_read_back(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('mask = "disc:max=1km"\nsigma = ["2km", "5km"]\nalpha = 0.5\nrepetitions = 2\nn = 80\n')
    study = study_from(read_options(file))
    assert study.grid.masks == ("disc:max=2km", "disc:max=5km")
    assert (study.people.n_target, study.people.n_known) == (80, 80)
    assert study_from(study.to_dict()) == study
    assert study_from(study.to_dict()).digest == study.digest
    assert study_from({**study.to_dict(), "seed": 1}).digest != study.digest


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
        study_from(options)


def test_wrong_attacks_and_config_files_are_named(tmp_path: Path, small: Study) -> None:
    for attack, words in (("magic", "no attack 'magic'"), ("quasi:beta=1", "'beta'"), ("quasi:gamma=2", "at most 1")):
        with pytest.raises(InputError, match=words):
            run_study(study_from({**SMALL, "attack": attack}), tmp_path / "never")
    with pytest.raises(InputError, match="solver 'magic'"):
        run_study(study_from({**SMALL, "solver": "magic"}), tmp_path / "never")
    assert not (tmp_path / "never").exists()
    with pytest.raises(InputError, match="cannot be read"):
        read_options(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(InputError, match="not a TOML file"):
        read_options(tmp_path / "bad.toml")


def test_a_cell_has_the_same_numbers_in_every_study(small: Study) -> None:
    one = study_from({**SMALL, "sigma": [0.05], "alpha": [0.7], "repetitions": 1})
    unit = Unit("gaussian:sigma=0.05deg", 0)
    [alone] = run_unit(one, unit)
    [inside] = [record for record in run_unit(small, unit) if record["alpha"] == 0.7]
    assert {**alone, "seconds": 0} == {**inside, "seconds": 0}
    other = run_unit(study_from({**SMALL, "seed": 1}), unit)
    assert other[0]["seed"] != alone["seed"]


def test_a_record_says_what_the_attack_says(small: Study) -> None:
    unit = Unit(small.grid.masks[0], 1)
    made, people = draw(small, unit), people_of(small)
    released = dq.microdata(people.target, people.label_names, distances=made.target.distances)
    held = dq.microdata(people.known, people.label_names, coordinates=["lon", "lat"])
    for record in run_unit(small, unit):
        agreement = calibration_of(small, unit.mask).agreement(record["alpha"])
        found = dq.attack(released, held, agreement=agreement, truth="id")
        assert found.risk is not None
        assert (record["tp"], record["fp"], record["fn"]) == (found.risk.tp, found.risk.fp, found.risk.fn)
        assert (record["vertices"], record["edges"]) == (found.product_vertices, found.product_edges)
        assert (record["size"], record["bound"], record["proven"]) == (found.clique.size, found.clique.bound, True)
        assert record["ties"] == found.cliques.count
        assert record["tp_min"] <= record["tp"] <= record["tp_max"]
        assert record["tp_min"] <= record["tp_mean"] <= record["tp_max"]


def test_data_sets_take_turns(small: Study) -> None:
    study = study_from({**SMALL, "datasets": 2, "repetitions": 4, "sigma": [0.01]})
    vertices = [run_unit(study, unit)[0]["vertices"] for unit in study.units()]
    assert vertices[0] == vertices[2] != vertices[1] == vertices[3]


def test_own_points_and_label_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.uniform((5, 50), (6, 51), (200, 2)), columns=["lon", "lat"]).to_csv(
        tmp_path / "p.csv", index=False
    )
    pd.DataFrame({"sex": ["f", "m"], "count": [3, 1]}).to_csv(tmp_path / "s.csv", index=False)
    study = study_from({**SMALL, "points": str(tmp_path / "p.csv"), "shares": str(tmp_path / "s.csv")})
    people = people_of(study)
    assert people.label_names == ["sex"]
    assert people.people["lon"].between(5, 6).all()
    assert run_unit(study, next(study.units()))[0]["tp"] >= 0
    before = study.digest
    (tmp_path / "s.csv").write_text("sex,count\nf,1\nm,1\n")
    assert study.digest != before


# Where it runs


def test_processes_give_equal_records(small: Study, undisturbed: Outcome, tmp_path: Path) -> None:
    same(run_study(small, tmp_path, executor=Processes(2)), undisturbed)


def test_a_dask_cluster_gives_equal_records_though_a_worker_is_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    study = study_from({**SMALL, "repetitions": 15})
    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def kill_one(done: int, total: int, records: list[dict[str, Any]]) -> None:
            if done == total // 2:
                pid = next(iter(client.run(os.getpid).values()))
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

        address = cluster.scheduler_address
        on_dask = run_study(study, tmp_path / "dask", executor=OnDask(address), progress=kill_one)
    assert len(killed) == 1
    same(on_dask, run_study(study, tmp_path / "serial"))


# Interrupted


COMMAND = """
import signal, typer
from disclique.cli.study import command
signal.signal(signal.SIGINT, signal.default_int_handler)  # the runner of the tests may have it ignored
typer.run(command)
"""


def test_killed_five_times_it_ends_as_if_undisturbed(tmp_path: Path) -> None:
    options = {**SMALL, "repetitions": 150}
    study, rng = study_from(options), np.random.default_rng()
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["disclique.studies"])
    for _ in range(5):
        before = _size(folder)
        worker = context.Process(target=run_study, args=(study, folder))
        worker.start()
        begun = time.monotonic()
        while _size(folder) == before and time.monotonic() - begun < 60:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.2))
        worker.kill()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL, "the study ended before it was killed: make it longer"
    done = len((folder / "journal.jsonl").read_bytes().splitlines())
    assert 0 < done < 300
    count: list[int] = []
    resumed = run_study(study, folder, progress=lambda now, total, records: count.append(now))
    assert count[0] in (done, done - 1), "finished units were run again"
    reference = run_study(study, whole)
    same(resumed, reference)
    for outcome, place in ((resumed, folder), (reference, whole)):
        write_tables(outcome, place)
    assert (folder / "results.parquet").read_bytes() == (whole / "results.parquet").read_bytes()


def _size(folder: Path) -> int:
    path = folder / "journal.jsonl"
    return path.stat().st_size if path.exists() else 0


def test_ctrl_c_leaves_a_study_that_goes_on(tmp_path: Path) -> None:
    arguments = ["--sigma", "0.01", "--alpha", "0.3", "--repetitions", "5000", "--n", "60", "--common", "15"]
    running = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments, "--processes", "2", "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    while _size(tmp_path) == 0 and running.poll() is None:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "the same command goes on from there" in said
    assert 0 < len(load_study(tmp_path).records) < 5000
    deadline = time.monotonic() + 10
    while _alive(running.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(running.pid), "a worker is left"


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_resuming_runs_only_what_is_missing(small: Study, undisturbed: Outcome, tmp_path: Path) -> None:
    run_study(small, tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]))
    seen: list[int] = []
    outcome = run_study(small, tmp_path, progress=lambda done, total, records: seen.append(done))
    assert seen == [4, 5, 6]
    same(outcome, undisturbed)
    assert path.read_bytes().startswith(b"".join(lines[:4]))
    loaded = load_study(tmp_path)
    same(loaded, undisturbed)
    assert loaded.study == small
    assert loaded.notes == ()


@pytest.mark.parametrize("torn", [b'{"mask": "gaussian', b'{"mask": 3}\n', b"\x00" * 40, b"\n"])
def test_a_torn_last_line_is_cut_off_and_reported(
    torn: bytes, small: Study, undisturbed: Outcome, tmp_path: Path
) -> None:
    run_study(small, tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + torn)
    assert len(load_study(tmp_path).records) == 10
    outcome = run_study(small, tmp_path)
    assert "the last line was incomplete" in outcome.notes[0]
    same(outcome, undisturbed)


# What can go wrong


def test_a_damaged_journal_is_left_alone(small: Study, tmp_path: Path) -> None:
    run_study(small, tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for damage, words in (
        ([lines[0], b"x" + lines[1], *lines[2:]], "line 2 of 6 is damaged"),
        ([*lines[:2], lines[0]], "stands there twice"),
        ([lines[0].replace(b"0.01deg", b"0.02deg")], "is no part of this study"),
    ):
        path.write_bytes(b"".join(damage))
        with pytest.raises(InputError, match=words):
            run_study(small, tmp_path)
        assert path.read_bytes() == b"".join(damage)


def test_a_folder_of_another_study_is_left_alone(small: Study, tmp_path: Path) -> None:
    run_study(study_from({**SMALL, "repetitions": 1}), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match="holds another study \\(repetitions is 1 there and 3 here\\)"):
        run_study(small, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "study.json").unlink()
    with pytest.raises(InputError, match=r"has a journal but no study\.json"):
        run_study(small, tmp_path)
    with pytest.raises(InputError, match="there is no study here"):
        load_study(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        run_study(small, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(small: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        with pytest.raises(InputError, match=str(folder)):
            run_study(small, folder)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A block in which files cannot grow beyond a size, as on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_named_and_loses_nothing(small: Study, undisturbed: Outcome, tmp_path: Path) -> None:
    run_study(small, tmp_path / "whole")
    limit = (tmp_path / "whole" / "journal.jsonl").stat().st_size - 100
    folder = tmp_path / "full"
    with (
        files_of_at_most(limit),
        pytest.raises(InputError, match=r"journal\.jsonl: cannot be written .* the 5 units before are safe"),
    ):
        run_study(small, folder)
    assert len((folder / "journal.jsonl").read_bytes().splitlines()) == 5
    outcome = run_study(small, folder)
    assert outcome.notes == ()
    same(outcome, undisturbed)


def test_two_runs_do_not_share_a_folder(small: Study, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with journal(tmp_path, small), pytest.raises(InputError, match="another run of this study"):
        run_study(small, tmp_path)


def test_other_versions_are_reported(small: Study, tmp_path: Path) -> None:
    run_study(small, tmp_path)
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace(np.__version__, "0.1"))
    assert "was begun with numpy 0.1 and goes on with" in run_study(small, tmp_path).notes[0]


# Tables


def _records(rows: list[dict[str, Any]]) -> pd.DataFrame:
    blank = dict.fromkeys(COLUMNS, 0) | {"attack": "clique", "proven": True}
    return pd.DataFrame([{**blank, **row} for row in rows])


def test_averages_by_hand() -> None:
    cell = {"mask": "gaussian:sigma=0.005deg", "alpha": 0.5}
    table = summary(
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


def test_tables_have_the_papers_layout(undisturbed: Outcome, tmp_path: Path) -> None:
    study = undisturbed.study
    names = {path.name for path in write_tables(undisturbed, tmp_path)}
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
    assert deviation["variance"][0] == pytest.approx(calibration_of(study, study.grid.masks[0]).variance)


def test_masks_without_a_common_dial_are_columns_by_name(tmp_path: Path) -> None:
    study = study_from({**SMALL, "sigma": None, "mask": ["gaussian:sigma=1km", "matrix-gaussian:sd=2km"]})
    outcome = run_study(study, tmp_path)
    wide = grid_table(study, summary(outcome.records), "recall", "clique")
    assert wide.columns.tolist() == ["alpha", *study.grid.masks]
    assert deviations(study)["mask"].tolist() == list(study.grid.masks)


def test_several_attacks_share_a_draw(tmp_path: Path) -> None:
    study = study_from({**SMALL, "attack": ["clique", "quasi:gamma=0.5", "labels"], "repetitions": 1})
    outcome = run_study(study, tmp_path)
    assert outcome.records["attack"].value_counts().to_dict() == {"clique": 4, "quasi:gamma=0.5": 4, "labels": 2}
    assert outcome.records.loc[outcome.records["attack"] == "labels", "alpha"].isna().all()
    names = {path.name for path in write_tables(outcome, tmp_path)}
    assert "precision_quasi-gamma-0-5.csv" in names


def test_a_quasi_clique_by_the_name_of_its_solver() -> None:
    options = {**SMALL, "sigma": None, "mask": "matrix-gaussian:sd=1km", "repetitions": 1}
    unit = Unit("matrix-gaussian:sd=1km", 0)
    by_solver = run_unit(study_from({**options, "solver": "quasi"}), unit)
    by_attack = run_unit(study_from({**options, "attack": "quasi"}), unit)
    assert [r["tp"] for r in by_solver] == [r["tp"] for r in by_attack]


# The paper


def test_the_printed_tables() -> None:
    assert printed("precision").loc[0.5, "0.025"] == 0.8374
    assert printed("recall").loc[0.9, "0.050"] == 0.6468
    assert printed("deviations").loc[0.04, "variance"] == 30.2768
    assert printed("precision").shape == printed("recall").shape == (9, 10)
    assert printed("deviations").shape == (10, 8)


def test_table_3_of_the_preset_is_near_the_printed_one() -> None:
    ours, paper = deviations(study_from({"preset": "kroll2014"})), printed("deviations")
    assert (ours["variance"].to_numpy() / paper["variance"].to_numpy()) == pytest.approx(1, abs=0.15)
    columns = [column for column in paper.columns if column != "variance"]
    difference = (ours[columns].to_numpy() - paper[columns].to_numpy()) / np.sqrt(paper["variance"].to_numpy())[:, None]
    assert difference == pytest.approx(0, abs=0.2)  # the outer quantiles of 1,000 pairs each differ by .095 on average
    assert np.median(np.abs(difference)) < 0.08


def test_a_comparison_tells_chance_from_difference() -> None:
    study = study_from({"sigma": [0.005, 0.01], "alpha": [0.5], "repetitions": 4})
    noise = [0.01, -0.01, 0.01, -0.01]
    rows = []
    for mask, precision, recall in zip(study.grid.masks, (0.9808, 0.9458 - 0.2), (0.2774, 0.2874), strict=True):
        for repetition, e in enumerate(noise):
            place = {"mask": mask, "alpha": 0.5, "repetition": repetition, "vertices": 9, "size": 10, "tp_mean": 5.0}
            rows.append({**place, "tp": 5, "fn": 45, "precision": precision + e, "recall": recall + e})
    found = compare(Outcome(study, _records(rows)))
    cells = found.cells[found.cells["rate"] == "precision"].set_index("sigma")
    assert cells.loc[0.005, "difference"] == pytest.approx(0, abs=1e-9)
    assert cells.loc[0.01, "difference"] == pytest.approx(-0.2)
    assert cells["explained"].tolist() == ["yes", "no"]
    sd = np.std(noise, ddof=1)
    assert cells.loc[0.005, "se"] == pytest.approx(np.hypot(sd / 2, sd / 10))
    assert "0.746 / 0.946, -0.200" in markdown(found)
    assert any("mean absolute difference 0.100 over 2 cells" in line for line in found.lines())
    spread = study_from({**study.to_dict(), "datasets": 2})
    far = [{**row, "dataset": row["repetition"] % 2, "precision": 0.5 + 0.4 * (row["repetition"] % 2)} for row in rows]
    again = compare(Outcome(study, _records(rows)), spread=Outcome(spread, _records(far)))
    assert again.cells["explained"].tolist() == ["yes", "data set", "yes", "yes"]
    with pytest.raises(InputError, match="one data set"):
        compare(Outcome(study, _records(rows)), spread=Outcome(study, _records(far)))


def test_a_study_that_is_not_the_papers_cannot_be_compared(tmp_path: Path) -> None:
    study = study_from({**SMALL, "sigma": ["500m"], "mask": "gaussian:sigma=1km", "repetitions": 1})
    with pytest.raises(InputError, match="no cell of this study stands in the paper"):
        compare(run_study(study, tmp_path))


# The command line


def runner(*arguments: str) -> Any:
    app = typer.Typer()
    app.command("study")(cli_study.command)
    app.command("calibrate")(cli_calibrate.command)
    app.command("compare")(cli_compare.command)
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_the_commands(tmp_path: Path) -> None:
    folder = str(tmp_path / "study")
    options = ["--sigma", "0.01,0.05", "--alpha", "0.3,0.7", "--repetitions", "2", "--n", "60", "--common", "15"]
    result = runner("study", "--out", folder, *options, "--processes", "1")
    assert result.exit_code == 0
    assert "4 of 4 units" in result.output
    assert "a second" in result.output
    assert {path.name for path in Path(folder).iterdir()} >= {
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
    result = runner("compare", folder, "--out", str(tmp_path / "page.md"))
    assert "mean absolute difference" in result.output
    assert "| 0.3 |" in (tmp_path / "page.md").read_text()
    runner("compare", folder, "--out", str(tmp_path / "cells.csv"), "--quiet")
    assert len(pd.read_csv(tmp_path / "cells.csv")) == 8
    with pytest.raises(InputError, match="a page"):
        runner("compare", folder, "--out", "x.doc")
    with pytest.raises(InputError, match="say what to study"):
        runner("study", "--out", folder)
    again = runner("study", "--out", folder, *options, "--quiet", "--no-figures")
    assert again.output == ""


def test_calibrate_prints_the_row_of_table_3(tmp_path: Path) -> None:
    arguments = ["--mask", "gaussian:sigma=0.01deg", "--pairs", "4000", "--alpha", "0.5"]
    result = runner("calibrate", *arguments, "--out", str(tmp_path / "row.csv"))
    head, row = result.stdout.splitlines()[:2]
    assert head.split("\t") == ["mask", "pairs", "0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95", "variance"]
    assert float(row.split("\t")[-1]) == pytest.approx(printed("deviations").loc[0.01, "variance"], rel=0.15)
    assert pd.read_csv(tmp_path / "row.csv")["pairs"][0] == 4000
    (tmp_path / "p.csv").write_text("x,y\n0,0\n3,4\n10,1\n")
    plane = ["--mask", "gaussian:sigma=0.1", "--metric", "euclidean", "--points", str(tmp_path / "p.csv")]
    assert runner("calibrate", *plane, "--coordinates", "x,y", "--quiet").output == ""
    with pytest.raises(InputError, match="not a number"):
        runner("calibrate", "--mask", "gaussian:sigma=0.01deg", "--alpha", "x")


@pytest.mark.slow
def test_the_preset_with_one_repetition(tmp_path: Path) -> None:
    outcome = run_study(study_from({"preset": "kroll2014", "repetitions": 1}), tmp_path, executor=Processes())
    table = summary(outcome.records)
    assert len(table) == 90
    assert outcome.records["proven"].all()
    cells = compare(outcome).cells
    upper = cells[cells["alpha"] >= 0.5]
    assert upper.groupby("rate")["difference"].apply(lambda d: d.abs().mean()).max() < 0.15
