"""``disclique mask``: what is released, what is not, and that it can be repeated only with the recipe."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import Run
from disclique.data.distances import full_matrix


@pytest.fixture(autouse=True)
def file(tmp_path: Path) -> None:
    """The file of the data holder, in the folder in which commands are run."""
    rng = np.random.default_rng(0)
    pd.DataFrame(
        {
            "id": [f"person-{k}" for k in range(40)],
            "name": [f"name-{k}" for k in range(40)],
            "sex": rng.choice(["f", "m"], 40),
            "lon": rng.uniform(9, 11, 40),
            "lat": rng.uniform(49, 51, 40),
        }
    ).to_csv(tmp_path / "f.csv", index=False)


MASK = ("mask", "f.csv", "--id", "id", "--coordinates", "lon,lat", "--label", "sex")


def test_a_release_holds_labels_and_distances_only(run: Run) -> None:
    """No id, name or coordinate in the released files; the recipe warns; the key only if asked for."""
    before = Path("f.csv").read_bytes()
    code, _, err = run(*MASK, "--mask", "gaussian:sigma=500m", "--out", "r/release.csv")
    assert code == 0, err
    assert {p.name for p in Path("r").iterdir()} == {"release.csv", "release_distances.csv", "release_recipe.json"}
    table = pd.read_csv("r/release.csv")
    assert list(table.columns) == ["sex"]
    assert len(table) == 40
    recipe = json.loads(Path("r/release_recipe.json").read_text())
    assert recipe["mask"] == "gaussian:sigma=500m"
    assert "do not publish" in recipe["warning"]
    assert len(recipe["inputs"]["f.csv"]) == 64
    assert Path("f.csv").read_bytes() == before
    assert "released columns: sex" in err


def test_the_distances_are_those_of_the_released_rows(run: Run) -> None:
    """Without protection (affine) the key leads every distance back to the file; rows are in another order."""
    assert run(*MASK, "--mask", "affine", "--out", "r.csv", "--key", "k.csv", "--seed", "3")[0] == 0
    key, table, file = pd.read_csv("k.csv"), pd.read_csv("r.csv"), pd.read_csv("f.csv")
    rows = key["file_row"].to_numpy() - 1
    assert sorted(rows) == list(range(40))
    assert (rows != np.arange(40)).any()
    assert table["sex"].tolist() == file["sex"].iloc[rows].tolist()
    assert key["id"].tolist() == file["id"].iloc[rows].tolist()
    original = full_matrix(dq.microdata(file, ["sex"], coordinates=["lon", "lat"]).distances)
    released = np.loadtxt("r_distances.csv", delimiter=",")
    np.testing.assert_allclose(released, original[np.ix_(rows, rows)], atol=1e-6)
    assert (released == released.T).all()


def test_the_recipe_repeats_the_release_and_no_seed_means_a_new_one(run: Run) -> None:
    """The seed of the recipe gives the same bytes; without one every release differs, also for seed 0 and 1."""
    spec = ("--mask", "gaussian:sigma=500m")
    for name in ("a", "b"):
        assert run(*MASK, *spec, "--out", f"{name}.csv")[0] == 0
    assert Path("a_distances.csv").read_bytes() != Path("b_distances.csv").read_bytes()
    seed = str(json.loads(Path("a_recipe.json").read_text())["seed"])
    assert run(*MASK, *spec, "--out", "c.csv", "--seed", seed)[0] == 0
    assert Path("a_distances.csv").read_bytes() == Path("c_distances.csv").read_bytes()
    file = dq.microdata(pd.read_csv("f.csv"), ["sex"], coordinates=["lon", "lat"])
    zero, one = (dq.release(file, "gaussian:sigma=500m", seed) for seed in (0, 1))
    assert not np.array_equal(zero.distances, one.distances)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_the_release_can_be_attacked_from_its_files(run: Run, kind: str) -> None:
    """Every kind of distance file is read again by the attack, which finds everybody behind a rigid motion."""
    more = ("--mask", "affine", "--out", "r.csv", "--matrix", kind, "--key", "k.csv")
    assert run(*MASK, *more)[0] == 0
    known = ("--known-coordinates", "lon,lat", "--label", "sex", "--within", "1m", "--unit", "km")
    code, out, err = run("attack", "r.csv", "f.csv", "--target-distances", f"r_distances.{kind}", *known)
    assert code == 0, err
    claimed = pd.read_csv("k.csv").set_index("released_row")["file_row"]
    pairs = [line.split("\t")[:2] for line in out.strip().splitlines()[1:]]
    assert len(pairs) == 40
    assert all(claimed[int(t)] == int(k) for t, k in pairs)


def test_unpublished_distances_stay_empty(run: Run) -> None:
    """Of a neighbour list only the published cells have a number."""
    assert run(*MASK, "--mask", "knn:k=3", "--out", "r.csv")[0] == 0
    values = pd.read_csv("r_distances.csv", header=None).to_numpy()
    assert np.isnan(values).mean() > 0.8
    assert (np.isfinite(values).sum(axis=1) >= 4).all()  # itself and three others


BAD = {
    ("--label", "id"): "never released",
    ("--label", "lon"): "never released",
    ("--label", "sex", "--matrix", "xlsx"): "choose one of csv, npy, parquet",
    ("--label", "sex", "--seed", "-1"): "a seed is",
    ("--label", "sex", "--mask", "round:to=1"): "the unit is missing",
    ("--label", "nothing"): "no column 'nothing'",
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_ends_in_one_sentence_and_no_file(run: Run, arguments: tuple[str, ...]) -> None:
    """Exit code 2, one line, nothing written."""
    base = ("mask", "f.csv", "--id", "id", "--coordinates", "lon,lat", "--mask", "affine", "--out", "r.csv")
    code, _, err = run(*base, *arguments)
    assert code == 2
    assert BAD[arguments] in err
    assert err.count("\n") == 1
    assert [p.name for p in Path().iterdir()] == ["f.csv"]


def test_a_release_without_labels_is_distances_alone(run: Run) -> None:
    """The table then only counts its rows, and is read again by those who get it."""
    base = ("mask", "f.csv", "--id", "id", "--coordinates", "lon,lat", "--mask", "affine")
    code, _, err = run(*base, "--out", "r.csv")
    assert code == 0, err
    assert "released columns: none" in err
    assert pd.read_csv("r.csv").to_dict("list") == {"record": list(range(1, 41))}
    data = dq.read("r.csv", distances="r_distances.csv")
    assert len(data) == 40


def test_a_release_from_python(tmp_path: Path) -> None:
    """The same seed gives the same noise in a release and in masked microdata; without one it is always another."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "<b>"], 30), "name": [f"n{k}" for k in range(30)]})
    file = dq.microdata(frame, ["sex"], coordinates=rng.uniform(40, 50, (30, 2)), ids="name")
    mask = dq.parse_mask("gaussian:sigma=5km")
    made, masked = dq.release(file, mask, 7), dq.mask(file, mask.spec, 7)
    assert masked.ids == file.ids
    np.testing.assert_array_equal(made.distances, full_matrix(masked.distances)[np.ix_(made.key, made.key)])
    assert not np.array_equal(full_matrix(dq.mask(file, mask).distances), full_matrix(masked.distances))
    assert repr(made) == "Release(30 records, columns (sex), mask gaussian:sigma=5km)"
    assert "<b>" not in made._repr_html_()
    written = made.save(str(tmp_path / "r.csv"), kind="npy", key=tmp_path / "k.csv")
    np.testing.assert_array_equal(np.load(written["distances"]), made.distances)
    assert pd.read_csv(tmp_path / "k.csv")["id"].tolist() == [f"n{k}" for k in made.key]
