"""Numbers that are asked for in a wrong way: one sentence each, in English and German, and nothing is written."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import rng
from conftest import Run
from disclique.errors import InputError
from disclique.messages import say

N = 40
WAYS = ("round", "classes", "equal", "topcode", "bottomcode", "gaussian", "laplace", "multiplicative", "swap")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Put a file with a number, and a known one without it, into the folder."""
    chance = rng(3)
    people = pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(N)],
            "sex": chance.choice(["f", "m"], N),
            "yob": 1950 + chance.integers(0, 40, N),
            "km_hospital": np.round(chance.gamma(2, 2, N), 3),
            "note": ["x" * (k % 3 + 1) for k in range(N)],
            "lon": chance.uniform(9, 10, N),
            "lat": chance.uniform(50, 51, N),
        }
    )
    people.to_csv(tmp_path / "f.csv", index=False)
    people.drop(columns="km_hospital").to_csv(tmp_path / "k.csv", index=False)


KM = ("--number", "km_hospital:km")
NONE = ("--mask", "none")
AUDIT = ("audit", "f.csv", "--id", "id", "--label", "sex", "--out", "out")
DRAWN = (*AUDIT, "--overlap", "0.5", "--repetitions", "1")
MASK = ("mask", "f.csv", "--id", "id", "--label", "sex", "--out", "r.csv")
WRONG: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {  # code, what is asked, words in the sentence
    "unit missing": ("number_without_unit", (*DRAWN, *NONE, "--number", "km_hospital"), ("km_hospital:km", "none")),
    "unit unknown": (
        "unknown_unit",
        (*DRAWN, *NONE, "--number", "km_hospital:miles"),
        ("miles", "km, s, min, h"),
    ),
    "no column": ("no_such_column", (*DRAWN, *NONE, "--number", "km_shop:km"), ("f.csv", "'km_shop'")),
    "not known": ("no_such_column", (*AUDIT, *NONE, *KM, "--known", "k.csv"), ("k.csv", "'km_hospital'")),
    "attacked": ("no_such_column", ("attack", "f.csv", "k.csv", "--label", "sex", *KM), ("k.csv", "'km_hospital'")),
    "text": ("number_is_not", (*DRAWN, *NONE, "--number", "note:none"), ("f.csv", "'note'", "'x'")),
    "label too": ("label_and_number", (*DRAWN, *NONE, "--number", "sex:none"), ("sex",)),
    "label too, of years": ("label_and_number", (*MASK, *NONE, "--label", "yob", "--number", "yob:none"), ("yob",)),
    "twice": ("number_twice", (*MASK, *NONE, *KM, "--number", "km_hospital:m"), ("km_hospital",)),
    "id": ("column_is_hidden", (*MASK, *NONE, *KM, "--number", "id:none"), ("id",)),
    "unknown way": ("part_of_no_kind", (*DRAWN, *KM, "--mask", "none | km_hospital=rund:100m"), (*WAYS, "'round'")),
    "no way": ("part_of_no_kind", (*MASK, *KM, "--mask", "none | km_hospital"), WAYS),
    "no argument": ("number_part_form", (*MASK, *KM, "--mask", "none | km_hospital=round"), WAYS),
    "no unit": ("number_length_without_unit", (*MASK, *KM, "--mask", "none | km_hospital=round:100"), ("100m",)),
    "no unit in classes": (
        "number_length_without_unit",
        (*MASK, *KM, "--mask", "none | km_hospital=classes:1,5"),
        ("km_hospital=classes:1,5",),
    ),
    "no length": (
        "number_is_no_length",
        (*MASK, "--number", "yob:none", "--mask", "none | yob=round:10m"),
        ("yob=round:10m", "yob:km"),
    ),
    "no such number": ("no_number_to_recode", (*MASK, *KM, "--mask", "none | income=round:10"), ("income",)),
    "no numbers": (
        "no_number_to_recode",
        (*MASK, "--coordinates", "lon,lat", "--mask", "none | km_hospital=round:1km"),
        ("km_hospital",),
    ),
    "done twice": (
        "number_recoded_twice",
        (*MASK, *KM, "--mask", "none | km_*=round:1km | km_hospital=topcode:5km"),
        ("km_hospital",),
    ),
    "mask without distances": ("mask_without_distances", (*DRAWN, *KM, "--mask", "gaussian:sigma=1km"), ("gaussian",)),
    "release without distances": (
        "mask_without_distances",
        (*MASK, *KM, "--mask", "round:to=1km"),
        ("round", "none |"),
    ),
    "two ranges": (
        "range_of_several",
        (*DRAWN, "--coordinates", "lon,lat", *KM, "--mask", "gaussian:sigma=1km..2km | km_hospital=round:1km..2km"),
        ("sigma", "km_hospital=round:1km..2km"),
    ),
    "range released": ("range_is_no_setting", (*MASK, *KM, "--mask", "none | km_*=round:1km..2km"), ("1km..2km",)),
    "range of classes": (
        "number_range_without_dial",
        (*DRAWN, *KM, "--mask", "none | km_hospital=classes:1km..5km"),
        ("classes",),
    ),
    "classes descend": (
        "class_edges_not_ascending",
        (*MASK, *KM, "--mask", "none | km_hospital=classes:5km,1km"),
        ("km_hospital=classes:5km,1km",),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_mistake_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: str) -> None:
    """It names what is wrong, in both languages, and leaves no file behind."""
    code, ask, words = WRONG[case]
    raised: list[InputError] = []
    init = InputError.__init__

    def note(self: InputError, *given: object, **values: object) -> None:
        init(self, *given, **values)  # type: ignore[arg-type]
        raised.append(self)

    monkeypatch.setattr(InputError, "__init__", note)
    before = set(tmp_path.iterdir())
    status, out, err = run(*ask)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("disclique: ")
    assert "Traceback" not in err
    said = raised[-1].message
    assert said.code == code
    german = say(said, "de")
    assert german not in ("", str(said))
    for sentence in (err.splitlines()[-1], german):
        assert all(word in sentence.replace(" oder ", " or ") for word in words), sentence
    assert set(tmp_path.iterdir()) == before
