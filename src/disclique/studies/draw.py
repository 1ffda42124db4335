"""What the attacks on one noise draw share: people, mask, calibration, truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.calibration import Calibration, calibrate
from disclique.data.distances import as_matrix
from disclique.data.labels import candidates
from disclique.data.tables import microdata
from disclique.engine.product import product_graph
from disclique.masks import parse_mask
from disclique.model import Agreement, Candidates, Distances, Microdata, ProductGraph
from disclique.studies.grid import Study, Unit
from disclique.synthetic.people import Population, germany, population
from disclique.synthetic.settlements import read_table

Pairs = NDArray[np.int32]  # rows (target, known) counted from 0


@dataclass(frozen=True, eq=False)
class Draw:
    """What all attacks on one noise draw share.

    ``target`` has the published distances alone and ``known`` the snooper's points; ``known_distances`` are the same
    distances ready for use, and ``masked`` is what the mask made of the target, for pictures.
    """

    target: Microdata
    known: Microdata
    known_distances: Distances
    candidates: Candidates
    calibration: Calibration
    truth: Pairs
    masked: Distances

    def graph(self, alpha: float) -> ProductGraph:
        """The product graph at detection probability ``alpha``."""
        return product_graph(
            self.target.distances, self.known_distances, candidates=self.candidates, agreement=self.agreement(alpha)
        )

    def agreement(self, alpha: float) -> Agreement:
        """≈ at detection probability ``alpha``."""
        return self.calibration.agreement(alpha)

    def true(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Which pairs are one person."""
        partner = np.full(len(self.target), -1, np.int64)
        partner[self.truth[:, 0]] = self.truth[:, 1]
        return np.asarray(partner[pairs[:, 0]] == pairs[:, 1])


def people_of(study: Study, dataset: int = 0) -> Population:
    """The people of one data set of a study."""
    people, rng = study.people, np.random.default_rng(study.chance("people", dataset))
    sizes = {"n_target": people.n_target, "n_known": people.n_known, "common": people.common}
    if people.points is None:
        return germany(**sizes, rng=rng)
    return population(people.points, people.shares or read_table("germany_census2011"), **sizes, rng=rng)


def calibration_of(study: Study, mask: str) -> Calibration:
    """The snooper's simulation for one mask of a study, shared by all repetitions."""
    rng = np.random.default_rng(study.chance("calibration", mask))
    places = None
    if study.people.points is not None:
        places = people_of(study).people[["lon", "lat"]].to_numpy(dtype=float)
    return calibrate(parse_mask(mask), points=places, pairs=study.pairs, rng=rng)


_calibration = lru_cache(maxsize=64)(calibration_of)


@lru_cache(maxsize=8)
def _files(study: Study, dataset: int) -> tuple[Microdata, Microdata, Distances, Candidates, Pairs]:
    """Target before masking, known file, its distances ready for use, candidates and truth of one data set."""
    people = people_of(study, dataset)
    target, known = (
        microdata(frame, people.label_names, coordinates=["lon", "lat"], ids="id", name=name)
        for frame, name in ((people.target, "target"), (people.known, "known"))
    )
    return target, known, as_matrix(known.distances), candidates(target.labels, known.labels), people.truth


def draw(study: Study, unit: Unit) -> Draw:
    """The noise draw of a work unit; the same wherever and whenever it is made."""
    target, known, known_distances, found, truth = _files(study, unit.repetition % study.people.datasets)
    rng = np.random.default_rng(study.chance("noise", unit.mask, unit.repetition))
    masked = parse_mask(unit.mask).apply(target.distances, rng)
    released = with_distances(target, as_matrix(masked))
    return Draw(released, known, known_distances, found, _calibration(study, unit.mask), truth, masked)


def with_distances(data: Microdata, distances: Distances) -> Microdata:
    """The same records with other distances."""
    return Microdata(data.table, data.labels, distances, data.ids, data.name)
