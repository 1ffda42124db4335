"""What one unit of an audit leaves behind: a release, and what every attack did to it. Rows count from 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from disclique.measures.risk import Hits


@dataclass(frozen=True)
class Attempt:
    """One attack on one release, or what the oracle makes of it.

    ``why`` says why it could not be carried out, ``spared`` why it need not be; both are empty if it was. ``correct``
    are the target rows it claimed rightly, ``wrong`` its wrong pairs. ``named`` are the rows of known people with the
    chance that they are identified in the scenario of the audit, where there is any, and ``hits`` how many people are
    expected to be found in each scenario. ``taken`` are pairs (target row, row of the known file) of people for whom
    the wrong record was named, where the scenario names one for everybody. ``cut`` says what was cut short, and then at
    most ``most`` people could have been claimed. ``control`` counts the claims on a known file without any of
    ``control_targets`` released people: all false. ``unlaid`` counts the released records that lie on no map, or on a
    part of one that could not be laid on the known file; None where none is needed.
    """

    attack: str
    why: str = ""
    spared: str = ""
    correct: tuple[int, ...] = ()
    wrong: tuple[tuple[int, int], ...] = ()
    named: tuple[tuple[int, float], ...] = ()
    taken: tuple[tuple[int, int], ...] = ()
    hits: Hits = field(default_factory=Hits)
    expected: float | None = None
    cut: str = ""
    most: int | None = None
    doubt: str = ""
    seconds: float = 0.0
    control: int | None = None
    control_targets: int | None = None
    unlaid: int | None = None

    @property
    def applies(self) -> bool:
        """True if the attack was carried out."""
        return not self.why and not self.spared

    @property
    def claims(self) -> int:
        """How many pairs were claimed."""
        return len(self.correct) + len(self.wrong)


@dataclass(frozen=True)
class Seeded:
    """What an insider who knows so many true pairs finds of the ``sought`` other people, by the worst attack."""

    seeds: int
    hits: Hits
    sought: int


@dataclass(frozen=True)
class Trials:
    """How often the oracle was asked for each record of the file, and how often it named the right one.

    ``draws`` are releases, each with the expected share of people found in every scenario.
    """

    asked: tuple[int, ...]
    right: tuple[float, ...]
    draws: tuple[Hits, ...]


@dataclass(frozen=True)
class ReleaseRecord:
    """One release: who of it was known, what the yardsticks give, and what each attack did.

    ``guess`` is what guessing by label gives, ``oracle`` what the masked data give one who knows how they lie, under
    the exact law of the mask; its ``why`` says where that is not modelled, and None that it was not asked.
    ``released`` counts the records of the release; ``common`` are the known ones among them, without the seeds of an
    insider, as rows of the audited file. ``seeded`` says what insiders would find. ``again`` is what the oracle makes
    of two releases. Of a large file ``utility`` is an estimate from ``utility_sample`` records, with its standard
    errors. A unit that only asks the oracle, for every person many times, leaves ``trials`` and no attempt.
    """

    known: int
    common: tuple[int, ...]
    guess: Hits
    oracle: Attempt | None
    utility: dict[str, float | None] | None
    attempts: tuple[Attempt, ...]
    released: int
    seeded: tuple[Seeded, ...] = ()
    again: Hits | None = None
    trials: Trials | None = None
    utility_error: dict[str, float | None] | None = None
    utility_sample: int | None = None

    def with_more_effort(self, later: ReleaseRecord) -> ReleaseRecord:
        """Return the record with attacks that were repeated with a larger budget: the worse result of both."""
        again = {attempt.attack: attempt for attempt in later.attempts}
        return replace(
            self, attempts=tuple(_worse(a, again[a.attack]) if a.attack in again else a for a in self.attempts)
        )

    def with_rest(self, rest: ReleaseRecord) -> ReleaseRecord:
        """Return the record with attacks in the place of those that were spared at first."""
        ran = {attempt.attack: attempt for attempt in rest.attempts}
        return replace(
            self, attempts=tuple(ran[a.attack] if a.spared and a.attack in ran else a for a in self.attempts)
        )


def _worse(first: Attempt, later: Attempt) -> Attempt:
    """Return the attempt that found more people, as far from its end as the later one is."""
    found = first if first.hits.prosecutor > later.hits.prosecutor else later
    found = replace(found, cut=later.cut, most=later.most, why=later.why)
    return replace(found, control=first.control, control_targets=first.control_targets)


def fill_spared(record: ReleaseRecord, one: Attempt, scenario: str) -> Attempt:
    """Return what a snooper has who spared an attack: what was found without it."""
    ran = [other for other in record.attempts if other.applies]
    return max(ran, key=lambda other: other.hits.of(scenario), default=one) if one.spared else one


Records = Mapping[int, ReleaseRecord]  # of one setting, by repetition
