"""An audit without a mask asks what a file gives away as it is, in every space; and says what would be released."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import every_space, rng
from conftest import Run
from disclique.masks import parse_mask

N = 14
SPACES = ("sphere", "plane", "vectors", "cosine", "gower", "texts", "encodings", "matrix", "own metric")
QUICK = {"attacks": ["labels"], "repetitions": 1, "sensitivity": False, "person_trials": 10}


def people() -> pd.DataFrame:
    """Return records of two sexes."""
    return pd.DataFrame({"id": [f"p{k}" for k in range(N)], "sex": ["f", "m"] * (N // 2), "asthma": ["yes", "no"] * 7})


@pytest.mark.parametrize("space", SPACES)
def test_a_file_as_it_is_gives_everybody_away_in_every_space(space: str) -> None:
    """Nothing is masked and everybody is different: the oracle finds all, and no limit is kept."""
    file = dq.microdata(people(), ["sex"], distances=every_space(N)[space], ids="id")
    result = dq.audit(file, max_risk=0.5, **QUICK)  # type: ignore[arg-type]
    (setting,) = result.settings
    assert (setting.spec, setting.oracle_why) == ("none", None)
    assert setting.oracle is not None
    assert setting.oracle.value == setting.risk.value == 1.0
    assert result.verdict.status == "fails"


def test_only_twins_hide_in_a_file_as_it_is() -> None:
    """Four people at each place with the same label: one of four is right, as a closed form says."""
    places = np.repeat(rng(1).uniform((9, 49), (11, 51), (5, 2)), 4, axis=0)
    frame = pd.DataFrame({"id": range(20), "sex": ["f"] * 20})
    file = dq.microdata(frame, ["sex"], coordinates=places, ids="id")
    result = dq.audit(file, accept=["doubled-records", "records-copied"], **QUICK)  # type: ignore[arg-type]
    assert result.settings[0].oracle is not None
    assert result.settings[0].oracle.value == pytest.approx(1 / 4)


@pytest.mark.parametrize("known", ["same", "another key", "names"])
def test_encodings_made_elsewhere_are_audited_against_other_files(known: str) -> None:
    """Released as they are, they are weighed whatever the snooper holds; never as safer than what an attack finds."""
    frame = people().assign(name=every_space(N)["texts"].texts().strings)  # type: ignore[union-attr]
    names = dq.microdata(frame, ["sex"], text="name", ids="id")
    one, two = (parse_mask("bloom:length=512").apply(names.distances, rng(seed)) for seed in (1, 2))
    target = dq.microdata(people(), ["sex"], distances=one, ids="id")
    theirs = {"same": target, "another key": replace(target, distances=two), "names": names}[known]
    options = QUICK | {"attacks": ["labels", "profiles"]}
    result = dq.audit(target, known=theirs, max_risk=0.2, **options)  # type: ignore[arg-type]
    (setting,) = result.settings
    assert result.verdict.status == "fails"
    assert setting.oracle is not None
    assert setting.oracle.value == 1.0
    assert setting.risk.found is not None
    assert setting.risk.found.value <= setting.risk.value


def test_the_command_asks_as_it_is_without_a_mask(run: Run, tmp_path: Path) -> None:
    """Also of a column of encodings: the verdict fails, and the result says what would be released."""
    bits = rng(3).integers(0, 256, (N, 16), dtype=np.uint8)
    people().assign(clk=[row.tobytes().hex() for row in bits]).to_csv(tmp_path / "f.csv", index=False)
    ask = ("audit", "f.csv", "--id", "id", "--label", "sex", "--encodings", "clk", "--sensitive", "asthma")
    more = ("--attack", "labels", "--repetitions", "1", "--max-risk", "0.2", "--no-sensitivity", "--yes")
    code, _, err = run(*ask, *more, "--out", "a", "--processes", "1")
    assert code == 4, err
    result = json.loads((tmp_path / "a" / "result.json").read_text())
    assert result["verdict"]["setting"] == "none"
    assert result["released"]["dropped"] == ["id", "clk"]
    assert [column["name"] for column in result["released"]["columns"]] == ["sex", "asthma"]


def test_a_result_says_what_would_be_released_and_pages_begin_with_it() -> None:
    """Every released column with its role and what is done, the mean move, what stays; right below the verdict."""
    survey = dq.survey().iloc[:60].assign(km=lambda table: np.arange(60.0) % 7)
    file = dq.microdata(
        survey, ["sex", "age_class"], coordinates=["lon", "lat"], ids="id", sensitive=["asthma"], numbers={"km": "km"}
    )
    result = dq.audit(file, "gaussian:sigma=20km | age_class=width:age_class:20 | km=round:2km", **QUICK)  # type: ignore[arg-type]
    out = result.released
    assert out is not None
    assert [(one.name, one.role, one.done.code) for one in out.columns] == [
        ("sex", "label", "column_as_it_is"),
        ("age_class", "label", "labels_recoded"),
        ("asthma", "sensitive", "column_as_it_is"),
        ("km", "number", "number_rounded"),
    ]
    assert out.dropped == ("id", "lon", "lat")
    assert [one.code for one in out.files] == ["released_file_table", "released_file_distances"]
    moved = result.settings[0].utility["displacement_mean"]  # type: ignore[index]
    assert moved == pytest.approx(20 * np.sqrt(np.pi / 2), rel=0.2)
    assert [one.code for one in out.done] == ["mask_does_gaussian", "places_were_moved"]
    assert out.done[1].values["distance"] == f"{moved:.3g} km"
    made = dq.release(file, result.verdict.setting, 1)
    assert [one.name for one in made.about.columns] == [one.name for one in out.columns]
    for language in ("en", "de"):
        page, annex = dq.report(result, language=language), dq.annex(result, language=language)
        begins = [page.index(f'id="{part}"') for part in ("verdict", "released")]
        assert begins == sorted(begins)
        assert page.index("</section>", begins[0]) < begins[1] < page.index("chart", begins[0])
        assert "asthma" in page[begins[1] : page.index("</section>", begins[1])]
        third = annex.split("<h2>")[3]  # after purpose and result
        assert ("What would be released" if language == "en" else "Was freigegeben würde") in third
        assert "asthma" in third
