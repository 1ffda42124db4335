"""Files of encodings as other tools write them: what is read is what they mean, and what is malformed says where."""

import base64
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import rng
from conftest import Run
from disclique.records import full_matrix
from disclique.spaces.bits import Encodings

N = 12


def people(n: int = N) -> pd.DataFrame:
    """Return records with ids in no order."""
    return pd.DataFrame({"id": [f"p{(7 * k) % n}" for k in range(n)], "sex": ["f", "m"] * (n // 2)})


def bits_of(n: int = N, length: int = 64, seed: int = 1) -> np.ndarray[Any, Any]:
    """Return random filters, a fifth of the bits set."""
    return (rng(seed).random((n, length)) < 0.2).astype(np.uint8)


def in_base64(bits: np.ndarray[Any, Any]) -> list[str]:
    """Return filters as clkhash writes them: the first bit is the highest of the first byte."""
    return [base64.b64encode(np.packbits(row).tobytes()).decode() for row in bits]


def dice(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the distances of filters, worked out plainly."""
    shared = bits.astype(int) @ bits.T.astype(int)
    both = bits.sum(1)[:, None] + bits.sum(1)
    return np.asarray(1 - 2 * shared / both)


def write_zip(path: Path, files: dict[str, str]) -> None:
    """Write texts as an archive."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a file of people."""
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    return path


def read(table: Path, source: object, **options: Any) -> dq.Microdata:
    """Return the people with encodings."""
    return dq.read(table, labels=["sex"], id="id", encodings=source, **options)


def encoded(data: dq.Microdata) -> Encodings:
    """Return the encodings of a file."""
    found = data.distances.encodings()
    assert found is not None
    return found


def test_a_file_of_clkhash_is_read_in_the_order_of_the_rows(table: Path, tmp_path: Path) -> None:
    bits = bits_of()
    about = {"clks": in_base64(bits), "schema": {"version": 3}}
    (tmp_path / "clk.json").write_text(json.dumps(about))
    found = read(table, str(tmp_path / "clk.json"))
    np.testing.assert_allclose(full_matrix(found.distances), dice(bits))
    assert (found.joined, encoded(found).parts) == ("by position", (64,))
    alone = dq.read(tmp_path / "clk.json", encodings="clk")  # the file itself, without a table
    np.testing.assert_array_equal(encoded(alone).bits, encoded(found).bits)


def test_a_zip_of_codi_has_several_encodings_of_a_person(table: Path, tmp_path: Path) -> None:
    parts = {f"output/name-{k}.json": bits_of(length=64 * (k + 1), seed=k) for k in range(3)}
    files = {name: json.dumps({"clks": in_base64(bits)}) for name, bits in parts.items()}
    files["output/metadata.json"] = json.dumps({"number_of_records": N, "creation_date": "2026-01-01"})
    write_zip(tmp_path / "garbled.zip", files)
    found = read(table, tmp_path / "garbled.zip")
    assert encoded(found).parts == (64, 128, 192)
    mean = np.mean([dice(bits) for bits in parts.values()], axis=0)
    np.testing.assert_allclose(full_matrix(found.distances), mean)


@pytest.mark.parametrize("mapping", ["inside", "behind by position", "behind by id"])
def test_encodings_of_households_belong_to_all_who_live_there(table: Path, tmp_path: Path, mapping: str) -> None:
    """Five households: everybody has the bits of theirs as one more part; a table of CODI says who lives where."""
    own, homes = bits_of(), bits_of(5, 32, seed=9)
    where = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    (tmp_path / "clk.json").write_text(json.dumps({"clks": in_base64(own)}))
    positions = [",".join(str(p) for p in range(N) if where[p] == home) for home in range(5)]
    lists = pd.DataFrame({"HOUSEHOLD_POSITION": range(5), "PAT_CLK_POSITIONS": positions}).to_csv(index=False)
    by_id = pd.DataFrame({"household_position": where, "pid": people()["id"]}).sample(frac=1, random_state=1)
    made = {"output/households/fn-phone-addr-zip.json": json.dumps({"clks": in_base64(homes)})}
    source = [str(tmp_path / "clk.json"), str(tmp_path / "households.zip")]
    if mapping == "inside":
        made["output/households/households.csv"] = lists
    else:
        text = lists if "position" in mapping else by_id.to_csv(index=False)
        (tmp_path / "who.csv").write_text(text)
        source.append(str(tmp_path / "who.csv"))
    write_zip(tmp_path / "households.zip", made)
    found = encoded(read(table, source))
    assert found.parts == (64, 32)
    np.testing.assert_array_equal(found.pieces[1].bits, np.packbits(homes[where], axis=1))
    write_zip(tmp_path / "alone.zip", {"h.json": json.dumps({"clks": in_base64(homes)})})
    with pytest.raises(dq.InputError, match="without it they cannot be given to people") as refused:
        read(table, [str(tmp_path / "clk.json"), str(tmp_path / "alone.zip")])
    assert refused.value.message.code == "other_number_of_encodings"


@pytest.mark.parametrize("orient", ["columns", "records", "index", "list"])
def test_positions_of_bits_are_read_in_every_shape_of_pandas(table: Path, tmp_path: Path, orient: str) -> None:
    """As the toolkit of the ONS has them; the length is the next power of 2."""
    bits = bits_of(length=200)
    frame = pd.DataFrame({"bf_indices": [np.flatnonzero(row).tolist() for row in bits], "bf_norms": np.ones(N)})
    if orient == "list":
        (tmp_path / "bf.json").write_text(json.dumps(frame["bf_indices"].tolist()))
    else:
        frame.to_json(tmp_path / "bf.json", orient=orient)  # type: ignore[call-overload]
    found = read(table, tmp_path / "bf.json", by_position=True)
    np.testing.assert_allclose(full_matrix(found.distances), dice(bits))
    assert encoded(found).length == 256


def test_bit_sets_of_java_count_from_the_lowest_bit(tmp_path: Path) -> None:
    """Bits 2, 8, 20 and 61 are BAEQAAAAACA=, as a test of the Leipzig services has it; zeros behind are cut off."""
    records = [
        {"id": {"local": f"ID{k}"}, "attributes": {"RBF": {"type": "BITSET_BASE64", "value": value}, "n": {"value": 1}}}
        for k, value in enumerate(["BAEQAAAAACA=", "BA=="])
    ]
    for content in (records, {"records": records}):
        (tmp_path / "rbf.json").write_text(json.dumps(content))
        found = dq.read(tmp_path / "rbf.json", id="id", encodings="RBF")
        opened = np.unpackbits(encoded(found).bits, axis=1)
        assert [np.flatnonzero(row).tolist() for row in opened] == [[2, 8, 20, 61], [2]]
        assert found.ids == ("ID0", "ID1")


def test_several_columns_are_parts_and_an_empty_cell_is_a_missing_one(tmp_path: Path) -> None:
    one, two = bits_of(), bits_of(seed=2)
    frame = people().assign(clk1=in_base64(one), clk2=in_base64(two))
    frame.loc[3, "clk2"] = None
    for path in (tmp_path / "f.csv", tmp_path / "f.parquet"):
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
        found = read(path, "clk1,clk2")
        two[3] = 0
        expected = (dice(one) + dice(np.where(two.sum(1, keepdims=True) > 0, two, 1))) / 2
        expected[3], expected[:, 3] = dice(one)[3], dice(one)[:, 3]
        np.testing.assert_allclose(full_matrix(found.distances), expected)
        assert "1 of 24 missing" in str(dq.inspect(found))
    frame.loc[3, "clk1"] = None
    frame.to_csv(tmp_path / "g.csv", index=False)
    with pytest.raises(dq.InputError, match=r"g.csv: row 4 has no encoding, neither in 'clk1' or 'clk2'"):
        read(tmp_path / "g.csv", "clk1,clk2")


def test_a_file_with_ids_is_joined_by_them(table: Path, tmp_path: Path) -> None:
    bits = bits_of()
    frame = pd.DataFrame({"id": people()["id"], "value": in_base64(bits)}).sample(frac=1, random_state=3)
    frame.to_csv(tmp_path / "v.csv", index=False)
    shuffled = [{"id": a, "value": b} for a, b in zip(frame["id"], frame["value"], strict=True)]
    (tmp_path / "v.json").write_text(json.dumps({"entities": shuffled}))
    for name in ("v.csv", "v.json"):
        found = read(table, tmp_path / name)
        assert found.joined == "by id"
        np.testing.assert_array_equal(encoded(found).bits, np.packbits(bits, axis=1))


def test_sets_of_hashes_are_compared_by_jaccard(tmp_path: Path) -> None:
    sets = [set(map(int, rng(k).integers(0, 1 << 31, 5))) | {77, 1 << 40} for k in range(N)]
    sets[4] = set(sets[3])
    people().assign(hashes=[str(one) for one in sets]).to_csv(tmp_path / "h.csv", index=False)
    found = read(tmp_path / "h.csv", "hashes")
    expected = [[1 - len(a & b) / len(a | b) for b in sets] for a in sets]
    np.testing.assert_allclose(full_matrix(found.distances), expected)
    assert encoded(found).metric == "jaccard"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{not json", "m.json: not readable as JSON"),
        ('{"some": 1}', "m.json: no encodings in this JSON file"),
        ('{"clks": ["qw==", 7]}', 'm.json: row 2 of "clks" = 7'),
        ('{"clks": ["qw==", "!!"]}', "m.json: row 2, column 'clk' = '!!'"),
        ('{"clks": ["qw==", null]}', "m.json: row 2, column 'clk'"),
        ('{"clks": ["qw==", "qwE="]}', "m.json: row 2, column 'clk'"),
        ('{"bf_indices": [[1, 2], [3, -4]]}', "m.json: row 2, column 'bf_indices' = '{3, -4}'"),
    ],
)
def test_what_is_malformed_says_where(tmp_path: Path, content: str, says: str) -> None:
    pd.DataFrame({"id": ["a", "b"]}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(dq.InputError) as refused:
        dq.read(tmp_path / "t.csv", id="id", encodings=tmp_path / "m.json")
    assert says in str(refused.value)


def test_archives_that_fit_nobody_are_refused(table: Path, tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_text("no archive")
    write_zip(tmp_path / "empty.zip", {"metadata.json": "{}"})
    several = {"a.json": json.dumps({"clks": in_base64(bits_of())}), "b.json": json.dumps({"clks": ["AA=="]})}
    write_zip(tmp_path / "two.zip", several)
    homes = "household_position,pid\n0,nobody\n"
    write_zip(tmp_path / "homes.zip", {"a.json": several["b.json"], "who.csv": homes})
    for name, code in (
        ("no.zip", "not_a_zip_file"),
        ("empty.zip", "archive_without_encodings"),
        ("two.zip", "archive_files_differ"),
        ("homes.zip", "households_need_ids"),
    ):
        with pytest.raises(dq.InputError) as refused:
            read(table, tmp_path / name)
        assert refused.value.message.code == code


def test_what_was_understood_is_said(table: Path, tmp_path: Path) -> None:
    write_zip(tmp_path / "g.zip", {f"{k}.json": json.dumps({"clks": in_base64(bits_of(seed=int(k)))}) for k in "12"})
    shown = str(dq.inspect(read(table, tmp_path / "g.zip")))
    assert "encodings: 2 of each person, 64 + 64 bits, base64" in shown
    assert "by position" in shown


def test_a_file_of_clkhash_is_released_as_one(tmp_path: Path) -> None:
    bits = bits_of()
    (tmp_path / "clk.json").write_text(json.dumps({"clks": in_base64(bits)}))
    data = dq.read(tmp_path / "clk.json", encodings="clk")
    made = dq.release(data, "none", seed=3, as_="encodings")
    made.save(tmp_path / "out.json")
    written = json.loads((tmp_path / "out.json").read_text())
    assert sorted(written["clks"]) == sorted(in_base64(bits))
    back = dq.read(tmp_path / "out.json", encodings="clk")
    np.testing.assert_allclose(full_matrix(back.distances), made.distances)


def test_parts_are_released_as_columns(tmp_path: Path) -> None:
    frame = people().assign(a=in_base64(bits_of()), b=in_base64(bits_of(seed=2)))
    frame.loc[2, "b"] = None
    frame.to_csv(tmp_path / "f.csv", index=False)
    made = dq.release(read(tmp_path / "f.csv", "a,b"), "none", seed=1, as_="encodings")
    assert list(made.table.columns) == ["record", "sex", "a", "b"]
    pairs = set(zip(made.table["a"], made.table["b"], strict=True))
    assert pairs == set(zip(frame["a"], frame["b"].where(frame["b"].notna(), None), strict=True))


def test_commands_take_an_archive(run: Run, tmp_path: Path) -> None:
    """An attack on a garbled.zip without a table finds those whose names are known."""
    names = [row.tobytes().decode() for row in rng(4).integers(97, 103, (30, 9), dtype=np.uint8)]
    pd.DataFrame({"id": range(1, 31), "name": names}).to_csv(tmp_path / "p.csv", index=False)
    texts = dq.Texts(tuple(names))
    files = {}
    for key in (1, 2):
        made = dq.parse_mask("bloom:length=512").apply(texts, rng(key))
        files[f"output/{key}.json"] = json.dumps({"clks": made.cells("form_base64")})
    write_zip(tmp_path / "garbled.zip", files)
    more = ("--text", "name", "--id", "id", "--attack", "profiles", "--json", "j.json")
    code, out, err = run("attack", "garbled.zip", "p.csv", "--target-encodings", "garbled.zip", *more)
    assert code == 0, err
    assert "encodings: 2 of each person, 512 + 512 bits" in out + err
    rows = json.loads((tmp_path / "j.json").read_text())["attacks"][0]["matches"]
    assert rows
