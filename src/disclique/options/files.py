"""How files are read, in options: which columns mean what, in which unit and reference system."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from disclique.errors import InputError
from disclique.options.fields import Options, list_of, option

INPUT = "The file"
NO_COLUMNS: dict[str, Any] = {"coordinates": None, "text": (), "encodings": None}  # distances come from a file


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


def refuse_hidden(options: ReadOptions) -> None:
    """Raise an error if a label is what a release hides: ids, coordinates, text and encodings."""
    from disclique.records.formats.projections import LAT, LON
    from disclique.records.reading import CATEGORY, Layout

    layout = Layout(**options.columns)
    hidden = [column.removesuffix(CATEGORY) for column in layout.coordinates or ()]
    for name in layout.labels:
        if name in (options.id, LON, LAT, *hidden, *layout.text, layout.encodings):
            raise InputError(f"--label {name}: ids, coordinates, text and encodings are never released as they are")
