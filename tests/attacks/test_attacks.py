"""Attacks behind one seam: the same names from Python and the command line, side by side, each with its needs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import Run
from disclique.attacks import CliqueAttack, ExtendAttack, LabelAttack
from disclique.attacks.calibration import calibrate
from disclique.masks import parse_mask
from disclique.spaces import full_matrix
from disclique.synthetic.people import germany

LABELS = ["sex", "age_class"]


def people(seed: int, spec: str) -> tuple[dq.Microdata, dq.Microdata]:
    """Synthetic people, the target masked."""
    drawn = germany(n_target=250, n_known=250, common=40, rng=np.random.default_rng(seed))
    homes = dq.Points(drawn.target[["lon", "lat"]].to_numpy())
    masked = parse_mask(spec).apply(homes, np.random.default_rng(seed + 1))
    target = dq.microdata(drawn.target.reset_index(drop=True), LABELS, distances=masked)
    known = dq.microdata(drawn.known.reset_index(drop=True), LABELS, coordinates=["lon", "lat"])
    return target, known


def test_every_attack_by_its_name() -> None:
    """The informed attacks find far more than the clique, and the clique more than labels."""
    target, known = people(0, "gaussian:sigma=0.005deg")
    mask, rng = parse_mask("gaussian:sigma=0.005deg"), np.random.default_rng(5)
    learnt = calibrate(mask, rng=rng)
    told = dq.learn(mask, learnt, known.distances, common=0.16, rng=rng).at(0.5, learnt)
    found = {
        name: dq.attack(target, known, by=name, knowledge=told, truth="id").risk.tp
        for name in ("labels", "clique", "extend", "register")
    }
    assert found["labels"] < found["clique"] < found["extend"]
    assert found["clique"] < found["register"]
    assert min(found["extend"], found["register"]) >= 36
    with pytest.raises(dq.InputError, match="no attack 'magic'; there are "):
        dq.attack(target, known, by="magic", knowledge=told)


def test_labels_alone_link_unique_records() -> None:
    """A pair is claimed if its label stands once in either file; the expected hits are guesses in label groups."""
    target = dq.microdata(pd.DataFrame({"x": list("abbc")}), ["x"], distances=np.zeros((4, 4)))
    known = dq.microdata(pd.DataFrame({"x": list("bacd")}), ["x"], distances=np.zeros((4, 4)))
    result = dq.attack(target, known, by="labels")
    assert result.matches[["target_row", "known_row"]].to_numpy().tolist() == [[1, 2], [4, 3]]
    assert result.claims.expected == 4.0  # a and c for sure, and either b may be the known one


def test_what_an_attack_is_told_is_asked_for_and_never_ignored() -> None:
    """The clique needs an agreement; an attack that is built already takes none."""
    target, known = dq.poets()
    with pytest.raises(dq.InputError, match="clique needs to know when distances agree"):
        dq.attack(target, known)
    for told in ({"agreement": dq.Within(1)}, {"knowledge": dq.Knowledge()}, {"search": dq.Search()}):
        with pytest.raises(dq.InputError, match="labels is built already"):
            dq.attack(target, known, by=LabelAttack(), **told)


def test_registration_needs_coordinates_or_distances_that_fit_a_map() -> None:
    """Without either it says so and names the attacks that apply."""
    target, known = people(2, "gaussian:sigma=0.005deg")
    rows = np.arange(len(known))
    matrix = dq.microdata(known.table, LABELS, distances=np.sqrt(known.distances.block(rows, rows)), unit="km")
    with pytest.raises(dq.InputError, match="profiles does not"):
        dq.attack(target, matrix, by="register")


def test_quasi_cliques_in_the_place_of_the_clique() -> None:
    """Where every distance has noise of its own a quasi-clique keeps more, one-to-one, and nothing is proven."""
    target, known = people(6, "matrix-gaussian:sd=2km")
    agreement = calibrate(parse_mask("matrix-gaussian:sd=2km"), rng=np.random.default_rng(0)).agreement(0.7)
    clique = dq.attack(target, known, agreement=agreement, truth="id")
    quasi = dq.attack(target, known, by="quasi:gamma=0.56", agreement=agreement, truth="id")
    assert quasi.risk.tp > clique.risk.tp
    assert not quasi.clique.proven
    assert quasi.lower_bound
    assert quasi.matches["target_row"].is_unique
    assert quasi.matches["known_row"].is_unique
    by_alpha = dq.attack(target, known, by="quasi", knowledge=dq.Knowledge(agreement=agreement, alpha=0.7))
    assert by_alpha.clique.members == quasi.clique.members  # a member may have a fifth less than α


# Lower bounds


def crowded(records: int = 60) -> dq.Microdata:
    """A file of random distances in which a maximum clique is hard to prove."""
    d = np.random.default_rng(5).uniform(0, 10, (records, records))
    people = pd.DataFrame({"x": ["a"] * records, "who": range(records)})
    return dq.microdata(people, ["x"], distances=np.triu(d, 1) + np.triu(d, 1).T)


@pytest.mark.parametrize("by", ["clique", "extend"])
def test_a_spent_budget_is_a_lower_bound_wherever_it_is_said(by: str) -> None:
    """In the value, the sentences, the notebook and the plain form; a complete search says it nowhere."""
    data, spent = crowded(), dq.Search(budget=dq.Budget(work=1e-6))
    clique = CliqueAttack(dq.Within(1), spent)  # nothing else to start from
    cut = dq.attack(data, data, by=clique if by == "clique" else ExtendAttack(clique, 1.0), truth="who")
    assert cut.lower_bound
    assert not cut.clique.proven
    assert len(data) <= cut.clique.bound
    assert cut.clique.size <= len(data)
    assert any(line.startswith("LOWER BOUND on the risk") for line in cut.lines())
    assert "LOWER BOUND" in repr(cut)
    assert "LOWER BOUND" in cut._repr_html_()
    plain = cut.to_dict()
    assert plain["lower_bound"]
    assert f"up to {cut.clique.bound} members are possible" in plain["cut"]
    full = dq.attack(data, data, by=by, agreement=dq.Within(1), search=dq.Search(limit=1), truth="who")
    assert not full.lower_bound
    assert full.clique.proven
    assert full.clique.size == len(data)
    assert not any("LOWER BOUND" in line for line in full.lines())
    assert (full.to_dict()["lower_bound"], full.to_dict()["cut"]) == (False, "")


def test_lower_bounds_stand_in_the_table_of_several_attacks(run: Run) -> None:
    """The note of an attack that was cut short is never blank, that of a complete one is."""
    data = crowded()
    data.table.to_csv("t.csv", index=False)
    np.save("d.npy", data.distances.values)
    both = ("--target-distances", "d.npy", "--known-distances", "d.npy", "--label", "x", "--within", "1")
    chosen = ("--attack", "labels", "--attack", "clique", "--attack", "extend", "--budget", "0")
    code, out, err = run("attack", "t.csv", "t.csv", *both, *chosen, "--truth", "who", "--json", "r.json")
    assert code == 0, err
    rows = pd.read_csv(pd.io.common.StringIO(out), sep="\t", keep_default_na=False).set_index("attack")
    assert "LOWER BOUND: " in rows.loc["clique", "note"]
    for name in ("labels", "extend"):  # extend starts from profiles then
        assert "LOWER BOUND" not in rows.loc[name, "note"]
    content = json.loads(Path("r.json").read_text())["attacks"]
    assert {entry["attack"]: entry["lower_bound"] for entry in content} == {
        "labels": False,
        "clique": True,
        "extend": False,
    }


# The command line


def save(target: dq.Microdata, known: dq.Microdata) -> None:
    """The two files and the released matrix in the present folder."""
    target.table.drop(columns=["lon", "lat"]).to_csv("release.csv", index=False)
    known.table.to_csv("people.csv", index=False)
    np.save("d.npy", np.triu(full_matrix(target.distances), 1) + np.triu(full_matrix(target.distances), 1).T)


FILES = ("attack", "release.csv", "people.csv", "--label", "sex", "--label", "age_class")
SOURCES = ("--target-distances", "d.npy", "--known-coordinates", "lon,lat", "--unit", "km", "--truth", "id")


def test_all_attacks_side_by_side(run: Run) -> None:
    """One row for each attack; the matches carry the attack's name."""
    save(*people(3, "gaussian:sigma=0.005deg"))
    files = ("--out", "m.csv", "--json", "r.json", "--plot", "p.png")
    code, out, err = run(
        *FILES, *SOURCES, "--attack", "all", "--mask", "gaussian:sigma=0.005deg", "--common", "0.16", *files
    )
    assert code == 0, err
    rows = pd.read_csv(pd.io.common.StringIO(out), sep="\t").set_index("attack")
    assert set(rows.index) == set(dq.attack_names()) - {"code", "numbers"}  # the files have no encodings and no numbers
    assert rows["true"].is_monotonic_decreasing
    assert float(rows.loc["register", "recall"]) > 0.9 > float(rows.loc["clique", "recall"])
    assert set(pd.read_csv("m.csv")["attack"]) >= {"clique", "extend", "register"}
    content = json.loads(Path("r.json").read_text())
    assert content["options"]["mask"] == "gaussian:sigma=0.005deg"
    done = [entry["attack"] for entry in content["attacks"] if entry.get("applies", True)]
    assert done == list(rows.index)


def test_an_attack_that_does_not_apply_says_why_and_the_others_go_on(run: Run) -> None:
    """Without known places no map can be laid on another; alone it ends the command, among others it does not."""
    target, _ = dq.poets()
    target.table.to_csv("t.csv", index=False)
    np.save("d.npy", np.sqrt(target.distances.values))
    both = ("--target-distances", "d.npy", "--known-distances", "d.npy", "--within", "5")
    code, out, err = run("attack", "t.csv", "t.csv", *both, "--attack", "labels", "--attack", "register")
    assert code == 0, err
    assert "register does not apply" in err
    assert "needs coordinates of the known records" in err
    assert "labels: 0 matches" in err
    assert out.startswith("target_row\t")
    code, _, err = run("attack", "t.csv", "t.csv", *both, "--attack", "register")
    assert code == 2
    assert "needs coordinates of the known records" in err


def test_one_attack_by_what_the_snooper_knows(run: Run) -> None:
    """Noise and overlap said directly, or left to be estimated."""
    save(*people(4, "gaussian:sigma=0.005deg"))
    for knows in (("--noise", "0.005deg", "--common", "0.16"), ("--noise", "450m")):
        code, out, err = run(*FILES, *SOURCES, "--attack", "register", *knows)
        assert code == 0, err
        assert "recall 0.9" in err or "recall 1.0" in err
        assert out.splitlines()[0].split("\t")[4] == "probability"


def test_unknown_attacks_are_refused(run: Run) -> None:
    """One sentence with the names."""
    save(*people(5, "gaussian:sigma=0.005deg"))
    code, _, err = run(*FILES, *SOURCES, "--attack", "magic")
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert all(name in err for name in dq.attack_names(every=True))
