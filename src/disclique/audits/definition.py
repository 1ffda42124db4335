"""An audit before it is run: the plan, the files, and the stages of which its units are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pandas as pd

from disclique.attacks.dictionaries import Dictionary, check_words, dictionary_of
from disclique.audits.fitting import check_population
from disclique.audits.known_numbers import fit_known_numbers
from disclique.audits.plan import MOST_VARIED, Plan, Snooper
from disclique.errors import InputError, guess_meant
from disclique.geodesy import GEOGRAPHIC
from disclique.masks import Gaussian, Mask
from disclique.masks.registry import name_units
from disclique.measures.utility import OF_NUMBERS, measures
from disclique.messages import Message
from disclique.model import Microdata
from disclique.options.audits import GERMANY, NO_LABEL, PLAN_ROWS
from disclique.records.coarsening import Recoding, check_sources
from disclique.records.joins import describe_difference
from disclique.records.labels import label_tuples
from disclique.records.population import Inhabitants
from disclique.records.sensitive import SensitiveColumn, code_sensitive
from disclique.runs import Chance, Measured, Stage, Unit, WrittenUnit
from disclique.spaces import Points, Texts, shared_unit
from disclique.spaces.mapping import scale_together
from disclique.units import KM_IN
from disclique.values import Json, canonical


@dataclass(frozen=True)
class Attacked(Stage):
    """The release is attacked, to show how near a real snooper comes."""

    sort: ClassVar[str] = "attacked"


@dataclass(frozen=True)
class People(Stage):
    """The oracle is asked for every person, in several releases."""

    sort: ClassVar[str] = "people"


@dataclass(frozen=True)
class Varied(Stage):
    """One thing is assumed otherwise: ``varied`` is it, ``value`` what it is then, ``by`` what measures the risk.

    >>> Varied.parse("varied:overlap=0.1:oracle")
    Varied(varied='overlap', value=0.1, by='oracle')
    """

    sort: ClassVar[str] = "varied"
    varied: str
    value: float
    by: str

    @property
    def text(self) -> str:
        """What the journal calls it."""
        return f"{self.sort}:{self.varied}={self.value:g}:{self.by}"

    @classmethod
    def parse(cls, text: str) -> Varied | None:
        """Read the text of a journal; None if it is of another stage."""
        found = re.fullmatch(rf"{cls.sort}:([^=]*)=([^:]*):(.*)", text)
        return None if found is None else cls(found[1], float(found[2]), found[3])


@dataclass(frozen=True)
class UnitTuning:
    """How a unit is carried out.

    ``most_common_share``: no snooper is certain that everybody is in the file. ``ties``: maximum cliques listed.
    ``graph_bytes``: for a product graph, the same on every machine, since it decides how it is searched. ``starts``:
    alignments that profiles tries, ``starts_on_map`` on a map, where others find what it would.
    ``sampled_repetitions``: in which the control is run, insiders are asked, and utility is measured.
    ``whole_records``: up to which the matrix is formed; most attacks on larger releases need some of it only.
    ``known_groups``: of known people in one release, at the most, when the oracle is asked for everybody.
    ``demonstrations``: releases of a setting that are attacked, of files of more than ``large_records`` only
    ``large_demonstrations``. ``enough_share``: of the people, by which an attack may find less than the oracle and show
    enough. ``control``: whether the best attack is held against a file without any released person.
    ``most_named``: people whose chances are kept of every release.
    """

    most_common_share: float = 0.99
    ties: int = 20
    graph_bytes: int = 2_000_000_000
    starts: int = 8
    starts_on_map: int = 4
    sampled_repetitions: int = 3
    whole_records: int = 1500
    known_groups: int = 10
    demonstrations: int = 3
    large_records: int = 5000
    large_demonstrations: int = 1
    enough_share: float = 0.02
    most_named: int = 5000
    control: bool = True


UNIT_TUNING = UnitTuning()


@dataclass(frozen=True, eq=False)
class Audit:
    """A plan with its data: ``known`` is the snooper's file where it is given, ``others`` people outside the release.

    Ids tell who is who: the same id in two files is the same person. ``thinned`` says of what the known file is a part,
    if it is one. ``uncoarsened`` is the audit with the labels as
    they were before they were recoded. ``population`` are the people of the area, among whom released people hide;
    ``words`` is the dictionary by which encodings are read, if not the file's own columns.
    """

    plan: Plan
    target: Microdata
    known: Microdata | None = None
    others: Microdata | None = None
    uncoarsened: Audit | None = None
    thinned: Message | None = None
    tuning: UnitTuning = UNIT_TUNING
    population: Inhabitants | None = None
    words: Texts | None = None

    def __post_init__(self) -> None:
        if len(self.target) < 2:
            raise InputError("file_of_one_record", file=self.target.name, count=len(self.target))
        self._choose_utility()
        object.__setattr__(self, "plan", self.plan.for_records(len(self.target), on_map=self.is_quick))
        self._share_ranges()
        self._check_units()
        self._check_labels()
        self._check_known()
        self._scale_matrices()
        self._check_drawn()
        self._check_errors()
        self._check_seeds()
        if self.plan.max_inference is not None and not self.sensitive:
            raise InputError("inference_limit_without_column", file=self.target.name)
        if self.population is not None:
            check_population(self.population, self.target)
        if self.words is not None:
            check_words(self.words, self.target)

    def check_masks(self) -> None:
        """Apply every mask and recoding once, so that one that does not fit the file is said before the run."""
        for asked in self.plan.mask_ranges:
            last, rng = asked.settings[-1], self.chance.rng("trial")
            if not (self.target.distances.are_published or last.mask.rigid or last.mask.withholds):
                raise InputError("mask_without_distances", file=self.target.name, mask=last.mask.name)
            last.mask.prepare(self.target).apply(self.target.distances, rng)
            last.numbers.apply(last.labels.apply(self.target), rng)
        for data in (self.target, self.known, self.others):
            if data is not None:
                check_sources(self.plan.generalise, data)
                for recoding in self.plan.label_settings:
                    recoding.apply(data)

    @property
    def kind(self) -> str:
        """What the folder of its journal holds."""
        return self.plan.kind

    @property
    def digest(self) -> str:
        """A hash that only the same plan on the same records has, compared in the same way."""
        digest = hashlib.sha256(self.plan.digest.encode())
        for data in (self.target, self.known, self.others):
            digest.update(b"" if data is None else _content(data))
        if self.population is not None:
            digest.update(repr(self.population.content()).encode())
        if self.words is not None:
            digest.update(repr(self.words.fields).encode())
        for column in self._read_columns:
            digest.update(repr((column, [canonical(value) for value in self.target.table.get(column, ())])).encode())
        if self.sensitive:  # records say what is learned of them
            digest.update(repr(("sensitive", self.target.roles.sensitive)).encode())
        for file in dict.fromkeys(file for mask in self._asked_masks for file in mask.files):
            digest.update(Path(file).read_bytes() if Path(file).is_file() else b"")
        return digest.hexdigest()

    @property
    def _asked_masks(self) -> list[Mask]:
        return [asked.settings[-1].mask for asked in self.plan.mask_ranges]

    @property
    def _read_columns(self) -> list[str]:
        """The columns of the file that masks look at, and the sensitive ones."""
        asked = (column for mask in self._asked_masks for column in mask.reads)
        return list(dict.fromkeys((*asked, *self.target.roles.sensitive)))

    @cached_property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        """The columns of which it is asked what a snooper learns; many numbers grouped as in the whole file."""
        return code_sensitive(self.target)

    @cached_property
    def dictionary(self) -> Dictionary | None:
        """What columns of text may say: a public dictionary is taken to have all that the file says, unless given."""
        own = self.target.distances.texts()
        if own is None:
            return None
        return dictionary_of(own) if self.words is None else dictionary_of(self.words, like=own)

    def to_dict(self) -> Json:
        """Return the plan in plain types."""
        return self.plan.to_dict()

    def read_unit(self, written: WrittenUnit) -> Unit | None:
        """Return the unit that a journal holds; None if it is no part of this audit. Of a range only some are run."""
        plan = self.plan
        setting = plan.find_setting(written.mask)
        varied = Varied.parse(written.part)
        stage: Stage
        if varied is not None:
            stage, most = varied, MOST_VARIED
        elif written.part == People.sort:
            stage, most = People(), plan.people_units
        elif written.part == Attacked.sort:
            stage, most = Attacked(), plan.repetitions
        else:
            stage, most = Measured(), plan.repetitions
        if setting is None or not 0 <= written.repetition < most:
            return None
        unit = Unit(setting, written.repetition, stage)
        return unit if unit.write() == written else None

    def recoded(self, labels: Recoding) -> Audit:
        """Return the audit with its labels recoded in every file: the same people, known to the same snooper.

        All chance is as before. Errors of the snooper's labels are drawn in the classes that are released.
        """
        if not labels.parts:
            return self
        files = (self.target, self.known, self.others)
        target, known, others = (None if data is None else labels.apply(data) for data in files)
        assert target is not None
        plan = replace(self.plan, generalise=())
        return Audit(
            plan, target, known, others, self, tuning=self.tuning, population=self.population, words=self.words
        )

    def _choose_utility(self) -> None:
        """Compare settings by what is left of numbers where nothing else is released."""
        withheld = all(one.mask.withholds for asked in self.plan.mask_ranges for one in asked.settings)
        if not (withheld and len(self.target.numbers)) and self.target.distances.are_published:
            return
        if measures()[self.plan.utility].of_numbers:
            return
        if self.plan.utility != PLAN_ROWS["utility"].default:
            raise InputError("utility_of_distances", utility=self.plan.utility, file=self.target.name)
        object.__setattr__(self, "plan", replace(self.plan, utility=OF_NUMBERS))

    @property
    def is_quick(self) -> bool:
        """True if a question to the oracle costs little: on a map, and where nothing is published between records."""
        return not self.target.distances.are_published or (self.places is not None and self.places.is_map)

    @property
    def chance(self) -> Chance:
        """All chance of the audit."""
        return self.plan.chance

    def _share_ranges(self) -> None:
        """Compare the snooper's records by the ranges of the holder's file, which they are assumed to know."""
        for name in ("known", "others"):
            data = getattr(self, name)
            if data is not None and self.by_gower:
                theirs = data.distances.with_ranges_of(self.target.distances, data.name)
                object.__setattr__(self, name, replace(data, distances=theirs))

    def _scale_matrices(self) -> None:
        """Add places to distances that are those of a map: what needs a map then applies, as a snooper can do this.

        Places of two files are used together, so that both must be laid on one map, by the people whom they share.
        """
        known = self.known
        if known is None:
            scaled = self.target.distances.to_map()
            if scaled is not None:
                object.__setattr__(self, "target", replace(self.target, distances=scaled))
            return
        row = {person: number for number, person in enumerate(known.ids)}
        pairs = [(number, row[person]) for number, person in enumerate(self.target.ids) if person in row]
        found = scale_together(self.target.distances, known.distances, pairs)
        if found is not None:
            object.__setattr__(self, "target", replace(self.target, distances=found[0]))
            object.__setattr__(self, "known", replace(known, distances=found[1]))

    def _check_units(self) -> None:
        """Refuse files in different units, and write the unit behind bare lengths of masks where it is known."""
        for data in (self.known, self.others):
            if data is not None:
                shared_unit(self.target.distances, data.distances, (self.target.name, data.name))
        named = tuple(name_units(spec, self.target.distances) for spec in self.plan.masks)
        if named != self.plan.masks:
            object.__setattr__(self, "plan", replace(self.plan, masks=named))

    def _check_labels(self) -> None:
        """Refuse labels that nobody can know, and leave empty in the snooper's files what they do not know."""
        snooper, columns = self.plan.snooper, list(self.target.labels.columns)
        if snooper.labels is None or self.uncoarsened is not None:
            return
        strange = [name for name in snooper.labels if name not in columns]
        if strange and snooper.labels != (NO_LABEL,):
            there = [repr(str(name)) for name in columns] or Message("no_labels_there")
            meant = guess_meant(strange[0], list(map(str, columns)))
            raise InputError(
                "known_label_not_there", file=self.target.name, label=strange[0], labels=there, meant=meant
            )
        for name in ("known", "others"):
            data = getattr(self, name)
            if data is not None and list(data.labels.columns) == snooper.knows(columns):
                empty = dict.fromkeys(snooper.lacks(columns))
                object.__setattr__(self, name, replace(data, labels=data.labels.assign(**empty)[columns]))

    def _check_known(self) -> None:
        if (self.known is not None) != self.plan.snooper.given:
            raise InputError("plan_without_known_file")
        if self.known is None:
            return
        if list(self.known.labels.columns) != list(self.target.labels.columns):
            raise InputError("other_label_columns", file=self.known.name, other=self.target.name)
        self._check_numbers(self.known)
        if len(self.target.numbers) and self.uncoarsened is None:
            object.__setattr__(self, "known", fit_known_numbers(self.target, self.known))
        if not set(self.known.ids) & set(self.target.ids):
            spelled = describe_difference(self.known.ids, self.target.ids)
            hint = None if spelled is None else Message("write_alike", difference=spelled)
            raise InputError("no_common_id", file=self.known.name, other=self.target.name, hint=hint)

    def _check_numbers(self, data: Microdata) -> None:
        for mine in self.target.numbers.columns:
            if mine.name not in data.numbers.names:
                raise InputError("file_without_number", file=data.name, other=self.target.name, column=mine.name)
            if data.numbers.of(mine.name).unit != mine.unit:
                raise InputError("numbers_in_other_units", file=data.name, other=self.target.name, column=mine.name)

    def _check_drawn(self) -> None:
        snooper = self.plan.snooper
        if snooper.overlap is None:
            return
        if snooper.others == GERMANY and (self.points is None or self.points.metric not in GEOGRAPHIC):
            raise InputError("germany_needs_degrees")
        if (self.others is not None) != (snooper.others == "file"):
            raise InputError("plan_without_others")
        if self.others is not None:
            self._check_others(self.others)
        if self.splits and split_sizes(len(self.target), snooper)[0] < 2:
            asked = {"size": snooper.size, "overlap": snooper.overlap}
            raise InputError("no_release_left", file=self.target.name, records=len(self.target), **asked)

    def _check_others(self, others: Microdata) -> None:
        if list(others.labels.columns) != list(self.target.labels.columns):
            raise InputError("other_label_columns", file=others.name, other=self.target.name)
        self._check_numbers(others)
        if not self.target.distances.can_join(others.distances):
            raise InputError("others_not_comparable", file=others.name, other=self.target.name)

    def _check_seeds(self) -> None:
        seeds = self.plan.snooper.seeds
        if seeds >= self.most_common:
            raise InputError("seeds_leave_nobody", seeds=seeds, common=self.most_common)

    @property
    def plain(self) -> Audit:
        """The audit before its labels were recoded: what follows from places and masks alone is the same there."""
        return self.uncoarsened or self

    @property
    def most_common(self) -> int:
        """How many released people the snooper's file has."""
        if self.known is not None:
            return len(set(self.known.ids) & set(self.target.ids))
        overlap = self.plan.snooper.overlap
        return len(self.target) if overlap is None else count_common(overlap, self.released_size)

    @property
    def demonstrations(self) -> int:
        """How many releases of a setting are attacked."""
        large = len(self.target) > self.tuning.large_records
        wanted = self.tuning.large_demonstrations if large else self.tuning.demonstrations
        return min(wanted, self.plan.repetitions)

    @property
    def splits(self) -> bool:
        """True if strangers are records of the file that are kept out of the release: nobody else can be drawn."""
        drawn = self.plan.snooper.overlap is not None and self.others is None
        return drawn and not self.target.distances.can_invent

    @property
    def released_size(self) -> int:
        """How many records one release has."""
        return split_sizes(len(self.target), self.plan.snooper)[0] if self.splits else len(self.target)

    def _check_errors(self) -> None:
        error = self.plan.snooper.coordinate_length
        if error is None:
            return
        known = (self.known or self.target).distances.points()
        if known is None:
            raise InputError("error_needs_coordinates")
        if known.metric not in (*GEOGRAPHIC, "euclidean"):
            raise InputError("error_in_metric_unknown", metric=known.metric)
        try:
            Gaussian(error).apply(known, self.chance.rng("trial"))
        except InputError as problem:
            where = Message("snoopers_error", error=str(error))
            values = {**problem.message.values, "where": where}
            raise InputError(Message(problem.message.code, values)) from None

    @property
    def points(self) -> Points | None:
        """The holder's coordinates, None where there is only a matrix."""
        return self.target.distances.vectors()

    @property
    def places(self) -> Points | None:
        """The holder's coordinates, or the map that the distances make where there is only a matrix that fits one."""
        return self.target.distances.places() or self.points

    @property
    def file_kind(self) -> str:
        """What the holder's records are, in the word of the result."""
        return self.target.distances.kind

    @property
    def by_gower(self) -> bool:
        """True if records are compared by Gower's metric, whose ranges are those of the holder's file."""
        return self.target.distances.by_ranges

    @property
    def has_map(self) -> bool:
        """True if the holder's records are points of the Earth, of a plane or of a line."""
        return self.points is not None and self.points.is_map

    @property
    def coordinate_error(self) -> float:
        """The snooper's coordinate error in the unit of the distances."""
        error = self.plan.snooper.coordinate_length
        return 0.0 if error is None else error.km if error.unit in KM_IN else error.value

    def lean(self, reads: Sequence[str] = ()) -> Audit:
        """Return the same audit without the columns it does not need, as it is sent to other processes.

        ``reads`` are those that are needed besides, by masks that are not in its plan.
        """
        files = (self.target, self.known, self.others)
        target, known, others = (
            None if data is None else replace(data, table=pd.DataFrame(index=range(len(data)))) for data in files
        )
        assert target is not None
        wanted = dict.fromkeys((*self._read_columns, *reads))
        read = [column for column in wanted if column in self.target.table.columns]
        target = replace(target, table=self.target.table[read].reset_index(drop=True)) if read else target
        return replace(self, uncoarsened=None, target=target, known=known, others=others)


def _content(data: Microdata) -> bytes:
    numbers = (data.numbers.content(),) if len(data.numbers) else ()
    return repr((data.ids, label_tuples(data.labels), data.distances.content(), *numbers)).encode()


def count_common(overlap: float, released: int) -> int:
    """Return how many of the released people are known: at least one."""
    return max(1, round(overlap * released))


def split_sizes(records: int, snooper: Snooper) -> tuple[int, int]:
    """Return how many records of a file are released and how many of the rest the snooper's file takes.

    As many as possible are released: with the known ones among them, the snooper's file has the size asked for, or that
    of the release.

    >>> split_sizes(100, Snooper(overlap=0.5)), split_sizes(100, Snooper(overlap=0.2, size=30))
    ((67, 33), (88, 12))
    """
    for released in range(records, 1, -1):
        common = count_common(snooper.overlap or 0.0, released)
        strangers = max((snooper.size or released) - common, 0)
        if released + strangers <= records:
            return released, strangers
    return 0, 0
