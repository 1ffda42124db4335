"""An audit survives being stopped or killed, and gives the same bytes wherever its releases are attacked."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import disclique as dq
from conftest import Run
from disclique.audits import Audit, Snooper, run_audit
from disclique.audits.estimate import estimate_audit
from disclique.audits.result import decode_result, encode_result
from disclique.errors import InputError
from disclique.messages import Message
from disclique.runs import Executor, OnDask, Processes, Unit, WrittenUnit
from disclique.spaces import Matrix, full_matrix
from small_files import COLUMNS, LIGHT, make_audit, make_file, make_plan, people, without_times


def lines(folder: Path) -> list[dict[str, Any]]:
    """The journal, line by line."""
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()]


def read(folder: Path) -> tuple[bytes, bytes]:
    """What an audit wrote: the result without its times, and the records."""
    result = dq.read_result(folder / "result.json")
    return encode_result(without_times(result)), (folder / "records.csv").read_bytes()


class Stops:
    """An executor that dies after a number of units, as a machine may."""

    parallel = 1

    def __init__(self, after: int) -> None:
        self.after = after

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            if self.after == 0:
                raise KeyboardInterrupt
            self.after -= 1
            yield function(item)


def searching() -> Audit:
    """An audit that searches a range, attacks, asks for every person, and again without what is in one's favour."""
    asked: dict[str, Any] = {"n": 30, "max_risk": 0.6, "attacks": ("labels", "clique"), "budget": 1e-4}
    snooper = Snooper(overlap=0.6, label_error=0.1)
    return make_audit("affine", "gaussian:sigma=20km..400km", repetitions=4, snooper=snooper, **asked)


def fixed() -> Audit:
    """One of distances that fit no map, which searches no range."""
    file = make_file(24)
    ways = np.triu(full_matrix(file.distances) * np.random.default_rng(0).uniform(0.7, 1.3, (24, 24)), 1)
    matrix = replace(file, distances=Matrix(ways + ways.T))
    masks = ("matrix-gaussian:sd=30", "matrix-laplace:b=20")
    return Audit(make_plan(*masks, attacks=("labels", "clique"), repetitions=4, max_risk=0.52, budget=1e-4), matrix)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of that audit, carried out without an interruption."""
    folder = tmp_path_factory.mktemp("whole")
    run_audit(searching(), folder=folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the fixed audit, one release after the other."""
    folder = tmp_path_factory.mktemp("plain")
    run_audit(fixed(), folder=folder)
    return folder


def test_the_journal_has_a_line_for_every_unit(plain: Path, whole: Path) -> None:
    """Each with its unit and its record: what is measured first, what is attacked of it, people, and favours."""
    found = lines(whole)
    assert all(set(line) == {"unit", "record", "seconds"} for line in found)
    units = [WrittenUnit(**line["unit"]) for line in found]
    assert len(set(units)) == len(units)
    parts = {part: [unit for unit in units if unit.part.partition(":")[0] == part] for part in
             ("", "attacked", "people", "varied")}  # fmt: skip
    assert sum(map(len, parts.values())) == len(units)
    result = dq.read_result(whole / "result.json")
    assert {unit.mask for unit in parts["people"]} == {result.verdict.setting}
    assert {unit.mask for unit in parts["varied"]} == {result.verdict.setting}
    assert {unit.part.split("=")[0] for unit in parts["varied"]} == {
        "varied:overlap",
        "varied:label-error",
        "varied:strangers",
    }
    assert len(parts[""]) == 4 * len(result.settings)
    assert {unit.repetition for unit in parts["attacked"]} == {0, 1, 2}
    shown = {s.spec for s in result.settings if s.risk.found is not None}
    assert {unit.mask for unit in parts["attacked"]} == shown
    assert len(shown) < len(result.settings)
    measured = [WrittenUnit(**line["unit"]) for line in lines(plain) if not line["unit"]["part"]]
    assert len(measured) == 2 * 4


@pytest.mark.parametrize("share", [pytest.param(0, marks=pytest.mark.long), 0.4, 0.99])
def test_an_interrupted_audit_goes_on_and_ends_the_same(tmp_path: Path, whole: Path, share: float) -> None:
    """Stopped after any unit, resumed, torn line or not: the same bytes as without the interruption."""
    after = int(share * len(lines(whole)))
    with pytest.raises(KeyboardInterrupt):
        run_audit(searching(), folder=tmp_path, executor=Stops(after))
    assert not (tmp_path / "result.json").exists()
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(b'{"unit": {"mask": "aff')
    result = run_audit(searching(), folder=tmp_path)
    assert any("the last line was incomplete" in str(line) for line in result.limits)
    assert read(tmp_path) == read(whole)
    other = searching()
    with pytest.raises(InputError, match="another audit"):
        run_audit(Audit(replace(other.plan, seed=5), other.target), folder=tmp_path)


@pytest.mark.parametrize(
    "executor", [Processes(2), pytest.param(OnDask("local", 2), marks=pytest.mark.long)], ids=["processes", "dask"]
)
def test_every_executor_gives_the_same_bytes(tmp_path: Path, plain: Path, executor: Executor) -> None:
    """Result and records, whatever the order in which releases come in."""
    if isinstance(executor, OnDask):
        pytest.importorskip("distributed")
    run_audit(fixed(), folder=tmp_path, executor=executor)
    assert read(tmp_path) == read(plain)


@pytest.mark.long
def test_a_worker_that_is_killed_costs_nothing(tmp_path: Path, plain: Path) -> None:
    """Whichever worker dies when the third release comes in, its release is attacked again."""
    killed = []

    def kill(done: int, wanted: int, unit: Unit | None) -> None:
        if done == 3 and unit is not None:
            worker = multiprocessing.active_children()[0]
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            killed.append(worker.pid)

    run_audit(fixed(), folder=tmp_path, executor=Processes(2), progress=kill)
    assert killed
    assert read(tmp_path) == read(plain)


@pytest.mark.long
def test_killed_for_real_it_resumes(tmp_path: Path, run: Run) -> None:
    """SIGKILL in the middle: what was journalled stays, and the same command ends as an undisturbed one."""
    people(40).to_csv("f.csv", index=False)
    arguments = ["audit", "f.csv", *COLUMNS, "--mask", "affine", "--mask", "gaussian:sigma=5km"]
    arguments += [
        "--repetitions",
        "40",
        "--attack",
        "clique",
        "--processes",
        "1",
        *LIGHT,
        "--quiet",
        "--out",
    ]
    command = [sys.executable, "-m", "disclique", *arguments, "o"]
    journal = tmp_path / "o" / "journal.jsonl"
    with subprocess.Popen(command, cwd=tmp_path) as started:
        for _ in range(6000):
            if started.poll() is not None or (journal.exists() and journal.read_bytes().count(b"\n") >= 5):
                break
            time.sleep(0.02)
        started.kill()
    before = journal.read_bytes()
    kept = before[: before.rfind(b"\n") + 1]
    assert kept.count(b"\n") >= 5
    assert run(*arguments, "o")[0] == 0
    assert run(*arguments, "undisturbed")[0] == 0
    assert journal.read_bytes().startswith(kept)
    assert read(tmp_path / "o") == read(tmp_path / "undisturbed")
    assert dq.read_result("o/result.json").settings[0].repetitions == 40


def test_an_estimate_names_the_units_that_an_audit_needs_and_tries_none(tmp_path: Path) -> None:
    """Of fixed masks exactly; of a range about as many as its search looks at."""
    snooper = Snooper(overlap=0.5, label_error=0.1)
    audit = make_audit("affine", "gaussian:sigma=9km", n=24, repetitions=4, attacks=("labels",), snooper=snooper)
    expected = estimate_audit(audit)
    assert expected.units == 2 * 4
    assert not expected.records
    assert expected.seconds > 0
    assert expected.sentence(2).values["units"] == 8
    run_audit(audit, folder=tmp_path)
    done = [WrittenUnit(**line["unit"]) for line in lines(tmp_path)]
    foreseen = [unit.write() for unit in expected.expected]
    assert sorted(unit.part for unit in foreseen) == sorted(unit.part for unit in done)  # of whichever setting


@pytest.mark.long
def test_the_folder_of_a_study_is_not_taken_for_an_audit(run: Run) -> None:
    """Each says whose the folder is."""
    code, _, err = run("study", "--n", "20", "--common", "5", "--repetitions", "1", "--no-figures", "--out", "s")
    assert code == 0, err
    with pytest.raises(InputError, match=r"no audit\.json"):
        run_audit(make_audit(n=20), folder="s")


@pytest.mark.parametrize("with_records", [False, True])
def test_the_result_holds_no_person_unless_asked_to(tmp_path: Path, with_records: bool) -> None:
    """Without records no id and no coordinate is in it, with records they are."""
    audit = make_audit("affine", "knn:k=5", n=30)
    run_audit(audit, folder=tmp_path, with_records=with_records)
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    place = audit.points
    assert place is not None
    assert ("p007" in text) == with_records
    assert (f"{place.coordinates[7, 0]:.6f}"[:8] in text) == with_records
    assert "p007" in (tmp_path / "records.csv").read_text(encoding="utf-8")
    assert decode_result(text.encode()).records is None or with_records


def test_a_folder_of_another_audit_names_the_option_that_differs(tmp_path: Path) -> None:
    """Not the first that a file merely writes otherwise: tuples are lists there."""
    plan = {"attacks": ["labels"], "repetitions": 1, "person_trials": 1, "sensitivity": False}
    dq.audit(make_file(20), ["affine", "round:to=5km"], folder=tmp_path, **plan)
    with pytest.raises(InputError) as refused:
        dq.audit(make_file(20), ["affine", "round:to=5km"], folder=tmp_path, seed=3, **plan)
    inside = [value for value in refused.value.message.values.values() if isinstance(value, Message)]
    assert [one.values["option"] for one in inside if one.code == "option_differs"] == ["seed"]
