"""Numbers in a release: in the unit of the file, with the digits that they have, and as the setting says."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import refused, rng
from conftest import Run
from disclique.masks.numbers import NumberRecoding
from disclique.masks.settings import Setting

NUMBERS = {"m_hospital": "m", "km_station": "km", "income": "none", "yob": "none"}
WAYS = "none | m_hospital=round:100m | km_station=classes:1km,5km | drop:income"
ASKED = [text for name, unit in NUMBERS.items() for text in ("--number", f"{name}:{unit}")]


def table(n: int = 60) -> pd.DataFrame:
    """Return people with numbers, some of them missing."""
    chance = rng(5)
    people = pd.DataFrame(
        {
            "id": [f"person-{k}" for k in range(n)],
            "sex": chance.choice(["f", "m"], n),
            "m_hospital": np.round(chance.uniform(20, 9000, n), 1),
            "km_station": np.round(chance.gamma(2, 2.0, n), 3),
            "income": chance.integers(9000, 90000, n).astype(float),
            "yob": chance.integers(1930, 2000, n),
            "lon": chance.uniform(9, 11, n),
            "lat": chance.uniform(49, 51, n),
        }
    )
    people.loc[[3, 7], "m_hospital"] = np.nan
    people.loc[5, "km_station"] = np.nan
    return people


def file(**columns: object) -> dq.Microdata:
    """Return them as microdata without distances."""
    return dq.microdata(table(), ["sex"], ids="id", numbers=NUMBERS, **columns)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def people(tmp_path: Path) -> None:
    """Put the file into the folder in which commands are run."""
    table().to_csv(tmp_path / "f.csv", index=False)


def test_a_file_without_distances_is_a_table_alone(run: Run) -> None:
    """Numbers in their unit, classes in words, nothing of ids, places and what was dropped; no file of distances."""
    spec = (
        "mask",
        "f.csv",
        "--id",
        "id",
        "--label",
        "sex",
        *ASKED,
        "--mask",
        WAYS,
        "--out",
        "r/r.csv",
        "--key",
        "k.csv",
    )
    code, _, err = run(*spec)
    assert code == 0, err
    assert {path.name for path in Path("r").iterdir()} == {"r.csv", "r_about.json", "r_about.txt", "r_recipe.json"}
    released = pd.read_csv("r/r.csv")
    assert list(released.columns) == ["record", "sex", "m_hospital", "km_station", "yob"]
    rows = pd.read_csv("k.csv")["file_row"].to_numpy() - 1
    assert (rows != np.arange(60)).any()
    true = table().iloc[rows].reset_index(drop=True)
    assert released["sex"].tolist() == true["sex"].tolist()
    assert released["yob"].tolist() == true["yob"].tolist()
    hundreds = (np.floor(true["m_hospital"] / 100 + 0.5) * 100).astype("Int64")
    assert released["m_hospital"].astype("Int64").equals(hundreds.rename("m_hospital"))
    classes = pd.cut(
        true["km_station"], [-np.inf, 1, 5, np.inf], right=False, labels=["[,1) km", "[1,5) km", "[5,) km"]
    )
    assert released["km_station"].fillna("").tolist() == classes.astype(object).fillna("").tolist()
    assert "released columns: sex, m_hospital, km_station, yob" in err
    about = json.loads(Path("r/r_about.json").read_text())
    assert "unit of distances" not in about
    assert about["numbers"] == {
        "m_hospital": {"unit": "m", "released": "m_hospital rounded to 100m"},
        "km_station": {"unit": "km", "released": "km_station in classes from 1km,5km"},
        "yob": {"unit": "none", "released": "yob as it is"},
    }


def test_the_recipe_repeats_the_numbers(run: Run) -> None:
    """Mask and seed of the recipe give the same bytes, also of noise and exchanges; without a seed others."""
    setting = "none | m_hospital=gaussian:300m | km_station=multiplicative:0.2 | income=swap:0.5:sex | yob=laplace:3"
    ask = ("mask", "f.csv", "--label", "sex", *ASKED)
    for name in ("a", "b"):
        assert run(*ask, "--mask", setting, "--out", f"{name}.csv")[0] == 0
    recipe = json.loads(Path("a_recipe.json").read_text())
    assert run(*ask, "--mask", recipe["mask"], "--seed", str(recipe["seed"]), "--out", "c.csv")[0] == 0
    assert Path("a.csv").read_bytes() == Path("c.csv").read_bytes()
    assert sorted(Path("a.csv").read_text().split()) != sorted(Path("b.csv").read_text().split())


def test_digits_are_those_that_the_noise_leaves(run: Run) -> None:
    """Noise of 300 m is written to metres, that of a fifth to three or four digits, and the law stays what it was."""
    people = pd.DataFrame({"m": np.full(4000, 5000.0), "km": np.full(4000, 5.0), "inc": np.full(4000, 30000.0)})
    data = dq.microdata(people, numbers={"m": "m", "km": "km", "inc": "none"})
    made = dq.release(data, "none | m=gaussian:300m | km=multiplicative:0.2 | inc=laplace:2500", 2**120)
    assert made.table["m"].dtype == "Int64"
    assert all(len(f"{value:.12g}".replace(".", "").lstrip("0")) <= 4 for value in made.table["km"])
    assert (made.table["inc"] % 10 == 0).all()
    apart = made.table["m"].astype(float) - 5000
    assert abs(apart.std() / 300 - 1) < 0.04
    assert len(set(made.table["m"])) > 800
    assert abs((made.table["inc"].astype(float) - 30000).std() / 2500 - 1) < 0.08
    assert abs(np.log(made.table["km"] / 5).std() / 0.2 - 1) < 0.04


def test_rounded_numbers_have_no_dust() -> None:
    """A third of a tenth is written 0.3, in metres 300; edges of equal classes are nobody's number."""
    people = pd.DataFrame({"km": np.arange(1, 100) * 0.0301, "m": np.arange(1, 100) * 30.1})
    data = dq.microdata(people, numbers={"km": "km", "m": "m"})
    made = dq.release(data, "none | *=round:100m", 1)
    assert all(re.fullmatch(r"\d(\.\d)?", f"{value!r}".removesuffix(".0")) for value in made.table["km"].tolist())
    assert np.array_equal(made.table["m"].to_numpy(dtype=float), np.round(made.table["km"] * 1000))
    equal = dq.release(data, "none | km=equal:4 | m=classes:500m,2km", 1).table
    counts = equal["km"].value_counts()
    assert len(counts) == 4
    assert counts.min() >= 18
    assert all(re.fullmatch(r"\[(\d(\.\d{1,2})?)?,(\d(\.\d{1,2})?)?\) km", text) for text in counts.index)
    assert set(equal["m"]) == {"[,500) m", "[500,2000) m", "[2000,) m"}


def test_what_is_exchanged_is_as_it_was() -> None:
    """The values within a group are the same ones as before, each as the file wrote it."""
    made = dq.release(file(), "none | income=swap:1:sex", 3)
    true = table()
    for sex in ("f", "m"):
        assert sorted(made.table.loc[made.table["sex"] == sex, "income"]) == sorted(true[true["sex"] == sex]["income"])
    assert (made.table["income"].to_numpy(dtype=float) != true["income"].to_numpy()[made.key]).sum() > 30


def test_what_a_snooper_sees_of_a_release_has_its_laws() -> None:
    """``dq.mask`` is the file that is written, and everybody who fits it is found by it."""
    data, setting = file(), f"{WAYS} | yob=gaussian:2"
    seen, who = dq.mask(data, setting, 11, key=True)
    made = dq.release(data, setting, 11)
    assert seen.table.equals(made.table)
    assert seen.numbers.names == ("m_hospital", "km_station", "yob")
    np.testing.assert_allclose(seen.numbers.of("m_hospital").values * 1000, made.table["m_hospital"].to_numpy(float))
    np.testing.assert_array_equal(seen.numbers.of("yob").values, made.table["yob"])
    found = dq.LabelRule().candidates(seen, data)
    truth = [data.ids.index(one) for one in who]
    assert all(found.allowed(row, [other])[0] for row, other in enumerate(truth))
    assert found.count < 60 * 60 / 4


def test_labels_are_recoded_in_a_release(run: Run) -> None:
    """What stands behind the mask is done to labels, too."""
    ask = ("mask", "f.csv", "--coordinates", "lon,lat", "--label", "sex", "--label", "yob", "--number", "km_station:km")
    spec = "gaussian:sigma=500m | yob=width:yob:20 | drop:sex | km_station=topcode:4km"
    code, _, err = run(*ask, "--mask", spec, "--out", "r.csv")
    assert code == 0, err
    released = pd.read_csv("r.csv")
    assert list(released.columns) == ["record", "km_station", "yob"]
    assert sorted(released["yob"]) == sorted(table()["yob"] // 20 * 20)
    assert released["km_station"].max() == 4
    assert Path("r_distances.csv").is_file()
    assert json.loads(Path("r_recipe.json").read_text())["mask"] == spec


def test_distances_as_they_are_are_said_to_protect_nothing(run: Run) -> None:
    """Where a file has distances ``none`` is said to protect nothing; where it has none, nothing is said."""
    ask = ("mask", "f.csv", "--label", "sex", "--number", "km_station:km", "--mask", "none | km_station=round:1km")
    assert "protects nothing" not in run(*ask, "--out", "a.csv")[2]
    assert "protects nothing" in run(*ask, "--coordinates", "lon,lat", "--out", "b.csv")[2]
    both = [dq.release(file(**more), "none | drop:income", 2**120) for more in ({}, {"coordinates": ["lon", "lat"]})]
    assert [[one.code for one in made.warnings] for made in both] == [[], ["distances_released_as_they_are"]]


def test_distances_can_be_withheld(run: Run) -> None:
    """Of a file that has places only its table is released where the mask publishes no distances."""
    ask = ("mask", "f.csv", "--coordinates", "lon,lat", "--number", "km_station:km", "--out", "r.csv")
    code, _, err = run(*ask, "--mask", "withheld | km_station=round:1km")
    assert code == 0, err
    assert not Path("r_distances.csv").exists()
    assert list(pd.read_csv("r.csv").columns) == ["record", "km_station"]
    assert "protects nothing" not in err


def test_a_release_is_read_back_with_its_laws(run: Run) -> None:
    """From the file and what stands behind its mask an attack finds whom it finds in memory; without that, fewer."""
    setting = "none | m_hospital=round:100m | km_station=classes:1km,5km | yob=gaussian:1 | income=topcode:60000"
    ask = ("mask", "f.csv", "--id", "id", "--label", "sex", *ASKED, "--mask", setting, "--out", "r.csv")
    assert run(*ask, "--key", "k.csv", "--seed", "5")[0] == 0
    seen, who = dq.mask(file(), setting, 5, key=True)
    back = NumberRecoding(Setting.parse(setting).numbers.parts).read(dq.read("r.csv", labels=["sex"], numbers=NUMBERS))
    for mine, theirs in zip(seen.numbers.columns, back.numbers.columns, strict=True):
        assert (mine.name, mine.law, mine.written) == (theirs.name, theirs.law, theirs.written)
        np.testing.assert_allclose(mine.values, theirs.values)
    attack = (
        "attack",
        "r.csv",
        "f.csv",
        "--label",
        "sex",
        *ASKED,
        "--key",
        "k.csv",
        "--id",
        "id",
        "--attack",
        "numbers",
    )
    assert run(*attack, "--attack", "numbers", "--mask", setting, "--json", "a.json")[0] == 0
    assert run(*attack, "--attack", "numbers", "--json", "b.json")[0] == 0
    told, blind = (json.loads(Path(name).read_text())["attacks"][0]["tp"] for name in ("a.json", "b.json"))
    assert told == dq.attack(seen, file(), by="numbers", truth=list(who)).risk.tp  # type: ignore[union-attr]
    assert told > 55
    assert blind < told / 2


def test_classes_are_no_numbers_of_an_audit_or_a_snooper(run: Run) -> None:
    """A file whose column is in classes already has no law; as a label it is what it was."""
    classed = dq.release(file(), "none | km_station=equal:4 | income=classes:20000,40000", 1).table
    data = dq.microdata(classed, ["sex"], numbers={"km_station": "km", "income": "none"}, name="classed")
    assert [len(one.law.edges) for one in data.numbers.columns] == [3, 2]  # type: ignore[attr-defined]
    assert "km_station (4 classes, 1 empty)" in str(dq.inspect(data))
    with refused("number_released_already", column="km_station"):
        dq.release(data, "none")
    with refused("number_known_in_classes"):
        dq.LabelRule().candidates(data, data)
    for wrong in (["[1,5) km", "[3,9) km"], ["[5,1) km", "[,5) km"], ["[a,5) km", "[5,) km"]):
        with refused("number_is_not"):
            dq.microdata(pd.DataFrame({"x": wrong}), numbers={"x": "km"})


def test_what_is_refused_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    """A setting, form or name that does not fit is said in a sentence, and no file is there after it."""
    before = set(tmp_path.iterdir())
    ask = ("mask", "f.csv", "--id", "id", "--label", "sex", *ASKED)
    for code, more in {
        "mask_without_distances": ("--mask", "gaussian:sigma=1km", "--out", "r.csv"),
        "no_distances_released": ("--mask", WAYS, "--out", "r.csv", "--matrix", "csv"),
        "unknown_table": ("--mask", WAYS, "--out", "r.xls", "--key", "k.csv"),
        "no_number_to_recode": ("--mask", "none | km_shop=round:1km", "--out", "r.csv"),
        "number_recoded_twice": ("--mask", "none | km_*=round:1km | km_station=round:2km", "--out", "r.csv"),
        "column_is_hidden": ("--mask", WAYS, "--out", "r.csv", "--coordinates", "lon,lat", "--number", "lon:none"),
    }.items():
        status, _, err = run(*ask, *more, "--key", "k.csv") if "--key" not in more else run(*ask, *more)
        assert status == 2, code
        assert len(err.strip().splitlines()) <= 12, err
        assert set(tmp_path.iterdir()) == before, code
    with refused("no_number_to_recode"):  # dropped first
        dq.release(file(), "none | drop:income | income=round:1000")
    with refused("column_is_hidden", name="who"):
        dq.microdata(table().assign(who=range(60)), ids="who", numbers={"who": "none"})
    with refused("no_distances_released"):
        _ = dq.release(file(), "none").distances
