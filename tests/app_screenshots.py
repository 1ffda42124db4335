"""Pictures of every step of the app: ``make screenshots``.

All of them (1280 and 390 pixels, light and dark) go to a folder to be looked at; those of 1280 pixels in the light go
to the documentation as well, with as many colours as they need.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import app_steps as steps
from app_server import AppServer, serving
from browser import Browser, missing
from disclique.synthetic.examples import survey_file

DOCS = Path(__file__).resolve().parents[1] / "docs" / "img"
# In the documentation:
SHOWN = (
    "1-start",
    "2-open",
    "3-ask",
    "4-asked",
    "5-run",
    "6-advice",
    "7-read",
    "8-release",
    "10-recipient-cards",
    "11-recipients",
)
TALL = 1600  # pixels of a picture in the documentation, at the most
COLOURS = 96
ABOUT = {"4-asked": "#by-hand", "10-recipient-cards": "#whom"}  # the part of the page that a step is about
LIMIT = "0.2"  # which something useful of the survey keeps in a search of some minutes
FOLD = (
    "document.querySelectorAll('details').forEach(part => { part.open = !!part.querySelector('[name=mask]:checked'); })"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", type=Path, default=Path("screenshots"), help="folder for all pictures")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for those of the documentation")
    parser.add_argument("--language", default="en")
    given = parser.parse_args()
    if why := missing():
        raise SystemExit(why)
    for folder in (given.all, given.docs):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "survey 2026"
        folder.mkdir()
        shutil.copy(survey_file(), folder / "survey.csv")
        with serving(folder, temporary=Path(name) / "temporary") as server:
            chrome = Browser()
            window = chrome.window(server.url, locale=given.language)
            try:
                go_through(window.page, server, lambda step: take(window.page, step, given.all, given.docs))
            finally:
                chrome.close()


def go_through(page: Any, server: AppServer, picture: Callable[[str], None]) -> None:
    """Take the steps of a person, with a picture of each."""
    steps.enter(page, server)
    picture("1-start")
    project = steps.open_file(page, server)
    picture("2-open")
    steps.confirm_columns(page)
    steps.keep_light(page)
    page.goto(f"{server.url}{project}/ask")
    picture("3-ask")
    steps.find_release(page, LIMIT, "advice")
    page.wait_for_selector("#progress .told:not(:empty)")
    page.wait_for_timeout(60_000)
    picture("5-run")
    steps.await_advice(page)
    page.wait_for_selector("iframe.page")
    page.wait_for_timeout(2000)
    picture("6-advice")
    page.goto(f"{server.url}{project}-1/read")
    steps.read_report(page)
    picture("7-read")
    page.goto(f"{server.url}{project}-1/exposed")
    picture("7-exposed")
    page.goto(f"{server.url}{project}-1/release")
    picture("8-release")
    page.click("form[action$='/release'] button.primary")
    page.wait_for_selector("#made")
    picture("9-released")
    choose_by_hand(page, server, picture)
    ask_for_recipients(page, server, picture)


def choose_by_hand(page: Any, server: AppServer, picture: Callable[[str], None]) -> None:
    """Choose the masks oneself: the second way through the same step."""
    steps.open_file(page, server)
    steps.confirm_columns(page)
    steps.ask(page, ("gaussian", "sigma", "5km"), folder="audit", attacks=("labels",))
    page.fill("[name='dial:gaussian:sigma:b']", "80km")
    page.fill("[name=max_risk]", "0.6")  # which a setting keeps, so that there is something to release
    page.evaluate(FOLD)
    page.wait_for_timeout(1500)
    picture("4-asked")


def ask_for_recipients(page: Any, server: AppServer, picture: Callable[[str], None]) -> None:
    """Ask for three recipients, and read what may be given to all of them."""
    steps.open_file(page, server)
    steps.confirm_columns(page)
    steps.add_recipients(page, "neighbour", "insurer", "everybody")
    steps.ask(page, ("gaussian", "sigma", "100km"), folder="recipients", attacks=("labels",), repetitions="8")
    page.fill("[name='dial:gaussian:sigma:b']", "400km")
    page.fill("[name=max_risk]", "0.2")
    page.evaluate(FOLD)
    page.evaluate("document.querySelectorAll('.recipient details')[1].open = true")
    picture("10-recipient-cards")
    steps.start_audit(page)
    steps.await_recipients(page)
    page.wait_for_selector("iframe.page")
    page.wait_for_timeout(2000)
    picture("11-recipients")


def take(page: Any, step: str, everything: Path, docs: Path) -> None:
    """Take the page as it is, at both widths and in both schemes."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate("document.activeElement?.blur(); window.scrollTo(0, 0)")
            page.wait_for_timeout(300)
            page.screenshot(path=everything / f"{step}-{width}-{scheme}.png", full_page=True)
    if step in SHOWN:
        page.screenshot(path=docs / f"app-{step}.png", full_page=True, clip=clip_of(page, step))
        spare_colours(docs / f"app-{step}.png")


def clip_of(page: Any, step: str) -> dict[str, float]:
    """The upper part of the page, or of the form that the step is about: as much as a reader looks at."""
    top = page.evaluate(f"document.querySelector('{ABOUT[step]}').getBoundingClientRect().y") if step in ABOUT else 0
    tall = page.evaluate("document.body.scrollHeight") - top
    return {"x": 0, "y": top, "width": 1280, "height": min(TALL, tall)}


def spare_colours(path: Path) -> None:
    """Write a picture again with few colours, which is all that a page of text has."""
    from PIL import Image

    with Image.open(path) as found:
        few = found.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
