"""One noise draw of a study: the people, the masked target, what the snooper knows, and the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from disclique.attacks import Knowledge, learn
from disclique.attacks.calibration import Calibration, calibrate, calibrate_matrix
from disclique.attacks.population import prepare
from disclique.masks import Mask
from disclique.measures.label_information import count_classes, share_kept
from disclique.measures.risk import Truth
from disclique.model import Candidates, Distances, Microdata
from disclique.records.coarsening import AS_THEY_ARE, Recoding, parse_recoding
from disclique.records.labels import candidates
from disclique.records.reading import Layout, microdata, read
from disclique.runs import Unit
from disclique.studies.definition import FULL, People, Study
from disclique.synthetic.people import Population, choose_people, germany, population
from disclique.synthetic.settlements import read_table


@dataclass(frozen=True, eq=False)
class Draw:
    """What all attacks on one noise draw share.

    ``target`` has the published distances alone and ``known`` the snooper's points or strings; ``masked`` is what the
    mask made of the target, for yardsticks and pictures.
    """

    target: Microdata
    known: Microdata
    candidates: Candidates
    calibration: Calibration
    knowledge: Knowledge
    truth: Truth
    masked: Distances

    @property
    def masked_target(self) -> Microdata:
        """The target with its masked points, which only the data holder has."""
        return replace(self.target, distances=self.masked)


@lru_cache(maxsize=2)
def _read_people(people: People) -> Microdata:
    """Read the file of people, so that a complaint names its row, not that of a draw."""
    layout = Layout(people.labels, text=people.text, metric=people.metric, sheet=people.sheet)
    return read(str(people.file), layout)


def check_people(study: Study) -> None:
    """Raise an error before the journal begins if people of a file cannot be drawn, or masks do not fit them."""
    for recoding in dict.fromkeys(setting.labels for setting in study.grid.settings):
        if recoding.parts:
            _files(study, 0, recoding)
    if study.people.file is None:
        return
    target = _files(study, 0)[0]
    for mask in dict.fromkeys(setting.mask for setting in study.grid.settings):
        mask.apply(target.distances, study.chance.rng("trial"))


def draw_people(study: Study, dataset: int = 0) -> Population:
    """Draw the people of one data set of a study."""
    people, rng = study.people, study.chance.rng("people", dataset)
    sizes = {"n_target": people.n_target, "n_known": people.n_known, "common": people.common}
    if people.file is not None:
        return choose_people(_read_people(people).table, **sizes, rng=rng)
    if people.points is None:
        return germany(**sizes, rng=rng)
    return population(people.points, people.shares or read_table("germany_census2011"), **sizes, rng=rng)


def tabulate_labels(study: Study) -> pd.DataFrame:
    """Say what the labels of the first data set's target tell at each level: classes, and the information left."""
    fine, rows = _files(study, 0)[0].labels, []
    for labels in study.grid.labels:
        left = _files(study, 0, parse_recoding(labels))[0].labels
        equal, distinct = count_classes(left)
        rows.append((labels or FULL, distinct, equal, share_kept(left, fine)))
    return pd.DataFrame(rows, columns=["labels", "distinct", "classes", "information"])


def calibrate_mask(study: Study, mask: Mask) -> Calibration:
    """Carry out the snooper's simulation for one mask of a study, shared by all repetitions."""
    rng, places = study.chance.rng("calibration", mask.spec), None
    if study.people.file is not None:
        return calibrate_matrix(mask, _files(study, 0)[1].distances, pairs=study.pairs, rng=rng)
    if study.people.points is not None:
        places = draw_people(study).people[["lon", "lat"]].to_numpy(dtype=float)
    return calibrate(mask, points=places, pairs=study.pairs, rng=rng)


_calibration = lru_cache(maxsize=64)(calibrate_mask)


@lru_cache(maxsize=16)
def _files(
    study: Study, dataset: int, recoding: Recoding = AS_THEY_ARE
) -> tuple[Microdata, Microdata, Candidates, Truth]:
    """Return the target before masking, the known file, the candidates and the truth of one data set.

    ``recoding`` says how labels are recoded, in both files.
    """
    people, asked = draw_people(study, dataset), study.people
    columns: dict[str, Any] = {"labels": people.label_names, "coordinates": ["lon", "lat"], "ids": "id"}
    if asked.file is not None:
        columns = {"labels": asked.labels, "text": asked.text, "metric": asked.metric}
    target, known = (
        recoding.apply(microdata(frame, name=name, **columns))
        for frame, name in ((people.target, "target"), (people.known, "known"))
    )
    return target, prepare(known), candidates(target.labels, known.labels), Truth(people.truth.astype(np.int64))


@lru_cache(maxsize=64)
def _knowledge(study: Study, mask: Mask, dataset: int) -> Knowledge:
    """Return what the snooper knows of a mask; where that is simulated, at the places of the known file."""
    points = _files(study, dataset)[1].distances.points()
    common = study.people.common / study.people.n_target
    rng = study.chance.rng("knowledge", mask.spec, dataset)
    return learn(mask, _calibration(study, mask), points, common=common, rng=rng)


def draw(study: Study, unit: Unit) -> Draw:
    """Make the noise draw of a unit; the same wherever and whenever it is made."""
    dataset = unit.repetition % study.people.datasets
    mask = unit.setting.mask
    target, known, found, truth = _files(study, dataset, unit.setting.labels)
    masked = mask.apply(target.distances, study.chance.rng("noise", mask.spec, unit.repetition))
    released = replace(target, distances=masked.as_matrix())
    knowledge = _knowledge(study, mask, dataset)
    return Draw(released, known, found, _calibration(study, mask), knowledge, truth, masked)
