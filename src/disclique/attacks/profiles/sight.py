"""Looks at both files from anchors: how likely each pair is by its distances to them.

Distances to anchors are a space in which every direction counts by what it tells. The errors of a matched record's
distances are correlated: what moves a record moves all its distances. In the directions of Fisher's discriminants they
are independent and alike, and the likelihood of a pair is a sum of squares. Their law is that of the snooper's own
draws of the mask; where the matched pairs differ more than the mask explains, because the snooper's file has errors of
its own, it is learned from the pairs, or from copies of the file with as many more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf

from disclique.attacks.profiles.anchors import FEWEST_PAIRS, Files, Pairs
from disclique.attacks.profiles.evidence import F4, Evidence, Ints, either, fill_gaps
from disclique.attacks.profiles.sides import Side
from disclique.values import FloatArray


@dataclass(frozen=True, eq=False)
class Sight:
    """Evidence for the target's records, and for known records as a release might show them (a trial).

    ``excess`` is the variance of the pairs' errors relative to what the mask explains; 1 where no mask is known.
    ``who`` are the known records of the trial, where these are not all.
    """

    target: Evidence
    trial: Evidence
    excess: float = 1.0
    who: Ints | None = None


def by_anchors(
    files: Files, pairs: Pairs, shares: tuple[float, ...], rng: np.random.Generator, *, halves: bool
) -> Sight:
    """Look at every record from anchors; with ``halves`` from such that it has no part in.

    Then the pairs are cut in two: each half is looked at from the other, with a law that was learned there. A pair that
    only fits because it helped to make the alignment loses its support; between files without a common record nothing
    remains.
    """
    if not halves:
        return _trusted(files, pairs, pairs, shares, rng)
    parts = [pairs.some(np.arange(half, len(pairs), 2)) for half in range(2)]
    looks = [_trusted(files, parts[half], parts[1 - half], shares, rng) for half in range(2)]
    seen = np.zeros(files.target.size, np.int64)  # from which half each record is looked at
    seen[parts[0].target] = 1
    tried = np.zeros(files.known.size, np.int64)
    tried[parts[0].known] = 1
    return Sight(
        either(seen, looks[0].target, looks[1].target),
        either(tried, looks[0].trial, looks[1].trial),
        max(look.excess for look in looks),
    )


def _trusted(files: Files, own: Pairs, others: Pairs, shares: tuple[float, ...], rng: np.random.Generator) -> Sight:
    """Look from as many anchors as can be trusted: the first whose pairs have errors of one kind."""
    best: Base | None = None
    for share in shares:
        base = _base(files, own.first(share), others.first(share))
        best = base if best is None or base.mixed < best.mixed else best
        if base.mixed <= (files.anchoring.one_list if files.copies else files.anchoring.one_kind):
            best = base
            break
    assert best is not None
    if files.copies:
        return _look_misspelled(files, best)
    learned = len(files.known.draws) < 2 or best.excess > files.anchoring.explained
    return _look(files, best, rng, learned=learned)


class Base(NamedTuple):
    """Anchors and the distances of all records to them, with the errors of the anchors and of other pairs.

    ``excess`` is the usual variance of errors, relative to what the mask explains, and ``mixed`` that of the worst
    tenth of the pairs, relative to the best ones without a mask, and to the worst tenth of a list with errors.
    """

    anchors: Pairs
    x: F4  # target
    y: F4  # known, as expected
    shown: F4 | None  # known, as a release might show it
    own: F4  # errors of the anchors
    others: F4  # errors of pairs that are no anchors
    excess: float
    mixed: float


def _base(files: Files, chosen: Pairs, others: Pairs) -> Base:
    anchors = chosen.evenly(files.anchoring.anchors)
    seen = _Seen.of(files, anchors)
    kept = _sound(files, seen, others)
    anchors = anchors.some(kept)
    x, y, shown = _distances(seen.some(kept), anchors)
    middle = y.mean(axis=0)
    x, y = x - middle, y - middle
    shown = None if shown is None else shown - middle
    mine, theirs = (x[some.target] - y[some.known] for some in (chosen, others))
    best, usual, worst = (max(float(part), 1e-30) for part in np.quantile(_squares(theirs), [0.2, 0.5, 0.9]))
    if shown is None:
        return Base(anchors, x, y, shown, mine, theirs, 1.0, worst / best)
    expected = explained = max(float(np.median(_squares(shown - y))), 1e-30)
    if files.copies:
        explained = max(float(np.quantile(_squares(np.subtract(*_copied(files, anchors, 0))), 0.9)), 1e-30)
    if files.astray is not None:
        shown = files.known.profiles(files.astray[anchors.known], 0) - middle
    return Base(anchors, x, y, shown, mine, theirs, usual / expected, worst / explained)


def _copied(files: Files, anchors: Pairs, number: int) -> tuple[F4, F4]:
    """Return distances to the anchors in a draw of the known file and in a misspelled copy, beside each other."""
    known, size = anchors.known, files.known.size
    shown = files.known.profiles(known, number % len(files.known.draws))
    copy = files.copies[number].profiles(size + known)[size:]
    shown, copy, _ = _distances(_Seen(shown, copy, None, len(anchors)), Pairs(known, known))
    middle = copy.mean(axis=0)
    return fill_gaps(shown) - middle, copy - middle


def _law_of_spelling(files: Files, anchors: Pairs) -> FloatArray:
    """Return the covariance of what errors in the list do to distances to the anchors.

    Errors in a record move its distances to all anchors, of which there are as many examples as records. Errors in an
    anchor move everybody's distance to it alone, whatever is wrong in other anchors: one draw of them for all records
    would show directions in which they happen to cancel out.
    """
    known, size = anchors.known, files.known.size
    found = []
    for copy in files.copies[1:]:
        right, wrong = copy.profiles(known), copy.profiles(size + known)
        seen = _Seen(right[size:], right[:size], wrong[:size], len(anchors))
        of_record, exact, of_anchor = _distances(seen, Pairs(known, known))
        assert of_anchor is not None
        found.append([fill_gaps(one - exact) for one in (of_record, of_anchor)])
    of_records, of_anchors = (np.concatenate(side).astype(float) for side in zip(*found, strict=True))
    of_records, of_anchors = (side - side.mean(axis=0) for side in (of_records, of_anchors))
    alone = float((of_anchors**2).mean())
    return np.asarray(_covariance(of_records) + alone * np.eye(of_anchors.shape[1]))


class _Seen(NamedTuple):
    """Distances to anchors: in the target, expected of known records, and as a release might show them."""

    target: F4
    known: F4
    shown: F4 | None
    anchors: int

    @staticmethod
    def of(files: Files, anchors: Pairs) -> _Seen:
        """Look at all records from the anchors."""
        target, known = files.target, files.known
        shown = known.profiles(anchors.known, 0) if len(known.draws) > 1 else None
        return _Seen(target.profiles(anchors.target), known.profiles(anchors.known), shown, len(anchors))

    def some(self, kept: Ints) -> _Seen:
        """Return the distances to some of the anchors, both ways if directed."""
        columns = (np.arange(0, self.known.shape[1], self.anchors)[:, None] + kept).ravel()
        shown = None if self.shown is None else self.shown[:, columns]
        return _Seen(self.target[:, columns], self.known[:, columns], shown, len(kept))


def _distances(seen: _Seen, anchors: Pairs) -> tuple[F4, F4, F4 | None]:
    """Return the distances to the anchors without those of anchors to themselves.

    An anchor's distance to itself says nothing; it is taken to be that to the nearest other anchor, on all sides.
    """
    x, y, shown, width = seen
    among = y[anchors.known][:, :width]
    nearest = np.where(np.isnan(among), np.inf, among).argmin(axis=1)
    for begin in range(0, y.shape[1], width):
        own, other = begin + np.arange(width), begin + nearest
        x[anchors.target, own] = x[anchors.target, other]
        y[anchors.known, own] = y[anchors.known, other]
        if shown is not None:
            shown[anchors.known, own] = shown[anchors.known, other]
    return x, fill_gaps(y), shown


def _sound(files: Files, seen: _Seen, others: Pairs) -> Ints:
    """Return the anchors to which the pairs' distances agree about as well as to most: a wrong one spoils scores."""
    errors = _squares((seen.target[others.target] - seen.known[others.known]).T)
    if seen.shown is not None:
        errors = errors / np.maximum(_squares((seen.shown - seen.known).T), 1e-30)
    errors = errors.reshape(-1, seen.anchors).mean(axis=0)  # both directions of a directed file
    kept = np.flatnonzero(errors <= files.anchoring.sound * np.median(errors))
    return kept if len(kept) >= FEWEST_PAIRS else np.argsort(errors, kind="stable")[:FEWEST_PAIRS]


def _look(files: Files, base: Base, rng: np.random.Generator, *, learned: bool) -> Sight:
    known, anchoring = files.known, files.anchoring
    x, y, shown = base.x, base.y, base.shown
    gaps = np.isnan(x)
    residual = np.where(np.isnan(base.own), 0, base.own)
    if shown is None or learned:
        errors = base.others[rng.integers(len(base.others), size=len(y))] * np.float32(anchoring.wider)
        shown = np.where(gaps[rng.integers(len(gaps), size=len(y))], np.nan, y + errors)
    if gaps.mean() > 1 - anchoring.complete + 1 / max(len(x), 2):
        return Sight(*_published(x, y, shown, residual), base.excess)
    x, shown = fill_gaps(x), fill_gaps(np.asarray(shown))
    spread = (y.T @ y if learned else _symmetric(shown.T @ y)).astype(float) / len(y)
    within = _law_of_draws(known, base.anchors) if len(known.draws) > 1 else None
    if within is None or learned:
        within = _law_of_pairs(residual, within)
    within = within + max(anchoring.rounding * float(y.var()), 1e-30) * np.eye(
        len(within)
    )  # equal files differ by rounding
    return Sight(*_discriminated((x, y, shown), spread, within, anchoring.telling), base.excess)


def _look_misspelled(files: Files, base: Base) -> Sight:
    """Look by what a draw of the known file is beside a copy with more errors: so is the release beside the file."""
    anchoring, anchors = files.anchoring, base.anchors
    assert base.shown is not None
    law = [_copied(files, anchors, number) for number in range(1, len(files.copies))]  # the first is tried
    shown, copied = (np.concatenate(sides) for sides in zip(*law, strict=True))
    shown = shown - shown.mean(axis=0)  # errors make distances longer, by how much depends on their kind
    within = _law_of_draws(files.known, anchors) + _law_of_spelling(files, anchors)
    within = within + max(anchoring.rounding * float(copied.var()), 1e-30) * np.eye(len(within))
    spread = _symmetric(base.shown.T @ base.y).astype(float) / len(base.y)
    turn, _ = _directions(spread, within, anchoring.telling)
    u, v = shown @ turn, copied @ turn
    nearer = np.maximum((u * v).mean(axis=0), 0) / (v**2).mean(axis=0)
    left = np.maximum((u**2).mean(axis=0) - nearer**2 * (v**2).mean(axis=0), 1e-30)
    scale, total = 1 / np.sqrt(left), (u**2).mean(axis=0) / left
    trial, trial_copy = _copied(files, anchors, 0)

    def evidence(x: F4, y: F4) -> Evidence:
        x = fill_gaps(x)
        return _likelihood((x - x.mean(axis=0)) @ turn * scale, y @ turn * (nearer * scale), total)

    return Sight(evidence(base.x, base.y), evidence(trial, trial_copy), base.excess)


def compare_errors(files: Files, pairs: Pairs, who: Ints) -> tuple[float, float]:
    """Return the usual variance of errors of pairs, and of known records beside their copies.

    Both are relative to what the mask explains. They are compared in the directions in which people differ most:
    some kinds of errors make all distances longer, which hides nobody.
    """
    own, others = (pairs.some(np.arange(half, len(pairs), 2)) for half in range(2))
    base = _base(files, own, others)
    assert base.shown is not None
    shown, copy = _copied(files, base.anchors, 0)
    expected, made = (float(np.median(_squares(errors))) for errors in (base.shown - base.y, (shown - copy)[who]))
    made /= max(expected, 1e-30)
    strong = replace(files, anchoring=replace(files.anchoring, telling=files.anchoring.strong))
    look = _look_misspelled(strong, base)
    found, tried = (
        float(np.median(_squares(evidence.left[rows] - evidence.right[known])))
        for evidence, rows, known in ((look.target, *others), (look.trial, who, who))
    )
    return made * found / max(tried, 1e-30), made


def _squares(errors: F4) -> FloatArray:
    """Return the mean square of the errors of each record, 0 where nothing is published."""
    said = ~np.isnan(errors)
    total = (np.where(said, errors, 0).astype(float) ** 2).sum(axis=1)
    return np.asarray(total / np.maximum(said.sum(axis=1), 1))


def _symmetric(a: F4) -> F4:
    return np.asarray((a + a.T) / 2)


def _discriminated(
    points: tuple[F4, F4, F4], spread: FloatArray, within: FloatArray, telling: float
) -> tuple[Evidence, Evidence]:
    """Return the log likelihood ratios of one person against a stranger, if all is normal."""
    turn, between = _directions(spread, within, telling)
    total = 1 + np.maximum(between, 0).astype(np.float32)
    x, y, shown = (side @ turn for side in points)
    return _likelihood(x, y, total), _likelihood(shown, y, total)


def _directions(spread: FloatArray, within: FloatArray, telling: float) -> tuple[F4, FloatArray]:
    """Return directions in which errors are independent and of variance 1, and how much records vary there."""
    between, directions = eigh(spread, within)
    chosen = np.argsort(-between)[: max(int((between > telling).sum()), 1)]
    return directions[:, chosen].astype(np.float32), between[chosen]


def _likelihood(x: F4, y: F4, total: F4) -> Evidence:
    """Return the log likelihood ratios of points that lie around ``y`` by 1, and those of strangers by ``total``."""
    row = -((x**2) @ (1 - 1 / total)) / 2 + np.log(total).sum() / 2
    return Evidence(x, y, row.astype(np.float32), -((y**2).sum(axis=1)) / 2)


def _published(x: F4, y: F4, shown: F4, residual: F4) -> tuple[Evidence, Evidence]:
    """Return log likelihood ratios from the published distances alone, as if their errors were independent."""
    own = np.float32(np.sqrt((residual**2).mean() + 1e-6 * y.var() + 1e-30))
    total = np.float32(np.sqrt(own**2 + y.var()))

    def evidence(points: F4) -> Evidence:
        said = ~np.isnan(points)
        value = np.where(said, points, 0).astype(np.float32) / own
        row = (value**2).sum(axis=1) * ((own / total) ** 2 - 1) / 2 + said.sum(axis=1) * np.log(total / own)
        left = np.hstack([value, -said.astype(np.float32) / 2])
        right = (np.hstack([y, y**2 / own]) / own).astype(np.float32)
        return Evidence(left, right, row.astype(np.float32), np.zeros(len(y), np.float32))

    return evidence(x), evidence(shown)


def _law_of_draws(known: Side, anchors: Pairs) -> FloatArray:
    """Return the covariance of the errors in a release, from all draws but the first, which is left for trials."""
    draws = len(known.draws) - 1
    mean = known.profiles(anchors.known)
    wider = 1.0 if known.exact else np.sqrt((draws + 1) / max(draws - 1, 1))
    parts = [known.profiles(anchors.known, draw) - mean for draw in range(1, draws + 1)]
    errors = np.concatenate([np.where(np.isnan(part), 0, part) for part in parts]).astype(float) * wider
    return _covariance(errors)


def _law_of_pairs(residual: F4, expected: FloatArray | None) -> FloatArray:
    """Return the covariance of the pairs' errors, shrunk to that of the mask where it is known."""
    own = _covariance(residual.astype(float))
    if expected is None:
        return own
    trust = len(residual) / (len(residual) + len(own))
    return np.asarray(trust * own + (1 - trust) * expected * (np.trace(own) / max(np.trace(expected), 1e-300)))


def _covariance(errors: FloatArray) -> FloatArray:
    """Return the covariance of errors, as far as their number tells it (Ledoit and Wolf 2004)."""
    scale = np.sqrt((errors**2).mean(axis=0)) + 1e-9 * np.sqrt((errors**2).mean()) + 1e-30
    found, _ = ledoit_wolf(errors / scale, assume_centered=True)
    found = found + 1e-3 * np.eye(len(found))
    return np.asarray(found * scale * scale[:, None])
