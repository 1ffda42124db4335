"""Somebody who visits the app without a browser or a network: pages are asked for, their forms filled in and sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx

from disclique.app.guard import Keys
from disclique.app.places import Places
from disclique.app.projects import Project, Projects
from disclique.app.runner import Runner
from disclique.app.server import Site, make_site

PORT = 8123
SEVERAL = ("mask", "attack", "purpose", "column", "labels")  # fields that may have several values
Fields = dict[str, Any]


class Page(HTMLParser):
    """What a page shows: the fields of its form as a browser would send them, its alerts, and its texts by id."""

    def __init__(self, text: str, form: str = "") -> None:
        super().__init__()
        self.text, self.form = text, form
        self.sent: list[tuple[str, str]] = []
        self.alerts: list[str] = []
        self.by_id: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self._within = not form
        self.feed(text)

    @property
    def fields(self) -> Fields:
        """The fields by name; of several with one name all values."""
        found: Fields = {}
        for name, value in self.sent:
            found.setdefault(name, []).append(value)
        return {name: values if name.split(":")[-1] in SEVERAL else values[-1] for name, values in found.items()}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        self.tags.append((tag, about))
        if tag == "form" and about.get("id") == self.form:
            self._within = True
        if tag == "input":
            self._take_input(about)
        select = self._last("select") if tag == "option" else None
        if select is not None and ("value" not in select or "selected" in about):
            select["value"] = about.get("value", "")
        if tag not in ("input", "link", "meta", "br", "path", "circle", "rect"):
            if tag in ("select", "textarea"):
                about = {name: about[name] for name in ("name",) if name in about} | {"mine": self._mine(about)}
            self._open.append((tag, about))

    def _mine(self, about: Mapping[str, str]) -> str:
        return "yes" if about.get("form", self.form if self._within else "-") == self.form else ""

    def _take_input(self, about: Mapping[str, str]) -> None:
        if "name" not in about or not self._mine(about) or about.get("type") == "file":
            return
        if about.get("type") not in ("checkbox", "radio") or "checked" in about:
            self.sent.append((about["name"], about.get("value", "on")))

    def _last(self, tag: str) -> dict[str, str] | None:
        return next((about for name, about in reversed(self._open) if name == tag), None)

    def handle_data(self, data: str) -> None:
        for tag, about in self._open:
            if about.get("role") == "alert" and tag == "p":
                if about.get("started"):
                    self.alerts[-1] += data
                else:
                    about["started"] = "yes"
                    self.alerts.append(data)
            if "id" in about:
                self.by_id[about["id"]] = self.by_id.get(about["id"], "") + data
            if tag == "textarea":
                about["value"] = about.get("value", "") + data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self.form:
            self._within = False
        while any(name == tag for name, _ in self._open):
            name, about = self._open.pop()
            if name in ("select", "textarea") and about.get("mine") and "name" in about:
                self.sent.append((about["name"], about.get("value", "")))
            if name == tag:
                break


class Visitor:
    """A person with the key of a server, who follows its pages."""

    def __init__(self, site: Site) -> None:
        self.site, self.app = site, make_site(site)
        self.base = f"http://127.0.0.1:{PORT}"
        self.cookies: dict[str, str] = {}
        self.get(site.keys.address)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._ask("GET", path, **more))

    def post(self, path: str, fields: Mapping[str, Any] | None = None, **more: Any) -> httpx.Response:
        sent = {"csrf": self.site.keys.csrf, **(fields or {})}
        return asyncio.run(self._ask("POST", path, data=sent, **more))

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"origin": self.base, **more.pop("headers", {})}
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(
            transport=transport, base_url=self.base, cookies=self.cookies, timeout=120
        ) as client:
            answer = await client.request(method, path, headers=headers, **more)
            self.cookies = {cookie.name: cookie.value or "" for cookie in client.cookies.jar}
        return answer

    def open(self, name: str) -> str:
        """Open a file of the folder; return the address of the work."""
        answer = self.post("/choose", {"file": name})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].removesuffix("/open")

    def project(self, address: str) -> Project:
        return self.site.projects.get(address.rsplit("/", 1)[1])

    def upload(self, path: str, field: str, name: str, content: bytes) -> httpx.Response:
        sent = {"csrf": self.site.keys.csrf, "as": field}
        return self.post(path, sent, files={"upload": (name, content)})


@contextmanager
def visiting(folder: Path) -> Iterator[Visitor]:
    """A server for the files of a folder, and its visitor."""
    places = Places(folder)
    projects = Projects(places)
    site = Site(Keys(PORT), places, projects, Runner(projects))
    try:
        yield Visitor(site)
    finally:
        site.runner.close()
        places.remove()
