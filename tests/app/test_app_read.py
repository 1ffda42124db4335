"""Read and release in the app: what may be shared, what is never sent, and a release that is the one audited."""

import asyncio
import base64
import hashlib
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

import httpx

import disclique as dq
from disclique.app.guard import Keys
from disclique.app.places import Places
from disclique.app.projects import ABOUT, BEGUN, INPUT, Project, Projects
from disclique.app.publishing import PRIVATE, PUBLISH, read_for_release
from disclique.app.results import compare
from disclique.app.runner import Runner
from disclique.app.server import Site, make_site
from disclique.app.status import Board
from disclique.app.worker import carry_out_project
from disclique.locale import texts_in

MANY = 130
STRONG = "gaussian:sigma=500km"


def invent() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "who": [f"PERSON-{k:04d}" for k in range(MANY)],
            "sex": rng.choice(["f", "m"], MANY),
            "age": rng.integers(18, 90, MANY),
            "lon": rng.uniform(9, 11, MANY).round(5),
            "lat": rng.uniform(49, 51, MANY).round(5),
        }
    )


class Client:
    """A browser's place: it asks the site by its token first, and sends the cookie from then on."""

    def __init__(self, site: Site) -> None:
        self.guard, self.base = make_site(site), f"http://127.0.0.1:{site.keys.port}"
        self.cookies = httpx.Cookies()
        self.cookies = self.get(site.keys.address.removeprefix(self.base)).cookies

    def get(self, path: str) -> Any:
        return asyncio.run(self._ask("GET", path))

    def post(self, path: str, data: dict[str, str], headers: dict[str, str]) -> Any:
        return asyncio.run(self._ask("POST", path, data=data, headers=headers))

    def post_twice(self, path: str, *forms: dict[str, str], headers: dict[str, str]) -> list[Any]:
        async def ask() -> list[Any]:
            return await asyncio.gather(*(self._ask("POST", path, data=form, headers=headers) for form in forms))

        return asyncio.run(ask())

    async def _ask(self, method: str, path: str, **more: Any) -> Any:
        transport = httpx.ASGITransport(self.guard)
        about = {"base_url": self.base, "cookies": self.cookies, "follow_redirects": True}
        async with httpx.AsyncClient(transport=transport, **about) as client:
            return await client.request(method, path, **more)


@dataclass
class App:
    """A site with two finished audits: one shows a release to keep its limit, the other shows none to."""

    site: Site
    client: Client
    kept: Project
    broken: Project

    def post(self, path: str, **form: str) -> tuple[int, str]:
        answer = self.client.post(path, data={"csrf": self.site.keys.csrf} | form, headers={"origin": self.origin})
        return answer.status_code, answer.text

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.site.keys.port}"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    start = tmp_path_factory.mktemp("start")
    places = Places(start)
    projects = Projects(places)
    site = Site(Keys(8765), places, projects, Runner(projects))
    keeps = {"mask": [STRONG], "generalise": ["age=width:age:10..20", "drop:sex"], "max_risk": 0.9}
    kept = audit(projects, "kept", keeps)
    broken = audit(projects, "broken", {"mask": ["round:to=1km"], "max_risk": 0.01})
    yield App(site, Client(site), kept, broken)
    places.remove()


def audit(projects: Projects, name: str, said: dict[str, object], columns: dict[str, object] | None = None) -> Project:
    """A finished audit of a file that was uploaded."""
    folder = projects.places.scratch()
    (folder / INPUT).mkdir()
    invent().to_csv(folder / INPUT / "upload.csv", index=False)
    light = {"attack": ["labels"], "repetitions": 2, "person_trials": 10, "sensitivity": False}
    columns = columns or {"id": "who", "label": ["sex", "age"], "coordinates": "lon,lat"}
    project = projects.begin("survey.csv", folder / INPUT / "upload.csv", folder).with_said(**columns, **light, **said)
    project = projects.keep(projects.save(replace(project, checked=True)), name)
    (project.folder / BEGUN).write_bytes((project.folder / ABOUT).read_bytes())
    with chdir(project.folder), Board(project.folder) as board:
        carry_out_project(project, name, 1, board)
    return project


class Scripts(HTMLParser):
    """The scripts of a page as a browser finds them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inside, self.found = False, [""][:0]
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script" and dict(attrs).get("type") != "application/json":
            self.inside = True
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "script"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1] += data


@pytest.mark.parametrize("name", ["report", "annex"])
def test_report_is_shown_under_a_policy_that_allows_its_own_scripts_only(app: App, name: str) -> None:
    answer = app.client.get(f"/work/{app.kept.id}/pages/{name}")
    policy = answer.headers["content-security-policy"]
    allowed = re.search(r"script-src ([^;]*);", policy)
    assert allowed is not None
    assert "unsafe" not in allowed[1]
    assert "frame-ancestors 'self'" in policy
    scripts = Scripts(answer.text).found
    assert scripts
    own = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts}
    assert set(allowed[1].split()) == own
    assert "unsafe-eval" not in answer.text.split("<body", 1)[0]


def test_what_is_read_in_the_app_names_nobody(app: App) -> None:
    project = app.kept
    for path in ("read", "run", "release", "exposed", "pages/report", "pages/annex"):
        answer = app.client.get(f"/work/{project.id}/{path}")
        assert answer.status_code == 200, path
        assert "PERSON-" not in answer.text, path
        assert str(app.site.places.private) not in answer.text
    assert app.client.get(f"/work/{project.id}/read").text.count("<iframe") == 1


def test_downloads_have_plain_names_and_nothing_of_single_people(app: App) -> None:
    # an audit that was told to put the records in does not send them either
    whole = app.kept.result.read_bytes()
    with_people = json.loads(whole)
    person = {
        "row": 1,
        "id": "PERSON-0000",
        "label_k": 1,
        "risk": 1.0,
        "by": "oracle",
        "times_known": 1,
        "x": 10.0,
        "y": 50.0,
    }
    with_people["records"] = {"spec": STRONG, "people": [person], "lines": []}
    try:
        app.kept.result.write_text(json.dumps(with_people), encoding="utf-8")
        os.utime(app.kept.result, ns=(1, 1))
        for name in ("report.html", "annex.html", "annex.docx", "result.json", "figures.zip"):
            answer = app.client.get(f"/work/{app.kept.id}/download/{name}")
            assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
            content = answer.content
            if name in ("annex.docx", "figures.zip"):
                with zipfile.ZipFile(io.BytesIO(content)) as packed:
                    content = b"".join(map(packed.read, packed.namelist()))
                    assert {"annex.docx": "word/document.xml", "figures.zip": "risk.csv"}[name] in packed.namelist()
            assert b"PERSON-" not in content, name
        assert json.loads(app.client.get(f"/work/{app.kept.id}/download/result.json").content)["records"] is None
        status, text = app.post(f"/work/{app.kept.id}/exposed/report")
        assert status == 200
        assert "PERSON-0000" in text
    finally:
        app.kept.result.write_bytes(whole)
    assert app.post(f"/work/{app.kept.id}/exposed/report")[0] == 404  # as this audit was not told to


def test_who_is_exposed_is_shown_after_a_click_and_page_by_page(app: App) -> None:
    path = f"/work/{app.kept.id}/exposed"
    refused = app.client.post(path, data={}, headers={"origin": app.origin})
    assert refused.status_code == 403
    answer = app.client.post(path, data={"csrf": app.site.keys.csrf}, headers={"origin": app.origin})
    assert answer.headers["cache-control"] == "no-store"
    people = pd.read_csv(app.kept.folder / "records.csv")
    spec = app.site.results.get(app.kept).verdict.setting
    ranked = people[people["mask"] == spec].sort_values(["risk", "row"], ascending=[False, True])["id"].tolist()
    first = re.findall(r"PERSON-\d+", answer.text)
    second = re.findall(r"PERSON-\d+", app.post(path, page="2")[1])
    assert first == ranked[:100]
    assert first + second == ranked
    for page in ("0", "-1", "99999999999999", "x", "²"):
        assert app.post(path, page=page)[0] == 200
    assert "PERSON-" not in app.post(path, setting="gaussian:sigma=1m")[1]


def test_two_audits_side_by_side(app: App) -> None:
    one, other = app.site.results.get(app.kept), app.site.results.get(app.broken)
    found = compare(one, other, texts_in("en"))
    assert {row.name for row in found.asked if row.differs} == {
        "masks",
        "labels made coarser",
        "Largest share of people at risk",
    }
    assert not found.doubts
    assert len(found.settings) == len(one.settings) + len(other.settings)
    marketer = replace(other, plan=replace(other.plan, scenario="marketer", inputs={"survey.csv": "0"}))
    assert set(compare(one, marketer, texts_in("en")).doubts) == {"file", "scenario"}
    assert not compare(one, marketer, texts_in("en")).drawable
    page = app.client.get(f"/compare?a={app.kept.id}&b={app.broken.id}")
    assert page.status_code == 200
    assert page.text.count("data-chart=") == 1
    assert "PERSON-" not in page.text
    for query in ("", "?a=x&b=y", f"?a={app.kept.id}"):
        assert app.client.get(f"/compare{query}").status_code == 200


def folders(app: App) -> set[str]:
    return {path.name for path in app.site.places.start.iterdir()}


def test_release_is_the_one_that_was_audited_and_its_key_is_never_sent(app: App) -> None:
    project, people = app.kept, invent()
    spec = f"{STRONG} | age=width:age:20"
    assert app.site.results.get(project).setting(spec).meets
    path = f"/work/{project.id}/release"
    form = {"csrf": app.site.keys.csrf, "setting": spec}
    both = [form | {"folder": "first release"}, form | {"folder": "in another tab"}]
    answers = app.client.post_twice(path, *both, headers={"origin": app.origin})
    assert [answer.status_code for answer in answers] == [200, 422]  # one more has to be confirmed
    place = app.site.places.start / "first release"
    public, private = place / PUBLISH, place / PRIVATE
    assert {file.name for file in public.iterdir()} == {
        "release.csv",
        "release_distances.csv",
        "release_about.json",
        "release_about.txt",
    }
    assert {file.name for file in private.iterdir()} == {"release_recipe.json", "release_key.csv"}
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in private.iterdir())
    recipe = json.loads((private / "release_recipe.json").read_text())
    assert recipe["seed"] > 2**100
    assert list(recipe["inputs"]) == ["survey.csv"]
    released, key = pd.read_csv(public / "release.csv"), pd.read_csv(private / "release_key.csv")
    true = people.iloc[key["file_row"] - 1].reset_index(drop=True)
    assert list(released.columns) == ["record", "sex", "age"]
    assert released["sex"].tolist() == true["sex"].tolist()
    assert released["age"].tolist() == (true["age"] // 20 * 20).tolist()  # coarse as in the setting, never as it is
    assert key["id"].tolist() == true["who"].tolist()
    assert key["file_row"].tolist() != sorted(key["file_row"])
    # nothing that any address sends has a name, the seed or an id in it
    secrets = ("PERSON-", str(recipe["seed"]), "file_row", "released_row")
    packed = app.client.get(f"{path}/1/release.zip")
    assert packed.headers["content-disposition"] == 'attachment; filename="release.zip"'
    with zipfile.ZipFile(io.BytesIO(packed.content)) as inside:
        assert set(inside.namelist()) == {file.name for file in public.iterdir()}
        for name in inside.namelist():
            assert inside.read(name) == (public / name).read_bytes()
            assert not any(secret in inside.read(name).decode() for secret in secrets)
    names = ("release_key.csv", "release_recipe.json", "records.csv", "journal.jsonl", "app.json", "input/upload.csv")
    roots = ("", "/download", "/pages", "/release", "/release/1", "/release/1/release.zip", "/release/0", "/exposed")
    tries = [f"/work/{project.id}{root}/{name}" for root in roots for name in names]
    ways = (f"{PRIVATE}/", f"../{PRIVATE}/", f"..%2f{PRIVATE}%2f", f"first%20release/{PRIVATE}/")
    tries += [f"{root}/{way}{name}" for root in ("/static", "/files", "") for way in ways for name in names]
    tries += [f"/work/{project.id}/release/{number}/release.zip" for number in ("0", "2", "-1", "1e0", "¹", "9" * 30)]
    for address in tries:
        answer = app.client.get(address)
        assert answer.status_code in (404, 405), address
        assert not any(secret in answer.text for secret in secrets), address
    assert str(recipe["seed"]) not in app.client.get(path).text
    assert f"first release/{PRIVATE}" in app.client.get(path).text  # where they are is said
    # one more release of the same people has to be confirmed, also after another audit of the file
    before = folders(app)
    for other in (project, app.broken):
        assert app.post(f"/work/{other.id}/release", setting=spec, folder="again", confirm="yes")[0] == 422
        assert folders(app) == before
    assert app.post(path, setting=spec, folder="again", again="yes")[0] == 200
    twice = pd.read_csv(app.site.places.start / "again" / PRIVATE / "release_key.csv")
    assert twice["file_row"].tolist() != key["file_row"].tolist()  # fresh chance
    assert json.loads((app.site.places.start / "again" / PRIVATE / "release_recipe.json").read_text()) != recipe


def test_release_that_is_not_shown_to_keep_the_limit_has_to_be_confirmed(app: App) -> None:
    path, before = f"/work/{app.broken.id}/release", folders(app)
    page = app.client.get(path).text
    assert " checked" not in page  # nothing is chosen for the person
    form = {"folder": "risky", "again": "yes"}
    for said in (
        {},
        {"setting": "round:to=1km"},
        {"setting": "other", "spec": STRONG},
        {"setting": "other", "spec": "", "confirm": "yes"},
        {"setting": STRONG, "confirm": "yes"},  # not of this audit, and not said to be another
        {"setting": "other", "spec": "nonsense:x=1", "confirm": "yes"},
        {"setting": "other", "spec": "gaussian:sigma=1km..5km", "confirm": "yes"},
        {"setting": "round:to=1km", "confirm": "yes", "matrix": "exe"},
        {"setting": "round:to=1km", "confirm": "yes", "folder": "../out"},
        {"setting": "round:to=1km", "confirm": "yes", "folder": "a/b"},
        {"setting": "round:to=1km", "confirm": "yes", "folder": ""},
        {"setting": "round:to=1km", "confirm": "yes", "folder": "kept"},
    ):
        status, text = app.post(path, **(form | said))
        assert status == 422, said
        assert 'role="alert"' in text
        assert folders(app) == before
    assert app.post(path, **form, setting="round:to=1km", confirm="yes", matrix="npy")[0] == 200
    assert (app.site.places.start / "risky" / PUBLISH / "release_distances.npy").is_file()
    form["folder"] = "other"
    assert app.post(path, **form, setting="other", spec=f"{STRONG} | drop:age", confirm="yes")[0] == 200
    released = pd.read_csv(app.site.places.start / "other" / PUBLISH / "release.csv")
    assert list(released.columns) == ["record", "sex"]
    assert "not audited" in app.client.get(path).text


def test_what_is_released_of_labels_is_what_was_attacked(app: App) -> None:
    for setting in app.site.results.get(app.kept).settings:
        seen = dq.mask(read_for_release(app.kept, setting.spec), setting.spec, seed=1)
        told = seen.table[list(seen.labels.columns)]
        assert [tuple(map(str, row)) for row in told.to_numpy()] == [
            tuple(map(str, row)) for row in seen.labels.to_numpy()
        ]
        assert ("sex" in told) == ("drop:sex" not in setting.spec)


def test_numbers_are_released_as_they_were_audited(app: App) -> None:
    """A file of labels and numbers alone: a table and its note, the numbers as the setting says."""
    setting = "none | age=round:10"
    asked = {"id": "who", "label": ["sex"], "number": ["age:none"]}
    project = audit(app.site.projects, "numbers", {"mask": [setting], "max_risk": 0.99}, asked)
    form = {"setting": setting, "confirm": "yes", "again": "yes", "folder": "numbered"}
    status, text = app.post(f"/work/{project.id}/release", **form)
    assert status == 200, text
    publish = app.site.places.start / "numbered" / PUBLISH
    assert {path.name for path in publish.iterdir()} == {"release.csv", "release_about.json", "release_about.txt"}
    released = pd.read_csv(publish / "release.csv")
    assert list(released.columns) == ["record", "sex", "age"]
    assert set(released["age"] % 10) == {0}


def test_file_that_was_changed_after_the_audit_is_not_released(app: App) -> None:
    file, before = Path(app.site.projects.get(app.broken.id).file), folders(app)
    content = file.read_bytes()
    try:
        file.write_bytes(content.replace(b"PERSON-0000", b"PERSON-9999"))
        form = {"setting": "round:to=1km", "confirm": "yes", "again": "yes", "folder": "late"}
        status, text = app.post(f"/work/{app.broken.id}/release", **form)
    finally:
        file.write_bytes(content)
    assert status == 422
    assert "changed after the audit" in text
    assert folders(app) == before


def test_files_that_somebody_else_wrote_give_a_sentence_and_no_error_page(app: App) -> None:
    project = app.broken
    for name, paths in {
        "status.json": ["run", "run/progress?state=done"],
        "result.json": ["read", "release", "pages/report", "download/result.json"],
        "releases.json": ["release", "release/1/release.zip"],
        "records.csv": ["exposed"],
        "begun.json": ["run", "release"],
    }.items():
        file = project.folder / name
        content = file.read_bytes() if file.exists() else None
        try:
            for wrong in (b"", b"\xff\xfe", b"[1]", b'{"settings": [{"spec": 1}], "state": {}}', b"mask,risk\nx,y\n"):
                file.write_bytes(wrong)
                for path in paths:
                    answer = app.client.get(f"/work/{project.id}/{path}")
                    assert answer.status_code in (200, 204, 404, 422), (name, wrong, path)
                    assert str(project.folder) not in answer.text
                assert app.post(f"/work/{project.id}/exposed", setting="x")[0] in (200, 404, 422)
        finally:
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content)
                os.utime(file)
