"""What is to be translated: the messages of every template and of the code, by the room in which they stand.

``make texts`` writes what is found to ``en.toml``, from which a translator starts; a test holds the two equal.
"""

from __future__ import annotations

import ast
from pathlib import Path

from disclique.locale.catalogue import SENTENCES, Sections, read_catalogue, write_catalogue
from disclique.locale.texts import read_block, texts_in

SAYING = {"say", "mark", "_"}  # functions whose first argument is a message
ROOMS = ("show", "app")  # rooms that show pages
SECTIONS = {"show": "report"}  # where the section has another name than the room
HEAD = """Every text that people read on a page, in English; `make texts` writes it.

To translate: copy this file to de.toml (or the two letters of another language), and put what each text is in that
language to the right of the sign =. What stands in {braces} is filled in later and stays. The sections
[sentences] and [places] have patterns of finished sentences; they are written by hand, and patterns.py says what a slot
is."""


def find_messages(package: Path) -> dict[str, list[str]]:
    """Return the messages of the templates and modules below the package's folder, by section, each once."""
    found: dict[str, list[str]] = {}
    known: set[str] = set()
    for room in ROOMS:
        for path in sorted((package / room).rglob("*")):
            messages = _of_file(path)
            fresh = [message for message in dict.fromkeys(messages) if message not in known]
            known.update(fresh)
            if fresh:
                found.setdefault(SECTIONS.get(room, room), []).extend(fresh)
    return found


def _of_file(path: Path) -> list[str]:
    if path.suffix == ".jinja":
        return _of_template(path.read_text(encoding="utf-8"))
    return _of_module(path.read_text(encoding="utf-8")) if path.suffix == ".py" else []


def _of_template(source: str) -> list[str]:
    """Return the messages of a template; a block says what gettext would be given."""
    from jinja2 import Environment

    environment = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=True)
    texts_in("en").install(environment)
    found = []
    for _, function, message in environment.extract_translations(source):  # type: ignore[attr-defined]
        several = message if isinstance(message, tuple) else (message,)
        said = [one for one in several if isinstance(one, str)]
        found += said if function == "_" else [read_block(one) for one in said]
    return found


def _of_module(source: str) -> list[str]:
    """Return the texts that a module gives to a function which says them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0]
        if name in SAYING and isinstance(first, ast.Constant) and isinstance(first.value, str):
            found.append((first.lineno, first.col_offset, first.value))
    return [message for _, _, message in sorted(found)]


def english_catalogue(package: Path) -> str:
    """Return the text of ``en.toml``: every message found, and the patterns of sentences as they are."""
    sections: dict[str, dict[str, str]] = {
        name: {message: message for message in messages} for name, messages in find_messages(package).items()
    }
    kept = {name: read_catalogue("en")[name] for name in SENTENCES}
    return write_catalogue({**sections, **kept}, HEAD)


def missing(language: str) -> Sections:
    """Return the messages and patterns that a language has no text for, by section."""
    there = read_catalogue(language)
    return {
        name: absent
        for name, part in read_catalogue("en").items()
        if (absent := {key: value for key, value in part.items() if key not in there.get(name, {})})
    }


if __name__ == "__main__":
    here = Path(__file__).parent
    (here / "en.toml").write_text(english_catalogue(here.parent), encoding="utf-8")
