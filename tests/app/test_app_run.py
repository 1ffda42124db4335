"""Run in the app: the result of the command line, pauses that lose nothing, and no process left behind."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from disclique.app.beside import hide_paths
from disclique.app.places import Places
from disclique.app.projects import (
    ABOUT,
    BEGUN,
    DONE,
    FAILED,
    INPUT,
    JOURNAL,
    NEW,
    PAUSED,
    RUNNING,
    WAITING,
    Project,
    Projects,
)
from disclique.app.runner import Runner, is_changed
from disclique.app.status import Board, read_status
from disclique.app.worker import carry_out_project
from disclique.audits.result import read_result
from disclique.cli import app
from disclique.errors import InputError
from small_files import people, without_times

pytestmark = pytest.mark.long

SAID = {
    "id": "id",
    "label": ["sex", "age"],
    "coordinates": "lon,lat",
    "attack": ["labels"],
    "repetitions": 2,
    "person_trials": 10,
    "sensitivity": False,
}
SLOW = SAID | {"repetitions": 400, "mask": ["gaussian:sigma=2km"]}


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[Projects]:
    start = tmp_path / "start"
    start.mkdir()
    places = Places(start)
    yield Projects(places)
    places.remove()


@pytest.fixture
def runner(projects: Projects) -> Iterator[Runner]:
    found = Runner(projects, processes=1)
    yield found
    found.close()


def begin(projects: Projects, said: dict[str, object], n: int = 30, name: str = "survey.csv") -> Project:
    """A project on a file that was uploaded, with its roles confirmed."""
    folder = projects.places.scratch()
    (folder / INPUT).mkdir()
    people(n).to_csv(folder / INPUT / "upload.csv", index=False)
    project = projects.begin(name, folder / INPUT / "upload.csv", folder)
    return projects.save(replace(project.with_said(**said), checked=True))


def wait_for(runner: Runner, project: Project, *states: str, seconds: float = 120) -> str:
    end = time.monotonic() + seconds
    while (state := runner.state(project)) not in states and time.monotonic() < end:
        time.sleep(0.05)
    assert state in states, (state, read_status(project.folder))
    return state


def wait_for_units(project: Project, many: int, seconds: float = 120) -> int:
    journal, end = project.folder / JOURNAL, time.monotonic() + seconds
    while time.monotonic() < end:
        if journal.exists() and (found := journal.read_bytes().count(b"\n")) >= many:
            return found
        time.sleep(0.02)
    raise AssertionError(read_status(project.folder))


def test_result_is_that_of_the_command_line_also_after_a_pause(
    projects: Projects, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = SAID | {"mask": ["gaussian:sigma=2km", "round:to=20km"], "max_risk": 0.2}
    project = begin(projects, said)
    project = projects.save(replace(project, declared={"author": "A. Meyer"}))
    assert runner.state(project) == NEW
    assert not runner.busy
    runner.start(project)
    assert runner.state(project) == RUNNING
    assert runner.busy
    for move in (projects.remove, lambda project: projects.keep(project, "kept")):
        with pytest.raises(InputError, match="pause it first"):
            move(project)
    before = wait_for_units(project, 1)
    assert json.loads((project.folder / "status.json").read_bytes())["state"] == RUNNING
    process = runner.running.process.pid if runner.running else 0
    runner.end(project)
    assert runner.state(project) == PAUSED
    assert not runner.busy
    assert not in_group(process)
    kept = (project.folder / JOURNAL).read_bytes().rpartition(b"\n")[0]
    assert kept.count(b"\n") + 1 >= before
    assert [row.mask for row in read_status(project.folder).settings] == ["gaussian", "round"]
    runner.start(project)
    wait_for(runner, project, DONE)
    assert (project.folder / JOURNAL).read_bytes().startswith(kept)

    (tmp_path / "survey.csv").write_bytes(Path(project.file).read_bytes())
    (tmp_path / "audit.toml").write_text(project.toml, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    line = "audit survey.csv --config audit.toml --out there --processes 1 --quiet"
    told = CliRunner().invoke(app, line.split())
    assert told.exit_code in (0, 3, 4), told.output
    ours, theirs = read_result(project.result), read_result(Path("there/result.json"))
    assert without_times(ours) == without_times(theirs)
    assert ours.declared.author == "A. Meyer"
    assert ours.file.name == "survey.csv"
    assert ours.command.replace("--out audit", "--out there") == theirs.command
    assert (project.folder / "records.csv").read_bytes() == Path("there/records.csv").read_bytes()
    for written in project.folder.iterdir():  # no path of this machine, and not the name that we gave the file
        if written.suffix in (".html", ".json", ".csv") and written.name not in ("app.json", "begun.json"):
            text = written.read_text(encoding="utf-8")
            assert str(projects.places.private) not in text, written.name
            assert "upload.csv" not in text, written.name
    status = read_status(project.folder)
    assert status.state == DONE
    assert status.limit == 0.2
    assert [row.brief for row in status.settings] == ["gaussian:sigma=2km", "round:to=20km"]
    for row, setting in zip(status.settings, ours.settings, strict=True):  # the picture ends where the report is
        assert row.done == row.wanted == 2
        assert row.use == pytest.approx(setting.usefulness)
        found = journal_oracle(project, setting.spec)
        assert row.risk == pytest.approx(sum(found) / len(found))


def journal_oracle(project: Project, spec: str) -> list[float]:
    """What the oracle found in the releases of a setting, as the journal has it: the snooper knows everybody."""
    lines = map(json.loads, (project.folder / JOURNAL).read_text(encoding="utf-8").splitlines())
    found = [line["record"] for line in lines if line["unit"]["mask"] == spec and not line["unit"].get("part")]
    return [record["oracle"]["hits"]["prosecutor"] / len(record["common"]) for record in found]


def test_second_audit_waits_for_the_first(projects: Projects, runner: Runner) -> None:
    first, second, third = begin(projects, SLOW), begin(projects, SLOW), begin(projects, SLOW)
    for project in (first, second, third, second):  # started twice is started once
        runner.start(project)
    assert [runner.state(project) for project in (first, second, third)] == [RUNNING, WAITING, WAITING]
    runner.end(second)
    assert runner.state(second) == NEW
    runner.end(first)
    assert runner.state(third) == RUNNING
    assert runner.state(first) in (NEW, PAUSED)
    runner.close()
    assert runner.state(third) in (NEW, PAUSED)
    assert not runner.busy


def test_bad_input_is_told_in_a_sentence_without_a_path(projects: Projects, runner: Runner) -> None:
    project = begin(projects, SAID | {"mask": ["gaussian:sigma=2km"], "label": ["nobody"]})
    with chdir(project.folder), Board(project.folder, lambda said: hide_paths(said, project)) as board:
        with pytest.raises(InputError) as raised:
            carry_out_project(project, "audit", 1, board)
        board.fail(raised.value.message)
    assert runner.state(project) == FAILED
    assert str(read_status(project.folder).problem).startswith("survey.csv: no column 'nobody'")


def test_changed_plan_is_not_mixed_with_what_is_finished(projects: Projects, runner: Runner) -> None:
    project = begin(projects, SLOW)
    (project.folder / BEGUN).write_bytes((project.folder / ABOUT).read_bytes())
    (project.folder / JOURNAL).write_bytes(b"finished\n")
    same = projects.save(project.with_said(sensitivity=None, memory="1GB"))
    assert not is_changed(same)  # as the journal does not depend on these
    changed = projects.save(project.with_said(mask=["gaussian:sigma=5km"]))
    assert is_changed(changed)
    with pytest.raises(InputError, match="begin anew"):
        runner.start(changed)
    assert not runner.busy
    fresh = runner.begin_anew(changed)
    assert fresh.folder != project.folder
    assert fresh.said["mask"] == ["gaussian:sigma=5km"]
    assert fresh.checked
    assert Path(fresh.file).is_relative_to(fresh.folder)
    assert Path(fresh.file).read_bytes() == Path(project.file).read_bytes()
    assert runner.state(fresh) == NEW
    again = projects.get(project.id)
    assert again.said["mask"] == ["gaussian:sigma=2km"]
    assert not is_changed(again)
    assert (project.folder / JOURNAL).read_bytes() == b"finished\n"
    projects.save(again.with_said(mask=["affine"]))
    assert runner.take_back(projects.get(project.id)).said["mask"] == ["gaussian:sigma=2km"]


def in_group(leader: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = entry.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) == leader and state != "Z":
            found.append(int(entry.parent.name))
    return found


SERVER = """
import sys, time
from pathlib import Path
from disclique.app.places import Places
from disclique.app.runner import Runner
from disclique.app.projects import Projects
places = Places(Path(sys.argv[1]))
projects = Projects(places)
runner = Runner(projects, processes=2)
runner.start(projects.list()[0])
print(runner.running.process.pid, places.private, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
def test_killed_server_leaves_no_process_behind(projects: Projects, runner: Runner) -> None:
    project = projects.keep(begin(projects, SLOW), "kept")
    command = [sys.executable, "-c", SERVER, str(projects.places.start)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        with server.stdout as said:
            leader, private = said.readline().split()
        end = time.monotonic() + 120
        while len(in_group(int(leader))) < 3 and time.monotonic() < end:  # itself and two that it started
            time.sleep(0.05)
        assert len(in_group(int(leader))) >= 3
    finally:
        server.kill()
        server.wait()
    end = time.monotonic() + 20
    while in_group(int(leader)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not in_group(int(leader))
    assert runner.state(project) == PAUSED  # whatever status.json said last
    shutil.rmtree(private, ignore_errors=True)  # another server may have found it abandoned
