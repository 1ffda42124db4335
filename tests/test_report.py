"""The report: self-contained, escaped, honest, and drawn by a real browser with the network cut off."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import browser
from disclique.audits import Case, Plan, Snooper, audit
from disclique.data.tables import microdata
from disclique.errors import InputError
from disclique.show.report import read_result, report, write_report

EVIL = "<script>alert('x')</script>"
MASKS = ("affine", "matrix-gaussian:sd=3km", "gaussian:sigma=2km..20km")


def made(folder: Path, *, with_records: bool) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "id": [f"secret-{k}" for k in range(40)],
            EVIL: rng.choice(["<b>f</b>", "m"], 40),
            "age": rng.choice(["young", "middle", "old"], 40),
            "lon": rng.uniform(9, 11, 40),
            "lat": rng.uniform(49, 51, 40),
        }
    )
    file = microdata(table, [EVIL, "age"], coordinates=["lon", "lat"], ids="id", name=f"{EVIL} & survey.csv")
    plan = Plan(
        MASKS,
        Snooper(overlap=0.5),
        repetitions=3,
        max_risk=0.5,
        attacks=("labels", "clique", "extend"),
        budget=0.1,
    )
    return audit(Case(plan, file), folder, with_records=with_records)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, dict[str, Any]]:
    """A result without and one with the records in it."""
    return {kind: made(tmp_path_factory.mktemp("audit") / "out", with_records=kind) for kind in (False, True)}


@pytest.fixture(scope="module")
def page(results: dict[bool, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(results[False], path)
    return path


def test_everything_given_is_escaped(page: Path) -> None:
    """Markup in names of files and columns is shown, not obeyed; also inside the charts' data."""
    text = page.read_text(encoding="utf-8")
    assert EVIL not in text
    assert "&lt;script&gt;alert" in text
    assert text.count("<script") == 3 == text.count("</script>")


def test_the_page_needs_nothing_from_elsewhere(page: Path) -> None:
    """No address is loaded: no link, image, frame or import, and a policy that forbids them."""
    text = page.read_text(encoding="utf-8")
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # the chart library names addresses in its texts
    assert not re.search(r"<(link|img|iframe|object|embed)\b", own)
    assert not re.search(r"(src|href|url\()\s*=?\s*[\"'(]?https?:", own)
    assert "default-src &#39;none&#39;" in own or "default-src 'none'" in own
    assert page.stat().st_size < 2_000_000


def test_the_verdict_comes_first_in_two_sentences(results: dict[bool, dict[str, Any]], page: Path) -> None:
    """Before any figure, a judgement in words, with the limit that was set."""
    text = page.read_text(encoding="utf-8")
    said = results[False]["verdict"]["sentences"]
    assert len(said) == 2
    assert text.index('id="verdict"') < text.index("Risk by attack and mask")
    assert "limit of 50 %" in said[0]


def test_nobody_is_in_the_page_unless_records_are_asked_for(results: dict[bool, dict[str, Any]], page: Path) -> None:
    """Ids and the map appear with the records only, with a warning."""
    assert "secret-7" not in page.read_text(encoding="utf-8")
    full = report(results[True])
    assert "secret-7" in full
    assert "stays with the data holder" in full
    assert 'id="chart-people"' in full


def test_a_search_cut_short_is_marked(results: dict[bool, dict[str, Any]]) -> None:
    """Lower bounds carry a sign in the table, a sentence at the top and one among the limits."""
    result = deepcopy(results[False])
    head = next(s for s in result["settings"] if s["spec"] == result["verdict"]["setting"])
    head["risk"]["lower_bound"] = True
    head["attacks"][1]["lower_bound"] = True
    text = report(result)
    assert "Lower bound: a search was cut short" in text
    assert "≥" in text


def test_what_is_no_result_is_refused(tmp_path: Path, results: dict[bool, dict[str, Any]]) -> None:
    """Not JSON, another JSON, another version, a part missing: one sentence each."""
    path = tmp_path / "result.json"
    for text, why in {
        "not json": "not a JSON file",
        "[1]": "not the result of an audit",
        '{"kind": "disclique audit", "version": 99}': "version 99",
    }.items():
        path.write_text(text)
        with pytest.raises(InputError, match=why):
            read_result(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_result(tmp_path / "nowhere.json")
    broken = {name: value for name, value in results[False].items() if name != "settings"}
    path.write_text(json.dumps(broken))
    with pytest.raises(InputError, match="not complete"):
        report(read_result(path))


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    if browser.found() is None:
        pytest.skip("no Chromium on this machine: the report is not opened in a real browser (apt install chromium)")
    window = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield window
    window.close()


DRAWN = "document.documentElement.dataset.drawn || document.documentElement.dataset.problem"


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False)])
@pytest.mark.parametrize("with_records", [False, True])
def test_a_real_browser_draws_it_without_a_network(
    chrome: browser.Browser,
    results: dict[bool, dict[str, Any]],
    tmp_path: Path,
    width: int,
    dark: bool,
    with_records: bool,
) -> None:
    """No request fails or leaves the file, nothing is complained about, every chart is there and nothing sticks out."""
    path = tmp_path / "report.html"
    write_report(results[with_records], path)
    chrome.events.clear()
    chrome.open(path, width=width, dark=dark)
    charts = chrome.value("document.querySelectorAll('.chart').length")
    assert charts == (5 if with_records else 4)
    assert chrome.wait(DRAWN) == str(charts)
    drawn = "[...document.querySelectorAll('.chart')].every(c => c.querySelector('svg path, svg rect, svg line'))"
    assert chrome.value(drawn)
    assert chrome.value("document.documentElement.scrollWidth") <= width
    paper = chrome.value("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (not dark)
    chrome.picture(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 20_000
    assert chrome.complaints() == []


def test_pointing_at_a_symbol_shows_its_figures(chrome: browser.Browser, page: Path) -> None:
    """Hover over a point of the risk chart: the tooltip names mask, attack and share."""
    chrome.open(page)
    chrome.wait(DRAWN)
    spot = chrome.value(
        "(() => { const p = [...document.querySelectorAll('#chart-risk .mark-symbol.role-mark path')].at(-1);"
        " p.scrollIntoView({block: 'center'}); const r = p.getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    for shift in (-3, 0):
        chrome.send("Input.dispatchMouseEvent", type="mouseMoved", x=spot[0] + shift, y=spot[1])
    shown = chrome.wait("document.querySelector('#vg-tooltip-element.visible')?.innerText")
    assert "re-identified" in shown
    assert "%" in shown


def test_it_prints(chrome: browser.Browser, page: Path) -> None:
    """The page becomes a PDF with text on it."""
    import base64

    chrome.open(page, dark=True)
    chrome.wait(DRAWN)
    made_pdf = base64.b64decode(chrome.send("Page.printToPDF", printBackground=False)["data"])
    assert made_pdf.startswith(b"%PDF")
    assert len(made_pdf) > 20_000
