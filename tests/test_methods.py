"""Attacks behind one seam: the same names from Python and the command line, side by side, each with its needs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.attacks import ByLabels
from disclique.attacks.calibration import calibrate
from disclique.attacks.informed import knowledge_of, methods
from disclique.data.distances import full_matrix
from disclique.masks import parse_mask
from disclique.synthetic.people import germany
from test_cli import Run, run  # noqa: F401 - a fixture

LABELS = ["sex", "age_class"]


def people(seed: int, spec: str) -> tuple[dq.Microdata, dq.Microdata]:
    """Synthetic people, the target masked."""
    drawn = germany(n_target=250, n_known=250, common=40, rng=np.random.default_rng(seed))
    homes = dq.Points(drawn.target[["lon", "lat"]].to_numpy())
    masked = parse_mask(spec).apply(homes, np.random.default_rng(seed + 1))
    target = dq.microdata(drawn.target.reset_index(drop=True), LABELS, distances=masked)
    known = dq.microdata(drawn.known.reset_index(drop=True), LABELS, coordinates=["lon", "lat"])
    return target, known


def test_every_method_by_its_name() -> None:
    """The informed attacks find far more than the clique, and the clique more than labels."""
    target, known = people(0, "gaussian:sigma=0.005deg")
    mask, rng = parse_mask("gaussian:sigma=0.005deg"), np.random.default_rng(5)
    told = knowledge_of(mask, known.distances, common=0.16, rng=rng)
    found = {
        method.name: dq.attack(target, known, method=method, truth="id").risk.tp
        for method in methods(["labels", "clique", "extend", "register"], calibrate(mask, rng=rng), knowledge=told)
    }
    assert found["labels"] < found["clique"] < found["extend"]
    assert found["clique"] < found["register"]
    assert min(found["extend"], found["register"]) >= 36
    with pytest.raises(dq.InputError, match="choose one of labels, clique"):
        methods(["magic"], calibrate(mask, rng=rng), knowledge=told)


def test_labels_alone_link_unique_records() -> None:
    """A pair is claimed if its label stands once in either file; the expected hits are guesses in label groups."""
    target = dq.microdata(pd.DataFrame({"x": list("abbc")}), ["x"], distances=np.zeros((4, 4)))
    known = dq.microdata(pd.DataFrame({"x": list("bacd")}), ["x"], distances=np.zeros((4, 4)))
    result = dq.attack(target, known, method=ByLabels())
    assert result.matches[["target_row", "known_row"]].to_numpy().tolist() == [[1, 2], [4, 3]]
    assert result.expected == 4.0  # a and c for sure, and either b may be the known one


def test_either_agreement_or_method() -> None:
    """The door takes one of them."""
    target, known = people(1, "gaussian:sigma=0.005deg")
    for options in ({}, {"agreement": dq.Within(1), "method": ByLabels()}):
        with pytest.raises(dq.InputError, match="either"):
            dq.attack(target, known, **options)


def test_registration_needs_coordinates() -> None:
    """Without known coordinates it says so and names the attacks that apply."""
    target, known = people(2, "gaussian:sigma=0.005deg")
    rows = np.arange(len(known))
    matrix = dq.microdata(known.table, LABELS, distances=known.distances.block(rows, rows))
    with pytest.raises(dq.InputError, match="clique and extend"):
        dq.attack(target, matrix, method=dq.METHODS["register"](dq.Knowledge()))


def save(target: dq.Microdata, known: dq.Microdata) -> None:
    """The two files and the released matrix in the present folder."""
    target.table.drop(columns=["lon", "lat"]).to_csv("release.csv", index=False)
    known.table.to_csv("people.csv", index=False)
    np.save("d.npy", np.triu(full_matrix(target.distances), 1) + np.triu(full_matrix(target.distances), 1).T)


FILES = ("attack", "release.csv", "people.csv", "--label", "sex", "--label", "age_class")
SOURCES = ("--target-distances", "d.npy", "--known-coordinates", "lon,lat", "--unit", "km", "--truth", "id")


def test_all_attacks_side_by_side(run: Run) -> None:  # noqa: F811
    """One row an attack; those that do not apply say why; the matches carry the attack's name."""
    save(*people(3, "gaussian:sigma=0.005deg"))
    files = ("--out", "m.csv", "--json", "r.json", "--plot", "p.png")
    code, out, err = run(
        *FILES, *SOURCES, "--attack", "all", "--mask", "gaussian:sigma=0.005deg", "--common", "0.16", *files
    )
    assert code == 0, err
    rows = pd.read_csv(pd.io.common.StringIO(out), sep="\t").set_index("attack")
    assert {"labels", "clique", "extend", "register"} <= set(rows.index)
    assert float(rows.loc["register", "recall"]) > 0.9 > float(rows.loc["clique", "recall"])
    assert set(pd.read_csv("m.csv")["attack"]) >= {"clique", "extend", "register"}
    content = json.loads(Path("r.json").read_text())
    assert content["told"]["mask"] == "gaussian:sigma=0.005deg"
    assert {entry["attack"] for entry in content["attacks"]} == set(rows.index)


def test_one_attack_by_what_the_snooper_knows(run: Run) -> None:  # noqa: F811
    """Noise and overlap said directly, or left to be estimated."""
    save(*people(4, "gaussian:sigma=0.005deg"))
    for knows in (("--noise", "0.005deg", "--common", "0.16"), ("--noise", "450m")):
        code, out, err = run(*FILES, *SOURCES, "--attack", "register", *knows)
        assert code == 0, err
        assert "recall 0.9" in err or "recall 1.0" in err
        assert out.splitlines()[0].split("\t")[4] == "probability"


def test_unknown_attacks_are_refused(run: Run) -> None:  # noqa: F811
    """One sentence with the names."""
    save(*people(5, "gaussian:sigma=0.005deg"))
    code, _, err = run(*FILES, *SOURCES, "--attack", "magic")
    assert code == 2
    assert "labels, clique, extend, register, isomap" in err


def test_quasi_cliques_in_the_place_of_the_clique() -> None:
    """Where every distance has noise of its own a quasi-clique keeps more, one-to-one, and nothing is proven."""
    target, known = people(6, "matrix-gaussian:sd=2km")
    agreement = calibrate(parse_mask("matrix-gaussian:sd=2km"), rng=np.random.default_rng(0)).agreement(0.7)
    clique = dq.attack(target, known, agreement=agreement, truth="id")
    quasi = dq.attack(target, known, agreement=agreement, truth="id", search=dq.Search(solver="quasi"))
    assert quasi.risk.tp > clique.risk.tp
    assert not quasi.clique.proven
    assert quasi.matches["target_row"].is_unique
    assert quasi.matches["known_row"].is_unique
