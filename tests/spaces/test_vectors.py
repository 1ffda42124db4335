"""Vectors of any number of columns: metrics, files, masks, and everything that needs a map and says so."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from typer.testing import CliRunner

import disclique as dq
from builders import mask_in_order
from disclique.attacks import learn
from disclique.attacks.calibration import calibrate
from disclique.cli import app
from disclique.masks import masks
from disclique.show.plots import layout
from disclique.spaces import full_matrix
from small_files import LIGHT

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTORS = arrays(float, st.tuples(st.integers(2, 6), st.integers(1, 5)), elements=NUMBERS)


def table_of(n: int) -> pd.DataFrame:
    return pd.DataFrame({"id": range(n), "sex": ["f", "m"] * (n // 2) + ["f"] * (n % 2)})


def vectors(n: int = 30, d: int = 16, metric: str = "euclidean", seed: int = 0) -> dq.Microdata:
    values = np.random.default_rng(seed).normal(size=(n, d))
    return dq.microdata(table_of(n), ["sex"], coordinates=values, metric=metric, ids="id", name="vectors")


@given(VECTORS)
def test_cosine_is_that_of_scipy(values: Any) -> None:
    values = values[np.linalg.norm(values, axis=1) > 1e-3]
    if len(values):
        found = full_matrix(dq.Points(values, "cosine"))
        np.testing.assert_allclose(found, cdist(values, values, "cosine"), atol=1e-7)
        assert (np.diag(found) == 0).all()
        assert (found >= 0).all()
        assert (found == found.T).all()


def test_cosine_takes_tiny_and_huge_vectors() -> None:
    found = full_matrix(dq.Points([[1e-200, 0], [0, 1e200], [1e-200, 1e-200]], "cosine"))
    np.testing.assert_allclose(
        found, [[0, 1, 1 - np.sqrt(0.5)], [1, 0, 1 - np.sqrt(0.5)], [1 - np.sqrt(0.5)] * 2 + [0]]
    )


def gower_by_hand(rows: list[list[Any]]) -> np.ndarray:
    """A slow twin: one pair and one column at a time."""
    ranges = []
    for k in range(len(rows[0])):
        there = [row[k] for row in rows if row[k] is not None]
        ranges.append(None if any(isinstance(v, str) for v in there) else max(there, default=0) - min(there, default=0))
    found = np.zeros((len(rows), len(rows)))
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            parts = []
            for x, y, extent in zip(a, b, ranges, strict=True):
                if x is None or y is None:
                    continue
                parts.append(float(x != y) if not extent else abs(x - y) / extent)
            found[i, j] = sum(parts) / len(parts)
    return found


MIXED = st.lists(
    st.tuples(
        st.integers(-50, 50).map(float),
        st.one_of(st.none(), st.sampled_from(["red", "green", "blue"])),
        st.one_of(st.none(), st.floats(0, 10)),
    ).map(list),
    min_size=2,
    max_size=7,
)


@given(MIXED)
def test_gower_is_the_mean_over_the_columns_present(rows: list[list[Any]]) -> None:
    np.testing.assert_allclose(full_matrix(dq.Points(rows, "gower")), gower_by_hand(rows), atol=1e-12)


def test_gower_of_columns_of_a_file_and_codes_of_categories() -> None:
    table = pd.DataFrame({"age": ["20", "40", "60"], "religion": ["1", "3", "2"]})
    as_numbers = dq.microdata(table, coordinates=["age", "religion"], metric="gower")
    as_codes = dq.microdata(table, coordinates=["age", "religion:category"], metric="gower")
    np.testing.assert_allclose(full_matrix(as_numbers.distances)[0], [0, 0.75, 0.75])
    np.testing.assert_allclose(full_matrix(as_codes.distances)[0], [0, 0.75, 1])


@pytest.mark.parametrize(
    ("values", "metric", "message"),
    [
        ([[1.0, 2.0], [0.0, 0.0]], "cosine", "mine: row 2: the vector is zero"),
        ([[1.0, 2.0, 3.0]] * 2, "sphere", "longitude, latitude"),
        ([[1.0, np.nan]] * 2, "euclidean", "finite number"),
        ([1.0, 2.0], "euclidean", "one row of numbers per record"),
        ([[1.0]] * 2, "manhattan", "choose one of sphere, wgs84, euclidean, cosine, gower"),
        ([[np.inf, "a"], [1.0, "b"]], "gower", "row 1, column 1 = inf"),
    ],
)
def test_what_is_no_vector_is_said(values: Any, metric: str, message: str) -> None:
    with pytest.raises(dq.InputError, match=message):
        dq.microdata(
            table_of(2),
            coordinates=np.array(values, dtype=object) if metric == "gower" else values,
            metric=metric,
            name="mine",
        )


def test_records_without_a_common_column_have_no_gower_distance() -> None:
    lonely = dq.Points([[1.0, None], [None, "a"], [2.0, "b"]], "gower")
    with pytest.raises(dq.InputError, match="records 1 and 2 have no column in which both have a value"):
        full_matrix(lonely)


def test_three_columns_without_a_metric_are_not_taken_for_places() -> None:
    with pytest.raises(dq.InputError, match="for vectors say the metric, euclidean, cosine or gower"):
        dq.microdata(pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, 2]}), coordinates=["a", "b", "c"])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@settings(max_examples=20)
@given(seed=st.integers(0, 99), d=st.integers(2, 6))
def test_a_rotation_keeps_every_distance(metric: str, seed: int, d: int) -> None:
    file = vectors(8, d, metric, seed).distances
    turned = dq.parse_mask("rotation").apply(file, np.random.default_rng(seed))
    assert isinstance(turned, dq.Points)
    np.testing.assert_allclose(full_matrix(turned), full_matrix(file), atol=1e-9)
    assert not np.allclose(turned.coordinates, file.coordinates)  # type: ignore[attr-defined]


def test_gaussian_noise_goes_to_every_coordinate() -> None:
    file = vectors(400, 16).distances
    moved = dq.parse_mask("gaussian:sigma=0.5").apply(file, np.random.default_rng(0))
    spread = (moved.coordinates - file.coordinates).std(axis=0)  # type: ignore[attr-defined]
    np.testing.assert_allclose(spread, 0.5, rtol=0.15)


def test_a_projection_of_directions_is_compared_by_the_cosine() -> None:
    file = vectors(20, 64, "cosine").distances
    found = dq.parse_mask("projection:dimensions=4000").apply(file, np.random.default_rng(0))
    np.testing.assert_allclose(full_matrix(found), full_matrix(file), atol=0.08)


PLANAR = {"disc:max=1", "donut:min=0.1,max=1", "laplace:epsilon=2", "dhs:urban=1,rural=1,far=2"}
ANY = {"gaussian:sigma=0.1", "grid:cell=0.5", "rotation", "projection:dimensions=3", "knn:k=3", "round:to=0.1"}


@pytest.mark.parametrize(("d", "metric"), [(1, "euclidean"), (3, "euclidean"), (16, "euclidean"), (2, "cosine")])
def test_masks_of_the_plane_refuse_vectors_and_the_others_take_them(d: int, metric: str) -> None:
    file, rng = vectors(20, d, metric).distances, np.random.default_rng(0)
    for spec in PLANAR:
        with pytest.raises(dq.InputError, match="moves points of the Earth or of a plane"):
            dq.parse_mask(spec).apply(file, rng)
    for spec in ANY:
        mask = dq.parse_mask(spec)
        assert mask.apply(file, rng).size == 20
        assert mask.reference
        told = learn(mask, calibrate(mask, points=file.coordinates, metric=metric, rng=rng), file, common=1.0, rng=rng)  # type: ignore
        assert told.deviation is not None


def test_every_mask_says_what_it_rests_on() -> None:
    assert all(kind.reference for kind in masks().values())
    assert masks()["gaussian"].dial == "sigma"
    assert masks()["projection"].dial == "dimensions"
    assert masks()["rotation"].dial is None


@pytest.mark.parametrize("name", ["register", "isomap"])
def test_attacks_by_a_map_refuse_vectors(name: str) -> None:
    for metric, why in (("euclidean", "16 columns: registration is for a plane"), ("cosine", "Earth or in the plane")):
        file = vectors(metric=metric)
        with pytest.raises(dq.InputError, match=why):
            dq.attack(
                mask_in_order(file, "rotation", 0), file, by=name, knowledge=dq.Knowledge(dq.Spread(0, 0, "plane"))
            )
    file = vectors()
    with pytest.raises(dq.InputError, match="16 columns: registration is for a plane"):
        dq.attack(file, file, by="ceiling", knowledge=dq.Knowledge(dq.Spread(0, 0, "plane")))


@pytest.mark.parametrize(("d", "metric"), [(1, "euclidean"), (3, "euclidean"), (2, "cosine"), (16, "cosine")])
def test_usefulness_and_pictures_need_no_plane(d: int, metric: str) -> None:
    file = vectors(30, d, metric)
    masked = dq.parse_mask("gaussian:sigma=0.1").apply(file.distances, np.random.default_rng(1))
    found = dq.utility(file.distances, masked, rng=np.random.default_rng(0))
    assert found["displacement_ripley"] is None
    assert (found["displacement_centre_drift"] is None) == (metric == "cosine")
    assert found["neighbours"] is not None
    places = layout(file)
    assert places.shape == (30, 2)
    if d == 1:  # a line is kept by its distances
        np.testing.assert_allclose(cdist(places, places), full_matrix(file.distances), atol=1e-8)


def test_vectors_of_one_direction_are_twins_by_the_cosine() -> None:
    values = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    file = dq.microdata(pd.DataFrame({"k": range(4)}), coordinates=values, metric="cosine")
    assert dq.attack(file, file, by="labels").twins == ((1, 2),)


def test_a_rigid_motion_of_a_plane_hides_nothing_from_registration() -> None:
    file = vectors(40, 2)
    found = dq.audit(file, ["rotation", "affine"], attacks=["register"], repetitions=1)
    assert [s.risk.value for s in found.settings] == [1.0, 1.0]


def write_files(folder: Path, n: int = 24, d: int = 5) -> np.ndarray:
    values = np.random.default_rng(3).normal(size=(n, d))
    table_of(n).to_csv(folder / "people.csv", index=False)
    np.save(folder / "people.npy", values.astype(np.float32))
    columns = {f"v{k}": values[:, k] for k in range(d)}
    table_of(n).assign(**columns).to_csv(folder / "wide.csv", index=False)
    return values


def run(*arguments: object) -> str:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return found.output + (repr(found.exception) if found.exception else "")


def test_commands_take_vectors_from_columns_and_files(tmp_path: Path) -> None:
    values = write_files(tmp_path)
    common = ("--id", "id", "--label", "sex")
    wide, table, array = tmp_path / "wide.csv", tmp_path / "people.csv", tmp_path / "people.npy"
    columns = ("--coordinates", "v0,v1,v2,v3,v4", "--metric", "cosine")
    run("mask", wide, *common, *columns, "--mask", "rotation", "--out", tmp_path / "r.csv", "--matrix", "npy",
        "--key", tmp_path / "key.csv", "--seed", 1)  # fmt: skip
    released = np.load(tmp_path / "r_distances.npy")
    order = pd.read_csv(tmp_path / "key.csv")["file_row"].to_numpy() - 1
    np.testing.assert_allclose(released, cdist(values, values, "cosine")[np.ix_(order, order)], atol=1e-9)
    pd.read_csv(tmp_path / "r.csv").assign(id=order).to_csv(tmp_path / "r_id.csv", index=False)
    run("attack", tmp_path / "r_id.csv", table, *common, "--target-distances", tmp_path / "r_distances.npy",
        "--known-vectors", array, "--metric", "cosine", "--within", "0.0001", "--truth", "id", "--attack", "extend",
        "--json", tmp_path / "found.json")  # fmt: skip
    assert json.loads((tmp_path / "found.json").read_text())["attacks"][0]["recall"] == 1.0
    said = run("audit", table, *common, "--vectors", array, "--mask", "gaussian:sigma=0.01", "--repetitions", 1,
               *LIGHT,
               "--attack", "extend", "--processes", 1, "--out", tmp_path / "audit")  # fmt: skip
    found = dq.read_result(tmp_path / "audit" / "result.json")
    assert found.settings[0].risk.value == 1.0, said


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: np.save(f, np.zeros((3, 2))), "3 x 2, but the table has 24 records"),
        (lambda f: np.save(f, np.zeros(24)), "records x columns"),
        (lambda f: np.save(f, np.full((24, 2), np.nan)), "row 1, column 1 = nan"),
        (lambda f: f.write_text("no array"), "not a NumPy array"),
        (lambda f: None, "no such file"),
        (lambda f: np.save(f, np.zeros((24, 2))), "row 1: the vector is zero"),
    ],
)
def test_bad_vector_files_are_one_sentence(tmp_path: Path, make: Any, message: str) -> None:
    write_files(tmp_path)
    make(tmp_path / "bad.npy")
    with pytest.raises(dq.InputError, match=message):
        dq.read(tmp_path / "people.csv", vectors=tmp_path / "bad.npy", metric="cosine")


def test_one_source_of_distances(tmp_path: Path) -> None:
    write_files(tmp_path)
    array = tmp_path / "people.npy"
    with pytest.raises(dq.InputError, match="coordinate columns and a vector file are given"):
        dq.read(tmp_path / "people.csv", vectors=array, coordinates="v0,v1")
    with pytest.raises(dq.InputError, match="nothing gives distances"):
        dq.read(tmp_path / "people.csv")
    assert dq.read(tmp_path / "people.csv", vectors=array).distances.metric == "euclidean"  # type: ignore[attr-defined]
