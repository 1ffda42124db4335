"""The catalogues of what people read, one for each language, and what a page needs to say it.

A msgid is the code of a message (``disclique.messages``) or, of a text of a page, the English text as it stands in a
template or in code.

>>> texts_in("de").say("records")
'Datensätze'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from disclique.errors import InputError, guess_meant
from disclique.messages import ENGLISH, Message, has_sentence, mark, read_catalogue, say, write_numbers

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


__all__ = ["LANGUAGES", "Texts", "mark", "texts_in"]

LANGUAGES = ("en", "de")


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

    def say(self, message: str | Message, **values: object) -> str:
        """Return a message, or a text of a page with its ``{slots}`` filled, in this language."""
        if isinstance(message, Message):
            return say(message, self.language)
        found = self._text(message)
        return found.format(**values) if values else found

    def number(self, text: object) -> str:
        """Return numbers, written as English writes them, as this language does."""
        return write_numbers(str(text), self.language)

    def install(self, environment: Environment) -> None:
        """Give templates ``_("…", slot=…)``, ``{% trans %}``, filters ``say`` and ``number``, ``language``.

        Whatever fills a slot is escaped, and so is a message given to ``_``; only a ``{% trans %}`` block may hold
        elements, as any other text of a template.
        """
        environment.add_extension("jinja2.ext.i18n")
        environment.policies["ext.i18n.trimmed"] = True
        install: Any = environment.install_gettext_callables  # type: ignore[attr-defined]
        install(self._text, self._several, newstyle=True)
        environment.globals |= {"_": self._escaped, "language": self.language, "texts": self}
        environment.filters |= {"say": self._marked, "number": self.number}

    def _text(self, english: str) -> str:
        """Return a text of a page, known by its English form."""
        return read_catalogue(self.language).get(english, (english,))[0]

    def _several(self, one: str, many: str, count: int) -> str:
        forms = read_catalogue(self.language).get(one, (one, many))
        return forms[0] if count == 1 else forms[-1]

    def _escaped(self, message: str, **values: object) -> Markup:
        """Return a text with everything in it escaped."""
        from markupsafe import escape

        found = escape(self._text(message))
        return found.format(**values) if values else found

    def _marked(self, said: str | Message) -> str:
        """Return a message, or a text of a page, for a page; one that has no translation says that it is English."""
        from markupsafe import Markup

        if isinstance(said, str):
            return self._text(said)
        if self.language == ENGLISH or has_sentence(said, self.language):
            return say(said, self.language)
        return Markup('<span lang="en">{}</span>').format(str(said))


def texts_in(language: str) -> Texts:
    """Return the texts of a language.

    >>> texts_in("fr")
    Traceback (most recent call last):
        ...
    disclique.errors.InputError: language = 'fr': there are en, de
    """
    if not isinstance(language, str) or language not in LANGUAGES:
        raise InputError(
            "unknown_language", language=repr(language), known=LANGUAGES, meant=guess_meant(language, LANGUAGES)
        )
    return Texts(language)
