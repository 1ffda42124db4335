"""Follow every link of a built site: pages, anchors, pictures, scripts; and find what it would load from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {  # what a browser fetches by itself, and the attribute that says from where
    "img": ("src", "srcset"),
    "script": ("src",),
    "link": ("href",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "input": ("src",),
    "use": ("href", "xlink:href"),
}
STYLE = re.compile(r"""url\(\s*['"]?(?!data:|#)([^)'"]+)|@import\s+['"]([^'"]+)""")


class Page(HTMLParser):
    """What a page links to, what it loads, and which anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.twice: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what the tag says."""
        given = {name: value or "" for name, value in attrs}
        for name in ("id", "name"):
            if name in given and (name == "id" or tag == "a"):
                if name == "id" and given[name] in self.anchors:
                    self.twice.append(given[name])
                self.anchors.add(given[name])
        if tag in ("a", "area") and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") in ("canonical", "next", "prev", "alternate"):
            self.links.append(given.get("href", ""))
        elif tag in LOADED:
            for name in LOADED[tag]:
                found = given.get(name, "")
                parts = [part.split()[0] for part in found.split(",") if part.split()] if name == "srcset" else [found]
                self.loads += [part for part in parts if part]
        self.loads += [one or other for one, other in STYLE.findall(given.get("style", ""))]


def problems(site: Path) -> list[str]:
    """Return a sentence for everything in the site that leads nowhere or needs a network."""
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    wrong: list[str] = []
    if not pages:
        return [f"{site}: there is no page"]
    for path, page in pages.items():
        here = path.relative_to(site)
        wrong += [f"{here}: two elements are called #{name}" for name in page.twice]
        wrong += [f"{here}: loads {address} from elsewhere" for address in page.loads if _foreign(address)]
        for address in [*page.links, *(load for load in page.loads if not _foreign(load))]:
            reason = _broken(address, path, site, pages)
            if reason:
                wrong.append(f"{here}: {address}: {reason}")
    for path in sorted(site.rglob("*.css")):
        for one, other in STYLE.findall(path.read_text(encoding="utf-8")):
            address = one or other
            if _foreign(address):
                wrong.append(f"{path.relative_to(site)}: loads {address} from elsewhere")
            elif not (path.parent / unquote(urlsplit(address).path)).exists():
                wrong.append(f"{path.relative_to(site)}: {address}: there is no such file")
    return wrong


def _foreign(address: str) -> bool:
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme not in ("", "data")


def _broken(address: str, path: Path, site: Path, pages: dict[Path, Page]) -> str:
    """Return why a link leads nowhere, or nothing; links to other sites are not followed."""
    parts = urlsplit(address)
    if parts.scheme in ("http", "https", "mailto", "data", "javascript") or parts.netloc:
        return ""
    if parts.path.startswith("/"):
        return "it begins at the root, which a folder does not have"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_relative_to(site):
        return "it leads out of the site"
    if target.is_dir():
        return "it leads to a folder, which opens as a listing from the file system"
    if not target.exists():
        return "there is no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return f"{target.relative_to(site)} has no such anchor"
    return ""
