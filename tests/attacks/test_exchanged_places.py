"""Pairs of records that exchanged their places: weighed by products of matrices, held to plain sums."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from disclique.attacks.weigh.exchange import find_exchanged
from disclique.engine.kernels.neighbours import RelatedClasses
from disclique.masks.laws import ExchangeLaw


def sum_plainly(model: Any, law: ExchangeLaw, places: np.ndarray, blur: float, common: float) -> dict[Any, float]:
    """The log ratio of each pair, place by place and partner by partner, as the module says it in words."""
    n, homes, gain = len(places), model.known_map.positions, model.related.gain
    away = np.linalg.norm(places[:, None] - places[None], axis=2)
    near = (away <= law.radius * (1 + 1e-9)) & ~np.eye(n, dtype=bool)
    stay = law.stay(near.sum(axis=1).astype(float))
    draw = (1 - stay) / np.maximum(near.sum(axis=1), 1)
    square = ((places[:, None] - homes[None]) ** 2).sum(axis=2)
    at = np.where(square <= 25 * blur, model.rarity * np.exp(-square / (2 * blur)) / (2 * np.pi * blur), 0.0)
    odds = at * min(common * n / len(homes), 1.0)

    def fits(record: int, place: int) -> float:
        known = sum(
            odds[place, k] * np.exp(gain[model.known_class[k]])
            for k in range(len(homes))
            if model.known_class[k] == model.target_class[record] >= 0
        )
        return float((1 + known) / (1 + odds[place].sum()))

    found = {}
    for t in range(n):
        for k in range(len(homes)):
            if not model.target_class[t] == model.known_class[k] >= 0:
                continue
            total = at[t, k] * stay[t]
            for u in np.flatnonzero(near[t]):
                total += at[u, k] * (draw[t] + draw[u]) / 2 * fits(int(u), t)
            if total > 0:
                found[t, k] = float(np.log(total) + gain[model.known_class[k]])
    return found


@pytest.mark.parametrize(("classes", "sd"), [(1, 4.0), (3, 1.0), (3, 20.0)])
def test_pairs_are_weighed_as_by_plain_sums(classes: int, sd: float) -> None:
    rng = np.random.default_rng(classes)
    places = np.column_stack([rng.uniform(0, 60, (24, 2)), np.zeros(24)])
    homes = np.vstack([places + rng.normal(0, 0.5, (24, 3)) * [1, 1, 0], places[:6] + np.array([9.0, 0, 0])])
    own = rng.integers(0, classes, 24)
    theirs = np.concatenate([own, rng.integers(0, classes, 6)])
    if classes > 1:
        own[3], theirs[5] = -1, -1
    related = RelatedClasses(np.arange(classes + 1), np.arange(classes), rng.normal(0, 0.5, classes))
    model: Any = SimpleNamespace(
        target_class=own,
        known_class=theirs,
        related=related,
        rarity=rng.uniform(20, 90, 30),
        known_map=SimpleNamespace(positions=homes, radius=0.0),
        thresholds=SimpleNamespace(weigh=SimpleNamespace(tails_sd=5)),
    )
    law = ExchangeLaw(25.0)
    laws: Any = SimpleNamespace(model=model, law=law, components=[SimpleNamespace(variance=1.0)])
    found = find_exchanged(laws, [places], np.full(24, sd**2), common=0.8)
    expected = sum_plainly(model, law, places, sd**2 + 1.0, 0.8)
    ratios = dict(zip(zip(found.target.tolist(), found.known.tolist(), strict=True), found.ratio, strict=True))
    likely = {pair for pair, value in expected.items() if value > -600}
    assert likely <= set(ratios) <= set(expected)
    np.testing.assert_allclose([ratios[pair] for pair in likely], [expected[pair] for pair in likely], rtol=1e-9)
