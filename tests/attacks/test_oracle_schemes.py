"""The oracle on encodings of registries: without a key everybody is named, and several columns hide nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.attacks.knowledge import Holder, Knowledge
from disclique.attacks.oracle import Answer, ask_oracle
from disclique.masks import parse_mask
from disclique.measures.risk import Truth

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
    assert ask(file, "abf:salt=record").of("prosecutor").mean() < 0.15


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
