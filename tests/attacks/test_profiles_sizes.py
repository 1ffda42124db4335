"""The attack on files too large for their matrices, and on lists with errors: small files, with the limits set low."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.attacks import ProfilesAttack
from disclique.attacks.link import truth_of
from disclique.attacks.profiles import Tuning
from disclique.attacks.profiles.clouds import Turning, features
from disclique.attacks.profiles.evidence import Scoring
from disclique.attacks.profiles.sides import Sampling
from disclique.messages import Message
from disclique.progress import Step, listening
from disclique.synthetic.people import misspell, mistype

BLOOM = dq.parse_mask("bloom:length=1024,bits=10,q=2")
SYLLABLES = ("an", "be", "cor", "do", "el", "fi", "ga", "hu", "il", "jo", "ka", "lu", "mar", "ne", "ot", "pa", "ri")
SYLLABLES += ("sa", "ti", "ul", "vo", "wer", "za", "mei", "sch", "stein", "berg", "mann", "hof")
BY_LANDMARKS = Tuning(
    sampling=Sampling(whole=100, landmarks=200),
    turning=Turning(many=100),
    scoring=Scoring(pairs_at_once=20_000),
)


def invent(count: int, seed: int = 0) -> dq.Texts:
    rng, found = np.random.default_rng(seed), dict[str, None]()
    while len(found) < count:
        found["".join(rng.choice(SYLLABLES, 2)) + " " + "".join(rng.choice(SYLLABLES, 3))] = None
    return dq.Texts(tuple(found))


def draw(
    size: int, common: int, seed: int = 0, errors: float = 0.0, letters: float = 0.0
) -> tuple[dq.Microdata, dq.Microdata]:
    """Return two files of invented names that share some people; the release is encoded, the list may have errors."""
    texts, rng = invent(2 * size - common, seed), np.random.default_rng(seed)
    order = rng.permutation(texts.size)
    rows = rng.permutation(order[:size]), rng.permutation(order[size - common :])
    names = texts.select(rows[1])
    spoiled = mistype(misspell(names, rng, errors) if errors else names, rng, letters)
    files = BLOOM.apply(texts.select(rows[0]), rng), spoiled
    both = (
        dq.microdata(pd.DataFrame({"who": some}), [], distances=found) for some, found in zip(rows, files, strict=True)
    )
    target, known = both
    return target, known


def attack(files: tuple[dq.Microdata, dq.Microdata], tuning: Tuning) -> dq.AttackResult:
    return dq.attack(*files, by=ProfilesAttack(mask=BLOOM, starts=2, tuning=tuning), truth="who")


def test_features_do_not_depend_on_how_many_records_are_ranked_at_once() -> None:
    """A block of seven against all of them."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(60, 4))
    columns = np.sort(rng.choice(60, 25, replace=False))
    near = np.linalg.norm(points[:, None] - points[columns][None], axis=2).astype(np.float32)
    whole = features(near, columns, (3, 10))
    np.testing.assert_array_equal(features(near, columns, (3, 10), at_once=7), whole)
    among = near[columns][~np.eye(25, dtype=bool)].reshape(25, 24)
    np.testing.assert_allclose(whole[columns, 26], among.mean(axis=1), rtol=1e-5)  # a landmark's own mean


def test_landmarks_find_what_matrices_find() -> None:
    """Distances to a third of the records, clouds turned slowly."""
    risk = attack(draw(600, 400), BY_LANDMARKS).risk
    assert risk is not None
    assert risk.recall >= 0.95
    assert risk.precision >= 0.95


def test_strangers_are_not_claimed_by_landmarks_either() -> None:
    """Two large files of the same kind of names."""
    result = attack(draw(500, 0, seed=1), BY_LANDMARKS)
    assert len(result.matches) == 0
    assert result.claims.doubt


def test_progress_is_told_from_the_beginning() -> None:
    """The first step before any distance is computed, and more while alignments are weighed."""
    heard: list[tuple[Step, float | None]] = []
    files = draw(150, 150)
    with listening(lambda step, share: heard.append((step, share))):
        ProfilesAttack(mask=BLOOM, starts=1).run(*files, dq.LabelRule().candidates(*files))
    assert heard[0] == (Message("step_comparing_files"), 0.0)
    assert len({share for _, share in heard if share is not None}) >= 3
    assert any(isinstance(step, Message) and step.code == "step_alignments" for step, _ in heard)


@pytest.mark.parametrize(("errors", "least"), [(0.2, 0.85), (1.0, 0.75)])
def test_errors_in_the_list_are_no_shield(errors: float, least: float) -> None:
    """A typing error in some or all names; the probabilities stay right."""
    result = attack(draw(300, 300, seed=2, errors=errors), Tuning())
    assert result.risk is not None
    assert result.risk.recall >= least
    assert result.risk.precision >= 0.9
    assert result.claims.expected == pytest.approx(result.risk.tp, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_an_eighth_in_common_is_found_among_strangers(seed: int) -> None:
    """Assigned as a whole 400 people have a few right partners at first, which agree best with each other."""
    risk = dq.attack(*draw(400, 50, seed=seed), by=ProfilesAttack(mask=BLOOM), truth="who").risk
    assert risk is not None
    assert risk.recall >= 0.9
    assert risk.precision >= 0.85


@pytest.mark.parametrize(("common", "least"), [(300, 0.8), pytest.param(180, 0.65, marks=pytest.mark.long)])
def test_probabilities_hold_where_every_tenth_letter_of_the_list_is_wrong(common: int, least: float) -> None:
    """Nobody told the snooper of errors: copies of the list with as many are what scores are learned from."""
    result = attack(draw(360, common, seed=3, letters=0.1), Tuning())
    assert 0.05 <= result.claims.details["misspelled"] <= 0.2
    assert result.risk is not None
    assert result.risk.recall >= least
    assert result.risk.precision >= 0.85
    assert result.claims.expected is not None
    assert 0.9 * result.risk.tp <= result.claims.expected <= result.risk.tp + 0.25 * common


@pytest.mark.long
def test_who_knows_many_misspelled_people_finds_others() -> None:
    """Pairs known beforehand are right, but may be badly misspelled: nobody found anybody who knew 160 of 240 pairs."""
    files = draw(360, 240, seed=21, letters=0.15)
    pairs = truth_of(*files, "who").pairs[:160]
    seeds = tuple((int(row), int(column)) for row, column in pairs)
    risk = dq.attack(*files, by=ProfilesAttack(mask=BLOOM, starts=1, seeds=seeds), truth="who").risk
    assert risk is not None
    assert risk.tp >= 0.5 * 80
    assert risk.precision is not None
    assert risk.precision >= 0.7


def test_no_errors_are_supposed_where_there_are_none() -> None:
    """A list as the release was made from, half of it of others."""
    assert attack(draw(200, 100, seed=5), Tuning()).claims.details["misspelled"] == 0


@pytest.mark.parametrize("letters", [0.1, pytest.param(0.3, marks=pytest.mark.long)])
def test_strangers_with_errors_are_nobody(letters: float) -> None:
    """Supposing errors until two lists of different people look alike must not succeed."""
    claims = attack(draw(200, 0, seed=6, letters=letters), Tuning()).claims
    assert (claims.probability > 0.5).sum() == 0
    assert claims.expected < 0.02 * 200


@pytest.mark.slow
def test_memory_grows_with_the_records_not_with_their_pairs() -> None:
    """Twice the records, hardly more than twice the memory."""
    peaks = []
    for size in (1000, 2000):
        files = draw(size, size // 2, seed=4)
        tracemalloc.start()
        attack(files, BY_LANDMARKS)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 2.6 * peaks[0]
