"""The oracle on encodings of registries: without a key everybody is named, and several columns hide nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

import disclique as dq
from disclique.attacks.knowledge import Holder, Knowledge
from disclique.attacks.oracle import Answer, ask_oracle
from disclique.attacks.oracle.codes import open_code
from disclique.attacks.oracle.encoded import recall
from disclique.masks import parse_mask
from disclique.measures.risk import Truth
from disclique.synthetic.files import example

FIRST = ("Anna", "Hanna", "Otto", "Ida", "Jonas", "Lena", "Mia", "Paul", "Ben", "Emma", "Lea", "Max")
LAST = ("Meier", "Mayer", "Weber", "Kern", "Vogt", "Hahn", "Roth", "Lang", "Busch", "Kuhn", "Beck", "Graf")


def people(count: int, seed: int = 0) -> dq.Microdata:
    rng = np.random.default_rng(seed)
    rows = {
        "id": range(count),
        "first": rng.choice(FIRST, count),
        "last": rng.choice(LAST, count),
        "born": [
            f"{rng.integers(1940, 2005)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}" for _ in range(count)
        ],
    }
    return dq.microdata(pd.DataFrame(rows), text=["first", "last", "born"], ids="id")


def ask(file: dq.Microdata, spec: str, seed: int = 1, known: dq.Microdata | None = None, **more: Any) -> Answer:
    mask, known = parse_mask(spec), known or file
    masked = mask.apply(file.distances, np.random.default_rng(seed))
    pairs = dq.LabelRule().candidates(file, known)
    told = Knowledge(mask=mask, common=0.999)
    holder = Holder(file, known, pairs, Truth.of_people(file.ids, known.ids), told, alike=pairs, **more)
    return ask_oracle([masked], holder)


def test_without_a_key_everybody_is_named_who_is_like_nobody_else():
    table = pd.DataFrame({"id": range(4), "first": ["Ada", "Bo", "Bo", "Ida"], "last": ["Lee", "Orr", "Orr", "Orr"]})
    file = dq.microdata(table, text=["first", "last"], ids="id")
    for spec in ("mainzelliste", "ons", "rbf:key=none", "abf:key=none,balance=yes,permute=yes,diffuse=3"):
        assert ask(file, spec).of("prosecutor").tolist() == [1.0, 0.5, 0.5, 1.0]
        assert ask(file, spec).curve == ()


def test_errors_of_the_list_do_not_make_encodings_without_a_key_look_safer():
    file = people(40)
    texts = file.distances.texts()
    assert texts is not None
    wrong = texts.with_fields([[f"{cell}x" for cell in texts.fields[0]], *texts.fields[1:]])
    known = dq.microdata(
        pd.DataFrame(dict(zip(("first", "last", "born"), wrong.fields, strict=True))).assign(id=range(40)),
        text=["first", "last", "born"],
        ids="id",
    )
    assert ask(file, "mainzelliste", known=known).of("prosecutor").mean() == 1.0


@pytest.mark.parametrize("flip", [0.25, 0.42])
@pytest.mark.parametrize("more", ["", ",balance=yes"])
def test_noise_without_a_key_protects_no_more_than_counting_bits_shows(flip, more):
    """Thirty lines less of it: whoever takes the nearest encoding by Hamming distance is right no more often."""
    file, found, shown = people(80), [], []
    for seed in range(6):
        spec = f"ons:length=64,flip={flip}{more}"
        answer = ask(file, spec, seed)
        plain = parse_mask(f"ons:length=64{more}").apply(file.distances, np.random.default_rng(0))
        seen = np.unpackbits(parse_mask(spec).apply(file.distances, np.random.default_rng(seed)).bits, axis=1)
        apart = (np.unpackbits(plain.bits, axis=1)[:, None] != seen[None]).sum(axis=2)
        found.append(float((apart.argmin(axis=1) == np.arange(80)).mean()))
        shown.append(float(answer.of("prosecutor").mean()))
    assert np.mean(shown) >= np.mean(found) - 0.03
    assert np.mean(shown) < 0.995  # and it is no mere upper bound


def test_columns_with_filters_of_their_own_hide_nobody_from_insiders():
    file = people(120)
    for spec in ("abf", "clkrbf:weights=2+2+1", "rbf", "mainzelliste:key=secret"):
        answer = ask(file, spec)
        assert answer.learned
        assert answer.of("prosecutor").mean() > 0.9, spec
    # who knows 50 of 120 tells some of the others by how many bits their three filters have
    assert ask(file, "abf:salt=record").of("prosecutor").mean() < 0.25


def test_what_an_encoding_keeps_of_columns_is_learned_by_encoding_oneself():
    """Where one column has nearly all bits, the distance of whole texts says less than encodings of one's own."""
    answer = ask(people(120), "clkrbf:weights=40+1+1,bits=1,length=2048")
    file = people(120)
    texts = file.distances.texts()
    assert texts is not None
    groups = len(set(texts.fields[0]))
    assert answer.of("prosecutor").mean() > 2 * groups / 120


def test_an_audit_counts_fakes_as_strangers():
    """They make guessing harder and hide nobody; that there is no key is said in the verdict."""
    asked: dict[str, Any] = {"attacks": ["labels"], "repetitions": 1, "overlap": 0.5, "max_risk": 0.05}
    found = dq.audit(people(30), ["mainzelliste", "mainzelliste:fakes=0.5"], **asked)
    plain, fakes = found.settings
    assert fakes.spec.endswith("fakes=0.5")
    assert fakes.guess == pytest.approx(plain.guess / 1.5)
    assert plain.risk.value == fakes.risk.value == 1.0
    assert not plain.secret
    assert "no_key_names_everybody" in [one.code for one in found.verdict.reasons]


def test_a_release_with_fakes_says_to_its_holder_who_is_invented():
    file = people(40)
    made = dq.release(file, "bloom:fakes=0.25", seed=1)
    assert len(made.table) == 50
    assert (made.key == -1).sum() == 10
    real = made.key >= 0
    assert sorted(made.key[real]) == list(range(40))
    assert {made.ids[row] for row in np.flatnonzero(real)} == set(file.ids)
    plain = dq.release(file, "bloom", seed=1)
    assert not set(plain.table["encoding"]) - set(made.table["encoding"])  # the same key for the same seed


def test_every_encoding_of_a_person_is_a_column():
    made = dq.release(people(12), "mainzelliste", seed=1)
    assert list(made.table.columns) == ["record", "encoding_1", "encoding_2", "encoding_3"]
    assert {len(cell) for cell in made.table["encoding_2"]} == {125}


def test_how_many_bits_there_are_tells_who_it_is_under_any_salt():
    """Nobody finds more by the weights of encodings alone, assigned one-to-one, than the oracle says."""
    rng = np.random.default_rng(3)
    names = ["".join(rng.choice(LAST, 1 + k % 5)) for k in range(150)]  # of many lengths
    table = pd.DataFrame({"id": range(150), "first": rng.choice(FIRST, 150), "last": names})
    file, spec = dq.microdata(table, text=["first", "last"], ids="id"), "bloom:length=1024,bits=10,salt=record"

    def count_bits(seed: int) -> np.ndarray:
        masked = parse_mask(spec).apply(file.distances, np.random.default_rng(seed)).encodings()
        assert masked is not None
        return masked.weights.astype(float)

    ours, found, said, alone = np.mean([count_bits(100 + k) for k in range(8)], axis=0), [], [], []
    for seed in range(4):
        rows, columns = linear_sum_assignment((count_bits(seed)[:, None] - ours[None]) ** 2)
        found.append(float((rows == columns).mean()))
        answer = ask(file, spec, seed)
        said.append(float(answer.of("prosecutor").mean()))
        alone.append(answer.curve[0].hits.of("prosecutor") / answer.curve[0].sought)
    assert np.mean(found) > 4 / 150
    assert np.mean(said) >= np.mean(found) - 0.01
    assert np.mean(alone) >= np.mean(found) - 0.01  # without a known pair


@pytest.mark.long
def test_the_code_that_pairs_show_is_no_weaker_than_it_was():
    """Where distances tell next to nothing, whoever knows 50 of 200 reads many of the others by the code, or some."""
    table = example("names")["people.csv"].head(200)
    file = dq.microdata(table, text=["first", "last", "born"], ids="id")
    flipped, diffused = ask(file, "bloom:flip=0.3"), ask(file, "bloom:diffuse=10")
    assert flipped.of("prosecutor").mean() > 0.35
    assert diffused.of("prosecutor").mean() > 0.04
    code = open_code([parse_mask("bloom:diffuse=10").apply(file.distances, np.random.default_rng(1))], *of_code(file))
    assert code is not None
    everybody = code.know_all()
    assert everybody is not None
    assert everybody.of("prosecutor").mean() > 0.08


def of_code(file: dq.Microdata) -> tuple[Holder, Any]:
    """Return what the oracle by code asks of a holder whose file is the snooper's list."""
    pairs, told = dq.LabelRule().candidates(file, file), Knowledge(mask=parse_mask("bloom:diffuse=10"), common=0.999)
    holder = Holder(file, file, pairs, Truth.of_people(file.ids, file.ids), told, alike=pairs)
    return holder, recall(holder).form
