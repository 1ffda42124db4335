"""A real browser for the tests: Debian's Chromium driven by Playwright, and everything that goes wrong is noted."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
PATIENCE = 120_000.0  # milliseconds; the machine may have much else to do
LOCAL = ("file:", "data:", "blob:", "about:")


def missing() -> str | None:
    """Say what is missing for a browser; None if nothing is."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "no Playwright: the pages are not opened in a real browser (pip install playwright)"
    if found() is None:
        return "no Chromium on this machine: the pages are not opened in a real browser (apt install chromium)"
    return None


def found() -> str | None:
    """Find the browser's program; None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Window:
    """Pages that share their cookies, as those of one person; ``complaints`` has what went wrong in any of them.

    Requests to anywhere but ``home`` are complained about, and so are errors and warnings of the console (where it is
    said what a Content-Security-Policy forbade), exceptions, requests that failed and answers that are errors.
    """

    def __init__(self, browser: Any, home: str = "file:", **more: Any) -> None:
        self.home, self.said, self.refusals_expected = home, [], False
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **more})
        self.context.set_default_timeout(PATIENCE)
        self.context.on("request", self._request)
        self.context.on("requestfailed", self._failed)
        self.context.on("response", self._response)
        self.context.on("console", self._console)
        self.context.on("weberror", lambda error: self.said.append(f"exception: {error.error}"))
        self.page = self.context.new_page()

    said: list[str]

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.home, *LOCAL)):
            self.said.append(f"request elsewhere: {request.url[:200]}")

    def _failed(self, request: Any) -> None:
        if request.failure not in ("net::ERR_ABORTED", "cancelled"):  # a page that was left, a file that was saved
            self.said.append(f"request failed: {request.method} {request.url[:200]} {request.failure}")

    def _response(self, response: Any) -> None:
        if response.status >= 500 or (response.status >= 400 and not self.refusals_expected):
            self.said.append(f"answer {response.status}: {response.request.method} {response.url[:200]}")
        policy = response.headers.get("content-security-policy", "")
        if self.home.startswith("http") and not re.search(r"script-src ('self'|'sha256-[^;]*'|'none');", policy):
            self.said.append(f"policy of scripts: {response.url[:200]} {policy[:100]}")

    def _console(self, message: Any) -> None:
        if message.type not in ("error", "warning", "assert"):
            return
        if message.text.startswith("Failed to load resource") or "Response Status Error Code 4" in message.text:
            return  # the answer itself was noted
        if message.text.startswith(("htmx:sendAbort", "htmx:afterRequest")):
            return  # the page was left before the answer came
        self.said.append(f"console {message.type}: {message.text[:300]}")

    def complaints(self) -> list[str]:
        """Return what went wrong so far, in words."""
        return list(self.said)

    def close(self) -> None:
        """Close the pages."""
        self.context.close()


class Browser:
    """A headless browser with one page of its own; ``window`` opens others that know nothing of each other."""

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        root = hasattr(os, "getuid") and os.getuid() == 0
        self.driver = sync_playwright().start()
        self.browser = self.driver.chromium.launch(
            executable_path=found(), args=[*FLAGS, *(["--no-sandbox"] if root else [])]
        )
        self.own = Window(self.browser)
        self.page = self.own.page
        self.session = self.own.context.new_cdp_session(self.page)

    def window(self, home: str, **more: Any) -> Window:
        """Open a window for the pages of a server."""
        return Window(self.browser, home, **more)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer to a command of its protocol."""
        return dict(self.session.send(method, parameters))

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self.page.evaluate(expression)

    def wait(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        until = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < until:
            if value := self.value(expression):
                return value
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}")

    def open(self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Load a file at a width, in the light or dark theme."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if dark else "light")
        self.page.goto(page.as_uri())

    def picture(self, path: Path) -> None:
        """Write the whole page as PNG."""
        self.page.screenshot(path=path, full_page=True)

    def forget(self) -> None:
        """Forget the complaints so far."""
        self.own.said.clear()

    def complaints(self) -> list[str]:
        """Return what went wrong on the own page since then, in words."""
        return self.own.complaints()

    def close(self) -> None:
        """End the browser."""
        try:
            self.browser.close()
        finally:
            self.driver.stop()
