"""What a unit leaves behind: what was attempted on one release, what the oracle said of it, what stayed useful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from disclique.attacks.oracle.answer import Everybody
from disclique.audits.fitting import Fitting
from disclique.measures.risk import Hits
from disclique.messages import Message


@dataclass(frozen=True)
class Attempt:
    """One attack on one release.

    ``why`` says why it was not carried out, None if it was. ``correct`` are the target rows it claimed rightly,
    ``wrong`` its wrong pairs. ``named`` are the rows of known people with the chance that they are identified in the
    scenario of the audit, where there is any, and ``hits`` how many people are expected to be found in each scenario.
    ``taken`` are pairs (target row, row of the known file) of people for whom the wrong record was named, where the
    scenario names one for everybody. ``cut`` says what was cut short. ``control`` counts the claims on a known file
    without any of ``control_targets`` released people: all false. ``unlaid`` counts the released records that lie on no
    map, or on a part of one that could not be laid on the known file; None where none is needed.
    """

    attack: str
    why: Message | None = None
    correct: tuple[int, ...] = ()
    wrong: tuple[tuple[int, int], ...] = ()
    named: tuple[tuple[int, float], ...] = ()
    taken: tuple[tuple[int, int], ...] = ()
    hits: Hits = field(default_factory=Hits)
    expected: float | None = None
    cut: Message | None = None
    doubt: Message | None = None
    seconds: float = 0.0
    control: int | None = None
    control_targets: int | None = None
    unlaid: int | None = None

    @property
    def applies(self) -> bool:
        """True if the attack was carried out."""
        return self.why is None

    @property
    def claims(self) -> int:
        """How many pairs were claimed."""
        return len(self.correct) + len(self.wrong)


@dataclass(frozen=True)
class InsiderHits:
    """What one who knows so many true pairs finds of the ``sought`` other people."""

    seeds: int
    hits: Hits
    sought: int


@dataclass(frozen=True)
class OracleRecord:
    """What the oracle finds in one release, or ``why`` it cannot be asked.

    ``named`` are the rows of known people with the chance that they are identified, where they are few enough to be
    kept. ``learned`` says that the law of the mask was learned from draws. ``curve`` says what is found by those who
    know so many pairs beforehand, where the secret is a key; ``seeds`` is how many of them ``hits`` supposes.
    ``curve`` is by distances, ``code_curve`` by the code that the pairs show. ``everybody`` counts who is named or
    read of all released records, on the list or not, where records were read.
    """

    why: Message | None = None
    hits: Hits = field(default_factory=Hits)
    sought: int = 0
    named: tuple[tuple[int, float], ...] = ()
    learned: bool = False
    curve: tuple[InsiderHits, ...] = ()
    seeds: int | None = None
    seconds: float = 0.0
    code_curve: tuple[InsiderHits, ...] = ()
    everybody: Everybody | None = None

    @property
    def applies(self) -> bool:
        """True if the oracle could be asked."""
        return self.why is None


@dataclass(frozen=True)
class InferenceRecord:
    """What is told of a sensitive column in one release, about so many ``people`` who have a value there.

    ``right`` is how many values the oracle is expected to tell, None where it could not be asked, ``identified`` how
    many of these people it identifies in the scenario of the audit, ``by_labels`` how many values labels alone tell,
    and ``certain`` how many people's candidates all have one value. ``named`` are rows with the chance of each.
    """

    column: str
    people: int
    right: float | None
    identified: float
    by_labels: float
    certain: int = 0
    named: tuple[tuple[int, float], ...] = ()

    @property
    def share(self) -> float | None:
        """The share of people whose value is told: whoever is identified is read."""
        return None if self.right is None else max(self.right, self.identified) / max(self.people, 1)


@dataclass(frozen=True)
class ToldTrials:
    """How often the value of each record of the file was told, where the oracle was asked for everybody.

    ``shares`` and ``certain`` are of people who have a value, one for each draw.
    """

    column: str
    right: tuple[float, ...]
    shares: tuple[float, ...]
    certain: tuple[float, ...]


@dataclass(frozen=True)
class Trials:
    """How often the oracle was asked for each record of the file, and how often it named the right one.

    ``draws`` are releases, each with the expected share of people found in every scenario. ``told`` says of every
    sensitive column how often its value was told.
    """

    asked: tuple[int, ...]
    right: tuple[float, ...]
    draws: tuple[Hits, ...]
    told: tuple[ToldTrials, ...] = ()


@dataclass(frozen=True)
class ReleaseRecord:
    """One release: who of it was known, what guessing by labels and the oracle find, and what each attack did.

    ``released`` counts the records of the release; ``common`` are the known ones among them, without the seeds of an
    insider, as rows of the audited file. ``again`` is what the oracle makes of one release more. Of a large file
    ``utility`` is an estimate from ``utility_sample`` records, with its standard errors. A release that is attacked
    leaves ``attempts``, and in ``seeded`` what insiders would find; a unit that only asks the oracle, for every person
    many times, ``trials``. ``fitting`` says how many people of a population fit the records of one release.
    ``inference`` says what is told of each sensitive column.
    """

    known: int
    common: tuple[int, ...]
    released: int
    guess: Hits = field(default_factory=Hits)
    oracle: OracleRecord | None = None
    again: Hits | None = None
    utility: dict[str, float | None] | None = None
    utility_error: dict[str, float | None] | None = None
    utility_sample: int | None = None
    attempts: tuple[Attempt, ...] = ()
    seeded: tuple[InsiderHits, ...] = ()
    trials: Trials | None = None
    fitting: Fitting | None = None
    inference: tuple[InferenceRecord, ...] = ()

    def with_attacks(self, attacked: ReleaseRecord | None) -> ReleaseRecord:
        """Return the record with the attacks on the same release; without any if it was not attacked."""
        if attacked is None:
            return self
        return replace(self, attempts=attacked.attempts, seeded=attacked.seeded)

    def share(self, hits: Hits, scenario: str) -> float:
        """Return the share of people in a scenario, at the most all."""
        return min(max(hits.share(scenario, len(self.common), self.released), 0.0), 1.0)


Records = Mapping[int, ReleaseRecord]  # of one setting, by repetition
