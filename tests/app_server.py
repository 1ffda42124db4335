"""A server of the app in a process of its own, and ways to ask it: as a browser does, and byte by byte."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

PATIENCE = 180.0  # seconds; the machine may have much else to do
ENTRY = re.compile(r"http://127\.0\.0\.1:(\d+)/enter\?token=([\w-]+)")
PRIVATE = "disclique-app-*"
SOURCES = str(Path(__file__).resolve().parents[1] / "src")


# A test runner may have Ctrl-C ignored, which a program started by it would inherit.
START = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
START += "from disclique.cli import main; main()"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class AppServer:
    """A server that runs, in a folder, with a place for temporary files of its own."""

    process: subprocess.Popen[str]
    port: int
    token: str
    line: str
    folder: Path
    temporary: Path
    cookie: str = ""
    csrf: str = ""
    private: Path = Path("none")  # the folder in which it keeps what was uploaded

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.url}/enter?token={self.token}"

    def ask(self, path: str = "/", method: str = "GET", body: Any = None, **headers: str | None) -> Answer:
        """Send a request as the browser of a person who has entered; a header given as None is left out."""
        given: dict[str, str | None] = {"Cookie": self.cookie}
        if method == "POST":
            given |= {"Origin": self.url, "Content-Type": "application/x-www-form-urlencoded"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            said = {name: value for name, value in given.items() if value}
            connection.request(method, path, body=body, headers=said)
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def enter(self) -> AppServer:
        """Open the printed address, and remember the cookie and the token of forms."""
        said = self.ask(f"/enter?token={self.token}").headers["set-cookie"]
        self.cookie = said.split(";")[0]
        found = re.search(r'name="csrf" value="([\w-]+)"', self.ask("/").text)
        assert found
        self.csrf = found[1]
        return self

    def raw(self, text: str | bytes, *, close: bool = False) -> bytes:
        """Send bytes, and return all that comes back until the server has said it or closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as line:
            line.sendall(text if isinstance(text, bytes) else text.replace("\n", "\r\n").encode("latin-1"))
            if close:
                line.shutdown(socket.SHUT_WR)
            found = b""
            while True:
                try:
                    part = line.recv(1 << 16)
                except ConnectionResetError:
                    return found
                if not part:
                    return found
                found += part

    def memory(self) -> int:
        """The largest resident set so far, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal; return the exit code and what was printed after the first line, and said as errors."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


@contextmanager
def heeding_hangups() -> Iterator[None]:
    """What is started here hears that a window was closed, also if the tests run under nohup."""
    ignored = hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    if not ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def start_server(
    folder: Path,
    *options: str,
    temporary: Path,
    code: str | None = None,
    environment: Mapping[str, str] | None = None,
    umask: int = -1,
) -> AppServer:
    """Start the command, or a program that serves, and wait for the line with its address."""
    temporary.mkdir(exist_ok=True)
    before = {*temporary.glob(PRIVATE)}
    path = os.pathsep.join(filter(None, [SOURCES, os.environ.get("PYTHONPATH")]))
    given = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path, **(environment or {})}
    command = [sys.executable, "-c", code] if code else [sys.executable, "-c", START, "app", "--no-browser"]
    with heeding_hangups():
        process = subprocess.Popen(
            [*command, *options],
            cwd=folder,
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            umask=umask,
        )
    assert process.stdout
    assert process.stderr
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    line = process.stdout.readline() if ready else ""
    found = ENTRY.search(line)
    if not found:
        process.kill()
        raise AssertionError(f"no address: {line} {process.communicate()[1]}")
    (private,) = {*temporary.glob(PRIVATE)} - before
    return AppServer(process, int(found[1]), found[2], line, folder, temporary, private=private)


@contextmanager
def serving(folder: Path, *options: str, temporary: Path, **more: Any) -> Iterator[AppServer]:
    """A server that is ended with the block, whose private folder must be gone then."""
    server = start_server(folder, *options, temporary=temporary, **more)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()
        elif server.process.stdout and not server.process.stdout.closed:
            server.process.communicate()
        left = server.private.exists()
        shutil.rmtree(server.private, ignore_errors=True)
    assert not left


def wait_for(true: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait until something is true, and return it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := true():
            return found
        time.sleep(0.05)
    raise AssertionError("it was never true")


def multipart(csrf: str | None, name: str, content: bytes, *, boundary: str = "xyz", field: str = "upload") -> bytes:
    """The body of a form with a file, as a browser sends it."""
    parts = b""
    if csrf is not None:
        parts += f'--{boundary}\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf}\r\n'.encode()
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
    head += "Content-Type: text/csv\r\n\r\n"
    return parts + head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
