"""The risk of every single person: the oracle, asked for each of them many times.

The attacks of an audit are tried some twenty times, which tells a mean but no person's risk. The oracle costs little:
fresh draws of the mask, and in each of them every released person in turn is among those whom the snooper knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from disclique.attacks.knowledge import Knowledge
from disclique.audits.definition import Audit, count_common
from disclique.audits.known_file import KnownFile, add_errors, draw_known_file, draw_others, join_files
from disclique.audits.plan import DRAWS
from disclique.audits.records import ReleaseRecord, Trials
from disclique.audits.yardsticks import consult_oracle, count_hits, find_chances, match_labels
from disclique.errors import InputError
from disclique.masks import Mask, parse_mask
from disclique.measures.risk import SCENARIOS, Hits, Truth
from disclique.model import Distances
from disclique.records.reading import select_records
from disclique.runs import Unit

GROUPS = 10  # groups of known people in one release, at the most


def draw_releases(
    mask: Mask, known: KnownFile, count: int, rng: Callable[[tuple[int, ...]], np.random.Generator]
) -> list[Distances]:
    """Draw releases of the same people, each with fresh noise; the first is that of a single release."""
    return [mask.apply(known.released.distances, rng((k,) if k else ())) for k in range(count)]


def ask_for_everybody(audit: Audit, unit: Unit, know: Callable[[float], Knowledge]) -> ReleaseRecord:
    """Ask the oracle for everybody in fresh draws; ``know`` says what a snooper knows who knows a share of them."""
    mask, size = parse_mask(unit.mask), len(audit.target)
    asked, right, draws = np.zeros(size, dtype=np.int64), np.zeros(size), []
    certain = (mask.rigid or mask.replayed) and not audit.coordinate_error  # nothing is left to chance
    known_size, released = 0, size
    for draw in range(1 if certain else DRAWS):
        rng = audit.chance.rng("people", mask.name, unit.repetition, draw)
        masked: list[Distances] | None = None
        shares: list[tuple[int, Hits]] = []
        for known in _known_files(audit, unit.repetition * DRAWS + draw, rng):
            known_size, released = len(known.data), len(known.released)
            if masked is None:
                masked = draw_releases(mask, known, audit.plan.releases, lambda _: rng)  # noqa: B023 - used at once
            labels = match_labels(audit, known.released, known.data)
            found = consult_oracle(masked, known, know(known.share), labels)
            if found.claims is None:
                raise found.refusal or InputError("the oracle was not asked")
            hits = count_hits(found.claims, known, labels.exact)
            chances = find_chances(found.claims, known, labels.exact, audit.plan.scenario)
            rows = known.rows[known.sought.pairs[:, 0]]
            asked[rows] += DRAWS if certain else 1
            right[rows] += chances * (DRAWS if certain else 1)
            shares.append((len(rows), hits))
        people = max(sum(count for count, _ in shares), 1)
        total = [sum(hits.of(name) for _, hits in shares) for name in SCENARIOS]
        draws.append(Hits(total[0] / people, total[1] / people, total[2] / max(released * len(shares), 1)))
    trials = Trials(tuple(asked.tolist()), tuple(np.round(right, 4).tolist()), tuple(draws))
    return ReleaseRecord(known_size, (), Hits(), None, None, (), released, trials=trials)


def count_groups(audit: Audit) -> int:
    """Return in how many groups the people of a release are known, one after the other."""
    overlap, size = audit.plan.snooper.overlap, len(audit.target)
    if overlap is None or audit.splits:
        return 1
    # a few more known than asked for can only make people easier to find
    return min(-(-size // count_common(overlap, size)), GROUPS)


def _known_files(audit: Audit, number: int, rng: np.random.Generator) -> Iterator[KnownFile]:
    """Draw known files of one release in which together every released person is known, where the file is drawn."""
    snooper, size = audit.plan.snooper, len(audit.target)
    if snooper.overlap is None or audit.splits:
        yield draw_known_file(audit, number)
        return
    parts = np.array_split(rng.permutation(size), count_groups(audit))
    others = draw_others(audit, max((snooper.size or size) - len(parts[0]), 0), rng)
    for part in parts:
        data = add_errors(audit, join_files(select_records(audit.target, part), others), rng)
        truth = Truth(np.column_stack([part, np.arange(len(part))])[np.argsort(part)])
        known = KnownFile(data, truth, audit.target, np.arange(size))
        yield known.with_seeds(min(snooper.seeds, len(part) - 1), rng) if snooper.seeds else known
