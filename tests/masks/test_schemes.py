"""Encodings of registries: the same bits as those who make them, and what hardens them against slow twins."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import disclique as dq
from clkhash_peer import make_clks
from disclique.masks import masks, parse_mask
from disclique.masks.clkhash import read_schema
from disclique.masks.hardening import Hardening, apply_rule90, diffuse_bits, fold_halves, rehash_windows
from disclique.masks.hashing import Derivation, counted_hash, derive
from disclique.masks.scheme_files import read_schemes
from disclique.masks.tokens import Number, Tokens
from disclique.spaces import Texts
from disclique.spaces.bits import BASE64

VECTORS = json.loads((Path(__file__).parent / "clkhash_vectors.json").read_text(encoding="utf-8"))["cases"]
HARDENED = ["xor-fold=1", "rule90=2", "rehash=8", "diffuse=3", "flip=0.1", "balance=yes", "permute=yes", "salt=4"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def columns(*rows: tuple[str, ...], names: tuple[str, ...] = ("first", "last")) -> Texts:
    strings = tuple(" ".join(filter(None, row)) for row in rows)
    return Texts(strings, columns=names, fields=tuple(zip(*rows, strict=True)))


def some_bits(seed: int, length: int = 64, records: int = 9) -> np.ndarray:
    return (rng(seed).random((records, length)) < 0.3).astype(np.uint8)


def opened(made: dq.Encodings) -> np.ndarray:
    return np.unpackbits(made.bits, axis=1, count=made.length)


PEOPLE = columns(("Anna", "Müller"), ("Hanna", "Mueller"), ("Jürgen", "Größe"), ("Otto", "Weber"), ("Anna", ""))


# -- clkhash


def schema_file(tmp_path: Path, schema: dict, name: str = "schema.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: f"v{case['schema']['version']}")
def test_clks_are_those_of_clkhash(case, tmp_path):
    """Vectors that clkhash computed: schemas of three versions, both hashes, folds, dates, numbers, missing values."""
    path = schema_file(tmp_path, case["schema"])
    texts = columns(*map(tuple, case["rows"]), names=tuple(case["columns"]))
    made = parse_mask(f"clkhash:{path}").encode(texts, case["secret"].encode(), rng())
    assert made.cells(BASE64) == case["clks"]


def test_vectors_are_what_clkhash_says_today():
    """Where clkhash is installed, it still computes what was written down."""
    assert make_clks(VECTORS) == [case["clks"] for case in VECTORS]


def drawn_feature(chance: np.random.Generator, version: int, name: str) -> dict:
    """Return a feature as a schema of this version has it: any comparison, strategy, hash and missing value."""
    kind = str(chance.choice(["string", "string", "date", "integer"]))
    shape = {"string": {"encoding": "utf-8"}, "date": {"format": "%Y-%m-%d"}, "integer": {}}[kind]
    n, positional = int(chance.integers(1, 4)), bool(chance.integers(2))
    hashing: dict = {}
    if chance.random() < 0.3:
        hashing["missingValue"] = {"sentinel": "NA", "replaceWith": str(chance.choice(["", "1900-01-01", "7"]))}
    if version == 1:
        hashing |= {"ngram": n, "positional": positional, "weight": float(chance.choice([0, 0.5, 1, 1.7]))}
    elif version == 2:
        strategy = chance.choice(["k", "numBits"])
        hashing |= {"ngram": n, "positional": positional, "strategy": {str(strategy): int(chance.integers(1, 60))}}
    else:
        comparison = {"type": "ngram", "n": n, "positional": positional}
        if chance.random() < 0.2:
            comparison = {"type": "exact"}
        if kind == "integer" and chance.random() < 0.5:
            comparison = {"type": "numeric", "thresholdDistance": 3, "resolution": 4}
            hashing.pop("missingValue", None)  # what is no number has no neighbours
        strategy = chance.choice(["bitsPerToken", "bitsPerFeature"])
        hashing |= {"comparison": comparison, "strategy": {str(strategy): int(chance.integers(1, 60))}}
    if version > 1:
        hashes = [{"type": "blakeHash"}, *({"type": "doubleHash", "prevent_singularity": one} for one in (True, False))]
        hashing["hash"] = hashes[chance.integers(3)]
    return {"identifier": name, "format": {"type": kind, **shape}, "hashing": hashing}


def drawn_case(chance: np.random.Generator) -> dict:
    """Return a schema with a secret, and rows that fit it."""
    version, length, folds = int(chance.integers(1, 4)), int(chance.choice([256, 512, 1024])), int(chance.integers(3))
    names = [f"c{k}" for k in range(chance.integers(1, 6))]
    features = [drawn_feature(chance, version, name) for name in names]
    if version == 1:
        features[0]["hashing"]["weight"] = 1.0  # a schema that encodes something
    salt = base64.b64encode(chance.bytes(9)).decode()
    kdf = {"type": "HKDF", "hash": str(chance.choice(["SHA256", "SHA512"])), "salt": salt, "keySize": 64}
    config: dict = {"l": length, "kdf": kdf, "xor_folds": folds}
    if version == 1:
        config |= {"k": int(chance.integers(2, 40)), "hash": {"type": str(chance.choice(["blakeHash", "doubleHash"]))}}
    texts = ["Anna", "Öz", "van der Berg", "李雷", "J", "O'Neil-Smith", "maria josé"]

    def cell(feature: dict) -> str:
        if "missingValue" in feature["hashing"] and chance.random() < 0.3:
            return "NA"
        day = f"{chance.integers(1900, 2020)}-{chance.integers(1, 13):02d}-{chance.integers(1, 29):02d}"
        made = {"string": str(chance.choice(texts)), "date": day, "integer": str(chance.integers(0, 9999))}
        return made[feature["format"]["type"]]

    rows = [[cell(feature) for feature in features] for _ in range(4)]
    schema = {"version": version, "clkConfig": config, "features": features}
    return {"schema": schema, "secret": chance.bytes(int(chance.integers(1, 80))).hex(), "columns": names, "rows": rows}


def test_any_schema_has_the_bits_of_clkhash(tmp_path):
    """200 schemas of all versions that nobody wrote by hand, all bits of all rows."""
    cases = [drawn_case(rng(seed)) for seed in range(200)]
    for place, (case, clks) in enumerate(zip(cases, make_clks(cases), strict=True)):
        path = schema_file(tmp_path, case["schema"])
        texts = columns(*map(tuple, case["rows"]), names=tuple(case["columns"]))
        made = parse_mask(f"clkhash:{path}").encode(texts, case["secret"].encode(), rng())
        assert made.cells(BASE64) == clks, place


def test_hkdf_is_that_of_the_standard():
    """RFC 5869, test case 1: 42 bytes of output, here as two keys of 21."""
    salt, info = bytes(range(13)), bytes(range(0xF0, 0xFA))
    expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    assert b"".join(Derivation("sha256", salt, info, 21).keys(b"\x0b" * 22, 1)[0]).hex() == expected


def test_several_schemas_are_several_encodings(tmp_path):
    """Each is what it is alone under the same secret, one behind the other."""
    cases = [case for case in VECTORS if case["schema"]["clkConfig"]["l"] % 8 == 0][:3]
    paths = [schema_file(tmp_path, case["schema"], f"{k}.json") for k, case in enumerate(cases)]
    texts = columns(*map(tuple, cases[0]["rows"]), names=tuple(cases[0]["columns"]))
    both = parse_mask("clkhash:" + "+".join(map(str, paths))).encode(texts, b"one", rng())
    alone = [parse_mask(f"clkhash:schema={path}").encode(texts, b"one", rng()) for path in paths]
    assert both.parts == tuple(one.length for one in alone)
    assert np.array_equal(both.bits, np.concatenate([one.bits for one in alone], axis=1))


def test_secrets_of_any_length_are_keys(tmp_path):
    """HKDF takes all of them; what else follows from a secret does not stand in the way."""
    mask = parse_mask(f"clkhash:{schema_file(tmp_path, simple('first', 'last'))}")
    made = {mask.encode(PEOPLE, b"x" * many, rng()).bits.tobytes() for many in (1, 64, 65, 1000)}
    assert len(made) == 4


def simple(*names: str) -> dict:
    feature = {
        "format": {"type": "string"},
        "hashing": {"comparison": {"type": "exact"}, "strategy": {"bitsPerToken": 9}},
    }
    features = [{"identifier": name, **feature} for name in names]
    return {"version": 3, "clkConfig": {"l": 64, "kdf": {"type": "HKDF"}}, "features": features}


def test_columns_of_a_schema_are_found_by_name_or_order(tmp_path):
    by_name = parse_mask(f"clkhash:{schema_file(tmp_path, simple('last', 'first'), 'a.json')}")
    in_order = parse_mask(f"clkhash:{schema_file(tmp_path, simple('vorname', 'nachname'), 'b.json')}")
    one, other = columns(("ada", "lee")), columns(("lee", "ada"), names=("last", "first"))
    assert np.array_equal(by_name.encode(one, b"k", rng()).bits, by_name.encode(other, b"k", rng()).bits)
    assert not np.array_equal(in_order.encode(one, b"k", rng()).bits, in_order.encode(other, b"k", rng()).bits)
    for wrong in (simple("first", "last", "zip"), simple("nachname", "first")):
        mask = parse_mask(f"clkhash:{schema_file(tmp_path, wrong, 'c.json')}")
        with pytest.raises(dq.InputError, match=r"the encoding takes the columns .* and the text has first and last"):
            mask.apply(one, rng())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 4}, "no linkage schema of clkhash of version 1, 2 or 3: version 4"),
        ({"features": []}, "no column is encoded"),
        ({"clkConfig": {"l": 64}}, "says nothing of 'kdf'"),
        ({"clkConfig": {"l": 60, "kdf": {"type": "HKDF"}}}, "power of 2"),
        ({"clkConfig": {"l": 64, "kdf": {"type": "HKDF", "keySize": 65}}}, "at most 64 bytes"),
        ({"clkConfig": {"l": 64, "kdf": {"type": "legacy"}}}, "kdf 'legacy'"),
    ],
)
def test_a_wrong_schema_says_what_is_wrong(change, says):
    with pytest.raises(dq.InputError, match=says):
        read_schema({**simple("first"), **change}, "s.json")


def test_a_cell_that_clkhash_would_refuse_is_named(tmp_path):
    schema = simple("first", "last")
    schema["features"][1]["format"] = {"type": "date", "format": "%Y-%m-%d"}
    mask = parse_mask(f"clkhash:{schema_file(tmp_path, schema)}")
    table = {"first": ["ada", "bo"], "last": ["1815-12-10", "10.12.1815"]}
    import pandas as pd

    data = dq.microdata(pd.DataFrame(table), text=["first", "last"])
    with pytest.raises(dq.InputError, match=r"row 2, column 'last' = '10.12.1815': not of the form '%Y-%m-%d'"):
        mask.prepare(data)


def test_numbers_near_to_each_other_share_tokens():
    """The example in clkhash's documentation, and that tokens are shared up to the distance asked for."""
    assert Number(8, 2).split("25") == ("88", "96", "104", "112", "120")
    shared = [len({*Number(10, 5).split("50")} & {*Number(10, 5).split(str(50 + k))}) for k in range(0, 13)]
    assert shared == [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]


# -- registries


def slow_mainzelliste(text: str) -> set[int]:
    """A filter worked out step by step as the Java code has it, with signed bytes."""
    text = text.strip(" .:,;-'")
    for old, new in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "AE"), ("Ö", "OE"), ("Ü", "UE"), ("ß", "ss")):
        text = text.replace(old, new)
    padded, found = f" {text.upper()} ", set()
    for gram in [padded[k : k + 2] for k in range(len(padded) - 1)]:
        sums = []
        for digest in (hashlib.md5(gram.encode()).digest(), hashlib.sha1(gram.encode()).digest()):
            signed = [byte - 256 if byte > 127 else byte for byte in digest]
            sums.append(sum(256**k * (signed[-1 - k] + 128) for k in range(2)))
        found |= {(sums[0] + k * sums[1]) % 500 for k in range(15)}
    return found


def test_mainzelliste_has_a_filter_for_each_column_and_no_key():
    mask = parse_mask("mainzelliste")
    made, other = (mask.apply(PEOPLE, rng(seed)) for seed in (0, 1))
    assert made.parts == (500, 500)
    assert not mask.secret
    assert np.array_equal(made.bits, other.bits)
    for place, piece in enumerate(made.pieces):
        for row, cell in enumerate(PEOPLE.fields[place]):
            expected = slow_mainzelliste(cell) if cell else set()
            assert set(np.flatnonzero(opened(piece)[row])) == expected
    assert made.pieces[1].block(np.array([0]), np.array([1]))[0, 0] == 0  # Müller is Mueller there
    assert parse_mask("mainzelliste:key=secret").secret


def test_ons_sets_the_bits_that_its_documentation_shows():
    """``bloom_filter_vector(["a", "b", "c"])`` of pprl_toolkit is [334, 1013, 192, 381, 18, 720]."""
    found = [place for token in (b"a", b"b", b"c") for place in counted_hash(token, (), 2, 1024)]
    assert sorted(found) == sorted([334, 1013, 192, 381, 18, 720])
    assert Tokens("words", (2,)).split("dave  o'neil") == (
        "_d",
        "da",
        "av",
        "ve",
        "e_",
        "_o",
        "o'",
        "'n",
        "ne",
        "ei",
        "il",
        "l_",
    )


def test_record_filters_draw_bits_by_weight():
    """Every bit of the sampled filter is one of the fields', as many as the weights say."""
    alone = parse_mask("rbf:length=60,filter=200,weights=1+2")
    assert alone.spec == "rbf:length=60,filter=200,bits=15,q=2,key=secret,weights=1+2"
    full = columns(("", "ab"), ("ab", ""))
    bits = opened(alone.apply(full, rng()))
    # with all positions of a field's filter set, exactly its share is set
    every = opened(parse_mask("rbf:length=60,filter=8,bits=200,weights=1+2").apply(full, rng()))
    assert every.sum(axis=1).tolist() == [40, 20]
    assert not (every[0] & every[1]).any()
    assert bits.shape == (2, 60)
    with pytest.raises(dq.InputError, match="3 weights for 2 columns"):
        parse_mask("rbf:weights=1+2+3").apply(full, rng())
    with pytest.raises(dq.InputError, match="weights are numbers above 0"):
        parse_mask("rbf:weights=1+0")


def test_clkrbf_sets_more_bits_for_what_weighs_more():
    one = columns(("ab", ""), ("", "ab"))
    weights = opened(parse_mask("clkrbf:length=4096,bits=5,weights=1+3").apply(one, rng())).sum(axis=1)
    assert weights[0] <= 3 * 5 < weights[1] <= 3 * 15


@pytest.mark.parametrize("name", ["mainzelliste", "abf", "rbf", "clkrbf", "ons"])
def test_ready_schemes_read_back_and_keep_similar_people_near(name):
    mask = parse_mask(name)
    assert parse_mask(mask.spec) == mask
    made = mask.apply(PEOPLE, rng())
    near, far = made.block(np.array([0]), np.array([1, 3]))[0]
    assert near < far
    keyed = parse_mask(f"{name}:key=secret")
    assert not np.array_equal(keyed.apply(PEOPLE, rng(0)).bits, keyed.apply(PEOPLE, rng(1)).bits)
    open_ = parse_mask(f"{name}:key=none")
    assert np.array_equal(open_.apply(PEOPLE, rng(0)).bits, open_.apply(PEOPLE, rng(1)).bits)
    with pytest.raises(dq.InputError, match="a salt protects nothing without a key"):
        parse_mask(f"{name}:key=none,salt=3").apply(PEOPLE, rng())


# -- a scheme of one's own

OWN = """
length = 256
combine = "each"

[[field]]
column = "first"
pad = 1
bits = 20

[[field]]
column = "last"
tokens = "whole"
per = "field"
bits = 40
hash = "blake"

[harden]
xor-fold = 1
"""


def test_a_scheme_in_a_file_is_a_mask(tmp_path):
    """Against hashes computed by hand: one filter by double hashing, one of whole names, each folded once."""
    (tmp_path / "own.toml").write_text(OWN)
    mask = parse_mask(f"scheme:{tmp_path / 'own.toml'}")
    made, key = mask.encode(PEOPLE, b"k" * 32, rng()), b"k" * 32
    assert made.parts == (128, 128)
    keys = [derive(key, f"{which} 0") for which in ("first", "second")]
    expected = np.zeros(256, dtype=int)
    for gram in (" a", "an", "nn", "na", "a "):
        both = zip(keys, ("sha1", "md5"), strict=True)
        first, step = (int.from_bytes(hmac.digest(own, gram.encode(), kind), "big") for own, kind in both)
        for k in range(20):
            expected[(first % 256 + k * (step % 256)) % 256] = 1
    assert np.array_equal(opened(made.pieces[0])[0], expected[:128] ^ expected[128:])
    same = made.pieces[1].block(np.array([3]), np.array([0, 3]))[0]
    assert same[1] == 0 < same[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("length = 4", "length must be: >= 8"),
        ("lenght = 64", r"has no 'lenght'; there are .* 'length'"),
        ("length = 64", "no column is encoded"),
        ('[[field]]\nhash = "md4"', "field 1: hash must be: double, blake"),
        ("[[field]]\nbits = true", "field 1: bits must be: >= 1"),
        ("[[field]]\n[harden]\nflip = 0.1", "harden has no 'flip'"),
        (
            '[[encoding]]\n[[encoding.field]]\n[[encoding]]\nkey = "none"\n[[encoding.field]]',
            "all encodings have a key",
        ),
        ("length = ", "neither JSON nor TOML"),
    ],
)
def test_a_wrong_scheme_says_what_is_wrong(tmp_path, text, says):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(dq.InputError, match=says):
        parse_mask(f"scheme:{tmp_path / 'own.toml'}").apply(PEOPLE, rng())


def test_the_scheme_in_the_documentation_is_one():
    page = Path(__file__).parents[2] / "docs/reference/masks.md"
    text = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (scheme,) = read_schemes(tomllib.loads(text), "masks.md")
    texts = columns(("Ada", "1815-12-10"), ("", "1815-12-11"), names=("first", "born"))
    made = scheme.parts(texts, b"k" * 32)
    assert [bits.shape for bits in made] == [(2, 1024)]
    assert made[0].any(axis=1).all()


# -- hardening, against slow twins


def test_rule_90_is_the_exclusive_or_of_neighbours():
    bits = some_bits(1, 17)
    slow = [[int(row[k - 1]) ^ int(row[(k + 1) % 17]) for k in range(17)] for row in bits]
    assert apply_rule90(bits).tolist() == slow
    assert apply_rule90(np.array([[1, 1, 0, 1, 0]], np.uint8)).tolist() == [[1, 1, 0, 0, 0]]  # by hand


def test_folding_is_the_exclusive_or_of_halves():
    bits = some_bits(2, 32)
    assert fold_halves(bits).tolist() == [[int(row[k]) ^ int(row[k + 16]) for k in range(16)] for row in bits]
    twice = Hardening(xor_fold=2).harden(bits, b"", rng())
    slow = [[int(row[k]) ^ int(row[k + 8]) ^ int(row[k + 16]) ^ int(row[k + 24]) for k in range(8)] for row in bits]
    assert twice.tolist() == slow


def test_rehashing_sets_positions_by_what_windows_read():
    bits, key = some_bits(3, 40), derive(b"k", "rehash")
    found = rehash_windows(bits, 6, key)
    for row, made in zip(bits, found, strict=True):
        expected = set()
        for start in range(0, 40 - 6 + 1, 3):
            value = int("".join(map(str, row[start : start + 6])), 2)
            for sample in range(2):
                own = derive(key, str(sample))
                digest = hashlib.blake2b(value.to_bytes(4, "big"), key=own, digest_size=8).digest()
                expected.add(int.from_bytes(digest, "big") % 40)
        assert set(np.flatnonzero(made)) == expected


def test_balance_permutation_and_noise_do_what_they_say():
    bits, key = some_bits(4, 400, 50), b"k" * 32
    balanced = Hardening(balance=True).harden(bits, key, rng())
    assert (balanced.sum(axis=1) == 400).all()
    moved = Hardening(permute=True).harden(bits, key, rng())
    assert sorted(map(tuple, moved.T)) == sorted(map(tuple, bits.T))
    assert not np.array_equal(moved, Hardening(permute=True).harden(bits, b"l" * 32, rng()))
    turned = (Hardening(flip=0.2).harden(bits, key, rng()) ^ bits).mean()
    assert abs(turned - 0.2) < 4 * np.sqrt(0.2 * 0.8 / bits.size)
    assert np.array_equal(diffuse_bits(bits, 400, rng())[:, 0], np.bitwise_xor.reduce(bits, axis=1))


@pytest.mark.parametrize("step", HARDENED)
@pytest.mark.parametrize("name", ["bloom", "abf"])
def test_hardeners_stand_in_specs_and_change_bits(name, step):
    """Each is read back and reproducible; where columns have filters of their own, a missing one stays missing."""
    plain, mask = parse_mask(name), parse_mask(f"{name}:{step}")
    assert parse_mask(mask.spec) == mask
    assert mask.spec.endswith(step)
    made = mask.apply(PEOPLE, rng(3))
    assert np.array_equal(made.bits, mask.apply(PEOPLE, rng(3)).bits)
    assert not np.array_equal(made.bits, plain.apply(PEOPLE, rng(3)).bits)
    if name == "abf":
        assert (made.pieces[1].weights > 0).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("bloom:length=100,xor-fold=3", "multiple of 8"),
        ("bloom:rehash=33", "at most 32 bits"),
        ("bloom:length=64,xor-fold=1,diffuse=40", "32"),
    ],
)
def test_a_step_that_does_not_fit_is_refused(spec, says):
    with pytest.raises(dq.InputError, match=says):
        parse_mask(spec)


def test_dials_of_hardeners_may_be_ranges():
    from disclique.masks.settings import parse_range

    for spec in ("bloom:xor-fold=1..3", "abf:rule90=1..4", "mainzelliste:rehash=4..16", "rbf:flip=0.05..0.2"):
        found = parse_range(spec, 3)
        assert found.turns
        assert found.settings[0].mask.name in masks()


def test_a_column_that_is_missing_is_not_taken_from_another(tmp_path: Path) -> None:
    """Where some names of a scheme are columns, the others are too: one that is not there is no other column."""
    path = tmp_path / "own.json"
    fields = [{"column": name} for name in ("first", "last", "town")]
    path.write_text(json.dumps({"field": fields}), encoding="utf-8")
    cells = (("Ada",), ("Lee",), ("1990-01-02",))
    here = Texts(("ada lee 1990-01-02",), columns=("first", "last", "born"), fields=cells)
    with pytest.raises(dq.InputError) as refused:
        parse_mask(f"scheme:{path}").apply(here, np.random.default_rng(0))
    assert refused.value.message.code == "scheme_of_other_columns"
    others = Texts(("ada lee 1990-01-02",), columns=("a", "b", "c"), fields=cells)
    assert parse_mask(f"scheme:{path}").apply(others, np.random.default_rng(0)).size == 1
