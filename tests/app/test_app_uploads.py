"""Files that a browser sends, and names of files and folders: nothing is kept that should not be, or elsewhere."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="the app's packages are missing")
pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")

from starlette.requests import Request

from app_server import Answer, AppServer, multipart, serving, wait_for
from disclique.app.guard import Keys
from disclique.app.places import Places
from disclique.app.uploads import Refused, Upload, plain_name, receive_file
from disclique.errors import InputError

KIND = "multipart/form-data; boundary=xyz"
MOST = 70_000_000
COLD = (  # without the imports beside the first page, which take memory as well
    "from pathlib import Path; from disclique.app.server import serve; from disclique.app.server import Site;"
    f"Site.warm = lambda site: None; serve(Path(), browser=False, most={MOST})"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    folder, temporary = tmp_path_factory.mktemp("start"), tmp_path_factory.mktemp("temporary")
    with serving(folder, temporary=temporary, code=COLD) as running:
        yield running.enter()


def send(server: AppServer, body: Any, **headers: str) -> Answer:
    return server.ask("/upload", "POST", body, **{"Content_Type": KIND, **headers})


def kept(server: AppServer) -> list[Path]:
    """All files of the private folder but the lock."""
    found = [Path(place) / name for place, _, names in os.walk(server.private) for name in names]  # may go meanwhile
    return [path for path in found if path.name != "server.lock"]


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """What one test uploads is no matter of the next."""
    yield
    if "server" in request.fixturenames:
        running: AppServer = request.getfixturevalue("server")
        for folder in {path.relative_to(running.private).parts[0] for path in kept(running)}:
            shutil.rmtree(running.private / folder)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain.csv", "plain.csv"),
        ("../../x.csv", "x.csv"),
        ("..\\..\\x.csv", "x.csv"),
        ("C:\\data\\x.csv", "x.csv"),
        ("C:x.csv", "x.csv"),
        ("/etc/x.CSV", "x.CSV"),
        ("a\x00b.csv", "ab.csv"),
        ("-rf.csv", "-rf.csv"),
        ("Münster 東京 \u202evsc.csv", "Münster 東京 vsc.csv"),
        ("n" * 300 + ".csv", "n" * 116 + ".csv"),
        ("x.csv  ", "x.csv"),
        ("con.csv", "con.csv"),
        ("<b>&.csv", "&lt;b&gt;&amp;.csv"),
    ],
)
def test_names_are_shown_and_never_used(server: AppServer, name: str, shown: str) -> None:
    before = {*server.folder.parent.rglob("*")}
    answer = send(server, multipart(server.csrf, name, b"id\n1\n"))
    assert answer.status == 303
    assert sorted(path.name for path in kept(server)) == [
        "app.json",
        "audit.toml",
        f"upload{Path(name.strip()).suffix.lower()}",
    ]
    assert f">{shown}</a>" in server.ask("/").text
    new = {*server.folder.parent.rglob("*")} - before
    assert all(path.is_relative_to(server.private) for path in new)


@pytest.mark.parametrize("name", ["", ".csv", "x", "x.exe", "x.csv.html", "x.csv::$DATA", "..", "x.csv%00.png", "x.py"])
def test_other_kinds_of_files(server: AppServer, name: str) -> None:
    answer = send(server, multipart(server.csrf, name, b"x"))
    assert answer.status == 422
    assert not kept(server)


def test_the_token_comes_first(server: AppServer) -> None:
    """Without the token, or with it after the file, not a byte is kept, and the answer is still heard."""
    file = multipart(None, "x.csv", b"x" * 300_000)
    late = (
        file[:-4].replace(b"--xyz--", b"")
        + b'--xyz\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n'
        + server.csrf.encode()
        + b"\r\n--xyz--\r\n"
    )
    for body in (file, late, multipart("wrong", "x.csv", b"x"), multipart(server.token, "x.csv", b"x")):
        assert send(server, body).status == 403
    assert send(server, file, x_csrf="wrong").status == 403
    assert not kept(server)


def test_what_is_too_large(server: AppServer) -> None:
    """Said in its length, or not said (in pieces): refused in words, and nothing is kept."""
    block = b"x" * 1_000_000
    head, tail = multipart(server.csrf, "x.csv", b"@").split(b"@")

    def body() -> Iterator[bytes]:
        yield head
        for _ in range(80):
            yield block
        yield tail

    answer = send(server, body(), Content_Length=str(len(head) + 80_000_000 + len(tail)))
    assert answer.status == 422
    assert "larger than 70 MB" in answer.text
    line = HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Cookie": server.cookie, "Origin": server.url, "Content-Type": KIND}
    line.request("POST", "/upload", body(), headers, encode_chunked=True)
    found = line.getresponse()
    assert found.status == 422
    assert "larger than 70 MB" in found.read().decode()
    line.close()
    assert not kept(server)


def test_a_large_file_takes_no_memory(server: AppServer) -> None:
    """60 MB go to the disk as they come in."""
    send(server, multipart(server.csrf, "x.csv", b"x" * 1_000_000))
    before = server.memory()
    block = bytes(range(32, 127)) * 10_000
    head, tail = multipart(server.csrf, "x.csv", b"@@@").split(b"@@@")
    pieces = [head, *([block] * 63), tail]
    answer = send(server, iter(pieces), Content_Length=str(sum(map(len, pieces))))
    assert answer.status == 303
    assert server.memory() - before < 15_000_000
    (large,) = [path for path in kept(server) if path.stat().st_size > 50_000_000]
    assert large.read_bytes() == block * 63


@pytest.mark.parametrize("length", [-40, 1_000_000])
def test_lengths_that_lie(server: AppServer, length: int) -> None:
    """A file that is shorter or longer than it said did not come in whole."""
    body = multipart(server.csrf, "x.csv", b"x" * 1000)
    head = f"POST /upload HTTP/1.1\nHost: 127.0.0.1:{server.port}\nOrigin: {server.url}\nCookie: {server.cookie}\n"
    head += f"Content-Type: {KIND}\nContent-Length: {len(body) + length}\nConnection: close\n\n"
    answer = server.raw(head.replace("\n", "\r\n").encode() + body, close=True)
    assert not answer or answer.split()[1] in (b"422", b"400")
    wait_for(lambda: not kept(server), 10)
    assert server.ask("/").status == 200


def test_an_aborted_upload_leaves_nothing(server: AppServer) -> None:
    body = multipart(server.csrf, "x.csv", b"x" * 200_000)
    line = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    head = (
        f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\nCookie: {server.cookie}\r\n"
    )
    line.sendall(f"{head}Content-Type: {KIND}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:150_000])
    wait_for(lambda: kept(server))
    line.close()
    wait_for(lambda: not kept(server))
    assert not [path for path in server.private.iterdir() if path.is_dir()]


def test_forms_that_are_not_one_file(server: AppServer) -> None:
    one = multipart(server.csrf, "x.csv", b"1")
    token = one[: one.index(b"--xyz", 5)]
    field = b'--xyz\r\nContent-Disposition: form-data; name="%d"\r\n\r\n%s\r\n'
    bodies = {
        "two files": one[:-9] + multipart(None, "y.csv", b"2"),
        "no file": token + b"--xyz--\r\n",
        "a field that is too long": token + field % (1, b"x" * 20_000) + one[len(token) :],
        "too many fields": token + b"".join(field % (n, b"x" * 5000) for n in range(100)) + one[len(token) :],
        "a header that is too long": token
        + b"--xyz\r\nContent-Disposition: "
        + b"x" * 20_000
        + b"\r\n\r\n1\r\n--xyz--\r\n",
        "no end": one[:-9],
        "nothing": b"",
        "something else": b"id\n1\n",
        "a long preamble": b"x" * 400_000,
    }
    for why, body in bodies.items():
        answer = send(server, body)
        assert answer.status == 422, why
    assert send(server, one, Content_Type="multipart/form-data").status == 422
    assert send(server, one, Content_Type="text/csv").status == 422
    assert send(server, one, Content_Type="multipart/form-data; boundary=" + "x" * 100).status == 422
    assert not kept(server)
    assert send(server, multipart(server.csrf, "empty.csv", b"")).status == 303  # the look at it says what is wrong


# In process: how a form is cut into pieces does not matter


def receive(body: bytes, cuts: list[int], folder: Path, keys: Keys) -> Upload:
    """Receive a form that comes in pieces."""
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    pieces = iter([body[a:b] for a, b in pairwise(places)] or [b""])
    rest = len(places) - 1

    async def hear() -> dict[str, Any]:
        nonlocal rest
        rest -= 1
        return {"type": "http.request", "body": next(pieces), "more_body": rest > 0}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-type", KIND.encode())]}
    return asyncio.run(receive_file(Request(scope, hear), folder, keys, 10_000))


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([b"\r\n", b"--xyz", b"\r\n--xy", b"--", b"\0\xff", b"a,b\n", b"\r\n--xyzz"]), max_size=12),
    st.lists(st.integers(0, 10_000), max_size=30),
)
def test_a_file_comes_in_as_it_is(parts: list[bytes], cuts: list[int]) -> None:
    content = b"".join(parts)
    while b"--xyz" in content:  # a browser chooses a boundary that the file does not have
        content = content.replace(b"--xyz", b"--xy")
    keys = Keys(1)
    with tempfile.TemporaryDirectory() as name:
        got = receive(multipart(keys.csrf, "x.csv", content), cuts, Path(name), keys)
        assert got.path.read_bytes() == content
        assert got.fields == {"csrf": keys.csrf}
        assert got.path.parent == Path(name)


@settings(max_examples=80)
@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=5))
@example(b"--xyz\r\nContent-Disposition: form-data; name=\"csrf\"; filename*=utf-8''x.csv\r\n\r\nx\r\n--xyz--\r\n", [])
def test_garbage_is_refused_in_words(body: bytes, cuts: list[int]) -> None:
    """Whatever comes in: a sentence, never another error, and no file."""
    with tempfile.TemporaryDirectory() as name:
        with pytest.raises((InputError, Refused)):
            receive(b"--xyz\r\n" + body, cuts, Path(name), Keys(1))
        assert not os.listdir(name)


# Names


@given(st.text())
@example("a/..")
@example("C:")
@example("\\")
@example("x" * 500 + ".csv")
@example("\u202e\u2066.csv")
def test_a_name_that_is_shown(name: str) -> None:
    shown = plain_name(name)
    assert 0 < len(shown) <= 120
    assert shown.isprintable()
    assert not set(shown) & set("/\\")
    assert shown == shown.strip()
    assert plain_name(shown) == shown


NAMES = st.text() | st.text("./\\ ~-_:*?\0\nab", max_size=12)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    folder = tmp_path_factory.mktemp("folder")
    for name in ("a.csv", "b.parquet", ".hidden.csv", "c.exe"):
        (folder / name).touch()
    (folder / "inside").mkdir()
    (folder / "inside" / "d.csv").touch()
    (folder / "out").symlink_to("/etc")
    (folder / "e.csv").symlink_to("/etc/passwd")
    found = Places(folder)
    yield found
    found.remove()


@given(NAMES)
@example("..")
@example("out")
@example("inside")
@example("a/b")
@example("CON")
@example("x.")
@example("~")
def test_new_folders_lie_in_the_folder(places: Places, name: str) -> None:
    try:
        made = places.new_folder(name)
    except InputError:
        return
    assert made.parent == places.start
    assert made.resolve().parent == places.start
    assert not made.exists()
    assert not set(made.name) & set('/\\:*?"<>|\0\n')
    assert not made.name.startswith((".", "-", " "))
    assert not made.name.endswith((".", " "))
    made.mkdir()
    made.rmdir()


@given(
    NAMES
    | st.sampled_from(
        ["a.csv", "./a.csv", "inside/d.csv", "e.csv", "out/passwd", ".hidden.csv", "c.exe", "../folder0/a.csv"]
    )
)
def test_files_of_the_folder(places: Places, name: str) -> None:
    try:
        found = places.file(name)
    except InputError:
        assert name not in ("a.csv", "b.parquet")
        return
    assert found.name == name
    assert found in (places.start / "a.csv", places.start / "b.parquet")


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("a.csv", True),
        ("inside/d.csv", True),
        ("none/at/all", True),
        ("../x", False),
        ("e.csv", False),
        ("out/passwd", False),
        ("inside/../../x", False),
        ("a\0b", False),
        ("", True),
    ],
)
def test_what_the_folders_hold(places: Places, path: str, held: bool) -> None:
    assert places.holds(places.start / path) is held
    assert places.holds(places.private / "x")
    assert not places.holds(places.private.parent / (places.private.name + "x"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the mask")
def test_asking_for_the_umask_does_not_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even for a moment: a file that another thread makes then would be open to all."""
    from disclique.records.write import whole_file

    before = os.umask(0o027)
    try:
        with monkeypatch.context() as changed:
            changed.setattr(os, "umask", None)
            with whole_file(tmp_path / "x") as draft:
                draft.touch()
        assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)
