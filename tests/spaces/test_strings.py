"""Strings as a metric space: every metric beside a plain twin, every reading beside the cells, every complaint."""

import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from builders import rng
from disclique.attacks.calibration import calibrate_matrix
from disclique.masks import parse_mask
from disclique.records import Layout, full_matrix, select_records
from disclique.spaces import Sizes
from disclique.spaces.strings import TEXT_METRICS, find_grams, grams_of, normalise, parse_text_metric

NAMES = ("Anna Meier", "Hanna Mayer", "OTTO WEBER", "Otto  Weber ", "Óscar", "李小龍", "محمد", "x", "Jo", "J\u030co")
ALPHABET = "abcÄß é\u0301"
WORDS = st.lists(st.text(ALPHABET, min_size=1, max_size=7).filter(normalise), min_size=2, max_size=6)
PLAIN = (*TEXT_METRICS, "dice:q=1", "dice:q=3,pad=1", "dice:q=3,pad=2")


def matrix(strings, metric):
    return full_matrix(dq.Texts(tuple(strings), metric))


def edit_twin(a, b, transpose):
    """Levenshtein, or unrestricted Damerau-Levenshtein after Lowrance and Wagner (1975), by the full table."""
    far = len(a) + len(b)
    table = {(-1, -1): far}
    last = dict.fromkeys(a + b, 0)
    for i in range(len(a) + 1):
        table[i, -1], table[i, 0] = far, i
    for j in range(len(b) + 1):
        table[-1, j], table[0, j] = far, j
    for i in range(1, len(a) + 1):
        seen = 0
        for j in range(1, len(b) + 1):
            k, m = last[b[j - 1]], seen
            same = a[i - 1] == b[j - 1]
            if same:
                seen = j
            ways = [table[i - 1, j - 1] + (not same), table[i, j - 1] + 1, table[i - 1, j] + 1]
            if transpose:
                ways.append(table[k - 1, m - 1] + (i - k - 1) + 1 + (j - m - 1))
            table[i, j] = min(ways)
        last[a[i - 1]] = i
    return float(table[len(a), len(b)])


def jaro_winkler_twin(a, b):
    """1 - Jaro-Winkler similarity with prefix weight 0.1 above a similarity of 0.7, as rapidfuzz and jellyfish do."""
    reach = max(len(a), len(b)) // 2 - 1
    used, left = [False] * len(b), []
    for i, letter in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if not used[j] and b[j] == letter:
                used[j] = True
                left.append(letter)
                break
    right = [letter for letter, taken in zip(b, used, strict=True) if taken]
    if not left:
        return 0.0 if a == b else 1.0
    moved = sum(x != y for x, y in zip(left, right, strict=True)) // 2
    same = len(left)
    jaro = (same / len(a) + same / len(b) + (same - moved) / same) / 3
    prefix = next((k for k in range(4) if k >= min(len(a), len(b)) or a[k] != b[k]), 4)
    return 1 - (jaro + prefix * 0.1 * (1 - jaro) if jaro > 0.7 else jaro)


def dice_twin(a, b, q, pad):
    def grams(text):
        text = " " * pad + text + " " * pad
        return {text[k : k + q] for k in range(len(text) - q + 1)} or {text}

    left, right = grams(a), grams(b)
    return 1 - 2 * len(left & right) / (len(left) + len(right))


def twin(a, b, metric):
    rule = parse_text_metric(metric)
    if rule.name == "dice":
        return dice_twin(a, b, rule.q, rule.pad)
    if rule.name == "jaro-winkler":
        return min(jaro_winkler_twin(a, b), jaro_winkler_twin(b, a))
    return edit_twin(a, b, rule.name == "damerau")


@pytest.mark.parametrize("metric", PLAIN)
@given(words=WORDS)
@settings(max_examples=60)
def test_distances_are_those_of_a_plain_twin(metric, words):
    found = matrix(words, metric)
    plain = [[twin(normalise(a), normalise(b), metric) for b in words] for a in words]
    np.testing.assert_allclose(found, plain, atol=1e-12)


@pytest.mark.parametrize("metric", ["levenshtein", "damerau"])
@given(words=WORDS)
@settings(max_examples=40)
def test_edit_distances_obey_the_triangle_inequality(metric, words):
    """The unrestricted Damerau distance does; the "optimal string alignment" would not."""
    d = matrix(words, metric)
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12).all()
    assert matrix(["ca", "abc"], "damerau")[0, 1] == 2  # 3 for optimal string alignment


@pytest.mark.parametrize("metric", PLAIN)
@given(words=WORDS, more=st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_blocks_selections_and_the_matrix_are_one(metric, words, more):
    texts = dq.Texts(tuple(words), metric)
    d = full_matrix(texts)
    assert np.array_equal(d, d.T)
    assert (np.diagonal(d) == 0).all()
    assert np.array_equal(full_matrix(texts.as_matrix()), d)
    rows = np.array(more.choices(range(len(words)), k=3), dtype=np.int32)
    columns = np.array(more.choices(range(len(words)), k=2), dtype=np.int32)
    assert np.array_equal(texts.block(rows, columns), d[np.ix_(rows, columns)])
    chosen = texts.select(rows)
    assert isinstance(chosen, dq.Texts)
    assert np.array_equal(full_matrix(chosen), d[np.ix_(rows, rows)])


def test_large_blocks_are_counted_in_parts():
    words = [f"{a}{b}" for a in ("anna", "otto", "li") for b in range(5)]
    expected = [[twin(a, b, "dice:q=2") for b in words] for a in words]
    np.testing.assert_allclose(full_matrix(dq.Texts(words, "dice:q=2").with_sizes(Sizes(counted=7))), expected)


@given(st.text(max_size=12))
@settings(max_examples=300)
def test_normalising_twice_changes_nothing(text):
    once = normalise(text)
    assert normalise(once) == once == unicodedata.normalize("NFC", once) == once.strip()
    assert normalise(text.upper().lower()) == normalise(text.upper())


def test_strings_are_compared_without_case_and_however_they_are_composed():
    texts = dq.Texts(("  Müller", "MU\u0308LLER ", "muller", "Straße", "STRASSE"))
    d = full_matrix(texts)
    assert texts.strings[0] == texts.strings[1] == "müller"
    assert d[0, 1] == d[3, 4] == 0 < d[0, 2]
    assert repr(texts) == "5 texts, dice:q=2"


@pytest.mark.parametrize("metric", TEXT_METRICS)
def test_long_equal_and_foreign_strings_work(metric):
    texts = dq.Texts((*NAMES, "a" * 10_000, "ab" * 5_000, "Anna Meier"), metric)
    d = full_matrix(texts)
    assert np.isfinite(d).all()
    assert d[0, -1] == 0
    assert (d[0, 1:-1] > 0).all()


@given(WORDS, st.integers(1, 4))
@settings(max_examples=50)
def test_grams_are_listed_once_and_never_empty(words, q):
    found = find_grams(words, q)
    for row, text in enumerate(words):
        mine = {found.vocabulary[k] for k in found.members[row].indices}
        assert mine == set(grams_of(text, q)) == {text[k : k + q] for k in range(len(text) - q + 1)} or mine == {text}
    assert len(set(found.vocabulary)) == len(found.vocabulary)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: dq.Texts(("a", "  ")), r"strings\[1\] = '  ': an empty string"),
        (lambda: dq.Texts(("a",), "soundex"), "metric 'soundex': texts are compared by one of levenshtein, damerau"),
        (lambda: dq.Texts(("a",), "dice:q=0"), "q = 0: it must be a whole number from 1 to 100"),
        (lambda: dq.Texts(("a",), "dice:q=two"), "q = two: it must be a whole number"),
        (lambda: dq.Texts(("a",), "dice:r=2"), "no parameter 'r'; dice has q and pad"),
        (lambda: dq.Texts(("a",), "levenshtein:q=2"), "no parameter 'q'; levenshtein has none"),
        (lambda: dq.Texts(("a",), "dice:q=2,pad=2"), "pad = 2: more blanks than q - 1"),
    ],
)
def test_bad_texts_are_explained(make, says):
    with pytest.raises(dq.InputError, match=says):
        make()


PEOPLE = pd.DataFrame(
    {
        "id": ["p", "q", "r"],
        "first": ["Ada", "Bo", "Ci"],
        "last": ["Lee", None, "Ng"],
        "year": ["1950", "1960", "1970"],
        "lon": ["1", "2", "3"],
        "lat": ["1", "2", "3"],
    }
)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_columns_of_text_are_read(tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    if ending == "parquet":
        PEOPLE.to_parquet(path)
    else:
        PEOPLE.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    data = dq.read(path, text=["first", "last"], id="id", labels=["year"])
    assert data.distances.strings == ("ada lee", "bo", "ci ng")
    assert (data.distances.metric, data.distances.columns) == ("dice:q=2", ("first", "last"))
    again = dq.read(path, Layout(text="first,last", metric="Levenshtein"), id="id")
    assert (again.distances.metric, len(again)) == ("levenshtein", 3)
    inside = dq.microdata(PEOPLE, text="first", metric="dice:q=3")
    assert inside.distances.strings == ("ada", "bo", "ci")
    assert select_records(data, np.array([2, 0])).distances.strings == ("ci ng", "ada lee")
    assert dq.microdata(pd.DataFrame({"n": [7, 7.0, "seven"]}), text="n").distances.strings == ("7", "7", "seven")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"text": ["name"]}, "f.csv: no column 'name'; it has 'id', 'first'"),
        ({"text": ["first"], "metric": "sphere"}, "metric 'sphere': texts are compared by"),
        ({"text": ["first"], "coordinates": "lon,lat"}, "coordinate columns and columns of text are given"),
        ({"text": ["first"], "encodings": "last"}, "columns of text and encodings are given"),
        ({"text": []}, "nothing gives distances; name a distance file, coordinate columns, columns of text"),
        ({"coordinates": "lon,lat", "metric": "levenshtein"}, "metric 'levenshtein': choose one of"),
    ],
)
def test_bad_layouts_of_text_are_explained(tmp_path, columns, says):
    path = tmp_path / "f.csv"
    PEOPLE.to_csv(path, index=False)
    with pytest.raises(dq.InputError, match=says):
        dq.read(path, **columns)


def test_distance_masks_work_on_texts_and_coordinate_masks_say_why_not():
    texts = dq.Texts(NAMES, "levenshtein")
    d = full_matrix(texts)
    rounded = full_matrix(parse_mask("round:to=5").apply(texts, rng()))
    assert np.array_equal(rounded, 5 * np.round(d / 5))
    assert np.isnan(full_matrix(parse_mask("knn:k=2").apply(texts, rng()))).any()
    noisy = full_matrix(parse_mask("matrix-gaussian:sd=1").apply(texts, rng()))
    assert 0.2 < np.std((noisy - d)[np.triu_indices(len(d), 1)]) < 2
    with pytest.raises(dq.InputError, match="gaussian moves coordinates, but the records are given by text"):
        parse_mask("gaussian:sigma=5").apply(texts, rng())
    with pytest.raises(dq.InputError, match="to = 1km: these distances are plain numbers"):
        parse_mask("round:to=1km").apply(texts, rng())


def test_the_law_of_a_mask_is_learned_from_texts():
    """The pairs of the simulation are pairs of the file, under the mask; matrices need no places either."""
    first, last = rng().integers(97, 123, (2, 80, 7), dtype=np.uint8)
    texts = dq.Texts(tuple(f"{a.tobytes().decode()} {b.tobytes().decode()}" for a, b in zip(first, last, strict=True)))
    pairs = full_matrix(texts)[np.triu_indices(80, 1)]
    for mask in ("bloom", "minhash", "two-step", "round:to=0.2"):
        found = calibrate_matrix(parse_mask(mask), texts, rng=rng())
        assert np.isin(found.original, pairs).all()
        told = dq.learn(parse_mask(mask), found, None, common=0.5, rng=rng())
        assert (told.deviation, told.noise.east) == (pytest.approx(np.sqrt(found.variance)), 0.0)
        agreement = found.agreement(0.9)
        low, high = agreement.interval(found.masked)
        assert np.mean((low < found.original) & (found.original < high)) > 0.85
