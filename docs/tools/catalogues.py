"""Keep the catalogues in step with the code: ``make texts`` adds what is new, drops what nobody says, and sorts.

A msgid is the code of a message, or the English text of a page as it stands in a template or in code. What is new has
an empty msgstr, which a test names until somebody fills it in. English has codes only: a text of a page is its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import normalize, read_po

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "disclique"
LANGUAGES = ("en", "de")
WIDTH = 120
CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
SAYING = ("_", "gettext", "mark", "say", "Message", "DiscliqueError", "InputError", "TooLarge", "MissingDependency")
KEYWORDS: dict[str, Any] = {
    **dict.fromkeys((*SAYING, "WorkersLost", "MapNotFound", "MapInParts")),
    "ngettext": (1, 2),
    "check_kind": (4,),
    "check_number": (3,),
    "check_share": (3,),
    "Measure": (2,),  # its title
}
TEMPLATES = {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true", "newstyle_gettext": "true"}


def find_said(package: Path = PACKAGE) -> set[str]:
    """Return what templates and code give to a function that says it: codes of messages, and English texts of pages."""
    methods = [("**.py", "python"), ("**.jinja", "jinja2")]
    found = extract_from_dir(str(package), methods, {"**.jinja": TEMPLATES}, keywords=KEYWORDS)
    return {message if isinstance(message, str) else message[0] for _, _, message, _, _ in found}


def place_of(language: str) -> Path:
    """Return where the catalogue of a language is."""
    return PACKAGE / "locale" / language / "LC_MESSAGES" / "disclique.po"


def read(language: str) -> Catalog:
    """Read the catalogue of a language."""
    with place_of(language).open("rb") as file:
        return read_po(file, locale=language)


def update(language: str, said: set[str], codes: set[str]) -> None:
    """Write the catalogue of a language with what is said and nothing else, by msgid."""
    before = read(language)
    comments = [line for line in place_of(language).read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
    head = (
        f"Content-Type: text/plain; charset=utf-8\nLanguage: {language}\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
    )
    entries = [f'msgid ""\nmsgstr {normalize(head, width=WIDTH)}']
    for key in sorted(codes if language == "en" else said):
        found = before.get(key)
        if found is None or isinstance(found.string, str):
            text = "" if found is None else found.string
            entries.append(f"msgid {normalize(key, width=WIDTH)}\nmsgstr {normalize(text, width=WIDTH)}")
        else:
            forms = [f"msgstr[{number}] {normalize(form, width=WIDTH)}" for number, form in enumerate(found.string)]
            one, several = (normalize(form, width=WIDTH) for form in found.id)
            entries.append("\n".join([f"msgid {one}", f"msgid_plural {several}", *forms]))
    text = "\n".join(comments) + "\n" + "\n\n".join(entries) + "\n"
    place_of(language).write_text(text, encoding="utf-8")


def main() -> None:
    """Update every catalogue; a code is what is written as one and has an English sentence, or is new."""
    said, english = find_said(), read("en")
    texts = {str(entry.id) for entry in read("de") if isinstance(entry.id, str) and entry.id not in english}
    codes = {key for key in said if CODE.fullmatch(key) and key not in texts}
    for language in LANGUAGES:
        update(language, said, codes)


if __name__ == "__main__":
    main()
