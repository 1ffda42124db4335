"""The annex and what the report tells: the map that is safe to share, other assumptions, wrong matches, one block."""

import json
import math
import re
import shlex
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import browser
import disclique as dq
from conftest import Run
from disclique.attacks.claims import make_claims
from disclique.audits import Audit, AuditResult, Snooper, run_audit
from disclique.audits.definition import Varied
from disclique.audits.exposure import draw_coarse_map
from disclique.audits.facts import declare
from disclique.audits.known_file import KnownFile
from disclique.audits.rates import measure_oracle
from disclique.audits.result import decode_result, encode_result
from disclique.audits.sensitivity import choose_variants
from disclique.audits.unit import run_unit
from disclique.audits.yardsticks import find_taken
from disclique.errors import InputError
from disclique.measures.risk import Truth
from disclique.measures.utility import measures
from disclique.messages import Message, percent
from disclique.records.tables import microdata
from disclique.runs import Unit
from disclique.show.pages import figure, measured, title_of
from disclique.spaces import full_matrix
from small_files import COLUMNS, LIGHT, make_audit, make_file, make_plan, people

DECISION = {"author": "A. Meyer", "purpose": "teaching <b>only</b>", "date": date(2026, 3, 1), "holder": "The Office"}
MASK = "gaussian:sigma=25km"


# -- the map that is safe to share ---------------------------------------------------------------------------------


@st.composite
def towns(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """People of a few towns, alone in the country, or on one spot; some of them with a risk that is not known."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-4, 1))
    centres = rng.uniform(-1, 1, (draw(st.integers(1, 5)), 2)) * scale * 5 + rng.uniform(-50, 50, 2)
    n = draw(st.integers(0, 300))
    places = centres[rng.integers(len(centres), size=n)] + rng.normal(0, scale * draw(st.sampled_from([0, 0.01, 1])))
    places = places + rng.normal(0, scale * draw(st.sampled_from([0.0, 0.05, 1.0])), (n, 2))
    risk = rng.random(n)
    risk[rng.random(n) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = np.nan
    return np.clip(places, [-180, -90], [180, 90]), risk, draw(st.integers(3, 20))


@settings(deadline=None, max_examples=150)
@given(towns())
def test_no_cell_of_the_map_has_fewer_than_k_people(case: tuple[np.ndarray, np.ndarray, int]) -> None:
    """Every cell has k people with a risk; cells tile a box, hold everybody once, and their edges are round numbers."""
    places, risk, k = case
    found = draw_coarse_map(places, risk, k=k)
    extent = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    there = ~np.isnan(risk)
    if there.sum() < 2 * k or extent == 0:
        assert found is None
        return
    assert found is not None
    step = 10.0 ** math.floor(math.log10(extent / 40)) / 10
    seen = np.zeros(len(places), dtype=int)
    for cell in found.cells:
        east = (places[:, 0] < cell.east) | ((cell.east == 180) & (places[:, 0] == 180))
        north = (places[:, 1] < cell.north) | ((cell.north == 90) & (places[:, 1] == 90))
        slack = extent * 1e-9
        inside = (places[:, 0] >= cell.west - slack) & east & (places[:, 1] >= cell.south - slack) & north
        seen += inside
        assert cell.people == inside.sum()
        assert (inside & there).sum() >= k
        assert cell.risk == pytest.approx(risk[inside & there].mean())
        for edge in (cell.west, cell.south, cell.east, cell.north):
            assert edge / step == pytest.approx(round(edge / step), abs=1e-4)
    assert (seen == 1).all()
    assert sum(cell.people for cell in found.cells) == len(places)
    west, south = min(c.west for c in found.cells), min(c.south for c in found.cells)
    east_most, north_most = max(c.east for c in found.cells), max(c.north for c in found.cells)
    area = sum((c.east - c.west) * (c.north - c.south) for c in found.cells)
    assert area == pytest.approx((east_most - west) * (north_most - south))


def test_the_map_does_not_follow_anybody() -> None:
    """Who moves within a square of the fine grid moves no edge, and no edge lies at anybody's place."""
    rng = np.random.default_rng(3)
    places, risk = rng.uniform([5, 47], [15, 55], (200, 2)), rng.random(200)
    first = draw_coarse_map(places, risk, k=10)
    squares = np.floor(places / 0.5)  # the step for an extent of 10 degrees
    moved = (squares + rng.uniform(0.01, 0.99, places.shape)) * 0.5
    # those on the rim keep their places: the grid follows from the extent
    rim = (places == places.min(axis=0)) | (places == places.max(axis=0))
    moved[rim.any(axis=1)] = places[rim.any(axis=1)]
    moved = np.clip(moved, places.min(axis=0), places.max(axis=0))
    assert np.array_equal(np.floor(moved / 0.5), squares)
    again = draw_coarse_map(moved, risk, k=10)
    assert first is not None
    assert first == again
    edges = {edge for c in first.cells for edge in (c.west, c.south, c.east, c.north)}
    assert not edges & set(places.ravel().tolist())


# -- what the holder declares --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"autor": "x"}, "unknown entry 'autor'; there are author, purpose"),
        ({"k": 2}, "at least 3 people"),
        ({"k": True}, "at least 3 people"),
        ({"k": "10"}, "at least 3 people"),
        ({"purpose": 7}, "purpose = 7: a text is meant"),
        ("A. Meyer", "no section"),
    ],
)
def test_a_decision_that_is_not_understood_is_one_sentence(given_: Any, why: str) -> None:
    """An entry that would silently be left out of the annex is an error."""
    with pytest.raises(InputError, match=re.escape(why)) as refused:
        declare(given_)
    assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    """An audit with a limit, an oracle, other assumptions, and the records in it."""
    asked: dict[str, Any] = {"overlap": 0.3, "repetitions": 2, "max_risk": 0.95, "person_trials": 10, "budget": 0.05}
    names = ["labels", "clique"]
    return dq.audit(make_file(80), ["affine", MASK], attacks=names, with_records=True, decision=DECISION, **asked)


def test_the_annex_says_who_decides_and_nothing_of_anybody(result: AuditResult) -> None:
    """Declared beside measured, sign-off lines; no id or place, also when the result holds the records."""
    text = result.annex()
    for said in ("The Office", "A. Meyer", "2026-03-01", "teaching &lt;b&gt;only", "For the data holder", "signature"):
        assert said in text
    assert text.count('<span class="blank">') == 3  # recipients and basis were not said; why this threshold
    assert "teaching <b>" not in text
    assert result.records is not None
    for person in result.records.people:
        assert person.id not in text
        assert f"{person.x:.4f}" not in text
    setting = result.setting(result.verdict.setting)
    assert str(result.again) in text.replace("&#39;", "'")
    assert percent(setting.risk.value).replace(" ", "\u00a0") in text.replace(" %", "\u00a0%")
    bare = replace(result, declared=declare(None)).annex()
    assert bare.count('<span class="blank">') == 7


def test_a_decision_can_be_given_to_the_annex_later(result: AuditResult, tmp_path: Path) -> None:
    """Also from a result that was read; cells of more people than the map has cannot be made from it."""
    read = decode_result(encode_result(replace(result, records=None)))
    assert read == replace(result, records=None)
    assert "B. Schulz" in read.annex(tmp_path / "a.html", decision={"author": "B. Schulz"})
    assert "B. Schulz" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert result.coarse_map is not None
    with pytest.raises(InputError, match="k = 50: the map of this result has cells of at least 10 people"):
        read.annex(decision={"k": 50})


# -- other assumptions ---------------------------------------------------------------------------------------------


def test_other_assumptions_are_measured_as_an_audit_with_them_would(result: AuditResult) -> None:
    """Half and double the overlap and two label errors, by the oracle on the same releases, and the declared one."""
    found = result.sensitivity
    assert found is not None
    assert found.by == "oracle"
    values = [(one.varied, one.value, one.declared) for one in found.points]
    assert values == [
        ("overlap", 0.15, False),
        ("overlap", 0.3, True),
        ("overlap", 0.6, False),
        ("overlap", 1.0, False),
        ("strangers", 0.0, False),
        ("strangers", 56.0, True),
        ("label-error", 0.0, True),
        ("label-error", 0.02, False),
        ("label-error", 0.1, False),
    ]
    for place, snooper in ((2, Snooper(overlap=0.6)), (8, Snooper(overlap=0.3, label_error=0.1))):
        other = Audit(make_plan(found.spec, snooper=snooper, attacks=("labels",), repetitions=10), make_file(80))
        records = {k: run_unit(other, Unit(other.plan.settings[0], k)) for k in range(10)}
        asked = measure_oracle(records, "prosecutor")
        assert asked is not None
        assert (found.points[place].risk, found.points[place].high) == (asked.value, asked.high)
    own = result.setting(found.spec).oracle
    assert own is not None
    assert {one.risk for one in found.points if one.declared} == {own.value}


def test_what_is_varied_follows_from_what_was_assumed(result: AuditResult) -> None:
    """The whole file: half and a fifth. A given file: label errors only, and it is said. Errors declared: also none."""
    setting = result.setting(result.verdict.setting)

    def chosen(audit: Audit) -> list[tuple[str, float]]:
        return [(one.varied, one.value) for one in choose_variants(audit, setting).found]

    labels = [("label-error", 0.02), ("label-error", 0.1)]
    assert chosen(make_audit(MASK, sensitivity=True)) == [("overlap", 0.2), ("overlap", 0.5), *labels]
    drawn = [("overlap", 0.4), ("overlap", 1.0), ("strangers", 0.0)]
    assert chosen(make_audit(MASK, snooper=Snooper(overlap=0.8), sensitivity=True)) == [*drawn, *labels]
    assert chosen(make_audit(MASK, snooper=Snooper(overlap=0.8), sensitivity=False)) == drawn[1:]
    wrong = make_audit(MASK, snooper=Snooper(overlap=0.8, label_error=0.05), sensitivity=True)
    assert chosen(wrong)[3:] == [("label-error", 0.0), ("label-error", 0.1)]
    theirs = make_plan(MASK, snooper=Snooper(given=True), sensitivity=True)
    given_ = choose_variants(Audit(theirs, make_file(), make_file(40)), setting)
    assert [one.varied for one in given_.found] == ["label-error", "label-error"]
    assert given_.notes[0].code == "only_label_errors_varied"
    few = make_audit(
        MASK, snooper=Snooper(overlap=0.5, seeds=20), sensitivity=True
    )  # half of them would be no more than the seeds
    kept = choose_variants(few, setting)
    assert [one.value for one in kept.found] == [1.0, 0.0, 0.02, 0.1]
    assert kept.notes[0].code == "variant_not_tried"


def test_other_assumptions_go_on_where_they_were_interrupted(tmp_path: Path) -> None:
    """Journalled unit by unit; asked for later in the same folder, and the same in the end."""
    audit = make_audit(MASK, n=30, repetitions=1, attacks=("labels",), person_trials=10)
    asking = Audit(replace(audit.plan, sensitivity=True), audit.target)
    assert run_audit(audit, folder=tmp_path / "a").sensitivity is None

    done = 0

    def stop(_: int, __: int, unit: Unit | None) -> None:
        nonlocal done
        done += bool(unit and isinstance(unit.stage, Varied))
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_audit(asking, folder=tmp_path / "a", progress=stop)
    kept = (tmp_path / "a" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    later = run_audit(asking, folder=tmp_path / "a")
    lines = (tmp_path / "a" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[: len(kept)] == kept
    assert sum('"part":"varied:' in line.replace(" ", "") for line in kept) == 5
    assert later.sensitivity == run_audit(asking).sensitivity
    assert later.sensitivity is not None
    assert later.verdict == run_audit(audit).verdict


# -- wrong matches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["prosecutor", "marketer"])
def test_who_was_taken_for_whom_is_what_the_scenario_names(scenario: str) -> None:
    """By brute force over random claims: the most probable one, where it is wrong; nobody where nothing is claimed."""
    rng, size = np.random.default_rng(5), 30
    file = make_file(size)
    truth = Truth(np.column_stack([np.arange(20), rng.permutation(size)[:20]]))
    known = KnownFile(file, truth, file, np.arange(size), seeds=(tuple(truth.pairs[0].tolist()),))  # type: ignore[arg-type]
    every = rng.permutation(size * size)[:200]
    target, theirs = (every // size).astype(np.int32), (every % size).astype(np.int32)
    claims = make_claims((target, theirs, rng.random(200)), attack="mine")
    wanted = []
    for t, k in truth.pairs[1:].tolist():
        mine = claims.known == k if scenario == "prosecutor" else claims.target == t
        pairs = [
            (p, a, b)
            for a, b, p in zip(claims.target[mine], claims.known[mine], claims.probability[mine], strict=True)
            if (a, b) != known.seeds[0] and a != known.seeds[0][0] and b != known.seeds[0][1]
        ]
        if pairs and max(pairs)[1:] != (t, k):
            wanted.append((int(max(pairs)[1]), int(max(pairs)[2])))
    assert len(wanted) > 5
    assert sorted(find_taken(claims, known, scenario)) == sorted(wanted)
    assert find_taken(claims, known, "journalist") == []


def test_wrong_matches_are_drawn_beside_right_ones(result: AuditResult) -> None:
    """Every known person is found, taken for another, or nobody was named; lines fit that, on the map too."""
    seen = result.matches
    assert seen is not None
    assert seen.wrong > 0
    assert seen.correct + seen.wrong <= seen.common == 24
    right = {a for a, b in seen.lines if a == b}
    assert {k for k, outcome in enumerate(seen.shown) if outcome == "correct"} == right
    persons = {b for a, b in seen.lines if a != b and b >= 0}
    assert {k for k, outcome in enumerate(seen.shown) if outcome == "wrong"} == persons
    assert result.records is not None
    lines = result.records.lines
    assert sum(not line.true for line in lines) == seen.wrong
    assert sum(line.true for line in lines) == seen.correct
    text = result.report()
    svg = text[text.index('<svg class="schematic"') : text.index("</figure>")]
    assert svg.count('<line class="wrong') == len([1 for a, b in seen.lines if a != b]) + 1  # one in the legend
    assert svg.count('<line class="correct') == len(right) + 1


# -- what the report tells -----------------------------------------------------------------------------------------


def test_the_report_names_what_ran_what_did_not_apply_and_what_was_not_asked_for(result: AuditResult) -> None:
    """In the headline too; an attack that did nothing is not among those of the method."""
    bare = microdata(people(40), ["sex", "age"], distances=np.sqrt(full_matrix(make_file(40).distances)), ids="id")
    plan = make_plan("matrix-gaussian:sd=2", attacks=("labels", "register"), repetitions=1)
    found = run_audit(Audit(plan, bare))
    assert found.verdict.cautions[0].values["ran"] == Message("were_tried", names=["labels"], count=1)
    text = found.report()
    method = text[text.index("<h2>Method</h2>") :]
    first, _, rest = method.partition("These were asked for and did not apply")
    assert re.findall(r"<dt><strong>(.*?)</strong>", first) == ["labels"]
    assert "<strong>register</strong>" in rest
    assert re.search(r"These were not asked for: numbers, clique, extend", rest)
    assert "Kroll" not in method
    assert "does not apply: " in text


def test_one_more_release_is_said_of_the_setting_that_is_named(result: AuditResult) -> None:
    """One sentence, however many settings were tried."""
    setting = result.setting(result.verdict.setting)
    assert setting.again is not None
    assert result.again is not None
    assert result.again.code == "again_identifies"
    assert result.again.values["mask"] == Message("mask_with", name="gaussian", parts=["sigma 25km"])
    assert result.limits.count(result.again) == 1


@pytest.mark.parametrize(
    ("name", "value", "unit", "shown"),
    [
        ("bias", 5.85e-14, "km", "0"),
        ("bias", -0.01234, "km", "-0.0123"),
        ("displacement_mean", 9823.4, "km", "9\u202f820"),
        ("variance", 463.27, "km", "463"),
        ("neighbours", 0.2543, "km", "25\u00a0%"),
        ("spearman", -1e-17, "km", "0.000"),
        ("pearson", None, "km", "–"),
        ("bias", 3e-4, "", "0.0003"),
    ],
)
def test_figures_have_a_unit_and_no_digits_that_mean_nothing(name: str, value: float, unit: str, shown: str) -> None:
    """What rounding leaves is 0; lengths have three digits, variances the square of the unit."""
    assert measured(value, measures()[name], unit) == shown
    assert str(title_of(measures()["variance"], "km")) == "variance of d - d′ (km²)"
    assert "(" not in str(title_of(measures()["bias"], ""))
    assert figure(1e7).split() == ["10", "000", "000"]


def test_figures_lie_beside_the_report_as_tables(result: AuditResult, tmp_path: Path) -> None:
    """Linked by relative names, all of them there, equal to the result, and of nobody in particular."""
    result.report(tmp_path / "mine.html")
    text = (tmp_path / "mine.html").read_text(encoding="utf-8")
    links = re.findall(r'<a href="(.*?)">', text)
    assert [Path(link).name for link in links] == [
        "risk.csv",
        "people.csv",
        "utility.csv",
        "sensitivity.csv",
        "map.csv",
        "known_figures.csv",
    ]
    for link in links:
        assert "p007" not in (tmp_path / link).read_text(encoding="utf-8")
    risk = pd.read_csv(tmp_path / links[0])
    assert len(risk) == sum(len(s.attacks) for s in result.settings)
    assert risk.risk.tolist() == pytest.approx([a.risk.value for s in result.settings for a in s.attacks])
    assert result.report().count("<a href") == 0


def test_the_command_can_be_repeated_from_the_report(run: Run) -> None:
    """The block has command, plan, seed and hash; the command it names gives the same figures."""
    people(30).to_csv("my file.csv", index=False)
    Path("plan.toml").write_text(
        'mask = ["affine"]\noverlap = 0.5\nattack = ["labels"]\nseed = 7\n'
        '[decision]\nauthor = "A. Meyer"\ndate = 2026-03-01\nk = 5\n'
    )
    quick = ("--repetitions", "1", "--processes", "1", *LIGHT)
    code, _, err = run("audit", "my file.csv", *COLUMNS, *quick, "--config", "plan.toml", "--out", "o")
    assert code == 0, err
    assert "note: Only labels was tried" in err
    text = Path("o/report.html").read_text(encoding="utf-8")
    block = text[text.index('<pre id="repeat">') : text.index("</pre>")].replace("&#39;", "'")
    made = json.loads(Path("o/result.json").read_text(encoding="utf-8"))
    assert made["plan"]["inputs"]["my file.csv"] in block
    assert {one["varied"] for one in made["sensitivity"]["points"]} == {"overlap", "strangers"}  # in one's favour
    assert "Random seed: 7" in block
    line = next(one for one in block.splitlines() if one.startswith("disclique audit"))
    words = shlex.split(line)[1:]
    assert words[:2] == ["audit", "my file.csv"]
    words[words.index("--out") + 1] = "p"
    code, _, err = run(*words, "--processes", "1")
    assert code == 0, err
    again = json.loads(Path("p/result.json").read_text(encoding="utf-8"))
    assert [s["risk"] for s in again["settings"]] == [s["risk"] for s in made["settings"]]
    assert "A. Meyer" in Path("o/annex.html").read_text(encoding="utf-8")
    assert made["declared"]["k"] == 5
    Path("plan.toml").write_text('[decision]\nautor = "A. Meyer"\n')
    code, _, err = run("report", "o/result.json", "--out", "r.html", "--annex", "--config", "plan.toml")
    assert (code, "unknown entry 'autor'" in err) == (2, True)
    Path("plan.toml").write_text('[decision]\nauthor = "B. Schulz"\n')
    code, _, err = run("report", "o/result.json", "--out", "r.html", "--annex", "--config", "plan.toml")
    assert code == 0, err
    assert "B. Schulz" in Path("annex.html").read_text(encoding="utf-8")
    code, _, err = run("audit", "my file.csv", *COLUMNS, "--mask", "affine", "--config", "none.toml", "--out", "q")
    assert code == 2


DRAWN = "document.documentElement.dataset.drawn || document.documentElement.dataset.problem"


@pytest.mark.parametrize("name", ["report", "annex"])
def test_pages_fit_screen_and_paper(chrome: browser.Browser, result: AuditResult, tmp_path: Path, name: str) -> None:
    """Nothing is wider than the page at 1280, 390 and on A4; wide tables say so; what is folded is open on paper."""
    path = tmp_path / f"{name}.html"
    getattr(result, name)(path)
    for width in (1280, 390):
        chrome.forget()
        chrome.open(path, width=width)
        assert chrome.wait(DRAWN) == str(chrome.value("document.querySelectorAll('.chart').length"))
        assert chrome.value("document.documentElement.scrollWidth") <= width
        hidden = (
            "[...document.querySelectorAll('.wide')].filter(b => b.scrollWidth > b.clientWidth + 1"
            " && !b.previousElementSibling?.classList.contains('hint')).length"
        )
        assert chrome.value(hidden) == 0
        assert chrome.complaints() == []
    folded = chrome.value("document.querySelectorAll('details:not([open])').length")
    assert (folded > 0) == (name == "report")
    chrome.open(path, width=688)  # A4 without its margins
    chrome.wait(DRAWN)
    chrome.send("Emulation.setEmulatedMedia", media="print")
    chrome.value("window.dispatchEvent(new Event('beforeprint'))")
    assert chrome.value("document.querySelectorAll('details:not([open])').length") == 0
    sticking = (
        "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 689 &&"
        " !e.closest('svg') && getComputedStyle(e).display !== 'none').map(e => e.tagName + e.className)"
    )
    assert chrome.value(sticking) == []
    chrome.value("window.dispatchEvent(new Event('afterprint'))")
    assert chrome.value("document.querySelectorAll('details:not([open])').length") == folded
    chrome.send("Emulation.setEmulatedMedia", media="")


def test_the_block_can_be_copied(chrome: browser.Browser, result: AuditResult, tmp_path: Path) -> None:
    """The button, which needs a script to be shown, marks the whole text: it can be copied by hand as well."""
    result.report(tmp_path / "page.html")
    assert re.search(r"<button[^>]* hidden>", (tmp_path / "page.html").read_text(encoding="utf-8"))
    chrome.open(tmp_path / "page.html")
    chrome.wait(DRAWN)
    assert chrome.value("!document.querySelector('button[data-copy]').hidden")
    chrome.value("document.querySelector('button[data-copy]').closest('details').open = true")
    chrome.value("document.querySelector('button[data-copy]').click()")
    assert chrome.value("getSelection().toString()").strip().splitlines()[1] == result.command
