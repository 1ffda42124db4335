"""One unit of a study: a noise draw, attacked with every α and in every way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.attacks import Attack, Knowledge, Outcome, act, fetcher, learn, parse_attacks
from disclique.attacks.calibration import Calibration, calibrate, calibrate_matrix
from disclique.attacks.knowledge import ALPHA
from disclique.attacks.labels import LabelRule
from disclique.attacks.population import prepare
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.measures.label_information import count_classes, share_kept
from disclique.measures.risk import Truth
from disclique.model import Candidates, Claims, Microdata
from disclique.records.coarsening import AS_THEY_ARE, Recoding, parse_recoding
from disclique.records.labels import candidates
from disclique.records.reading import Layout, read
from disclique.records.tables import microdata
from disclique.runs import Unit
from disclique.spaces.base import Distances
from disclique.studies.definition import FULL, Study
from disclique.synthetic.people import Population, choose_people, germany, population, read_table

BINS = 10  # classes of probability in which claims are compared with the truth
Files = tuple[Microdata, Microdata, Candidates, Truth]


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

    def relate(self, alpha: float | None) -> Callable[[Attack], Candidates]:
        """Say which pairs an attack may use: those that fit by their evidence, or agree with probability α."""
        if not len(self.target.numbers):
            return lambda attack: self.candidates
        agreeing = LabelRule().candidates(self.target, self.known, alpha=alpha or ALPHA)
        return lambda attack: self.candidates if attack.by_evidence else agreeing

    @property
    def masked_target(self) -> Microdata:
        """The target with its masked points, which only the data holder has."""
        return replace(self.target, distances=self.masked)


class StudyDraws:
    """Draws the releases of a study, and keeps what several of them share: files, calibrations, what is known of masks.

    It goes to another process without what it keeps.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.read_people = lru_cache(maxsize=1)(self._read_people)
        self.files = lru_cache(maxsize=16)(self._files)
        self.calibrate = lru_cache(maxsize=64)(self._calibrate)
        self.learn = lru_cache(maxsize=64)(self._learn)

    def __reduce__(self) -> tuple[type[StudyDraws], tuple[Study]]:
        return type(self), (self.study,)

    def _read_people(self) -> Microdata:
        """Read the file of people, so that a complaint names its row, not that of a draw."""
        people = self.study.people
        layout = Layout(
            people.labels, text=people.text, metric=people.metric, sheet=people.sheet, numbers=people.numbers
        )
        return read(str(people.file), layout)

    def draw_people(self, dataset: int = 0) -> Population:
        """Draw the people of one data set."""
        people, rng = self.study.people, self.study.chance.rng("people", dataset)
        sizes = {"n_target": people.n_target, "n_known": people.n_known, "common": people.common}
        if people.file is not None:
            return choose_people(self.read_people().table, **sizes, rng=rng)
        if people.points is None:
            return germany(**sizes, rng=rng)
        return population(people.points, people.shares or read_table("germany_census2011"), **sizes, rng=rng)

    def _files(self, dataset: int, recoding: Recoding = AS_THEY_ARE) -> Files:
        """Return the target before masking, the known file, the candidates and the truth of one data set.

        ``recoding`` says how labels are recoded, in both files.
        """
        people, asked = self.draw_people(dataset), self.study.people
        columns: dict[str, Any] = {"labels": people.label_names, "coordinates": ["lon", "lat"], "ids": "id"}
        if asked.file is not None:
            columns = {"labels": asked.labels, "text": asked.text or None, "metric": asked.metric}
            columns["numbers"] = asked.numbers
        target, known = (
            recoding.apply(microdata(frame, name=name, **columns))
            for frame, name in ((people.target, "target"), (people.known, "known"))
        )
        return target, prepare(known), candidates(target.labels, known.labels), Truth(people.truth.astype(np.int64))

    def _calibrate(self, mask: Mask) -> Calibration:
        """Carry out the snooper's simulation for one mask, shared by all repetitions."""
        study = self.study
        rng, places = study.chance.rng("calibration", mask.spec), None
        if study.people.file is not None:
            distances = self.files(0)[1].distances
            if mask.withholds or not distances.are_published:
                return Calibration(mask, np.zeros(2), np.zeros(2))  # there are none to be moved
            return calibrate_matrix(mask, distances, pairs=study.pairs, rng=rng)
        if study.people.points is not None:
            places = self.draw_people().people[["lon", "lat"]].to_numpy(dtype=float)
        return calibrate(mask, points=places, pairs=study.pairs, rng=rng)

    def _learn(self, mask: Mask, dataset: int) -> Knowledge:
        """Return what the snooper knows of a mask; where that is simulated, at the places of the known file."""
        points = self.files(dataset)[1].distances.points()
        common = self.study.people.common / self.study.people.n_target
        rng = self.study.chance.rng("knowledge", mask.spec, dataset)
        return learn(mask, self.calibrate(mask), points, common=common, rng=rng)

    def draw(self, unit: Unit) -> Draw:
        """Make the noise draw of a unit; the same wherever and whenever it is made."""
        dataset, mask = unit.repetition % self.study.people.datasets, unit.setting.mask
        target, known, found, truth = self.files(dataset, unit.setting.labels)
        masked = mask.apply(target.distances, self.study.chance.rng("noise", mask.spec, unit.repetition))
        released = replace(target, distances=masked.as_matrix())
        if len(target.numbers):
            rng = self.study.chance.rng("numbers", unit.repetition)
            released = unit.setting.numbers.apply(released, rng)
            found = LabelRule().candidates(released, known)
        return Draw(released, known, found, self.calibrate(mask), self.learn(mask, dataset), truth, masked)

    def check(self) -> None:
        """Raise an error before the journal begins if people of a file cannot be drawn, or masks do not fit them."""
        for recoding in dict.fromkeys(setting.labels for setting in self.study.grid.settings):
            if recoding.parts:
                self.files(0, recoding)
        if self.study.people.file is None:
            return
        target = self.files(0)[0]
        for mask in dict.fromkeys(setting.mask for setting in self.study.grid.settings):
            if not (target.distances.are_published or mask.rigid or mask.withholds):
                raise InputError("mask_without_distances", file=self.study.people.file, mask=mask.name)
            mask.apply(target.distances, self.study.chance.rng("trial"))
        for setting in self.study.grid.settings:
            setting.numbers.apply(self.files(0, setting.labels)[0], self.study.chance.rng("trial"))

    def tabulate_labels(self) -> pd.DataFrame:
        """Say what the labels of the first data set's target tell at each level: classes, and the information left."""
        fine, rows = self.files(0)[0].labels, []
        for labels in self.study.grid.labels:
            left = self.files(0, parse_recoding(labels))[0].labels
            equal, distinct = count_classes(left)
            rows.append((labels or FULL, distinct, equal, share_kept(left, fine)))
        return pd.DataFrame(rows, columns=["labels", "distinct", "classes", "information"])


class UnitRunner:
    """Carries out units of a study: a cell for each α and attack, and one for each attack that needs no α."""

    def __init__(self, study: Study) -> None:
        self.study, self.draws = study, StudyDraws(study)

    def __reduce__(self) -> tuple[type[UnitRunner], tuple[Study]]:
        return UnitRunner, (self.study,)

    def __call__(self, unit: Unit) -> list[Cell]:
        """Carry out a unit."""
        made = self.draws.draw(unit)
        tried = _run_all(self.study, unit, made)
        return [_cell(self.study, unit, made, alpha, one) for alpha, outcomes in tried for one in outcomes]


@dataclass(frozen=True)
class Cell:
    """One attack on one noise draw, measured: a row of the results.

    ``bound`` is the most that could have been claimed where a search tells, and ``proven`` says that the claim reaches
    it. ``tp_mean``, ``tp_min`` and ``tp_max`` are over all ties. ``weighed`` counts the pairs with a probability in
    each of ten equal classes, ``weight`` sums their probabilities and ``right`` counts the true ones.
    """

    mask: str
    alpha: float | None
    repetition: int
    attack: str
    dataset: int
    seed: int
    vertices: int
    edges: int
    size: int
    bound: int | None
    proven: bool
    tp: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    ties: int
    ties_complete: bool
    tp_mean: float
    tp_min: float
    tp_max: float
    expected: float | None
    weighed: list[int] | None
    weight: list[float] | None
    right: list[float] | None
    seconds: float
    labels: str = FULL


def _run_all(study: Study, unit: Unit, made: Draw) -> Iterator[tuple[float | None, list[Outcome]]]:
    """Run the attacks of every α, those that share a start together, and then those that need no α."""
    specs = parse_attacks(study.grid.attacks)
    # chance follows from the mask alone: levels of labels share their noise
    search = replace(study.search, seed=study.chance.seed("guess", unit.setting.mask.spec, unit.repetition))
    for alpha in (*study.grid.alphas, None):
        used = [spec for spec in specs if spec.kind.by_agreement == (alpha is not None)]
        knowledge = made.knowledge if alpha is None else made.knowledge.at(alpha, made.calibration)
        found = []
        for points in (False, True):
            some = {spec.spec: spec.build(knowledge, search) for spec in used if spec.kind.sees_points == points}
            found += _run(some, made.masked_target if points else made.target, made, alpha)
        place = [spec.spec for spec in specs]
        yield alpha, sorted(found, key=lambda tried: place.index(tried.spec))


def _run(attacks: dict[str, Attack], target: Microdata, made: Draw, alpha: float | None) -> list[Outcome]:
    """Run attacks; in a study one that cannot be carried out is an error, since a cell would be missing."""
    if not attacks:
        return []
    tried = act(attacks, fetcher(target, made.known, made.relate(alpha)), truth=made.truth, seeds=())
    for one in tried:
        if one.refusal is not None:
            raise InputError("study_attack_refused", attack=one.spec, why=one.refusal)
    return tried


def _cell(study: Study, unit: Unit, made: Draw, alpha: float | None, tried: Outcome) -> Cell:
    """Measure the claims of one attack."""
    claims, judged = tried.claims, tried.judged
    assert claims is not None
    assert judged is not None
    size, work = len(judged.correct) + len(judged.wrong), claims.work
    tied = judged.tied or (judged.risk.tp,)
    unknown = claims.most is None and not claims.complete  # work was cut short, and nothing tells how much was missed
    most = min(len(made.target), len(made.known)) if unknown else claims.most
    return Cell(
        mask=study.grid.axes[unit.setting][0],
        alpha=alpha,
        repetition=unit.repetition,
        attack=tried.spec,
        dataset=unit.repetition % study.people.datasets,
        seed=study.chance.seed("noise", unit.setting.mask.spec, unit.repetition),
        vertices=work.vertices if work else 0,
        edges=work.edges if work else 0,
        size=size,
        bound=most,
        proven=size == most,
        tp=judged.risk.tp,
        fp=judged.risk.fp,
        fn=judged.risk.fn,
        precision=judged.risk.precision,
        recall=judged.risk.recall,
        ties=len(tied),
        ties_complete=bool(claims.ties and work and work.cliques.complete),
        tp_mean=float(np.mean(tied)),
        tp_min=min(tied),
        tp_max=max(tied),
        expected=claims.expected,
        **_reliability(claims, judged.weighed),
        seconds=tried.seconds,
        labels=study.grid.axes[unit.setting][1] or FULL,
    )


def _reliability(claims: Claims, true: NDArray[np.bool_]) -> dict[str, Any]:
    """Count the pairs in each class of probability, their probabilities, and how many of them were true."""
    if claims.expected is None:
        return {"weighed": None, "weight": None, "right": None}
    of_pair = np.minimum((claims.probability * BINS).astype(np.int64), BINS - 1)
    sums = {"weighed": None, "weight": claims.probability, "right": true.astype(float)}
    return {name: np.bincount(of_pair, weights=values, minlength=BINS).tolist() for name, values in sums.items()}


@dataclass(frozen=True, eq=False)
class Example:
    """One cell of a study with the matches it claims, for a picture: rows counted from 1 and a column ``true``."""

    unit: Unit
    alpha: float
    target: Microdata
    known: Microdata
    matches: pd.DataFrame


def make_example(draws: StudyDraws, unit: Unit, alpha: float) -> Example:
    """Carry out a cell once more, by the study's first attack."""
    study, made = draws.study, draws.draw(unit)
    spec = parse_attacks(study.grid.attacks[:1])[0]
    attack = spec.build(made.knowledge.at(alpha, made.calibration), study.search)
    seen = made.masked_target if spec.kind.sees_points else made.target
    claims = _run({spec.spec: attack}, seen, made, alpha)[0].claims
    assert claims is not None
    rows, others, _ = claims.claimed()
    true = made.truth.holds(rows, others)
    table = pd.DataFrame({"target_row": rows + 1, "known_row": others + 1, "true": true})
    return Example(unit, alpha, made.masked_target, made.known, table)


def typical_examples(study: Study) -> list[Example]:
    """Carry out the first repetition at the corners of the grid: weak and strong masks, small and large α."""
    alphas = sorted(study.grid.alphas)
    first = study.grid.settings[0]
    masks = dict.fromkeys((first.mask, study.grid.settings[-1].mask))
    both = dict.fromkeys((alphas[len(alphas) // 4], alphas[-1]))
    draws = StudyDraws(study)
    return [make_example(draws, Unit(replace(first, mask=mask), 0), alpha) for mask in masks for alpha in both]
