"""What encodings are made for: to link two files under one key, although one of them has typing errors."""

from __future__ import annotations

import numpy as np

from disclique.masks import Mask, TextMask
from disclique.masks.encoding import KEY_BYTES
from disclique.model import Distances, FloatArray
from disclique.synthetic.misspelling import misspell


def encode_twice(original: Distances, mask: Mask | None, rng: np.random.Generator) -> FloatArray | None:
    """Return distances from texts to the same with typing errors, both encoded under one key; None for other masks.

    Row i and column i are the same person.
    """
    texts = original.texts()
    if not isinstance(mask, TextMask) or texts is None:
        return None
    key = rng.bytes(KEY_BYTES)
    both = mask.encode(texts, key, rng).join(mask.encode(misspell(texts, rng), key, rng))
    rows = np.arange(original.size, dtype=np.int32)
    return both.block(rows, rows + np.int32(original.size))


def best_f1(across: FloatArray) -> float:
    """Return the highest F1 that a threshold on the distance reaches; pairs on the diagonal are one person.

    F1 is the harmonic mean of precision (links that are right) and recall (people linked).

    >>> best_f1(np.array([[0.1, 0.8], [0.3, 0.4]]))
    0.8
    """
    people = len(across)
    order = np.argsort(across, axis=None, kind="stable")
    right = np.eye(people, dtype=bool).ravel()[order].cumsum()
    links = np.arange(1, people * people + 1)
    distance = across.ravel()[order]
    last = np.append(distance[1:] != distance[:-1], True)  # pairs as far apart as one another are linked together
    return float((2 * right / (links + people))[last].max())
