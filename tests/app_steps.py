"""What a person does in the app, step by step, in a real browser: for tests, screenshots and timings."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from app_server import AppServer

LIGHT = {"repetitions": "2", "person_trials": "10", "seed": "7", "budget": "0.02"}
ATTACKS = ("labels", "clique")
WIDTH = "document.documentElement.scrollWidth"
UNFOLD = "document.querySelectorAll('details').forEach(part => { part.open = true; })"


def enter(page: Any, server: AppServer) -> None:
    """Open the printed address, and arrive at the first page."""
    page.goto(server.address)
    page.wait_for_url(f"{server.url}/")


# a frame has no element at all for a moment while its page takes the place of the empty one
DRAWN = "(document.documentElement?.dataset ?? {}).drawn || (document.documentElement?.dataset ?? {}).problem"


def wait_until(page: Any, true: str, seconds: float = 60) -> None:
    """Wait until an expression is true; Playwright's own way to wait for one is forbidden by the pages' policy."""
    until = time.monotonic() + seconds
    while not page.evaluate(true):
        assert time.monotonic() < until, true
        time.sleep(0.05)


def work_of(page: Any) -> str:
    """The address of the project that is shown, without the step."""
    found = re.search(r"/work/[0-9a-f]{16}", page.url)
    assert found, page.url
    return found[0]


def open_file(page: Any, server: AppServer, name: str = "survey.csv") -> str:
    """Choose a file of the folder, and wait until it was looked at; return the address of the work."""
    page.goto(f"{server.url}/")
    page.select_option("#file", label=name)
    page.click("form[action='/choose'] button")
    page.wait_for_url("**/open")
    see_look(page)
    return work_of(page)


def upload_file(page: Any, server: AppServer, path: Path) -> None:
    """Send a file, and wait for whatever page answers."""
    page.goto(f"{server.url}/")
    page.set_input_files("#upload", path)
    page.click("form[action='/upload'] button")
    page.wait_for_url("**/open")


def see_look(page: Any) -> None:
    """Wait until the look at the input is there, or why there is none."""
    page.wait_for_selector("#look dl, #look .notice")


def confirm_columns(page: Any) -> None:
    """Say that the columns are right."""
    page.click("button:has-text('The columns are right'), button:has-text('Die Spalten stimmen')")
    page.wait_for_url("**/ask")


def ask(
    page: Any, *masks: tuple[str, str, str], folder: str = "", attacks: tuple[str, ...] = ATTACKS, **project: str
) -> None:
    """Fill in the plan: masks with a dial and its value, the attacks, how much work, and where it is kept."""
    page.evaluate(UNFOLD)
    for mask, dial, value in masks:
        page.check(f"[name=mask][value='{mask}']")
        if dial:
            page.fill(f"[name='dial:{mask}:{dial}:a']", value)
            page.fill(f"[name='dial:{mask}:{dial}:b']", "")
    for attack in attacks:
        page.check(f"[name=attack][value='{attack}']")
    for name, value in (LIGHT | project).items():
        page.fill(f"[name={name}]", value)
    page.uncheck("[name=sensitivity]")
    page.fill("[name=max_risk]", "0.2")
    page.fill("[name=folder]", folder)


def keep_light(page: Any) -> None:
    """Keep that little work is done, and no mask, as somebody who is in a hurry: the search goes by it too."""
    page.evaluate(UNFOLD)
    page.check("[name=attack][value='labels']")
    for name, value in LIGHT.items():
        page.fill(f"[name={name}]", value)
    page.uncheck("[name=sensitivity]")
    page.fill("[name=folder]", "")
    page.click("form#ask-form .actions button:not(.primary)")
    page.wait_for_selector("[role=status]")


def find_release(page: Any, limit: str = "", place: str = "") -> None:
    """Ask for a release that keeps a limit, without choosing a mask."""
    if limit:
        page.fill("[name=limit]", limit)
    page.fill("[name=place]", place)
    page.click("form#advise-form button.primary")
    page.wait_for_url("**/run")


def await_advice(page: Any) -> None:
    """Wait on the page of the run until the search has finished: it goes on by itself."""
    page.wait_for_url("**/advice", timeout=2_400_000)


def make_advised(page: Any, number: int = 1) -> None:
    """Make one of the releases that were found."""
    page.click(f"section[aria-labelledby=release-{number}] a[href$='/release']")
    page.wait_for_url("**/release")
    page.click("form[action$='/release'] button.primary")
    page.wait_for_selector("#made")


def start_audit(page: Any) -> None:
    """Start the audit that is asked for."""
    page.click("form#ask-form button.primary")
    page.wait_for_url("**/run")


def await_result(page: Any) -> None:
    """Wait on the page of the run until the audit has finished, as somebody who only watches: it goes on by itself."""
    page.wait_for_url("**/read", timeout=300_000)


def read_report(page: Any) -> Any:
    """Return the frame in which the report stands, drawn."""
    frame = page.wait_for_selector("iframe.page").content_frame()
    wait_until(frame, DRAWN)
    return frame


def add_recipients(page: Any, *names: str) -> None:
    """Add ready recipients in the form of those who know the masks, each with a click."""
    page.evaluate(UNFOLD)
    for number, name in enumerate(names, 1):
        page.click(f"#recipient-buttons [name=add][value={name}]")
        page.wait_for_selector(f"#whom section.recipient >> nth={number - 1}")


def await_recipients(page: Any) -> None:
    """Wait on the page of the run until all recipients were asked about: it goes on by itself."""
    page.wait_for_url("**/recipients", timeout=600_000)
