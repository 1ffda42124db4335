"""Audits of files that are no map: vectors, mixed tables, texts and bare matrices."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from typer.testing import CliRunner

import disclique as dq
from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.registry import _ATTACKS, Attack
from disclique.audits import Audit, make_plan
from disclique.audits.definition import split_sizes
from disclique.audits.estimate import describe_work
from disclique.audits.known_file import draw_control, draw_known_file
from disclique.audits.plan import Snooper
from disclique.cli import app
from disclique.measures.risk import Truth, judge
from disclique.measures.utility import best_f1
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.spaces import full_matrix
from disclique.synthetic.people import misspell
from small_files import LIGHT, make_file

FIRST = ("anna", "otto", "ida", "paul", "marie", "karl", "lena", "emil", "rosa", "hugo", "clara", "jakob")
LAST = ("meier", "weber", "kern", "schulz", "fischer", "bauer", "wolf", "klein", "neumann", "braun", "lang", "roth")
FAST: dict[str, Any] = {"repetitions": 2, "attacks": ["labels", "clique", "extend"], "budget": 0.05}


def table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    pairs = rng.permutation([f"{a} {b}" for a in FIRST for b in LAST])[:n]
    return pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "name": pairs,
            "age": rng.integers(18, 80, n),
        }
    )


def make(kind: str, n: int = 40, seed: int = 0) -> Microdata:
    people, about = table(n, seed), {"labels": ["sex"], "ids": "id", "name": f"{kind}.csv"}
    vectors = np.random.default_rng(seed).normal(size=(n, 6))
    if kind == "texts":
        return dq.microdata(people, text="name", **about)
    if kind == "records":
        mixed = people.assign(town=people["name"].str[:1], income=vectors[:, 0])
        return dq.microdata(mixed, coordinates=["age", "town", "income"], metric="gower", **about)
    if kind == "matrix":
        return dq.microdata(people, distances=full_matrix(dq.Points(vectors, "euclidean")), **about)
    return dq.microdata(people, coordinates=vectors, metric={"vectors": "euclidean", "cosine": "cosine"}[kind], **about)


MASKS = {
    "texts": "bloom:flip=0.01",
    "records": "round:to=0.02",
    "matrix": "round:to=0.1",
    "vectors": "gaussian:sigma=0.05",
    "cosine": "gaussian:sigma=0.05",
}
HARMLESS = r"places on this picture mean nothing|R-U confidentiality map|Mask \w+: .*|Distances are in kilomet.*"
WORDS = re.compile(r"\b(maps?|km|kilomet\w*|places?|homes?|longitude|latitude|degrees|coordinates?)\b", re.IGNORECASE)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("more", [{}, {"overlap": 0.5}, {"overlap": 0.5, "size": 30, "seeds": 3}])
def test_every_kind_of_file_is_audited_and_nothing_speaks_of_a_map(kind: str, more: dict[str, Any]) -> None:
    found = dq.audit(make(kind), MASKS[kind], **FAST, **more)
    setting = found.settings[0]
    assert found.file.distances == {"cosine": "vectors"}.get(kind, kind)
    assert more or setting.risk.value > 0.5  # next to nothing is hidden by these masks
    assert any(attack.control is not None for attack in setting.attacks)  # the best one is held against it
    assert setting.oracle is not None
    if "overlap" in more:
        assert found.snooper.common + found.plan.snooper.seeds == round(0.5 * found.snooper.records)
    said = [*found.verdict.sentences, *map(str, found.snooper.assumed), *map(str, found.limits)]
    assert not [line for line in said if WORDS.search(line)]
    page = found.report()
    body = re.sub(r"<[^>]+>", " ", page[page.index("<body>") : page.index('<script type="application/json"')])
    spoken = re.sub(HARMLESS, "", body)
    assert not WORDS.search(spoken), WORDS.search(spoken)


def test_a_map_is_still_called_one() -> None:
    found = dq.audit(make_file(30), "gaussian:sigma=2km", repetitions=1, attacks=["labels"], overlap=0.5)
    assert found.file.distances == "coordinates"
    assert Message("others_synthetic", how=Message("invented_at_places")) in found.snooper.assumed
    assert "A map of the records would give their places away" in found.report()
    assert found.settings[0].oracle is not None


@pytest.mark.parametrize("kind", ["texts", "records", "vectors", "cosine"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), count=st.integers(0, 25))
def test_strangers_are_of_the_kind_of_the_file_and_nobody_of_it(kind: str, seed: int, count: int) -> None:
    source = make(kind, 20).distances
    found = source.invent(count, np.random.default_rng(seed))
    assert found.size == count
    assert type(found) is type(source)
    if isinstance(source, dq.Texts):
        assert isinstance(found, dq.Texts)
        assert not set(found.strings) & set(source.strings)
        words = {word for text in source.strings for word in text.split()}
        assert {word for text in found.strings for word in text.split()} <= words
    elif isinstance(source, dq.Points) and kind != "records":
        low, high = source.coordinates.min(axis=0), source.coordinates.max(axis=0)
        assert isinstance(found, dq.Points)
        assert ((found.coordinates >= low) & (found.coordinates <= high)).all()
    elif count:
        assert isinstance(found, dq.Points)
        assert found.metric == source.metric  # type: ignore[attr-defined]
        assert {row[1] for row in found.coordinates} <= {row[1] for row in source.coordinates}  # type: ignore


def test_strangers_of_single_words_are_put_together_from_parts() -> None:
    source = dq.Texts(("anna", "otto", "ida"))
    found = source.invent(20, np.random.default_rng(0))
    assert isinstance(found, dq.Texts)
    assert not set(found.strings) & set(source.strings)


@given(records=st.integers(4, 300), overlap=st.floats(0.05, 1), size=st.one_of(st.none(), st.integers(1, 100)))
def test_a_split_releases_as_much_as_it_can(records: int, overlap: float, size: int | None) -> None:
    released, strangers = split_sizes(records, Snooper(overlap=overlap, size=size))
    if released:
        common = max(1, round(overlap * released))
        assert released + strangers <= records
        assert strangers == max((size or released) - common, 0)
        more = released + 1
        assert more > records or more + max((size or more) - max(1, round(overlap * more)), 0) > records


def test_a_bare_matrix_is_split_and_that_is_said() -> None:
    file = make("matrix", 30)
    audit = Audit(make_plan(["round:to=0.1"], overlap=0.5, **FAST), file)
    seen: set[int] = set()
    for repetition in range(3):
        known = draw_known_file(audit, repetition)
        assert len(known.released) == len(known.data) == audit.released_size == 20
        strangers = set(known.data.ids) - set(known.released.ids)
        assert len(strangers) == 10
        assert strangers <= set(file.ids)
        for t, k in known.truth.pairs:
            assert known.released.ids[t] == known.data.ids[k] == file.ids[known.rows[t]]
        seen |= set(known.rows.tolist())
    assert len(seen) > 20  # who is released changes from repetition to repetition
    assert Message("work_splits", records=20) in describe_work(audit)
    found = dq.audit(file, "round:to=0.1", overlap=0.5, **FAST)
    assert Message("others_kept_out", released=20, records=30) in found.snooper.assumed
    with pytest.raises(dq.InputError, match="no release is left"):
        dq.audit(file, "round:to=0.1", overlap=0.1, size=40, **FAST)


def test_others_come_from_a_file_where_they_can() -> None:
    file, more = make("texts", 20), make("texts", 90, seed=1)
    more = replace(more, ids=tuple(f"q{k}" for k in range(90)))
    audit = Audit(make_plan(["bloom"], others=more, overlap=0.5, size=40, **FAST), file, None, more)
    known = draw_known_file(audit, 0)
    assert len(known.data) == 40
    assert len(set(known.data.ids) & set(more.ids)) == 30
    with pytest.raises(dq.InputError, match="is not known; without a file of others"):
        dq.audit(make("matrix", 20), "round:to=0.1", others=make("matrix", 30, seed=2), overlap=0.5, **FAST)


def test_ranges_are_those_of_the_holders_file() -> None:
    file, other = make("records", 20), make("records", 20, seed=3)
    audit = Audit(make_plan(["round:to=0.1"], known=other, **FAST), file, other)
    assert audit.known is not None
    assert audit.known.distances.metric == file.distances.metric != other.distances.metric  # type: ignore
    odd = [remark.name for remark in dq.inspect(file, other, same_ids=True).remarks]  # other people, the same ids
    found = dq.audit(file, "round:to=0.1", known=other, accept=odd, **FAST)
    assert Message("ranges_of_the_holder") in found.snooper.assumed
    strange = dq.microdata(table(20), ["sex"], coordinates=["age:category", "name", "sex"], metric="gower", ids="id")
    with pytest.raises(dq.InputError, match="column 1 to compare holds categories, but numbers in the other file"):
        dq.audit(file, "round:to=0.1", known=strange, **FAST)


# insiders


@dataclass(frozen=True)
class Parrot(Attack):
    """Claims its seeds, and as many other pairs of rows from its front, true or not."""

    name: ClassVar[str] = "parrot"
    needs: ClassVar[str] = "seeds"
    summary: ClassVar[str] = "Claims what it is told and more."
    in_all: ClassVar[bool] = False
    by_seeds: ClassVar[bool] = True

    seeds: tuple[tuple[int, int], ...] = ()

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        return cls(knowledge.seeds)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        own = {person: row for row, person in enumerate(known.ids)}
        told = dict(self.seeds)
        for row, person in enumerate(target.ids):  # an oracle: right for as many others as it has seeds
            if len(told) < 2 * len(self.seeds) and row not in told and person in own:
                told[row] = own[person]
        pairs = np.array(sorted(told.items()), dtype=np.int32).reshape(-1, 2)
        assert all(target.ids[t] == known.ids[k] for t, k in self.seeds)  # seeds are true, in the control too
        return make_claims((pairs[:, 0], pairs[:, 1], np.ones(len(pairs))), attack=self.name)


@pytest.fixture(autouse=True)
def parrot() -> Iterator[None]:
    _ATTACKS["parrot"] = Parrot
    yield
    del _ATTACKS["parrot"]


def test_seeds_are_neither_found_nor_missed() -> None:
    found = dq.audit(make("vectors", 40), "rotation", attacks=["parrot"], seeds=8, repetitions=2)
    attack = found.settings[0].attacks[0]
    assert found.snooper.common == 32
    assert attack.recall.value == pytest.approx(8 / 32)
    assert attack.precision.value == 1.0
    assert attack.control == 0.0
    assert Message("snooper_is_insider", seeds=8, others=32.0) in found.snooper.assumed
    assert found.settings[0].seeded == ()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), unique_by=lambda pair: pair[0]), st.integers(0, 10))
def test_the_judge_leaves_seeds_out(claimed: list[tuple[int, int]], told: int) -> None:
    truth, seeds = Truth(np.column_stack([np.arange(10)] * 2)), [(k, k) for k in range(told)]
    pairs = np.array(claimed, dtype=np.int32).reshape(-1, 2)
    risk = judge(make_claims((pairs[:, 0], pairs[:, 1], np.ones(len(pairs))), attack="mine"), truth, seeds).risk
    rest = [(t, k) for t, k in claimed if t >= told]
    right = sum(t == k for t, k in rest)
    assert (risk.tp, risk.fp, risk.fn) == (right, len(rest) - right, 10 - told - right)


@pytest.mark.long
def test_insiders_are_asked_beside_the_attacks() -> None:
    found = dq.audit(make("texts", 130), "bloom", attacks=["labels", "parrot"], repetitions=1)
    assert [(one.seeds, one.value) for one in found.settings[0].seeded] == [
        (10, pytest.approx(10 / 120, abs=0.02)),
        (50, pytest.approx(50 / 80, abs=0.02)),
    ]
    page = found.report()
    assert "of the others, if 10 are known" in page
    small = dq.audit(make("texts", 30), "bloom", attacks=["labels", "parrot"], repetitions=1)
    assert [one.seeds for one in small.settings[0].seeded] == [10]
    alone = dq.audit(make("texts", 30), "bloom", attacks=["labels"], repetitions=1)
    assert alone.settings[0].seeded == ()


@pytest.mark.long
def test_what_only_an_insider_finds_is_not_shown_to_be_safe() -> None:
    """The attacks find nobody, but 50 known pairs lead to more people than the limit allows."""
    asked = {"attacks": ["labels", "parrot"], "repetitions": 1}
    found = dq.audit(make("texts", 130), "bloom", max_risk=0.5, **asked)
    assert not found.settings[0].meets
    assert found.verdict.status != "meets"


@pytest.mark.parametrize("kind", MASKS)
def test_the_control_has_nobody_of_the_release_but_the_seeds(kind: str) -> None:
    for more in ({}, {"overlap": 0.5}, {"seeds": 4}, {"overlap": 0.8, "seeds": 4}):
        audit = Audit(make_plan([MASKS[kind]], **FAST, **more), make(kind, 30))
        known = draw_known_file(audit, 0)
        control = draw_control(audit, known, 0)
        assert control is not None
        attacked = [known.released.ids[row] for row in control.rows]
        told = {attacked[t] for t, _ in control.seeds}
        assert [attacked[t] for t, _ in control.seeds] == [control.data.ids[k] for _, k in control.seeds]
        assert len(told) == len(known.seeds)
        assert set(attacked) & set(control.data.ids) == told


def test_bad_seeds_are_one_sentence() -> None:
    with pytest.raises(dq.InputError, match="seeds = 40: the snooper knows 40 of the released people"):
        dq.audit(make("vectors", 40), "rotation", seeds=40, **FAST)
    with pytest.raises(dq.InputError, match="at least 0"):
        Snooper(seeds=-1)
    with pytest.raises(dq.InputError, match="target row 3 stands in two pairs"):
        Knowledge(seeds=((3, 0), (3, 1)))


# linkage


@given(st.integers(2, 8), st.integers(0, 999))
def test_best_f1_is_that_of_scikit_learn(people: int, seed: int) -> None:
    across = np.random.default_rng(seed).integers(0, 6, (people, people)) / 5
    right = np.eye(people, dtype=int).ravel()
    slow = max(f1_score(right, (across <= t).astype(int).ravel()) for t in np.unique(across))
    assert best_f1(across) == pytest.approx(slow)


@pytest.mark.long
def test_linkage_falls_with_noise_and_is_for_encodings_only() -> None:
    file = make("texts", 100)
    values = []
    for spec in ("bloom", "bloom:flip=0.2", "bloom:flip=0.5"):
        mask = dq.parse_mask(spec)
        released = mask.apply(file.distances, np.random.default_rng(0))
        values.append(dq.utility(file.distances, released, rng=np.random.default_rng(1), mask=mask)["linkage"])
    assert values[0] > 0.9 > values[1] > values[2]  # type: ignore[operator]
    other = make("vectors")
    assert dq.utility(other.distances, other.distances, rng=np.random.default_rng(0))["linkage"] is None
    found = dq.audit(file, "bloom", utility="linkage", **FAST)
    assert found.settings[0].usefulness is not None
    assert "F1" in found.report()


@given(st.integers(0, 999))
def test_a_misspelt_text_is_one_or_two_letters_off(seed: int) -> None:
    from rapidfuzz.distance import DamerauLevenshtein

    texts = dq.Texts(tuple(table(20)["name"]))
    found = misspell(texts, np.random.default_rng(seed), share=1.0)
    for before, after in zip(texts.strings, found.strings, strict=True):
        assert 1 <= DamerauLevenshtein.distance(before, after) <= 2  # a blank at an end is lost besides


# doors


def test_the_command_audits_texts_and_vectors(tmp_path: Path) -> None:
    people = table(30)
    people.to_csv(tmp_path / "people.csv", index=False)
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(30, 4)))
    np.save(tmp_path / "w.npy", np.random.default_rng(1).normal(size=(40, 4)))
    table(40, seed=1).assign(id=[f"q{k}" for k in range(40)]).to_csv(tmp_path / "others.csv", index=False)
    common = (
        "audit",
        tmp_path / "people.csv",
        "--id",
        "id",
        "--label",
        "sex",
        "--repetitions",
        1,
        "--processes",
        1,
        *LIGHT,
    )
    work = ("--attack", "labels", "--attack", "extend", "--overlap", 0.5)
    for name, more in {
        "texts": ("--text", "name", "--mask", "bloom", "--seeds", 2, "--utility", "linkage"),
        "vectors": ("--vectors", tmp_path / "v.npy", "--metric", "cosine", "--mask", "rotation", "--others",
                    tmp_path / "others.csv", "--others-vectors", tmp_path / "w.npy"),
    }.items():  # fmt: skip
        done = CliRunner().invoke(app, [str(part) for part in (*common, *work, *more, "--out", tmp_path / name)])
        assert done.exit_code == 0, done.output
        written = json.loads((tmp_path / name / "result.json").read_text())
        assert written["file"]["distances"] == name
        assert dq.read_result(tmp_path / name / "result.json").report()


def test_an_audit_is_not_continued_by_another_metric(tmp_path: Path) -> None:
    one, other = make("vectors", 20), make("cosine", 20)
    dq.audit(replace(one, name="a"), "rotation", folder=tmp_path, **FAST)
    with pytest.raises(dq.InputError):
        dq.audit(replace(other, name="a"), "rotation", folder=tmp_path, **FAST)


def test_settings_are_named_by_what_is_not_as_by_default() -> None:
    found = dq.audit(make("texts", 20), ["bloom:flip=0.1", "bloom:flip=0"], repetitions=1, attacks=["labels"])
    assert [s.brief for s in found.settings] == ["bloom:flip=0.1", "bloom:flip=0"]
    assert found.verdict.reasons[0].values["mask"].code == "mask_with"
    assert found.report()


def test_encodings_made_elsewhere_and_travel_times_are_split_too() -> None:
    encoded = dq.parse_mask("bloom").apply(make("texts", 30).distances, np.random.default_rng(0))
    file = dq.microdata(table(30), ["sex"], distances=encoded, ids="id", name="clk.csv")
    found = dq.audit(file, "round:to=0.001", overlap=0.5, **FAST)
    assert (found.file.distances, found.snooper.records) == ("encodings", 20)
    assert found.settings[0].risk.value > 0.5
    times = np.random.default_rng(1).uniform(1, 9, (30, 30))
    times[3, 5] = times[7, 2] = np.nan
    np.fill_diagonal(times, 0)
    travel = dq.microdata(table(30), ["sex"], distances=times, ids="id", directed=True, unpublished=True)
    assert dq.audit(travel, "round:to=0.1", overlap=0.5, **FAST).settings[0].risk.value > 0.5


def test_errors_of_vectors_are_calibrated_in_all_dimensions() -> None:
    """The interval of d - d′ that the snooper reckons with holds as many pairs as it says; the cosine has none."""
    points = make("vectors", 140).distances
    assert isinstance(points, dq.Points)
    rng, error = np.random.default_rng(0), 0.7
    mask = dq.parse_mask("gaussian:sigma=0.1")
    found = dq.calibrate(mask, points=points.coordinates, metric="euclidean", pairs=4000, rng=rng)
    low, high = found.blurred(error, rng, across=5).interval(0.8)
    theirs = replace(points, coordinates=points.coordinates + rng.normal(0, error, points.coordinates.shape))
    deviation = (full_matrix(theirs) - full_matrix(mask.apply(points, rng)))[np.triu_indices(140, 1)]
    assert np.mean((low < deviation) & (deviation < high)) == pytest.approx(0.8, abs=0.03)
    told = dq.audit(make("vectors"), "gaussian:sigma=0.01", coordinate_error="0.01", **FAST)
    assert told.settings[0].risk.value > 0.5
    with pytest.raises(dq.InputError, match="distances by cosine is not known"):
        dq.audit(make("cosine"), "gaussian:sigma=0.01", coordinate_error="0.01", **FAST)
