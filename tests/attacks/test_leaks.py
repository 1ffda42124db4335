"""What encodings leak before any attack: each leak is shown on a file that has it, and none on one that has not."""

import base64
import hashlib
import hmac
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import rng
from conftest import Run
from disclique.attacks.leaks import find_leaks
from disclique.attacks.leaks.codes import counted_sha256
from disclique.attacks.leaks.statistics import tell_duplicates, tell_frequencies, tell_length, tell_together

N = 250
FIRST = "anna ida otto emil frieda karla bruno alma ludwig greta theo paula hugo marta oskar lina".split()  # noqa: SIM905
LAST = "kaminski obermaier vogelsang lindqvist drescher tannenbaum ziller quast niebuhr holzapfel".split()  # noqa: SIM905


def people(n: int = N) -> dq.Texts:
    """Return people of whom some have the same first name, frequent ones far more often."""
    chance = rng(7)
    weights = 1 / np.arange(1, len(FIRST) + 1)
    first = chance.choice(FIRST, n, p=weights / weights.sum())
    last = [f"{one}{''.join(chance.choice(list('aeiorst'), 4))}" for one in chance.choice(LAST, n)]
    born = [f"{chance.integers(1930, 2005)}{chance.integers(1, 13):02}{chance.integers(1, 29):02}" for _ in range(n)]
    fields = tuple(first.tolist()), tuple(last), tuple(born)
    return dq.Texts(tuple(" ".join(row) for row in zip(*fields, strict=True)), fields=fields, columns=("f", "l", "b"))


def names_of(made: dq.Encodings, names: dq.Texts | None = None) -> list[str]:
    """Return what leaks."""
    return [leak.name for leak in find_leaks(made, names)]


def encode(spec: str, key: bytes | None = None) -> dq.Encodings:
    """Return the people under a mask, by a key that is drawn where none is given."""
    mask: Any = dq.parse_mask(spec)
    found = mask.apply(people(), rng(3)) if key is None else mask.encode(people(), key, rng(3))
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("with_names", [True, False])
@pytest.mark.parametrize("spec", ["mainzelliste", "ons"])
def test_encodings_without_a_key_are_read_by_a_dictionary(spec: str, with_names: bool) -> None:
    """With the list of the people all are told; without one it is seen that there is no key."""
    names = people() if with_names else None
    leak = find_leaks(encode(spec), names)[0]
    assert (leak.name, leak.risk) == ("key", 1.0)
    assert leak.message.code == ("leak_key_known" if with_names else "leak_key")
    assert leak.message.values["key"].code == "with_no_key"
    if with_names:
        assert leak.figure > 0.97
        assert leak.message.values["hashes"] == {"mainzelliste": 15, "ons": 2}[spec]


@pytest.mark.parametrize("spec", ["mainzelliste", "ons"])
def test_a_release_in_another_order_is_read_too(spec: str) -> None:
    """Files without ids are laid upon each other by position; names of other people hide no missing key."""
    released = encode(spec).select(rng(5).permutation(N))
    known = dq.microdata(pd.DataFrame({"x": range(N)}), distances=people())
    found = dq.inspect(dq.microdata(pd.DataFrame({"x": range(N)}), distances=released), known)
    assert found.leaks[0].name == "key"
    assert found.leaks[0].risk == 1.0
    assert found.leaks[0].message.code == "leak_key"
    silent = dq.microdata(pd.DataFrame({"x": range(N)}), distances=encode("bloom").select(rng(5).permutation(N)))
    assert "key" not in [leak.name for leak in dq.inspect(silent, known).leaks]


@pytest.mark.parametrize("spec", ["mainzelliste:key=secret", "bloom:hash=blake", "ons:key=secret"])
@pytest.mark.parametrize("with_names", [True, False])
def test_encodings_under_a_key_of_chance_are_not_read(spec: str, with_names: bool) -> None:
    assert "key" not in names_of(encode(spec), people() if with_names else None)


@pytest.mark.parametrize("key", [b"password"])
def test_a_key_that_anybody_would_try_is_found(key: bytes) -> None:
    leak = find_leaks(encode("bloom", key), people())[0]
    assert leak.name == "key"
    assert leak.message.values["key"].values["key"] == key.decode()
    assert leak.figure > 0.97


def test_a_guessable_secret_of_clkhash_is_found() -> None:
    """Two fields under HKDF of the word horse, worked out here by RFC 5869 and BLAKE2b alone."""
    first, block, stream = hmac.digest(bytes(32), b"horse", "sha256"), b"", b""
    for number in range(1, 9):
        block = hmac.digest(first, block + bytes([number]), "sha256")
        stream += block
    bits = np.zeros((N, 1024), dtype=np.uint8)
    for number, column in enumerate(people().fields[:2]):
        key = stream[128 * number : 128 * number + 64]
        for row, name in enumerate(column):
            for gram in {f" {name} "[k : k + 2] for k in range(len(name) + 1)}:
                digest = hashlib.blake2b(gram.encode(), key=key, salt=b"0").digest()
                bits[row, np.frombuffer(digest, "<u2")[:12] % 1024] = 1
    made = dq.Encodings(np.packbits(bits, axis=1), 1024)
    for names in (people(), None):
        leak = find_leaks(made, names)[0]
        assert leak.name == "key"
        assert leak.message.values["key"].values["key"] == "horse"


def test_the_published_vector_of_the_ons_encoder() -> None:
    """Tokens a, b, c by SHA-256 with a counter, 1,024 bits, two hashes: the positions that its documentation states."""
    found = [place for token in "abc" for place in counted_sha256(token.encode(), b"", 2, 1024)]
    assert sorted(found) == sorted([334, 1013, 192, 381, 18, 720])


@pytest.mark.parametrize("with_names", [True, False])
def test_the_number_of_bits_tells_the_length_unless_it_is_balanced(with_names: bool) -> None:
    names = people() if with_names else None
    assert tell_length(encode("abf"), names) is not None
    assert tell_length(encode("bloom:balance=yes"), names) is None


def test_the_correlation_with_the_length_is_that_of_scipy() -> None:
    from scipy.stats import spearmanr

    names = dq.Texts(people().strings)
    made = dq.parse_mask("bloom").apply(names, rng(1))
    assert isinstance(made, dq.Encodings)
    leak = tell_length(made, names)
    assert leak is not None
    expected = spearmanr(made.weights, [len(text) for text in names.strings]).statistic
    assert leak.figure == pytest.approx(expected)


def test_equal_names_and_their_frequencies_are_seen_unless_salted() -> None:
    """One filter a column shows who is called alike; worked out from the names themselves."""
    made = encode("abf")
    duplicates, frequencies = tell_duplicates(made), tell_frequencies(made)
    assert duplicates is not None
    assert frequencies is not None
    counts = pd.Series(people().fields[0]).value_counts()
    assert duplicates.figure == pytest.approx(counts[counts > 1].sum() / N)
    assert duplicates.message.values["most"] == counts.max()
    own = [count for count in counts if count >= 3 and (counts == count).sum() == 1]
    assert frequencies.figure == pytest.approx(sum(own) / N)
    salted = encode("bloom:salt=record")
    assert tell_duplicates(salted) is tell_frequencies(salted) is None


def test_bits_of_one_token_occur_together_unless_salted() -> None:
    assert tell_together(encode("bloom")) is not None
    assert tell_together(encode("bloom:salt=record")) is None


def test_bits_of_chance_leak_nothing() -> None:
    for seed in range(2):
        bits = (rng(seed).random((400, 512)) < 0.3).astype(np.uint8)
        made = dq.Encodings(np.packbits(bits, axis=1), 512)
        assert names_of(made) == names_of(made, people(400)) == []


def file_of(spec: str) -> pd.DataFrame:
    """Return the holder's table: names, and an encoding of each column that was made elsewhere."""
    texts, made = people(), encode(spec)
    parts = {f"clk{k}": one.cells("form_binary") for k, one in enumerate(made.pieces)}
    return pd.DataFrame({"id": range(1, N + 1), **dict(zip("flb", texts.fields, strict=True)), **parts})


QUICK: dict[str, Any] = {"attacks": ["labels"], "repetitions": 1, "sensitivity": False, "person_trials": 10}


def test_the_verdict_begins_with_what_anybody_reads() -> None:
    """Without a key the file fails whatever the limit, and the report says so first; with one the leak is not named."""
    names = dq.microdata(pd.DataFrame({"id": range(N)}), distances=people(), ids="id")
    for spec, read in (("mainzelliste", True), ("mainzelliste:key=secret", False)):
        file = dq.microdata(pd.DataFrame({"id": range(N)}), distances=encode(spec), ids="id")
        found = dq.audit(file, known=names, max_risk=0.99, accept=["doubled-records"], **QUICK)
        assert (found.verdict.reasons[0].code == "leak_key_known") == read
        assert ("key" in [leak.name for leak in found.inspection.leaks]) == read
        if read:
            assert found.verdict.status == "fails"
            assert found.settings[0].risk.value == 1.0
            report = found.report()
            assert "Anybody reads these encodings without a secret" in report
            assert report.index("Anybody reads") < report.index("could be found")


def test_commands_say_what_leaks_and_audit_encodings_with_their_names(run: Run, tmp_path: Path) -> None:
    file_of("mainzelliste").to_csv(tmp_path / "f.csv", index=False)
    ask = ("audit", "f.csv", "--id", "id", "--text", "f,l,b", "--encodings", "clk0,clk1,clk2", "--max-risk", "0.2")
    more = ("--attack", "labels", "--repetitions", "1", "--no-sensitivity", "--yes", "--processes", "1", "--out", "a")
    code, out, err = run(*ask, *more, "--accept", "doubled-records")
    assert code == 4, err
    assert "leak: Anybody reads these encodings without a secret: double hashing by MD5 and SHA-1" in out + err
    assert "3 of each person, 500 + 500 + 500 bits" in out + err


def test_what_is_read_is_counted_once_for_each_who_is_alike() -> None:
    """Four people of one name and birthday are told with a chance of a quarter each."""
    fields = tuple(tuple(np.repeat(column[:60], 4)) for column in people().fields)
    four = dq.Texts(tuple(" ".join(row) for row in zip(*fields, strict=True)), fields=fields, columns=("f", "l", "b"))
    made: Any = dq.parse_mask("mainzelliste").apply(four, rng(1))
    assert find_leaks(made, four)[0].figure == pytest.approx(0.25)


def test_a_clkhash_file_is_looked_at_in_python(tmp_path: Path) -> None:
    made = encode("bloom", b"test")
    (tmp_path / "c.json").write_text(f'{{"clks": {list(map(_in_base64, made.bits))}}}'.replace("'", '"'))
    shown = dq.inspect(dq.read(tmp_path / "c.json", encodings="clk"))
    assert {leak.name for leak in shown.leaks} >= {"key", "together"}
    assert "with the key 'test', which anybody would try" in str(shown)


def _in_base64(row: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(row.tobytes()).decode()
