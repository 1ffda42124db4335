"""What a study is: its axes, its people, its seed; and the units that follow from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from disclique.arguments import show
from disclique.attacks import Search, parse_attacks
from disclique.engine.solvers import find_solver
from disclique.errors import InputError, guess_meant
from disclique.masks.settings import SPREAD, Setting, parse_range
from disclique.model import Budget
from disclique.options.attacks import StudyOptions
from disclique.options.table import rows_of
from disclique.records.coarsening import list_label_settings, parse_recoding
from disclique.records.number_columns import parse_numbers
from disclique.runs import Chance, Unit, WrittenUnit
from disclique.values import Json

FORMAT = 2  # raised when the same definition no longer gives the same records
FULL = "full"  # labels as they are
TIES = 100  # maximum cliques listed in each cell
MEMORY = 2_000_000_000  # bytes for a product graph: the same on every machine, since it decides how it is searched


@dataclass(frozen=True)
class People:
    """Whose data are released: sizes of the two files, people in both, and how many data sets are drawn.

    The paper has one data set for all repetitions; with more, repetition r is made on data set r modulo ``datasets``.
    ``points`` and ``shares`` are files of one's own places and label counts; without them the people live in Germany.
    Or the people are drawn from a ``file``: compared by their columns of ``text`` with ``metric``, with ``labels`` and
    ``numbers``, columns with their units; ``sheet`` is the one that is meant where a workbook has several.
    """

    n_target: int = 500
    n_known: int = 500
    common: int = 50
    datasets: int = 1
    points: str | None = None
    shares: str | None = None
    file: str | None = None
    text: tuple[str, ...] = ()
    metric: str | None = None
    labels: tuple[str, ...] = ()
    sheet: str | None = None
    numbers: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        least = {"n_target": 1, "n_known": 1, "common": 0, "datasets": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise InputError("number_too_small", what=name, value=getattr(self, name), low=low)
        if self.common > min(self.n_target, self.n_known):
            raise InputError("common_too_many", common=self.common, people=min(self.n_target, self.n_known))
        if self.shares is not None and self.points is None:
            raise InputError("shares_without_points", shares=self.shares)
        object.__setattr__(self, "numbers", parse_numbers(self.numbers))
        if (self.file is None) != (not self.text and not self.numbers):
            raise InputError("people_without_text")
        if self.file is None and (self.metric is not None or self.labels):
            raise InputError("metric_without_people")
        if self.file is not None and self.points is not None:
            raise InputError("people_and_points", people=self.file, points=self.points)


@dataclass(frozen=True)
class Grid:
    """The axes of a study: masks by their spec, detection probabilities α, repetitions (noise draws), attacks, labels.

    Behind a mask stands what is done to numbers: ``none | km_school=round:100m``.
    Each of ``labels`` says how labels are recoded in both files (``age_class=width:age_class:20 | drop:sex``): an empty
    text leaves them as they are, ``none`` leaves them out.
    """

    masks: tuple[str, ...]
    alphas: tuple[float, ...]
    repetitions: int
    attacks: tuple[str, ...] = ("clique",)
    labels: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "masks", tuple(str(Setting.parse(spec)) for spec in self.masks))
        object.__setattr__(self, "labels", tuple(parse_recoding(text).spec for text in self.labels))
        object.__setattr__(self, "alphas", tuple(float(alpha) for alpha in self.alphas))
        for alpha in self.alphas:
            if not 0 < alpha < 1:
                raise InputError("alpha_not_a_probability", given=alpha)
        if self.repetitions < 1:
            raise InputError("no_repetitions", repetitions=self.repetitions)
        for name in ("masks", "alphas", "attacks", "labels"):
            values = getattr(self, name)
            if not values:
                raise InputError("axis_empty", axis=name)
            if len(set(values)) < len(values):
                twice = next(value for value in values if values.count(value) > 1)
                raise InputError("axis_value_twice", axis=name, value=twice or FULL)

    @cached_property
    def axes(self) -> dict[Setting, tuple[str, str]]:
        """Every mask with every way to recode the labels, and both as they stand on their axes."""
        found = {}
        for mask in self.masks:
            for labels in self.labels:
                found[Setting.parse(mask).under(parse_recoding(labels))] = mask, labels
        return found

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every mask with every way to recode the labels."""
        return tuple(self.axes)

    @property
    def turns_labels(self) -> bool:
        """True if labels are an axis of the study, not just as they are."""
        return self.labels != ("",)


@dataclass(frozen=True)
class Study:
    """A grid of masks × agreements × repetitions, each cell one attack measured.

    ``pairs`` is the size of the snooper's simulation that calibrates ≈, once a mask. All chance follows from ``seed``
    and from *what* is drawn, never from when or where: a mask, a repetition and a data set have the same numbers in
    every study with this seed.
    """

    kind: ClassVar[str] = "study"
    grid: Grid
    people: People = People()
    search: Search = field(default_factory=lambda: Search(threads=1, limit=TIES, memory=MEMORY))
    seed: int = 0
    pairs: int = 1000

    def __post_init__(self) -> None:
        Chance(self.seed)
        parse_attacks(self.grid.attacks)
        find_solver(self.search.solver)
        if self.pairs < 2:
            raise InputError("too_few_pairs", pairs=self.pairs)

    def units(self) -> Iterator[Unit]:
        """Return all units, repetition by repetition, so that early results cover the whole grid."""
        return (Unit(setting, r) for r in range(self.grid.repetitions) for setting in self.grid.settings)

    def read_unit(self, written: WrittenUnit) -> Unit | None:
        """Return the unit of this study that a journal holds; None if there is none."""
        setting = next((one for one in self.grid.settings if str(one) == written.mask), None)
        if setting is None or not 0 <= written.repetition < self.grid.repetitions:
            return None
        unit = Unit(setting, written.repetition)
        return unit if unit.write() == written else None

    @property
    def chance(self) -> Chance:
        """All chance of the study."""
        return Chance(self.seed)

    def to_dict(self) -> Json:
        """Return the definition in plain types, under the names of the options; ``define_study`` reads it back."""
        people, grid, search = self.people, self.grid, self.search
        return {
            "mask": list(grid.masks),
            "alpha": list(grid.alphas),
            "repetitions": grid.repetitions,
            "attack": list(grid.attacks),
            "n": [people.n_target, people.n_known],
            "common": people.common,
            "datasets": people.datasets,
            "points": people.points,
            "shares": people.shares,
            "seed": self.seed,
            "pairs": self.pairs,
            "solver": search.solver,
            "budget": search.budget.work,
            "ties": search.limit,
            **({"labels": [text or FULL for text in grid.labels]} if grid.turns_labels else {}),
            **self._of_file(),
        }

    def _of_file(self) -> Json:
        """Return what is said of a file of people; nothing of others, so that their journals stay what they are."""
        people = self.people
        if people.file is None:
            return {}
        return {
            "people": people.file,
            "text": list(people.text),
            "metric": people.metric,
            "label": list(people.labels),
            **({} if people.sheet is None else {"sheet": people.sheet}),
            **({"number": [f"{name}:{unit}" for name, unit in people.numbers]} if people.numbers else {}),
        }

    @property
    def digest(self) -> str:
        """A hash of the definition and of the files it names: equal for the same study only."""
        files = {name: _hash(getattr(self.people, name)) for name in ("points", "shares")}
        if self.people.file is not None:
            files["people"] = _hash(self.people.file)
        content = {**self.to_dict(), **files, "format": FORMAT}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _hash(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError("file_not_read", path=path, why=error.strerror) from None


SIGMAS = tuple(round(0.005 * k, 3) for k in range(1, 11))
ALPHAS = tuple(round(0.1 * k, 1) for k in range(1, 10))
PRESETS: dict[str, Json] = {
    "kroll2014": {
        "mask": [f"gaussian:sigma={sigma}deg" for sigma in SIGMAS],
        "alpha": list(ALPHAS),
        "repetitions": 100,
        "n": [500, 500],
        "common": 50,
        "seed": 0,
        "pairs": 1000,
    }
}
OPTIONS = tuple(rows_of(StudyOptions))


OTHER_NAMES = {"attacks": "attack", "masks": "mask"}  # as an audit calls them in Python


def define_study(options: Mapping[str, Any]) -> Study:
    """Define the study that options name, as on the command line or in a TOML file.

    ``preset`` is filled in first, then the other options; ``sigma`` gives the values of the mask's dial.
    """
    options = {OTHER_NAMES.get(name, name): value for name, value in options.items()}
    strange = sorted(set(options) - set(OPTIONS))
    if strange:
        meant = guess_meant(strange[0], OPTIONS)
        raise InputError("unknown_study_option", option=strange[0], options=OPTIONS, meant=meant)
    given = {key: value for key, value in options.items() if value is not None}
    preset = given.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        raise InputError("unknown_preset", preset=repr(preset), presets=list(PRESETS))
    all_of = {**PRESETS["kroll2014"], **given}
    try:
        return _built(all_of, sigma_only="sigma" in given and "mask" not in given)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("study_not_understood", error=str(error)) from None


def _built(options: dict[str, Any], *, sigma_only: bool) -> Study:
    masks = ["gaussian:sigma=1deg"] if sigma_only else _many(options["mask"])
    if "sigma" in options:
        masks = [_turned(mask, value) for mask in masks for value in _many(options["sigma"])]
    masks = [str(one) for mask in masks for one in _settings_of(mask)]
    sizes = [_whole(n, "n") for n in _many(options["n"])]
    budget = options.get("budget")
    return Study(
        grid=Grid(
            masks=tuple(masks),
            alphas=tuple(float(alpha) for alpha in _many(options["alpha"])),
            repetitions=_whole(options["repetitions"], "repetitions"),
            attacks=tuple(str(name) for name in _many(options.get("attack", ["clique"]))),
            labels=tuple(step for text in _many(options.get("labels", [FULL])) for step in _levels(str(text))),
        ),
        people=People(
            n_target=sizes[0],
            n_known=sizes[-1],
            common=_whole(options["common"], "common"),
            datasets=_whole(options.get("datasets", 1), "datasets"),
            points=options.get("points"),
            shares=options.get("shares"),
            file=options.get("people"),
            text=_columns(options.get("text", ())),
            metric=options.get("metric"),
            labels=_columns(options.get("label", ())),
            sheet=options.get("sheet"),
            numbers=parse_numbers(_many(options.get("number", ()))),
        ),
        search=Search(
            solver=str(options.get("solver", "exact")),
            budget=Budget(work=None if budget is None else float(budget)),
            threads=1,
            limit=_whole(options.get("ties", TIES), "ties"),
            memory=MEMORY,
        ),
        seed=_whole(options["seed"], "seed"),
        pairs=_whole(options["pairs"], "pairs"),
    )


def _whole(value: Any, what: str) -> int:
    """Return a whole number, perhaps written as a text; half a repetition is a mistake, not one less."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.5
    if isinstance(value, bool) or not number.is_integer():
        raise InputError("study_number_not_whole", what=what, value=show(value))
    return int(value)


def _levels(text: str) -> tuple[str, ...]:
    """Return the levels of labels that a text names: one, or the steps of a range from fine to coarse."""
    if text.strip() == FULL:
        return ("",)
    return list_label_settings([text]) if ".." in text else (text,)


def _many(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def _columns(value: Any) -> tuple[str, ...]:
    """Return names of columns, given one by one or as one text ``first,last``."""
    return tuple(part.strip() for given in _many(value) for part in str(given).split(","))


def _turned(mask: str, value: Any) -> str:
    """Return the mask with its dial at a value; a number without a unit is in the mask's own."""
    plain = isinstance(value, (int, float)) or str(value).strip().replace(".", "", 1).isdigit()
    setting = Setting.parse(mask)
    return str(replace(setting, mask=setting.mask.with_dial(float(value) if plain else value)))


def _settings_of(mask: Any) -> tuple[Any, ...]:
    """Return the settings for which a range stands, or the mask itself."""
    return parse_range(mask, SPREAD).settings if isinstance(mask, str) and ".." in mask else (mask,)
