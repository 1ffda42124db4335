"""Texts as another clerk would have typed them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from disclique.spaces import Texts

SHARE = 0.5  # of the records: every second one has an error


def misspell(texts: Texts, rng: np.random.Generator, share: float = SHARE) -> Texts:
    """Return the texts with one typing error in a share of them, drawn at random.

    A letter is replaced, inserted, left out, or exchanged with the next one, with equal chance; letters are drawn as
    often as they occur in the file, so that errors are of its script.

    >>> misspell(Texts(("anna meier", "otto weber")), np.random.default_rng(1), share=1.0).strings
    ('nana meier', 'otto webemr')
    """
    letters = [letter for text in texts.strings for letter in text if not letter.isspace()]
    wrong = rng.random(texts.size) < share
    strings = [_with_error(text, letters, rng) if bad else text for text, bad in zip(texts.strings, wrong, strict=True)]
    return replace(texts, strings=tuple(strings))


def _with_error(text: str, letters: list[str], rng: np.random.Generator) -> str:
    """Return the text with one error; after some tries that change nothing, with another letter at its end."""
    for _ in range(20):
        at, letter = int(rng.integers(len(text))), letters[int(rng.integers(len(letters)))]
        found = (
            text[:at] + letter + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at] + text[at + 1 :],
            text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
        )[int(rng.integers(4))]
        if found.strip() and found.strip() != text:
            return found
    return text + letters[0]
