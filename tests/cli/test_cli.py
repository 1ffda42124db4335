"""The command line as a user meets it: the contract of its files, and one clear sentence for every bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import Run
from small_files import LIGHT

TARGET = "id,sex,age,lon,lat\n1,f,30,10.0,50.0\n2,m,30,11.0,50.0\n3,f,40,10.0,51.5\n"
KNOWN = "id,sex,age,lon,lat\n1,f,30,10.0,50.0\n2,m,30.0,11.0,50.0\n3,f,40,10.0,51.5\n4,f,30,8.0,53.0\n"
MATRIX = "0,5,7\n5,0,9\n7,9,0\n"


@pytest.fixture(autouse=True)
def _files(run: Run) -> None:
    """Two tables and a matrix in the present folder."""
    Path("t.csv").write_text(TARGET)
    Path("k.csv").write_text(KNOWN)
    Path("d.csv").write_text(MATRIX)


BY_POINTS = ("--target-coordinates", "lon,lat", "--known-coordinates", "lon,lat")
LABELS = ("--label", "sex", "--label", "age")
CLIQUE = ("--attack", "clique")
ATTACK = ("attack", "t.csv", "k.csv", *LABELS, *CLIQUE)


def test_attack_writes_what_the_contract_says(run: Run) -> None:
    """Matches as CSV, the result as JSON with its provenance, the picture as PNG and SVG."""
    files = ("--out", "m.csv", "--json", "r.json", "--plot", "p.png")
    code, out, err = run(*ATTACK, *BY_POINTS, "--within", "500m", "--truth", "id", *files)
    assert code == 0, err
    matches = pd.read_csv("m.csv")
    assert list(matches.columns[:2]) == ["target_row", "known_row"]
    assert matches[["target_row", "known_row"]].to_numpy().tolist() == [[1, 1], [2, 2], [3, 3]]
    assert (matches["support"] == 1).all()
    content = json.loads(Path("r.json").read_text())
    [result] = content["attacks"]
    assert result["attack"] == "clique"
    assert [(match["target_id"], match["known_id"]) for match in result["matches"]] == [(1, 1), (2, 2), (3, 3)]
    for key in (
        "product_vertices",
        "product_edges",
        "clique_size",
        "proven",
        "bound",
        "matches",
        "precision",
        "recall",
    ):
        assert key in result
    assert (result["clique_size"], result["proven"], result["precision"], result["recall"]) == (3, True, 1.0, 1.0)
    assert set(content["inputs"]) == {"t.csv", "k.csv"}
    assert all(len(digest) == 64 for digest in content["inputs"].values())
    assert "disclique" in content["versions"]
    assert Path("p.png").read_bytes()[:4] == b"\x89PNG"
    assert "precision 1.000" in err
    assert (out, "matches: m.csv" in err) == ("", True)  # they are in the file


def test_output_in_a_pipe_has_no_decoration(run: Run) -> None:
    """Standard output is a table that another program reads; --quiet prints nothing at all."""
    code, out, err = run(*ATTACK, *BY_POINTS, "--within", "1")
    assert code == 0
    assert len(out.strip().splitlines()) == 4
    assert not set("│┃╭━\x1b") & set(out + err)
    code, out, err = run(*ATTACK, *BY_POINTS, "--within", "1", "--quiet")
    assert (code, out, err) == (0, "", "")


def test_no_label_in_common_is_a_mistake_and_accepted_a_result(run: Run) -> None:
    """It says why and writes nothing; accepted, it says so, writes an empty table and exits with 0."""
    Path("k.csv").write_text("sex,age,lon,lat\nf ,30,10,50\n")
    code, _, err = run(*ATTACK, *BY_POINTS, "--within", "1", "--out", "m.csv")
    assert (code, "white space" in err, Path("m.csv").exists()) == (2, True, False)
    code, _, err = run(*ATTACK, *BY_POINTS, "--within", "1", "--out", "m.csv", "--accept", "labels-never-meet")
    assert code == 0
    assert "no label in common" in err
    assert "white space" in err
    assert len(pd.read_csv("m.csv")) == 0


@pytest.mark.parametrize("missing", ["never", "any"])
def test_missing_labels_follow_the_policy(run: Run, missing: str) -> None:
    """A missing value matches never (and that is said) or any value."""
    Path("t.csv").write_text(TARGET.replace("3,f,40", "3,f,"))
    code, out, err = run(*ATTACK, *BY_POINTS, "--within", "1", "--missing", missing)
    assert code == 0
    assert len(out.strip().splitlines()) == (3 if missing == "never" else 4)
    assert ("1 records have a missing label" in err) == (missing == "never")


def test_generalisers_make_labels_meet(run: Run) -> None:
    """A year on one side, its century on the other."""
    Path("t.csv").write_text("yob,lon,lat\n1313,10,50\n1547,11,50\n")
    Path("k.csv").write_text("cob,lon,lat\n14,10,50\n16,11,50\n")
    code, out, _ = run(
        "attack",
        "t.csv",
        "k.csv",
        "--label",
        "cob",
        *CLIQUE,
        *BY_POINTS,
        "--within",
        "1",
        "--generalise",
        "cob=century:yob",
    )
    assert code == 0
    assert len(out.strip().splitlines()) == 3


def save_matrix(name: str, values: np.ndarray) -> None:
    """The matrix in the form that the file's name says."""
    path, ids = Path(name), ["a", "b", "c"]
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".npz":
        np.savez(path, distances=values)
    elif path.suffix == ".parquet":
        pd.DataFrame(values, columns=ids).to_parquet(path)
    elif name == "plain.csv":
        pd.DataFrame(values).to_csv(path, header=False, index=False)
    elif name == "header.tsv":
        pd.DataFrame(values, columns=ids).to_csv(path, index=False, sep="\t")
    elif name == "both.csv":
        order = [2, 0, 1]
        shuffled = pd.DataFrame(values, columns=ids, index=ids).iloc[order, order]
        shuffled.to_csv(path)
    elif name == "german.csv":
        pd.DataFrame(values).to_csv(path, header=False, index=False, sep=";", decimal=",")
    elif name == "list.csv":
        rows = [(ids[i], ids[j], values[i, j]) for i in range(3) for j in range(i)]
        pd.DataFrame(rows, columns=["i", "j", "distance"]).to_csv(path, index=False)


@pytest.mark.parametrize(
    "name", ["plain.csv", "header.tsv", "both.csv", "german.csv", "list.csv", "d.npy", "d.npz", "d.parquet"]
)
def test_every_form_of_distances_is_read_alike(run: Run, name: str) -> None:
    """With header and index or without, shuffled by id, long, binary: the same three matches."""
    values = np.array([[0, 71.5, 166.8], [71.5, 0, 181.1], [166.8, 181.1, 0]])
    save_matrix(name, values)
    Path("t.csv").write_text("who,sex,age\na,f,30\nb,m,30\nc,f,40\n")
    code, out, err = run(
        *(*ATTACK, "--target-distances", name, "--known-coordinates", "lon,lat", "--unit", "km"),
        *("--within", "1", "--id", "who"),
    )
    assert code == 0, err
    assert len(out.strip().splitlines()) == 4


BY_MATRIX = ("--target-distances", "d.csv", "--known-coordinates", "lon,lat", "--within", "1")
BAD = [
    ("wrong shape", "0,1\n1,0\n", ("d.csv", "2 x 2", "3 records")),
    ("not square", "0,1,2\n1,0,3\n", ("d.csv", "2 x 3")),
    ("negative", MATRIX.replace("5", "-5"), ("d.csv", "row 1, column 2", "-5", "negative")),
    ("NaN", "0,5,7\n5,0,NaN\n7,NaN,0\n", ("d.csv", "row 2, column 3", "not a number")),
    ("infinite", "0,5,7\n5,0,inf\n7,inf,0\n", ("d.csv", "row 2, column 3", "infinite")),
    ("asymmetric", "0,5,7\n6,0,9\n7,9,0\n", ("d.csv", "row 1, column 2", "row 2, column 1", "directed")),
    ("diagonal", "0,5,7\n5,1,9\n7,9,0\n", ("d.csv", "row 2, column 2", "1.0", "itself")),
    ("text", "0,5,7\n5,0,x\n7,x,0\n", ("d.csv", "row 2, column 3", "'x'")),
    ("empty", "", ("d.csv", "empty")),
    ("duplicate", "i,j,distance\n1,2,5\n1,2,6\n", ("d.csv", "row 2", "6.0", "row 1 already")),
    ("stranger", "i,j,distance\n1,2,5\n1,9,6\n", ("d.csv", "row 2, column 2", "'9'", "no record")),
    ("contradiction", "i,j,distance\n1,2,5\n2,1,6\n", ("d.csv", "row 1", "not symmetric")),
    ("ragged", "0,5,7\n5,0,9,1\n7,9,0\n", ("d.csv",)),
]


@pytest.mark.parametrize(("content", "said"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_distances_end_in_one_sentence(run: Run, content: str, said: tuple[str, ...]) -> None:
    """File, row, column and value are named; exit code 2, no traceback, nothing written."""
    Path("d.csv").write_text(content)
    before = sorted(Path().iterdir())
    code, out, err = run(*ATTACK, *BY_MATRIX, "--out", "m.csv", "--json", "r.json")
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    for part in said:
        assert part in err
    assert sorted(Path().iterdir()) == before


BAD_CALLS = [
    ("unknown label", ("--label", "zip", *BY_POINTS, "--within", "1"), ("t.csv", "'zip'", "'sex'")),
    ("unknown coordinate", (*LABELS, "--target-coordinates", "x,lat", *BY_POINTS[2:], "--within", "1"), ("'x'",)),
    (
        "both sources",
        (*LABELS, *BY_POINTS, "--target-distances", "d.csv", "--within", "1"),
        ("are given; distances come from one of them",),
    ),
    ("no source", (*LABELS, *BY_POINTS[:2], "--within", "1"), ("k.csv", "nothing gives distances")),
    ("no agreement", (*LABELS, *BY_POINTS), ("--within", "--relative", "--between")),
    ("two agreements", (*LABELS, *BY_POINTS, "--within", "1", "--relative", "1"), ("only one",)),
    ("tolerance", (*LABELS, *BY_POINTS, "--within", "-1"), ("-1", "positive")),
    ("tolerance text", (*LABELS, *BY_POINTS, "--within", "near"), ("near",)),
    ("interval", (*LABELS, *BY_POINTS, "--between", "2,1"), ("smaller one first",)),
    ("unknown unit", (*LABELS, *BY_MATRIX[:4], "--within", "5km"), ("--unit",)),
    ("metric", (*LABELS, *BY_POINTS, "--within", "1", "--metric", "taxi"), ("taxi", "sphere")),
    ("truth", (*LABELS, *BY_POINTS, "--within", "1", "--truth", "name"), ("t.csv", "'name'")),
    ("folder gone", (*LABELS, *BY_POINTS, "--within", "1", "--out", "t.csv/x/m.csv"), ("m.csv", "cannot be written")),
    ("picture", (*LABELS, *BY_POINTS, "--within", "1", "--plot", "p.bmp"), ("p.bmp", ".png")),
    ("missing policy", (*LABELS, *BY_POINTS, "--within", "1", "--missing", "maybe"), ("maybe", "never")),
    ("generaliser", (*LABELS, *BY_POINTS, "--within", "1", "--generalise", "x"), ("NEW=RULE:COLUMN",)),
    ("solver", (*LABELS, *BY_POINTS, "--within", "1", "--solver", "oracle"), ("oracle", "exact")),
    ("budget", (*LABELS, *BY_POINTS, "--within", "1", "--budget", "-3"), ("-3", "negative")),
    ("id", (*LABELS, *BY_POINTS, "--within", "1", "--id", "passport"), ("passport",)),
]


@pytest.mark.parametrize(("arguments", "said"), [c[1:] for c in BAD_CALLS], ids=[c[0] for c in BAD_CALLS])
def test_bad_calls_end_in_one_sentence(run: Run, arguments: tuple[str, ...], said: tuple[str, ...]) -> None:
    """What is wrong and what would be right; exit code 2, no traceback."""
    code, _, err = run("attack", "t.csv", "k.csv", *CLIQUE, *arguments)
    assert code == 2
    assert "Traceback" not in err
    for part in said:
        assert part in err


BAD_TABLES = [
    ("no file", None, ("t.csv", "no such file")),
    ("empty", "", ("t.csv", "empty")),
    ("header only", "id,sex,age,lon,lat\n", ("t.csv", "no records")),
    ("latitude", TARGET.replace("10.0,50.0", "50.0,100.0"), ("t.csv", "row 1", "'lat'", "100.0", "swapped")),
    ("coordinate", TARGET.replace("11.0", "east"), ("t.csv", "row 2", "'lon'", "'east'")),
    ("blank coordinate", TARGET.replace("11.0", ""), ("t.csv", "row 2", "'lon'")),
    ("twice a column", TARGET.replace("id,sex", "sex,sex"), ("t.csv",)),
    ("binary", "\0\1\2\3", ("t.csv", "not a text file")),
]


@pytest.mark.parametrize(("content", "said"), [c[1:] for c in BAD_TABLES], ids=[c[0] for c in BAD_TABLES])
def test_bad_tables_end_in_one_sentence(run: Run, content: str | None, said: tuple[str, ...]) -> None:
    """The same for the tables."""
    Path("t.csv").unlink()
    if content is not None:
        Path("t.csv").write_text(content)
    code, _, err = run(*ATTACK, *BY_POINTS, "--within", "1")
    assert code == 2
    for part in said:
        assert part in err


def test_duplicate_truth_is_refused(run: Run) -> None:
    """One person twice in a file has no single true match."""
    Path("k.csv").write_text(KNOWN.replace("4,f", "1,f"))
    code, _, err = run(*ATTACK, *BY_POINTS, "--within", "1", "--truth", "id")
    assert code == 2
    assert "rows 1 and 4" in err


def test_directed_distances_are_taken_when_said(run: Run) -> None:
    """Travel times differ by direction; both directions must agree."""
    Path("d.csv").write_text("0,5,7\n6,0,9\n7,9,0\n")
    Path("e.csv").write_text("0,6,7\n5,0,9\n7,9,0\n")
    both = ("--target-distances", "d.csv", "--known-distances", "d.csv", "--within", "0.5", "--directed")
    code, out, _ = run("attack", "t.csv", "t.csv", *CLIQUE, *LABELS, *both)
    assert (code, len(out.strip().splitlines())) == (0, 4)
    code, out, _ = run(
        "attack",
        "t.csv",
        "t.csv",
        *CLIQUE,
        *LABELS,
        *(x.replace("known-d", "known-d") for x in both[:3]),
        "e.csv",
        *both[4:],
    )
    assert (code, len(out.strip().splitlines())) == (0, 3)


def test_unpublished_cells_need_to_be_said(run: Run) -> None:
    """Empty cells are refused unless they are declared unpublished."""
    Path("d.csv").write_text("0,5,\n5,0,9\n,9,0\n")
    both = ("--target-distances", "d.csv", "--known-distances", "d.csv", "--within", "0.5")
    code, _, err = run("attack", "t.csv", "t.csv", *CLIQUE, *LABELS, *both)
    assert code == 2
    assert "row 1, column 3" in err
    code, out, _ = run("attack", "t.csv", "t.csv", *CLIQUE, *LABELS, *both, "--unpublished")
    assert (code, len(out.strip().splitlines())) == (0, 4)


AUDIT = ("--attack", "labels", "--repetitions", "1", "--processes", "1", *LIGHT)


@pytest.mark.parametrize(("back", "accepted"), [("278.71646572664184", True), ("278.7164667266418", False)])
def test_a_matrix_is_symmetric_up_to_rounding(run: Run, back: str, accepted: bool) -> None:
    """What floating point explains is accepted, as shortest-path routines leave it; the rest is refused."""
    Path("d.csv").write_text(f"0,278.7164657266418,7\n{back},0,279\n7,279,0\n")
    both = ("--target-distances", "d.csv", "--known-distances", "d.csv")
    for command in (
        ("attack", "t.csv", "t.csv", *CLIQUE, *both, "--within", "0.5", *LABELS),
        ("mask", "t.csv", "--distances", "d.csv", "--mask", "round:to=5", "--out", "release.csv"),
        ("audit", "t.csv", "--distances", "d.csv", "--mask", "round:to=5", *LABELS, *AUDIT, "--out", "audit"),
    ):
        code, _, err = run(*command)
        assert code == (0 if accepted else 2), err
        assert ("not symmetric" in err) != accepted


def test_labels_are_optional(run: Run) -> None:
    """Distances alone link records: in an attack, an audit and a release."""
    code, out, err = run("attack", "t.csv", "k.csv", *CLIQUE, *BY_POINTS, "--within", "1", "--truth", "id")
    assert code == 0, err
    assert len(out.splitlines()) == 4
    assert "recall 1.000" in err
    points = ("--coordinates", "lon,lat", "--mask", "affine")
    code, _, err = run("audit", "t.csv", *points, "--id", "id", *AUDIT, "--attack", "register", "--out", "audit")
    assert code == 0, err
    result = json.loads(Path("audit/result.json").read_text())
    assert result["file"]["labels"] == []
    assert [attack["attack"] for attack in result["settings"][0]["attacks"]] == ["labels", "register"]
    code, _, err = run("mask", "t.csv", *points, "--out", "release.csv")
    assert code == 0, err
    assert list(pd.read_csv("release.csv").columns) == ["record"]
    assert pd.read_csv("release_distances.csv", header=None).shape == (3, 3)


@pytest.mark.parametrize("name", ["hospital", "names", "travel", "embeddings"])
def test_files_to_try_are_written_as_python_gives_them(run: Run, name: str) -> None:
    """The same files on every call, nothing is replaced, and nothing is written without a folder."""
    code, _, err = run("example", name, "--out", "here")
    assert code == 0
    for file, content in dq.example(name).items():
        path = Path("here", file)
        assert str(path) in err
        if isinstance(content, pd.DataFrame):
            pd.testing.assert_frame_equal(pd.read_csv(path), content, check_dtype=False)
        elif isinstance(content, str):
            assert path.read_text(encoding="utf-8") == content
        else:
            np.testing.assert_array_equal(np.load(path), content)
    assert run("example", name, "--out", "here")[0] == 2
    assert run("example", name)[0] == 2


def test_examples_from_the_command_line(run: Run) -> None:
    """Both examples of the paper print their figures and write their files."""
    code, out, err = run("example", "poets", "--out", "poets dir")
    assert code == 0
    assert "11 vertices, 9 edges" in err
    assert len(out.strip().splitlines()) == 5
    for name in ("matches.csv", "target_graph.png", "known_graph.png", "product_graph.png", "matches.png"):
        assert (Path("poets dir") / name).stat().st_size > 0
    code, out, _ = run("example", "cities", "--out", "Städte")
    assert code == 0
    assert "1869.1" in out
    assert run("example", "nothing")[0] == 2


TRIANGLE = "c a triangle and a tail\np edge 5 5\ne 1 2\ne 2 3\ne 1 3\ne 3 4\ne 4 5\n"


@pytest.mark.parametrize("content", [TRIANGLE, "1 2\n2 1\n2,3\n1 3 0.5\n# end\n3 4\n4 5\n"])
def test_plain_graphs_are_solved_by_every_solver(run: Run, content: str) -> None:
    """DIMACS and edge lists; all solvers find the triangle, and all maximum cliques are counted."""
    Path("g.clq").write_text(content)
    code, out, err = run("clique", "g.clq", "--solver", "all", "--count", "--json", "g.json")
    assert code == 0, err
    results = json.loads(Path("g.json").read_text())["results"]
    assert {row["solver"] for row in results} >= {"exact", "mcqd", "greedy"}
    assert all(row["members"] == [1, 2, 3] and row["maximum_cliques"] == "1" for row in results)
    assert len(out.strip().splitlines()) == len(results) + 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no edges"),
        ("e 1\n", "line 1"),
        ("e 1 x\n", "'x'"),
        ("e 0 1\n", "'0'"),
        ("e 2 2\n", "itself"),
        ("p edge 2 1\ne 1 3\n", "declares 2"),
        ("\xff\xfe", "line 1"),
    ],
)
def test_bad_graphs_end_in_one_sentence(run: Run, content: str, said: str) -> None:
    """File, line and value."""
    Path("g.clq").write_text(content)
    code, _, err = run("clique", "g.clq")
    assert code == 2
    assert "g.clq" in err
    assert said in err
