"""Adding things: an attack, a measure, a mask or a solver is written in one place and is then found everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import disclique as dq
from builders import mask_in_order
from conftest import Run
from disclique.attacks import registry as attack_registry
from disclique.attacks.claims import make_claims
from disclique.cli import app
from disclique.cli.options import FIRST
from disclique.engine import SOLVERS, Solver
from disclique.engine.stopwatch import Stopwatch
from disclique.errors import TooLarge
from disclique.masks import registry as mask_registry
from disclique.masks.base import EntryMask
from disclique.measures import utility as measure_registry
from disclique.measures.utility import Measure, register_measure, utility
from disclique.model import Candidates, Clique, Graph, ProductGraph
from disclique.values import FloatArray
from small_files import LIGHT

pytestmark = pytest.mark.long
SMALL_STUDY = {"sigma": 0.01, "alpha": 0.5, "repetitions": 1, "n": [30, 20], "common": 10}


@pytest.fixture(autouse=True)
def _undone() -> Iterator[None]:
    """Take back whatever a test registers."""
    registries = (attack_registry._ATTACKS, mask_registry._MASKS, measure_registry._MEASURES, SOLVERS)
    before = [dict(registry) for registry in registries]
    yield
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)  # type: ignore[arg-type]


@pytest.fixture
def people() -> dq.Microdata:
    return dq.microdata(dq.survey().iloc[:30], ["sex"], coordinates=["lon", "lat"], ids="id")


@pytest.fixture
def file(run: Run) -> str:
    """The same people as a file in the present folder."""
    dq.survey().iloc[:30].to_csv("people.csv", index=False)
    return "people.csv"


COLUMNS = ("--label", "sex", "--coordinates", "lon,lat", "--id", "id")


def help_of(command: str) -> str:
    how = "--help-all" if command in FIRST else "--help"
    shown = CliRunner(env={"COLUMNS": "400", "TERM": "dumb"}).invoke(app, [command, how])
    assert shown.exit_code == 0
    return shown.output


def register_same_row() -> None:
    @dq.register_attack
    @dataclass(frozen=True)
    class SameRow(dq.Attack):
        """Claims that the files are in the same order."""

        name: ClassVar[str] = "samerow"
        needs: ClassVar[str] = "files that nobody shuffled"
        summary: ClassVar[str] = "The record in row i is the known person in row i."

        @classmethod
        def build(cls, knowledge: dq.Knowledge, search: dq.Search) -> Self:
            return cls()

        def run(self, target: dq.Microdata, known: dq.Microdata, candidates: Candidates) -> dq.Claims:
            rows = np.arange(min(len(target), len(known)), dtype=np.int32)
            return make_claims((rows, rows, np.full(len(rows), 0.75)), attack=self.name)


def test_an_attack_is_found_everywhere(people: dq.Microdata, file: str, run: Run) -> None:
    """In help texts, from Python, on the command line, in a study, an audit, and its report with method and charts."""
    for command in ("attack", "study", "audit"):
        assert "samerow" not in help_of(command)
    register_same_row()
    for command in ("attack", "study", "audit"):
        assert "samerow" in help_of(command)
    assert "samerow" in dq.attack_names()

    found = dq.attack(people, people, by="samerow", truth="id")
    assert (found.risk.precision, found.risk.recall, found.claims.expected) == (1.0, 1.0, 22.5)
    code, out, err = run("attack", file, file, *COLUMNS, "--attack", "samerow", "--truth", "id", "--json", "r.json")
    assert code == 0, err
    assert len(out.splitlines()) == 31
    assert [entry["attack"] for entry in json.loads(Path("r.json").read_text())["attacks"]] == ["samerow"]

    cells = dq.study(**SMALL_STUDY, attack=["samerow", "labels"]).records.set_index("attack")
    assert cells.loc["samerow", "size"] == 20

    result = dq.audit(people, "affine", attacks=["samerow"], repetitions=2, executor=dq.Serial())
    assert [attack.attack for attack in result.settings[0].attacks] == ["samerow"]
    assert result.settings[0].risk.found is not None
    assert result.settings[0].risk.found.attack == "samerow"
    page = result.report()
    assert "The record in row i is the known person in row i." in page
    assert '"samerow"' in page.replace("\\u0022", '"')  # a value of a chart
    assert "(Kroll 2014)." not in page  # the clique was not run


def test_parameters_of_an_attack_do_not_hide_its_method() -> None:
    """An attack asked for by a spec with parameters is described in the report."""
    people = dq.microdata(dq.survey().iloc[:12], ["sex"], coordinates=["lon", "lat"], ids="id")
    result = dq.audit(people, "affine", attacks=["quasi:gamma=0.9"], repetitions=1)
    assert "a quasi-clique of the product graph" in result.report()


def register_too_large() -> None:
    @dq.register_attack
    @dataclass(frozen=True)
    class Huge(dq.Attack):
        """Would work, with more memory."""

        name: ClassVar[str] = "huge"
        needs: ClassVar[str] = "memory"
        summary: ClassVar[str] = "Needs more memory than there is."

        @classmethod
        def build(cls, knowledge: dq.Knowledge, search: dq.Search) -> Self:
            return cls()

        def run(self, target: dq.Microdata, known: dq.Microdata, candidates: Candidates) -> dq.Claims:
            raise TooLarge("it needs 900 GB")


def test_an_attack_that_is_too_large_never_looks_safe(people: dq.Microdata, file: str, run: Run) -> None:
    """A study counts it as unproven, an audit shows nothing by it, the command line says that it was not run."""
    register_too_large()
    result = dq.study(**SMALL_STUDY, attack=["huge", "labels"])
    assert result.summary.set_index("attack")["unproven"].to_dict() == {"huge": 1, "labels": 0}
    assert "huge: 1 runs have no proof" in " ".join(result.lines())
    decided = dq.audit(people, "affine", attacks=["huge"], repetitions=1, max_risk=0.5)
    assert decided.verdict.status == "fails"
    assert decided.settings[0].risk.found is None
    code, _, err = run("attack", file, file, *COLUMNS, "--attack", "huge", "--attack", "labels")
    assert code == 0
    assert "huge: no sign of safety: it was not carried out: it needs 900 GB" in err
    code, _, err = run("attack", file, file, *COLUMNS, "--attack", "huge")
    assert code == 2
    assert "it needs 900 GB" in err


def farthest(found: Any) -> float | None:
    return float(np.nanmax(found.after))


def test_a_measure_is_found_everywhere(people: dq.Microdata, file: str, run: Run) -> None:
    """In the table of utilities, the audit and its report, help texts, and as the rank by which a setting is chosen."""
    register_measure(Measure("farthest", "longest distance released", farthest, "{value} km", ranks=True))
    register_measure(Measure("close", "how close it stays", lambda found: -farthest(found), "{value} km", ranks=True))
    assert "farthest" in help_of("audit")
    measured = utility(people.distances, people.distances, rng=np.random.default_rng(0))
    rows = np.arange(30, dtype=np.int32)
    assert measured["farthest"] == people.distances.block(rows, rows).max()
    assert "longest distance released" in measured.table()["title"].tolist()
    masks = ["gaussian:sigma=900km", "round:to=3000km", "topcode:max=50km"]
    for name, best in (("farthest", masks[0]), ("close", masks[1])):
        result = dq.audit(people, masks, attacks="labels", repetitions=1, max_risk=0.99, utility=name)
        assert result.verdict.setting == best
        assert [s.usefulness == s.utility[name] for s in result.settings] == [True] * 3
        assert result.setting("topcode:max=50km").utility["farthest"] == 50
        assert "longest distance released" in result.report()
    options = (
        "--mask",
        masks[2],
        "--utility",
        "farthest",
        "--attack",
        "labels",
        "--repetitions",
        "1",
        *LIGHT,
    )
    code, out, err = run("audit", file, *COLUMNS, *options, "--out", "audit", "--processes", "1")
    assert code == 0, err
    assert pd.read_csv(pd.io.common.StringIO(out), sep="\t")["utility"].tolist() == [50]
    with pytest.raises(dq.InputError, match="already taken"):
        register_measure(Measure("farthest", "", farthest))


def test_a_mask_is_found_everywhere(people: dq.Microdata, file: str, run: Run) -> None:
    """By its spec in a release, an audit and a study, and in the help text of the audit."""

    @dq.register_mask
    @dataclass(frozen=True)
    class Doubled(EntryMask):
        """Every distance twice."""

        name: ClassVar[str] = "doubled"
        reference: ClassVar[str] = "nobody"

        def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str) -> FloatArray:
            return 2 * d

    assert "doubled" in help_of("audit")
    released = mask_in_order(people, "doubled")
    rows = np.arange(30, dtype=np.int32)
    np.testing.assert_array_equal(released.distances.block(rows, rows), 2 * people.distances.block(rows, rows))
    code, _, err = run("mask", file, *COLUMNS, "--mask", "doubled", "--out", "release.csv")
    assert code == 0, err
    longest = pd.read_csv("release_distances.csv", header=None).to_numpy().max()
    assert longest == pytest.approx(2 * people.distances.block(rows, rows).max())
    result = dq.audit(people, "doubled", attacks="labels", repetitions=1)
    assert result.settings[0].mask == "doubled"
    assert "doubled" in result.report()
    assert dq.study(**{**SMALL_STUDY, "sigma": None}, mask="doubled", attack="labels").records["mask"][0] == "doubled"


def test_a_solver_is_found_everywhere(people: dq.Microdata, file: str, run: Run) -> None:
    """In help texts, for plain graphs, in an attack and in a study; what it does not prove is a lower bound."""

    def first_vertex(graph: Graph | ProductGraph, stopwatch: Stopwatch) -> Clique:
        return Clique((0,), graph.order)

    SOLVERS["lazy"] = Solver("lazy", first_vertex, "the first vertex it sees", proves=False)
    assert "lazy (the first vertex it sees; no proof)" in help_of("clique")
    for command in ("attack", "study"):
        assert "lazy" in help_of(command)
    Path("g.clq").write_text("1 2\n2 3\n1 3\n")
    code, _, err = run("clique", "g.clq", "--solver", "all", "--json", "g.json")
    assert code == 0, err
    results = {row["solver"]: row for row in json.loads(Path("g.json").read_text())["results"]}
    assert (results["lazy"]["size"], results["lazy"]["bound"], results["lazy"]["proven"]) == (1, 3, False)
    assert results["exact"]["size"] == 3
    found = dq.attack(people, people, agreement=dq.Within(1), search=dq.Search(solver="lazy"))
    assert len(found.matches) == 1
    assert found.lower_bound
    assert "search by lazy ended before" in str(found.claims.cut)
    code, out, err = run("attack", file, file, *COLUMNS, "--within", "1", "--attack", "clique", "--solver", "lazy")
    assert (code, len(out.splitlines())) == (0, 2), err
    cells = dq.study(**SMALL_STUDY, solver="lazy").records
    assert cells["size"].tolist() == [1]
    assert not cells["proven"].any()
