"""Who may ask: the browser of the person who started the server, from its own pages, and nobody else.

Other programs and other web pages can reach a port of this machine. Each request must name this server as its host
(a name that was bound to 127.0.0.1 afterwards does not), come from a program of the same user where the system tells,
come from a page of this server if it comes from a page, carry the cookie that only the printed address gives, and, if
it changes anything, the form's own token besides.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTRY = "/enter"
CSRF, CSRF_HEADER = "csrf", "x-csrf"
READING, CHANGING = ("GET", "HEAD"), ("POST",)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass
class Keys:
    """What the server drew for itself when it started: the token of its address, the cookie, the token of forms."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def cookie(self) -> str:
        """The cookie's name: cookies do not know ports, so that two servers need two names."""
        return f"disclique-{self.port}"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names under which this server may be asked."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """The address that lets a browser in."""
        return f"http://127.0.0.1:{self.port}{ENTRY}?token={self.token}"

    def check_csrf(self, given: str | None) -> bool:
        """Say whether a form's token is the right one."""
        return given is not None and _same(given, self.csrf)


class Guard:
    """Lets through what may ask, and sets the headers that keep a page to itself."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys
        self.heard = time.monotonic()  # the last request that was let through

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refuse(scope)
        if answer is None:
            self.heard = time.monotonic()
            await self.app(scope, receive, send_guarded)
        else:
            await answer(scope, receive, send_guarded)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if (answer := self._refuse_form(scope, headers)) is not None:
            return answer
        origins, own = headers.getlist("origin"), f"http://{headers['host'].lower()}"
        if any(origin != own for origin in origins) or (scope["method"] in CHANGING and not origins):
            return _say(403, "The request does not come from a page of this server.")
        if scope["path"] == ENTRY and scope["method"] == "GET":
            return self._enter(scope)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _say(403, "The request comes from another site.")
        if not _has(headers.getlist("cookie"), self.keys.cookie, self.keys.session):
            return _say(403, "Open the address that disclique app printed when it started: it has the key in it.")
        return None

    def _refuse_form(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse what is no plain request to this server, by this user of the machine."""
        if not scope["path"].startswith("/") or not scope.get("raw_path", b"/").startswith(b"/"):
            return _say(400, "This server passes nothing on.")  # GET http://elsewhere/ asks for that
        if "upgrade" in headers:
            return _say(400, "This server speaks plain HTTP only.")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.keys.hosts:
            return _say(421, "This server answers to 127.0.0.1 only.")
        if is_stranger(scope.get("client"), self.keys.port):
            return _say(403, "This server was started by another user of this machine.")
        if scope["method"] not in (*READING, *CHANGING):
            return _say(405, "This server is read by GET and changed by POST.")
        return None

    def _enter(self, scope: Scope) -> Response:
        given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("token", [])
        if len(given) != 1 or not _same(given[0], self.keys.token):
            return _say(403, "The key in this address is not that of this server: start it again, or copy all of it.")
        # The page goes on by itself: the cookie would not be sent after a redirect from elsewhere (SameSite=Strict).
        page = HTMLResponse(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>disclique</title>'
            '<meta http-equiv="refresh" content="0; url=/"></head><body><p><a href="/">disclique</a></p></body></html>'
        )
        page.set_cookie(self.keys.cookie, self.keys.session, httponly=True, samesite="strict", path="/")
        return page


def _has(cookies: Iterable[str], name: str, value: str) -> bool:
    return any(_same(cookie_parser(line).get(name, ""), value) for line in cookies)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="surrogatepass"), other.encode())


def _say(status: int, sentence: str) -> Response:
    return PlainTextResponse(f"{sentence}\n", status)


TABLE = Path("/proc/net/tcp")
ADMINISTRATOR = 0  # who could read everything anyway, and whose programs pass connections on


def is_stranger(client: tuple[str, int] | None, port: int, table: Path = TABLE) -> bool:
    """Say whether a connection to a port of this machine is known to belong to another user."""
    if client is None or not hasattr(os, "getuid"):
        return False
    owner = find_owner(client, port, table)
    return owner is not None and owner not in (os.getuid(), ADMINISTRATOR)


def find_owner(client: tuple[str, int], port: int, table: Path = TABLE) -> int | None:
    """Return the user of the socket from which a connection comes; None where the system does not tell."""
    try:
        ours, theirs = _write_end(client[0], client[1]), _write_end("127.0.0.1", port)
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            if words[1:3] == [ours, theirs]:
                return int(words[7])
    except (OSError, ValueError, IndexError):
        return None
    return None


def _write_end(host: str, port: int) -> str:
    """Write an address as the system's table does: its bytes as one number of this machine, and the port."""
    number = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    return f"{number:08X}:{port:04X}"
