"""Options of a command, declared once: on the command line, in a TOML file, and with their defaults.

A command declares its options as a dataclass whose fields are made by ``option``; ``with_options`` turns them into
options of the command line. What is not said there comes from the TOML file of ``--config``, else it is the default.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_type_hints

import typer

from disclique.errors import InputError

O = TypeVar("O", bound="Options")  # noqa: E741
INPUT = "The file"
NO_COLUMNS: dict[str, Any] = {"coordinates": None, "text": (), "encodings": None}  # distances come from a file


FORCE = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files that are there already, and go on with input that can only be mistaken.",
        rich_help_panel="Output",
    ),
]


def option(help: str, *, panel: str | None = None, default: Any = None, metavar: str = "") -> Any:
    """Declare an option."""
    about = {"help": help, "panel": panel, "default": default, "metavar": metavar or None}
    return field(default=None, metadata=about)


@dataclass(frozen=True)
class Options:
    """Options as they were given: None is not said. ``sections`` of a TOML file are read by whoever needs them."""

    sections: ClassVar[tuple[str, ...]] = ()

    def filled(self, config: Path | None = None) -> Self:
        """Return the options with what was not said from a TOML file, else by default."""
        known = {name.name.replace("_", "-"): name for name in fields(self)}
        written = {} if config is None else {key.replace("_", "-"): v for key, v in read_toml(config).items()}
        strange = sorted(set(written) - set(known) - set(self.sections))
        if strange:
            raise InputError(f"{config}: unknown option {strange[0]!r}; there are {', '.join(known)}")
        found = {}
        for key, about in known.items():
            said = getattr(self, about.name)
            default = about.metadata["default"]
            found[about.name] = said if said is not None and said != [] else written.get(key, default)
        return replace(self, **found)


def differing(options: Options) -> dict[str, Any]:
    """Return the options that are not as by default, as they would be said again."""
    values = {about.name: (getattr(options, about.name), about.metadata["default"]) for about in fields(options)}
    return {name: value for name, (value, default) in values.items() if value is not None and value != default}


def read_toml(path: Path) -> dict[str, Any]:
    """Read the options in a TOML file."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file ({error})") from None


def with_options(kind: type[O]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, whose parameter ``options`` is of this kind, an option of the command line for every field."""
    types = get_type_hints(kind)
    made = []
    for about in fields(kind):
        default = about.metadata["default"]
        shown = ", ".join(map(str, default if isinstance(default, list) else [default])) if default else False
        info = typer.Option(
            help=about.metadata["help"],
            rich_help_panel=about.metadata["panel"],
            metavar=about.metadata["metavar"],
            show_default=shown,
        )
        hint = Annotated.__class_getitem__((types[about.name], info))  # type: ignore[attr-defined]
        made.append(inspect.Parameter(about.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint))

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            said = {about.name: given.pop(about.name) for about in fields(kind)}
            function(**given, options=kind(**said))

        own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != "options"]
        own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        first = [p for p in own if p.default is inspect.Parameter.empty]
        last = [p for p in own if p.default is not inspect.Parameter.empty]
        every = [*first, *made, *last]
        command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in every}
        command.__doc__, command.__name__, command.__module__ = function.__doc__, function.__name__, function.__module__
        return command

    return decorate


@dataclass(frozen=True)
class ReadOptions(Options):
    """How files are read: the same in every command."""

    id: str | None = option("Column that names the persons.", panel=INPUT)
    label: list[str] | None = option("A quasi-identifier column; repeatable.", panel=INPUT, default=[])
    coordinates: str | None = option("Coordinate columns; two, or any number.", panel=INPUT, metavar="LON,LAT")
    text: list[str] | None = option("Columns of text to compare (names).", panel=INPUT, default=[], metavar="COL,COL")
    encodings: str | None = option("Column, or file, of encodings: 0/1, hex, base64.", panel=INPUT, metavar="COL|FILE")
    metric: str | None = option(
        "Two coordinates: sphere (km, R = 6371), wgs84 (km). Any number of them: euclidean, cosine, gower (by the "
        "file's ranges; religion:category). Vectors: euclidean, cosine. Text: dice:q=2, levenshtein, damerau, "
        "jaro-winkler. Encodings: dice, jaccard, hamming. Each time the first by default, for coordinates sphere.",
        panel=INPUT,
    )
    crs: str | None = option("Reference system of the coordinates (EPSG:25832).", panel=INPUT)
    unit: str | None = option(
        "Unit of distance files and of euclidean coordinates: km, m, or none for what is no length (travel times).",
        panel=INPUT,
    )
    generalise: list[str] | None = option(
        "Make a coarser column first: cob=century:yob, age=classes:age:18,65, width, decade, prefix.",
        panel=INPUT,
        default=[],
        metavar="NEW=RULE:COL",
    )
    directed: bool | None = option("Distances have a direction (travel times).", panel=INPUT, default=False)
    unpublished: bool | None = option("Empty cells of a matrix are unpublished.", panel=INPUT, default=False)

    by_position: bool | None = option(
        "Take matrices, vectors and encodings in the order of the table, whatever ids they carry; --no-: by ids only.",
        panel=INPUT,
    )
    sheet: str | None = option("Sheet of a workbook that has several.", panel=INPUT, metavar="NAME")
    layer: str | None = option("Layer of a GeoPackage that has several.", panel=INPUT, metavar="NAME")
    codes: bool | None = option(
        "Keep the codes of Stata, SPSS and SAS files instead of their value labels.", panel=INPUT, default=False
    )

    @property
    def texts(self) -> list[str]:
        """The columns of text, also given as one text ``first,last``."""
        return [part.strip() for given in list_of(self.text) for part in given.split(",")]

    def unit_for(self, *, own: bool, other: bool) -> str | None:
        """Return the unit of a file; one of two whose metric says its unit leaves what was said to the other."""
        return None if other and not own else self.unit

    @property
    def encoding_files(self) -> list[Path]:
        """The files of encodings that are named, by which a run can be repeated."""
        named = (getattr(self, about.name) for about in fields(self) if about.name.endswith("encodings"))
        return [Path(source) for source in named if source is not None and Path(source).is_file()]

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of ``Layout``: which columns mean what."""
        same = ["id", "coordinates", "encodings", "metric", "crs", "unit", "directed", "unpublished"]
        same += ["by_position", "sheet", "layer", "codes"]
        lists = {"labels": list_of(self.label), "generalise": list_of(self.generalise), "text": self.texts}
        return {name: getattr(self, name) for name in same} | lists


@dataclass(frozen=True)
class FileOptions(ReadOptions):
    """How the one file of a command is read."""

    distances: Path | None = option("Matrix or list i,j,distance instead of coordinates.", panel=INPUT)
    vectors: Path | None = option(
        "Vectors instead: a NumPy file, a row per record, or a table with their ids.", panel=INPUT, metavar="FILE"
    )


def refuse_bare(unit: str | None, specs: Iterable[str]) -> None:
    """Refuse a mask with a bare length beside --unit m: metres become kilometres, and it could be meant in either."""
    from disclique.masks.registry import bare_lengths

    for spec in specs if unit == "m" else ():
        for bare in bare_lengths(spec):
            raise InputError(f"--mask {spec}: the unit of {bare} is missing; write {bare}m or {bare}km")


def list_of(value: Any) -> list[str]:
    """Return a value, or a list of them, as texts."""
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [] if value is None else [str(value)]


def numbers_in(text: Any) -> list[Any] | None:
    """Return the parts of ``X,X,...``, or of a list in a TOML file."""
    if text is None or isinstance(text, (list, tuple)):
        return None if text is None else list(text)
    return [part.strip() for part in str(text).split(",") if part.strip()]
