"""Distances beside a table are joined by name: whoever wrote the file, in whatever order, or there is one sentence."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import disclique as dq
from conftest import Run
from disclique.messages import Message
from disclique.records.joins import count_of, describe_difference
from disclique.records.tables import select_records
from disclique.values import canonical
from small_files import LIGHT

N = 7
RNG = np.random.default_rng(3)
PLACES = RNG.uniform(0, 100, (N, 2))
TRUE = np.linalg.norm(PLACES[:, None] - PLACES[None], axis=2)
IDS = [f"p{k:03d}" for k in RNG.permutation(N) + 1]
PEOPLE = pd.DataFrame({"id": IDS, "sex": list("fmfmfmf")})
MIXED = RNG.permutation(N)
Square = pd.DataFrame
Write = Callable[[Square, Path], object]


def named(ids: list[object] | None = None) -> Square:
    """The matrix in another order than the table, with its names."""
    ids = list(ids or IDS)
    return pd.DataFrame(TRUE, index=ids, columns=ids).iloc[MIXED, MIXED]


def table(folder: Path, ids: list[object] | None = None) -> Path:
    path = folder / "people.csv"
    PEOPLE.assign(id=list(ids or IDS)).to_csv(path, index=False)
    return path


def by_r(frame: Square, path: Path, **options: object) -> None:
    """As write.csv does: quoted names, an empty first cell."""
    lines = [",".join(f'"{name}"' for name in ["", *frame.columns])]
    lines += [
        ",".join([f'"{name}"', *map(repr, map(float, row))])
        for name, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def by_r_table(frame: Square, path: Path) -> None:
    """As write.table does: no cell above the row names."""
    by_r(frame, path)
    path.write_text(path.read_text().replace('"",', "", 1).replace(",", ";"))


def by_r_blanks(frame: Square, path: Path) -> None:
    """As write.table does when nothing else is said."""
    by_r_table(frame, path)
    path.write_text(path.read_text().replace(";", " "))


WRITERS: dict[str, tuple[str, Write]] = {
    "pandas": ("d.csv", lambda frame, path: frame.to_csv(path)),
    "a BOM": ("d.csv", lambda frame, path: frame.to_csv(path, encoding="utf-8-sig")),
    "semicolons": ("d.csv", lambda frame, path: frame.to_csv(path, sep=";", decimal=",")),
    "R": ("d.csv", by_r),
    "R, write.table": ("d.csv", by_r_table),
    "R, blanks": ("d.txt", by_r_blanks),
    "header alone": ("d.tsv", lambda frame, path: frame.to_csv(path, sep="\t", index=False)),
    "first column alone": ("d.csv", lambda frame, path: frame.to_csv(path, header=False)),
    "names beside a default header": ("d.csv", lambda f, path: f.set_axis(range(N), axis=1).to_csv(path)),
    "R's names of columns": ("d.csv", lambda f, path: f.set_axis([f"V{k + 1}" for k in range(N)], axis=1).to_csv(path)),
    "a separator too many": (
        "d.csv",
        lambda f, path: path.write_text(f.to_csv().replace("\n", ",\n")),
    ),
    "Parquet's columns": ("d.parquet", lambda frame, path: frame.reset_index(drop=True).to_parquet(path)),
    "Parquet's index": ("d.parquet", lambda f, path: f.set_axis([f"V{k}" for k in range(N)], axis=1).to_parquet(path)),
    "a first column in Parquet": ("d.parquet", lambda f, path: f.rename_axis("who").reset_index().to_parquet(path)),
    "a workbook": ("d.xlsx", lambda frame, path: frame.to_excel(path)),
    "Stata": ("d.dta", lambda f, path: f.rename_axis("who").reset_index().to_stata(path, write_index=False)),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_names_decide_whoever_wrote_the_matrix(tmp_path: Path, kind: str) -> None:
    """In another order than the table's, each comes back in that of the table, and says how."""
    for extra in {"a workbook": ["openpyxl"], "Stata": ["pyreadstat"]}.get(kind, []):
        pytest.importorskip(extra)
    name, write = WRITERS[kind]
    write(named(), tmp_path / name)
    found = dq.read(table(tmp_path), id="id", distances=tmp_path / name)
    np.testing.assert_allclose(found.distances.values, TRUE, rtol=1e-12)
    assert found.joined == "by id"
    assert select_records(found, np.array([2, 0])).joined == "by id"


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (str.upper, "they differ only in case"),
        (lambda text: text.replace("p00", "p"), "they differ only in leading zeros (spreadsheets drop them)"),
        (lambda text: f"{text} ", "they differ only in white space"),
        (lambda text: f"q{text}", ""),
    ],
)
def test_names_that_do_not_match_are_an_error(
    tmp_path: Path, kind: str, change: Callable[[str], str], why: str
) -> None:
    """With examples of both sides and, where it is so, what differs; by position only where that is said."""
    for extra in {"a workbook": ["openpyxl"], "Stata": ["pyreadstat"]}.get(kind, []):
        pytest.importorskip(extra)
    name, write = WRITERS[kind]
    ids = [change(one) for one in IDS]
    if kind == "Stata" and ids[0].endswith(" "):
        pytest.skip("names of Stata's columns have no white space")
    write(named(ids), tmp_path / name)
    with pytest.raises(dq.InputError) as said:
        dq.read(table(tmp_path), id="id", distances=tmp_path / name)
    assert "7 of its 7 ids are not the ids in column 'id'" in str(said.value)
    assert ids[MIXED[0]].strip() in str(said.value)
    assert IDS[0] in str(said.value)
    assert "--by-position" in str(said.value)
    assert why in str(said.value)
    assert ("differ only" in str(said.value)) == bool(why)
    found = dq.read(table(tmp_path), id="id", distances=tmp_path / name, by_position=True)
    np.testing.assert_allclose(found.distances.values, TRUE[np.ix_(MIXED, MIXED)], rtol=1e-12)
    assert found.joined == "by position"


def test_without_an_id_column_names_are_an_error_that_says_which(tmp_path: Path) -> None:
    """The column that holds them is named."""
    named().to_csv(tmp_path / "d.csv")
    with pytest.raises(dq.InputError, match=r"no id column was named: add --id id .*--by-position"):
        dq.read(table(tmp_path), distances=tmp_path / "d.csv")
    named([f"x-{k}" for k in IDS]).to_csv(tmp_path / "d.csv")
    with pytest.raises(dq.InputError, match=r"it names its records \('x-p.*name it with --id"):
        dq.read(table(tmp_path), distances=tmp_path / "d.csv")


DEFAULTS = {
    "nothing": None,
    "1 to n": [str(k + 1) for k in range(N)],
    "0 to n - 1": list(range(N)),
    "as floats": [f"{k}.0" for k in range(N)],
    "R": [f"V{k + 1}" for k in range(N)],
    "R's data frames": [f"X{k + 1}" for k in range(N)],
    "Polars": [f"column_{k}" for k in range(N)],
    "SPSS": [f"VAR{k + 1:05d}" for k in range(N)],
}


@pytest.mark.parametrize("kind", DEFAULTS)
@pytest.mark.parametrize("id", ["id", None])
def test_a_numbering_is_a_position(tmp_path: Path, kind: str, id: str | None) -> None:
    """What programs call columns that nobody named carries no ids, and that it was so taken is told."""
    names = DEFAULTS[kind]
    frame = pd.DataFrame(TRUE, columns=names)
    frame.to_csv(tmp_path / "d.csv", index=False, header=names is not None)
    ids = ["anna", "bea", "cora", "dora", "eva", "fay", "gina"]  # words: numbers in other orders are doubtful
    found = dq.read(table(tmp_path, ids), id=id, distances=tmp_path / "d.csv")
    np.testing.assert_array_equal(found.distances.values, TRUE)
    assert found.joined == "by position"
    if id is None and kind == "1 to n":
        return
    with pytest.raises(dq.InputError, match=r"no ids|ids are not|names its records"):
        dq.read(table(tmp_path, ids), id=id, distances=tmp_path / "d.csv", by_position=False)


def test_numbers_beside_numbers_are_ids(tmp_path: Path) -> None:
    """1 to n beside other numbers, in the same numbers in another order, and where both only count."""
    counted = [*range(1, N + 1)]
    pd.DataFrame(TRUE, columns=counted).to_csv(tmp_path / "d.csv", index=False)
    for ids, says in (
        ([k + 1000 for k in counted], r"7 of its 7 ids are not .*\(1, 2, 3, …\) and 7 of .*\(1001, 1002, 1003, …\)"),
        ([k + 1 for k in counted], "1 of its 7 ids are not"),
        ([f"{k:04d}" for k in counted], "they differ only in leading zeros"),
        (counted[::-1], "row numbers, or say --no-by-position"),
        ([f"p{k}" for k in counted[::-1]], "row numbers, or write them as the table does"),
    ):
        with pytest.raises(dq.InputError, match=says):
            dq.read(table(tmp_path, ids), id="id", distances=tmp_path / "d.csv")
    for ids, told in (
        (counted, "by id"),
        ([k - 1 for k in counted], "by position"),
        ([f"{k}.0" for k in counted], "by id"),
    ):
        found = dq.read(table(tmp_path, ids), id="id", distances=tmp_path / "d.csv")
        np.testing.assert_array_equal(found.distances.values, TRUE)
        assert found.joined == told
    back = dq.read(table(tmp_path, counted[::-1]), id="id", distances=tmp_path / "d.csv", by_position=False)
    np.testing.assert_array_equal(back.distances.values, TRUE[::-1, ::-1])
    mixed = named(counted)
    mixed.to_csv(tmp_path / "d.csv")
    found = dq.read(table(tmp_path), distances=tmp_path / "d.csv")
    np.testing.assert_array_equal(found.distances.values, TRUE)
    assert found.joined == "by row number"


def test_row_numbers_that_may_be_ids_are_not_guessed(tmp_path: Path) -> None:
    """A matrix and a list by ids 1 to n, and a table in another order whose id column was not named."""
    ids = [int(k) + 1 for k in MIXED]
    path, d = table(tmp_path, ids), tmp_path / "d.csv"
    square = pd.DataFrame(TRUE, index=ids, columns=ids).sort_index().sort_index(axis=1)
    pairs = [(ids[i], ids[j], TRUE[i, j]) for i in range(N) for j in range(i)]
    for frame, options in (
        (square, {}),
        (square, {"index": False}),
        (named(ids), {}),
        (pd.DataFrame(pairs, columns=["i", "j", "distance"]), {"index": False}),
    ):
        frame.to_csv(d, **options)
        with pytest.raises(dq.InputError, match=r"column 'id' of .* has these numbers in another order: add --id id"):
            dq.read(path, distances=d)
        found = dq.read(path, id="id", distances=d, by_position=False)
        np.testing.assert_array_equal(found.distances.values, TRUE)


def test_the_wrong_id_column_is_told_by_the_right_one(tmp_path: Path) -> None:
    """Two columns that name the records: the matrix goes by the other."""
    PEOPLE.assign(nr=[f"k{k}" for k in range(N)]).to_csv(tmp_path / "people.csv", index=False)
    named().to_csv(tmp_path / "d.csv")
    with pytest.raises(
        dq.InputError, match=r"7 of its 7 ids are not the ids in column 'nr'.* but in column 'id': say --id"
    ):
        dq.read(tmp_path / "people.csv", id="nr", distances=tmp_path / "d.csv")


def test_names_that_r_alters_in_the_header_alone_are_read(tmp_path: Path) -> None:
    """write.csv of a data frame: numbers get an X, other signs a dot, the row names stay."""
    for ids in ([f"{k + 1001}" for k in range(N)], [f"a-{k} b" for k in range(N)]):
        frame = named(ids)
        mangled = [f"X{name}" if name[0].isdigit() else name.replace("-", ".").replace(" ", ".") for name in frame]
        by_r(frame.set_axis(mangled, axis=1), tmp_path / "d.csv")
        found = dq.read(table(tmp_path, ids), id="id", distances=tmp_path / "d.csv")
        np.testing.assert_array_equal(found.distances.values, TRUE)
        frame.set_axis(mangled, axis=1).to_csv(tmp_path / "d.csv", index=False)
        with pytest.raises(dq.InputError, match="they differ only in what R does to names"):
            dq.read(table(tmp_path, ids), id="id", distances=tmp_path / "d.csv")


def test_squares_that_contradict_themselves_or_the_table(tmp_path: Path) -> None:
    """Orders that differ, ids twice, too many records, too few, with names and without."""
    path, d = table(tmp_path), tmp_path / "d.csv"
    whole = named()

    def says(frame: Square, said: str, **options: object) -> None:
        frame.to_csv(d, **options)
        with pytest.raises(dq.InputError, match=said):
            dq.read(path, id="id", distances=d)

    says(whole.iloc[:, ::-1], "the header names the records in another order than the first column")
    says(whole.rename(columns={IDS[0]: "p9"}), "the header names other records than the first column")
    says(whole.rename(index={IDS[0]: IDS[1]}, columns={IDS[0]: IDS[1]}), f"the id '{IDS[1]}' stands there twice")
    strange = named([*IDS[:-1], "p077"])
    says(strange, rf"1 of its 7 ids are not .*\('p077'\) and 1 of .* are not in it \('{IDS[-1]}'\)")
    says(whole.iloc[:-1], "the first column names 6 records, the header 7")
    says(whole.rename(columns=str.upper), r"the header names other records .*\(they|P.*differ only in case")
    says(whole.iloc[:-1, :-1], "1 of the ids .* are not in it")
    says(whole.iloc[:-1, :-1], "6 x 6, but the table has 7", index=False, header=False)
    more = pd.DataFrame(np.zeros((N + 2, N + 2)), index=[*IDS, "x", "y"], columns=[*IDS, "x", "y"])
    says(more, r"2 of its 9 ids are not .*\('x', 'y'\); leave these records out")
    one = pd.DataFrame(np.zeros((N + 1, N + 1)))
    says(one, "8 x 8, but the table has 7", index=False, header=False)
    says(one, "8 x 8, but the table has 7")


def test_a_list_is_joined_by_its_ids(tmp_path: Path) -> None:
    """In any order; ids written otherwise are an error, row numbers must be said beside ids."""
    path, d = table(tmp_path), tmp_path / "d.csv"
    pairs = pd.DataFrame(
        [(IDS[i], IDS[j], TRUE[i, j]) for i in MIXED for j in range(i)], columns=["i", "j", "distance"]
    )
    for options in ({"index": False}, {"index": False, "header": False}, {}, {"header": ["von", "nach", "m"]}):
        pairs.to_csv(d, **options)
        found = dq.read(path, id="id", distances=d)
        np.testing.assert_array_equal(found.distances.values, TRUE)
        assert found.joined == "by id"
    pairs.assign(i=pairs["i"].str.upper()).to_csv(d, index=False)
    with pytest.raises(dq.InputError, match=r"row 1, column 1 = 'P.*no record of the table.*differ only in case"):
        dq.read(path, id="id", distances=d)
    with pytest.raises(dq.InputError, match=r"no record of the table has this row number, 1 to 7; .*--id"):
        dq.read(path, distances=d)
    pairs.to_csv(d, index=False)
    with pytest.raises(dq.InputError, match="add --id id"):
        dq.read(path, distances=d)
    rows = {name: row + 1 for row, name in enumerate(IDS)}
    pairs.assign(i=pairs["i"].map(rows), j=pairs["j"].map(rows)).to_csv(d, index=False)
    with pytest.raises(dq.InputError, match=r"say --by-position .* if these are row numbers"):
        dq.read(path, id="id", distances=d)
    for options in ({"id": "id", "by_position": True}, {}):
        found = dq.read(path, distances=d, **options)
        np.testing.assert_array_equal(found.distances.values, TRUE)
        assert found.joined == "by row number"


def test_frames_are_joined_by_their_index() -> None:
    """To ids, or without them to the index of the table; a default one is a position."""
    whole = named()
    for frame in (whole, whole.set_axis(range(N), axis=1), whole.reset_index(drop=True), whole.reset_index()):
        found = dq.microdata(PEOPLE, distances=frame, ids="id")
        np.testing.assert_array_equal(found.distances.values, TRUE)
        assert found.joined == "by id"
    for wrong in (whole, whole.reset_index()):
        with pytest.raises(dq.InputError, match="add --id id"):
            dq.microdata(PEOPLE, distances=wrong)
    found = dq.microdata(PEOPLE.set_index("id", drop=False), distances=whole)
    np.testing.assert_array_equal(found.distances.values, TRUE)
    with pytest.raises(dq.InputError, match="the ids in the index of microdata"):
        dq.microdata(PEOPLE.set_index("sex").set_axis(list("abcdefg")), distances=whole)
    for plain in (TRUE, pd.DataFrame(TRUE), TRUE.tolist(), dq.Matrix(TRUE)):
        found = dq.microdata(PEOPLE, distances=plain, ids="id")
        np.testing.assert_array_equal(found.distances.values, TRUE)
        assert found.joined == "by position"
    assert dq.microdata(PEOPLE, text="id").joined == ""
    free = dq.microdata(PEOPLE, distances=whole, by_position=True)
    np.testing.assert_array_equal(free.distances.values, TRUE[np.ix_(MIXED, MIXED)])


def test_parts_of_frames_keep_their_rows() -> None:
    """Rows cut out or shuffled go by their index; where position and index say different things, neither is guessed."""
    people, square = PEOPLE.assign(x=PLACES[:, 0], y=PLACES[:, 1]), pd.DataFrame(TRUE)
    some = people.iloc[[5, 1, 4]]
    expected = TRUE[np.ix_([5, 1, 4], [5, 1, 4])]
    for ids in ("id", None):
        cut = dq.microdata(some, distances=square.loc[[1, 4, 5], [1, 4, 5]], ids=ids)
        np.testing.assert_array_equal(cut.distances.values, expected)
        points = dq.microdata(some, coordinates=people[["x", "y"]].loc[[1, 4, 5]], metric="euclidean", ids=ids)
        np.testing.assert_allclose(points.distances.coordinates, PLACES[[5, 1, 4]])
        assert cut.joined == points.joined == "by id"
    with pytest.raises(dq.InputError, match="ids are not"):
        dq.microdata(some, distances=square.loc[[1, 2, 5], [1, 2, 5]])
    for ids in ("id", None):
        with pytest.raises(dq.InputError, match="by_position=False"):
            dq.microdata(people.iloc[MIXED], distances=square, ids=ids)
        mixed = dq.microdata(people.iloc[MIXED], distances=square, by_position=False, ids=ids)
        np.testing.assert_array_equal(mixed.distances.values, TRUE[np.ix_(MIXED, MIXED)])
    mixed = dq.microdata(people.iloc[MIXED], distances=square, by_position=False)
    np.testing.assert_array_equal(mixed.distances.values, TRUE[np.ix_(MIXED, MIXED)])
    late = people.iloc[2:5]
    np.testing.assert_array_equal(dq.microdata(late, distances=square.iloc[2:5, 2:5]).distances.values, TRUE[2:5, 2:5])
    assert dq.microdata(people, coordinates=PLACES, metric="euclidean").joined == "by position"


def test_vectors_are_joined_too(tmp_path: Path) -> None:
    """By the id column of their table; a column of ids under another name is never taken for numbers."""
    path, file = table(tmp_path), tmp_path / "v.csv"
    vectors = pd.DataFrame(PLACES, columns=["v1", "v2"]).assign(id=IDS).iloc[MIXED]
    for frame, options in (
        (vectors, {"index": False}),
        (vectors.rename(columns={"id": "pid"}), {"index": False}),
        (vectors.set_index("id"), {}),
        (vectors.set_index("id").rename_axis(None), {}),
    ):
        frame.to_csv(file, **options)
        found = dq.read(path, id="id", vectors=file)
        np.testing.assert_allclose(found.distances.coordinates, PLACES)
        assert found.joined == "by id"
    vectors.assign(id=vectors["id"].str.upper()).to_csv(file, index=False)
    with pytest.raises(dq.InputError, match="differ only in case"):
        dq.read(path, id="id", vectors=file)
    with pytest.raises(dq.InputError, match="name it with --id"):
        dq.read(path, vectors=file)
    numbers = [k + 500 for k in range(N)]
    vectors = pd.DataFrame(PLACES, columns=["v1", "v2"]).assign(pid=numbers).iloc[MIXED]
    vectors.to_csv(file, index=False)
    found = dq.read(table(tmp_path, numbers), id="id", vectors=file)
    np.testing.assert_allclose(found.distances.coordinates, PLACES)
    for name, wrong in (("pid", [*numbers[:-1], 9]), ("v0", [*numbers[:-1], 9]), ("pid", [9000 + k for k in numbers])):
        vectors[["v1", "v2"]].assign(**{name: [wrong[k] for k in MIXED]}).to_csv(file, index=False)
        with pytest.raises(dq.InputError, match=rf"column '{name}': \d of its 7 ids are not"):
            dq.read(table(tmp_path, numbers), id="id", vectors=file)
    vectors[["v1", "v2"]].to_csv(file, index=False)
    assert dq.read(path, id="id", vectors=file).joined == "by position"
    vectors[["v1", "v2"]].reset_index(drop=True).to_csv(file)
    words = ["anna", "bea", "cora", "dora", "eva", "fay", "gina"]
    assert dq.read(table(tmp_path, words), id="id", vectors=file).distances.coordinates.shape == (N, 2)
    np.save(tmp_path / "v.npy", PLACES)
    assert dq.read(path, id="id", vectors=tmp_path / "v.npy").joined == "by position"


def test_encodings_are_joined_too(tmp_path: Path) -> None:
    """By a column of ids, whatever it is called; ids that do not match are an error, not a position."""
    path, file = table(tmp_path), tmp_path / "clk.csv"
    bits = [f"{k:08b}" for k in (3, 7, 15, 31, 63, 127, 255)]
    frame = pd.DataFrame({"id": IDS, "clk": bits}).iloc[MIXED]
    wanted = dq.microdata(PEOPLE, distances=dq.read(_beside(tmp_path, bits), encodings="clk").distances)
    for name in ("id", "pid"):
        frame.rename(columns={"id": name}).to_csv(file, index=False)
        found = dq.read(path, id="id", encodings=str(file))
        np.testing.assert_array_equal(found.distances.bits, wanted.distances.bits)
        assert found.joined == "by id"
        frame.rename(columns={"id": name}).assign(**{name: frame["id"].str.upper()}).to_csv(file, index=False)
        with pytest.raises(dq.InputError, match="differ only in case"):
            dq.read(path, id="id", encodings=str(file))
    frame.to_csv(file, index=False)
    with pytest.raises(dq.InputError, match="add --id id"):
        dq.read(path, encodings=str(file))
    frame[["clk"]].to_csv(file, index=False)
    assert dq.read(path, id="id", encodings=str(file)).joined == "by position"


def _beside(folder: Path, bits: list[str]) -> Path:
    PEOPLE.assign(clk=bits).to_csv(folder / "both.csv", index=False)
    return folder / "both.csv"


def test_every_command_joins_or_refuses(run: Run) -> None:
    """Attack, audit and mask, on both sides: exit status 2 and one sentence, or the release of the right people."""
    table(Path())
    PEOPLE.assign(lon=PLACES[:, 0] / 10, lat=PLACES[:, 1] / 10).to_csv("k.csv", index=False)
    named([name.upper() for name in IDS]).to_csv("d.csv")
    here = ("--id", "id", "--label", "sex")
    audit = (
        "audit",
        "people.csv",
        *here,
        "--mask",
        "round:to=5",
        "--attack",
        "labels",
        "--repetitions",
        "1",
        *LIGHT,
    )
    commands = (
        ("attack", "people.csv", "k.csv", *here, "--target-distances", "d.csv", "--known-coordinates", "lon,lat"),
        ("attack", "k.csv", "people.csv", *here, "--known-distances", "d.csv", "--target-coordinates", "lon,lat"),
        ("mask", "people.csv", *here, "--distances", "d.csv", "--mask", "round:to=5", "--out", "r.csv"),
        (*audit, "--distances", "d.csv", "--processes", "1", "--out", "a"),
    )
    for command in commands:
        more = ("--within", "1", "--attack", "clique") if command[0] == "attack" else ()
        code, out, err = run(*command, *more)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert "they differ only in case" in err
    for command in commands[:3]:
        more = ("--within", "1", "--attack", "clique") if command[0] == "attack" else ()
        code, _, err = run(*command, *more, "--unit", "km", "--by-position")
        assert code == 0, err


def test_swapped_orders_change_the_figure(tmp_path: Path) -> None:
    """What is at stake: an attack that finds everybody by id finds nearly nobody by position."""
    survey = pd.DataFrame(dq.survey()).iloc[:60].reset_index(drop=True)
    known = dq.microdata(survey, ["sex"], coordinates=["lon", "lat"], ids="id")
    values = known.distances.block(np.arange(60), np.arange(60))
    order = np.random.default_rng(0).permutation(60)
    frame = pd.DataFrame(values, index=survey["id"], columns=survey["id"]).iloc[order, order]
    recall = []
    for by_position in (None, True):
        target = dq.microdata(survey, ["sex"], distances=frame, ids="id", unit="km", by_position=by_position)
        recall.append(dq.attack(target, known, agreement=dq.Within(1e-6), truth="id").risk.recall)
    assert recall[0] == 1
    assert recall[1] < 0.3


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4), max_size=6), st.data())
def test_any_names_join_or_are_refused(names: list[str], data: st.DataObject) -> None:
    """Whatever the names: in their own order, shuffled, or one changed; never a wrong order without a word."""
    names = [name for name in dict.fromkeys(names) if name not in ("NA", "NaN")]
    plain = [canonical(name) for name in names]
    if len(names) < 2 or len(set(plain)) != len(names):
        return
    n = len(names)
    true = np.abs(np.subtract.outer(np.arange(n) ** 2, np.arange(n) ** 2)).astype(float)
    order = data.draw(st.permutations(range(n)))
    written = pd.DataFrame(true, index=names, columns=names).iloc[order, order]
    people = pd.DataFrame({"who": names})
    doubtful = count_of([plain[k] for k in order]) is not None and list(order) != list(range(n))
    if doubtful:
        with pytest.raises(dq.InputError, match="by-position"):
            dq.microdata(people, distances=written, ids="who")
    found = dq.microdata(people, distances=written, ids="who", **({"by_position": False} if doubtful else {}))
    np.testing.assert_array_equal(found.distances.values, true)
    lost = data.draw(st.integers(0, n - 1))
    changed = [f"{name}§" if k == lost else name for k, name in enumerate(names)]
    with pytest.raises(dq.InputError):
        dq.microdata(
            people,
            distances=written.set_axis([changed[k] for k in order]).set_axis([changed[k] for k in order], axis=1),
            ids="who",
        )


def test_what_differs_is_named() -> None:
    """The fewest differences that explain the most, against hand-made pairs."""
    for here, there, code, folds in (
        (["p1", "p2"], ["P01", "P02"], "all_differ_only_in", ["letter_case", "leading_zeros"]),
        ([1, 2], ["001", "002"], "all_differ_only_in", ["leading_zeros"]),
        (["X17", "X18"], [17, 18], "all_differ_only_in", ["names_of_r"]),
        (["a.b", "c"], ["a-b", "d"], "some_differ_only_in", ["names_of_r"]),
    ):
        said = describe_difference(here, there)
        assert said is not None
        assert said.code == code
        assert said.values["folds"] == tuple(map(Message, folds))
    assert describe_difference(["a", "b"], ["c", "d"]) is None


def test_separators_inside_quotes_are_text(tmp_path: Path) -> None:
    """Names with commas and semicolons, as people write them."""
    ids = [f"Meier, A{k}; Bonn" for k in range(N)]
    for separator in ",;":
        text = io.StringIO()
        named(ids).to_csv(text, sep=separator)
        (tmp_path / "d.csv").write_text(text.getvalue())
        PEOPLE.assign(id=ids).to_csv(tmp_path / "people.csv", index=False, sep=separator)
        found = dq.read(tmp_path / "people.csv", id="id", distances=tmp_path / "d.csv")
        np.testing.assert_array_equal(found.distances.values, TRUE)
