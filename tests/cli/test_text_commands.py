"""Names through the commands: encoded for release, attacked, audited, and drawn from a file in a study."""

import json

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.records import full_matrix
from disclique.spaces.bit_forms import parse_encodings
from disclique.studies import define_study
from small_files import LIGHT


def names(n, seed):
    letters = np.random.default_rng(seed).integers(97, 103, (n, 9), dtype=np.uint8)
    return [row.tobytes().decode() for row in letters]


def people(n=40):
    first = names(n, 1)
    sex = ["f", "m"] * (n // 2)
    return pd.DataFrame({"uid": range(100, 100 + n), "sex": sex, "first": first, "last": names(n, 2)})


def test_a_release_has_encodings_and_no_names(tmp_path):
    file = dq.microdata(people(), ["sex"], text=["first", "last"], ids="uid")
    made = dq.release(file, "bloom:length=256", seed=3)
    assert list(made.table.columns) == ["record", "sex", "encoding"]
    expected = full_matrix(dq.mask(file, "bloom:length=256", seed=3).distances)
    np.testing.assert_array_equal(made.distances, expected)
    read = parse_encodings(list(made.table["encoding"]), name="r")
    np.testing.assert_array_equal(full_matrix(read), made.distances)
    written = made.save(tmp_path / "r.csv")
    assert set(written) == {"table", "note", "words", "recipe"}
    both = made.save(tmp_path / "s.csv", kind="npy")
    np.testing.assert_allclose(np.load(both["distances"]), made.distances, rtol=0, atol=1e-9)
    for path in tmp_path.iterdir():
        assert not any(name.encode() in path.read_bytes() for name in file.distances.strings)
    assert dq.release(file, "round:to=0.1", seed=1).table.columns.tolist() == ["record", "sex"]
    with pytest.raises(dq.InputError, match="first: columns of text are never released"):
        dq.release(dq.microdata(people(), ["first"], text=["first"]), "bloom")
    named = people().rename(columns={"sex": "encoding"})
    with pytest.raises(dq.InputError, match="column encoding: the released column of encodings has this name"):
        dq.release(dq.microdata(named, ["encoding"], text=["first"]), "bloom")
    with pytest.raises(dq.InputError, match="--matrix none: under the mask round"):
        dq.release(file, "round:to=0.1", seed=1).save(tmp_path / "t.csv", kind="none")


def test_names_are_encoded_and_attacked_on_the_command_line(run, tmp_path):
    """From the holder's file to the snooper's result: the release is read as a column and as a file."""
    people().to_csv(tmp_path / "p.csv", index=False)
    text = ("--text", "first,last", "--id", "uid")
    made = run("mask", "p.csv", *text, "--label", "sex", "--mask", "bloom", "--out", "r.csv", "--key", "k.csv")
    assert made[0] == 0
    assert not list(tmp_path.glob("*_distances*"))
    assert "first" not in (tmp_path / "r_recipe.json").read_text()
    release = pd.read_csv(tmp_path / "r.csv", dtype=str)
    release.assign(uid=pd.read_csv(tmp_path / "k.csv")["id"]).to_csv(tmp_path / "t.csv", index=False)
    attack = (
        "attack",
        "t.csv",
        "p.csv",
        "--label",
        "sex",
        "--mask",
        "bloom",
        "--attack",
        "clique",
        "--truth",
        "uid",
        "--json",
        "j.json",
        "--force",
    )
    found = []
    for source in (("--encodings", "encoding"), ("--target-encodings", "encoding"), ("--target-encodings", "r.csv")):
        assert run(*attack, *text, *source, "--alpha", "0.9")[0] == 0
        found.append(json.loads((tmp_path / "j.json").read_text())["attacks"][0]["matches"])
    assert found[0] == found[1] == found[2]
    assert len(found[0]) >= 3
    made = dq.read(tmp_path / "t.csv", encodings="encoding").distances
    np.save(tmp_path / "d.npy", full_matrix(made))  # the release may have come as distances, too
    assert run(*attack, *text, "--target-distances", "d.npy", "--unit", "none", "--alpha", "0.9")[0] == 0
    assert json.loads((tmp_path / "j.json").read_text())["attacks"][0]["matches"] == found[0]
    for options, says in (
        (("--encodings", "nothing"), "no column 'nothing' of encodings"),
        (("--encodings", "encoding", "--metric", "sphere"), "metric 'sphere': encodings are compared by"),
        (("--encodings", "encoding", "--within", "5km"), "give only one of --within"),
    ):
        code, _, errors = run(*attack, *text, *options)
        assert (code, errors.count("\n")) == (2, 1)
        assert says in errors


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--text", "first", "--label", "first"), "column first: ids, coordinates, text and encodings are never"),
        (("--encodings", "first", "--label", "first"), "column first: ids, coordinates, text and encodings are never"),
        (("--text", "nobody"), "no column 'nobody'"),
        (("--text", "first", "--mask", "gaussian:sigma=1km"), "moves coordinates, but the records are given by text"),
        (("--text", "first", "--matrix", "xls"), "--matrix xls: choose one of csv, npy, parquet, list, none"),
        (("--text", "first", "--unit", "miles"), "--unit = 'miles': choose one of m, km, s, min, h, none"),
        (("--encodings", "first"), "encodes text, but the records have none"),
        (("--encodings", "sex"), "row 2, column 'sex' = 'm': neither 0 and 1, hexadecimal, base64"),
    ],
)
def test_a_wrong_release_is_refused_in_one_sentence(run, tmp_path, options, says):
    people(4).to_csv(tmp_path / "p.csv", index=False)
    mask = () if "--mask" in options else ("--mask", "bloom")
    code, _, errors = run("mask", "p.csv", *options, *mask, "--out", "r.csv")
    assert (code, errors.count("\n")) == (2, 1)
    assert says in errors
    assert not (tmp_path / "r.csv").exists()


def test_distances_without_a_unit_are_plain_numbers(run, tmp_path):
    """--unit none: a length with a unit is refused, a number is taken as it stands."""
    table = people(6)
    table.to_csv(tmp_path / "p.csv", index=False)
    np.save(tmp_path / "d.npy", full_matrix(dq.Texts(tuple(table["first"]), "levenshtein")))
    both = ("--target-distances", "d.npy", "--known-distances", "d.npy", "--unit", "none")
    attack = ("attack", "p.csv", "p.csv", "--id", "uid", "--truth", "uid", "--attack", "clique", *both)
    assert run(*attack, "--within", "0.5")[0] == 0
    code, _, errors = run(*attack, "--within", "5km")
    assert code == 2
    assert "these distances are plain numbers" in errors
    assert run(*attack, "--mask", "round:to=2")[0] == 0  # simulated on the known matrix
    code, _, errors = run(*attack, "--mask", "bloom")
    assert code == 2
    assert "encodes text, but the records have none" in errors


def test_an_audit_takes_text(run, tmp_path):
    people(12).to_csv(tmp_path / "p.csv", index=False)
    mask = ("--mask", "bloom:bits=2..4", "--mask", "bloom:length=64,flip=0.1")
    fast = ("--repetitions", "1", "--processes", "1", "--attack", "labels", *LIGHT)
    assert run("audit", "p.csv", "--id", "uid", "--text", "first", "--label", "sex", *mask, *fast, "--out", "a")[0] == 0
    result = json.loads((tmp_path / "a" / "result.json").read_text())
    turned = [(one["dial"], one["dial_value"]) for one in result["settings"]]
    assert turned == [("bits", 2.0), ("bits", 3.0), ("bits", 4.0), ("flip", 0.1)]


STUDY = {
    "text": "first,last",
    "mask": ["bloom", "bloom:flip=0.2"],
    "alpha": 0.9,
    "repetitions": 2,
    "n": 15,
    "common": 6,
}


def test_a_study_draws_its_people_from_a_file(tmp_path):
    """Sizes, common people and the true distances are as asked; the same seed gives the same records anywhere."""
    people().to_csv(tmp_path / "p.csv", index=False)
    options = {**STUDY, "people": str(tmp_path / "p.csv"), "label": ["sex"], "datasets": 2}
    result = dq.study(**options, folder=tmp_path / "s")
    assert len(result.records) == 4
    assert (result.records["tp"] + result.records["fn"] == 6).all()
    assert result.records["tp"].sum() > 0
    again = dq.study(**options, executor=dq.Processes(2))
    left, right = (one.records.drop(columns="seconds") for one in (result, again))
    pd.testing.assert_frame_equal(left, right)
    assert dq.load_study(tmp_path / "s").study == result.study
    assert define_study(result.study.to_dict()) == result.study
    plain = define_study({"sigma": 0.01}).to_dict()
    assert not {"people", "text", "metric", "label"} & set(plain)  # journals of other studies stay what they are


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"text": ()}, "people goes with text or number"),
        ({"people": None}, "people goes with text or number"),
        ({"people": None, "text": (), "metric": "dice"}, "metric and label are for a file of people"),
        ({"points": "x.csv"}, "the people come from one of them"),
        ({"n": 40, "common": 1}, "40 people for two files of 79 different ones"),
        ({"text": "nobody"}, "p.csv: no column 'nobody'"),
        ({"metric": "soundex"}, "texts are compared by one of"),
        ({"mask": "gaussian:sigma=1km"}, "moves coordinates, but the records are given by text"),
    ],
)
def test_a_study_that_does_not_fit_says_why(tmp_path, options, says):
    people().to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(dq.InputError, match=says):
        dq.study(**{**STUDY, "people": str(tmp_path / "p.csv"), **options}, folder=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_the_study_command_takes_text(run, tmp_path):
    people().to_csv(tmp_path / "p.csv", index=False)
    small = ("--n", "15", "--common", "6", "--alpha", "0.9", "--repetitions", "1", "--processes", "1")
    people_of = ("--people", "p.csv", "--text", "first", "--text", "last", "--label", "sex", "--metric", "dice:q=3")
    assert run("study", *people_of, "--mask", "minhash", *small, "--out", "s")[0] == 0
    assert (tmp_path / "s" / "typical_1.png").exists()
    assert not (tmp_path / "s" / "files.png").exists()  # there is no map
