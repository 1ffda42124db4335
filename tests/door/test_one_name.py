"""One name for one thing at the door of Python, and what users give it first: a wrong path, a GeoDataFrame, "all"."""

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import refused

PEOPLE = dq.survey().iloc[:40]
PLACES = ["lon", "lat"]


def test_ids_are_called_id_everywhere(tmp_path) -> None:
    """The name of old is understood, and what the command line calls label and attack."""
    path = tmp_path / "p.csv"
    PEOPLE.to_csv(path, index=False)
    made = dq.microdata(PEOPLE, ["sex"], coordinates=PLACES, id="id")
    for other in (
        dq.microdata(PEOPLE, ["sex"], coordinates=PLACES, ids="id"),
        dq.read(path, labels=["sex"], coordinates=PLACES, id="id"),
        dq.read(path, label=["sex"], coordinates=PLACES, ids="id"),
    ):
        assert (other.ids, list(other.labels.columns)) == (made.ids, ["sex"])
    PEOPLE.to_parquet(tmp_path / "p.parquet")
    for name in ("id", "ids"):
        register = dq.read_register(tmp_path / "p.parquet", ["sex"], coordinates=PLACES, **{name: "id"})
        assert register.layout.id == "id"


def test_attack_and_attacks_are_the_same() -> None:
    made = dq.microdata(PEOPLE, ["sex"], coordinates=PLACES, id="id")
    quick = {"repetitions": 1, "sensitivity": False, "person_trials": 1}
    results = [dq.audit(made, "affine", **{name: ["labels"]}, **quick) for name in ("attack", "attacks")]
    assert results[0].plan.attacks == results[1].plan.attacks == ("labels",)
    small = {"n": "20", "common": 5, "repetitions": 1, "mask": "gaussian:sigma=0.1deg", "alpha": [0.5], "seed": 1}
    cells = [dq.study(**small, **{name: ["labels"]}).records for name in ("attack", "attacks")]
    assert cells[0]["attack"].tolist() == cells[1]["attack"].tolist() == ["labels"]


def test_all_attacks_at_once_return_the_best() -> None:
    """As each of them alone finds; those that cannot be carried out are left out."""
    made = dq.microdata(PEOPLE, ["sex"], coordinates=PLACES, id="id")
    seen, who = dq.mask(made, "gaussian:sigma=1km", seed=3, key=True)
    best = dq.attack(seen, made, by="all", truth=who)
    assert best.risk is not None
    tried = {one.attack: one for one in (best, *best.beside)}
    assert {"labels", "register", "profiles"} <= set(tried)
    assert best.risk.tp == max(one.risk.tp for one in tried.values())
    for name in ("labels", "register"):
        assert tried[name].risk.tp == dq.attack(seen, made, by=name, truth=who).risk.tp
    two = dq.attack(seen, made, by=["labels", "register"], truth=who)
    assert (two.attack, [one.attack for one in two.beside]) == ("register", ["labels"])
    with refused("no_such_attack"):
        dq.attack(seen, made, by=["labels", "nothing"])


def test_a_file_that_is_not_there_is_said_to_be_so() -> None:
    with refused("no_such_file"):
        dq.read("nope.csv")


def test_a_geodataframe_is_understood() -> None:
    """Its points in its reference system are where a table of degrees puts them; without a system it is refused."""
    geopandas = pytest.importorskip("geopandas")
    points = geopandas.points_from_xy(PEOPLE["lon"], PEOPLE["lat"], crs=4326)
    layer = geopandas.GeoDataFrame(PEOPLE.drop(columns=PLACES), geometry=points).to_crs(25832)
    made = dq.microdata(layer, ["sex"], id="id")
    plain = dq.microdata(PEOPLE, ["sex"], coordinates=PLACES, id="id")
    rows = np.arange(len(PEOPLE), dtype=np.int32)
    assert np.allclose(made.distances.block(rows, rows), plain.distances.block(rows, rows), atol=1e-6)
    assert "geometry" not in made.table.columns
    assert made.source.crs == "EPSG:25832"
    released = dq.release(made, "gaussian:sigma=1km", seed=1, as_="places").table
    assert not {"geometry", "id"} & set(released.columns)
    assert released["x"].between(200_000, 1_000_000).all()
    with refused("crs_not_said"):
        dq.microdata(layer.set_crs(None, allow_override=True), ["sex"])


def test_a_verdict_in_a_notebook_begins_with_a_sentence() -> None:
    made = dq.microdata(PEOPLE, ["sex"], coordinates=PLACES, id="id")
    found = dq.audit(made, "affine", attack="labels", max_risk=0.1, repetitions=1, sensitivity=False, person_trials=1)
    shown = pd.Series([found._repr_html_()]).str.extract(r"<b>(.*?)</b>")[0][0]
    assert shown == found.verdict.sentences[0]
    assert shown.endswith(".")
