"""Ask in the app: the form, the file and the command line are one plan; nothing is dropped, altered or let through."""

import re
import shlex
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

import disclique.audits.from_options
import disclique.cli
from app_visitor import Fields, Page, Visitor
from disclique.app.cards import spec_of, split_spec
from disclique.app.pictures import draw_mask
from disclique.audits.caveats import inspect_audit
from disclique.audits.from_options import read_audit, read_decision
from disclique.errors import InputError
from disclique.masks import masks, parse_mask
from disclique.options.audits import AuditOptions
from invented_towns import distances, towns
from plausible_mistakes import list_mistakes, make_files, make_mistake

HTMX = {"hx-request": "true"}


def asked(visitor: Visitor, table: pd.DataFrame, name: str = "p.csv", **more: str) -> tuple[str, Page]:
    """A file whose columns are confirmed, and the page that asks."""
    table.to_csv(visitor.site.places.start / name, index=False)
    at = visitor.open(name)
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    answer = visitor.post(f"{at}/open", page.fields | more)
    assert answer.status_code == 303, Page(answer.text).alerts
    return at, Page(visitor.get(f"{at}/ask").text, "ask-form")


def test_open_comes_first(visitor: Visitor) -> None:
    towns(30).to_csv(visitor.site.places.start / "p.csv", index=False)
    at = visitor.open("p.csv")
    assert visitor.get(f"{at}/ask").headers["location"] == f"{at}/open"
    assert visitor.get(at).headers["location"] == f"{at}/open"


FORMS: dict[str, Fields] = {
    "plain": {"mask": ["gaussian"], "dial:gaussian:sigma:a": "500m", "dial:gaussian:sigma:b": ""},
    "a limit and a range": {"mask": ["gaussian", "donut"], "max_risk": "0.05", "max_risk_person": "0.5", "seed": "7"},
    "many masks": {
        "mask": sorted(name for name, one in masks().items() if one.on != "text" and name not in ("dhs", "within")),
        "repetitions": "3",
    },
    "a parameter that has a default": {"mask": ["lipschitz"], "dial:lipschitz:norm:a": "inf"},
    "masks as they are written": {
        "mask": ["affine"],
        "more_masks": "gaussian:sigma=1km\n gaussian:sigma=3km \n\ndhs:urban=2km\nround: to=5km",
    },
    "a trader": {"mask": ["disc"], "who": "trader"},
    "a neighbour": {"mask": ["disc"], "who": "neighbour"},
    "somebody else": {
        "mask": ["swap"],
        "overlap": "0.25",
        "known_size": "200",
        "others": "germany",
        "label_error": "0.1",
        "coordinate_error": "100m",
        "seeds": "2",
        "missing": "never",
        "scenario": "journalist",
    },
    "a known file": {"mask": ["disc"], "known": "folder:known.csv"},
    "a file of others": {"mask": ["disc"], "others": "folder:others.csv", "overlap": "0.4"},
    "labels as a dial": {
        "mask": ["disc"],
        "how:geschlecht": "drop",
        "how:altersklasse": "prefix",
        "from:altersklasse": "1",
        "to:altersklasse": "2",
    },
    "project": {
        "mask": ["grid"],
        "attack": ["labels", "register"],
        "alpha": "0.3",
        "budget": "1e-05",
        "person_trials": "50",
        "thorough": "yes",
        "sensitivity": "",
        "memory": "50%",
        "releases": "2",
        "unlinked": "yes",
        "utility": "spearman",
    },
    "a declaration": {
        "mask": ["disc"],
        "decision:author": 'A. "Quote" Meyer <b>',
        "decision:date": "2026-03-01",
        "decision:k": "12",
    },
}


@pytest.mark.parametrize("case", FORMS)
def test_form_file_and_command_are_one_plan(case: str, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    start = visitor.site.places.start
    everybody = towns(90, seed=2)
    everybody.iloc[20:].to_csv(start / "known.csv", index=False)
    everybody.iloc[60:].to_csv(start / "others.csv", index=False)
    at, page = asked(visitor, everybody.iloc[:60])
    fields = page.fields | FORMS[case]
    if not fields["sensitivity"]:
        del fields["sensitivity"]
    side = Page(visitor.post(f"{at}/plan", fields, headers=HTMX).text)
    assert not side.alerts
    assert not visitor.project(at).said.get("mask")  # nothing is kept while the form is filled in
    answer = visitor.post(f"{at}/ask", fields | {"folder": ""})
    assert answer.status_code == 303, Page(answer.text).alerts
    project = visitor.project(at)
    form = read_audit(Path(project.file), project.options.filled())

    monkeypatch.chdir(start)
    Path("audit.toml").write_text(side.by_id["plan-toml"], encoding="utf-8")
    options = AuditOptions().filled(Path("audit.toml"))
    assert read_audit(Path("p.csv"), options).plan.to_dict() == form.plan.to_dict()
    assert read_decision(Path("audit.toml")) == project.declared
    for command in ("plan-command", "plan-short"):
        given = parse_command(side.by_id[command], monkeypatch)
        audit = read_audit(Path("p.csv"), given)
        assert audit.digest == form.digest
        assert audit.plan.to_dict() == form.plan.to_dict()

    again = Page(visitor.get(f"{at}/ask").text, "ask-form")
    assert visitor.post(f"{at}/ask", again.fields | {"folder": ""}).status_code == 303
    assert visitor.project(at).said == project.said  # what is shown again says the same
    assert visitor.project(at).declared == project.declared


def parse_command(line: str, monkeypatch: pytest.MonkeyPatch) -> AuditOptions:
    """The options that the real command line takes from a command."""
    taken: list[AuditOptions] = []

    def take(file: Path, options: AuditOptions) -> None:
        assert str(file) == "p.csv"
        taken.append(options)
        raise InputError("taken")

    monkeypatch.setattr(disclique.audits.from_options, "read_audit", take)
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit):
        disclique.cli.main()
    return taken[0]


WRONG = {
    "max_risk=1,000": "two ways",
    "max_risk=9": "9 %",
    "alpha=30 %": "write a number",
    "budget=1,000": "two ways",
    "max_risk=nan": "write a number",
    "max_risk=1e999": "write a number",
    "max_risk=5": "5",
    "max_risk_person=0.5": "set max risk too",
    "overlap=0": "overlap",
    "overlap=x": "write a number",
    "known_size=10": "goes with an overlap",
    "known_size=1.5": "whole number",
    "known_size=٣": "whole number",
    "label_error=1": "label error",
    "coordinate_error=5miles": "coordinate error",
    "seeds=-1": "seeds",
    "scenario=burglar": "scenario",
    "missing=sometimes": "missing",
    "utility=beauty": "utility",
    "others=pluto": "overlap",
    "known=folder:../../etc/passwd": "no such file",
    "known=upload:beside-x": "no such file",
    "repetitions=0": "repetitions",
    "seed=99999999999999999999": "whole number",
    "memory=much": "much",
    "releases=0": "releases",
    "alpha=1": "alpha",
    "mask=nothing": "no such mask",
    "more_masks=gaussian": "sigma is missing",
    "more_masks=gaussian:sigma=500m..5km,x=1": "x",
    "dial:gaussian:sigma:a=": "begins",
    "dial:gaussian:sigma:a=500": "unit",
    "dial:gaussian:sigma:a=1,000km": "one value",
    "dial:gaussian:sigma:a=1km,2km": "one value",
    "dial:gaussian:sigma:a=1km..3km": "one value",
    "dial:gaussian:sigma:b=-1km": "sigma",
    "how:geschlecht=width": "from which to which",
    "from:geschlecht=3": "what the values",
    "more_rules=age": "belong to the step before",
    "more_rules=a=width:b:0..3": "range",
    "decision:k=1": "k = 1",
    "decision:k=many": "whole number",
    "attack=magic": "magic",
}


def test_what_cannot_be_read_is_said_and_not_kept(visitor: Visitor) -> None:
    at, page = asked(visitor, towns(60))
    fields = page.fields | {"mask": ["gaussian"]}
    before = visitor.project(at)
    for change, words in WRONG.items():
        name, _, value = change.partition("=")
        wrong = fields | {name: [value] if name in ("mask", "attack") else value}
        side = Page(visitor.post(f"{at}/plan", wrong, headers=HTMX).text)
        assert len(side.alerts) == 1, change
        assert words in side.alerts[0], (change, side.alerts)
        assert "plan-toml" not in side.by_id
        if len(change) % 4 == 0:  # the whole page takes its time
            answer = visitor.post(f"{at}/ask", wrong)
            assert answer.status_code == 422
            shown = Page(answer.text, "ask-form")
            assert any(words in alert for alert in shown.alerts)
            if name in shown.fields and name not in ("mask", "attack"):
                assert shown.fields[name] == value  # what was filled in is still there
        assert visitor.project(at) == before
    assert not list(visitor.site.places.start.glob("audit*"))


def test_a_ready_snooper_fills_in_the_form(visitor: Visitor) -> None:
    at, page = asked(visitor, towns(60))
    assert page.fields["who"] == "whole"  # the worst case, unless somebody says otherwise
    fields = page.fields | {"mask": ["disc"]}
    part = Page(visitor.post(f"{at}/snooper", fields | {"who": "trader"}, headers=HTMX).text).fields
    assert (part["overlap"], part["scenario"], part["who"], part["known_size"]) == ("0.3", "marketer", "trader", "120")
    own = fields | part | {"overlap": "0.7"}  # changed afterwards: the field counts
    assert visitor.post(f"{at}/ask", own | {"folder": ""}).status_code == 303
    assert visitor.project(at).said["overlap"] == 0.7
    assert Page(visitor.get(f"{at}/ask").text, "ask-form").fields["who"] == "own"
    back = Page(visitor.post(f"{at}/snooper", own | {"who": "whole"}, headers=HTMX).text).fields
    assert visitor.post(f"{at}/ask", own | back | {"folder": ""}).status_code == 303
    assert not {"overlap", "scenario", "label_error"} & set(visitor.project(at).said)


@pytest.mark.parametrize("kind", ["places", "matrix", "names", "vectors"])
def test_the_cards_offered_can_be_applied(kind: str, visitor: Visitor) -> None:
    """Every mask that is offered is accepted with the values to begin with; the others say why they are not."""
    rng = np.random.default_rng(1)
    table, more = towns(50), {}
    start = visitor.site.places.start
    if kind == "matrix":
        distances(table).to_csv(start / "d.csv")
        more = {"distances": "folder:d.csv", "unit": "km", "role:laenge": "", "role:breite": ""}
    elif kind == "names":
        table = table.drop(columns=["laenge", "breite"]).assign(
            name=["".join(rng.choice(list("abcde"), 8)) for _ in range(50)]
        )
    elif kind == "vectors":
        np.save(start / "v.npy", rng.normal(size=(50, 6)))
        more = {"vectors": "folder:v.npy", "role:laenge": "", "role:breite": ""}
    at, page = asked(visitor, table, **more)
    offered = [about["value"] for tag, about in page.tags if tag == "input" and about.get("name") == "mask"]
    expected = {
        "places": {"gaussian", "disc", "donut", "laplace", "swap", "knn", "round", "affine", "lipschitz"},
        "matrix": {"matrix-gaussian", "knn", "round", "topcode", "lipschitz", "projection"},
        "names": {"bloom", "minhash", "two-step"},
        "vectors": {"gaussian", "rotation", "projection", "matrix-gaussian"},
    }[kind]
    assert expected <= set(offered)
    assert ("bloom" in offered) == (kind == "names")
    assert ("disc" in offered) == (kind == "places")
    assert "protects nobody" in page.text or kind in ("matrix", "names")
    assert visitor.post(f"{at}/ask", page.fields | {"mask": offered, "folder": ""}).status_code == 303
    project = visitor.project(at)
    audit = read_audit(Path(project.file), project.options.filled())
    audit.check_masks()
    remarks = [remark.sentence for remark in inspect_audit(audit).remarks if remark.sentence.startswith("mask ")]
    assert not [line for line in remarks if "hardly anything" in line and "projection" not in line]


def test_pictures_are_drawn_by_the_masks() -> None:
    for name, kind in masks().items():
        picture, what = draw_mask(name)
        if kind.leading is not None:  # what it does stands in a file
            assert (picture, what) == ("", "")
            continue
        drawing = ElementTree.fromstring(picture)
        assert "style" not in picture
        now = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in drawing if c.get("class") == "now"]
        was = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in drawing if c.get("class") == "was"]
        of_distances = "links" if name in ("knn", "withheld") else "scatter"
        assert what == {"coordinates": "map", "text": "scatter"}.get(kind.on, of_distances)
        assert all(0 <= x <= 220 and 0 <= y <= 140 for x, y in now + was), name
        if what == "map":
            assert now != was
            if kind.rigid:  # every distance stays, but for rounding
                assert np.abs(pdist(was) - pdist(now)).max() < 1
            if name == "swap":
                assert sorted(now) == sorted(was)
    draw_mask.cache_clear()
    assert draw_mask("gaussian") == draw_mask("gaussian")


def test_specs_are_split_and_made_again() -> None:
    for spec in ("affine", "gaussian:sigma=100m..5km", "donut:min=0m,max=1km", "bloom:flip=0.1,salt=3,hash=double"):
        name, values = split_spec(spec)
        assert spec_of(name, values) == spec
        if ".." not in spec:
            assert parse_mask(spec_of(name, values)) == parse_mask(spec)


def test_the_estimate_says_what_a_dry_run_says(visitor: Visitor, capsys: pytest.CaptureFixture[str]) -> None:
    at, page = asked(visitor, towns(40))
    fields = page.fields | {"mask": ["gaussian"], "attack": ["labels"], "repetitions": "2", "sensitivity": ""}
    fields |= {"dial:gaussian:sigma:b": ""}
    try:
        text = visitor.post(f"{at}/estimate", fields, headers=HTMX).text
        for _ in range(240):
            if "hx-get" not in text:
                break
            time.sleep(0.25)
            text = visitor.get(f"{at}/estimate", headers=HTMX).text
        assert "What it takes" in text, text
        said = re.sub(r"\s+", " ", Page(f'<p id="all">{text}</p>').text)
        assert "p.csv: 40 records; the snooper knows the whole file (worst case)" in said
        assert "attacks: labels; 2 repetitions" in said
        assert re.search(r"about 2 releases to be measured, about \d+ \w+ on \d+ process", said), said
        assert str(visitor.site.places.start) not in text
    finally:
        visitor.site.estimates.stop(visitor.project(at).id)
    nobody = visitor.post(f"{at}/estimate", page.fields, headers=HTMX)
    assert "at least one mask" in Page(nobody.text).alerts[0]


def test_an_estimate_can_be_ended(visitor: Visitor) -> None:
    at, page = asked(visitor, towns(40))
    visitor.post(f"{at}/estimate", page.fields | {"mask": ["gaussian"]}, headers=HTMX)
    found = visitor.site.estimates.get(visitor.project(at).id)
    assert found is not None
    text = visitor.post(f"{at}/estimate/stop", headers=HTMX).text
    assert "hx-get" not in text
    assert found.process.wait(30) != 0
    assert visitor.site.estimates.get(visitor.project(at).id) is None


def test_the_start_keeps_the_plan_in_its_folder(visitor: Visitor) -> None:
    at, page = asked(visitor, towns(60))
    start = visitor.site.places.start
    nothing = visitor.post(f"{at}/start", page.fields)
    assert (nothing.status_code, "at least one mask" in Page(nothing.text).alerts[0]) == (422, True)
    fields = page.fields | {"mask": ["disc"]}
    assert fields["folder"] == "audit-p"
    for name in ("../x", ".hidden", "a/b", "p.csv", "x" * 99):
        refused = visitor.post(f"{at}/start", fields | {"folder": name})
        assert (refused.status_code, len(Page(refused.text).alerts)) == (422, 1)
        assert not visitor.project(at).said.get("mask")
    answer = visitor.post(f"{at}/start", fields)
    assert (answer.status_code, answer.headers["location"]) == (307, f"{at}/run/start")
    project = visitor.project(at)
    assert project.folder == start / "audit-p"
    assert project.said["mask"] == ["disc:max=1km..230km"]
    assert "In the folder audit-p" in visitor.get(f"{at}/ask").text


def test_a_mistake_in_another_file_must_be_confirmed(visitor: Visitor) -> None:
    """What was confirmed for one mistake does not let another one through."""
    table = towns(60)
    swapped = table.rename(columns={"laenge": "breite", "breite": "laenge"})
    swapped.iloc[:50].to_csv(visitor.site.places.start / "known.csv", index=False)
    at, page = asked(visitor, table)
    fields = page.fields | {"mask": ["disc"], "known": "folder:known.csv", "folder": ""}
    for yes in ("yes", "0" * 16):
        answer = visitor.post(f"{at}/start", fields | {"forced": yes})
        shown = Page(answer.text, "ask-form")
        assert answer.status_code == 422
        assert any("can only be a mistake" in alert for alert in shown.alerts)
        assert "forced" not in shown.fields
        assert not visitor.project(at).forced
    ticked = [about["value"] for tag, about in shown.tags if tag == "input" and about.get("name") == "forced"]
    again = shown.fields | {"forced": ticked[0]}
    assert visitor.post(f"{at}/ask", again).status_code == 303
    assert not visitor.project(at).forced  # only a look at all files may say so
    assert visitor.post(f"{at}/start", again).status_code == 307
    assert visitor.project(at).forced
    assert "--accept" in Page(visitor.get(f"{at}/ask").text).by_id["plan-command"]
    assert visitor.post(f"{at}/ask", again | {"known": ""}).status_code == 303
    assert not visitor.project(at).forced  # other files, another question


SEEN = [(kind, part, name) for kind in ("known", "others", "matrix") for part, name in list_mistakes(kind)]


@pytest.mark.parametrize("some", [SEEN[7::80], pytest.param(SEEN, marks=pytest.mark.slow)])
def test_plausible_mistakes_in_any_file_are_shown(some: list[tuple[str, str, str]], visitor: Visitor) -> None:
    """Whatever the look at an audit finds stands on the page before it starts, or the file is refused."""
    start = visitor.site.places.start
    rng = np.random.default_rng(6)
    unseen = []
    for number, (kind, part, name) in enumerate(some):
        files = make_mistake(make_files(kind), part, name, rng)
        for what in ("target", "known", "others"):
            if (table := getattr(files, what)) is not None:
                table.to_csv(start / f"{what}{number}.csv", index=False)
        said: dict[str, Any] = {"id": "pid", "label": ["geschlecht", "altersklasse"], "mask": [files.mask]}
        if files.matrix is None:
            said["coordinates"] = "laenge,breite"
        else:
            files.matrix.to_csv(start / f"matrix{number}.csv")
            said |= {"distances": str(start / f"matrix{number}.csv"), "unit": "km"}
        for what in ("known", "others"):
            if getattr(files, what) is not None:
                said[what] = str(start / f"{what}{number}.csv")
        if files.overlap is not None:
            said["overlap"] = files.overlap
        project = visitor.project(visitor.open(f"target{number}.csv"))
        project = visitor.site.projects.save(visitor.site.projects.get(project.id).with_said(**said))
        try:
            found = inspect_audit(read_audit(Path(project.file), project.options.filled()))
            expected = [remark.sentence.replace(f"{start}/", "") for remark in found.mistakes]
        except InputError:
            expected = [""]
        page = Page(visitor.get(f"/work/{project.id}/open").text, "open-form")
        answer = visitor.post(f"/work/{project.id}/open", page.fields | {"forced": "yes"})
        if answer.status_code == 303:
            page = Page(visitor.get(f"/work/{project.id}/ask").text, "ask-form")
            answer = visitor.post(f"/work/{project.id}/start", page.fields | {"folder": ""})
        shown = Page(answer.text)
        if expected and (answer.status_code != 422 or not all(any(e in a for a in shown.alerts) for e in expected)):
            unseen.append((kind, part, name, expected, answer.status_code, shown.alerts))
    assert not unseen
