"""One piece of the search carried out: what the oracle says of a release, who is exposed, or how useful it is.

What is asked of a release is asked as an audit asks it; only who is left out, and how useful the release is for the
purposes at hand, is said here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from disclique.audits.definition import Audit, People
from disclique.audits.release_records import ReleaseRecord
from disclique.audits.unit import UnitRunner
from disclique.measures.utility import utility
from disclique.records.tables import select_records
from disclique.runs import Stage, Unit

Rows = tuple[int, ...]  # of the file, in ascending order


@dataclass(frozen=True)
class Screened(Stage):
    """The oracle is asked about a release without the records ``left_out``.

    >>> Screened.parse("screened:3,17")
    Screened(left_out=(3, 17))
    """

    beside: ClassVar[bool] = False
    sort: ClassVar[str] = "screened"
    left_out: Rows = ()

    @property
    def text(self) -> str:
        """What the journal calls it."""
        return f"{self.sort}:{','.join(map(str, self.left_out))}" if self.left_out else self.sort

    @classmethod
    def parse(cls, text: str) -> Screened | None:
        """Read the text of a journal; None if it is of another stage."""
        found = re.fullmatch(rf"{cls.sort}(?::([\d,]+))?", text)
        return None if found is None else cls(tuple(map(int, found[1].split(","))) if found[1] else ())


@dataclass(frozen=True)
class Exposed(Screened):
    """The oracle is asked for every person."""

    sort: ClassVar[str] = "exposed"


@dataclass(frozen=True)
class UseMeasured(Screened):
    """It is measured how useful a release is."""

    sort: ClassVar[str] = "useful"


STAGES = (Screened, Exposed, UseMeasured)


class Searcher:
    """Carries out units of a search, and keeps what several of them share.

    ``measures`` are those of usefulness that are wanted, ``reads`` the columns of the file that masks look at. It goes
    to another process without what it keeps.
    """

    def __init__(self, audit: Audit, measures: tuple[str, ...], reads: tuple[str, ...] = ()) -> None:
        self.audit, self.measures, self.reads = audit, measures, reads
        self.runner = lru_cache(maxsize=16)(lambda rows: UnitRunner(leave_out(audit, rows).lean(reads)))

    def __reduce__(self) -> tuple[type[Searcher], tuple[Audit, tuple[str, ...], tuple[str, ...]]]:
        return Searcher, (self.audit, self.measures, self.reads)

    def __call__(self, unit: Unit) -> ReleaseRecord:
        """Carry out one unit."""
        stage = unit.stage
        assert isinstance(stage, Screened)
        if isinstance(stage, UseMeasured):
            return self.measure_use(unit)
        asked = People() if isinstance(stage, Exposed) else None
        whole = replace(unit, stage=asked) if asked is not None else Unit(unit.setting, unit.repetition)
        return self.runner(stage.left_out)(whole)

    def measure_use(self, unit: Unit) -> ReleaseRecord:
        """Mask the file and measure how useful it still is; what is done to labels does not matter for that."""
        assert isinstance(unit.stage, Screened)
        audit, setting = leave_out(self.audit, unit.stage.left_out), unit.setting
        data, mask = audit.target, setting.mask
        rng = audit.chance.rng("usefulness", mask.name, unit.repetition)
        masked = mask.prepare(data).apply(data.distances, rng)
        kept = setting.numbers.apply(setting.labels.apply(data), rng).numbers
        found = utility(data.distances, masked, rng=rng, mask=mask, numbers=(data.numbers, kept), wanted=self.measures)
        return ReleaseRecord(0, (), len(data), utility=dict(found.values))


def leave_out(audit: Audit, rows: Rows) -> Audit:
    """Return the audit of the file without some records; of the known people they are strangers then."""
    if not rows:
        return audit
    kept = np.setdiff1d(np.arange(len(audit.target)), rows)
    fewer = replace(select_records(audit.target, kept), left_out=audit.target.left_out + len(rows))
    return replace(audit, target=fewer, uncoarsened=None)
