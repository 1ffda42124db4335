"""How far a run is, and how long the rest takes by what units of the same kind took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from disclique.masks.settings import Setting
from disclique.runs.unit import Stage, Unit


class Forecast:
    """The units that a run is expected to need, each with the time it may take, and what those finished took.

    Expected times need only be right in proportion: they are set right by what was measured, for every setting by
    itself as soon as one of its units is finished, since strong noise costs more than weak noise. Other units may be
    wanted than were expected: what was expected tells how many there will be of each sort of stage, ``""`` for the
    releases themselves, and what an unknown one costs.

    >>> a, b = Setting.parse("round:to=1km"), Setting.parse("round:to=2km")
    >>> forecast = Forecast({Unit(a, 0): 1.0, Unit(a, 1): 1.0, Unit(b, 0): 3.0})
    >>> forecast.took(Unit(a, 0), 2.0)
    >>> forecast.left(), forecast.count("")
    (8.0, (1, 3))
    """

    def __init__(self, expected: Mapping[Unit, float], *, finished: bool = False) -> None:
        self.expected = dict(expected)
        self.finished = finished  # in an earlier run, as far as can be seen
        self.taken: dict[Unit, float] = {}  # 0 where it was not measured
        self.wanted: set[Unit] = set()  # known to be needed and not finished
        self.over: set[str] = set()  # sorts of which no more will be wanted than are known

    def wants(self, units: Iterable[Unit]) -> None:
        """Note that units are needed."""
        self.wanted |= set(units) - self.taken.keys()

    def took(self, unit: Unit, seconds: float) -> None:
        """Note that a unit is finished."""
        self.taken[unit] = seconds
        self.wanted.discard(unit)

    def end(self, sort: str) -> None:
        """Note that no units of a sort are needed but those that are known."""
        self.over.add(sort)

    @property
    def sorts(self) -> list[str]:
        """The sorts of units, in the order in which they were expected."""
        return list(dict.fromkeys(unit.stage.sort for unit in [*self.expected, *self.taken, *self.wanted]))

    @property
    def spent(self) -> float:
        """Seconds that were taken so far, one after the other."""
        return sum(self.taken.values())

    def count(self, sort: str) -> tuple[int, int]:
        """Return how many units of a sort are finished, and of how many."""
        done, wanted, expected = (
            sum(unit.stage.sort == sort for unit in units) for units in (self.taken, self.wanted, self.expected)
        )
        return done, done + wanted if sort in self.over else max(done + wanted, expected)

    def left(self, at_work: Mapping[Unit, float] | None = None) -> float:
        """Return the seconds that the rest takes, one after the other, less those that units are at work already."""
        cost = self._costs()
        left = 0.0
        for sort in self.sorts:
            wanted = [cost(unit) for unit in self.wanted if unit.stage.sort == sort]
            open_ = [
                cost(unit)
                for unit in self.expected
                if unit.stage.sort == sort and unit not in self.taken and unit not in self.wanted
            ]
            done, total = self.count(sort)
            more = total - done - len(wanted)  # units that will be wanted, though it is not known which
            left += sum(wanted) + (more * sum(open_) / len(open_) if open_ else 0.0)
        return left - sum(min(since, cost(unit)) for unit, since in (at_work or {}).items() if unit not in self.taken)

    def _costs(self) -> Callable[[Unit], float]:
        """Return what tells the seconds of a unit that is not finished."""
        means: dict[object, _Mean] = defaultdict(_Mean)
        for unit, seconds in self.expected.items():
            for group in (_kind(unit), unit.stage.sort, None):
                means[group].add(seconds, 1)

        def should(unit: Unit) -> float:
            """What a unit was expected to take; what others of its kind or sort were, if it was not itself."""
            if unit in self.expected:
                return self.expected[unit]
            return next((m.value for g in (_kind(unit), unit.stage.sort, None) if (m := means.get(g))), 1.0)

        ratios: dict[object, _Mean] = defaultdict(_Mean)
        for unit, seconds in self.taken.items():
            if seconds > 0:
                for kind in (_kind(unit), None):
                    ratios[kind].add(seconds, should(unit))

        def cost(unit: Unit) -> float:
            return should(unit) * next((r.value for g in (_kind(unit), None) if (r := ratios.get(g))), 1.0)

        return cost


class _Mean:
    """A mean, or a ratio of sums."""

    def __init__(self) -> None:
        self.above, self.below = 0.0, 0.0

    def add(self, above: float, below: float) -> None:
        """Add to both sums."""
        self.above, self.below = self.above + above, self.below + below

    @property
    def value(self) -> float:
        """The mean, 1 of nothing."""
        return self.above / self.below if self.below > 0 else 1.0


def _kind(unit: Unit) -> tuple[Setting, Stage]:
    return unit.setting, unit.stage
