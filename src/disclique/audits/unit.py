"""One unit of an audit carried out: a release, attacked in every way and held against all yardsticks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from disclique.attacks import Attack, Holder, Knowledge, Search, act, fetcher, learn, parse_attacks
from disclique.attacks.calibration import Calibration, calibrate, calibrate_matrix
from disclique.attacks.series import link_releases
from disclique.audits.definition import Audit
from disclique.audits.known_file import KnownFile, draw_known_file
from disclique.audits.people import ask_for_everybody, draw_releases
from disclique.audits.plan import PEOPLE, RAISE, REST
from disclique.audits.records import Attempt, ReleaseRecord
from disclique.audits.sensitivity import parse_variant, vary
from disclique.audits.settings import at_labels
from disclique.audits.sparing import CHEAP, find_spared
from disclique.audits.yardsticks import (
    ask_insiders,
    consult_oracle,
    count_hits,
    guess_by_labels,
    match_labels,
    run_control,
    weigh_attempt,
)
from disclique.errors import DiscliqueError
from disclique.masks import Mask, parse_mask
from disclique.measures.risk import Hits
from disclique.measures.utility import utility
from disclique.model import Budget, Distances, Microdata
from disclique.progress import tell
from disclique.records.reading import select_records
from disclique.runs import Unit
from disclique.spaces import Series

MOST_COMMON = 0.99  # no snooper is certain that everybody is in the file
TIES = 20  # maximum cliques listed
MEMORY = 2_000_000_000  # bytes for a product graph: the same on every machine, since it decides how it is searched
STARTS, STARTS_ON_MAP = 8, 4  # alignments that profiles tries; on a map others find what it would
SAMPLED = 3  # repetitions in which the control is run, insiders are asked, and utility is measured
WHOLE = 1500  # records up to which the matrix is formed; most attacks on larger releases need some of it only
CONTROLLED = 1500  # records after which the control shows no more: of large files one repetition has them


def run_unit(audit: Audit, unit: Unit) -> ReleaseRecord:
    """Mask the file, attack the release, and judge what was claimed.

    With more effort only the attacks that rest on a budgeted search are repeated. The part ``people`` asks the oracle
    alone, for every person; a part that assumes one thing otherwise leaves out what is only measured beside the risk.
    """
    audit, unit = at_labels(audit, unit)
    if unit.part == PEOPLE:
        return ask_for_everybody(audit, unit, partial(_knowledge, audit.plain, unit.mask))
    variant = parse_variant(unit.part)
    if variant is not None:
        audit = vary(audit, variant)
    mask = parse_mask(unit.mask)
    known = _known_file(audit, unit.repetition)
    plan, rng = audit.plan, audit.chance.rng
    # one more than is published, for what a further release would give away
    masked = draw_releases(mask, known, plan.releases + 1, lambda k: rng("noise", mask.name, unit.repetition, *k))
    attacks, knowledge = build_attacks(audit, unit, known), _knowledge(audit.plain, unit.mask, known.share)
    published = _publish(audit, unit, known, masked[: plan.releases], knowledge)
    target = replace(known.released, distances=published)
    labels = match_labels(audit, target, known.data)
    more = bool(unit.effort) or unit.part == REST  # than was carried out before on the same release
    tell("oracle")
    asked = None if more else consult_oracle(masked[: plan.releases], known, knowledge, labels)
    saved = None
    if asked is not None and not plan.thorough:
        saved = find_spared(asked, knowledge, known, labels.exact, scenario=plan.scenario, repetition=unit.repetition)
    run = fetcher(target, known.data, labels)
    tries = act(attacks, run, truth=known.truth, seeds=known.seeds, spare=saved)
    attempts = []
    for tried in tries:
        attempt, attack = weigh_attempt(tried, known, labels.exact, plan.scenario), attacks[tried.spec]
        if attempt.cut:
            holder = Holder(known.released, known.data, labels(attack), known.truth, knowledge)
            attempt = replace(attempt, most=_find_most(attack, target, holder))
        attempts.append(attempt)
    common = tuple(known.rows[known.sought.pairs[:, 0]].tolist())
    record = ReleaseRecord(len(known.data), common, Hits(), None, None, tuple(attempts), len(target))
    if asked is None:
        return record
    record = replace(
        record,
        guess=guess_by_labels(known, labels.exact),
        oracle=_without_pairs(weigh_attempt(asked, known, labels.exact, plan.scenario)),
    )
    if unit.repetition >= SAMPLED or variant is not None:
        return record
    build = partial(build_attacks, audit, unit, without={one.spec for one in tries if one.spared is not None})
    again = consult_oracle(masked, known, knowledge, labels)
    useful = utility(known.released.distances, masked[0], rng=rng("utility", unit.repetition), mask=mask)
    if unit.repetition == 0 or unit.repetition * len(target) < CONTROLLED:
        attempts = run_control(audit, unit.repetition, attempts, target, known, build)
    return replace(
        record,
        utility=useful.to_dict(),
        utility_error=dict(useful.errors) or None,
        utility_sample=useful.sample,
        attempts=tuple(attempts),
        seeded=ask_insiders(audit, unit.repetition, target, known, tries, build),
        again=None if again.claims is None else count_hits(again.claims, known, labels.exact),
    )


def _publish(
    audit: Audit, unit: Unit, known: KnownFile, masked: Sequence[Distances], knowledge: Knowledge
) -> Distances:
    """Return what a snooper makes of the releases: their distances, of several of them as one source."""
    released = [one.as_matrix(most=WHOLE) for one in masked]
    if len(released) == 1:
        return released[0]
    if audit.plan.linked:
        return Series(tuple(released))
    rng = audit.chance.rng("order", unit.repetition)
    files = [replace(known.released, distances=one) for one in released]
    mixed = [files[0], *(select_records(file, rng.permutation(len(file))) for file in files[1:])]
    places = audit.places
    earth = places is not None and places.on_earth
    metric = "sphere" if earth else "euclidean" if places is not None and places.is_map else None
    return link_releases(mixed, knowledge, metric=metric)


def _without_pairs(oracle: Attempt) -> Attempt:
    """Return the attempt of the oracle without its claims, of which only the numbers are used."""
    return replace(oracle, correct=(), wrong=(), taken=())


_known_file = lru_cache(maxsize=32)(draw_known_file)


def build_attacks(audit: Audit, unit: Unit, known: KnownFile, without: Collection[str] = ()) -> dict[str, Attack]:
    """Build the attacks, each told how the mask works; with more effort only those that rest on a budgeted search.

    An insider is told the seeds of the known file. The part ``rest`` has only the attacks that may have been spared.
    """
    plan = audit.plan
    starts = STARTS_ON_MAP if audit.places is not None and audit.places.is_map else STARTS
    budget = Budget(work=plan.budget * RAISE**unit.effort)
    search = Search(budget=budget, threads=1, limit=TIES, starts=starts, memory=MEMORY)
    specs = [spec for spec in parse_attacks(plan.attacks) if spec.kind.by_agreement or not unit.effort]
    specs = [spec for spec in specs if spec.kind.cost > CHEAP or unit.part != REST]
    knowledge = replace(_knowledge(audit.plain, unit.mask, known.share), seeds=known.seeds)
    return {spec.spec: spec.build(knowledge, search) for spec in specs if spec.spec not in without}


@lru_cache(maxsize=64)
def _knowledge(audit: Audit, spec: str, share: float) -> Knowledge:
    """Return what the snooper knows: how the mask works, and what share of the released people is in their file."""
    mask, error = parse_mask(spec), audit.coordinate_error
    calibration = calibrate_for(audit, mask)
    rng = audit.chance.rng("knowledge", mask.name)
    common = min(share, MOST_COMMON)
    told = learn(mask, calibration, audit.places, common=common, coordinate_error=error, rng=rng)
    return replace(told, bold=True).at(audit.plan.alpha, calibration)


def calibrate_for(audit: Audit, mask: Mask) -> Calibration:
    """Simulate how far the mask moves distances, on the file's own places, with the snooper's coordinate error."""
    rng = audit.chance.rng("calibration", mask.name)
    if audit.points is not None:
        places = audit.points
        found = calibrate(mask, points=places.coordinates, metric=places.metric, unit=places.unit, rng=rng)
    else:
        found = calibrate_matrix(mask, audit.target.distances, rng=rng)
    if not audit.coordinate_error:
        return found
    vectors = audit.points is not None and not audit.points.is_map
    across = audit.points.coordinates.shape[1] - 1 if audit.points is not None and vectors else 0
    return found.blurred(audit.coordinate_error, rng, across=across)


def _find_most(attack: Attack, target: Microdata, holder: Holder) -> int | None:
    """Return how many people an attack that was cut short could have found; None where nobody knows."""
    try:
        return attack.find_most(target, holder)
    except DiscliqueError:
        return None
