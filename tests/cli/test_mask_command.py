"""``disclique mask``: what is released, what is not, and that it can be repeated only with the recipe."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import Run
from disclique.records.write import whole_file
from disclique.spaces import full_matrix


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
    assert {p.name for p in Path("r").iterdir()} == {
        "release.csv",
        "release_distances.csv",
        "release_about.json",
        "release_about.txt",
        "release_recipe.json",
    }
    table = pd.read_csv("r/release.csv")
    assert list(table.columns) == ["record", "sex"]
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
    known = ("--known-coordinates", "lon,lat", "--label", "sex", "--within", "1m", "--unit", "km", "--attack", "clique")
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
    made, (masked, who) = dq.release(file, mask, 7), dq.mask(file, mask.spec, 7, key=True)
    assert who == made.ids
    np.testing.assert_array_equal(made.distances, full_matrix(masked.distances))
    assert not np.array_equal(full_matrix(dq.mask(file, mask).distances), full_matrix(masked.distances))
    assert repr(made) == (
        "Release(30 records, columns (record, sex), mask gaussian:sigma=5km, not for publication: short seed)"
    )
    assert "<b>" not in made._repr_html_()
    written = made.save(str(tmp_path / "r.csv"), kind="npy", key=tmp_path / "k.csv")
    np.testing.assert_array_equal(np.load(written["distances"]), np.round(made.distances, 3))  # of 5 km the thousandth
    assert pd.read_csv(tmp_path / "k.csv")["id"].tolist() == [f"n{k}" for k in made.key]


def _mode(path: str) -> int:
    return Path(path).stat().st_mode & 0o777


def test_what_is_made_with_a_short_seed_says_that_it_is_not_for_publication(run: Run) -> None:
    """Command, recipe and Python say so for a short seed; a fresh one has 128 bits, and its repetition says nothing."""
    spec = ("--mask", "gaussian:sigma=500m")
    code, _, err = run(*MASK, *spec, "--out", "trial.csv", "--seed", "20241115")
    assert code == 0
    assert "not for publication" in err
    assert json.loads(Path("trial_recipe.json").read_text())["publication"].startswith("not for publication")
    code, _, err = run(*MASK, *spec, "--out", "fresh.csv")
    assert "not for publication" not in err
    text = Path("fresh_recipe.json").read_text()
    assert "not for publication" not in text
    seed = json.loads(text)["seed"]
    assert seed.bit_length() == 129
    _, _, err = run(*MASK, *spec, "--out", "again.csv", "--seed", str(seed))
    assert "not for publication" not in err
    assert Path("again_distances.csv").read_bytes() == Path("fresh_distances.csv").read_bytes()
    file = dq.microdata(pd.read_csv("f.csv"), ["sex"], coordinates=["lon", "lat"])
    trial, fresh = dq.release(file, "gaussian:sigma=500m", 2**63), dq.release(file, "gaussian:sigma=500m")
    assert (trial.publishable, fresh.publishable) == (False, True)
    assert "not for publication" in repr(trial)
    assert "not for publication" in trial._repr_html_()
    assert "not for publication" not in repr(fresh)
    seeds = {dq.release(file, "affine").seed for _ in range(20)}
    assert len(seeds) == 20
    ones = sum(bin(s - 2**128).count("1") for s in seeds)  # of 2560 bits; the bounds are eight standard deviations off
    assert 1080 < ones < 1480


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("key", ["k.csv", "k.parquet"])
def test_recipe_and_key_are_their_owners_alone(run: Run, key: str) -> None:
    """Both are unreadable for others whatever the umask, also where they replace a file that everybody could read."""
    for name in ("r_recipe.json", key):
        Path(name).touch()
        Path(name).chmod(0o666)
    before = os.umask(0o000)
    try:
        assert run(*MASK, "--mask", "gaussian:sigma=500m", "--out", "r.csv", "--key", key, "--force")[0] == 0
    finally:
        os.umask(before)
    assert [_mode(name) for name in ("r_recipe.json", key)] == [0o600, 0o600]
    assert [_mode(name) for name in ("r.csv", "r_distances.csv")] == [0o666, 0o666]


def test_private_files_are_never_open_to_others_while_they_are_written(tmp_path: Path) -> None:
    """The draft that takes the file's place is private from its first byte."""
    before = os.umask(0o000)
    try:
        with whole_file(tmp_path / "k.csv", private=True) as draft:
            draft.write_text("secret")
            assert draft.stat().st_mode & 0o077 == 0
    finally:
        os.umask(before)


def _off_the_map(d: np.ndarray) -> float:
    """How much of a matrix of distances no plane can explain: the share of all but the two largest eigenvalues."""
    centred = -0.5 * (d**2 - (d**2).mean(axis=0) - (d**2).mean(axis=1)[:, None] + (d**2).mean())
    values = np.sort(np.abs(np.linalg.eigvalsh(centred)))
    return float(values[:-2].sum() / values.sum())


def test_a_short_seed_is_found_by_trying() -> None:
    """The reason: from the release alone each of 400 seeds is tried, and only under the true one is the rest a map.

    The noise of a seed is what it adds to distances that are all equal; the seed gives the order of the rows as well.
    """
    mask = dq.parse_mask("matrix-gaussian:sd=20km")
    rng = np.random.default_rng(5)
    places = rng.uniform(0, 1000, (30, 2))
    true = np.linalg.norm(places[:, None] - places, axis=2)
    frame = pd.DataFrame({"sex": ["f"] * 30})
    made = dq.release(dq.microdata(frame, ["sex"], distances=true, unit="km"), mask, seed=271)
    blank = dq.microdata(frame, ["sex"], distances=dq.Matrix(1e6 * (1 - np.eye(30)), unit="km"))

    def take_off(seed: int) -> np.ndarray:
        tried = dq.release(blank, mask, seed=seed)
        inverse = np.argsort(tried.key)
        rest = (made.distances - tried.distances + 1e6)[np.ix_(inverse, inverse)]
        np.fill_diagonal(rest, 0.0)
        return rest

    score = [_off_the_map(take_off(seed)) for seed in range(400)]
    assert int(np.argmin(score)) == 271
    assert score[271] < 0.2 * np.partition(score, 1)[1]
    untouched = (true > 80) & (made.distances[np.ix_(np.argsort(made.key), np.argsort(made.key))] > 0)
    np.testing.assert_allclose(take_off(271)[untouched], true[untouched], atol=1e-6)


SIGMA = ("--mask", "gaussian:sigma=500m")


def test_nothing_is_overwritten(run: Run) -> None:
    """An older release, key, matrix or recipe stays unless it is forced; nothing is written beside it either."""
    assert run(*MASK, *SIGMA, "--out", "r.csv", "--key", "k.csv")[0] == 0
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for out, key in (("r.csv", "new.csv"), ("new.csv", "k.csv"), ("new.csv", "r_distances.csv")):
        code, _, err = run(*MASK, *SIGMA, "--out", out, "--key", key)
        assert (code, "there already" in err) == (2, True), err
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before
    assert run(*MASK, *SIGMA, "--out", "r.csv", "--key", "k.csv", "--force")[0] == 0
    assert Path("r_distances.csv").read_bytes() != before["r_distances.csv"]


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_source_key_and_release_are_never_one_file(run: Run, force: tuple[str, ...]) -> None:
    """Also by another way to write the path, by a link, and with --force: the data would be lost."""
    before = Path("f.csv").read_bytes()
    Path("link.csv").symlink_to("f.csv")
    os.link("f.csv", "hard.csv")
    Path("f_distances.csv").write_text("")
    for out, key in (("f.csv", "k.csv"), ("./f.csv", "k.csv"), ("link.csv", "k.csv"), ("hard.csv", "k.csv")):
        code, _, err = run(*MASK, *SIGMA, "--out", out, "--key", key, *force)
        assert (code, "this file is read" in err) == (2, True), err
    for key in ("r.csv", "./r.csv", "r_distances.csv", "r_recipe.json", "r_about.json", "f.csv"):
        assert run(*MASK, *SIGMA, "--out", "r.csv", "--key", key, *force)[0] == 2
    assert Path("f.csv").read_bytes() == before
    assert not Path("r.csv").exists()


def test_release_key_and_recipe_know_each_other(run: Run) -> None:
    """A key of another run, of a changed table or without its note is not taken for the right one."""
    for name in ("a", "b"):
        assert run(*MASK, *SIGMA, "--out", f"{name}.csv", "--key", f"{name}_key.csv")[0] == 0
    runs = [json.loads(Path(f"a_{what}.json").read_text())["run"] for what in ("recipe", "about")]
    assert runs[0] == runs[1] == pd.read_csv("a_key.csv", dtype=str)["run"].unique().item()
    ids = dq.read_key("a_key.csv", "a.csv")
    assert list(ids) == pd.read_csv("a_key.csv")["id"].tolist()
    with pytest.raises(dq.InputError, match="another release"):
        dq.read_key("b_key.csv", "a.csv")
    table = Path("a.csv").read_text().splitlines()
    Path("a.csv").write_text("\n".join([table[0], *table[:0:-1]]) + "\n")
    with pytest.raises(dq.InputError, match="changed after it was released"):
        dq.read_key("a_key.csv", "a.csv")
    Path("b_about.json").unlink()
    with pytest.raises(dq.InputError, match="note"):
        dq.read_key("b_key.csv", "b.csv")
    with pytest.raises(dq.InputError, match="not the key"):
        dq.read_key("f.csv")


def test_what_is_published_holds_nothing_of_the_seed(run: Run) -> None:
    """The note names files, columns and unit; two runs of one seed differ in their number only."""
    for name in ("a", "b"):
        assert run(*MASK, *SIGMA, "--out", f"{name}.csv", "--seed", "7")[0] == 0
    notes = [json.loads(Path(f"{name}_about.json").read_text()) for name in ("a", "b")]
    assert notes[0]["unit of distances"] == "km"
    assert notes[0]["run"] != notes[1]["run"]
    said = {"kind", "run", "records", "id", "released", "columns", "roles", "done", "audited"}
    said |= {"unit of distances", "files"}
    assert set(notes[0]) == said
    assert "500" not in json.dumps({name: notes[0][name] for name in said - {"run", "files"}})
    assert list(notes[0]["files"].values()) == list(notes[1]["files"].values())


def test_an_attack_is_judged_by_the_key(run: Run) -> None:
    """The key of the release says who is who; that of another release, or none of the ids, is refused."""
    assert run(*MASK, "--mask", "affine", "--out", "r.csv", "--key", "k.csv")[0] == 0
    assert run(*MASK, "--mask", "affine", "--out", "s.csv", "--key", "l.csv")[0] == 0
    attack = ("attack", "r.csv", "f.csv", "--label", "sex", "--target-distances", "r_distances.csv", "--unit", "km")
    told = (
        *attack,
        "--known-coordinates",
        "lon,lat",
        "--within",
        "1m",
        "--attack",
        "clique",
        "--id",
        "id",
        "--json",
        "j.json",
        "--force",
    )
    code, _, err = run(*told, "--key", "k.csv")
    assert code == 0, err
    assert json.loads(Path("j.json").read_text())["attacks"][0]["recall"] == 1
    for more, says in (
        (("--key", "l.csv"), "another release"),
        (("--key", "k.csv", "--truth", "sex"), "one of --truth and --key"),
        (("--key", "f.csv"), "not the key"),
    ):
        code, _, err = run(*told, *more)
        assert (code, says in err) == (2, True), err


def test_an_attack_on_labels_that_never_meet_ends_with_the_fix(run: Run) -> None:
    """The known file in capitals: refused with the reason; accepted by name it is carried out and finds nobody."""
    assert run(*MASK, "--mask", "affine", "--out", "r.csv")[0] == 0
    table = pd.read_csv("f.csv")
    table.assign(sex=table.sex.str.upper()).to_csv("k.csv", index=False)
    attack = ("attack", "r.csv", "k.csv", "--label", "sex", "--target-distances", "r_distances.csv", "--unit", "km")
    attack = (*attack, "--known-coordinates", "lon,lat", "--within", "1m", "--attack", "clique", "--id", "id")
    code, _, err = run(*attack)
    assert (code, "differ only in case" in err) == (2, True), err
    assert run(*attack, "--force")[0] == 2  # which only replaces files
    assert run(*attack, "--accept", "labels-never-meet")[0] == 0


def test_a_file_that_can_only_be_mistaken_is_not_released(run: Run) -> None:
    """Records at 0,0, an id among the labels: nothing is written unless that is accepted."""
    table = pd.read_csv("f.csv")
    table.assign(lon=table.lon.where(table.index > 0, 0.0), lat=table.lat.where(table.index > 0, 0.0)).to_csv(
        "zero.csv", index=False
    )
    command = ("mask", "zero.csv", *MASK[2:], *SIGMA, "--out", "z.csv")
    code, _, err = run(*command)
    assert (code, "0,0" in err, list(Path().glob("z*.csv"))) == (2, True, [Path("zero.csv")])
    code, _, err = run(*MASK, "--label", "name", *SIGMA, "--out", "z.csv")
    assert (code, "looks like an id" in err) == (2, True)
    assert run(*command, "--force")[0] == 2  # which only replaces files
    assert run(*command, "--accept", "places-at-zero")[0] == 0
