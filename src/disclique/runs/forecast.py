"""How long the rest of a run takes, by what units of the same kind took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from disclique.runs.unit import Unit


class Forecast:
    """The units that a run is expected to need, each with the time it may take, and what those finished took.

    Expected times need only be right in proportion: they are set right by what was measured, for every setting by
    itself as soon as one of its units is finished, since strong noise costs more than weak noise. A unit that was not
    expected may come in as well.

    >>> forecast = Forecast({Unit("a", 0): 1.0, Unit("a", 1): 1.0, Unit("b", 0): 3.0})
    >>> forecast.took(Unit("a", 0), 2.0)
    >>> forecast.left()
    8.0
    """

    def __init__(self, expected: Mapping[Unit, float], *, finished: bool = False) -> None:
        self.expected = dict(expected)
        self.finished = finished  # in an earlier run, as far as can be seen
        self.taken: dict[Unit, float] = {}  # 0 where it was not measured

    def took(self, unit: Unit, seconds: float) -> None:
        """Note that a unit is finished."""
        self.taken[unit] = seconds

    @property
    def spent(self) -> float:
        """Seconds that were taken so far, one after the other."""
        return sum(self.taken.values())

    @property
    def _missing(self) -> list[Unit]:
        return [unit for unit in self.expected if unit not in self.taken]

    def left(self, wanted: int = 0) -> float:
        """Return the seconds that the rest takes, one after the other; ``wanted`` units are known to be missing."""
        sums: dict[object, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        for unit, seconds in self.taken.items():
            if seconds > 0:
                for kind in (None, _kind(unit)):
                    took, should = sums[kind]
                    sums[kind] = took + seconds, should + self.expected.get(unit, 1.0)
        ratio = {kind: took / should for kind, (took, should) in sums.items() if should > 0}
        overall, missing = ratio.get(None, 1.0), self._missing
        left = sum(self.expected[unit] * ratio.get(_kind(unit), overall) for unit in missing)
        timed = [seconds for seconds in self.taken.values() if seconds > 0]
        return left + max(0, wanted - len(missing)) * sum(timed) / max(len(timed), 1)


def _kind(unit: Unit) -> tuple[str, str, int]:
    return unit.mask, unit.part, unit.effort
