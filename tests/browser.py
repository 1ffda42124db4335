"""A real browser for the tests, driven through its debugging pipe: no network, no further package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--mute-audio",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # seconds until a browser that says nothing is taken for dead
MESSAGES = 100_000  # that may come in before an answer
TRIES = 300  # a tenth of a second apart


def found() -> str | None:
    """Find the browser's program; None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless browser; every event of it is kept in ``events``."""

    def __init__(self, profile: Path) -> None:
        program = found()
        assert program
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()
        line = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        arguments = ["bash", "-c", line, program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            arguments, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.number, self.session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer to a command."""
        self.number += 1
        content: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            content["sessionId"] = self.session
        os.write(self.out, json.dumps(content).encode() + b"\0")
        for _ in range(MESSAGES):
            message = self._read()
            if message.get("id") == self.number:
                assert "error" not in message, message
                return dict(message["result"])
            self.events.append(message)
        raise AssertionError(f"no answer to {method} among {MESSAGES} messages")

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            part = os.read(self.into, 1 << 16)
            assert part, "the browser has gone"
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(message))

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        for _ in range(TRIES):
            if value := self.value(expression):
                return value
            time.sleep(0.1)
        raise AssertionError(f"never true: {expression}")

    def open(self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Load a page at a width, in the light or dark theme."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        theme = "dark" if dark else "light"
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.send("Page.navigate", url=page.as_uri())
        self.wait("document.readyState === 'complete'")

    def picture(self, path: Path) -> None:
        """Write the whole page as PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        area = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=area)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Return errors, warnings, exceptions and failed or outside requests so far, in words."""
        said = []
        for event in self.events:
            method, about = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Network.loadingFailed", "Log.entryAdded") or (
                method == "Runtime.consoleAPICalled" and about.get("type") in ("error", "warning", "assert")
            ):
                said.append(f"{method}: {json.dumps(about)[:300]}")
            if method == "Network.requestWillBeSent" and not about["request"]["url"].startswith(("file:", "data:")):
                said.append(f"request: {about['request']['url'][:200]}")
        return said

    def close(self) -> None:
        """End the browser."""
        try:
            self.session = ""
            self.send("Browser.close")
        except (AssertionError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.into)
