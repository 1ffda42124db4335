"""Finished sentences by patterns: what an English sentence says, found again by its form, is said in another language.

A slot of a pattern is ``{name}`` for what is kept as it stands (a file, a column, the text of a mask), ``{name:n}`` for
a number, ``{name:p}`` for a percentage, ``{name:say}`` for a phrase that has a pattern of its own, ``{name:says}`` for
several such, joined by a comma, semicolon or "and", and ``{name:and}`` for names joined by "and". The translation names
the same slots. A pattern that does not fit the whole sentence, or one of whose phrases is unknown, does not fit at all:
nothing is half translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from disclique.texts.numbers import write_number

NUMBER = r"[-+−]?\d[\d,\u202f\u00a0]*(?:\.\d+)?(?:e[-+]?\d+)?"
KINDS = {"": ".+?", "n": NUMBER, "p": rf"[<>]?\s?{NUMBER}\s?%", "say": ".+?", "says": ".+?", "and": ".+?"}
AND = {"de": " und "}
_SLOT = re.compile(r"{(\w+)(?::(\w+))?}")
_END = re.compile(r"(?<=[.:!?]) (?=[A-Z])")
_SPLIT = re.compile(r"(, and |; and |, |; | and )")
_DEPTH = 6  # phrases in phrases; no sentence comes near


class Pattern:
    """One pattern of English sentences and what it says in another language."""

    def __init__(self, english: str, said: str) -> None:
        """Read a pattern; slots stand in braces, and the translation names the same ones."""
        self.english = english
        self.kinds: dict[str, str] = dict(_SLOT.findall(english))
        self.said = said
        self.weight = len(_SLOT.sub("", english))

    @cached_property
    def forms(self) -> tuple[re.Pattern[str], ...]:
        """Ways to divide a sentence among the slots: each as short as it can be, then each as long."""
        lazy = self._compile(lambda kind: KINDS[kind])
        if sum(KINDS[kind] == ".+?" for kind in self.kinds.values()) == 0:
            return (lazy,)
        return lazy, self._compile(lambda kind: KINDS[kind].replace(".+?", ".+"))

    def _compile(self, form: object) -> re.Pattern[str]:
        assert callable(form)
        parts, last, seen = [], 0, set()
        for slot in _SLOT.finditer(self.english):
            name, kind = slot.group(1), slot.group(2) or ""
            parts.append(re.escape(self.english[last : slot.start()]))
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{form(kind)})")
            seen.add(name)
            last = slot.end()
        parts.append(re.escape(self.english[last:]))
        return re.compile("".join(parts), re.DOTALL)


class Translator:
    """The patterns of a language."""

    def __init__(self, entries: Mapping[str, str], language: str) -> None:
        """Take the patterns; those with more words of their own are tried first."""
        self.language = language
        self.patterns = sorted((Pattern(*entry) for entry in entries.items()), key=lambda one: -one.weight)
        self._known: dict[str, str | None] = {}

    def translate(self, english: str) -> str | None:
        """Return a sentence, or several in one text, in the language; None if one of them is not known."""
        return self._translate(english, _DEPTH)

    def _translate(self, english: str, depth: int) -> str | None:
        if english not in self._known:
            if len(self._known) > 10_000:  # a server lives long
                self._known.clear()
            self._known[english] = self._find(english, depth)
        return self._known[english]

    def _find(self, english: str, depth: int) -> str | None:
        if depth == 0:
            return None
        found = self._match(english, depth)
        if found is None and english[:1].isupper():
            small = self._match(english[0].lower() + english[1:], depth)
            found = None if small is None else small[0].upper() + small[1:]
        if found is not None or not _END.search(english):
            return found
        for end in _END.finditer(english):
            first = self._translate(english[: end.start()], depth - 1)
            rest = self._translate(english[end.end() :], depth) if first is not None else None
            if first is not None and rest is not None:
                return f"{first} {rest}"
        return None

    def _match(self, english: str, depth: int) -> str | None:
        for pattern in self.patterns:
            for form in pattern.forms:
                fit = form.fullmatch(english)
                said = None if fit is None else self._fill(pattern, fit.groupdict(), depth)
                if said is not None:
                    return said
        return None

    def _fill(self, pattern: Pattern, slots: Mapping[str, str], depth: int) -> str | None:
        """Return what a pattern says, its slots filled; None if a phrase in one is not known."""
        values = {}
        for name, text in slots.items():
            value = self._say(pattern.kinds[name], text, depth - 1)
            if value is None:
                return None
            values[name] = value
        return re.sub(r"{(\w+)}", lambda slot: values[slot.group(1)], pattern.said)

    def _say(self, kind: str, text: str, depth: int) -> str | None:
        if kind == "n":
            return write_number(text, self.language)
        if kind == "p":
            return write_number(re.sub(r"\s?%", "\u00a0%", text), self.language)
        if kind == "and":
            return text.replace(" and ", AND[self.language])
        if kind == "say":
            return self._translate(text, depth)
        if kind == "says":
            return next(self._each(text, depth), None)
        return text

    def _each(self, text: str, depth: int) -> Iterator[str]:
        """Yield the translations of a list of phrases, over the ways to divide it."""
        whole = self._translate(text, depth)
        if whole is not None:
            yield whole
        for comma in _SPLIT.finditer(text):
            first = self._translate(text[: comma.start()], depth)
            if first is None:
                continue
            joint = comma.group(1).replace(", and ", AND[self.language]).replace(" and ", AND[self.language])
            for rest in self._each(text[comma.end() :], depth):
                yield f"{first}{joint}{rest}"
