"""An audit before it is run: the plan, the holder's file, and the files from which the snooper's is made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import pandas as pd

from disclique.audits.plan import GERMANY, Plan
from disclique.data.distances import Points, full_matrix
from disclique.data.labels import label_tuples
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.masks import Gaussian, parse_mask
from disclique.model import Json, Microdata
from disclique.quantities import KM_IN
from disclique.runs import Chance, Unit


@dataclass(frozen=True, eq=False)
class Audit:
    """A plan with its data: ``known`` is the snooper's file where it is given, ``others`` people outside the release.

    Ids tell who is who: the same id in two files is the same person.
    """

    plan: Plan
    target: Microdata
    known: Microdata | None = None
    others: Microdata | None = None

    def __post_init__(self) -> None:
        if len(self.target) < 2:
            raise InputError(f"{self.target.name}: {len(self.target)} record: distances need at least 2")
        self._check_known()
        self._check_drawn()
        self._check_errors()

    def check_masks(self) -> None:
        """Apply every mask once, so that one that does not fit the file is said before the run."""
        for mask in self.plan.ranges:
            parse_mask(mask.settings[-1]).apply(self.target.distances, self.chance.rng("trial"))

    @property
    def kind(self) -> str:
        """What the folder of its journal holds."""
        return self.plan.kind

    @property
    def digest(self) -> str:
        """A hash that only the same plan on the same files has; without files, on the same records."""
        digest = hashlib.sha256(self.plan.digest.encode())
        if not self.plan.inputs:
            for data in (self.target, self.known, self.others):
                digest.update(b"" if data is None else _content(data))
        return digest.hexdigest()

    def to_dict(self) -> Json:
        """Return the plan in plain types."""
        return self.plan.to_dict()

    def holds(self, unit: Unit) -> bool:
        """Say whether a unit may be a part of this audit."""
        return self.plan.holds(unit)

    @property
    def chance(self) -> Chance:
        """All chance of the audit."""
        return self.plan.chance

    def _check_known(self) -> None:
        if (self.known is not None) != self.plan.snooper.given:
            raise InputError("the plan and the data differ in whether the known file is given")
        if self.known is None:
            return
        if list(self.known.labels.columns) != list(self.target.labels.columns):
            raise InputError(f"{self.known.name}: it needs the label columns of {self.target.name}")
        if not set(self.known.ids) & set(self.target.ids):
            raise InputError(
                f"{self.known.name}: no id in common with {self.target.name}: nobody could be re-identified, so there "
                "is nothing to measure"
            )

    def _check_drawn(self) -> None:
        snooper = self.plan.snooper
        if snooper.overlap is None:
            return
        if self.points is None:
            raise InputError(
                "an overlap needs coordinates, because other people must be placed on the map; with a distance matrix "
                "give the known file, or neither for the worst case, in which the snooper knows the whole file"
            )
        if snooper.others == GERMANY and self.points.metric not in GEOGRAPHIC:
            raise InputError("others from germany need coordinates in degrees of longitude and latitude")
        if (self.others is not None) != (snooper.others == "file"):
            raise InputError("the plan and the data differ in whether a file of other people is given")
        if self.others is not None and list(self.others.labels.columns) != list(self.target.labels.columns):
            raise InputError(f"{self.others.name}: it needs the label columns of {self.target.name}")

    def _check_errors(self) -> None:
        error = self.plan.snooper.coordinate_error
        if error is None:
            return
        known = self.known or self.target
        if not isinstance(known.distances, Points):
            raise InputError("a coordinate error of the snooper needs a known file with coordinates")
        Gaussian(error).apply(known.distances, self.chance.rng("trial"))

    @property
    def points(self) -> Points | None:
        """The holder's coordinates, None where there is only a matrix."""
        found = self.target.distances
        return found if isinstance(found, Points) and not callable(found.metric) else None

    @property
    def has_map(self) -> bool:
        """True if the holder's records are points of the Earth, of a plane or of a line."""
        return self.points is not None and self.points.is_map

    @property
    def coordinate_error(self) -> float:
        """The snooper's coordinate error in the unit of the distances."""
        error = self.plan.snooper.coordinate_error
        return 0.0 if error is None else error.km if error.unit in KM_IN else error.value

    def lean(self) -> Audit:
        """Return the same audit without the columns it does not need, as it is sent to other processes."""
        target, known, others = (_bare(data) for data in (self.target, self.known, self.others))
        assert target is not None
        return Audit(self.plan, target, known, others)


def _content(data: Microdata) -> bytes:
    source = data.distances
    places = source.coordinates.tolist() if isinstance(source, Points) else full_matrix(source).tobytes()
    return repr((data.ids, label_tuples(data.labels), places)).encode()


def _bare(data: Microdata | None) -> Microdata | None:
    return None if data is None else replace(data, table=pd.DataFrame(index=range(len(data))))
