"""Where an assignment may start: from features or from colours of equal distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.attacks.profiles.evidence import F4, Ints, near


@dataclass(frozen=True)
class Starting:
    """How starts are made."""

    colours: int = 12  # rounds of refinement
    faint: float = 0.3  # standard deviation of log odds drawn at random
    same_colour: float = 12.0  # log odds of two records of one colour


STARTING = Starting()


def by_features(theirs: F4, ours: F4, rng: np.random.Generator | None) -> F4:
    """Return log odds by features, each weighed at random, or all alike without ``rng``."""
    weight = np.ones(theirs.shape[1]) if rng is None else rng.gamma(2.0, 0.5, theirs.shape[1])
    scale = np.sqrt(weight).astype(np.float32)
    found = near(theirs * scale, ours * scale).rows(slice(None))
    return np.asarray(found - found.max(axis=1, keepdims=True))


def by_colours(theirs: F4, ours: F4, classes: tuple[Ints, Ints], by: Starting = STARTING) -> F4 | None:
    """Return log odds by colours, where distances on both sides are the same numbers; None where they tell nothing.

    Two records have one colour if as many of their distances are of each length, to records of each colour, again and
    again (Weisfeiler and Leman). The colours before refinement are ``classes``.
    """
    distinct, codes = np.unique(np.concatenate([theirs.ravel(), ours.ravel()]), return_inverse=True)
    if len(distinct) > 1 << 20:
        return None
    code = codes[: theirs.size].reshape(theirs.shape), codes[theirs.size :].reshape(ours.shape)
    colour = np.concatenate(classes).astype(np.int64)
    found = np.zeros((len(theirs), len(ours)), np.float32)
    for _ in range(by.colours):
        halves = colour[: len(theirs)], colour[len(theirs) :]
        many = int(colour.max()) + 1
        rows = [np.sort(side * many + half[None], axis=1) for side, half in zip(code, halves, strict=True)]
        if rows[0].shape[1] != rows[1].shape[1]:
            return None
        refined = np.unique(np.column_stack([np.concatenate(rows), colour]), axis=0, return_inverse=True)[1].ravel()
        common = np.isin(refined[: len(theirs)], refined[len(theirs) :])
        if not common.any():
            break
        before, colour = len(np.unique(colour)), refined
        found += colour[: len(theirs), None] == colour[None, len(theirs) :]
        if len(np.unique(colour)) == before:
            break
    if not found.any():
        return None
    return np.asarray(np.float32(by.same_colour) * found / found.max(), np.float32)
