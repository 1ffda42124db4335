"""Facts with a code; sentences are made where somebody reads them.

A message is a code and values. What it says stands in one catalogue for each language, in ``locale/``: gettext files,
in which the code is the msgid. A slot of a sentence names a value and may say how it is written:

- ``{name}`` as it is, a message as it reads, several with commas; any format of Python, ``{value:.3g}``, too;
- ``{share:p}`` a share in per cent, ``{count:n}`` a number with its thousands apart;
- ``{length:text}`` a text with numbers in it, such as ``12.5 km``; ``{where:country}`` a country by its ISO code;
- ``{attack:attack}`` an attack by its name, with what it does in a few words (code ``attack_who_`` and its name);
- ``{names:and}``, ``or``, ``each_or``, ``semicolons``, ``sentences``: several, joined in this way;
- ``{hint:opt}`` what may be None, and then nothing; ``{phrase:cap}`` with a capital first.

A code with plural forms has them by its value ``count``.

>>> str(Message("did_you_mean", word="register"))
"; did you mean 'register'?"
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from string import Formatter
from typing import Any, Union

ENGLISH = "en"
Plain = Union[None, bool, int, float, str, "Message"]
Value = Union[None, bool, int, float, str, "Message", "tuple[Plain, ...]"]
Forms = tuple[str, ...]  # one, or singular and plural
_AND = {"en": ("and", "or"), "de": ("und", "oder")}


def plain(value: Any) -> Any:
    """Return a value in plain types, which any file can hold: an error as its message, a path as a text."""
    if value is None or isinstance(value, (bool, str, Message)):
        return str(value) if isinstance(value, str) else value
    if isinstance(carried := getattr(value, "message", None), Message):
        return carried
    if isinstance(value, Iterable):
        return tuple(plain(one) for one in value)
    if hasattr(value, "__index__"):
        return int(value)
    if isinstance(value, float) or type(value).__module__ == "numpy":
        return float(value)
    return os.fspath(value) if hasattr(value, "__fspath__") else str(value)


@dataclass(frozen=True, init=False)
class Message:
    """A fact: its code, and the values that belong to it, in plain types."""

    code: str
    values: dict[str, Value] = field(default_factory=dict)

    def __init__(self, code: str, /, values: Mapping[str, Any] | None = None, **more: Any) -> None:
        """Take the code and its values, by name or as they were written."""
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "values", {key: plain(one) for key, one in {**(values or {}), **more}.items()})

    def __hash__(self) -> int:
        return hash((self.code, repr(self.values)))

    def __str__(self) -> str:
        return say(self)

    def __repr__(self) -> str:
        return f"Message({', '.join([repr(self.code), *(f'{key}={value!r}' for key, value in self.values.items())])})"


def map_texts(message: Message, change: Callable[[str], str]) -> Message:
    """Return a message with every text among its values, and those of messages in it, changed.

    >>> map_texts(Message("unreadable", path="folder/a.csv"), lambda text: text.removeprefix("folder/"))
    Message('unreadable', path='a.csv')
    """

    def changed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        return (
            map_texts(value, change)
            if isinstance(value, Message)
            else change(value)
            if isinstance(value, str)
            else value
        )

    code = message.code if message.values or " " not in message.code else change(message.code)
    return Message(code, {key: changed(value) for key, value in message.values.items()})


def mark(code: str) -> str:
    """Return a code, or a text of a page, as it is: the mark by which catalogues learn of what is said elsewhere.

    >>> mark("did_you_mean")
    'did_you_mean'
    """
    return code


def say(message: Message, language: str = ENGLISH) -> str:
    """Return what a message says in a language; in English where the language has no such sentence.

    >>> say(Message("did_you_mean", word="register"), "de")
    "; meinten Sie 'register'?"
    """
    forms = read_catalogue(language).get(message.code) or read_catalogue(ENGLISH).get(message.code) or (message.code,)
    form = forms[-1] if message.values.get("count") != 1 else forms[0]
    return _Writer(language).vformat(form, (), message.values) if message.values else form


def has_sentence(message: Message, language: str) -> bool:
    """Say whether a language has the sentence of a message, and of every message in it."""
    inside = [one for value in message.values.values() for one in (value if isinstance(value, tuple) else (value,))]
    return message.code in read_catalogue(language) and all(
        has_sentence(one, language) for one in inside if isinstance(one, Message)
    )


@cache
def read_catalogue(language: str) -> Mapping[str, Forms]:
    """Read the catalogue of a language: every msgid, the code of a message or the English text of a page, its forms."""
    from babel.messages.pofile import read_po

    found: dict[str, Forms] = {}
    with (resources.files("disclique") / "locale" / language / "LC_MESSAGES" / "disclique.po").open("rb") as file:
        for entry in read_po(file, locale=language):
            key = entry.id[0] if isinstance(entry.id, (list, tuple)) else entry.id
            forms = tuple(entry.string) if isinstance(entry.string, (list, tuple)) else (entry.string,)
            if key and forms[0]:
                found[str(key)] = tuple(map(str, forms))
    return found


_GROUP, _POINT = re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), re.compile(r"(?<=\d)\.(?=\d)")


def write_numbers(text: str, language: str) -> str:
    """Return a text with the numbers in it, written as English writes them, as the language does.

    >>> write_numbers("1,234.5 km", "de").split("\\u202f")
    ['1', '234,5 km']
    """
    return text if language == ENGLISH else _POINT.sub(",", _GROUP.sub("\u202f", text))


def percent(share: float | None, language: str = ENGLISH) -> str:
    """Return a share as people read it; never 0 % or 100 % for something that is neither.

    >>> [percent(share) for share in (0.1234, 0.0123, 0.0001, 0.9961, 1.0)]
    ['12 %', '1.2 %', 'under 0.1 %', '99.6 %', '100 %']
    """
    if share is None:
        return say(Message("unknown_share"), language)
    if 0 < share < 0.001 or 0.9995 <= share < 1:
        return say(Message(mark("under_a_thousandth") if share < 0.5 else mark("over_999_thousandths")), language)
    fine = 0 < share < 0.0995 or 0.995 <= share < 1
    found = f"{100 * share:.1f} %" if fine else f"{100 * share:.0f} %"
    return found if language == ENGLISH else write_numbers(found.replace(" ", "\u00a0"), language)


class _Writer(Formatter):
    """Fills the slots of a sentence as its language writes them."""

    def __init__(self, language: str) -> None:
        self.language = language

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if isinstance(value, Message) and conversion:
            value = say(value, self.language)
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        match format_spec:
            case "p":
                return percent(value, self.language)
            case "h":  # of 100
                return percent(value, self.language).removesuffix("%").rstrip()
            case "n":
                return self._number(value)
            case "opt" | "cap" | "text":
                said = "" if value is None else self._one(value)
                said = write_numbers(said, self.language) if format_spec == "text" else said
                return said[:1].upper() + said[1:] if format_spec == "cap" else said
            case "country":
                return self._country(str(value))
            case "attack":
                return self._attack(str(value))
            case "and" | "or" | "each_or" | "semicolons" | "sentences":
                return self._join([self._one(one) for one in value], format_spec)
        return self._one(value, format_spec)

    def _one(self, value: Any, format_spec: str = "") -> str:
        if isinstance(value, Message):
            return say(value, self.language)
        if isinstance(value, tuple):
            return ", ".join(self._one(one, format_spec) for one in value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return write_numbers(format(value, format_spec), self.language)
        return format(value, format_spec)

    def _join(self, parts: list[str], how: str) -> str:
        if how in ("semicolons", "sentences"):
            return ("; " if how == "semicolons" else " ").join(parts)
        word = _AND[self.language][how != "and"]
        if how == "each_or":
            return f" {word} ".join(parts)
        return f" {word} ".join([*([", ".join(parts[:-1])] if parts[:-1] else []), *parts[-1:]])

    def _number(self, value: float) -> str:
        from babel.numbers import format_decimal

        shown = str(format_decimal(value, format="#,##0.######", locale=self.language))
        return shown if self.language == ENGLISH else shown.replace(".", "\u202f")

    def _attack(self, name: str) -> str:
        who = Message(f"attack_who_{name.partition(':')[0]}")
        known = who.code in read_catalogue(ENGLISH)  # one of somebody's own has its name alone
        return f"{name}, {say(who, self.language)}" if known else name

    def _country(self, code: str) -> str:
        from babel import Locale

        return str(Locale(self.language).territories.get(code, code))
