"""Whether encodings can be read without a secret: keys and names that anybody would try, against the bits.

A token sets all of its positions in every record that has it. Under the right code the positions of common tokens are
therefore set together in as many records as have them, whatever else a filter holds: neither the number of hashes nor
the weights of the columns need to be known, and no list of the people is needed to see it. With one it is sure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.leaks.codes import Code, common_tokens, list_codes
from disclique.attacks.leaks.lists import COMMON, DATES, FIRST_NAMES, LAST_NAMES
from disclique.masks.tokens import Tokens
from disclique.spaces import Encodings, Texts
from disclique.spaces.base import spaced
from disclique.values import FloatArray

Bits = NDArray[np.uint8]
_COUNTS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)


@dataclass(frozen=True)
class Trying:
    """How codes are tried.

    Where names are known, a code is the right one if its tokens' positions are set in those who have them by ``apart``
    more than in the others: 1 but for chance without noise, .9^5 = .59 with a tenth of the bits turned round and five
    positions looked at. Where none are known, common tokens have to be found in as many records as in a list of names,
    up to a share of ``found``, and by ``clear`` more than under the best code with another secret or hash: in filters
    with half of the bits set the best of 3,000 wrong codes was .14 above the next. No false alarm was left in 240 looks
    at keyed files; see the reference on files.
    """

    apart: float = 0.4
    found: float = 0.5
    clear: float = 0.25
    tokens: int = 20  # common ones that are looked for
    few: int = 5  # of these, for a first glance where names are known
    hint: float = 0.25  # by which they have to be set more often for a second one
    probes: tuple[int, ...] = (5, 2)  # first positions of each: most encodings set more, those of the ONS two
    records: int = 1000  # that are looked at to find the code
    fewest: int = 8  # records without which nothing can be said
    most_hashes: int = 60
    drop: float = 0.9  # of how often its positions are set: one that is no more of them
    fits: int = 500  # people whose whole filter is compared with all names
    same: float = 0.5  # of those who have a part: it holds the column that it is compared with
    long: int = 6  # letters of a name that is not found in a filter by chance


TRYING = Trying()


@dataclass(frozen=True)
class Broken:
    """A part of the encodings that a code without a secret explains, and how many positions a token sets in it."""

    part: int
    code: Code
    hashes: int


@dataclass(frozen=True, eq=False)
class Reading:
    """What the dictionary reads: the codes of the parts, and with which chance each person is told by them.

    1 where nobody on the list has the same, 0 where nothing is read. ``known`` says that the list had the people
    themselves; else ``people`` says only who has a name of a short list of common ones, and ``exposed`` is the share of
    those who have a part that can be read.
    """

    broken: tuple[Broken, ...]
    people: FloatArray
    known: bool
    exposed: float

    @property
    def share(self) -> float:
        """The share of the people who are read."""
        return float(self.people.mean())


def read_by_dictionary(made: Encodings, names: Texts | None = None, trying: Trying = TRYING) -> Reading | None:
    """Return what is read without a secret; None where no code that was tried fits. ``names`` are in the same order.

    Where names show nothing, lists of common ones are tried: rows that were taken by position may be other people's.
    """
    rows = spaced(made.size, trying.records)
    trials: dict[int, _Trial] = {}  # parts of one length are tried with the same positions
    broken: list[Broken] = []
    for part, piece in enumerate(made.pieces):
        fresh = _try_lists(piece.length) if names is None else _Trial(piece.length, rows, names, {}, {})
        trial = trials.setdefault(piece.length, fresh)
        some = _Part.of(piece.select(rows))
        if some.people >= trying.fewest:
            found = _find_code(trial, some, [one.code for one in broken], trying)
            broken += [] if found is None else [Broken(part, *found)]
    if not broken:
        return None if names is None else read_by_dictionary(made, None, trying)
    exposed = np.any([made.pieces[one.part].weights > 0 for one in broken], axis=0)
    if names is not None:
        told = _identify(made, broken, names, trying)
    else:
        told = np.max([_spot(made.pieces[one.part], one, trying) for one in broken], axis=0)
    return Reading(tuple(broken), told, names is not None, float(exposed.mean()))


@dataclass(frozen=True, eq=False)
class _Part:
    """The bits of each position over some records, packed, and which of these have the part."""

    columns: Bits
    there: Bits
    people: int
    filters: frozenset[bytes]

    @classmethod
    def of(cls, piece: Encodings) -> _Part:
        opened, there = np.unpackbits(piece.bits, axis=1, count=piece.length), piece.weights > 0
        filters = frozenset(row.tobytes() for row in piece.bits)
        return cls(np.packbits(opened.T, axis=1), np.packbits(there), int(there.sum()), filters)


_Tokens = tuple[list[str], Bits, FloatArray]


@dataclass(frozen=True, eq=False)
class _Trial:
    """What codes are tried with: texts of which some may be in a part, their common tokens and where these lie."""

    length: int
    rows: NDArray[np.int64]
    names: Texts | None
    cut: dict[tuple[str, Tokens, int], _Tokens]
    laid: dict[tuple[Code, int, int], NDArray[np.int64]]

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Texts of which one group may be in a part: the columns of the people, or lists of names."""
        if self.names is None:
            return FIRST_NAMES, LAST_NAMES, DATES
        return tuple(tuple(column[row] for row in self.rows) for column in self.names.fields)

    def tokens(self, code: Code, group: int, most: int) -> _Tokens:
        """Return common tokens of a group, which of its texts have each (packed), and the share that does."""
        key = code.form, code.tokens, group
        if key not in self.cut:
            texts = self.groups[group]
            names, shares = zip(*common_tokens(code, texts, most), strict=True)
            pieces = [set(code.split(text)) for text in texts]
            has = np.packbits([[token in one for one in pieces] for token in names], axis=1)
            self.cut[key] = list(names), has, np.array(shares)
        return self.cut[key]

    def places(self, code: Code, group: int, count: int, trying: Trying) -> NDArray[np.int64]:
        """Return the first positions of so many common tokens of a group."""
        key = code, group, count
        if key not in self.laid:
            tokens, most = self.tokens(code, group, trying.tokens)[0][:count], max(trying.probes)
            self.laid[key] = np.array([code.places(token, most, self.length) for token in tokens])
        return self.laid[key]


@lru_cache(maxsize=2)
def _try_lists(length: int) -> _Trial:
    """Return what codes are tried with where no names are known; it is the same for all filters of a length."""
    return _Trial(length, np.arange(0), None, {}, {})


def _find_code(trial: _Trial, part: _Part, first: Sequence[Code], trying: Trying) -> tuple[Code, int] | None:
    """Return the code that explains a part and its number of hashes, if one does; ``first`` are tried first."""
    codes = list(dict.fromkeys([*first, *list_codes(trial.length)]))
    measure = _found_shares if trial.names is None else _told_apart
    for probe in trying.probes:
        scores = np.zeros((len(codes), len(trial.groups)))
        for place, code in enumerate(codes):
            if trial.names is not None and max(_told_apart(trial, part, code, probe, trying, few=True)) < trying.hint:
                continue
            scores[place] = measure(trial, part, code, probe, trying)
            if trial.names is not None and scores[place].max() >= trying.apart:
                break  # there is no doubt
        top = int(np.argmax(scores.max(axis=1)))
        group = int(np.argmax(scores[top]))
        least = trying.apart if trial.names is not None else trying.found
        above = scores[top, group] - float(scores[_rivals(codes, codes[top]), group].max(initial=0.0))
        if scores[top, group] >= least and (trial.names is not None or above >= trying.clear):
            return _choose_alike(trial, part, codes, codes[top], probe, trying)
    return None


def _rivals(codes: Sequence[Code], best: Code) -> list[int]:
    """Return the codes that have another hash or secret; no salt and an empty one are the same."""
    return [
        place
        for place, code in enumerate(codes)
        if code.hash != best.hash or (code.secret != best.secret and (code.keys, code.salt) != (best.keys, best.salt))
    ]


def _choose_alike(
    trial: _Trial, part: _Part, codes: Sequence[Code], found: Code, probe: int, trying: Trying
) -> tuple[Code, int]:
    """Return how texts are written and cut under the hash and keys that were found, and the number of hashes.

    What explains whole filters is best; else that whose tokens are found most.
    """
    measure = _found_shares if trial.names is None else _told_apart
    count = _count_by_drop if trial.names is None else _count_by_names
    ranked = []
    for place, code in enumerate(codes):
        if (code.hash, code.keys, code.salt) == (found.hash, found.keys, found.salt):
            scores = measure(trial, part, code, probe, trying)
            group = int(np.argmax(scores))
            hashes = count(trial, part, code, group, probe, trying)
            filters = encode_values(code, hashes, trial.length, trial.groups[group])
            whole = len({row.tobytes() for row in filters} & part.filters)
            ranked.append((whole, sum(scores), -place, hashes))
    _, _, place, hashes = max(ranked)
    return codes[-place], hashes


def _together(
    trial: _Trial, part: _Part, code: Code, group: int, probe: int, trying: Trying, *, count: int | None = None
) -> tuple[Bits, Any]:
    """Return in which records all first positions of each token are set, and of which tokens these differ."""
    places = trial.places(code, group, trying.tokens if count is None else count, trying)[:, :probe]
    distinct = (np.diff(np.sort(places, axis=1), axis=1) != 0).all(axis=1)  # one position alone says little
    return np.bitwise_and.reduce(part.columns[places], axis=1), distinct


def _ones(packed: Bits) -> NDArray[np.int64]:
    return np.asarray(_COUNTS[packed].sum(axis=-1, dtype=np.int64))


def _told_apart(
    trial: _Trial, part: _Part, code: Code, probe: int, trying: Trying, *, few: bool = False
) -> list[float]:
    """Return for each column by how much its tokens are set more often in those who have them than in the others."""
    found, count = [], trying.few if few else trying.tokens
    for group in range(len(trial.groups)):
        has = trial.tokens(code, group, trying.tokens)[1][:count] & part.there
        both, distinct = _together(trial, part, code, group, probe, trying, count=count)
        theirs, all_ = _ones(has)[distinct].sum(), part.people * int(distinct.sum())
        hit, set_ = _ones(both & has)[distinct].sum(), _ones(both)[distinct].sum()
        found.append(float(hit / max(theirs, 1) - (set_ - hit) / max(all_ - theirs, 1)))
    return found


def _found_shares(trial: _Trial, part: _Part, code: Code, probe: int, trying: Trying) -> list[float]:
    """Return for each list of names how much of what its tokens would be set is found."""
    found = []
    for group in range(len(trial.groups)):
        shares = trial.tokens(code, group, trying.tokens)[2]
        both, distinct = _together(trial, part, code, group, probe, trying)
        seen = np.minimum(_ones(both) / part.people, shares) * distinct
        found.append(float(seen.sum() / shares.sum()))
    return found


def _count_by_names(trial: _Trial, part: _Part, code: Code, group: int, probe: int, trying: Trying) -> int:
    """Return how many positions a token sets: as many as are set in those who have it."""
    tokens, has, _ = trial.tokens(code, group, trying.tokens)
    places = np.array([code.places(token, trying.most_hashes, trial.length) for token in tokens])
    theirs = has & part.there
    hits = _ones(part.columns[places] & theirs[:, None, :]).sum(axis=0) / max(_ones(theirs).sum(), 1)
    level = float(hits[:probe].mean())
    missed = np.flatnonzero(hits < 0.5 * (level + float(hits.min())))
    return int(missed[0]) if len(missed) and hits.min() < trying.drop * level else trying.most_hashes


def _count_by_drop(trial: _Trial, part: _Part, code: Code, group: int, probe: int, trying: Trying) -> int:
    """Return how many positions a token sets: with one more, the records that have all of them are fewer at once."""
    tokens, _, _ = trial.tokens(code, group, trying.tokens)
    places = np.array([code.places(token, trying.most_hashes + 1, trial.length) for token in tokens])
    counts = _ones(np.bitwise_and.accumulate(part.columns[places], axis=1)).sum(axis=0) + 1.0
    ratios = counts[1:] / counts[:-1]
    turn = ratios[probe - 1 :] / np.concatenate([[1.0], ratios[probe - 1 : -1]])
    return int(probe + np.argmin(turn))


def encode_values(code: Code, hashes: int, length: int, values: Iterable[str]) -> Bits:
    """Return the filters of texts under a code, packed."""
    listed = list(values)
    bits = np.zeros((len(listed), length), dtype=np.uint8)
    places: dict[str, list[int]] = {}
    for row, value in enumerate(listed):
        for token in code.split(value):
            if token not in places:
                places[token] = code.places(token, hashes, length)
            bits[row, places[token]] = 1
    return np.packbits(bits, axis=1)


def _spot(piece: Encodings, one: Broken, trying: Trying) -> FloatArray:
    """Return who has a common name that is read from a part: it is all of it, or a long one is in it."""
    listed = encode_values(one.code, one.hashes, piece.length, COMMON)
    exact = {row.tobytes() for row in listed}
    told = np.array([row.tobytes() in exact for row in piece.bits], dtype=float)
    for filter_ in listed[[len(name) >= trying.long for name in COMMON]]:
        told[((piece.bits & filter_) == filter_).all(axis=1)] = 1.0
    return told


def _identify(made: Encodings, broken: Sequence[Broken], names: Texts, trying: Trying) -> FloatArray:
    """Return the chance with which each person is told from all who are listed, by the parts that are read.

    A part that holds one column is compared as a whole; of one that holds several it is asked whose names are in it.
    """
    columns = [names.strings] if len(names.fields) == 1 else [*names.fields, names.strings]
    pairs = [(one, column) for one in broken for column in columns]
    found = [same for one, column in pairs if (same := _compare(made, one, column, trying)) is not None]
    if found:
        own = list(zip(*(listed for listed, _ in found), strict=True))
        seen = list(zip(*(there for _, there in found), strict=True))
        people = Counter(own)
        return np.array([1 / people[one] if one == other else 0.0 for one, other in zip(own, seen, strict=True)])
    return np.asarray(np.max([_contain(made, one, names, trying) for one in broken], axis=0))


def _compare(
    made: Encodings, one: Broken, column: Sequence[str], trying: Trying
) -> tuple[list[bytes], list[bytes]] | None:
    """Return the filters of a column and those of a part, where the part holds this column."""
    piece = made.pieces[one.part]
    own = encode_values(one.code, one.hashes, piece.length, column)
    same = (own == piece.bits).all(axis=1) & (piece.weights > 0)
    if same.sum() < trying.same * (piece.weights > 0).sum():
        return None
    return [row.tobytes() for row in own], [row.tobytes() for row in piece.bits]


def _contain(made: Encodings, one: Broken, names: Texts, trying: Trying) -> FloatArray:
    """Return the chance with which people are told by whose names are in their filter, measured on some of them."""
    piece = made.pieces[one.part]
    filters = np.zeros((made.size, piece.bits.shape[1]), dtype=np.uint8)
    for column in names.fields:
        own = encode_values(one.code, one.hashes, piece.length, column)
        inside = ((piece.bits & own) == own).all(axis=1)
        if inside.mean() >= trying.same:  # else the column is not in it
            filters |= own
    told, rows = np.zeros(made.size), spaced(made.size, trying.fits)
    sizes = _ones(filters)
    for row in rows:
        fits = ((piece.bits[row] & filters) == filters).all(axis=1) & (sizes > 0)
        most = fits & (sizes == sizes[fits].max(initial=0))  # who explains most of the bits
        told[row] = 1 / most.sum() if most[row] else 0.0
    told[np.setdiff1d(np.arange(made.size), rows)] = told[rows].mean()
    return told
