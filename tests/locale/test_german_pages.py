"""The report and the annex in German: everything on them is German, whatever was audited and however it ended."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import browser
import disclique as dq
from conftest import Run
from disclique.audits import AuditResult, Plan
from disclique.audits.caveats import foresee
from disclique.audits.facts import FAILS, MEASURED, MEETS, UNPROVEN, SettingFacts
from disclique.audits.rates import Found
from disclique.audits.result import encode_result
from disclique.audits.verdict import decide
from disclique.errors import InputError
from disclique.messages import Message, has_sentence, say
from small_files import COLUMNS, LIGHT, people

ENGLISH = re.compile(r"\b(the|were|would|with|which|of|and|are|not|from|that|does|have)\b")
EVIL = "<b>the age</b>"
QUICK = {"repetitions": 2, "person_trials": 5, "budget": 0.005, "sensitivity": False}
WHY = Message("persons_not_measured")
Results = dict[str, AuditResult]


@pytest.fixture(scope="module")
def results() -> Results:
    """A map with labels as a dial, a matrix of which some is left out, texts, and a file that is given."""
    table = people(30)
    table["years"] = np.random.default_rng(0).integers(20, 80, 30)
    table["name"] = [f"{one} {other}" for one, other in itertools.product(["anna", "otto", "ida"], "abcdefghij")]
    by = {"coordinates": ["lon", "lat"], "ids": "id"}
    survey = dq.microdata(table, ["sex"], name="survey.csv", **by)
    aged = dq.microdata(table.rename(columns={"years": EVIL}), ["sex", EVIL], name=f"{EVIL}.csv", **by)
    apart = np.abs(np.subtract.outer(table.lon.to_numpy(), table.lon.to_numpy())) * 70 + 5 * (1 - np.eye(30))
    times = dq.microdata(table, ["sex"], distances=apart, ids="id", name="times")
    names = dq.microdata(table, ["sex"], text=["name"], ids="id", name="names.csv")
    known = dq.microdata(table.assign(sex=["x", "f"] * 15).iloc[:20], ["sex"], name="known.csv", **by)
    spread = {"attacks": ["labels", "clique"], "overlap": 0.5, "with_records": True, "sensitivity": True}
    return {
        "dial": dq.audit(survey, ["affine", "gaussian:sigma=60km..90km"], max_risk=0.5, **QUICK | spread),
        "labels": dq.audit(
            aged, "gaussian:sigma=5km", generalise=[f"{EVIL}=width:{EVIL}:20", "drop:sex"], attacks="labels", **QUICK
        ),
        "matrix": dq.audit(
            times,
            ["matrix-gaussian:sd=1", "knn:k=3"],
            attacks=["labels", "bend"],
            overlap=0.5,
            max_risk=0.9,
            scenario="journalist",
            **QUICK,
        ),
        "texts": dq.audit(names, "bloom", attacks=["labels", "register"], overlap=0.5, label_error=0.1, **QUICK),
        "given": dq.audit(
            survey,
            "gaussian:sigma=5km",
            known=known,
            attacks=["labels"],
            max_risk=0.01,
            max_risk_person=0.5,
            releases=2,
            scenario="marketer",
            accept=[remark.name for remark in dq.inspect(survey, known, same_ids=True).remarks],
            **QUICK,
        ),
    }


def shown(page: str) -> Iterator[str]:
    """What people read on a page: texts, titles and descriptions, without names, code, citations and scripts."""
    own = re.sub(r"<(script|style|code|cite|pre)\b.*?</\1>", "…", page, flags=re.DOTALL)
    for text in [*re.findall(r">([^<>]+)<", own), *re.findall(r'(?:title|aria-label|data-\w+)="([^"]*)"', own)]:
        plain = re.sub(r"<b>the age</b>|\S+:\S+=\S+|\(to \w+\)", "…", unescape(text)).strip()
        if plain:
            yield plain


@pytest.mark.parametrize("name", ["dial", "labels", "matrix", "texts", "given"])
def test_a_german_page_is_german(results: Results, name: str) -> None:
    """No sentence is left in English, and no English word is in one; decimals have commas."""
    result = results[name]
    report = result.report(language="de")
    for page in (report, result.annex(language="de")):
        assert page.startswith('<!doctype html>\n<html lang="de">')
        assert re.findall(r'<span lang="en">(.*?)</span>', page) == []
        # names of remarks, by which they are accepted, are the same in every language
        names = re.compile(r"\([a-z0-9-]+\)")
        left = [text for text in shown(page) if ENGLISH.search(text) and not names.fullmatch(text)]
        assert left == []
        assert not [text for text in shown(page) if re.search(r"\d\.\d+\s?%", text)]
        assert "Angreifer" in page
    specs = re.search(r'id="specs">(.*?)</script>', report, re.DOTALL)
    assert specs is not None
    assert not {"risk", "could be found", "at most"} & set(titles(json.loads(specs[1])))
    assert "auffindbar" in set(titles(json.loads(specs[1])))


def titles(spec: object) -> Iterator[str]:
    """Every title in the charts."""
    if isinstance(spec, dict):
        if isinstance(spec.get("title"), str):
            yield spec["title"]
        for part in spec.values():
            yield from titles(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from titles(part)


def test_names_are_escaped_in_german_too(results: Results) -> None:
    page = results["labels"].report(language="de")
    assert EVIL not in page
    assert "&lt;b&gt;the age&lt;/b&gt; in Klassen von 20" in page
    assert "<code>gaussian:sigma=5km" in page


def test_a_result_does_not_depend_on_the_language(results: Results, tmp_path: Path) -> None:
    """A German page changes nothing: neither the result nor the figures beside it, and the next page is English."""
    result = results["texts"]
    before = encode_result(result)
    result.report(tmp_path / "de.html", language="de")
    assert '<html lang="en">' in result.report(tmp_path / "en.html")
    assert encode_result(result) == before
    for path in (tmp_path / "en_figures").iterdir():
        assert path.read_bytes() == (tmp_path / "de_figures" / path.name).read_bytes()
    with pytest.raises(InputError, match="there are en, de"):
        result.report(tmp_path / "fr.html", language="fr")
    with pytest.raises(InputError, match="there are en, de"):
        result.annex(tmp_path / "fr.html", language="fr")
    assert not list(tmp_path.glob("fr*"))


def test_a_sentence_that_nobody_translated_says_that_it_is_english(results: Results) -> None:
    """One of a later version, or of an attack of one's own, is shown as it is, and marked for who reads it aloud."""
    said = replace(results["dial"].verdict, reasons=(Message(f"Something new about {EVIL}."),))
    page = replace(results["dial"], verdict=said).annex(language="de")
    assert '<p><span lang="en">Something new about &lt;b&gt;the age&lt;/b&gt;.</span></p>' in page


def settings(given: SettingFacts) -> Iterator[SettingFacts]:
    """A setting as it might have come out: above a limit, under it, attacked or not, beaten, without an oracle."""
    attack = given.attacks[0]
    cut = replace(attack, attack="clique", applies=True, cut=2, cut_why=WHY, doubtful=1)
    idle = replace(attack, attack="bend", applies=False, why=WHY)
    unlaid = replace(attack, attack="register", unlaid=0.4, doubtful=2)
    found = Found("clique", 0.0004, 0.4, 2, cut=True)
    for value, shown, beaten, oracle in itertools.product((0.0004, 1.0), (found, None), (False, True), (True, False)):
        risk = replace(given.risk, value=value, high=max(value, 0.04), found=shown, beaten=beaten)
        base = replace(given, risk=risk, person=0.7, oracle=given.oracle if oracle else None, again=0.3)
        why = None if oracle else WHY
        yield replace(base, attacks=(attack, cut, idle, unlaid), oracle_why=why)
        yield replace(base, attacks=(idle,), oracle_why=why)


@pytest.mark.parametrize("scenario", ["prosecutor", "journalist", "marketer"])
@pytest.mark.parametrize("status", [MEETS, UNPROVEN, FAILS, MEASURED])
def test_every_verdict_has_its_german(results: Results, scenario: str, status: str) -> None:
    """However an audit ends: verdict, cautions and what a further release does."""
    labelled = results["labels"].settings[0].labels
    given = next(one for one in results["dial"].settings if one.oracle is not None)
    limit = None if status == MEASURED else 0.05
    whys = (
        Message("looked_at_a_few_times", some=2, all=10),
        Message("no_oracle", why=WHY),
        Message("oracle_is_wrong", attack="clique"),
    )
    seen = set()
    for k, one in enumerate(settings(given)):
        meets, unsettled = status == MEETS, status == UNPROVEN
        found = replace(one, meets=meets, open=unsettled, open_why=whys[k % 3] if unsettled else None)
        found = replace(found, labels=labelled if k % 2 else None)
        others = [replace(found, spec=f"other {n}", meets=False, repetitions=n) for n in (1, 2, 3)]
        for person, utility in ((None, "neighbours"), (0.5, "spearman")):
            plan = Plan(
                ("affine",), max_risk=limit, max_risk_person=person if limit else None, scenario=scenario,
                utility=utility, attacks=("labels", "clique"), repetitions=2, releases=1 + k % 2,
            )  # fmt: skip
            verdict = decide([found, *others], plan)
            seen.add(verdict.status)
            for message in (*verdict.reasons, *verdict.cautions, foresee(found, plan)):
                assert has_sentence(message, "de"), message
                said = say(message, "de")
                assert not ENGLISH.search(said.replace(EVIL, "")), said
    assert seen == {status}


def test_the_command_writes_german_pages(results: Results, run: Run, tmp_path: Path) -> None:
    """``disclique report --language de``; what it prints stays English, and another language is refused at once."""
    path = tmp_path / "result.json"
    path.write_bytes(encode_result(results["texts"]))
    code, out, err = run("report", str(path), "--out", str(tmp_path / "r.html"), "--annex", "--language", "de")
    assert code == 0
    assert "report:" in out + err
    for page in ("r.html", "annex.html"):
        assert '<html lang="de">' in (tmp_path / page).read_text(encoding="utf-8")
    code, _, err = run("report", str(path), "--out", str(tmp_path / "no.html"), "--language", "fr")
    assert code != 0
    assert "there are en, de" in err
    assert not (tmp_path / "no.html").exists()


def test_a_browser_draws_german_charts(chrome: browser.Browser, results: Results, tmp_path: Path) -> None:
    """Ticks have a space before the sign of per cent, axes German titles, and the hint at wide tables is German."""
    results["texts"].report(tmp_path / "r.html", language="de")
    chrome.forget()
    chrome.open(tmp_path / "r.html", width=390)
    assert chrome.wait("document.documentElement.dataset.drawn || document.documentElement.dataset.problem").isdigit()
    words = chrome.value("[...document.querySelectorAll('#chart-risk text')].map(t => t.textContent)")
    assert "40\u00a0%" in words
    assert "der bekannten Personen" in words
    assert chrome.value("document.querySelector('.hint').textContent").startswith("diese Tabelle geht rechts")
    assert chrome.value("document.documentElement.scrollWidth") <= 390
    assert chrome.complaints() == []


def test_an_audit_writes_its_pages_in_the_language_asked_for(run: Run, tmp_path: Path) -> None:
    """Only the pages: what is printed stays English, and the result says nothing of the language."""
    people(20).to_csv(tmp_path / "file.csv", index=False)
    asked = ("audit", str(tmp_path / "file.csv"), *COLUMNS, "--mask", "affine", "--attack", "labels", *LIGHT)
    more = ("--repetitions", "1", "--processes", "1", "--yes")
    code, out, err = run(*asked, *more, "--out", str(tmp_path / "a"), "--language", "de")
    assert code == 0
    assert "Released with the mask affine" in out + err
    for page in ("report.html", "annex.html"):
        assert '<html lang="de">' in (tmp_path / "a" / page).read_text(encoding="utf-8")
    assert "language" not in (tmp_path / "a" / "result.json").read_text(encoding="utf-8")
    code, _, err = run(*asked, *more, "--out", str(tmp_path / "b"), "--language", "fr")
    assert code != 0
    assert "there are en, de" in err
    assert not (tmp_path / "b").exists()
