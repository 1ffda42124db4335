"""What one unit of an audit leaves behind: a release, and what every attack did to it. Rows count from 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Attempt:
    """One attack on one release.

    ``why`` says why it could not be carried out; empty if it was. ``correct`` are the target rows it named rightly,
    ``wrong`` its wrong pairs. ``cut`` says what was cut short, and then at most ``most`` people could have been found.
    ``control`` counts the claims on a known file without any of ``control_targets`` released people: all false.
    """

    attack: str
    why: str = ""
    correct: tuple[int, ...] = ()
    wrong: tuple[tuple[int, int], ...] = ()
    expected: float | None = None
    cut: str = ""
    most: int | None = None
    doubt: str = ""
    seconds: float = 0.0
    control: int | None = None
    control_targets: int | None = None

    @property
    def applies(self) -> bool:
        """True if the attack was carried out."""
        return not self.why

    @property
    def claims(self) -> int:
        """How many pairs were claimed."""
        return len(self.correct) + len(self.wrong)


@dataclass(frozen=True)
class Seeded:
    """What an insider who knows so many true pairs finds of the ``sought`` other people, by the worst attack."""

    seeds: int
    found: int
    sought: int


@dataclass(frozen=True)
class ReleaseRecord:
    """One release: who of it was known, what the yardsticks give, and what each attack did.

    ``guess`` is the expected number of correct guesses by label. ``insider`` counts the correct claims of a snooper who
    knows how the released map lies, and ``ceiling`` what they get by naming the most probable record for everybody;
    None where there is no such map, ``ceiling`` also where the law of the mask is not exactly known to be Gaussian.
    ``released`` counts the records of the release; ``common`` are the known ones among them, without the seeds of an
    insider, as rows of the audited file. ``seeded`` says what insiders would find.
    """

    known: int
    common: tuple[int, ...]
    guess: float
    insider: int | None
    ceiling: int | None
    utility: dict[str, float | None] | None
    attempts: tuple[Attempt, ...]
    released: int
    seeded: tuple[Seeded, ...] = ()

    def with_more_effort(self, later: ReleaseRecord) -> ReleaseRecord:
        """Return the record with attacks that were repeated with a larger budget: the worse result of both."""
        again = {attempt.attack: attempt for attempt in later.attempts}
        return replace(
            self, attempts=tuple(_worse(a, again[a.attack]) if a.attack in again else a for a in self.attempts)
        )


def _worse(first: Attempt, later: Attempt) -> Attempt:
    """Return the attempt that found more people, as far from its end as the later one is."""
    found = first if len(first.correct) > len(later.correct) else later
    found = replace(found, cut=later.cut, most=later.most, why=later.why)
    return replace(found, control=first.control, control_targets=first.control_targets)


Records = Mapping[int, ReleaseRecord]  # of one setting, by repetition
