"""How an attack makes its claims: pairs with probabilities, or nothing and why."""

from __future__ import annotations

import numpy as np

from disclique.model import Claims, FloatArray, IntArray, Json

PROBABLE = 0.5  # a pair is claimed if it is more probable than not
FLOOR = 0.01  # pairs less probable than that are not kept

Weighed = tuple[IntArray, IntArray, FloatArray]  # target rows, known rows, probabilities


def make_claims(
    pairs: Weighed, *, attack: str, floor: float = FLOOR, cut: str = "", doubt: str = "", details: Json | None = None
) -> Claims:
    """Make claims of weighed pairs, leaving out those less probable than ``floor``."""
    target, known, probability = pairs
    keep = probability >= floor
    order = np.lexsort((known[keep], -probability[keep], target[keep]))
    return Claims(
        attack=attack,
        target=target[keep][order].astype(np.int32),
        known=known[keep][order].astype(np.int32),
        probability=probability[keep][order],
        threshold=PROBABLE,
        expected=float(probability.sum()),
        cut=cut,
        doubt=doubt,
        details=details or {},
    )


def no_claims(why: str, *, attack: str, cut: str = "", details: Json | None = None) -> Claims:
    """Claim nothing, and say why."""
    none = np.zeros(0, np.int32)
    return Claims(attack, none, none, np.zeros(0), expected=0.0, cut=cut, doubt=why, details=details or {})
