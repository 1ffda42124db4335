"""What encodings tell whoever counts: how long names are, which are the same, which bits belong together.

Nothing of it needs a key. These are vulnerabilities that Vidanage, Christen, Ranbaduge and
Schnell (2023, ACM Transactions on Privacy and Security 26(3)) measure as length, frequency and co-occurrence; their
other two, similarity and the neighbourhood of similarities, are what the attack ``profiles`` lives on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from disclique.messages import Message
from disclique.records.checks.values import Leak
from disclique.spaces import Encodings, Texts
from disclique.spaces.base import spaced
from disclique.values import FloatArray


@dataclass(frozen=True)
class Looking:
    """From when on a leak is said.

    ``correlation`` of weights and lengths of names: of 50 people it is two standard errors. ``dispersion``: how often
    the weights vary as much as independent bits would. ``crowd``: people with the same encoding. ``scores``: how many
    standard deviations two bits occur together more often than the median pair: of half a million normal ones the
    largest is about 5. ``bits`` and ``recognised``: shares of bits with such a partner, and of people with such an
    encoding.
    """

    correlation: float = 0.3
    dispersion: float = 1.5
    fewest: int = 50  # people below whom weights and bits are not weighed
    crowd: int = 3
    scores: float = 7.0
    bits: float = 0.02
    recognised: float = 0.05
    records: int = 2000  # whose bits are counted together
    positions: int = 1024


LOOKING = Looking()


def tell_length(made: Encodings, names: Texts | None, looking: Looking = LOOKING) -> Leak | None:
    """Say whether the number of bits tells how long a text is; without names, whether it varies as lengths do."""
    if made.size < looking.fewest:
        return None
    best: tuple[float, FloatArray] | None = None
    for piece in made.pieces:
        weights = piece.weights[piece.weights > 0]
        if len(weights) < looking.fewest or weights.std() == 0:
            continue
        value = _dispersion(piece) if names is None else _correlation(piece, names)
        if best is None or value > best[0]:
            best = value, weights
    least = looking.dispersion if names is None else looking.correlation
    if best is None or best[0] < least:
        return None
    value, weights = best
    alone = sum(count == 1 for count in Counter(weights.tolist()).values())
    about = {"least": int(weights.min()), "most": int(weights.max()), "alone": alone}
    if names is None:
        return Leak("length", Message("leak_length", about), alone / made.size)
    return Leak("length", Message("leak_length_known", about, correlation=value), value)


def _correlation(piece: Encodings, names: Texts) -> float:
    """Return the largest rank correlation of the number of bits with the length of a column."""
    there = piece.weights > 0
    ranks = rankdata(piece.weights[there])
    found = [0.0]
    for column in (*names.fields, names.strings):
        lengths = rankdata([len(text) for text, has in zip(column, there, strict=True) if has])
        if lengths.std() > 0:
            found.append(float(np.corrcoef(ranks, lengths)[0, 1]))
    return max(found)


def _dispersion(piece: Encodings) -> float:
    """Return how much the weights vary beside those of independent bits that are set as often."""
    rows = np.flatnonzero(piece.weights > 0)
    rates = np.unpackbits(piece.bits[rows], axis=1, count=piece.length).mean(axis=0)
    return float(piece.weights[rows].var() / max((rates * (1 - rates)).sum(), 1e-9))


def _groups(made: Encodings) -> Iterator[Counter[bytes]]:
    """Return for the whole, and for each part, how often every encoding occurs among those who have it."""
    for piece in made.pieces if len(made.parts) > 1 else (made,):
        yield Counter(row.tobytes() for row, weight in zip(piece.bits, piece.weights, strict=True) if weight > 0)


def tell_duplicates(made: Encodings, looking: Looking = LOOKING) -> Leak | None:
    """Say how many people share an encoding, or a part of it, with others: equal names are equal."""
    counts = max(_groups(made), key=lambda one: sum(c for c in one.values() if c > 1))
    shared, most = sum(count for count in counts.values() if count > 1), max(counts.values(), default=0)
    if most < looking.crowd:
        return None
    share = shared / made.size
    return Leak("duplicates", Message("leak_duplicates", share=share, people=shared, most=most), share)


def tell_frequencies(made: Encodings, looking: Looking = LOOKING) -> Leak | None:
    """Say how many people have an encoding that occurs as often as no other: its frequency says which name it is."""
    best = (0, 0)
    for counts in _groups(made):
        times = Counter(counts.values())
        own = [count for count in counts.values() if count >= looking.crowd and times[count] == 1]
        best = max(best, (sum(own), len(own)))
    people, encodings = best
    if people < looking.recognised * made.size:
        return None
    share = people / made.size
    return Leak("frequencies", Message("leak_frequencies", share=share, encodings=encodings, people=people), share)


def tell_together(made: Encodings, looking: Looking = LOOKING) -> Leak | None:
    """Say how many bits have another with which they occur together far too often: both belong to one token."""
    if made.size < looking.fewest:
        return None
    best = (0.0, 0, 0)
    for piece in made.pieces:
        rows = np.flatnonzero(piece.weights > 0)
        rows = rows[spaced(len(rows), looking.records)]
        bits = np.unpackbits(piece.bits[rows], axis=1, count=piece.length)
        counts = bits.sum(axis=0)
        usable = np.flatnonzero((counts >= looking.crowd) & (counts <= len(rows) - looking.crowd))
        usable = usable[spaced(len(usable), looking.positions)] if len(usable) else usable
        if len(usable) < 2 or len(rows) < looking.fewest:
            continue
        scaled = bits[:, usable].astype(np.float32)
        scaled = (scaled - scaled.mean(axis=0)) / scaled.std(axis=0)
        alike = scaled.T @ scaled / np.float32(np.sqrt(len(rows)))  # in standard deviations
        np.fill_diagonal(alike, -np.inf)
        usual = float(np.median(alike[np.triu_indices(len(usable), 1)]))  # long names have more of all bits
        tied = int((alike.max(axis=1) - max(usual, 0.0) > looking.scores).sum())
        best = max(best, (tied / len(usable), tied, len(usable)))
    share, tied, positions = best
    if share < looking.bits:
        return None
    return Leak("together", Message("leak_together", share=share, bits=tied, positions=positions), share)
