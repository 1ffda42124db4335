"""The public door: every name is there, explained and shown in use; importing it is light."""

import inspect
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.attacks import attacks


@pytest.mark.parametrize("name", dq.__all__)
def test_every_public_name_is_explained_and_shown(name: str) -> None:
    """A docstring with an example; the examples themselves are run as tests of ``src``."""
    found = getattr(dq, name)
    assert found.__name__ == ("disclique.show" if name == "plots" else name)
    said = inspect.getdoc(found) or ""
    assert said.splitlines()[0].endswith("."), "the first line says what it is"
    assert ">>> " in said, "an example"


def test_nothing_else_is_at_the_door() -> None:
    assert sorted(dq.__all__) == sorted(set(dq.__all__)) == dir(dq)
    assert set(dq.__all__) == {*dq._HOME, "plots"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dq.nothing
    with pytest.raises(ImportError):
        from disclique import nothing  # noqa: F401


def test_the_version_is_at_the_door() -> None:
    """The one that the package was installed with, found when it is asked for."""
    assert dq.__version__ == version("disclique")
    assert loaded_by("import disclique; assert disclique.__version__") == []


@pytest.fixture(scope="module")
def values() -> dict[str, object]:
    """A value of every kind that public functions return or take, most of them of the survey."""
    rng, labels = np.random.default_rng(0), ["sex", "age_class"]
    people = dq.microdata(dq.survey(), labels, coordinates=["lon", "lat"], ids="id")
    few = dq.microdata(dq.survey().iloc[:40], labels, coordinates=["lon", "lat"], ids="id")
    mask = dq.parse_mask("gaussian:sigma=500m")
    learned = dq.calibrate(mask, points=people.distances.coordinates, rng=rng)
    told = dq.learn(mask, learned, people.distances, common=0.2, rng=rng).at(0.5, learned)
    target, who = dq.mask(few, mask.spec, seed=1, key=True)
    found = {by: dq.attack(target, few, by=by, knowledge=told, truth=who) for by in ("clique", "register")}
    audited = dq.audit(few, ["affine", mask.spec], attacks=["labels", "register"], repetitions=1, with_records=True)
    work = found["clique"].claims.work
    columns = [f"column {k}" for k in range(100)]
    wide = dq.microdata(pd.DataFrame(0, index=[0, 1], columns=columns), columns, distances=[[0, 1], [1, 0]])
    topped = dq.calibrate(dq.parse_mask("topcode:max=300km"), rng=rng)
    return {
        **{f"audit {name}": getattr(audited, name) for name in ("verdict", "file", "snooper", "plan", "records")},
        **{f"attack by {by}": result for by, result in found.items()},
        **{f"claims by {by}": result.claims for by, result in found.items()},
        **{f"attack {name}": kind.build(told, dq.Search()) for name, kind in attacks().items()},
        **{"audit": audited, "setting": audited.settings[0], "people": people, "target": target, "wide": wide},
        **{"mask": mask, "calibration": learned, "knowledge": told, "bounds": topped.agreement(0.5), "topped": topped},
        **{"work": work, "clique": work.clique, "cliques": work.cliques, "risk": found["clique"].risk},
        "many": dq.Plan(tuple(f"gaussian:sigma={k}m" for k in range(1, 60))),
        "seeds": dq.Knowledge(seeds=[(k, k) for k in range(100)]),
        "gower": dq.Points([[*range(50), "a"]] * 3, "gower"),
        "release": dq.release(few, mask),
        "utility": dq.utility(few.distances, target.distances, rng=rng),
        "study": dq.study(sigma=0.01, alpha=0.5, repetitions=1, n=60, common=10, attack="labels"),
        "candidates": dq.LabelRule().candidates(target, few),
        "search": dq.Search(budget=dq.Budget(work=1)),
        "rule": dq.LabelRule(comparators={f"c{k}": dq.Exact(0.1) for k in range(50)}),
    }


def test_values_are_shown_in_one_short_line(values: dict[str, object]) -> None:
    """No arrays, no pages; what print() says of a result may be longer."""
    for name, value in values.items():
        assert len(repr(value)) < 300, name
        assert "\n" not in repr(value), name
        assert "array(" not in repr(value), name
    assert "100 % could be found" in repr(values["audit"])
    assert values["audit"].verdict.sentences[0] in str(values["audit"])  # type: ignore[attr-defined]
    assert "precision" in str(values["attack by register"])


def loaded_by(script: str) -> list[str]:
    """The heavy libraries that a fresh Python has loaded after a script."""
    heavy = ["numba", "pandas", "scipy", "matplotlib", "numpy", "sklearn", "pyproj", "msgspec", "pyarrow", "rapidfuzz"]
    heavy += [
        "altair",
        "vl_convert",
        "jinja2",
        "starlette",
        "uvicorn",
        "geopandas",
        "distributed",
        "igraph",
        "networkx",
    ]
    script += f"\nimport sys; print('loaded', *[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()[1:]


def test_importing_is_light() -> None:
    """Neither the package nor its help loads numerical libraries."""
    helped = "from typer.testing import CliRunner\nassert CliRunner().invoke(app, ['--help']).exit_code == 0"
    assert loaded_by(f"import disclique\ndir(disclique)\nfrom disclique.cli import app\n{helped}") == []


def test_results_do_not_load_what_they_do_not_need() -> None:
    """An attack needs no pictures and no web page."""
    script = "import disclique as dq; dq.attack(*dq.poets(), agreement=dq.Within(5))"
    assert "matplotlib" not in loaded_by(script)
