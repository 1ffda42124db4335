"""Finished sentences by patterns: what an English sentence says, found again by its form, is said in another language.

A slot of a pattern is kept as it stands (``{file}``: a file, a column; ``{column:item}`` in a list, ``{some:values}``
where there may be none), or it has a kind:

- ``{n:n}`` a number, ``{p:p}`` a percentage, ``{l:length}`` a length, ``{m:amount}`` an amount of memory;
- ``{a:name}`` an attack or another name without spaces, ``{a:names}`` several with commas, ``{a:and}`` several with
  "and", ``{s:spec}`` and ``{s:specs}`` settings as they are written, ``{s:setting}`` one in words;
- ``{why:say}`` a phrase that has a pattern of its own, ``{whys:says}`` a list of such;
- ``{title:title}`` a text of a page, such as the title of a field, as the page says it.

The translation names the same slots. A pattern that does not fit the whole sentence, or one of whose phrases has no
pattern, does not fit at all: nothing is half translated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from disclique.messages import write_numbers

NUMBER = r"[-+−]?\d+(?:[,\u202f]\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"
_NAME = r"[\w.=-]+(?::[\w.=-]+(?:,[\w.=-]+)*)?"
_SPEC = r"[\w.:=,/%-]+(?: \| (?:(?!; |, |\)).)+?)?"
_TEXT = "(?:(?!; |: ).)+?"  # what joins phrases is in no name, so that none hides in one
KINDS = {
    "": _TEXT,
    "item": "(?:(?!; |: |, ).)+?",
    "values": "(?:(?!; not in ).)*?",
    "n": NUMBER,
    "p": rf"(?:{NUMBER} ?%|under {NUMBER} %|an unknown share)",
    "length": rf"{NUMBER}(?: k?m)?",
    "amount": rf"{NUMBER} (?:[kMGT]B|bytes)",
    "name": _NAME,
    "names": rf"{_NAME}(?:, {_NAME})*",
    "and": rf"{_NAME}(?: and {_NAME})*",
    "spec": _SPEC,
    "specs": rf"{_SPEC}(?:, {_SPEC})*",
    "setting": r"[\w-]+(?: \([^()]*\))?(?: and .+?)?",
    "say": ".+?",
    "says": ".+?",
    "title": ".+?",
}
AND = {"de": " und "}
_SLOT = re.compile(r"{(\w+)(?::(\w+))?}")
_SAID = re.compile(r"{(\w+)}")
_END = re.compile(r"(?<=[.:!?]) (?=[A-Z])")
_JOINT = re.compile(r", and |; |, | and ")
_SETTING = re.compile(r"([\w-]+(?: \([^()]*\))?) and (.+)", re.DOTALL)
_KEPT = 10_000  # sentences whose translation is remembered: a server lives long
_LONGEST = 20_000  # characters of a text that is looked at
_MOST = 40  # places at which a list is divided in every way


class Pattern:
    """One pattern of English sentences and what it says in another language."""

    def __init__(self, english: str, said: str) -> None:
        """Read a pattern; the translation names the same slots."""
        self.english, self.said = english, said
        self.kinds: dict[str, str] = dict(_SLOT.findall(english))
        pieces = _SLOT.sub("\0", english).split("\0")
        self.weight = sum(map(len, pieces))
        self.longest = max(pieces, key=len)
        self.parts = _SAID.split(said)  # words and names of slots by turns

    @cached_property
    def forms(self) -> tuple[re.Pattern[str], ...]:
        """Ways to divide a sentence among the slots: each as short as it can be, then each as long."""
        lazy = self._compile(lambda form: form)
        free = any("+?" in KINDS[kind] for kind in self.kinds.values())
        return (lazy, self._compile(lambda form: form.replace("+?", "+"))) if free else (lazy,)

    def _compile(self, change: Callable[[str], str]) -> re.Pattern[str]:
        parts, last, seen = [], 0, set()
        for slot in _SLOT.finditer(self.english):
            name = slot.group(1)
            parts.append(re.escape(self.english[last : slot.start()]))
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{change(KINDS[self.kinds[name]])})")
            seen.add(name)
            last = slot.end()
        parts.append(re.escape(self.english[last:]))
        return re.compile("".join(parts), re.DOTALL)

    def fit(self, english: str) -> Iterator[Mapping[str, str]]:
        """Yield ways in which a sentence fits, as what stands in the slots."""
        if self.longest in english:
            for form in self.forms:
                found = form.fullmatch(english)
                if found is not None:
                    yield found.groupdict()


class Translator:
    """The patterns of a language.

    >>> german = Translator({"{attack:name} found {share:p}": "{attack} fand {share}"}, "de")
    >>> german.translate("clique found 5.5 %")
    'clique fand 5,5\\xa0%'
    >>> german.translate("clique found nothing") is None
    True
    """

    def __init__(self, entries: Mapping[str, str], language: str, titles: Mapping[str, str] | None = None) -> None:
        """Take the patterns, and what pages say; patterns with more words of their own are tried first."""
        self.language = language
        self.titles = titles or {}
        self.patterns = sorted((Pattern(*entry) for entry in entries.items()), key=lambda one: -one.weight)
        self._known: dict[str, str | None] = {}

    def translate(self, english: str) -> str | None:
        """Return a sentence, or several in one text, in the language; None if a part of it is not known."""
        if english not in self._known:
            if len(self._known) > _KEPT:
                self._known.clear()
            self._known[english] = self._find(english) if len(english) <= _LONGEST else None
        return self._known[english]

    def _find(self, english: str) -> str | None:
        found = self._match(english)
        if found is None and english[:1].isupper():
            small = self._match(english[0].lower() + english[1:])
            found = None if small is None else small[0].upper() + small[1:]
        if found is not None:
            return found
        for end in _END.finditer(english):
            first = self.translate(english[: end.start()])
            rest = None if first is None else self.translate(english[end.end() :])
            if rest is not None:
                return f"{first} {rest}"
        return self._list(english)

    def _list(self, english: str) -> str | None:
        """Return a list of phrases, all of which are known."""
        for joint in ("; ", ", "):
            if joint in english:
                said = []
                for part in english.split(joint):
                    phrase = self.translate(part)
                    if phrase is None:
                        break
                    said.append(phrase)
                else:
                    return joint.join(said)
        return None

    def _match(self, english: str) -> str | None:
        """Return what the first pattern says that fits, with all its phrases known."""
        for pattern in self.patterns:
            for slots in pattern.fit(english):
                values = {}
                for name, text in slots.items():
                    value = self._say(pattern.kinds[name], text)
                    if value is None:
                        break
                    values[name] = value
                else:
                    said = "".join(values[part] if odd % 2 else part for odd, part in enumerate(pattern.parts))
                    return said.replace("?.", "?")  # a question at the end of a sentence ends it
        return None

    def _say(self, kind: str, text: str) -> str | None:
        """Return what stands in a slot, in the language; None if it is a phrase that is not known."""
        if kind == "p" and text[0].isalpha():
            return self.translate(text)
        if kind in ("n", "p", "length", "amount"):
            return write_numbers(re.sub(r" ?%", "\u00a0%", text), self.language)
        if kind == "and":
            return text.replace(" and ", AND[self.language])
        if kind == "setting" and (both := _SETTING.fullmatch(text)):
            labels = next(self._each(both[2]), None)
            return None if labels is None else f"{both[1]}{AND[self.language]}{labels}"
        if kind == "title":
            return self.titles.get(text)
        if kind == "say":
            return self.translate(text)
        return next(self._each(text), None) if kind == "says" else text

    def _each(self, text: str) -> Iterator[str]:
        """Yield the translations of a list of phrases, over the ways to divide it."""
        whole = self.translate(text)
        if whole is not None:
            yield whole
            return
        joints = list(_JOINT.finditer(text))
        for joint in joints if len(joints) <= _MOST else ():
            first = self.translate(text[: joint.start()])
            if first is not None:
                between = AND[self.language] if "and" in joint[0] else joint[0]
                for rest in self._each(text[joint.end() :]):
                    yield f"{first}{between}{rest}"
