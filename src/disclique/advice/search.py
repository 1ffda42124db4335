"""The search for releases that keep a limit: along every dial the weakest setting that does, and what it leaves.

It is a Pareto search by risk and usefulness, along dials, and not successive halving of a list: the risk falls along
every dial, with coarser labels and numbers, and with exposed people left out, so that one answer settles many others
(what fails fails for all that does less, what keeps the limit keeps it for all that does more), and a bracket is halved
in few questions. Halving a list would throw out settings by noisy figures that nobody needs. Draws are few here and
more for what comes out on top (``confirm``): the choice is tried again on fresh releases, in an audit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from disclique.advice.families import Arm, Family
from disclique.advice.purposes import Usefulness
from disclique.advice.unit import Exposed, Rows, Screened, UseMeasured
from disclique.audits.rates import SettingRisk
from disclique.audits.release_records import Records, ReleaseRecord
from disclique.audits.verdict import Judgement
from disclique.masks.settings import Setting
from disclique.runs import Unit
from disclique.values import FloatArray


@dataclass(frozen=True)
class Effort:
    """How much is looked at.

    ``steps`` of a dial. ``people`` are asked for in the draws of one question, in ``fewest`` to ``most`` draws;
    ``more``: times as many before a release is audited. ``left_out``: shares of people, the most exposed, without whom
    a release is tried; in settings up to ``weaker`` steps below the one that needs nobody left out, of the best
    ``arms`` of a family. ``uses``: releases on which usefulness is measured. ``even``: by how much less useful a
    release may be to count as equal: then the one that does less to labels, numbers and people is preferred.
    ``confirmed``: how many releases of a family are asked about again at the most. ``audited`` releases are audited in
    the end, and in those besides the best every person is asked for in ``person_trials`` draws.
    """

    steps: int = 25
    people: int = 1000
    fewest: int = 2
    most: int = 40
    more: int = 4
    left_out: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1)
    weaker: int = 5
    arms: int = 2
    uses: int = 1
    even: float = 0.004
    confirmed: int = 6
    audited: int = 5
    person_trials: int = 40

    def draws(self, records: int) -> int:
        """Return in how many releases a question is asked."""
        return int(np.clip(-(-self.people // max(records, 1)), self.fewest, self.most))


EFFORT = Effort()


@dataclass(frozen=True, eq=False)
class Candidate:
    """A release that can be looked at: a place on the dial of a family, what is done to columns, who is left out."""

    family: Family
    place: int
    arm: Arm
    left_out: Rows = ()

    @property
    def setting(self) -> Setting:
        """The setting."""
        return self.arm.under(self.family.masks[self.place])

    @property
    def key(self) -> tuple[str, Rows]:
        """What tells releases apart."""
        return str(self.setting), self.left_out


@dataclass(frozen=True, eq=False)
class Seen:
    """What is known of a candidate: how it stands against the limit, and what is ``left`` for each purpose.

    ``useful`` says that more than chance is left; people left out count as lost.
    """

    candidate: Candidate
    judged: Judgement
    left: Mapping[str, float]
    usefulness: float
    useful: bool

    @property
    def risk(self) -> SettingRisk:
        """Its risk."""
        return self.judged.figures.risk


class Board:
    """All answers so far; it turns candidates into units that must be run, and these into judgements.

    ``judge`` says how records stand against the limits.
    """

    def __init__(
        self,
        done: Mapping[Unit, ReleaseRecord],
        use: Usefulness,
        judge: Callable[[Records], Judgement | None],
        effort: Effort,
    ) -> None:
        self.done, self.use, self.judge, self.effort = done, use, judge, effort
        self.size = len(use.data)
        self._left: dict[tuple[str, Rows], dict[str, float]] = {}

    def draws(self, *, more: bool = False) -> int:
        """Return in how many releases a question is asked."""
        return self.effort.draws(self.size) * (self.effort.more if more else 1)

    def ask(self, one: Candidate, *, more: bool = False) -> list[Unit]:
        """Return the units by which the risk of a candidate is known."""
        first = self.draws() if more else 0  # by draws of its own: the first ones made it the best
        return [Unit(one.setting, first + k, Screened(one.left_out)) for k in range(self.draws(more=more))]

    def ask_use(self, one: Candidate) -> list[Unit]:
        """Return the units by which its usefulness is known: labels do not matter for it."""
        plain = replace(one.setting, labels=one.arm.gone)
        return [Unit(plain, k, UseMeasured(one.left_out)) for k in range(self.effort.uses)] if self.use.measures else []

    def judged(self, one: Candidate, *, more: bool = False) -> Judgement | None:
        """Return how a candidate that was asked about stands; None if it has no oracle, so that nothing is shown."""
        found = self.judge({unit.repetition: self.done[unit] for unit in self.ask(one, more=more)})
        return None if found is None or found.figures.oracle is None else found

    def left(self, one: Candidate) -> dict[str, float]:
        """Return what is left for each purpose."""
        if one.key not in self._left:
            found = [self.done[unit].utility or {} for unit in self.ask_use(one)]
            means = {name: float(np.mean([each.get(name) or 0.0 for each in found])) for name in self.use.measures}
            self._left[one.key] = self.use.of(one.setting, means)
        return self._left[one.key]

    def usefulness(self, one: Candidate) -> float:
        """Return the one number: the mean over purposes, of which those who are left out have nothing."""
        return self.use.mean(self.left(one)) * (1 - len(one.left_out) / self.size)

    def see(self, one: Candidate, *, more: bool = False) -> Seen | None:
        """Return all that is known of a candidate; None without an oracle."""
        found, left = self.judged(one, more=more), self.left(one)
        return None if found is None else Seen(one, found, left, self.usefulness(one), self.use.is_worth(left))

    def exposures(self, one: Candidate) -> FloatArray:
        """Return the risk of every person under a setting, 0 of one who was not asked for."""
        trials = [self.done[unit].trials for unit in self.ask_people(one)]
        asked = np.sum([found.asked for found in trials if found is not None], axis=0)
        right = np.sum([found.right for found in trials if found is not None], axis=0)
        return np.asarray(right / np.maximum(asked, 1))

    def ask_people(self, one: Candidate) -> list[Unit]:
        """Return the units by which the risk of every person is known."""
        return [Unit(one.setting, k, Exposed()) for k in range(-(-self.draws() // 10))]


Asking = Generator[list[Unit], None, list[Seen]]


@dataclass(eq=False)
class FamilySearch:
    """The search in one family: candidates by the place on the dial and by what is done to columns."""

    board: Board
    family: Family
    arms: Sequence[Arm]
    limit: float
    kept: dict[tuple[int, Arm], bool] = field(default_factory=dict)

    def run(self) -> Asking:
        """Search; yield the units that must be run before it can go on, and return what keeps the limit, best first."""
        last = len(self.family.masks) - 1
        coarsest = max(self.arms, key=lambda arm: arm.height)
        strongest = Candidate(self.family, last, coarsest)
        yield [*self.board.ask(strongest), *self.board.ask_use(strongest)]
        if self.board.judged(strongest) is None:
            return []
        self.kept[last, coarsest] = self._is_kept(strongest)
        found: list[Candidate] = []
        best = -1.0
        if self.kept[last, coarsest]:
            yield self._ask_uses(range(last + 1))
        for arm in self._in_order() if self.kept[last, coarsest] else ():
            places = self._places(arm, best)
            if not places:
                continue
            place = yield from self._find_weakest(arm, places)
            if place is not None:
                one = Candidate(self.family, place, arm)
                found.append(one)
                best = max(best, self.board.usefulness(one))
        found += yield from self._leave_out(found, best)
        seen = [there for one in found if (there := self.board.see(one)) is not None]
        return sorted(seen, key=lambda one: -one.usefulness)

    def _ask_uses(self, places: Iterable[int]) -> list[Unit]:
        """Ask how useful settings of the dial are, with everything that is done to numbers."""
        arms = {(arm.numbers, arm.gone): arm for arm in self.arms}.values()
        every = [Candidate(self.family, place, arm) for place in places for arm in arms]
        return list(dict.fromkeys(unit for one in every for unit in self.board.ask_use(one)))

    def _in_order(self) -> list[Arm]:
        """Return the arms, those first that leave most at the same place of the dial, of equal ones the coarsest.

        The coarsest keeps the limit earliest; what does less has to be as good at the places that are left then.
        """
        value = {arm: self.board.usefulness(Candidate(self.family, 0, arm)) for arm in self.arms}
        return sorted(self.arms, key=lambda arm: (-round(value[arm], 9), -arm.height))

    def _places(self, arm: Arm, best: float) -> list[int]:
        """Return the places of the dial at which an arm would be at least as useful as the best so far."""
        places = range(len(self.family.masks))
        least = best - self.board.effort.even
        return [k for k in places if self.board.usefulness(Candidate(self.family, k, arm)) >= least]

    def _find_weakest(self, arm: Arm, places: Sequence[int]) -> Generator[list[Unit], None, int | None]:
        """Return the first of some places at which an arm keeps the limit; None if none does."""
        low, high = 0, len(places) - 1
        if not (yield from self._keeps(places[high], arm)):
            return None
        while low < high:
            middle = (low + high) // 2
            if (yield from self._keeps(places[middle], arm)):
                high = middle
            else:
                low = middle + 1
        return places[high]

    def _keeps(self, place: int, arm: Arm) -> Generator[list[Unit], None, bool]:
        """Say whether a candidate keeps the limit, from what was found of others where that settles it."""
        for (there, other), kept in self.kept.items():
            if kept and there <= place and other.is_within(arm):
                return True
            if not kept and there >= place and arm.is_within(other):
                return False
        one = Candidate(self.family, place, arm)
        yield self.board.ask(one)
        self.kept[place, arm] = self._is_kept(one)
        return self.kept[place, arm]

    def _is_kept(self, one: Candidate) -> bool:
        """Say whether what was measured of a candidate is under the limit."""
        judged = self.board.judged(one)
        return judged is not None and replace(judged, limits=replace(judged.limits, risk=self.limit)).measured_keeps

    def _leave_out(self, found: Sequence[Candidate], best: float) -> Generator[list[Unit], None, list[Candidate]]:
        """Look below the weakest settings that suffice: there it may be enough to leave out who is most exposed."""
        effort, board = self.board.effort, self.board
        if not effort.left_out:
            return []
        ordered = sorted(found, key=lambda one: -board.usefulness(one))[: effort.arms]
        coarsest, steps = max(self.arms, key=lambda arm: arm.height), len(self.family.masks)
        if not ordered and not self._may_suffice(Candidate(self.family, steps - 1, coarsest)):
            return []  # what is weaker gives away no less
        last = Candidate(self.family, steps, coarsest)
        new: list[Candidate] = []
        for one in ordered or [last]:
            places = range(max(one.place - effort.weaker, 0), one.place)
            yield self._ask_uses(places)
            for place in places:
                weaker = Candidate(self.family, place, one.arm)
                if board.usefulness(weaker) * (1 - effort.left_out[0]) <= best + effort.even:
                    continue
                made = yield from self._spare_exposed(weaker, best)
                if made is not None:
                    new.append(made)
                    best = max(best, board.usefulness(made))
        return new

    def _may_suffice(self, one: Candidate) -> bool:
        """Say whether leaving people out can be enough: nobody's risk is above 1, so that some is left anyway."""
        judged, most = self.board.judged(one), self.board.effort.left_out[-1]
        return judged is not None and (judged.figures.measured - most) / (1 - most) <= self.limit

    def spare_more(self, one: Candidate) -> Generator[list[Unit], None, Candidate | None]:
        """Return the candidate without the next larger share of people, the most exposed; None if that is too many."""
        yield self.board.ask_people(one)
        risks = self.board.exposures(one)
        order = np.lexsort((np.arange(len(risks)), -risks))
        many = [max(round(share * len(risks)), 1) for share in self.board.effort.left_out]
        wanted = next((count for count in many if count > len(one.left_out)), None)
        if wanted is None or len(risks) - wanted < 2:
            return None
        made = replace(one, left_out=tuple(sorted(order[:wanted].tolist())))
        yield self.board.ask_use(made)
        return made

    def _spare_exposed(self, weaker: Candidate, best: float) -> Generator[list[Unit], None, Candidate | None]:
        """Return a candidate without the fewest people that is enough, if it is better than the best so far."""
        effort, board = self.board.effort, self.board
        yield board.ask(weaker)
        if not self._may_suffice(weaker):
            return None
        yield board.ask_people(weaker)
        risks = board.exposures(weaker)
        order = np.lexsort((np.arange(len(risks)), -risks))
        for share in effort.left_out:
            many = max(round(share * len(risks)), 1)
            if board.usefulness(weaker) * (1 - many / len(risks)) <= best + effort.even:
                return None
            if len(risks) - many < 2 or risks[order[many:]].mean() > self.limit:
                continue
            made = replace(weaker, left_out=tuple(sorted(order[:many].tolist())))
            yield [*board.ask(made), *board.ask_use(made)]
            if self._is_kept(made):
                return made
        return None
