"""Faults that made data look safer than they are, each as somebody met it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import Run
from disclique.messages import Message, has_sentence
from disclique.records.checks.names import LIKELY_WRONG, name_remark
from small_files import COLUMNS, LIGHT, make_file, people


def test_a_marketer_who_knows_few_breaks_a_limit_above_the_overlap() -> None:
    """A rigid motion gives everybody away: one in ten of the people known is no protection for these."""
    asked = {"attacks": "labels", "repetitions": 2, "overlap": 0.1, "scenario": "marketer"}
    result = dq.audit(make_file(), "affine", max_risk=0.15, **asked)
    assert result.verdict.status != "meets"
    assert result.settings[0].oracle is not None
    assert result.settings[0].oracle.value == pytest.approx(1.0)


@pytest.mark.parametrize("limit", ["max_risk", "max_risk_person", "max_inference"])
def test_a_limit_that_no_release_could_break_is_refused(limit: str) -> None:
    """A share of one is kept by whatever is released: it limits nothing."""
    asked = {"max_risk": 0.5, limit: 1}
    with pytest.raises(dq.InputError) as caught:
        dq.audit(make_file(), "affine", attacks="labels", repetitions=1, **asked)
    assert caught.value.message.code == "argument_is_not"
    assert caught.value.message.values["wanted"] == Message("wanted_limit", low=0, high=1)


SECRET = (*(f"p{k:03d}" for k in range(60)), *(f"{value}"[:8] for value in people()[["lon", "lat"]].to_numpy().ravel()))


@pytest.mark.parametrize("mask", ["affine", "gaussian:sigma=1km", "matrix-gaussian:sd=1km", "knn:k=5"])
def test_masked_records_hold_nothing_that_a_snooper_does_not_see(mask: str) -> None:
    """Written down, neither ids nor places are there; who is who comes by itself, and is right."""
    file = make_file()
    seen, who = dq.mask(file, mask, seed=1, key=True)
    written = seen.table.to_csv() + repr(seen.ids) + repr(seen) + str(seen.labels.to_csv())
    assert not [secret for secret in SECRET if secret in written]
    assert list(seen.table.columns) == ["record", "sex", "age"]
    assert sorted(map(str, who)) == sorted(map(str, file.ids))
    assert list(who) != list(file.ids)
    rows = [file.ids.index(one) for one in who]
    assert seen.labels.to_numpy().tolist() == file.labels.iloc[rows].to_numpy().tolist()
    found = dq.attack(seen, file, by="labels", truth=who)
    assert found.risk.fn + found.risk.tp == 60
    with pytest.raises(dq.InputError, match="id"):
        dq.attack(seen, file, by="labels", truth="id")
    with pytest.raises(dq.InputError) as caught:
        dq.attack(seen, file, by="labels", truth=who[1:])
    assert caught.value.message.code == "truth_of_other_length"


def test_the_truth_of_a_rigid_motion_is_found_by_the_key() -> None:
    """The key is that of the masked records: everybody who is found is found rightly."""
    file = make_file()
    seen, who = dq.mask(file, "affine", seed=3, key=True)
    found = dq.attack(seen, file, by="register", truth=who)
    assert (found.risk.tp, found.risk.fp) == (60, 0)


def files_of_every_kind(n: int = 24) -> dict[str, tuple[dq.Microdata, str]]:
    """The same people with their distances of every kind, and a mask for it."""
    rng = np.random.default_rng(1)
    places = rng.uniform(0, 9_000, (n, 2)).round(1)
    table = pd.DataFrame(places, columns=["x", "y"]).assign(id=range(n), sex=rng.choice(["f", "m"], n))
    table["name"] = ["".join(rng.choice(list("abelmnorst"), 7)) for _ in range(n)]
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    seen = rng.normal(size=(n, 5))
    return {
        "plane": (dq.microdata(table, ["sex"], coordinates=["x", "y"], metric="euclidean", unit="m", ids="id"), "200m"),
        "line": (dq.microdata(table, ["sex"], coordinates=["x"], metric="euclidean", unit="m", ids="id"), "200m"),
        "vectors": (dq.microdata(table, ["sex"], coordinates=seen, metric="euclidean", ids="id"), "0.1"),
        "texts": (dq.microdata(table, ["sex"], text=["name"], ids="id"), "bloom"),
        "matrix": (dq.microdata(table, ["sex"], distances=apart, unit="m", ids="id"), "matrix-gaussian:sd=200m"),
    }


@pytest.mark.parametrize("kind", ["plane", "line", "vectors", "texts", "matrix"])
def test_an_audit_of_every_kind_of_distances_ends_in_its_folder(kind: str, tmp_path: Path) -> None:
    """After all the work the result is written, whatever numbers it is made of, and read as it was."""
    file, mask = files_of_every_kind()[kind]
    spec = mask if mask[0].isalpha() else f"gaussian:sigma={mask}"
    result = dq.audit(file, spec, attacks="labels", repetitions=2, person_trials=10, max_risk=0.2, folder=tmp_path)
    assert dq.read_result(tmp_path / "result.json") == result
    again = dq.audit(file, spec, attacks="labels", repetitions=2, person_trials=10, max_risk=0.2, folder=tmp_path)
    assert again.verdict == result.verdict


def test_an_attack_of_two_files_is_by_all_that_fit_and_the_best_comes_first(run: Run) -> None:
    """Where a map finds everybody, nobody is told of a clique alone; who finds nobody says so, without a rate."""
    people().to_csv("p.csv", index=False)
    _, _, err = run("mask", "p.csv", *COLUMNS, "--mask", "gaussian:sigma=1km", "--seed", "1", *RELEASED)
    both = ("--target-distances", "r_distances.csv", "--known-coordinates", "lon,lat", "--unit", "km")
    labels = ("--id", "id", "--label", "sex", "--label", "age", "--key", "k.csv")
    asked = (*both, *labels, "--mask", "gaussian:sigma=1km", "--common", "0.99")
    code, out, err = run("attack", "r.csv", "p.csv", *asked, "--json", "all.json")
    assert code == 0, err
    rows = [line.split("\t") for line in out.splitlines()]
    found = [int(row[rows[0].index("true")]) for row in rows[1:]]
    assert {"clique", "register", "profiles"} <= {row[0] for row in rows}
    assert found == sorted(found, reverse=True)
    assert found[0] > 50
    assert f"true {found[0]}" in err
    written = json.loads(Path("all.json").read_text(encoding="utf-8"))["attacks"]
    assert [one["tp"] for one in written if one["applies"]] == found
    code, out, err = run("attack", "r.csv", "p.csv", *asked, "--attack", "labels")
    assert code == 0, err
    assert "nobody of the 60 people in both files is found: it claims nothing" in err
    assert "recall" not in err
    _, out, _ = run("attack", "r.csv", "p.csv", *asked, "--attack", "labels", "--attack", "register")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [(row[0], row[rows[0].index("recall")] == "nobody") for row in rows[1:]] == [
        ("register", False),
        ("labels", True),
    ]


RELEASED = ("--out", "r.csv", "--key", "k.csv")


def twice(n: int = 60) -> pd.DataFrame:
    """Everybody twice, under another id."""
    table = people(n)
    return pd.concat([table, table.assign(id=table["id"] + "b")], ignore_index=True)


def at_zero(n: int = 60) -> pd.DataFrame:
    """Some people at 0,0, where geocoding puts what it does not find."""
    table = people(n)
    table.loc[:4, ["lon", "lat"]] = 0.0
    return table


QUICK = ("--attack", "labels", "--repetitions", "1", "--processes", "1", *LIGHT)


def test_force_replaces_files_and_a_mistake_is_accepted_by_its_name(run: Run) -> None:
    """The message that refuses says the name; with it the work is done, and the result says what was accepted."""
    at_zero().to_csv("p.csv", index=False)
    mask = ("mask", "p.csv", *COLUMNS, "--mask", "gaussian:sigma=1km", "--out", "r.csv")
    for more in ((), ("--force",), ("--accept", "doubled-records")):
        code, _, err = run(*mask, *more)
        assert code == 2
        assert "--accept places-at-zero" in err
        assert not Path("r.csv").exists()
    assert run(*mask, "--accept", "places-at-zero")[0] == 0
    code, _, err = run(*mask, "--accept", "places-at-zero")
    assert (code, "--force" in err) == (2, True)
    assert run(*mask, "--accept", "places-at-zero", "--force")[0] == 0
    audit = ("audit", "p.csv", *COLUMNS, "--mask", "affine", *QUICK, "--out", "a")
    assert run(*audit)[0] == 2
    Path("plan.toml").write_text('accept = ["places-at-zero"]\n')
    code, _, err = run(*audit, "--config", "plan.toml")
    assert code == 0, err
    written = json.loads(Path("a/result.json").read_text(encoding="utf-8"))
    assert written["inspection"]["accepted"] == ["places-at-zero"]
    assert "--accept places-at-zero" in written["command"]
    with pytest.raises(dq.InputError) as caught:
        dq.audit(dq.read("p.csv", **READ), "affine", attacks="labels", repetitions=1)
    name = caught.value.message.values["name"]
    found = dq.audit(dq.read("p.csv", **READ), "affine", attacks="labels", repetitions=1, accept=[name])
    assert found.inspection.accepted == ("places-at-zero",)


READ = {"labels": ["sex", "age"], "id": "id", "coordinates": "lon,lat"}


def test_what_is_likely_wrong_stays_so_until_it_is_accepted() -> None:
    """Everybody twice: each hides the other. The look knows that nobody has said that it is right."""
    columns = {"coordinates": ["lon", "lat"], "ids": "id"}
    found = dq.inspect(dq.microdata(twice(), ["sex", "age"], **columns))
    assert [remark.name for remark in found.check().unaccepted] == ["doubled-records"]
    assert found.check(accept=["doubled-records"]).unaccepted == ()
    assert found.check(accept=["doubled-records"]).accepted == ("doubled-records",)
    assert not dq.inspect(dq.microdata(people(), ["sex", "age"], **columns)).unaccepted


def test_remarks_have_names_of_their_own() -> None:
    """Codes that are called likely wrong are codes of the package, and no two facts share a name by accident."""
    assert all(has_sentence(Message(code), "en") for code in LIKELY_WRONG)
    names = [name_remark(code) for code in LIKELY_WRONG]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalpha() and name == name.lower() for name in names)


def test_the_report_says_who_accepted_what() -> None:
    """With the author of the decision, or without a name; what nobody accepted is said to be open."""
    file = dq.microdata(twice(20), ["sex", "age"], coordinates=["lon", "lat"], ids="id")
    asked = {"attacks": "labels", "repetitions": 1, "person_trials": 10, "sensitivity": False}
    left_open = dq.audit(file, "affine", **asked)
    assert "Nobody has said that this is right (doubled-records)" in left_open.report()
    signed = dq.audit(file, "affine", accept=["doubled-records"], decision={"author": "A. Meyer"}, **asked)
    assert "Accepted as right (doubled-records) by A. Meyer." in signed.report()
    assert "Nobody has said" not in signed.report()
    unsigned = dq.audit(file, "affine", accept="doubled-records", **asked)
    assert "by whoever carried out the audit" in unsigned.report()
    assert dq.inspect(file).check().open_question == Message("input_likely_wrong", names=("doubled-records",))


def test_a_missing_label_excludes_nobody_in_an_attack_as_in_an_audit(run: Run) -> None:
    """Forty per cent of the ages empty: everybody behind a rigid motion is found all the same, at every door."""
    table = people()
    table.loc[np.random.default_rng(0).random(60) < 0.4, "age"] = None
    file = dq.microdata(table, ["sex", "age"], coordinates=["lon", "lat"], ids="id")
    seen, who = dq.mask(file, "affine", seed=1, key=True)
    assert dq.attack(seen, file, by="register", truth=who).risk.recall == 1.0
    strict = dq.attack(seen, file, by="register", truth=who, labels=dq.LabelRule("never")).risk
    assert strict.recall is not None
    assert strict.recall < 0.7
    table.to_csv("p.csv", index=False)
    assert run("mask", "p.csv", *COLUMNS, "--mask", "affine", *RELEASED)[0] == 0
    both = ("--target-distances", "r_distances.csv", "--known-coordinates", "lon,lat", "--unit", "km")
    labels = ("--id", "id", "--label", "sex", "--label", "age", "--key", "k.csv")
    code, _, err = run("attack", "r.csv", "p.csv", *both, *labels, "--attack", "register", "--json", "j.json")
    assert code == 0, err
    assert json.loads(Path("j.json").read_text(encoding="utf-8"))["attacks"][0]["recall"] == 1.0
