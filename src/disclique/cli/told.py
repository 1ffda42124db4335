"""What the command line tells an attack: when distances agree, and what the snooper knows of the mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from disclique.errors import InputError

if TYPE_CHECKING:
    from disclique.attacks import Method, Search
    from disclique.attacks.knowledge import Knowledge
    from disclique.data.distances import Points
    from disclique.model import Agreement, Distances, Spread


@dataclass(frozen=True)
class Told:
    """Options as they were typed; ``in_km`` says that distances are kilometres, so that units can be converted."""

    within: str | None
    relative: float | None
    between: str | None
    mask: str | None
    alpha: float
    noise: str | None
    matrix_noise: str | None
    common: float | None
    coordinate_error: str
    seed: int
    in_km: bool

    def agreement(self) -> Agreement | None:
        """≈ if it was said directly."""
        from disclique.engine.agreement import Between, Relative, Within

        if [self.within, self.relative, self.between, self.mask].count(None) < 3:
            raise InputError("give only one of --within, --relative, --between and --mask")
        if self.relative is not None:
            return Relative(self.relative)
        if self.within is not None:
            return Within(self.length(self.within, "--within"))
        if self.between is None:
            return None
        ends = self.between.split(",")
        if len(ends) != 2:
            raise InputError(f"--between {self.between}: give two numbers, LO,HI")
        return Between(self.length(ends[0], "--between"), self.length(ends[1], "--between"))

    def length(self, text: str, option: str) -> float:
        """A length in the unit of the distances; a unit can be converted only where that of the distances is known."""
        from disclique.quantities import LENGTH_UNITS, parse_quantity

        found = parse_quantity(text, units=LENGTH_UNITS)
        if not found.unit:
            return found.value
        if not self.in_km:
            raise InputError(f"{option} {text}: the unit of the distances is not known; say --unit, or a plain number")
        return found.km

    def spread(self) -> Spread | None:
        """Displacement of the target's points if it was said."""
        from disclique.model import Spread
        from disclique.quantities import parse_quantity

        if self.noise is None:
            return None
        found = parse_quantity(self.noise)
        if found.unit == "deg":
            return Spread(found.value, found.value, "deg")
        size = self.length(self.noise, "--noise")
        return Spread(size, size, "km" if self.in_km else "plane")

    def methods(self, names: list[str], target: Distances, known: Distances, search: Search) -> list[Method]:
        """The attacks that were asked for, each with what it needs to know."""
        from disclique.attacks import METHODS, ByClique, ByExtension, ByLabels, ByRegistration, ByShortPaths

        wanted = list(METHODS) if "all" in names else list(dict.fromkeys(names))
        for name in wanted:
            if name not in METHODS:
                raise InputError(f"--attack {name}: choose one of {', '.join(METHODS)} or all")
        if self.mask is not None:
            return self._by_mask(wanted, target, known, search)
        agreement, knowledge = self.agreement(), self._knowledge()
        made: list[Method] = []
        for name in wanted:
            if name == "labels":
                made.append(ByLabels())
            elif name in ("register", "isomap"):
                made.append((ByRegistration if name == "register" else ByShortPaths)(knowledge))
            elif agreement is None:
                raise InputError("say when distances agree: give one of --within, --relative, --between and --mask")
            elif name == "clique":
                made.append(ByClique(agreement, search))
            else:
                made.append(ByExtension(agreement, self._deviation(agreement), self.common, search))
        return made

    def _knowledge(self) -> Knowledge:
        from disclique.attacks.knowledge import Knowledge

        size = None if self.matrix_noise is None else self.length(self.matrix_noise, "--matrix-noise")
        error = self.length(self.coordinate_error, "--coordinate-error")
        return Knowledge(self.spread(), 0.0 if size is None else size, self.common, error)

    def _deviation(self, agreement: Agreement) -> float:
        """Standard deviation of d - d′ for the extension: half the width of the agreement interval is about one."""
        import numpy as np

        low, high = agreement.interval(np.array([100.0]))
        return float(high[0] - low[0]) / 2

    def _by_mask(self, names: list[str], target: Distances, known: Distances, search: Search) -> list[Method]:
        """Attacks that know the mask: calibrated by simulation at the known places."""
        import numpy as np

        from disclique.attacks.calibration import calibrate
        from disclique.attacks.informed import knowledge_of, methods
        from disclique.data.distances import Points
        from disclique.masks import parse_mask

        self.agreement()
        mask = parse_mask(self.mask or "")
        places: Points | None = next((side for side in (known, target) if isinstance(side, Points)), None)
        if places is None and mask.law is None:
            raise InputError(f"--mask {self.mask}: its effect is simulated at the points of a file; give coordinates")
        draws = np.random.default_rng(self.seed).spawn(2)
        points, metric = (None, "sphere") if places is None else (places.coordinates, places.metric)
        calibration = calibrate(mask, points=points, metric=metric, rng=draws[0])
        error = self.length(self.coordinate_error, "--coordinate-error")
        knowledge = knowledge_of(mask, places, common=self.common, coordinate_error=error, rng=draws[1])
        return methods(names, calibration, knowledge=knowledge, alpha=self.alpha, search=search)
