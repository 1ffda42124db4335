"""The app as a person uses it, in a real browser with the network cut off: every step, and what can go wrong."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("uvicorn", reason="the app's packages are missing")
pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")

import app_steps as steps
from app_server import SOURCES, AppServer, serving, wait_for
from browser import Browser, Window
from disclique.synthetic.examples import survey_file
from small_files import people, without_times

pytestmark = pytest.mark.long

MASK = ("gaussian", "sigma", "20km")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
Open = Callable[..., Window]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server in a folder with the survey and a small file."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(survey_file(), folder / "survey.csv")
    people(40).to_csv(folder / "small.csv", index=False)
    with serving(folder, temporary=tmp_path_factory.mktemp("temporary")) as running:
        yield running


@pytest.fixture
def window(chrome: Browser, server: AppServer) -> Iterator[Open]:
    """A function that opens a window in which the person has entered; in the end nothing may have gone wrong."""
    windows: list[Window] = []

    def open_window(**more: Any) -> Window:
        windows.append(chrome.window(server.url, **more))
        steps.enter(windows[-1].page, server)
        return windows[-1]

    yield open_window
    said = [complaint for one in windows for complaint in one.complaints()]
    for one in windows:
        one.close()
    assert not said


@pytest.fixture(scope="module")
def audited(chrome: Browser, server: AppServer) -> str:
    """The address of a finished audit of the survey: open, ask, run, looked at in a second tab and after a reload."""
    window = chrome.window(server.url)
    page = window.page
    steps.enter(page, server)
    project = steps.open_file(page, server)
    assert "500" in page.inner_text("#look")
    steps.confirm_columns(page)
    steps.ask(page, MASK, folder="kept audit")
    steps.wait_until(page, "document.querySelector('#plan-toml')?.textContent.includes('sigma=20km')")
    plan = page.inner_text("#plan-toml")
    (server.folder / "audit.toml").write_text(plan, encoding="utf-8")
    steps.start_audit(page)
    second = window.context.new_page()
    second.goto(page.url)
    second.reload()
    steps.await_result(second)
    steps.await_result(page)
    said = window.complaints()
    window.close()
    assert not said
    return project


def test_the_result_is_that_of_the_command_line(server: AppServer, audited: str) -> None:
    """The plan that the page shows as a file, given to the command, has the same result."""
    from disclique.audits.result import read_result

    command = [
        sys.executable,
        "-m",
        "disclique",
        "audit",
        "survey.csv",
        "--config",
        "audit.toml",
        "--out",
        "by line",
    ]
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    done = subprocess.run(command, cwd=server.folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr  # the limit is not kept
    ours, theirs = (read_result(server.folder / name / "result.json") for name in ("kept audit", "by line"))
    assert without_times(ours) == without_times(theirs)
    assert ours.settings


def test_read_and_release(server: AppServer, window: Open, audited: str) -> None:
    """The report is drawn in its frame; the release lies in a folder; what is kept private has no address."""
    page = window().page
    page.goto(f"{server.url}{audited}/run")
    page.click("a[href$='/read'].primary")
    frame = steps.read_report(page)
    assert frame.evaluate("document.documentElement.dataset.drawn") == str(frame.locator(".chart").count())
    heights = []
    for width in (1280, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(500)
        assert page.evaluate(steps.WIDTH) <= width
        inside = frame.evaluate("document.body.getBoundingClientRect().height")
        heights.append(page.evaluate("document.querySelector('iframe.page').clientHeight"))
        assert 0 <= heights[-1] - inside < 40
    assert heights[1] > heights[0] == heights[2] > 1000  # as high as the report, also after it was higher
    ids = (server.folder / "survey.csv").read_text(encoding="utf-8").split("\n")[1].split(",")[0]
    assert ids not in frame.inner_text("body")
    page.goto(f"{server.url}{audited}/exposed")
    assert ids not in page.content()
    page.click("form[action$='/exposed'] button.primary")
    page.wait_for_selector("table")
    page.goto(f"{server.url}{audited}/release")
    page.check("input[name=setting] >> nth=0")
    page.check("[name=confirm]")
    page.fill("[name=folder]", "for publication")
    page.click("form[action$='/release'] button.primary")
    page.wait_for_selector("#made")
    made = server.folder / "for publication"
    (key,) = made.rglob("*key*")
    assert key.stat().st_mode & 0o077 == 0
    assert made.stat().st_mode & 0o077 == 0
    for link in page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)"):
        assert "key" not in link
        assert "keep-private" not in link
    with page.expect_download() as download:
        page.click("a[href$='release.zip']")
    with zipfile.ZipFile(download.value.path()) as archive:
        names = archive.namelist()
        assert any(name.endswith("release.csv") for name in names)
        assert not [name for name in names if re.search("key|recipe|private", name)]
        held = b"".join(archive.read(name) for name in names)
    assert ids.encode() not in held
    for name in ("release_key.csv", "records.csv", "recipe.json", "journal.jsonl", "app.json"):
        for place in ("download", "pages", "release/1", "release", ""):
            answer = page.context.request.get(f"{server.url}{audited}/{place}/{name}".replace("//" + name, "/" + name))
            assert answer.status == 404, answer.url


def test_a_second_tab_changes_the_plan(server: AppServer, window: Open) -> None:
    """Both tabs are of one project: the later one counts, and the other one says so when it is loaded again."""
    one = window()
    page, second = one.page, one.context.new_page()
    project = steps.open_file(page, server, "small.csv")
    steps.confirm_columns(page)
    second.goto(page.url)
    steps.ask(second, ("gaussian", "sigma", "3km"))
    second.click("form#ask-form button:not(.primary)[type=submit]:not([form])")
    second.wait_for_selector("[role=status]")
    page.reload()
    assert page.input_value("[name='dial:gaussian:sigma:a']") == "3km"
    page.goto(f"{server.url}{project}/run")
    assert page.locator("form[action$='/run/start'] button").count() == 1


def test_the_language_stays(server: AppServer, window: Open) -> None:
    one = window(locale="de-DE")
    page = one.page
    assert page.get_attribute("html", "lang") == "de"
    page.click("button[value=en]")
    page.wait_for_load_state()
    assert page.get_attribute("html", "lang") == "en"
    steps.open_file(page, server, "small.csv")
    page.click("button[value=de]")
    page.wait_for_url("**/open")
    assert page.get_attribute("html", "lang") == "de"


def test_keyboard_only(server: AppServer, window: Open) -> None:
    """From the first page to the plan without a mouse; what has the focus can be seen."""
    page = window().page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    press_until(page, "document.activeElement.id === 'file'")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.type("small")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/open")
    steps.see_look(page)
    press_until(page, "document.activeElement.matches('button.primary')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask")
    press_until(page, "document.activeElement.matches('summary, [name=mask]')")
    page.evaluate(steps.UNFOLD)
    press_until(page, "document.activeElement.matches('[name=mask][value=gaussian]')")
    page.keyboard.press("Space")
    steps.wait_until(page, "document.querySelector('#plan-toml')?.textContent.includes('gaussian')")


def press_until(page: Any, true: str, most: int = 120) -> None:
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(true):
            return
    raise AssertionError(f"never reached: {true}")


WRONG = {
    "picture.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20,
    "prose.csv": b"Dear all,\n\nplease find attached, as agreed, the data. Best wishes\n" * 40,
    "empty.csv": b"",
    "matrix.csv": "\n".join(",".join(str(abs(i - j)) for j in range(30)) for i in range(30)).encode(),
    "head.csv": b"id,lon,lat\n",
    "latin.csv": "name,größe\nMüller,1\n".encode("latin-1") * 9,
    "quotes.csv": b'a,b\n"never closed, 1\n2,3\n',
    "table.xlsx": b"PK\x03\x04 no workbook",
    "table.parquet": b"PAR1 no parquet PAR1",
    "table.npy": b"\x93NUMPY\x01\0v\0{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "script.csv": b"id,<script>alert(1)</script>,lon,lat\n1,<img src=x onerror=alert(1)>,9,50\n2,b,9.1,50\n3,c,9,51\n",
    "places.geojson": b'{"type": "FeatureCollection"}',
}


def test_wrong_files(server: AppServer, window: Open, tmp_path: Path) -> None:
    """Each is answered by a sentence on the page; none by an error of the app, and none runs in the browser."""
    one = window()
    page = one.page
    for name, content in WRONG.items():
        (tmp_path / name).write_bytes(content)
        one.refusals_expected = True
        steps.upload_file(page, server, tmp_path / name)
        page.wait_for_selector("[role=alert], #look dl, #look .notice")
        text = page.inner_text("main")
        assert "Something went wrong" not in text, name
        if name in ("picture.csv", "prose.csv", "empty.csv", "head.csv", "table.xlsx", "table.parquet", "table.npy"):
            assert page.locator("[role=alert]").count(), name
        assert page.locator("main img, main script:not([type='application/json'])").count() == 0


def test_a_file_that_is_too_large_is_refused_in_words(chrome: Browser, tmp_path: Path) -> None:
    (tmp_path / "large.csv").write_bytes(b"x" * 6_000_000)
    with serving(tmp_path, "--max-upload", "1MB", temporary=tmp_path / "t") as server:
        window = chrome.window(server.url)
        window.refusals_expected = True
        steps.enter(window.page, server)
        window.page.set_input_files("#upload", tmp_path / "large.csv")
        window.page.click("form[action='/upload'] button")
        window.page.wait_for_selector("[role=alert]")
        assert "1 MB" in window.page.inner_text("[role=alert]")
        assert not window.complaints()
        window.close()


def test_fifty_megabytes(server: AppServer, window: Open, tmp_path: Path) -> None:
    """A file of that size is uploaded and looked at; other pages are answered meanwhile."""
    rng = np.random.default_rng(1)
    n = 30_000
    note = "x" * 1_600
    lon, lat = rng.uniform(7, 14, n), rng.uniform(48, 54, n)
    with (tmp_path / "large.csv").open("w", encoding="utf-8") as file:
        file.write("id,sex,note,lon,lat\n")
        file.writelines(f"p{k},{'fm'[k % 2]},{note},{lon[k]:.5f},{lat[k]:.5f}\n" for k in range(n))
    assert (tmp_path / "large.csv").stat().st_size > 48_000_000
    one = window()
    page = one.page
    steps.upload_file(page, server, tmp_path / "large.csv")
    second = one.context.new_page()
    second.goto(f"{server.url}/")
    page.wait_for_selector("#look dl", timeout=120_000)  # of the first rows, then of all
    shown = "(document.querySelector('#look')?.innerText || '')"  # which is not there for a moment when it is replaced
    steps.wait_until(page, rf"{shown}.replace(/[ ,.\u2009\u202f]/g, '').includes('30000')", 120)
    page.goto(f"{server.url}/")
    page.click("tr:has-text('large.csv') button")
    steps.wait_until(page, "!(document.body?.innerText ?? 'large.csv').includes('large.csv')")  # nor between pages
    assert all(path.stat().st_size < 1e6 for path in server.private.rglob("upload.csv"))


# Killed in the middle


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_killed_and_started_again(chrome: Browser, server: AppServer, audited: str, tmp_path: Path) -> None:
    """kill -9 while an audit runs: the next server offers it, goes on with it, and the result is as if nothing was."""
    from disclique.audits.result import read_result

    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(survey_file(), folder / "survey.csv")
    journal = folder / "killed" / "journal.jsonl"
    with serving(folder, temporary=tmp_path / "t") as first:
        window = chrome.window(first.url)
        steps.enter(window.page, first)
        steps.open_file(window.page, first)
        steps.confirm_columns(window.page)
        steps.ask(window.page, MASK, folder="killed")
        steps.start_audit(window.page)
        wait_for(lambda: count_lines(journal) > 1, 300)
        first.end(signal.SIGKILL)
        assert not (folder / "killed" / "result.json").exists()
        window.close()
        shutil.rmtree(first.private)
    done = journal.read_bytes().rsplit(b"\n", 1)[0]
    with serving(folder, temporary=tmp_path / "t") as again:
        window = chrome.window(again.url)
        steps.enter(window.page, again)
        window.page.click("tr:has-text('killed') a")
        window.page.wait_for_url("**/run")
        window.page.click("form[action$='/run/start'] button")
        steps.await_result(window.page)
        assert not window.complaints()
        window.close()
    assert journal.read_bytes().startswith(done)
    whole, cut = (read_result(place / "result.json") for place in (server.folder / "kept audit", folder / "killed"))
    assert without_times(whole) == without_times(cut)


# Every page: accessible, and as wide as the screen


def pages_of(project: str, new: str) -> list[str]:
    own = [f"{project}/{step}" for step in ("open", "ask", "run", "read", "release", "exposed")]
    return ["/", *own, f"{new}/open", f"{new}/ask", f"{new}/run", "/compare", "/nothing"]


@pytest.mark.parametrize(("language", "schemes"), [("en", ("light", "dark")), ("de", ("dark",))])
def test_no_barrier(server: AppServer, window: Open, audited: str, language: str, schemes: tuple[str, ...]) -> None:
    """axe finds nothing on any page; at 390 pixels no page is wider than the screen."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    one = window(locale=language)
    page = one.page
    new = steps.open_file(page, server, "small.csv")
    steps.confirm_columns(page)
    one.refusals_expected = True
    found = []
    for path in pages_of(audited, new):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(server.url + path)
        assert page.get_attribute("html", "lang") == language
        if path.endswith("/open"):
            steps.see_look(page)
        page.evaluate(steps.UNFOLD)
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            for problem in axe.run(page, options={"runOnly": RULES}).response["violations"]:
                places = [" ".join(map(str, node["target"])) for node in problem["nodes"]]
                found.append(f"{path}, {scheme}: {problem['id']} ({problem['impact']}): {places[:3]}")
        page.set_viewport_size({"width": 390, "height": 800})
        if (width := page.evaluate(steps.WIDTH)) > 390:
            found.append(f"{path}: {width} pixels wide")
    assert not found


# Anything at all


CLICKED = "a[href], button, summary, select, input:not([type=hidden]), textarea"
LEFT_OUT = "form[action='/end'] *, [type=file]"
NAMED = f"e => e.matches(`{LEFT_OUT}`) ? '' : e.tagName + ' ' + (e.name || e.textContent.trim().slice(0, 30))"
WORDS = ("", "0", "-1", "1e999", "5km", "0.1", "abc", "<b>&\"'", "../..", "x" * 2000, "1..2", "🙂", "NaN", "kept audit")


def test_two_hundred_random_clicks(server: AppServer, window: Open, audited: str) -> None:
    """Whatever is clicked, chosen and filled in, by chance from a fixed seed: no error page."""
    rng = random.Random(20260101)
    one = window()
    one.refusals_expected = True
    page = one.page
    page.set_default_timeout(15_000)
    trail: list[str] = []
    for number in range(200):
        if number % 25 == 0 or not page.url.startswith(server.url):
            page.goto(server.url + rng.choice(["/", audited + "/read", audited + "/ask"]))
        trail.append(f"{page.url.removeprefix(server.url)} {act(page, rng)}")
        for extra in one.context.pages[1:]:
            extra.close()
        text = page.inner_text("body")
        assert "Something went wrong" not in text, trail[-8:]
        assert not one.complaints(), (one.complaints(), trail[-8:])
    assert len({step.split()[0] for step in trail}) > 5
    assert server.process.poll() is None


def act(page: Any, rng: random.Random) -> str:
    """Do one thing with one of the visible elements; return what was done."""
    from playwright.sync_api import Error

    try:
        page.wait_for_load_state("domcontentloaded")
        there = page.locator(CLICKED).filter(visible=True)
        many = there.count()
        if not many:
            return "nothing"
        place = there.nth(rng.randrange(many))
        what = place.evaluate(NAMED)
        kind, word = what.split(" ")[0], rng.choice(WORDS)
        if kind == "SELECT":
            options = place.locator("option").count()
            place.select_option(index=rng.randrange(options), timeout=2000)
        elif kind == "TEXTAREA" or (kind == "INPUT" and place.get_attribute("type") in (None, "text", "number")):
            place.fill(word, timeout=2000)
            return f"{what} = {word[:20]!r}"
        elif kind:
            place.click(timeout=2000, no_wait_after=True)
            page.wait_for_timeout(30)
        return what
    except Error as problem:
        return f"left ({str(problem)[:60]!r})"


def test_a_file_without_distances_goes_through_the_whole_app(window: Open, server: AppServer) -> None:
    """Columns of distances to places are recognised, the form proposes what is done to them, and a release is made."""
    rng = np.random.default_rng(0)
    table = people(60)[["id", "sex"]].assign(
        km_hospital=rng.gamma(2, 2, 60).round(3), dist_school=(1000 * rng.gamma(2, 0.4, 60)).round()
    )
    table.to_csv(server.folder / "to places.csv", index=False)
    page = window().page
    project = steps.open_file(page, server, "to places.csv")
    assert page.input_value("[name='role:km_hospital']") == "known:km"
    assert page.input_value("[name='role:dist_school']") == "known:m"
    steps.confirm_columns(page)
    assert page.input_value("[name='number:*:how']") == "round"
    page.evaluate(steps.UNFOLD)
    page.fill("[name='number:*:b']", "50km")  # so coarse that hardly anything is told
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate(steps.WIDTH) <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
    for name, value in steps.LIGHT.items():
        page.fill(f"[name={name}]", value)
    page.fill("[name=max_risk]", "0.5")
    page.fill("[name=folder]", "audit of places")
    steps.start_audit(page)
    steps.await_result(page)
    assert "km_hospital" in steps.read_report(page).inner_text("body")
    page.goto(f"{server.url}{project}/exposed")
    page.goto(f"{server.url}{project}/release")
    page.click("form[action$='/release'] button.primary")
    page.wait_for_selector("#made")
    made = next(server.folder.glob("release-*/publish/release.csv")).read_text(encoding="utf-8")
    assert "km_hospital" in made.splitlines()[0]


def test_from_a_file_to_a_release_without_choosing_a_mask(window: Open, server: AppServer) -> None:
    """Somebody who knows no mask: a limit, one button, the advice, the release that it names, and its papers."""
    rng = np.random.default_rng(0)
    ways = {"km_hospital": rng.gamma(2, 2, 60).round(3), "asthma": rng.choice(["none", "mild"], 60)}
    people(60)[["id", "sex", "age"]].assign(**ways).to_csv(server.folder / "ways.csv", index=False)
    page = window().page
    project = steps.open_file(page, server, "ways.csv")
    assert page.input_value("[name='role:asthma']") == "sensitive"
    steps.confirm_columns(page)
    assert not page.is_visible("form#ask-form")  # masks are for those who ask for them
    steps.keep_light(page)
    page.goto(f"{server.url}{project}/ask")
    steps.find_release(page, "50 %", "advice of ways")
    page.reload()
    steps.await_advice(page)
    page.reload()
    frame = page.wait_for_selector("iframe.page").content_frame()
    frame.wait_for_selector("#answer")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(steps.WIDTH) <= width
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    assert not axe.run(page, options={"runOnly": RULES}).response["violations"]
    with page.expect_popup() as alone:
        page.click("a[href$='/pages/advice']")
    assert not alone.value.locator("script").count()
    steps.make_advised(page)
    made = next(server.folder.glob("release-ways/publish/release.csv")).read_text(encoding="utf-8")
    assert "p001" not in made
    for name in ("report.html", "annex.html"):
        with page.expect_download() as download:
            page.click(f"#made a[href$='{name}']")
        assert download.value.path().stat().st_size > 10_000


def test_recipients_by_clicks(window: Open, server: AppServer) -> None:
    """Two ready recipients, one of them edited: cards, one run, a verdict for each and for all, and the release."""
    page = window().page
    project = steps.open_file(page, server, "small.csv")
    steps.confirm_columns(page)
    steps.add_recipients(page, "insurer", "everybody", "neighbour")
    page.evaluate(steps.UNFOLD)
    page.click("button[name=remove][value='3']")
    steps.wait_until(page, "document.querySelectorAll('section.recipient').length === 2")
    page.evaluate(steps.UNFOLD)
    page.fill("[name='recipient:1:name']", "our insurer")
    page.fill("[name='recipient:1:label_error']", "0.1")
    steps.wait_until(page, "document.querySelector('#plan-toml')?.textContent.includes('our insurer')")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(steps.WIDTH) <= width
    assert not axe.run(page, options={"runOnly": RULES}).response["violations"]
    steps.ask(page, ("gaussian", "sigma", "300km"), folder="for several", attacks=("labels",))
    page.fill("[name=max_risk]", "0.6")
    plan = page.inner_text("#plan-toml")
    assert "[[recipient]]" in plan
    steps.start_audit(page)
    steps.await_recipients(page)
    frame = page.wait_for_selector("iframe.page").content_frame()
    frame.wait_for_selector("#verdict")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert not axe.run(page, options={"runOnly": RULES}).response["violations"]
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(steps.WIDTH) <= width
    page.click("a[href$='-1/read']")
    steps.read_report(page)
    assert "our insurer" in page.inner_text("h1")
    page.click("a[href$='/recipients']")
    page.click("a[href$='/release'].primary")
    page.wait_for_url(f"**{project}/release")
    page.click("form[action$='/release'] button.primary")
    page.wait_for_selector("#made")
    assert (server.folder / "for several" / "recipients.json").exists()
    assert next(server.folder.glob("release-small*/publish/release.csv")).exists()


def test_four_hundred_columns_make_no_long_page(window: Open, server: AppServer) -> None:
    """The table scrolls by itself, the button stays in sight, and a filter shows what is looked for; all is sent."""
    answers = pd.DataFrame({f"q{k:03d}": np.arange(20) % 3 for k in range(401)})
    pd.concat([people(20), answers], axis=1).to_csv(server.folder / "wide.csv", index=False)
    page = window().page
    steps.open_file(page, server, "wide.csv")
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    place = page.locator("form#open-form button.primary").bounding_box()
    assert place is not None
    assert place["y"] + place["height"] <= 900
    page.fill("#f-filter", "q01")
    steps.wait_until(page, "document.querySelectorAll('#roles tbody tr:not([hidden])').length === 10")
    page.select_option("[name='role:q011']", "label")
    page.fill("#f-filter", "")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    assert not axe.run(page, options={"runOnly": RULES}).response["violations"]
    steps.confirm_columns(page)
    steps.wait_until(page, "document.querySelector('#plan-toml')?.textContent.includes('q011')")


def test_what_becomes_of_labels_is_shown_while_the_form_is_filled_in(window: Open, server: AppServer) -> None:
    page = window().page
    steps.open_file(page, server)
    steps.confirm_columns(page)
    page.evaluate(steps.UNFOLD)
    page.select_option("[name='how:age_class']", "width")
    page.fill("[name='from:age_class']", "10")
    page.fill("[name='to:age_class']", "40")
    page.click("button[hx-post$='/recoded']")
    page.wait_for_selector("#recoded table")
    assert "age_class=width:age_class:40" in page.inner_text("#recoded")
    page.click("button[data-fill=f-person]")
    assert page.input_value("#f-person") == "0.09"
