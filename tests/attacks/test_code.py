"""Codes learned from pairs: which tokens set which bits, who is named by that, and who is read."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import disclique as dq
from builders import draw_people, refused, rng
from disclique.attacks.code.learning import (
    LEANS,
    LEARNING,
    SETS,
    Code,
    Form,
    Lesson,
    _Held,
    choose_form,
    fit_sets,
    learn_code,
)
from disclique.attacks.code.naming import Files, Known, name_people, weigh_pairs
from disclique.attacks.code.reading import read_records
from disclique.attacks.code.tokens import Vocabulary, Way, cells_of, list_ways
from disclique.attacks.dictionaries import DateForm, dictionary_of, every_day, find_date_form
from disclique.attacks.knowledge import Knowledge
from disclique.engine.kernels import codes as kernels
from disclique.model import Microdata
from disclique.spaces.strings import texts_of

SALTED = "bloom:length=512,salt=record"
JOINED = Form(Way(joined=True), SETS, 0.1)


def encode(table: pd.DataFrame, mask: str, seed: int = 1) -> tuple[Microdata, Microdata]:
    """Return a release of encodings in another order than that of the known file, which is the table itself."""
    texts = texts_of(table, list(table.columns), name="people")
    order = rng(seed).permutation(len(table))
    bits = dq.parse_mask(mask).apply(texts.select(order), rng(seed + 1))
    people = dq.microdata(pd.DataFrame({"person": np.arange(len(table))}), [], distances=texts, name="known")
    return dq.microdata(pd.DataFrame({"person": order}), [], distances=bits, name="target"), people


def open_files(target: Microdata, known: Microdata) -> Files:
    encodings, texts = target.distances.encodings(), known.distances.texts()
    assert encodings is not None
    assert texts is not None
    return Files(encodings.opened(), cells_of(texts), dq.LabelRule().candidates(target, known))


def true_pairs(target: Microdata, count: int) -> list[tuple[int, int]]:
    return [(row, int(person)) for row, person in enumerate(target.table["person"][:count])]


def make_lesson(files: Files, pairs: list[tuple[int, int]]) -> Lesson:
    return files.teach(Known.of(pairs))


def test_which_tokens_set_which_bits_is_recovered_exactly() -> None:
    """From enough pairs of a filter made by hand; a token that nobody has stays as probable as before."""
    draw = rng(3)
    truth = draw.random((15, 40)) < 0.12
    members = draw.random((500, 15)) < 0.25
    bits = (members.astype(int) @ truth > 0).astype(np.uint8)
    seen = csr_matrix(np.hstack([members, np.zeros((500, 1), bool)]).astype(np.float32))
    noise = kernels.Noise(0.1, 0.01, 0.01)
    _, effect, _ = fit_sets(seen, Lesson(bits, [()] * 500, np.ones(500, np.float32)), noise)
    believed = 1 - np.exp(effect)
    np.testing.assert_array_equal(believed[:15] > 0.5, truth)
    assert np.abs(believed[:15] - truth).max() < 1e-3
    np.testing.assert_allclose(believed[15], 0.1, atol=1e-3)


def test_the_kernel_learns_what_its_slow_twin_does() -> None:
    """Also with weights and noise."""
    draw = rng(5)
    members = draw.random((30, 7)) < 0.4
    bits = (draw.random((30, 9)) < 0.4).astype(np.uint8)
    weight = draw.uniform(0.2, 1, 30).astype(np.float32)
    rows = [np.flatnonzero(members[:, t]) for t in range(7)]
    start = np.concatenate([[0], np.cumsum([len(one) for one in rows])])
    lessons = kernels.Lessons(np.ascontiguousarray(bits.T), start, np.concatenate(rows), weight)
    noise, believed = kernels.Noise(0.2, 0.1, 0.15), np.zeros((9, 7), np.float32)
    kernels.learn_bits(lessons, noise, 4, believed)
    for b in range(9):
        np.testing.assert_allclose(believed[b], _learn_slowly(bits[:, b], members, weight, noise, 4), atol=2e-3)


def _learn_slowly(
    x: np.ndarray, members: np.ndarray, weight: np.ndarray, noise: kernels.Noise, rounds: int
) -> np.ndarray:
    """Weigh every token given what is believed of the others, one after the other."""
    prior = np.log(noise.prior / (1 - noise.prior))
    share = (weight @ x + 0.5) / (weight.sum() + 1)
    single = np.where(x, np.log(1 - noise.lost) - np.log(share), np.log(noise.lost) - np.log(1 - share))
    odds = prior + (weight * single) @ members
    q = np.clip(1 / (1 + np.exp(-odds)), 1e-6, 1 - 1e-6)
    for _ in range(rounds):
        before = q.copy()
        for t in range(len(q)):
            others = np.prod(np.where(members, 1 - q, 1.0)[:, np.arange(len(q)) != t], axis=1)
            zero = others * (1 - noise.stray) + (1 - others) * noise.lost
            chance = np.where(x, np.log((1 - noise.lost) / (1 - zero)), np.log(noise.lost / zero))
            total = prior + (weight * chance)[members[:, t]].sum()
            q[t] = np.clip(1 / (1 + np.exp(-total)), 1e-6, 1 - 1e-6)
        if np.abs(q - before).max() < 1e-3:
            break
    return q


def make_code() -> Code:
    """A code worked out by hand: each of five letters sets two bits of eight."""
    vocabulary = Vocabulary(Way(q=1))
    vocabulary.learn([("a", "c"), ("b", "d"), ("b", "e")])
    bits = {(0, "a"): (0, 1), (0, "b"): (1, 2), (1, "c"): (3, 4), (1, "d"): (4, 5), (1, "e"): (5, 6)}
    effect = np.zeros((5, 8), np.float32)
    for token, places in bits.items():
        effect[vocabulary.number[token], list(places)] = -5.0
    chance = np.where(np.linspace(-10, 0, 100) < -2, 0.95, 0.05)
    link = kernels.Link(-10.0, 0.1, np.log(chance).astype(np.float32), np.log(1 - chance).astype(np.float32))
    usual = np.full(8, 0.4, np.float32)
    return Code(vocabulary, np.zeros(8, np.float32), effect, -0.1, np.zeros(8, bool), link, SETS, usual)


def test_somebody_on_no_list_is_read_as_by_hand() -> None:
    """b sets bits 1 and 2, d bits 4 and 5: that is what the record has, and no other combination explains it."""
    texts = texts_of(pd.DataFrame({"x": list("abb"), "y": list("cde")}), ["x", "y"], name="words")
    found = read_records(make_code(), np.array([[0, 1, 1, 0, 1, 1, 0, 0]], np.uint8), dictionary_of(texts))
    assert found.cells(0) == ("b", "d")
    assert found.right([("B", "d")]).tolist() == [1.0]
    assert found.right([("b", "e")]).tolist() == [0.0]
    assert found.dice([("b", "d")]).tolist() == [1.0]


def test_the_beam_finds_the_best_of_all_combinations() -> None:
    """As trying every one does, where it is wide enough."""
    code, draw = make_code(), rng(7)
    entries = draw.normal(-1.5, 2, (7, 8)).clip(-9, 0).astype(np.float32)
    prior, bits = draw.normal(size=7).astype(np.float32), (draw.random(8) < 0.5).astype(np.uint8)
    found, score = np.zeros((12, 2), np.int64), np.zeros(12, np.float32)
    beam = kernels.Beam(bits, code.base, code.link, 12)
    many = kernels.search_columns(beam, entries, prior, np.array([3, 7]), found, score)

    def weigh(pair: tuple[int, int]) -> float:
        cells = ((entries[pair[0]] + entries[pair[1]] + 10) / code.link.step).astype(int).clip(0, 99)
        table = np.where(bits, code.link.one[cells], code.link.zero[cells])
        return float(table.sum() + prior[list(pair)].sum())

    every = sorted(product(range(3), range(3, 7)), key=weigh, reverse=True)
    assert many == 12
    assert tuple(found[0]) == every[0]
    np.testing.assert_allclose(score, [weigh(pair) for pair in every], rtol=1e-4)


def test_dates_are_completed_to_all_days() -> None:
    """In the form in which they are written."""
    assert find_date_form(["6/16/1937", "11/2/1940"]) == DateForm("mdy", "/", zeros=False)
    assert find_date_form(["16.06.1937"]) == DateForm("dmy", ".", zeros=True)
    assert find_date_form(["anna", "1.1.2000"]) is None
    assert every_day(["1999-12-30", "2000-01-01"]) == ["1999-12-30", "1999-12-31", "2000-01-01"]
    assert len(every_day(["1.3.1999", "28.2.2000"])) == 365


@pytest.mark.parametrize(
    ("mask", "form", "least"),
    [
        ("bloom:length=512", None, 0.7),
        ("bloom:length=512,balance=yes", JOINED, 0.7),
        ("minhash:length=512", Form(Way(joined=True), LEANS, 30.0), 0.1),
    ],
)
def test_the_unlisted_are_read_and_the_listed_named(mask: str, form: Form | None, least: float) -> None:
    """From 80 known pairs; how texts are cut and what form the code has is found out where it is not said."""
    target, known = encode(draw_people(200), mask)
    files = open_files(target, known)
    lesson = make_lesson(files, true_pairs(target, 80))
    code = learn_code(lesson, choose_form(lesson, list_ways()) if form is None else form)
    assert code is not None
    assert code.vocabulary.way.joined
    others = [files.people[person] for person in target.table["person"][80:]]
    texts = known.distances.texts()
    assert texts is not None
    assert read_records(code, files.bits[80:], dictionary_of(texts)).right(others).mean() > least
    assert (code.fit(files.bits[80:], others).argmax(axis=1) == np.arange(120)).mean() > 0.95


def test_record_salts_leave_nothing_to_learn() -> None:
    """The attack claims nobody, and nobody is read."""
    target, known = encode(draw_people(160), SALTED)
    told = Knowledge(seeds=true_pairs(target, 60), mask=dq.parse_mask(SALTED))
    found = dq.attacks.CodeAttack.build(told, dq.attacks.Search()).run(
        target, known, dq.LabelRule().candidates(target, known)
    )
    assert len(found.claimed()[0]) == 0
    files = open_files(target, known)
    code = learn_code(make_lesson(files, true_pairs(target, 60)), JOINED)
    texts = known.distances.texts()
    assert code is not None
    assert texts is not None
    others = [files.people[person] for person in target.table["person"][60:]]
    assert read_records(code, files.bits[60:], dictionary_of(texts)).right(others).mean() < 0.01


def test_a_fifth_of_wrong_pairs_is_tolerated() -> None:
    """Those who are not among the pairs are named all the same."""
    target, known = encode(draw_people(250), "bloom:length=512")
    pairs = true_pairs(target, 100)
    people = [person for _, person in pairs[:20]]
    pairs[:20] = [(row, person) for (row, _), person in zip(pairs[:20], [*people[1:], people[0]], strict=True)]
    files = replace(open_files(target, known), forms={"form": JOINED})
    found = name_people(files, Known.of(pairs), Known.of(()), None)
    right = target.table["person"].to_numpy()[found.record] == found.person
    assert right[found.probability > 0.5].mean() > 0.98
    assert (right & (found.probability > 0.5)).sum() > 0.98 * 150
    assert found.code is not None


def test_more_pairs_never_predict_others_much_worse() -> None:
    """By what records gain that were not learned from."""
    target, known = encode(draw_people(240), "bloom:length=256,flip=0.05")
    files = open_files(target, known)
    gains = [_Held.of(make_lesson(files, true_pairs(target, many)), JOINED, LEARNING).gain for many in (40, 90, 240)]
    assert all(more > fewer - 0.02 * abs(fewer) for fewer, more in pairwise(gains))


@pytest.mark.parametrize("mask", ["bloom:length=512,flip=0.3", pytest.param("bloom:flip=0.4", marks=pytest.mark.slow)])
def test_probabilities_hold_where_much_is_uncertain(mask: str) -> None:
    """Within .05, over several files whose codes are learned from few pairs."""
    said, true = [], []
    for seed in range(2):
        target, known = encode(draw_people(200, seed), mask, seed)
        files = open_files(target, known)
        code = learn_code(make_lesson(files, true_pairs(target, 80)), Form(Way(joined=True), SETS, 0.3))
        assert code is not None
        found = weigh_pairs(files, code, Known.of(true_pairs(target, 80)), 0.99)
        said.append(found.probability)
        true.append(target.table["person"].to_numpy()[found.record] == found.person)
    chance, right = np.concatenate(said), np.concatenate(true)
    for low, high in ((0.02, 0.2), (0.2, 0.8), (0.8, 1.01)):
        some = (chance >= low) & (chance < high)
        if some.sum() >= 100:
            assert abs(chance[some].mean() - right[some].mean()) < 0.05


def test_the_attack_is_found_by_its_name_and_says_what_it_needs() -> None:
    """Through the one door for attacks; without bits or texts it does not apply."""
    target, known = encode(draw_people(100), "bloom:length=512")
    knowledge = Knowledge(seeds=true_pairs(target, 40), mask=dq.parse_mask("bloom:length=512"))
    found = dq.attack(target, known, by="code", knowledge=knowledge, truth="person")
    assert found.risk is not None
    assert found.risk.recall == found.risk.precision == 1.0
    with refused("code_needs_encodings_and_texts"):
        dq.attack(known, known, by="code", knowledge=knowledge)
