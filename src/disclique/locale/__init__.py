"""The texts that people read on pages, in English and German: one catalogue file for each language.

The key of a catalogue is the English text as it stands in a template or in code. What has been written as a finished
English sentence (a verdict in ``result.json``) is translated by patterns of such sentences.

>>> texts_in("de").say("records")
'Datensätze'
"""

from disclique.locale.catalogue import LANGUAGES
from disclique.locale.texts import Texts, mark, texts_in

__all__ = ["LANGUAGES", "Texts", "mark", "texts_in"]
