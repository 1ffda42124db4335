"""The catalogues of what people read, one for each language, and what a page needs to say it.

A msgid is the code of a message (``disclique.messages``) or, of a text of a page, the English text as it stands in a
template or in code.

>>> texts_in("de").say("records")
'Datensätze'
"""

from disclique.locale.catalogue import LANGUAGES
from disclique.locale.texts import Texts, mark, texts_in

__all__ = ["LANGUAGES", "Texts", "mark", "texts_in"]
