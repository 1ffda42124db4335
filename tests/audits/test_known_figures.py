"""Figures that other tools give, in an audit: of the file and of the release, by hand, and what was not measured."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import disclique as dq
from builders import refused
from disclique.audits.result import AuditResult, decode_result, encode_result, read_result
from disclique.cli import app
from disclique.geodesy import sphere_km
from disclique.masks.registry import parse_mask
from disclique.measures.disclosure import estimate_population_unique

N = 80
ASKED = {"repetitions": 1, "person_trials": 10, "sensitivity": False, "attacks": ["labels"]}


@cache
def town() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "sex": rng.choice(["f", "m"], N),
            "age": rng.integers(18, 60, N),
            "lon": 8.5 + rng.normal(0, 0.05, N),
            "lat": 50 + rng.normal(0, 0.05, N),
            "income": rng.lognormal(8, 0.5, N).round(),
            "ill": rng.choice(["yes", "no", "unknown"], N),
            "weight": rng.uniform(5, 50, N),
        }
    )


def audit(mask: str, frame: pd.DataFrame | None = None, **options: object) -> AuditResult:
    about = {"coordinates": ["lon", "lat"], "ids": "id", "name": "town"}
    about |= {name: options.pop(name) for name in ("sensitive", "weight", "numbers") if name in options}
    data = dq.microdata(town() if frame is None else frame, ["sex", "age"], **about)
    return dq.audit(data, mask, **ASKED | options)


def count_by_hand(*columns: pd.Series) -> np.ndarray:
    keys = list(zip(*columns, strict=True))
    return np.array([keys.count(key) for key in keys])


@cache
def coarse() -> AuditResult:
    """An audit in which the release has coarser labels than the file."""
    return audit("gaussian:sigma=2km | age=width:age:20", sensitive=["ill"], weight="weight")


def test_classes_are_those_of_the_file_and_of_the_release() -> None:
    """The release has its labels recoded; the file has them as they are."""
    file, release = coarse().figures
    people = town()
    for found, ages in ((file, people["age"]), (release, people["age"] // 20)):
        k = count_by_hand(people["sex"], ages)
        assert found.k == k.min()
        assert found.highest_risk == pytest.approx(1 / k.min())
        assert found.average_risk == pytest.approx((1 / k).mean())
        assert found.unique == pytest.approx((k == 1).mean())
        assert found.below == pytest.approx((k < 5).mean())
    assert (file.of, release.of) == ("file", "release")
    assert file.average_risk > release.average_risk


def test_diversity_is_that_of_the_released_classes() -> None:
    people = town()
    for found, ages in zip(coarse().figures, (people["age"], people["age"] // 20), strict=True):
        fewest = people.groupby([people["sex"], ages])["ill"].nunique().min()
        assert found.diversity == {"ill": fewest}
        assert 1 <= found.entropy_diversity["ill"] <= fewest + 1e-9


def test_the_population_is_weighed() -> None:
    """The share that was sampled follows from the weights; the risk of a record is at most 1/k, and above 1/F."""
    people = town()
    for found, ages in zip(coarse().figures, (people["age"], people["age"] // 20), strict=True):
        groups = people.groupby([people["sex"], ages])["weight"]
        sizes, totals = groups.size(), groups.sum()
        expected = estimate_population_unique(sizes.to_numpy(), N / people["weight"].sum())
        assert found.population_unique == pytest.approx(expected.share)
        assert found.population_model == expected.model
        assert found.journalist_risk is not None
        assert float((sizes / totals).sum() / N) < found.journalist_risk < found.average_risk


def test_nothing_is_said_of_a_population_that_nobody_named() -> None:
    for found in audit("gaussian:sigma=2km").figures:
        assert (found.population_unique, found.journalist_risk, found.population_model) == (None, None, "")


def test_a_sampling_fraction_stands_for_equal_weights() -> None:
    by_share = audit("gaussian:sigma=2km", sampling_fraction=0.04).figures
    by_weight = audit("gaussian:sigma=2km", town().assign(weight=25), weight="weight").figures
    assert by_share == by_weight
    assert by_share[0].population_unique is not None
    with refused("argument_is_not"):
        audit("gaussian:sigma=2km", sampling_fraction=0.0)
    whole = audit("gaussian:sigma=2km", sampling_fraction=1.0).figures[0]
    assert whole.population_unique == pytest.approx(whole.unique)
    assert whole.journalist_risk == pytest.approx(whole.average_risk)


@pytest.mark.parametrize("mask", ["projection:dimensions=2", "knn:k=5", "none"])
def test_what_is_no_place_hides_no_home(mask: str) -> None:
    """What one function makes of all places is not measured; what is left as it is protects nothing."""
    people = town().assign(x=town()["lon"] * 71, y=town()["lat"] * 111)
    data = dq.microdata(people, ["sex"], coordinates=["x", "y"], ids="id", metric="euclidean", unit="km")
    assert dq.audit(data, mask, **ASKED).figures[1].spatial_k in (None, 1.0)


@pytest.mark.parametrize("wrong", [0.0, -3.0, None, "many"])
def test_a_weight_that_stands_for_nobody_is_refused(wrong: object) -> None:
    people = town().astype({"weight": object})
    people.loc[6, "weight"] = wrong
    with refused("weight_of_nobody", row=7, column="weight"):
        audit("gaussian:sigma=2km", people, weight="weight")


def test_spatial_k_counts_homes_around_the_released_place() -> None:
    """Of a mask without chance: rounded places, compared along great circles."""
    homes = town()[["lon", "lat"]].to_numpy()
    places = parse_mask("grid:cell=5km").apply(dq.Points(homes), np.random.default_rng(1)).points()
    assert places is not None
    moved = places.coordinates
    far = sphere_km(moved[:, None], homes[None])
    k = (far <= np.diag(far)[:, None] + 1e-9).sum(axis=1)
    file, release = audit("grid:cell=5km").figures
    assert (file.spatial_k, file.spatial_k_below) == (1.0, 1.0)
    assert release.spatial_k == pytest.approx(np.median(k))
    assert release.spatial_k_below == pytest.approx((k < 5).mean())
    assert release.spatial_k > 1


def test_a_map_that_is_turned_hides_no_home() -> None:
    """However far a rigid motion takes the places, it protects nothing."""
    _, release = audit("affine").figures
    assert (release.spatial_k, release.spatial_k_below) == (1.0, 1.0)


def test_without_places_there_is_no_spatial_k() -> None:
    _, release = audit("matrix-gaussian:sd=2km").figures
    assert (release.spatial_k, release.spatial_k_below) == (None, None)


def test_numbers_divide_classes_as_they_are_released() -> None:
    """Rounded ones do; those with noise do not, and it is said that they do not count."""
    people, numbers = town(), {"income": "none"}
    file, release = audit("gaussian:sigma=2km | income=classes:2000,4000", numbers=numbers).figures
    classes = pd.cut(people["income"], [0, 2000, 4000, np.inf], right=False).astype(str)
    assert file.average_risk == pytest.approx(
        (1 / count_by_hand(people["sex"], people["age"], people["income"])).mean()
    )
    assert release.average_risk == pytest.approx((1 / count_by_hand(people["sex"], people["age"], classes)).mean())
    assert (file.uncounted, release.uncounted) == ((), ())
    noisy = audit("gaussian:sigma=2km | income=gaussian:500", numbers=numbers)
    assert noisy.figures[1].uncounted == ("income",)
    assert "income" in noisy.report().split("Figures that other tools give")[1].split("<h2>")[0]


def test_a_missing_label_is_a_value_of_its_own() -> None:
    """Counted as fitting anybody it would make classes larger, and the file look safer."""
    people = town().astype({"sex": object})
    people.loc[:9, "sex"] = None
    file = audit("gaussian:sigma=2km", people).figures[0]
    assert file.average_risk == pytest.approx((1 / count_by_hand(people["sex"], people["age"])).mean())


def test_figures_are_written_and_shown() -> None:
    """In result.json, as a table for notebooks, and in the report with what was not measured, in both languages."""
    result = coarse()
    assert decode_result(encode_result(result)).figures == result.figures
    table = result.known_figures
    assert list(table.columns) == ["file", "release", "known_from"]
    assert table.loc["k", "release"] == result.figures[1].k
    assert table.loc["diversity:ill", "file"] == result.figures[0].diversity["ill"]
    for language, title, missing in (
        ("en", "Figures that other tools give", "not measured"),
        ("de", "Kennzahlen, die andere Werkzeuge angeben", "nicht gemessen"),
    ):
        part = result.report(language=language).split(title)[1].split("<h2>")[0]
        assert missing not in part
        assert "MaskMyPy" in part
        assert "sdcMicro" in part
        bare = audit("matrix-gaussian:sd=2km").report(language=language).split(title)[1].split("<h2>")[0]
        assert bare.count(missing) == 6  # of both tables the population's two, of the release spatial k twice


def test_the_command_line_takes_weights_and_the_sampling_fraction(tmp_path: Path) -> None:
    """The same figures by the option as from Python."""
    town().to_csv(tmp_path / "town.csv", index=False)
    call = ["audit", str(tmp_path / "town.csv"), "--label", "sex", "--label", "age", "--id", "id"]
    call += ["--coordinates", "lon,lat", "--mask", "gaussian:sigma=2km", "--attack", "labels", "--repetitions", "1"]
    call += ["--person-trials", "10", "--no-sensitivity", "--sampling-fraction", "0.04", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, call)
    assert ran.exit_code == 0, ran.output
    found = read_result(tmp_path / "out" / "result.json").figures
    assert found == audit("gaussian:sigma=2km", sampling_fraction=0.04).figures
