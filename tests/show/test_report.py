"""The report: self-contained, escaped, honest, and drawn by a real browser with the network cut off."""

import base64
import html
import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import browser
import disclique as dq
from disclique.attacks import attacks
from disclique.audits import AuditResult
from disclique.audits.facts import Favour, Sensitivity, SensitivityPoint
from disclique.audits.rates import Found, InsiderShare, OracleRisk
from disclique.audits.result import decode_result, encode_result, result_schema
from disclique.errors import InputError
from disclique.locale import texts_in
from disclique.measures.utility import measures
from disclique.messages import Message
from disclique.show.pages import title_of
from disclique.show.report.charts import charts
from disclique.show.report.render import MAIN

EVIL = "<script>alert('x')</script>"
MASKS = ["affine", "matrix-gaussian:sd=3km", "gaussian:sigma=20km..400km"]
STATUSES = ("meets", "unproven", "fails", "measured")
Results = dict[bool, AuditResult]


def made() -> AuditResult:
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
    file = dq.microdata(table, [EVIL, "age"], coordinates=["lon", "lat"], ids="id", name=f"{EVIL} & survey.csv")
    names = ["labels", "clique", "quasi:gamma=0.7"]
    asked = {"overlap": 0.5, "repetitions": 2, "max_risk": 0.5, "attacks": names, "budget": 0.02, "person_trials": 20}
    return dq.audit(file, MASKS, with_records=True, **asked)


@pytest.fixture(scope="module")
def results() -> Results:
    """A result without and one with the records in it."""
    full = made()
    return {False: replace(full, records=None), True: full}


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    results[False].report(path)
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


def test_the_verdict_comes_first_in_a_few_sentences(results: Results, page: Path) -> None:
    """Before any figure, a judgement in words, with the limit that was set."""
    text = page.read_text(encoding="utf-8")
    said = results[False].verdict.sentences
    assert results[False].verdict.status == "meets"
    assert len(said) == 4
    first, _, appendix = text.partition('<h2 class="appendix"')
    heads = ["What would be released", "What each release gives away", "Who is exposed"]
    assert re.findall(r"<h2>(.*?)</h2>", first) == heads
    parts = ["Every setting, and the decision", "Who is exposed, in detail", "The input, as it was understood"]
    assert re.findall(r"<h2>(.*?)</h2>", appendix)[:5] == [*parts, "What it costs", "Why to believe it"]
    assert all(head in appendix for head in (f"data-fold><summary><h2>{part}</h2>" for part in parts))
    assert text.index('id="verdict"') < text.index("<h2>What each release gives away")
    assert str(results[False].people_risk[0].message) == said[3]
    assert "limit of 50 %" in said[0]


def test_nobody_is_in_the_page_unless_records_are_asked_for(results: Results, page: Path) -> None:
    """Ids and the map appear with the records only, with a warning."""
    assert "secret-7" not in page.read_text(encoding="utf-8")
    full = dq.report(results[True])
    assert "secret-7" in full
    assert "stays with the data holder" in full
    assert 'id="chart-people"' in full


def with_status(result: AuditResult, status: str) -> AuditResult:
    return replace(result, verdict=replace(result.verdict, status=status))


@pytest.mark.parametrize("status", STATUSES)
def test_only_a_limit_that_is_kept_has_a_tick(results: Results, status: str) -> None:
    """Each status has its line and its class; without a proof there is no tick."""
    text = dq.report(with_status(results[False], status))
    card = text[text.index('<section class="verdict') : text.index("</section>")]
    assert card.startswith(f'<section class="verdict {status}"')
    assert ("✔" in card) == ("keeps the limit was found" in card) == (status == "meets")
    line = card[card.index('<p class="status">') : card.index("</p>")]
    assert ("is shown to keep" in line) == (status == "unproven")
    assert f".verdict.{status} .status" in text or status == "measured"


def test_a_search_cut_short_is_marked(results: Results) -> None:
    """What may be more carries a sign in the tables of attacks; the one number does not depend on it."""
    result = results[False]
    head = result.setting(result.verdict.setting)
    assert head.risk.found is not None
    cut = replace(head.attacks[1], cut=2, cut_why=Message("<b>budget</b>"))
    risk = replace(head.risk, found=replace(head.risk.found, attack=cut.attack, cut=True))
    plain, marked = (
        dq.report(replace(result, settings=(replace(head, attacks=attacks_, risk=risk),)))
        for attacks_ in ((head.attacks[1],), (cut,))
    )
    assert ("(cut short)" in plain, "(cut short)" in marked) == (False, True)
    assert "<b>budget</b>" not in marked


def in_words(result: AuditResult, language: str = "en") -> str:
    """The page as it is read: no markup, no scripts, one space between words."""
    page = re.sub(r"<(script|style).*?</\1>", " ", dq.report(result, language=language), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_the_first_screen_says_the_one_number(results: Results) -> None:
    """What could be found with the end that decides, what an attack showed, and guessing; then the settings."""
    result = results[False]
    head = result.setting(result.verdict.setting)
    found = Found("clique", 0.31, 1.0, 3)
    risk = replace(head.risk, value=0.54, high=0.56, by="oracle", high_of="oracle", found=found)
    shown = replace(result, settings=(replace(head, risk=risk, guess=0.07),))
    words = in_words(shown)
    assert "could be found 54 % at most 56 % shown in practice 31 % by guessing 7.0 %" in words
    assert "is the upper end of what the oracle finds, over" in words
    assert f"{head.brief} 54 % 56 % 31 % (clique) 7.0 %" in words
    for source, said in {"guess": "of what guessing finds", "clique": "more than the upper end of what"}.items():
        other = replace(shown.settings[0], risk=replace(risk, high_of=source))
        assert said in in_words(replace(shown, settings=(other,)))
    beaten = replace(shown.settings[0], risk=replace(risk, high_of="clique", beaten=True))
    assert "is the upper end of what clique finds, over 3 releases" in in_words(replace(shown, settings=(beaten,)))


def test_what_was_assumed_in_favour_stands_in_the_verdict(results: Results) -> None:
    """One line with what it would be without, in report and annex, and in words for Python and the command line."""
    said = Favour(Message("assumed_overlap", share=0.2), 0.59, 0.61), Favour(Message("assumed_journalist"), 0.7)
    result = replace(results[False], favours=said)
    for page in (dq.report(result), dq.annex(result)):
        card = page[page.index('<section class="verdict') : page.index("</section>")]
        assert "knows only 20 % of the people (without it 59 of 100, at most 61); the snooper names only" in card
        assert "favour:</strong>" in card
    assert "Assumed in your favour: the snooper knows only 20 %" in str(result)
    assert "Assumed in your favour: the snooper knows only 20 %" in result._repr_html_()
    assert "favour" not in str(replace(result, favours=()))


def test_known_pairs_beforehand_have_a_table(results: Results) -> None:
    """Where the secret is a key: what could be found by how many pairs are known, the verdict's in bold."""
    result = results[False]
    head = result.setting(result.verdict.setting)
    assert "known pairs beforehand" not in dq.report(result)
    curve = tuple(InsiderShare(seeds, share) for seeds, share in ((0, 0.04), (10, 0.2), (50, 0.62)))
    oracle = OracleRisk(0.2, 0.25, 4, seeds=10, curve=curve)
    text = dq.report(replace(result, settings=(replace(head, oracle=oracle),)))
    table = text[text.index("known pairs beforehand") :]
    assert "</th><th>0</th><th>10</th><th>50</th>" in table
    assert "<td>4.0\u00a0%</td><td><strong>20\u00a0%</strong></td><td>62\u00a0%</td>" in table


def test_every_varied_assumption_is_drawn_and_written(results: Results) -> None:
    """Shares, a length with its unit, and a number of people, in the chart and in the table."""
    result = results[False]
    values = {"overlap": 0.5, "label-error": 0.1, "coordinate-error": 5.0, "strangers": 380.0}
    point = SensitivityPoint("overlap", 0.2, True, 10.0, 0.3, 0.4, 10, None)
    points = tuple(replace(point, varied=name, value=value) for name, value in values.items())
    varied = Sensitivity(result.verdict.setting, "oracle", points, ())
    words = in_words(replace(result, sensitivity=varied))
    for name in ("known to the snooper", "wrong label values", "error of the snooper's coordinates", "others in the"):
        assert f"{name}" in words
    drawn = charts(replace(result, sensitivity=varied), texts_in("en"))["sensitivity"]
    rows = drawn["layer"][0]["data"]["values"] if "data" in drawn["layer"][0] else drawn["data"]["values"]
    said = [row["assumed"].replace("\u00a0", " ") for row in rows]
    assert said[2:] == ["error of the snooper's coordinates: 5 km", "others in the snooper's file: 380"]


def test_method_and_utility_come_from_the_registries(results: Results) -> None:
    """The attacks that were run, no other, each as its class describes it; every measure taken by its title."""
    text = dq.report(results[False])
    method = text[text.index("<h2>Method</h2>") :]
    method = html.unescape(method[: method.index("</dl>")])
    assert re.findall(r"<dt><strong>(.*?)</strong>", method) == ["labels", "clique", "quasi:gamma=0.7"]
    for name in ("labels", "clique", "quasi"):
        assert str(attacks()[name].summary) in method
    assert str(attacks()["register"].summary) not in method
    table = html.unescape(text[text.index("<h2>What it costs</h2>") :])
    titles = re.findall(r"<th>(.*?)</th>", table[: table.index("</thead>")])
    assert titles == [
        "setting",
        "could be found",
        *(str(title_of(measures()[name], "km")) for name in MAIN if name not in ("linkage", "numbers")),
    ]
    every = table[table.index('<table class="measures">') :]
    rows = re.findall(r"<tr><td>(.*?)</td>", every[: every.index("</table>")])
    assert rows == [str(title_of(one, "km")) for one in measures().values() if one.name not in ("linkage", "numbers")]


def everywhere(value: Any) -> Any:
    """The same JSON with markup in every text."""
    if isinstance(value, dict):
        return {key: everywhere(part) for key, part in value.items()}
    return [everywhere(part) for part in value] if isinstance(value, list) else EVIL if value == "mark" else value


def test_every_text_of_a_result_is_escaped(results: Results) -> None:
    """Markup in sentences, names, reasons and versions stays text."""
    result = results[True]
    setting = replace(result.settings[0], reference="mark", mask="mark", open_why=Message("mark"))
    records = result.records
    assert records is not None
    evil = replace(
        result,
        made="mark",
        settings=(setting, *result.settings[1:]),
        decisions=tuple(replace(decision, why=Message("mark"), family="mark") for decision in result.decisions),
        limits=(Message("mark"),),
        snooper=replace(result.snooper, assumed=(Message("mark"),)),
        verdict=replace(result.verdict, reasons=(Message("mark"), Message("mark"))),
        plan=replace(result.plan, masks=("mark",), inputs={"mark": "mark"}, attacks=("mark",)),
        versions={"mark": "mark"},
        records=replace(records, people=tuple(replace(person, id="mark", by="mark") for person in records.people)),
    )
    text = dq.report(decode_result(json.dumps(everywhere(json.loads(encode_result(evil)))).encode()))
    assert EVIL not in text
    assert text.count("<script") == 3 == text.count("</script>")
    assert text.count("&lt;script&gt;alert") > 10


def _words(schema: Any) -> Any:
    """A schema with the texts in it on one line: how docstrings are indented differs between versions of Python."""
    if isinstance(schema, dict):
        return {key: _words(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_words(value) for value in schema]
    return " ".join(schema.split()) if isinstance(schema, str) else schema


def test_the_result_follows_its_schema(results: Results) -> None:
    """The file that is published is the schema of the classes (``make schema``), and real results are valid."""
    path = resources.files("disclique") / "audits" / "result.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert _words(schema) == _words(json.loads(json.dumps(result_schema())))
    for result in results.values():
        content = json.loads(encode_result(result))
        jsonschema.validate(content, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**content, "settings": "none"}, schema)


def test_a_dial_is_drawn_in_one_unit() -> None:
    """50 km are more noise than 500 m, whatever stands in front of the unit; degrees have an axis of their own."""
    table = dq.survey().iloc[:40]
    people = dq.microdata(table, ["sex"], coordinates=["lon", "lat"], ids="id")
    sizes = ("500m", "50km", "2km", "0.05deg", "0.5deg")
    masks = [f"gaussian:sigma={size}" for size in sizes]
    result = dq.audit(people, masks, attacks="labels", repetitions=1, person_trials=10, sensitivity=False)
    found = re.search(r'<script[^>]*id="specs"[^>]*>(.*?)</script>', dq.report(result), re.DOTALL)
    assert found
    drawn = {name: spec for name, spec in json.loads(found[1]).items() if name.startswith("dial-")}
    assert [[row["dial"] for row in spec["data"]["values"]] for spec in drawn.values()] == [
        [500, 2000, 50000],
        [0.05, 0.5],
    ]
    assert [spec["layer"][0]["encoding"]["x"]["title"] for spec in drawn.values()] == [
        "gaussian: sigma (m)",
        "gaussian: sigma (deg)",
    ]


def test_what_is_no_result_is_refused(tmp_path: Path, results: Results) -> None:
    """Not JSON, another JSON, an old or unknown version, cut off, a part missing: one sentence each."""
    path = tmp_path / "result.json"
    whole = encode_result(results[False])
    content = json.loads(whole)
    for text, why in {
        b"not json": "not a JSON file",
        b"[1]": "not the result of an audit",
        b'{"kind": "disclique audit", "version": 99}': "version 99",
        json.dumps(
            {**content, "version": 1}
        ).encode(): "version 1 of the result cannot be shown .*; run the audit again",
        whole[: len(whole) // 2]: "not a JSON file",
        json.dumps({name: part for name, part in content.items() if name != "settings"}).encode(): "not complete",
    }.items():
        path.write_bytes(text)
        with pytest.raises(InputError, match=why) as refused:
            dq.read_result(path)
        assert "\n" not in str(refused.value)
    with pytest.raises(InputError, match="cannot be read"):
        dq.read_result(tmp_path / "nowhere.json")


DRAWN = "document.documentElement.dataset.drawn || document.documentElement.dataset.problem"


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False)])
@pytest.mark.parametrize("with_records", [False, True])
def test_a_real_browser_draws_it_without_a_network(
    chrome: browser.Browser,
    results: Results,
    tmp_path: Path,
    width: int,
    dark: bool,
    with_records: bool,
) -> None:
    """No request fails or leaves the file, nothing is complained about, every chart is there and nothing sticks out."""
    path = tmp_path / "report.html"
    results[with_records].report(path)
    chrome.forget()
    chrome.open(path, width=width, dark=dark)
    charts = chrome.value("document.querySelectorAll('.chart').length")
    assert charts == (9 if with_records else 8)
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
    """Hover over a bar of the risk chart: the tooltip says what could be found, at most, and what an attack showed."""
    chrome.open(page)
    chrome.wait(DRAWN)
    spot = chrome.value(
        "(() => { const p = [...document.querySelectorAll('#chart-risk .mark-rect.role-mark path')].at(0);"
        " p.scrollIntoView({block: 'center'}); const r = p.getBoundingClientRect();"
        " return [r.x + r.width / 3, r.y + r.height / 2]; })()"
    )
    for shift in (-3, 0):
        chrome.send("Input.dispatchMouseEvent", type="mouseMoved", x=spot[0] + shift, y=spot[1])
    shown = chrome.wait("document.querySelector('#vg-tooltip-element.visible')?.innerText")
    assert "could be found" in shown
    assert "shown in practice" in shown
    assert "%" in shown


def test_it_prints(chrome: browser.Browser, page: Path) -> None:
    """The page becomes a PDF with text on it."""
    chrome.open(page, dark=True)
    chrome.wait(DRAWN)
    made_pdf = base64.b64decode(chrome.send("Page.printToPDF", printBackground=False)["data"])
    assert made_pdf.startswith(b"%PDF")
    assert len(made_pdf) > 20_000


def test_every_status_has_a_colour_of_its_own(chrome: browser.Browser, results: Results, tmp_path: Path) -> None:
    """Kept, not shown, broken and measured are told apart at a glance."""
    colours = set()
    for status in STATUSES:
        with_status(results[False], status).report(tmp_path / "page.html")
        chrome.open(tmp_path / "page.html")
        colours.add(chrome.value("getComputedStyle(document.querySelector('.verdict .status')).color"))
    assert len(colours) == len(STATUSES)
