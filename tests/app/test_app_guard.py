"""Who may ask the app, as a server that really runs answers them; what it leaves behind, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the app's packages are missing")
pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")

from app_server import AppServer, multipart, serving, start_server, wait_for
from disclique.app.guard import HEADERS, Guard, Keys, find_owner, is_stranger
from disclique.app.places import Places
from disclique.app.projects import Projects
from disclique.app.runner import Runner
from disclique.app.server import Site, make_site

pytestmark = pytest.mark.long

TABLE = "id,sex,age,lon,lat\n" + "".join(f"p{n},f,young,{9 + n / 50},{50 + n / 70}\n" for n in range(20))
posix = pytest.mark.skipif(os.name != "posix", reason="signals, links and permissions of POSIX")
SERVE = "from pathlib import Path; from disclique.app.server import serve; serve(Path(), browser=False, {})"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """One server that all may ask; started with a umask that hides nothing."""
    folder = tmp_path_factory.mktemp("start")
    (folder / "people.csv").write_text(TABLE, encoding="utf-8")
    temporary = tmp_path_factory.mktemp("temporary")
    with serving(folder, "--port", "0", temporary=temporary, umask=0) as running:
        yield running.enter()


def get(server: AppServer, *, target: str = "/", lines: str = "", cookie: bool = True, version: str = "1.1") -> str:
    """The answer to a request whose head is written by hand; ``lines`` has its Host, if it has one."""
    known = f"Cookie: {server.cookie}\n" if cookie else ""
    return server.raw(f"GET {target} HTTP/{version}\n{lines}{known}Connection: close\n\n").decode("latin-1")


def status(answer: str) -> int:
    return int(answer.split()[1])


# Who is let in


def test_the_printed_line(server: AppServer) -> None:
    assert server.line == f"disclique app: {server.address}\n"
    assert len(server.token) >= 43  # 256 bits


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(server: AppServer) -> None:
    answer = server.ask(f"/enter?token={server.token}", Cookie=None)
    assert answer.status == 200
    name, *rest = answer.headers["set-cookie"].split("; ")
    assert {part.lower() for part in rest} >= {"httponly", "samesite=strict", "path=/"}
    assert not any("domain" in part.lower() or "expires" in part.lower() for part in rest)
    assert server.token not in name
    assert server.token not in answer.text
    assert server.ask("/", Cookie=name).status == 200


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?token=",
        "?token=wrong",
        "?token={t}x",
        "?token={t}&token={t}",
        "?token=&token={t}",
        "?token={t}&token=x",
        "?Token={t}",
        "?token=%00{t}",
        "?token=%FF",
        "?token=%ED%A0%80",
        "?token={c}",
    ],
)
def test_a_token_that_is_not_the_token(server: AppServer, query: str) -> None:
    answer = server.ask("/enter" + query.format(t=server.token, c=server.csrf), Cookie=None)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert server.token not in answer.text


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/work/0", "/nothing", "/enter/", "/?token={t}", "//enter?token={t}"]
)
def test_nothing_without_the_cookie(server: AppServer, path: str) -> None:
    """Not even whether a page is there."""
    answer = server.ask(path.format(t=server.token), Cookie=None)
    assert answer.status == 403
    assert "Open the address" in answer.text


def test_cookies_that_are_not_the_cookie(server: AppServer) -> None:
    name, value = server.cookie.split("=")
    for cookie in (
        f"{name}=",
        f"{name}=x",
        f"{name}={server.token}",
        f"disclique-1={value}",
        f"disclique={value}",
        value,
    ):
        assert server.ask("/", Cookie=cookie).status == 403
    assert server.ask("/", Cookie=f'other="a;b"; {server.cookie}; x').status == 200


OWN = "127.0.0.1:{port}"


@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "evil.com:{port}",
        "127.0.0.1.evil.com:{port}",
        "127.0.0.1",
        "localhost",
        "localhost:1",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "127.0.0.2:{port}",
        "2130706433:{port}",
        "localhost.:{port}",
        "127.0.0.1:{port}@evil.com",
        "evil.com@127.0.0.1:{port}",
        "127.0.0.1:{port}, evil.com",
        "127.0.0.1:0{port}",
        "",
    ],
)
def test_a_name_that_was_bound_to_this_machine(server: AppServer, host: str) -> None:
    """DNS rebinding: the browser believes that it is at another site, which has all it needs but the name."""
    answer = get(server, lines=f"Host: {host.format(port=server.port)}\n")
    assert status(answer) in (400, 421)
    assert "people.csv" not in answer


def test_no_host_two_hosts_and_other_targets(server: AppServer) -> None:
    own = OWN.format(port=server.port)
    for version in ("1.0", "1.1"):
        assert status(get(server, version=version)) in (400, 421)
    assert status(get(server, lines=f"Host: {own}\nHost: {own}\n")) in (400, 421)
    assert status(get(server, lines=f"Host: evil.com\nHost: {own}\n")) in (400, 421)
    for target in ("http://evil.com/", f"http://{own}/", "evil.com:80", "*", "x"):
        answer = get(server, target=target, lines=f"Host: {own}\n")
        assert status(answer) == 400, target
        assert "people.csv" not in answer
    assert status(get(server, lines=f"Host: {own}\n")) == 200
    assert status(get(server, lines=f"Host: LocalHost:{server.port}\n")) == 200


def test_where_a_request_comes_from(server: AppServer) -> None:
    csrf = f"csrf={server.csrf}&language=en"
    own, named = server.url, f"http://localhost:{server.port}"
    refused = [
        "null",
        "http://evil.com",
        own.replace("http:", "https:"),
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        named,
    ]
    refused += [f"{own}.evil.com", f"{own}/", own.upper(), "", f"{own}, {own}"]
    for origin in refused:
        assert server.ask("/language", "POST", csrf, Origin=origin or None).status == 403, origin
        if origin:
            assert server.ask("/", Origin=origin).status == 403, origin
    assert server.ask("/language", "POST", csrf).status == 303
    assert server.ask("/language", "POST", csrf, Host=f"localhost:{server.port}", Origin=named).status == 303
    two = f"Host: {OWN.format(port=server.port)}\nOrigin: {own}\nOrigin: http://evil.com\n"
    assert status(get(server, lines=two)) == 403
    for site in ("cross-site", "same-site", "nonsense"):
        assert server.ask("/", Sec_Fetch_Site=site).status == 403
        assert server.ask("/static/app.css", Sec_Fetch_Site=site).status == 403
    for site in ("none", "same-origin"):
        assert server.ask("/", Sec_Fetch_Site=site).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "BREW"])
def test_methods(server: AppServer, method: str) -> None:
    answer = server.ask("/", method, Origin=server.url)
    assert answer.status == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_head_gives_no_cookie(server: AppServer) -> None:
    """Programs that look at links before a person does are not let in."""
    assert server.ask(f"/enter?token={server.token}", "HEAD", Cookie=None).status == 403


def test_websockets_are_refused(server: AppServer) -> None:
    handshake = f"Host: {OWN.format(port=server.port)}\nUpgrade: websocket\nSec-WebSocket-Version: 13\n"
    handshake += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n"
    text = f"GET / HTTP/1.1\n{handshake}Cookie: {server.cookie}\nConnection: Upgrade, close\n\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(text.replace("\n", "\r\n").encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 400")


def test_a_websocket_is_closed_whatever_serves_it() -> None:
    """In process: another server would hand it to the app."""
    import asyncio

    sent: list[dict[str, object]] = []

    async def never(*_: object) -> None:
        raise AssertionError("it was let through")

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        sent.append(message)

    asyncio.run(Guard(never, Keys(1))({"type": "websocket"}, never, send))  # type: ignore[arg-type]
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_only_this_machine_can_reach_it(server: AppServer) -> None:
    """Other addresses of this machine are those by which other machines reach it."""
    others = {"127.0.0.2", *(str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None))}
    for host in sorted(others - {"127.0.0.1"}):
        with (
            pytest.raises(OSError, match=r"refused|unreachable|assign"),
            socket.create_connection((host, server.port), timeout=5),
        ):
            pass


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0 or sys.platform != "linux", reason="needs root and Linux"
)
def test_another_user_of_the_machine_who_has_seen_the_keys(server: AppServer) -> None:
    """Somebody else who knows the address and the cookie, asking from a socket of their own."""

    def ask(user: int, path: str) -> int:
        os.seteuid(user)
        try:
            line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            line.connect()
        finally:
            os.seteuid(0)
        line.request("GET", path, headers={"Cookie": server.cookie, "X-Forwarded-For": "127.0.0.1"})
        found = line.getresponse().status
        line.close()
        return found

    for path in ("/", f"/enter?token={server.token}", "/static/app.css"):
        assert ask(12345, path) == 403
        assert ask(os.getuid(), path) == 200


def test_who_owns_a_connection(tmp_path: Path) -> None:
    """The system's table, as it is written on a machine with little-endian numbers, read for each end."""
    table = tmp_path / "tcp"
    rows = [
        "0: 0100007F:A0F1 0100007F:1F90 01 0:0 00:0 0 4242 0 1",
        "1: 0100007F:1F90 0100007F:A0F1 01 0:0 00:0 0 7 0 1",
        "2:",
    ]
    table.write_text("sl local rem st\n" + "\n".join(rows), encoding="ascii")
    if sys.byteorder == "little":
        assert find_owner(("127.0.0.1", 0xA0F1), 0x1F90, table) == 4242
        assert is_stranger(("127.0.0.1", 0xA0F1), 0x1F90, table) is (os.name == "posix" and os.getuid() != 4242)
    assert find_owner(("127.0.0.1", 5), 0x1F90, table) is None
    assert not is_stranger(("127.0.0.1", 5), 0x1F90, table)
    assert not is_stranger(("127.0.0.1", 5), 0x1F90, tmp_path / "none")
    assert not is_stranger(None, 1)
    if sys.platform == "linux":
        with socket.create_server(("127.0.0.1", 0)) as ours:
            port = ours.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)) as line:
                assert find_owner(line.getsockname(), port) == os.getuid()


# Forms


def test_every_form_needs_its_token(server: AppServer) -> None:
    """All routes that take POST, found by themselves; each is asked without, with a wrong and with the other token."""
    paths = posting_paths(server.folder)
    assert {"/upload", "/choose", "/language", "/end"} <= set(paths)
    project = server.ask("/choose", "POST", f"csrf={server.csrf}&file=people.csv").headers["location"].split("/")[2]
    before = server.ask("/").text
    for path in paths:
        place = path.replace("{id}", project)
        for given in ("", "csrf=", "csrf=wrong", f"csrf={server.token}", f"csrf={server.csrf}x", f"CSRF={server.csrf}"):
            assert server.ask(place, "POST", given).status in (403, 404, 422), path  # an upload is no such form
        for header in ("wrong", server.token):
            assert server.ask(place, "POST", "a=b", x_csrf=header).status in (403, 404, 422), path
    assert server.ask("/").text == before
    assert server.process.poll() is None
    assert server.ask("/forget", "POST", f"project={project}", x_csrf=server.csrf).status == 303
    assert server.ask(f"/work/{project}/open").status == 404


def posting_paths(folder: Path) -> list[str]:
    places = Places(folder)
    try:
        projects = Projects(places)
        guard = make_site(Site(Keys(1), places, projects, Runner(projects)))
        routes = guard.app.routes  # type: ignore[attr-defined]
        return [route.path for route in routes if "POST" in (getattr(route, "methods", None) or ())]
    finally:
        places.remove()


def test_the_token_of_another_server(server: AppServer, tmp_path: Path) -> None:
    """Two at once: each has keys of its own, and the end of one does not touch the other."""
    with serving(tmp_path, temporary=server.temporary) as other:
        other.enter()
        assert other.private.parent == server.private.parent
        assert other.ask("/language", "POST", f"csrf={server.csrf}&language=en").status == 403
        assert other.ask("/", Cookie=server.cookie).status == 403
        assert other.ask("/", Cookie=f"{server.cookie}; {other.cookie}").status == 200
        assert other.ask(f"/enter?token={server.token}", Cookie=None).status == 403
        assert other.end(signal.SIGTERM)[0] == 0
    assert server.private.exists()
    assert server.ask("/").status == 200


def test_forms_that_are_none(server: AppServer) -> None:
    big = f"csrf={server.csrf}&language=de&x=" + "x" * 1_100_000
    assert server.ask("/language", "POST", big).status == 413
    pieces = iter([f"csrf={server.csrf}&language=de".encode()])
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(
        "POST", "/language", pieces, {"Cookie": server.cookie, "Origin": server.url}, encode_chunked=True
    )
    assert connection.getresponse().status == 413
    connection.close()
    for kind in (
        "multipart/form-data",
        "multipart/form-data; boundary=x; charset=utf-7",
        "text/plain",
        "multipart/form-data; boundary=" + "y" * 300,
    ):
        answer = server.ask("/language", "POST", multipart(server.csrf, "x.csv", b"1", boundary="x"), Content_Type=kind)
        assert answer.status in (400, 403), kind
    odd = '--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n+2AA-\r\n--x--\r\n'
    assert (
        server.ask("/language", "POST", odd, Content_Type="multipart/form-data; boundary=x; charset=utf-7").status
        == 403
    )


@pytest.mark.parametrize(
    "back",
    [
        "//evil.com",
        "/\\evil.com",
        "https://evil.com",
        "/\t/evil.com",
        "/\n/evil.com",
        "javascript:alert(1)",
        "/ü€",
        "/\r\nX-Evil: 1",
        "/" * 3,
        "/%0d%0aX: 1",
        "/\x00",
        "\\\\evil.com",
        "/.//evil.com",
    ],
)
@pytest.mark.parametrize("htmx", [None, "true"])
def test_no_way_to_another_site(server: AppServer, back: str, htmx: str | None) -> None:
    """The page to go back to after a change of language is one of this server."""
    from urllib.parse import urlencode, urljoin, urlsplit

    form = urlencode({"csrf": server.csrf, "language": "en", "back": back})
    answer = server.ask("/language", "POST", form, hx_request=htmx)
    assert answer.status in (204, 303)
    went = answer.headers.get("location") or answer.headers["hx-redirect"]
    assert went.isascii()
    assert not set(went) & set("\t\r\n\0\\")
    assert urlsplit(urljoin(server.url + "/", went)).netloc == f"127.0.0.1:{server.port}"
    assert "x-evil" not in answer.headers


# Every answer


def test_headers_of_every_answer(server: AppServer) -> None:
    answers = [server.ask(path) for path in ("/", "/static/app.css", "/static/htmx.min.js", "/nothing", "/static/none")]
    answers += [
        server.ask("/", Cookie=None),
        server.ask("/", Origin="null"),
        server.ask("/", "PUT"),
        server.ask("/enter"),
    ]
    answers += [server.ask("/choose", "POST", f"csrf={server.csrf}&file=none"), server.ask("/upload", "POST", "")]
    answers += [server.ask("/language", "POST", f"csrf={server.csrf}"), server.ask(f"/enter?token={server.token}")]
    assert {answer.status for answer in answers} == {200, 303, 403, 404, 405, 422}
    for answer in answers:
        assert HEADERS.items() <= answer.headers.items()
        assert "server" not in answer.headers
        assert not any(name.startswith("access-control") for name in answer.headers)
        if answer.status != 200 or answer.headers["content-type"].startswith("text/html"):
            assert "etag" not in answer.headers


def test_the_policy_of_scripts() -> None:
    rules = dict(rule.split(" ", 1) for rule in HEADERS["content-security-policy"].split("; "))
    assert rules["default-src"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == rules["form-action"] == "'self'"
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert "http" not in HEADERS["content-security-policy"]
    assert rules["frame-ancestors"] in ("'self'", "'none'")


def test_what_was_sent_is_not_run(server: AppServer) -> None:
    evil = "<script>alert(1)</script>"
    quoted = "%3Cscript%3Ealert(1)%3C/script%3E"
    answers = [server.ask(f"/{quoted}"), server.ask(f"/work/{quoted}"), server.ask(f"/?x={quoted}")]
    answers += [server.ask("/choose", "POST", f"csrf={server.csrf}&file={quoted}")]
    answers += [
        server.ask(
            "/upload", "POST", multipart(server.csrf, evil, b"1"), Content_Type="multipart/form-data; boundary=xyz"
        )
    ]
    answers += [
        server.ask(f"/enter?token={quoted}", Cookie=None),
        server.ask("/", Accept_Language=evil, hx_request=evil),
    ]
    answers += [server.ask("/", Cookie=f"{server.cookie}; disclique-language={quoted}")]
    for answer in answers:
        assert evil not in answer.text
        assert 200 <= answer.status < 500


@pytest.mark.parametrize(
    "path",
    [
        "/static/../guard.py",
        "/static/%2e%2e/guard.py",
        "/static/..%2fguard.py",
        "/static/..%5cguard.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/",
        "/static",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/work/../../etc",
        "/work/%2e%2e%2fx/open",
        "/work/%00/open",
        "/work//open",
        "/work/./open",
        "/work/" + "a" * 3000 + "/open",
    ],
)
def test_no_path_leads_out(server: AppServer, path: str) -> None:
    answer = server.ask(path)
    assert answer.status in (307, 404)
    if answer.status == 307:
        assert answer.headers["location"].startswith((server.url + "/", "/"))
    assert b"root:" not in answer.body
    assert b"from __future__" not in answer.body


def test_garbage_and_long_heads(server: AppServer) -> None:
    """What is no HTTP is answered in one plain line that has nothing of it, and the connection is closed."""
    own = OWN.format(port=server.port)
    for text in ("GARBAGE\n\n", "GET / HTTP/9.9\n\n", "\x16\x03\x01\x02\0", f"GET / HTTP/1.1\nHost: {own}\nx y: z\n\n"):
        assert b"GARBAGE" not in server.raw(text, close=True)
    long = server.raw(
        f"GET / HTTP/1.1\nHost: {own}\nX: {'a' * 300_000}\nCookie: {server.cookie}\nConnection: close\n\n"
    )
    assert long.split()[1] in (b"400", b"431")
    both = f"POST /language HTTP/1.1\nHost: {own}\nOrigin: {server.url}\nCookie: {server.cookie}\nContent-Length: 5\n"
    smuggled = server.raw(both + "Transfer-Encoding: chunked\nConnection: close\n\n0\n\nGET / HTTP/1.1\n\n", close=True)
    assert smuggled.split()[1] in (b"400", b"413")
    assert server.ask("/").status == 200


# What lies on the disk


@posix
def test_the_private_folder_is_private(server: AppServer) -> None:
    """Although the server was started with a umask that hides nothing."""
    kind = "multipart/form-data; boundary=xyz"
    sent = server.ask("/upload", "POST", multipart(server.csrf, "a.csv", TABLE.encode()), Content_Type=kind)
    assert sent.status == 303
    everything = [server.private, *server.private.rglob("*")]
    assert sum(path.name == "upload.csv" for path in everything) == 1
    for path in everything:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@posix
def test_links_of_the_folder_lead_nowhere(server: AppServer, tmp_path: Path) -> None:
    """A link to a file, one to a folder with an audit, and a description of an audit of a file elsewhere."""
    secret = tmp_path / "secret.csv"
    secret.write_text(TABLE, encoding="utf-8")
    (server.folder / "linked.csv").symlink_to(secret)
    about = {
        "id": "0123456789abcdef",
        "shown": "linked audit",
        "made": "2026",
        "declared": {},
        "checked": True,
        "forced": False,
    }
    outside = tmp_path / "audit"
    outside.mkdir()
    (outside / "app.json").write_text(json.dumps({**about, "file": str(secret), "said": {}}), encoding="utf-8")
    (server.folder / "audit").symlink_to(outside)
    for name, more in (
        ("a1", {"file": str(secret)}),
        ("a2", {"file": "../../secret.csv"}),
        ("a3", {"file": "link.csv"}),
    ):
        (server.folder / name).mkdir()
        described = {**about, "id": name[-1] * 16, "said": {"known": str(secret)} if name == "a1" else {}, **more}
        (server.folder / name / "app.json").write_text(json.dumps(described), encoding="utf-8")
    (server.folder / "a3" / "link.csv").symlink_to(secret)
    (server.folder / "a4").mkdir()
    (server.folder / "a4" / "app.json").symlink_to(outside / "app.json")
    page = server.ask("/").text
    assert "linked" not in page
    assert server.ask("/choose", "POST", f"csrf={server.csrf}&file=linked.csv").status == 422
    for name in ("..%2Fpeople.csv", "people.csv%00", ".%2Fpeople.csv", "%2Fetc%2Fpasswd", "", "a1"):
        assert server.ask("/choose", "POST", f"csrf={server.csrf}&file={name}").status == 422
    for number in ("0123456789abcdef", *(digit * 16 for digit in "1234")):
        assert server.ask(f"/work/{number}/open").status == 404


def test_descriptions_that_are_well_formed_and_mean_something_else(server: AppServer) -> None:
    """Folders of another version, of another program, copied or edited by hand: never an error of the app."""
    about = {
        "id": "f" * 16,
        "shown": "odd",
        "made": "2026",
        "declared": {},
        "checked": True,
        "forced": False,
        "said": {},
    }
    about |= {"file": str(server.folder / "people.csv")}
    odd = [
        about | {"made": 5},
        about | {"id": ["x"], "made": None},
        about | {"id": "../x"},
        about | {"said": {"nonsense": 1}},
        about | {"said": {"mask": 7}},
        about | {"shown": {"a": 1}},
        about | {"file": "people\0.csv"},
        about | {"file": ""},
        about | {"checked": "no", "extra": 1},
        [about],
        "x",
        None,
    ]
    for place, content in enumerate(odd):
        (server.folder / f"odd{place}").mkdir()
        (server.folder / f"odd{place}" / "app.json").write_text(json.dumps(content), encoding="utf-8")
    assert server.ask("/").status == 200
    for id in ("f" * 16, "['x']", "..%2fx"):
        for step in ("open", "ask", "run", "read", "release"):
            assert server.ask(f"/work/{id}/{step}").status < 500


# How it ends


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_in_order(tmp_path: Path, number: int) -> None:
    """Ctrl-C, the system's shutdown, a closed window: with an upload under way, nothing is left and nothing is said."""
    with serving(tmp_path, temporary=tmp_path / "t") as server:
        server.enter()
        body = multipart(server.csrf, "a.csv", b"x" * 1000)
        line = hang(server, body)
        wait_for(lambda: [names for _, _, names in os.walk(server.private) if "upload.csv" in names])
        assert server.end(number) == (0, "", "")
        assert not server.private.exists()
        line.close()


def hang(server: AppServer, body: bytes) -> socket.socket:
    """Begin to send a file, and do not go on."""
    line = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    head = (
        f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\nCookie: {server.cookie}\r\n"
    )
    head += f"Content-Type: multipart/form-data; boundary=xyz\r\nContent-Length: {len(body) + 1_000_000}\r\n\r\n"
    line.sendall(head.encode() + body[:-10])
    return line


def test_the_button_ends_it(tmp_path: Path) -> None:
    with serving(tmp_path, temporary=tmp_path / "t") as server:
        server.enter()
        answer = server.ask("/end", "POST", f"csrf={server.csrf}")
        assert answer.status == 200
        assert server.process.wait(30) == 0
        assert not server.private.exists()


@posix
def test_leftovers_of_a_killed_server(tmp_path: Path) -> None:
    """They are deleted at the next start; those of a living server, of others and of links are not."""
    temporary = tmp_path / "t"
    with serving(tmp_path, temporary=temporary) as living:
        killed = start_server(tmp_path, temporary=temporary)
        left = killed.private
        (left / "secret.csv").write_text(TABLE, encoding="utf-8")
        killed.end(signal.SIGKILL)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "server.lock").touch()
        (temporary / "disclique-app-link").symlink_to(elsewhere)
        young, old = temporary / "disclique-app-young", temporary / "disclique-app-old"
        for folder in (young, old):
            folder.mkdir()
        os.utime(old, (time.time() - 3600,) * 2)
        assert left.exists()
        with serving(tmp_path, temporary=temporary) as third:
            assert not left.exists()
            assert living.private.exists()
            assert elsewhere.exists()
            assert young.exists()
            assert not old.exists()
            assert third.enter().ask("/").status == 200
            (temporary / "disclique-app-link").unlink()
            young.rmdir()
            third.end()
        assert living.enter().ask("/").status == 200


def test_silence_ends_it_but_not_a_running_audit(tmp_path: Path) -> None:
    """Requests that are refused are no sign of life; a running audit is one."""
    with serving(tmp_path, temporary=tmp_path / "t", code=SERVE.format("silence=1.5")) as server:
        until = time.monotonic() + 30
        while server.process.poll() is None and time.monotonic() < until:
            try:
                assert server.ask("/", Cookie=None).status == 403
            except OSError:
                break
            time.sleep(0.1)
        assert server.process.wait(20) == 0
    busy = "import disclique.app.runner as r; r.Runner.busy = property(lambda self: True);"
    with serving(tmp_path, temporary=tmp_path / "t", code=busy + SERVE.format("silence=0.2")) as server:
        time.sleep(2)
        assert server.process.poll() is None
        assert server.enter().ask("/").status == 200


@pytest.mark.parametrize(
    "options",
    [
        ["--port", "70000"],
        ["--port", "x"],
        ["--port", "-1"],
        ["none"],
        ["--max-upload", "lots"],
        ["--max-upload", "0"],
        ["--nonsense"],
        ["a", "b"],
    ],
)
def test_garbage_on_the_command_line(options: list[str], run: object) -> None:
    """One sentence, before anything is begun."""
    assert callable(run)
    code, out, err = run("app", "--no-browser", *options)
    assert code == 2
    assert not out
    assert "Traceback" not in err


def test_a_port_that_is_taken(server: AppServer, run: object) -> None:
    assert callable(run)
    code, out, err = run("app", "--no-browser", "--port", str(server.port))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"--port {server.port}: cannot be used" in err
