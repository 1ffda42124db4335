"""The app in German: every page as a person reads it, with nothing English left but names, commands and citations."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

import disclique as dq
from app_visitor import Page, Visitor, visiting
from disclique.app.cards import make_card, try_mask
from disclique.app.estimates import Estimation, Expected
from disclique.app.fields import FIELDS
from disclique.app.looks import Finding
from disclique.app.projects import ABOUT, BEGUN, PAUSED, RUNNING, WAITING, Project
from disclique.app.status import Board, SettingRow, Status, Words, write_status
from disclique.app.worker import carry_out_project
from disclique.attacks.registry import attack_names
from disclique.audits.definition import Attacked, People, Varied
from disclique.audits.estimate import STAGES
from disclique.audits.from_options import read_plan
from disclique.errors import DiscliqueError
from disclique.locale import texts_in
from disclique.masks import masks
from disclique.masks.base import spec_name
from disclique.masks.settings import Setting
from disclique.messages import Message, has_sentence, map_texts, read_catalogue, say
from disclique.options.audits import AuditOptions
from disclique.runs import Forecast, Processes, Unit
from disclique.runs.progress import Counter, UnitNames
from disclique.runs.run import Estimate
from disclique.spaces import Encodings, Matrix, Points, Texts
from small_files import people

PACKAGE = Path(dq.__file__).parent
GERMAN = texts_in("de")
ENGLISH = re.compile(r"(?i)\b(the|of|and|is|with|are|not|were|which|would|from|that|does|have|by|its|left|so far)\b")
NAMED = ("Demographic and Health Surveys",)  # a proper name
PARAMETERS = {spec_name(field.name) for kind in masks().values() for field in dataclasses.fields(kind)}
HTMX = {"hx-request": "true"}
COLUMNS = {"role:id": "id", "role:sex": "label", "role:age": "label", "role:lon": "x", "role:lat": "y"}


class Read(HTMLParser):
    """What a person reads on a page, or hears: its texts and the words of attributes, and what says it is English."""

    KEPT = ("code", "pre", "script", "style", "textarea", "cite", "datalist")  # the same in every language
    EMPTY = ("input", "link", "meta", "br", "path", "circle", "rect", "line")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.english: list[str] = []
        self.open: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        self.said += [about[name] for name in ("title", "aria-label", "data-told", "data-done") if name in about]
        if tag not in self.EMPTY:
            self.open.append((tag, about))

    def handle_endtag(self, tag: str) -> None:
        while self.open and any(name == tag for name, _ in self.open):
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if not data.strip() or any(tag in self.KEPT for tag, _ in self.open):
            return
        if any(about.get("name") == "language" for _, about in self.open):
            return  # what the languages are called in themselves
        if any(about.get("lang") == "en" for _, about in self.open):
            self.english.append(data.strip())
        self.said.append(data.strip())


def read(page: str) -> str:
    """All that a page says, once it is sure that none of it is English."""
    found = Read(page)
    assert found.english == []
    for said in found.said:
        plain = said
        for name in NAMED:
            plain = plain.replace(name, "")
        assert plain in PARAMETERS or not ENGLISH.search(plain), said
    return "\n".join(found.said)


def german(sentence: str | Message) -> str:
    """A message in German, every part of it."""
    if isinstance(sentence, Message) and " " not in sentence.code:
        assert has_sentence(sentence, "de"), sentence
        said: str | None = say(sentence, "de")
    else:
        said = GERMAN.translate(str(sentence))
    assert said is not None, f"no German: {sentence}"
    assert not ENGLISH.search(said), f"{sentence} -> {said}"
    return said


@dataclass
class App:
    """A German visitor of a folder with a file, a project on it, and two finished audits."""

    visitor: Visitor
    at: str
    done: list[Project]

    def get(self, path: str, status: int = 200) -> str:
        answer = self.visitor.get(path)
        assert answer.status_code == status, answer.text
        return read(answer.text)

    def post(self, path: str, status: int = 200, headers: dict[str, str] | None = None, **form: Any) -> str:
        answer = self.visitor.post(path, form, headers=headers or {})
        assert answer.status_code == status, answer.text
        return read(answer.text)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("start")
    people(30).assign(asthma="no").to_csv(folder / "leute.csv", index=False)
    with visiting(folder) as visitor:
        visitor.post("/language", {"language": "de", "back": "/"})
        done = [
            audit(visitor, "eins", mask=["gaussian:sigma=500km"], max_risk=0.9),
            audit(visitor, "zwei", mask=["round:to=1km"], max_risk=0.01, scenario="marketer", overlap=0.5),
        ]
        yield App(visitor, visitor.open("leute.csv"), done)


def audit(visitor: Visitor, name: str, **said: object) -> Project:
    project = visitor.project(visitor.open("leute.csv"))
    columns = {"id": "id", "label": ["sex", "age"], "coordinates": "lon,lat"}
    light = {"attack": ["labels"], "repetitions": 2, "person_trials": 10, "sensitivity": False}
    project = replace(project.with_said(**columns, **light, **said), checked=True)
    project = visitor.site.projects.keep(visitor.site.projects.save(project), name)
    (project.folder / BEGUN).write_bytes((project.folder / ABOUT).read_bytes())
    with chdir(project.folder), Board(project.folder) as board:
        carry_out_project(project, name, 1, board)
    return project


def test_start(app: App) -> None:
    said = app.get("/")
    assert "Was würde eine Veröffentlichung Ihrer Datei preisgeben?" in said
    assert "fertig" in said


def test_open_with_the_look(app: App) -> None:
    said = app.get(f"{app.at}/open")
    assert "Die Spalten stimmen: weiter" in said
    assert "Merkmal" in said
    look = app.post(f"{app.at}/look", headers=HTMX, **COLUMNS)
    for words in ("Deutschland", "Wo die Dateien liegen: Länge", "k-Anonymität", "Koordinaten"):
        assert words in look
    two = app.post(f"{app.at}/look", headers=HTMX, **(COLUMNS | {"role:sex": "id"}))
    assert "nur eine Spalte ist die Kennung" in two
    assert "Koordinate eines Ortes" in app.post(f"{app.at}/open", 422, **(COLUMNS | {"role:lat": ""}))
    swapped = app.post(f"{app.at}/look", headers=HTMX, **(COLUMNS | {"role:lon": "y", "role:lat": "x"}))
    assert "umgekehrt" in swapped


def test_ask(app: App) -> None:
    app.visitor.post(f"{app.at}/open", COLUMNS)
    answer = app.visitor.get(f"{app.at}/ask")
    said = read(answer.text)
    for words in ("Wer ist der Angreifer?", "Normalverteiltes Rauschen", "Masken, die auf diese Datei nicht anwendbar"):
        assert words in said
    fields = Page(answer.text, "ask-form").fields
    assert "Datenhändler" in app.post(f"{app.at}/snooper", headers=HTMX, **(fields | {"who": "trader"}))
    plan = {"mask": ["gaussian"], "dial:gaussian:sigma:b": "", "folder": ""}
    assert "Als Befehlszeile" in app.post(f"{app.at}/plan", headers=HTMX, **(fields | plan))
    wrong = {
        "max_risk": ("0,0,5", "Größter Anteil gefährdeter Personen: '0,0,5': schreiben Sie eine Zahl wie 0.1"),
        "budget": ("1,000", "könnte auf zwei Arten gemeint sein"),
        "seed": ("x", "Startwert des Zufallsgenerators: 'x': schreiben Sie eine ganze Zahl"),
        "overlap": ("2", "größer als 0 und höchstens 1"),
        "dial:gaussian:sigma:a": ("5", "die Einheit fehlt; schreiben Sie 5km oder 5m"),
        "dial:gaussian:sigma:b": ("1,5,2km", "geben Sie einen Wert an"),
        "folder": ("../x", "geben Sie einen einfachen Namen"),
        "coordinate_error": ("wenig", "ist keine Zahl mit einer Einheit wie 500m oder 5km"),
        "more_masks": ("gausian:sigma=1km", "meinten Sie 'gaussian'?"),
        "from:sex": ("1", "wofür die Werte 1 sind"),
    }
    for name, (value, words) in wrong.items():
        assert words in app.post(f"{app.at}/start", 422, **(fields | plan | {name: value}))
    assert "wählen Sie mindestens eine Maske" in app.post(f"{app.at}/start", 422, **(fields | {"mask": []}))


def test_estimate(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Message("work_mask_searched", mask="gaussian:sigma=1km..5km", settings=17, limit=0.05)
    affine = Setting.parse("affine")
    many = Estimate({Unit(affine, k): 30.0 for k in range(400)}, {Unit(affine, k): None for k in range(3)})
    heard = Expected(
        look=[Finding(Message("few_records", file="leute.csv", records=30))],
        does=[Message("work_known_drawn", file="leute.csv", records=30, share=0.1), line],
        takes=many.sentence(2, "releases_to_measure"),
        settings=17,
    )
    made = Estimation("", None, heard, ended=True)  # type: ignore[arg-type]
    monkeypatch.setitem(app.visitor.site.estimates.under_way, app.at.rsplit("/", 1)[1], made)
    said = app.get(f"{app.at}/estimate")
    assert "17 Einstellungen werden angesehen" in said
    assert "etwa 400 zu messende Veröffentlichungen, etwa 1,7 Stunden mit 2 Prozessen" in said


@pytest.mark.parametrize("state", [RUNNING, WAITING, PAUSED, "failed", "new"])
def test_run(app: App, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app.visitor.post(f"{app.at}/open", COLUMNS)
    page = Page(app.visitor.get(f"{app.at}/ask").text, "ask-form")
    app.visitor.post(f"{app.at}/ask", page.fields | {"mask": ["gaussian"], "folder": ""})
    project = app.visitor.project(app.at)
    spec = "gaussian:sigma=1km"
    row = SettingRow(spec, spec, "gaussian", 3, 20, risk=0.125, use=0.25)
    utility = {"title": "rank correlation of distances", "format": ".2f"}
    words = Words(
        done=Message("said_of_setting", setting=spec, said=Message("risk_so_far", share=0.12)),
        left=Message("time_left", clock="1:15"),
        now=Message("runs_now", clock="0:12", name=spec, repetition=3, steps=None, others=None),
        share=0.3,
    )
    problem = Message("no_such_file", path="leute.csv")
    lines = [Message("work_known_whole", file="leute.csv", records=30)]
    status = Status(RUNNING, problem, words, lines, [row], utility=utility, masks=["gaussian"])
    write_status(project.folder, status)
    monkeypatch.setattr(app.visitor.site.runner, "state", lambda project: state)
    said = app.get(f"{app.at}/run")
    assert "bisher wären 12" in said or state == WAITING
    if state == RUNNING:
        assert "noch 1:15" in said
        assert "Wiederholung 3" in said
        assert "Rangkorrelation der Abst\\u00e4nde" in app.visitor.get(f"{app.at}/run").text
        part = app.visitor.get(f"{app.at}/run/progress", params={"state": state, "drawn": "1"})
        assert "Prozent fertig" in read(part.text)
    if state == "failed":
        assert "diese Datei gibt es nicht" in said


def test_read_exposed_compare_and_release(app: App) -> None:
    one, other = app.done
    for project in app.done:
        assert "Was eine Veröffentlichung von leute.csv preisgeben würde" in app.get(f"/work/{project.id}/read")
        assert "Prüfung" in app.get(f"/work/{project.id}/run")
        assert "Eine andere Maske, die nicht geprüft wurde" in app.get(f"/work/{project.id}/release")
    assert "Anzeigen, wer gefährdet ist" in app.get(f"/work/{one.id}/exposed")
    assert "30 Datensätze, das höchste Risiko zuerst" in app.post(f"/work/{one.id}/exposed")
    both = app.get(f"/compare?a={one.id}&b={other.id}")
    for words in ("Szenarien", "Marketer (Werber)", "aus der Datei gezogen", "nein", "90 %"):
        assert words in both.replace("\u00a0", " ")
    refused = app.post(f"/work/{other.id}/release", 422, setting="round:to=1km", folder="neu")
    assert "Bestätigen Sie" in refused
    bad = {"setting": "other", "spec": "gausian", "confirm": "yes", "folder": "neu"}
    assert "meinten Sie 'gaussian'?" in app.post(f"/work/{one.id}/release", 422, **bad)
    app.post(f"/work/{one.id}/release", 303, setting=one.said["mask"][0], folder="neu", again="yes")
    made = app.get(f"/work/{one.id}/release")
    assert "Nie zu veröffentlichen" in made
    assert "Dieselben Personen wurden schon veröffentlicht" in made


def test_problems_and_the_end(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = app.visitor
    assert "Diese Seite gibt es nicht" in app.get("/work/0000000000000000/open", 404)
    assert "Das Formular wurde nicht angenommen" in read(visitor.post("/choose", {"csrf": "wrong"}).text)
    assert "gibt es keine solche Datendatei" in app.post("/choose", 422, file="nobody.csv")
    assert "endet" in read(visitor.upload("/upload", "", "x.exe", b"x").text)
    empty = visitor.upload("/upload", "", "leer.csv", b"")
    assert empty.status_code == 303
    assert "die Datei ist leer" in app.get(empty.headers["location"])
    visitor.site.most = 1000
    try:
        assert "größer als" in read(visitor.upload("/upload", "", "x.csv", b"a,b\n" * 500_000).text)
    finally:
        visitor.site.most = 200_000_000
    try:
        assert "Die App ist beendet" in app.post("/end")
    finally:
        visitor.site.ending = False


# -- what is said by other rooms, wherever it is shown -------------------------------------------------------------


def test_every_field_and_answer_has_words_of_its_own() -> None:
    """A field that is shown says what it means without the command line, in both languages."""
    for name, row in FIELDS.items():
        assert row.hint, name
        for text in (row.title, row.hint, *(said for value, said in row.answers if said != value)):
            assert "--" not in text
            assert "exit" not in text
            assert text in read_catalogue("de"), text


def test_masks_and_why_they_do_not_apply() -> None:
    """What a card says, and every reason for which there is none, on all kinds of records."""
    rng = np.random.default_rng(0)
    space = rng.normal(size=(20, 4))
    plane = np.round(rng.random((20, 20)), 3)
    directed = np.where(np.eye(20, dtype=bool), 0.0, plane)
    square = np.where(np.eye(20, dtype=bool), 0.0, plane + plane.T)
    kinds = [
        Points(rng.uniform(9, 11, (20, 2)), "sphere"),
        Points(space[:, :2], "euclidean"),
        Points(space, "euclidean"),
        Points(space, "cosine"),
        Matrix(square),
        Matrix(directed, directed=True),
        Matrix(np.where(square > 1.5, np.nan, square), unpublished=True),
        Texts(tuple(f"name {k}" for k in range(20))),
        Encodings(rng.integers(0, 256, (20, 8), dtype=np.uint8), 64, "dice"),
    ]
    reasons = set()
    for kind in masks().values():
        assert has_sentence(make_card(kind, 1.0, "km", places=True).sentence, "de"), kind.name
        reasons |= {reason for some in kinds if (reason := try_mask(kind, some))}
    assert len(reasons) > 20
    for reason in reasons:
        assert not HALF.search(re.sub(r"\bfile(?= fehlt|=)", "", german(reason))), german(reason)  # a parameter


def test_what_the_counter_says() -> None:
    """The words of a run, made by what makes them."""
    noise, rounded, affine = map(Setting.parse, ("gaussian:sigma=1km", "round:to=1km | drop:sex", "affine"))
    units = [Unit(noise, k) for k in range(4)] + [Unit(rounded, 0)]
    units += [Unit(affine, 0, stage) for stage in (People(), Attacked(), Varied("overlap", 0.5, "oracle"))]
    for what in (Message("releases_measured"), Message("releases_to_measure")):
        for risk in (Message("risk_so_far", share=0.0001), Message("no_oracle_so_far")):
            about = UnitNames(what, lambda unit, record, risk=risk: risk, (*attack_names(), "oracle"), STAGES)
            counter = Counter(about, Forecast(dict.fromkeys(units, 1.0)), Processes(2))
            counter.wants(units)
            for number, unit in enumerate(units):
                counter.at_work(unit, "", None)
                for step in ("labels", Message("step_clique_so_far", count=7), "oracle"):
                    counter.at_work(unit, step, 0.25 if isinstance(step, Message) else None)
                    now = german(counter.tell_now())
                    assert ("labels" in now) == (counter.running[units[0]].heading == "labels")  # the attack's name
                counter.took(unit, 2.0, None)
                counter(number, len(units), unit)
                counter.words = None
                said = counter.tell()
                assert str(number + 1) in german(said.done) or unit.stage.beside
                if said.left:
                    assert german(said.left).startswith("noch ")


# -- what people get wrong -----------------------------------------------------------------------------------------

HALF = re.compile(r"\b(mask|error|label|file|column|row|record|write|missing)\b")  # of a sentence whose rest is German


def mistaken(folder: Path) -> Iterator[Callable[[], object]]:
    """What people do to files and plans, each of which is refused in a sentence."""
    table = people(12)
    table.to_csv(folder / "a.csv", index=False)
    columns: dict[str, Any] = {"id": "id", "labels": ["sex"], "coordinates": "lon,lat"}

    def written(change: Callable[[pd.DataFrame], pd.DataFrame], **more: Any) -> Callable[[], object]:
        def act() -> object:
            change(table.copy()).to_csv(folder / "b.csv", index=False)
            return dq.read(folder / "b.csv", **(columns | more))

        return act

    def raw(name: str, content: bytes) -> Callable[[], object]:
        def act() -> object:
            (folder / name).write_bytes(content)
            return dq.read(folder / name, **columns)

        return act

    def sheets() -> object:
        with pd.ExcelWriter(folder / "two.xlsx") as book:
            table.to_excel(book, sheet_name="eins", index=False)
            table.to_excel(book, sheet_name="zwei", index=False)
        return dq.read(folder / "two.xlsx", **columns)

    def planned(**said: Any) -> Callable[[], object]:
        return lambda: read_plan(AuditOptions(**({"mask": ["affine"]} | said)).filled())

    yield written(lambda t: t, labels=["nobody"])
    yield written(lambda t: t, id="nobody")
    yield written(lambda t: t, coordinates="lon,nobody")
    yield written(lambda t: t, coordinates="lat,lon")
    yield written(lambda t: t, coordinates=None)
    yield written(lambda t: t, text=["sex"])
    yield written(lambda t: t, crs="EPSG:99")
    yield written(lambda t: t, crs="EPSG:25832")
    yield written(lambda t: t.assign(id=["p1", *t["id"][1:-1], "p1"]))
    yield written(lambda t: t.assign(id=[None, *t["id"][1:]]))
    yield written(lambda t: t.assign(lon=["?", *map(str, t["lon"][1:])]), crs="EPSG:25832")
    yield written(lambda t: t.assign(lat=[95.0, *t["lat"][1:]]))
    yield written(lambda t: t[:0])
    yield raw("leer.csv", b"")
    yield raw("x.pdf", b"%PDF-1.4")
    yield raw("x.csv", b"\x00\x01\x02\x00" * 40)
    yield raw("x.xlsx", b"no workbook")
    yield raw("x.parquet", b"no table")
    yield raw("x.dta", b"no table")
    yield sheets
    yield lambda: dq.read(folder / "nobody.csv", **columns)
    yield lambda: dq.read(folder, **columns)
    for spec in ("gaussian", "gaussian:sigma=-1km", "gaussian:sigma=x", "knn:k=1.5", "nobody", "gaussian:sigma=5min"):
        yield planned(mask=[spec])
    yield planned(mask=["donut:min=5km,max=1km"])
    yield planned(mask=["donut:min=5,max=1km"])
    yield planned(mask=["gaussian:sigma=0km..1km"])
    yield planned(mask=["affine", "affine"])
    for name, value in (("max_risk", 5.0), ("overlap", 0.0), ("label_error", 1.0), ("seeds", -1), ("seed", -1)):
        yield planned(**{name: value})
    for name, value in (("alpha", 1.0), ("budget", 0.0), ("repetitions", 0), ("releases", 0), ("person_trials", 0)):
        yield planned(**{name: value})
    yield planned(max_risk_person=0.5)
    yield planned(known_size=100)
    yield planned(coordinate_error="viel")


def test_what_people_get_wrong(tmp_path: Path) -> None:
    said = []
    for act in mistaken(tmp_path):
        try:
            act()
        except DiscliqueError as problem:
            said.append(map_texts(problem.message, lambda text: text.replace(f"{tmp_path}/", "")))
        else:
            raise AssertionError(f"nothing was refused: {act}")
    assert len(said) > 40
    for one in said:
        coded = " " not in one.code
        plain = map_texts(one, lambda text: "?") if coded else one  # what a library says is quoted as it is
        assert not (coded and HALF.search(german(plain))), german(plain)
