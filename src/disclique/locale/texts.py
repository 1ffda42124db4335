"""The texts of one language: messages of pages, finished sentences, numbers, and what a template needs to say them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from disclique.errors import InputError, guess_meant
from disclique.locale.catalogue import LANGUAGES, read_messages, read_patterns
from disclique.locale.numbers import write_number
from disclique.locale.patterns import Translator

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_SLOT = re.compile(r"%\((\w+)\)s")
_BRACES = re.compile(r"{(\w+)}")


def mark(message: str) -> str:
    """Return a message as it is: the mark by which the catalogue learns of a text that is said elsewhere.

    >>> mark("records")
    'records'
    """
    return message


@dataclass(frozen=True)
class Texts:
    """Everything that is said, in one language; what has no translation is said in English.

    >>> texts = texts_in("de")
    >>> texts.say("{found} of {all} people", found=3, all=20)
    '3 von 20 Personen'
    >>> texts.number("12.5 km")
    '12,5 km'
    """

    language: str
    _translator: Translator = field(repr=False)

    @cached_property
    def messages(self) -> dict[str, str]:
        """Every text of a page by its English form."""
        return read_messages(self.language)

    def say(self, message: str, **values: object) -> str:
        """Return a message in this language, its ``{slots}`` filled with the values."""
        found = self.messages.get(message, message)
        return found.format(**values) if values else found

    def sentence(self, english: str) -> str:
        """Return a finished English sentence in this language, or as it is if no pattern knows it."""
        return self.translate(english) or english

    def translate(self, english: str) -> str | None:
        """Return a finished English sentence in this language, or None if no pattern knows it."""
        return english if self.language == "en" else self._translator.translate(english)

    def number(self, text: object) -> str:
        """Return numbers, written as English writes them, as this language does."""
        return write_number(str(text), self.language)

    def install(self, environment: Environment) -> None:
        """Give templates ``_("…", slot=…)``, ``{% trans %}``, filters ``sentence`` and ``number``, ``language``.

        Whatever fills a slot is escaped, and so is a message given to ``_``; only a ``{% trans %}`` block may hold
        elements, as any other text of a template.
        """
        environment.add_extension("jinja2.ext.i18n")
        environment.policies["ext.i18n.trimmed"] = True
        install: Any = environment.install_gettext_callables  # type: ignore[attr-defined]
        install(self._block, lambda one, many, count: self._block(one if count == 1 else many), newstyle=True)
        environment.globals |= {"_": self._escaped, "language": self.language, "texts": self}
        environment.filters |= {"sentence": self._marked, "number": self.number}

    def _block(self, message: str) -> str:
        """Return what a ``{% trans %}`` block says, with the slots of gettext."""
        found = self.messages.get(read_block(message))
        return message if found is None else _BRACES.sub(r"%(\1)s", found.replace("%", "%%"))

    def _escaped(self, message: str, **values: object) -> Markup:
        """Return a message with everything in it escaped."""
        from markupsafe import escape

        found = escape(self.messages.get(message, message))
        return found.format(**values) if values else found

    def _marked(self, english: str) -> str:
        """Return a sentence for a page; one that has no translation says that it is English."""
        from markupsafe import Markup

        found = self.translate(str(english))
        return Markup('<span lang="en">{}</span>').format(english) if found is None else found


def read_block(message: str) -> str:
    """Return the key of what a ``{% trans %}`` block says: gettext's slots as those of the catalogue.

    >>> read_block("%(found)s of %(all)s people, 5 %%")
    '{found} of {all} people, 5 %'
    """
    return _SLOT.sub(r"{\1}", message).replace("%%", "%")


def texts_in(language: str) -> Texts:
    """Return the texts of a language.

    >>> texts_in("fr")
    Traceback (most recent call last):
        ...
    disclique.errors.InputError: language = 'fr': there are en, de
    """
    if not isinstance(language, str) or language not in LANGUAGES:
        raise InputError(f"language = {language!r}: there are {', '.join(LANGUAGES)}{guess_meant(language, LANGUAGES)}")
    return _read(language)


@cache
def _read(language: str) -> Texts:
    return Texts(language, Translator(read_patterns(language), language, read_messages(language)))
