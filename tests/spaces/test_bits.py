"""Encodings and the masks that make them: distances beside scipy, filters beside a twin, laws, reading."""

import base64
import hashlib
import hmac

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import cdist

import disclique as dq
from builders import rng
from disclique.audits import parse_range
from disclique.errors import InputError
from disclique.masks import Bloom, MinHash, TwoStep, masks, parse_mask
from disclique.masks.hashing import BLOOM_HASHES, blake_hash, derive, double_hash
from disclique.records import full_matrix
from disclique.spaces import Encodings, Sizes
from disclique.spaces.bit_forms import encodings_of_array, parse_encodings
from disclique.spaces.bits import BIT_METRICS
from disclique.spaces.strings import grams_of

SPECS = [
    "bloom:length=512,bits=10,q=2",
    "bloom:length=100,bits=3,q=3",
    "bloom:length=512,bits=4,q=2,salt=3",
    "bloom:length=512,bits=4,q=2,salt=record",
    "bloom:length=128,bits=4,q=2,diffuse=3",
    "bloom:length=128,bits=4,q=2,flip=0.1",
    "bloom:length=128,bits=4,q=2,balance=yes",
    "bloom:length=128,bits=40,q=2,hash=blake",
    "minhash:length=300,q=2",
    "two-step:columns=200,bits=6,q=2,length=4096",
]
KEY = b"k" * 32


def names(n=60, seed=0):
    letters = rng(seed).integers(97, 103, (n, 9), dtype=np.uint8)
    return dq.Texts(tuple(row.tobytes().decode() for row in letters))


def opened(encodings):
    return np.unpackbits(encodings.bits, axis=1, count=encodings.length).astype(bool)


# -- distances


@pytest.mark.parametrize("metric", BIT_METRICS)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("length", [1, 13, 64, 300])
def test_distances_are_those_of_scipy(metric, share, length):
    """Also where few bits are set, which are counted by lists; two strings without any bit are equal."""
    bits = rng().random((30, length)) < share
    made = encodings_of_array(bits, metric)
    expected = np.nan_to_num(cdist(bits, bits, metric))
    np.testing.assert_allclose(full_matrix(made), expected, atol=1e-12)
    made = made.with_sizes(Sizes(counted=50))
    rows, columns = np.array([3, 0, 3], dtype=np.int32), np.array([7, 3], dtype=np.int32)
    np.testing.assert_allclose(made.block(rows, columns), expected[np.ix_(rows, columns)], atol=1e-12)
    chosen = made.select(rows)
    assert isinstance(chosen, dq.Encodings)
    np.testing.assert_allclose(full_matrix(chosen.as_matrix()), expected[np.ix_(rows, rows)], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: dq.Encodings(np.zeros((2, 2), np.uint8), 8), r"shape \(2, 2\): 8 bits take 1 bytes"),
        (
            lambda: dq.Encodings(np.full((2, 1), 255, np.uint8), 5),
            r"encodings\[0\]: there are bits behind the last of 5",
        ),
        (
            lambda: dq.Encodings(np.zeros((2, 1), np.uint8), 8, "cosine"),
            "encodings are compared by one of dice, jaccard",
        ),
        (lambda: encodings_of_array(np.array([[0, 2]])), "row 1, column 2 = 2: a bit is 0 or 1"),
        (lambda: encodings_of_array(np.array([[0.0, np.nan]])), "row 1, column 2 = nan: a bit is 0 or 1"),
        (lambda: encodings_of_array(np.zeros(4)), "one row a record, one column a bit"),
    ],
)
def test_bad_encodings_are_explained(make, says):
    with pytest.raises(dq.InputError, match=says):
        make()


# -- reading


@given(st.integers(1, 70), st.integers(1, 6), st.integers(0, 99))
@settings(max_examples=60)
def test_every_way_to_write_bits_is_read_back(length, records, seed):
    bits = rng(seed).integers(0, 2, (records, length), dtype=np.uint8)
    made = encodings_of_array(bits.astype(bool))
    written = ["".join(map(str, row)) for row in bits.tolist()]
    assert np.array_equal(opened(parse_encodings(written, name="f")), bits)
    padded = np.pad(bits, ((0, 0), (0, -length % 4)))
    hexadecimal = parse_encodings([text + "" for text in made.cells()], name="f")
    if not all(set(text) <= set("01") for text in made.cells()):  # else they read as 0 and 1
        assert np.array_equal(opened(hexadecimal), padded)
    several = [base64.b64encode(row.tobytes() + b"\xff\xff").decode() for row in made.bits]
    if any("/" in text for text in several):
        assert np.array_equal(parse_encodings(several, name="f").bits[:, :-2], made.bits)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["0101", "011"], "f.csv: row 2, column 'clk' = '011': it has 3 bits, but row 1 has 4"),
        (["8f", "8f0a"], "row 2, column 'clk' = '8f0a': it has 16 bits, but row 1 has 8"),
        (["8f", "8g", "aa"], "row 2, column 'clk' = '8g': neither 0 and 1, hexadecimal, base64"),
        (["0101", "012!", "1111"], "row 2, column 'clk' = '012!': neither 0 and 1, hexadecimal, base64"),
        (["?", "!"], r"row 1, column 'clk' = '\?': neither 0 and 1, hexadecimal, base64"),
        (["8f0", "8g==", "a12"], "row 2, column 'clk' = '8g==': not hexadecimal as in other rows"),
        (["8f", None], "row 2, column 'clk': the encoding is missing"),
        (["8f", "  "], "row 2, column 'clk': the encoding is missing"),
        (["8f", 12], "row 2, column 'clk' = 12: an encoding is text, not a number"),
        (["f" * 5000, "?" * 5000, "f" * 5000], r"= '\?{37}\.\.\.': neither"),
    ],
)
def test_bad_cells_are_explained(cells, says):
    with pytest.raises(dq.InputError, match=says):
        parse_encodings(cells, name="f.csv", column="clk")


def test_encodings_are_read_from_columns_and_files(tmp_path):
    made = Bloom(length=64, bits=3).apply(names(5), rng())
    table = pd.DataFrame({"id": list("abcde"), "sex": ["f"] * 5, "clk": made.cells()})
    table.to_csv(tmp_path / "t.csv", index=False)
    expected = full_matrix(made)
    data = dq.read(tmp_path / "t.csv", id="id", encodings="clk", labels=["sex"])
    assert np.array_equal(full_matrix(data.distances), expected)
    assert dq.read(tmp_path / "t.csv", encodings="clk", metric="jaccard").distances.metric == "jaccard"
    mixed = table[["id", "clk"]].iloc[[3, 1, 4, 0, 2]]
    mixed.to_csv(tmp_path / "mixed.tsv", index=False, sep="\t")
    mixed.assign(note="x").to_parquet(tmp_path / "mixed.parquet")
    np.save(tmp_path / "bits.npy", opened(made).astype(float))
    np.save(tmp_path / "packed.npy", made.bits)
    for name in ("mixed.tsv", "mixed.parquet", "bits.npy", "packed.npy"):
        data = dq.read(tmp_path / "t.csv", id="id", encodings=str(tmp_path / name))
        assert np.array_equal(full_matrix(data.distances), expected)
    mixed.iloc[:4].to_csv(tmp_path / "few.csv", index=False)
    pd.concat([mixed, mixed]).to_csv(tmp_path / "twice.csv", index=False)
    table.assign(b="x").drop(columns="id").to_csv(tmp_path / "which.csv", index=False)
    np.save(tmp_path / "short.npy", made.bits[:3])
    for source, says in (
        ("few.csv", r"1 of the ids in column 'id' of .*t.csv are not in it \('c'\)"),
        ("twice.csv", "column 'id': the id 'd' stands there twice, at places 1 and 6"),
        ("short.npy", "3 encodings, but the table has 5 records"),
        ("nothing.csv", "no column .*nothing.csv' of encodings, and no such file"),
    ):
        with pytest.raises(dq.InputError, match=says):
            dq.read(tmp_path / "t.csv", id="id", encodings=str(tmp_path / source))
    table.assign(b="x").drop(columns="clk").to_csv(tmp_path / "which.csv", index=False)
    with pytest.raises(dq.InputError, match="which column holds the encodings"):
        dq.read(tmp_path / "t.csv", id="id", encodings=str(tmp_path / "which.csv"))
    with pytest.raises(dq.InputError, match="metric 'sphere': encodings are compared"):
        dq.read(tmp_path / "t.csv", encodings="clk", metric="sphere")


# -- masks


def test_every_mask_on_text_is_tested_here():
    """Those of registries, which encode columns, are tested in tests/masks/test_schemes.py."""
    ours = {name for name, cls in masks().items() if cls.on == "text"}
    assert ours - {spec.partition(":")[0] for spec in SPECS} == {
        "abf",
        "clkhash",
        "clkrbf",
        "mainzelliste",
        "ons",
        "rbf",
        "scheme",
    }


@pytest.mark.parametrize("spec", SPECS)
def test_masks_on_text(spec):
    """The spec reads back; a seed repeats the release, another is another key; equal strings are equal to the eye."""
    mask, texts = parse_mask(spec), names(40)
    assert parse_mask(mask.spec) == mask
    assert mask.spec == spec
    first, again, other = (mask.apply(texts, rng(seed)) for seed in (0, 0, 1))
    assert np.array_equal(first.bits, again.bits)
    assert not np.array_equal(first.bits, other.bits)
    assert all((mask.dial, mask.reference, mask.scope == "file"))
    d = full_matrix(first)
    assert np.array_equal(d, d.T)
    assert (np.diagonal(d) == 0).all()
    if "flip" not in spec and "salt" not in spec:
        twins = mask.apply(dq.Texts(("anna", "otto", "ANNA ")), rng())
        assert full_matrix(twins)[0, 2] == 0
    for wrong in (dq.Points(np.zeros((3, 2))), dq.Matrix(np.zeros((3, 3))), first):
        with pytest.raises(dq.InputError, match="encodes text, but the records have none; name columns of text"):
            mask.apply(wrong, rng())


def bloom_twin(text, mask, keys):
    """The filter of one string, gram by gram, from HMAC or BLAKE2 of the standard library."""
    bits = np.zeros(mask.length, dtype=bool)
    for gram in grams_of(text, mask.q):
        if mask.hash == "double":
            one = int(hmac.new(keys[0], gram.encode(), hashlib.sha1).hexdigest(), 16)
            two = int(hmac.new(keys[1], gram.encode(), hashlib.md5).hexdigest(), 16)
            for i in range(mask.bits):
                bits[(one + i * two) % mask.length] = True
        else:
            for i in range(mask.bits):
                block = hashlib.blake2b(gram.encode(), key=keys[0], salt=str(i // 32).encode()).digest()
                bits[int.from_bytes(block[2 * (i % 32) : 2 * (i % 32) + 2], "little") % mask.length] = True
    return bits


@pytest.mark.parametrize("hash", BLOOM_HASHES)
@given(
    st.lists(st.text("abcé李 ", min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=5), st.integers(1, 3)
)
@settings(max_examples=40)
def test_bloom_filters_are_those_of_a_plain_twin(hash, words, q):
    mask, texts = Bloom(length=64, bits=35, q=q, hash=hash), dq.Texts(tuple(words))
    made = opened(mask.encode(texts, KEY, rng()))
    keys = [derive(KEY, "first"), derive(KEY, "second")]
    assert np.array_equal(made, [bloom_twin(text, mask, keys) for text in texts.strings])


@given(st.text("abcdé李", min_size=1, max_size=6), st.integers(1, 70), st.binary(min_size=1, max_size=32))
@settings(max_examples=40)
def test_positions_are_those_of_clkhash(gram, bits, key):
    """Exactly: clkhash is no requirement, because it needs old versions of what the type checker needs."""
    theirs = pytest.importorskip("clkhash.bloomfilter", exc_type=ImportError)
    keys = (key, key[::-1])
    for mine, function in (
        (double_hash, theirs.double_hash_encode_ngrams),
        (blake_hash, theirs.blake_encode_ngrams),
    ):
        expected = function([gram], keys, [bits], 1024, "utf-8")
        assert {k for k, bit in enumerate(expected) if bit} == set(mine(gram.encode(), keys, bits, 1024))


def test_long_filters_give_the_dice_of_the_sets():
    """Where hardly two grams fall together, distances of filters are those of the sets of grams."""
    texts = names(60)
    for spec in ("bloom:length=65536,bits=4,q=2", "bloom:length=65536,bits=4,q=2,hash=blake"):
        made = full_matrix(parse_mask(spec).apply(texts, rng()))
        assert np.abs(made - full_matrix(texts)).max() < 0.02


def jaccard_of_grams(texts):
    dice = 1 - full_matrix(texts)
    return dice / (2 - dice)


def test_minhash_differs_as_often_as_the_law_says():
    texts = names(40)
    share, length = full_matrix(MinHash(length=4000).apply(texts, rng())), 4000
    upper = np.triu_indices(40, 1)
    expected = ((1 - jaccard_of_grams(texts)) / 2)[upper]
    z = (share[upper] - expected) / np.sqrt(np.maximum(expected * (1 - expected), 1e-9) / length)
    assert np.abs(z).max() < 5
    assert 0.8 < z.std() < 1.2


def two_step_twin(text, mask, places, mixed):
    """The set of numbers of one string: filters as lists, columns as tuples."""
    filters = [[0] * mask.columns for _ in range(mask.bits)]
    for gram in grams_of(text, mask.q):
        for function in range(mask.bits):
            filters[function][places(gram, function)] = 1
    numbers = set()
    for column in range(mask.columns):
        pattern = [filters[function][column] for function in range(mask.bits)]
        if any(pattern):
            number = 0
            for function, bit in enumerate(pattern):
                number ^= int(mixed[column, function]) * bit
            numbers.add(number % mask.length)
    return numbers


def test_two_step_hashes_are_those_of_a_plain_twin():
    from disclique.masks.hashing import chance_of

    mask, texts = TwoStep(columns=30, bits=5, length=4096), names(12)
    own = derive(KEY, "first step")
    mixed = chance_of(KEY, "second step").integers(1 << 63, size=(30, 5))

    def places(gram, function):
        block = hashlib.blake2b(gram.encode(), key=own, salt=b"0").digest()
        return int.from_bytes(block[4 * function : 4 * function + 4], "little") % 30

    made = opened(mask.encode(texts, KEY, rng()))
    for row, text in enumerate(texts.strings):
        assert set(np.flatnonzero(made[row]).tolist()) == two_step_twin(text, mask, places, mixed)


# -- what hardens a filter


@given(st.sampled_from([0.02, 0.1, 0.3, 0.5]), st.integers(0, 9))
@settings(max_examples=12)
def test_bits_are_flipped_as_often_as_said(flip, seed):
    texts, plain = names(50), Bloom(length=512)
    before = opened(plain.encode(texts, KEY, rng(seed)))
    after = opened(Bloom(length=512, flip=flip).encode(texts, KEY, rng(seed)))
    flipped = before ^ after
    for part in (flipped, flipped[before], flipped[~before]):  # whatever the bit was
        assert stats.binomtest(int(part.sum()), part.size, flip).pvalue > 1e-5


@given(st.sampled_from(["", ",flip=0.2", ",diffuse=4", ",salt=3"]), st.integers(8, 90))
@settings(max_examples=20)
def test_balanced_filters_have_one_weight(more, length):
    plain = parse_mask(f"bloom:length={length},bits=3{more}").encode(names(20), KEY, rng())
    made = parse_mask(f"bloom:length={length},bits=3,balance=yes{more}").encode(names(20), KEY, rng())
    assert made.length == 2 * length
    assert (made.weights == length).all()
    before, after = (full_matrix(encodings_of_array(opened(one), "hamming")) for one in (plain, made))
    np.testing.assert_allclose(before, after)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_diffused_bits_are_sums_of_so_many_positions(count):
    """Solved for over the two-element field: the same positions for every record, as many as said."""
    from disclique.masks.hashing import chance_of

    texts = names(30)
    before = opened(Bloom(length=40, bits=3).encode(texts, KEY, rng()))
    after = opened(Bloom(length=40, bits=3, diffuse=count).encode(texts, KEY, rng()))
    secret = chance_of(KEY, "diffuse")
    for position in range(40):
        chosen = secret.choice(40, size=count, replace=False)
        assert len(set(chosen.tolist())) == count
        assert np.array_equal(after[:, position], before[:, chosen].sum(axis=1) % 2 == 1)


def test_salts_keep_their_group_and_part_the_others():
    """With the same salt strings are as similar as without; with another they look unrelated."""
    texts = dq.Texts(("anna meier",) * 300)
    made = full_matrix(Bloom(length=4096, bits=5, salt=3).apply(texts, rng()))
    groups = np.unique(made[0])
    assert len(groups) == 3
    assert groups[0] == 0
    assert groups[1] > 0.9
    sizes = np.unique(made == 0, axis=0).sum(axis=1)
    assert sizes.sum() == 300
    assert stats.chisquare(sizes).pvalue > 1e-4
    alone = full_matrix(Bloom(length=4096, bits=5, salt="record").apply(texts, rng()))
    assert (alone[~np.eye(300, dtype=bool)] > 0.85).all()


def test_two_files_under_one_key_can_be_linked():
    """What the two owners of a key encode is comparable, salt and diffusion included; under another key it is not."""
    texts = names(30)
    for spec in SPECS:
        mask = parse_mask(spec)
        here, there = (mask.encode(texts, KEY, rng(seed)) for seed in (1, 2))
        other = mask.encode(texts, b"j" * 32, rng(1))
        differ = [(opened(here) ^ opened(one)).mean() for one in (there, other)]
        assert differ[0] < (0.25 if "flip" in spec else 1e-9) < differ[1] or differ[0] == 0 < differ[1]


@pytest.mark.parametrize("spec", ["bloom:bits=5..60", "bloom:salt=1..8", "bloom:diffuse=2..8", "bloom:flip=0.01..0.3"])
def test_every_dial_can_be_turned_and_points_to_more_protection(spec):
    found = parse_range(spec, 3)
    assert (found.turns, found.dial) == (True, spec.partition(":")[2].partition("=")[0])
    texts = dq.Texts(tuple(f"{a} {b}" for a in names(30, 1).strings for b in ("meier", "schneider")))
    upper = np.triu_indices(60, 1)
    true = full_matrix(texts)[upper]
    kept = [np.corrcoef(true, full_matrix(one.mask.apply(texts, rng()))[upper])[0, 1] for one in found.settings]
    assert sorted(kept, reverse=True) == kept


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("bloom:length=4", "length = 4: it must be a whole number of at least 8"),
        ("bloom:length=1000,hash=blake", "length = 1000: the hash blake takes 1024 or another power of 2"),
        ("bloom:flip=0.6", "flip = 0.6: it must be between 0 and 0.5"),
        ("bloom:salt=some", "salt = 'some' is not a number"),
        ("bloom:balance=maybe", "balance = maybe: choose one of no, yes"),
        ("bloom:hash=md5", "hash = md5: choose one of double, blake"),
        ("bloom:length=16,diffuse=17", "diffuse = 17: there are only 16 positions"),
    ],
)
def test_a_wrong_encoding_says_what_is_wrong(spec, says):
    with pytest.raises(dq.InputError, match=says):
        parse_mask(spec)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            "bloom:length=8..64",
            "length is not the dial of bloom; a range can stand for flip or bits or salt or xor-fold or rule90",
        ),
        ("bloom:flip=0..0.2", "flip: a range goes in equal ratios and cannot begin at 0"),
        ("bloom:salt=2..record", "salt = record: a range goes from one number to another"),
    ],
)
def test_a_wrong_range_says_what_is_wrong(spec, says):
    with pytest.raises(dq.InputError, match=says):
        parse_range(spec)


@pytest.mark.parametrize("metric", ["dice", "jaccard", "hamming"])
def test_several_encodings_of_a_person_are_compared_part_by_part(metric: str) -> None:
    """The distance is the mean over the parts that both have, each computed from its own bits by scipy."""
    rng = np.random.default_rng(3)
    bits = rng.random((9, 30)) < 0.4
    bits[4, :11] = False  # a part is missing
    bits[5] = False  # every part is
    both = Encodings(np.packbits(bits, axis=1), 30, metric, (11, 19))
    rows = np.arange(9)
    expected = np.zeros((9, 9))
    seen = np.zeros((9, 9))
    for begin, end in ((0, 11), (11, 30)):
        part = bits[:, begin:end]
        there = part.any(axis=1)
        shared = there[:, None] & there
        expected += np.where(shared, np.nan_to_num(cdist(part, part, metric)), 0)
        seen += shared
    expected = np.where(seen > 0, expected / np.maximum(seen, 1), 1.0)
    expected[5, 5] = 0.0
    np.testing.assert_allclose(both.block(rows, rows), expected, atol=1e-12)
    np.testing.assert_allclose(both.select(rows[2:7]).block(rows[:5], rows[:5]), expected[2:7, 2:7], atol=1e-12)


def test_parts_have_to_fill_the_encoding() -> None:
    """Parts that are longer or shorter than the bits are refused, and so are files of different parts."""
    bits = np.packbits(np.eye(4, 8, dtype=np.uint8), axis=1)
    with pytest.raises(InputError):
        Encodings(bits, 8, parts=(3, 4))
    with pytest.raises(InputError):
        Encodings(bits, 8, parts=(3, 5)).append(Encodings(bits, 8, parts=(4, 4)))
