"""How much of the usefulness of distances and numbers survives a mask.

Nearly all is measured on the distances that are published, between the same records before (d) and after (d′). Files
too large for all pairs are measured on a random sample of their records. A measure is registered once, with its title
and its sentence, and from then on stands in every ``Utility``, table and list of choices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from disclique.arguments import check_rng, check_whole, show
from disclique.errors import InputError
from disclique.masks import Mask, TextMask
from disclique.masks.hashing import KEY_BYTES
from disclique.measures.before_after import NEIGHBOURS, PROBABILITIES, BeforeAfter, cluster, estimate_errors
from disclique.measures.map_measures import centre_drift, density_kept, ripley_change, ways_kept
from disclique.messages import Message, mark, percent
from disclique.numbers import NO_NUMBERS, Numbers
from disclique.spaces import shared_unit, wrap
from disclique.spaces.base import Distances
from disclique.synthetic.people import misspell
from disclique.units import KM, measured
from disclique.values import FloatArray, Json


@dataclass(frozen=True)
class Measure:
    """One measure of usefulness; ``compute`` returns None where it means nothing.

    ``title`` says it on an axis or in a table; in a verdict the message of that ``code`` does, or, of a measure of
    one's own, a ``sentence`` with ``{value}``. ``format`` is ``%`` for
    shares, else ``.2f``. Settings of a mask can be ranked by it if it ``ranks``: then more is better. ``power`` is 1 of
    a measure in the unit of the distances, 2 of one in its square, else 0. It is ``sampled`` if of a large file it is
    an estimate from some records, whose error the spread between parts of them shows if it is ``steady``; how far off
    others are is not known, such as clusterings, which depend on how many are clustered. One ``of_numbers`` means
    something without any distances, too.
    """

    name: str
    title: str
    compute: Callable[[BeforeAfter], float | None]
    sentence: str = "{value}"
    code: str | None = None
    format: str = ".2f"
    ranks: bool = False
    power: int = 0
    sampled: bool = True
    steady: bool = True
    of_numbers: bool = False
    named: Message | None = None  # the title, where it has a number in it

    @property
    def heading(self) -> Message:
        """The title, for pages."""
        return self.named or Message(self.title)

    def head(self, unit: str | None) -> Message:
        """Return the title with the unit of the distances behind it, where the measure has one."""
        if not self.power or unit != KM:
            return self.heading
        return Message(mark("title_in_km2") if self.power == 2 else mark("title_in_km"), title=self.heading)


OF_NUMBERS = "numbers"  # the measure of what is left of numbers
LINKAGE = "linkage"  # the one for which a file is encoded once more
_MEASURES: dict[str, Measure] = {}


def register_measure(measure: Measure) -> None:
    """Add a measure to every comparison from now on."""
    if measure.name in _MEASURES:
        raise InputError("measure_name_taken", name=measure.name)
    _MEASURES[measure.name] = measure


def measures() -> dict[str, Measure]:
    """Return all measures by name, in the order in which tables show them."""
    return dict(_MEASURES)


def rankings() -> tuple[str, ...]:
    """Return the names of the measures by which settings can be ranked.

    >>> rankings()
    ('neighbours', 'spearman', 'pearson', 'rand_index', 'linkage', 'numbers', 'density', 'accessibility')
    """
    return tuple(name for name, measure in _MEASURES.items() if measure.ranks)


def describe(name: str, value: float | None) -> Message:
    """Return what a value of a measure means, as a sentence without a full stop.

    >>> str(describe("pearson", 0.5))
    'What remains useful: 0.500 is the correlation of released and original distances'
    """
    measure = _measure(name)
    if value is None:
        return Message("use_not_measured")
    if measure.code is not None:
        return Message(measure.code, value=value)
    shown = percent(value) if measure.format == "%" else f"{value:.3f}"
    return Message("use_as_said", said=measure.sentence.format(value=shown))


def usefulness(utility: Utility | Mapping[str, float | None], name: str) -> float | None:
    """Return the one number by which settings are compared, from a ``Utility`` or its plain values."""
    if not _measure(name).ranks:
        raise InputError("unknown_measure", name=repr(name), measures=rankings())
    return (utility.values if isinstance(utility, Utility) else utility).get(name)


def _measure(name: str) -> Measure:
    if name not in _MEASURES:
        raise InputError("unknown_measure", name=repr(name), measures=rankings())
    return _MEASURES[name]


@dataclass(frozen=True)
class Utility:
    """What a release is still good for: the value of every measure, None where it is not defined.

    Of a large file ``sample`` records were compared, and ``errors`` has the standard error of every measure that is an
    estimate for this reason, None where it is not known; one that is not there was taken of all records.
    """

    records: int
    pairs: int
    values: Mapping[str, float | None]
    unit: str | None = None
    sample: int | None = None
    errors: Mapping[str, float | None] = field(default_factory=dict)

    def __repr__(self) -> str:
        kept, bias = self.values.get("neighbours"), self.values.get("bias")
        told = [f"{self.records} records", f"{self.pairs} pairs"]
        told += [] if kept is None else [f"{percent(kept)} of the nearest neighbours kept"]
        told += [] if bias is None else [f"mean of d′ - d {measured(bias, self.unit, 3)}"]
        told += [] if self.sample is None else [f"on a sample of {self.sample}"]
        return f"Utility({', '.join(told)})"

    def __getitem__(self, name: str) -> float | None:
        return self.values[name]

    def to_dict(self) -> Json:
        """Return all measures as plain values for JSON."""
        return {"records": self.records, "pairs": self.pairs, **self.values}

    row = to_dict  # also one flat row of a table

    def table(self) -> pd.DataFrame:
        """Return one row per measure: name, title, value, and of a sample its standard error."""
        rows = [(name, str(_MEASURES[name].head(self.unit)), value) for name, value in self.values.items()]
        found = pd.DataFrame(rows, columns=["name", "title", "value"])
        return found if self.sample is None else found.assign(error=found["name"].map(dict(self.errors)))

    def _repr_html_(self) -> str:
        return str(self.table().to_html(index=False, na_rep="–"))


def utility(
    original: Distances,
    released: Distances,
    *,
    rng: np.random.Generator,
    sample: int = 1000,
    groups: int = 20,
    mask: Mask | None = None,
    numbers: tuple[Numbers, Numbers] = (NO_NUMBERS, NO_NUMBERS),
    wanted: Collection[str] | None = None,
) -> Utility:
    """Return the usefulness that is left in ``released`` for the records of ``original``, in the same order.

    At most ``sample`` records are compared with one another, and at most so many are asked for their neighbours in the
    whole file: the result says how far off its values may be for this reason. ``groups`` is the largest number of
    clusters into which the sample is divided. With the ``mask`` that encoded texts it is also measured how well two
    files that it encodes under one key can be linked. ``numbers`` are those before and after. Of the measures only
    those ``wanted`` are taken, by default all.

    >>> from disclique.spaces import Points
    >>> file = Points([[0, 0], [3, 4], [6, 0], [0, 8]], "euclidean")
    >>> utility(file, file, rng=np.random.default_rng(0))["published"]
    1.0
    """
    original, released = _check_distances(original, "original"), _check_distances(released, "released")
    check_rng(rng)
    check_whole(sample, "sample", 2)
    check_whole(groups, "groups", 2)
    shared_unit(original, released, ("original", "released"))
    if original.size != released.size:
        raise InputError("records_lost_by_mask", before=original.size, after=released.size)
    columns = _pair_numbers(*numbers)
    if not original.are_published:
        return _measure_numbers(original, released, columns)
    asked = {name: one for name, one in _MEASURES.items() if wanted is None or name in wanted}
    if original.size < 2:
        raise InputError("distances_need_two_records", records=original.size)
    rows = np.arange(original.size, dtype=np.int32)
    if original.size > sample:
        rows = np.sort(rng.choice(rows, size=sample, replace=False))
    order = rng.permutation(original.size).astype(np.int32)
    across = encode_twice(original.select(rows), mask, rng) if LINKAGE in asked else None
    found = BeforeAfter(original, released, rows, order, groups, across, columns)
    values = {name: measure.compute(found) for name, measure in asked.items()}
    told = Utility(original.size, len(found.deviation), values, original.unit)
    if not found.is_sample:
        return told
    estimates = [measure for name, measure in asked.items() if measure.sampled and values[name] is not None]
    errors = estimate_errors(found, {one.name: one.compute for one in estimates if one.steady}, rng)
    return replace(told, sample=len(rows), errors={one.name: errors.get(one.name) for one in estimates})


Columns = tuple[tuple[FloatArray, FloatArray | None], ...]


def _pair_numbers(before: Numbers, after: Numbers) -> Columns:
    """Return every column before and after; None where it is left out."""
    return tuple((one.values, after.of(one.name).values if one.name in after.names else None) for one in before.columns)


def _measure_numbers(original: Distances, released: Distances, columns: Columns) -> Utility:
    """Return what is left of numbers where nothing is published between records."""
    rows = np.arange(original.size, dtype=np.int32)
    found = BeforeAfter(original, released, rows, rows, numbers=columns)
    told = {name: measure.compute(found) if measure.of_numbers else None for name, measure in _MEASURES.items()}
    return Utility(original.size, 0, told, original.unit)


def _check_distances(side: Distances, name: str) -> Distances:
    if (found := wrap(side)) is None:
        raise InputError("not_distances", what=name, given=show(side))
    return found


def _neighbours(found: BeforeAfter) -> float | None:
    """Return the share of the 10 nearest kept, in small files of the 5 nearest, else the correlation."""
    kept = found.neighbours_kept
    return kept[10] if 10 in kept else kept[5] if 5 in kept else _pearson(found)


def _correlated(found: BeforeAfter) -> bool:
    d, masked, _ = found.pairs
    return len(d) >= 2 and np.ptp(d) != 0 and np.ptp(masked) != 0


def _spearman(found: BeforeAfter) -> float | None:
    from scipy.stats import spearmanr

    return float(spearmanr(*found.pairs[:2]).statistic) if _correlated(found) else None


def _pearson(found: BeforeAfter) -> float | None:
    from scipy.stats import pearsonr

    return float(pearsonr(*found.pairs[:2]).statistic) if _correlated(found) else None


def _rand_index(found: BeforeAfter) -> float | None:
    """Return the adjusted Rand index of average-linkage clusterings, averaged over 2 to ``groups`` clusters.

    It is averaged because a single number of groups may fall on a tie.
    """
    from scipy.cluster.hierarchy import cut_tree
    from sklearn.metrics import adjusted_rand_score

    numbers = np.arange(2, min(found.groups, len(found.rows) - 1) + 1)
    if not len(numbers):
        return None
    one, other = (cut_tree(cluster(matrix), n_clusters=numbers) for matrix in (found.before, found.after))
    return float(np.mean([adjusted_rand_score(a, b) for a, b in zip(one.T, other.T, strict=True)]))


def _variance(found: BeforeAfter) -> float | None:
    return float(np.var(found.deviation, ddof=1)) if len(found.deviation) > 1 else None


def _wasserstein(found: BeforeAfter) -> float | None:
    from scipy.stats import wasserstein_distance

    return float(wasserstein_distance(*found.pairs[:2])) if len(found.deviation) else None


def _stress(found: BeforeAfter) -> float | None:
    """Return Kruskal's stress-1 with respect to the original."""
    size = float(np.sqrt(np.sum(found.pairs[0] ** 2)))
    return float(np.sqrt(np.sum(found.deviation**2)) / size) if size > 0 else None


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
    from sklearn.metrics import precision_recall_curve

    same_person = np.eye(len(across), dtype=bool).ravel()
    precision, recall, _ = precision_recall_curve(same_person, -across.ravel())
    return float((2 * precision * recall / np.maximum(precision + recall, np.finfo(float).tiny)).max())


def _linkage(found: BeforeAfter) -> float | None:
    return None if found.across is None else best_f1(found.across)


def _numbers(found: BeforeAfter) -> float | None:
    """Return the mean rank correlation of numbers before and after; 0 of one that is left out, or tells nothing more.

    A column in which all are the same told nothing before, and is not counted.
    """
    kept = [rank_correlation(before, after) for before, after in found.numbers]
    there = [one for one in kept if one is not None]
    return float(np.mean(there)) if there else None


def rank_correlation(before: FloatArray, after: FloatArray | None) -> float | None:
    """Return the rank correlation of a column before and after, 0 if it is left out; None if it told nothing before."""
    from scipy.stats import spearmanr

    known = before[~np.isnan(before)]
    if len(known) < 2 or np.ptp(known) == 0:
        return None
    if after is None:
        return 0.0
    both = ~(np.isnan(before) | np.isnan(after))
    if both.sum() < 2 or np.ptp(before[both]) == 0 or np.ptp(after[both]) == 0:
        return 0.0
    return float(spearmanr(before[both], after[both]).statistic)


def _of_moves(statistic: Callable[[FloatArray], float]) -> Callable[[BeforeAfter], float | None]:
    return lambda found: None if found.moved is None else float(statistic(found.moved))


def _of_deviations(statistic: Callable[[FloatArray], float]) -> Callable[[BeforeAfter], float | None]:
    return lambda found: float(statistic(found.deviation)) if len(found.deviation) else None


def _kept(k: int) -> Callable[[BeforeAfter], float | None]:
    return lambda found: found.neighbours_kept.get(k)


def _quantile(probability: float) -> Callable[[BeforeAfter], float | None]:
    return lambda found: found.quantiles.get(probability)


def _parted(name: str, named: Message, compute: Callable[[BeforeAfter], float | None], **more: Any) -> Measure:
    """Return a measure whose title has a number in it."""
    return Measure(name, str(named), compute, named=named, **more)


for _each in (
    Measure("neighbours", "nearest neighbours kept", _neighbours, code=mark("use_neighbours"), format="%", ranks=True),
    *(_parted(f"neighbours_{k}", Message("kept_of_nearest", number=k), _kept(k), format="%") for k in NEIGHBOURS),
    Measure("spearman", "rank correlation of distances", _spearman, code=mark("use_spearman"), ranks=True),
    Measure("pearson", "correlation of distances", _pearson, code=mark("use_pearson"), ranks=True),
    Measure(
        "rand_index",
        "agreement of clusterings",
        _rand_index,
        code=mark("use_rand_index"),
        ranks=True,
        steady=False,
    ),
    Measure(
        LINKAGE,
        "F1 of linking a copy with typing errors",
        _linkage,
        code=mark("use_linkage"),
        ranks=True,
        steady=False,
    ),
    Measure(
        OF_NUMBERS,
        "rank correlation of numbers",
        _numbers,
        code=mark("use_numbers"),
        ranks=True,
        sampled=False,
        of_numbers=True,
    ),
    Measure("density", "density of places kept", density_kept, code=mark("use_density"), format="%", ranks=True),
    Measure("accessibility", "rank correlation of ways to fixed places", ways_kept, code=mark("use_ways"), ranks=True),
    Measure("bias", "mean of d′ - d", _of_deviations(lambda deviation: -deviation.mean()), power=1),
    Measure("variance", "variance of d - d′", _variance, power=2),
    Measure("wasserstein", "Wasserstein distance of the distances", _wasserstein, power=1, steady=False),
    Measure("stress", "Kruskal's stress", _stress),
    Measure("published", "share of distances published", lambda found: found.pairs[2], format="%"),
    *(_parted(f"q{p:g}", Message("quantile_of_deviations", at=p), _quantile(p), power=1) for p in PROBABILITIES),
    Measure("displacement_mean", "mean move of a point", _of_moves(np.mean), power=1, sampled=False),
    Measure("displacement_median", "median move of a point", _of_moves(np.median), power=1, sampled=False),
    Measure("displacement_max", "longest move of a point", _of_moves(np.max), power=1, sampled=False),
    Measure("displacement_centre_drift", "move of the centre", centre_drift, power=1, sampled=False),
    Measure("displacement_ripley", "largest change of Ripley's L", ripley_change, power=1),
):
    register_measure(_each)
