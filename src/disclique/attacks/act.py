"""The one act: attacks carried out, and what they claim held against the truth where there is one.

What they are carried out on is in the function that does it: two files (``fetcher``), or a register read in pieces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from disclique.attacks.claims import NOT_CARRIED_OUT, AttackResult, ComparedFiles, no_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.labels import LabelRule
from disclique.attacks.population import prepare
from disclique.attacks.profiles import ProfilesAttack
from disclique.attacks.registration import RegisterAttack
from disclique.attacks.registry import Attack, Fetch
from disclique.errors import DiscliqueError, InputError
from disclique.geodesy import EARTH_KM, from_space
from disclique.measures.risk import Judged, Truth, judge
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.progress import tell
from disclique.spaces import Matrix, Points, ReleaseSeries, full_matrix, matrix_like
from disclique.spaces.base import Distances
from disclique.spaces.positions import lay_on
from disclique.spaces.rebuild import rebuild_map
from disclique.spaces.rebuild.landmarks import measure_distances

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How an attack went: its claims, and what they are worth where the truth is known.

    Without claims, ``refusal`` says why it was not carried out.
    """

    spec: str
    claims: Claims | None = None
    judged: Judged | None = None
    refusal: InputError | None = None
    seconds: float = 0.0

    @property
    def used_whole_map(self) -> bool:
        """True if the attack laid a map of all records on the known file, and so used all that the release says."""
        found = self.claims
        return found is not None and len(found.target) > 0 and found.details.get("unlaid") == 0


Enough = Callable[[Attack, Sequence[Outcome]], InputError | None]


def act(
    attacks: Mapping[str, Attack],
    run: Fetch,
    *,
    truth: Truth | None = None,
    seeds: Pairs | None = None,
    enough: Enough | None = None,
) -> list[Outcome]:
    """Carry out attacks, given by their specs, and judge them; cheap ones first, returned in their own order.

    ``run`` carries out one of them; an InputError says that the attack does not apply, and the others go on.
    ``seeds`` are the pairs that were known beforehand and count for nothing: what the attacks were told unless said.
    ``enough`` says of an attack, after those before it, why it would show no more.

    >>> import disclique as dq
    >>> target, known = dq.poets()
    >>> fetch = fetcher(target, known, lambda attack: dq.LabelRule().candidates(target, known))
    >>> truth = Truth.of_people(list(target.table["name"]), list(known.table["name"]))
    >>> act({"labels": dq.attacks.LabelAttack()}, fetch, truth=truth)[0].judged.risk
    Risk(tp=1, fp=0, fn=3)
    """
    told = list(dict.fromkeys(pair for one in attacks.values() for pair in one.told)) if seeds is None else seeds
    outcomes: list[Outcome] = []
    for spec, attack in sorted(attacks.items(), key=lambda one: one[1].cost):
        needless = None if enough is None else enough(attack, outcomes)
        if needless is not None:
            outcomes.append(Outcome(spec, refusal=needless))
            continue
        tell(spec)
        outcomes.append(judge_outcome(spec, lambda: run(attack), truth, told))  # noqa: B023 - called at once
    place = {spec: number for number, spec in enumerate(attacks)}
    return sorted(outcomes, key=lambda one: place[one.spec])


def judge_outcome(spec: str, make: Callable[[], Claims], truth: Truth | None, seeds: Pairs = ()) -> Outcome:
    """Return how one attack goes whose claims ``make`` returns."""
    begun = time.perf_counter()
    try:
        claims = make()
    except InputError as error:
        return Outcome(spec, refusal=error, seconds=round(time.perf_counter() - begun, 6))
    seconds = round(time.perf_counter() - begun, 6)
    return Outcome(spec, claims, None if truth is None else judge(claims, truth, seeds), seconds=seconds)


def fetcher(target: Microdata, known: Microdata, candidates: Callable[[Attack], Candidates]) -> Fetch:
    """Return a function that carries out attacks on two files, equal ones once, whoever asks for them first.

    ``candidates`` chooses the pairs that an attack may link. InputError says that an attack does not apply to these
    files. One that would apply but could not be carried out claims nothing and was cut short: no sign of safety.

    >>> import disclique as dq
    >>> target, known = dq.poets()
    >>> fetch = fetcher(target, known, lambda attack: dq.LabelRule().candidates(target, known))
    >>> fetch(dq.attacks.LabelAttack()) is fetch(dq.attacks.LabelAttack())
    True
    """
    known = prepare(known)  # what several attacks work out from it alone
    done: dict[Attack, Claims] = {}

    def fetch(attack: Attack) -> Claims:
        if attack not in done:
            try:
                done[attack] = carry_out(attack, target, known, candidates(attack), fetch)
            except InputError:
                raise
            except (DiscliqueError, ImportError, np.linalg.LinAlgError) as error:  # too large, not installed, unsolved
                done[attack] = fail(attack, error)
        return done[attack]

    return fetch


def fail(attack: Attack, error: Exception) -> Claims:
    """Return the claims of an attack that applies but could not be carried out."""
    why = error.message if isinstance(error, DiscliqueError) else Message(str(error))
    return no_claims(why, attack=attack.name, cut=Message(NOT_CARRIED_OUT, reason=why))


def carry_out(attack: Attack, target: Microdata, known: Microdata, candidates: Candidates, fetch: Fetch) -> Claims:
    """Carry out one attack on two files, with what ``fetch`` returns of others; any error is raised."""
    attack.check_size(target, known)
    return attack.run_from(fetch, target, known, candidates)


def show_outcomes(
    outcomes: Sequence[Outcome], attacks: Mapping[str, Attack], files: Callable[[Claims], ComparedFiles]
) -> dict[str, AttackResult | InputError]:
    """Return what each attack found, as people are shown it, or why it does not apply.

    ``files`` returns the files with which claims are shown.
    """
    shown: dict[str, AttackResult | InputError] = {}
    for one in outcomes:
        if one.claims is None:
            assert one.refusal is not None
            shown[one.spec] = one.refusal
            continue
        agreement = getattr(attacks[one.spec], "agreement", None)
        shown[one.spec] = files(one.claims).show(one.claims, one.judged, seconds=one.seconds, agreement=agreement)
    return shown


ALL_COMMON = 0.99  # everybody of one release is in the other
FEWEST = 3  # pairs that fix how one map lies on another


def link_releases(releases: Sequence[Microdata], knowledge: Knowledge, *, metric: str | None) -> Distances:
    """Return what several releases say together, in the order of the first, as far as their rows can be told apart.

    Each is attacked with the first one as the known file, in which everybody is. Records that are not more probable
    than not the same person stay apart: of them the later release says nothing. On a map, whose ``metric`` is given,
    the places of linked records are averaged; elsewhere (None) their distances. A release that cannot be linked adds
    nothing.
    """
    first, *later = releases
    if metric is None:
        return ReleaseSeries((first.distances, *_reorder_all(first, later, knowledge)))
    radius = EARTH_KM if metric == "sphere" else 0.0
    noise = knowledge.matrix_noise, knowledge.relative_noise
    try:
        base = rebuild_map(first.distances, radius, *noise).positions
    except DiscliqueError:
        return first.distances
    places = Points(from_space(base) if radius else base[:, :2], metric=metric)
    known, total, many = replace(first, distances=places), base.copy(), np.ones(len(base))
    for one in later:
        try:
            mine = rebuild_map(one.distances, radius, *noise).positions
            rows, others, _ = _link_maps(one, known, knowledge).claimed()
        except DiscliqueError:
            continue
        if len(rows) >= FEWEST:
            total[others] += lay_on(mine[rows], base[others], radius == 0)(mine[rows])
            many[others] += 1
    mean = total / many[:, None]
    if radius:
        mean *= radius / np.linalg.norm(mean, axis=1, keepdims=True)
    if first.distances.is_large:
        where = from_space(mean) if radius else mean[:, :2]
        return Points(where, metric=metric, unit=first.distances.unit).hidden()
    values = measure_distances(mean, mean, radius)
    np.fill_diagonal(values, 0.0)
    return matrix_like((values + values.T) / 2, first.distances)


def _link_maps(release: Microdata, known: Microdata, knowledge: Knowledge) -> Claims:
    """Link a release to the map of another one; the noise of both lies between them."""
    told = replace(knowledge, common=ALL_COMMON, seeds=(), law=None)
    if told.noise is not None:
        both = replace(told.noise, east=told.noise.east * np.sqrt(2), north=told.noise.north * np.sqrt(2))
        told = replace(told, noise=both)
    return RegisterAttack(told).run(release, known, _match(release, known))


def _match(release: Microdata, first: Microdata) -> Candidates:
    return LabelRule("any").candidates(release, first)


def _reorder_all(first: Microdata, later: Sequence[Microdata], knowledge: Knowledge) -> list[Matrix]:
    """Return the distances of later releases in the order of the first, NaN where a record is not found there."""
    told = replace(knowledge, common=ALL_COMMON, seeds=(), law=None, mask=None)
    parts = []
    for one in later:
        try:
            claims = ProfilesAttack.build(told, Search(threads=1)).run(one, first, _match(one, first))
        except DiscliqueError:
            continue
        rows, others, _ = claims.claimed()
        found = np.full((len(first), len(first)), np.nan)
        found[np.ix_(others, others)] = full_matrix(one.distances)[np.ix_(rows, rows)]
        np.fill_diagonal(found, 0.0)
        parts.append(matrix_like(found, one.distances))
    return parts
