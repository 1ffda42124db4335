"""Figures by which other tools measure disclosure: classes of equal records, what they tell of a population, and homes.

They look at labels, or at places, and never at distances between records. Each follows the definition of the tool that
it is known from, and equals it on that tool's own published example.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.model import Microdata
from disclique.numbers import DECIMALS
from disclique.records.labels import candidates, label_tuples
from disclique.values import FloatArray

Ints = NDArray[np.int64]
PITMAN, ZAYATZ = "Pitman", "Zayatz"


def lay_cells(data: Microdata) -> pd.DataFrame:
    """Return the columns by which records are told apart: labels, and numbers that are released without noise."""
    numbers = {one.name: np.round(one.values, DECIMALS) for one in data.numbers.columns if one.law.sharp}
    return data.labels.reset_index(drop=True).assign(**numbers)


def _mark_missing(cells: pd.DataFrame) -> pd.DataFrame:
    """Write None for every missing value, which equals itself."""
    return cells.astype(object).where(cells.notna(), None)


def number_classes(cells: pd.DataFrame) -> Ints:
    """Return the class of each record: those of one class are equal in every column; a missing value is one too.

    >>> number_classes(pd.DataFrame({"sex": ["f", "m", "f", None]})).tolist()
    [0, 1, 0, 2]
    """
    return pd.factorize(pd.Series(label_tuples(_mark_missing(cells)), dtype=object))[0].astype(np.int64)


def count_members(classes: Ints) -> Ints:
    """Return how many records the class of each one has, itself among them.

    >>> count_members(np.array([0, 1, 0])).tolist()
    [2, 1, 2]
    """
    return np.bincount(classes)[classes].astype(np.int64)


def count_fits(cells: pd.DataFrame, weights: FloatArray | None = None) -> FloatArray:
    """Return how many records fit each one, a missing value fitting any: the frequencies of sdcMicro.

    With ``weights`` it is for how many people of the population these stand. A record with a missing value fits into
    several classes, so that these look larger than ``count_members`` says.

    >>> count_fits(pd.DataFrame({"A": [2, 3, None, 2]})).tolist()
    [3.0, 2.0, 4.0, 3.0]
    """
    cells = _mark_missing(cells)
    alike = candidates(cells, cells)
    many = np.ones(len(cells)) if weights is None else weights
    people = np.bincount(alike.known_class, many)
    fits = np.bincount(alike.relation[:, 0], people[alike.relation[:, 1]])
    return np.asarray(fits[alike.target_class])


def estimate_individual_risk(fits: FloatArray, people: FloatArray) -> FloatArray:
    """Return the risk of each record by Benedetti and Franconi, as sdcMicro approximates it.

    It is the mean of 1/F given f, where ``fits`` f records of the sample stand for ``people`` F of the population. F is
    never taken to be less than f.

    References
    ----------
    Franconi, L. and Polettini, S. (2004): Individual risk estimation in mu-Argus: a review. PSD, LNCS 3050, 262-272.
    """
    share = fits / np.maximum(people, fits)
    odds, surprise = share / np.where(share < 1, 1 - share, 1.0), -np.log(share)
    of_few = np.where(fits > 1, odds - odds**2 * surprise, odds * surprise)
    found = np.where(fits > 2, share / (fits - (1 - share)), of_few)
    return np.where(share < 1, found, 1 / fits)


@dataclass(frozen=True)
class PopulationUnique:
    """The share of records that are alone in the population, too, and the ``model`` that estimates it."""

    share: float
    model: str = ""


@dataclass(frozen=True)
class PopulationRule:
    """Which model is asked: Pitman's up to a sampling fraction of ``small``, as Dankar and others found; else Zayatz's.

    Their rule takes the smaller one of Zayatz's and a third model in larger samples. The third is left out: the larger
    estimate is the one that cannot make data look safer.

    References
    ----------
    Dankar, F. et al. (2012): Estimating the re-identification risk of clinical data sets. BMC Med Inform Decis Mak 12.
    """

    small: float = 0.1


POPULATION_RULE = PopulationRule()


def estimate_population_unique(
    members: Ints, fraction: float, rule: PopulationRule = POPULATION_RULE
) -> PopulationUnique:
    """Estimate the share of records that are alone in a population of which so large a ``fraction`` was sampled.

    ``members`` are the sizes of the classes of the sample. Where Pitman's equations have no solution it is Zayatz's.

    >>> estimate_population_unique(np.array([1, 1, 2, 4]), 1.0)
    PopulationUnique(share=0.25, model='Zayatz')
    """
    if not (members == 1).any():
        return PopulationUnique(0.0)
    pitman = _estimate_by_pitman(members, fraction) if fraction <= rule.small else None
    if pitman is not None:
        return PopulationUnique(pitman, PITMAN)
    return PopulationUnique(_estimate_by_zayatz(members, fraction), ZAYATZ)


def _estimate_by_zayatz(members: Ints, fraction: float) -> float:
    """Zayatz (1991): how probably a class that is alone in the sample is so in the population.

    Classes of the population are taken to have sizes in the shares in which the sample has them.
    """
    from scipy.stats import hypergeom

    size, many = np.unique(members, return_counts=True)
    records = int(members.sum())
    drawn_once = hypergeom.pmf(1, int(records / fraction), size, records)
    return float(many[0] * (many[0] * drawn_once[0] / (many * drawn_once).sum()) / records)


def _estimate_by_pitman(members: Ints, fraction: float) -> float | None:
    """Pitman's model by maximum likelihood (Hoshino 2001), None where that has no solution."""
    from scipy.special import gammaln

    found = _fit_pitman(members)
    if found is None:
        return None
    theta, alpha = found
    population = float(members.sum()) / fraction
    share = float(np.exp(gammaln(theta + 1) - gammaln(theta + alpha)) * population ** (alpha - 1))
    return share if 0 < share <= 1 else None


def _fit_pitman(members: Ints) -> tuple[float, float] | None:
    """Return θ and α of Pitman's model: the top of the likelihood, then the zero of its slopes, which is sharper."""
    from scipy.optimize import minimize, root
    from scipy.special import digamma, expit, gammaln

    size, many = np.unique(members, return_counts=True)
    records, classes = float(members.sum()), float(len(members))

    def measure(at: FloatArray) -> float:
        """Minus the logarithm of the likelihood, by numbers from which allowed θ and α follow."""
        alpha = float(expit(at[1]))
        theta = float(np.exp(at[0])) - alpha
        opened = (classes - 1) * np.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1)
        joined = (many * (gammaln(size - alpha) - gammaln(1 - alpha))).sum()
        return float(gammaln(theta + records) - gammaln(theta + 1) - opened - joined)

    def slopes(at: FloatArray) -> list[float]:
        theta, alpha = at
        steps = (digamma(classes + theta / alpha) - digamma(theta / alpha + 1)) / alpha
        inside = float((many * (digamma(size - alpha) - digamma(1 - alpha))).sum())
        return [steps - (digamma(records + theta) - digamma(theta + 1)), (classes - 1 - theta * steps) / alpha - inside]

    with np.errstate(all="ignore"):
        top = minimize(measure, (np.log(classes), 0.0), method="Nelder-Mead").x
        alpha = float(expit(top[1]))
        found = root(slopes, (float(np.exp(top[0])) - alpha, alpha))
    theta, alpha = map(float, found.x)
    return (theta, alpha) if found.success and 0 < alpha < 1 and theta + alpha > 0 else None


@dataclass(frozen=True)
class Diversity:
    """l-diversity of a sensitive column: the smallest number of ``distinct`` values in a class, and by ``entropy``."""

    distinct: int
    entropy: float


def measure_diversity(classes: Ints, values: pd.Series) -> Diversity | None:
    """Return the l-diversity of a column; None where it has no value at all.

    A missing value is none, so that it does not make a class look more diverse. By entropy l is how many equally
    frequent values would be as diverse.

    >>> measure_diversity(np.array([0, 0, 0, 1, 1]), pd.Series(["a", "b", "b", "a", "c"]))
    Diversity(distinct=2, entropy=1.8898815748423097)
    """
    there = values.notna().to_numpy()
    if not there.any():
        return None
    cells = pd.DataFrame({"class": classes[there], "value": pd.factorize(values[there])[0]})
    counts = cells.value_counts(sort=False)
    shares = counts / counts.groupby(level="class").transform("sum")
    entropy = -(shares * np.log(shares)).groupby(level="class").sum()
    return Diversity(int(counts.groupby(level="class").size().min()), float(np.exp(entropy.min())))


def count_spatial_k(homes: FloatArray, released: FloatArray) -> Ints:
    """Return how many homes are at least as near to each released place as the true one, itself among them.

    Places are rows of coordinates in which straight distances count (``geodesy.to_space``).

    >>> line = np.array([[0.0], [1], [2], [3]])
    >>> count_spatial_k(line, np.array([[1.0], [1], [4], [3]])).tolist()
    [3, 1, 2, 1]
    """
    from scipy.spatial import cKDTree

    radius = np.linalg.norm(released - homes, axis=1)
    rounding = 1e-12 * float(np.abs(homes).max(initial=0.0))
    found = cKDTree(homes).query_ball_point(released, radius * (1 + 1e-9) + rounding, return_length=True)
    return np.asarray(found, dtype=np.int64)


def count_addresses(home: FloatArray, released: FloatArray, addresses: FloatArray) -> Ints:
    """Return the k of MaskMyPy in the plane: one more than the addresses in the circle around each released place.

    The circle goes through the home. MaskMyPy draws it as a polygon inside, which an address on the circle itself does
    not lie in, but for its eastern end. A home that lies there is an address and counted again.
    """
    radius = np.linalg.norm(released - home, axis=1)
    step = addresses[None, :, :] - released[:, None, :]
    far = np.linalg.norm(step, axis=2)
    on_it = np.isclose(far, radius[:, None], rtol=1e-12)
    east = on_it & (step[:, :, 0] > 0) & (step[:, :, 1] == 0)
    return np.asarray(1 + ((far < radius[:, None]) & ~on_it | east).sum(axis=1), dtype=np.int64)
