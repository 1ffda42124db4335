"""How files are read, in options: which columns mean what, in which unit and reference system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disclique.errors import InputError
from disclique.locale import mark
from disclique.options.table import Options, list_of, option, rows_of

INPUT, LOOK = "The file", "The look at the input"
NO_COLUMNS: dict[str, Any] = {"coordinates": None, "text": (), "encodings": None}  # distances come from a file
_METRICS = "sphere wgs84 euclidean cosine gower dice dice:q=2 levenshtein damerau jaro-winkler jaccard hamming"


@dataclass(frozen=True)
class ReadOptions(Options):
    """How files are read: the same in every command."""

    id: str | None = option("Column that names the persons.", INPUT)
    label: list[str] | None = option("A quasi-identifier column; repeatable.", INPUT, default=[])
    number: list[str] | None = option(
        "A column of numbers that both sides can know, and its unit: km, m or none (km_hospital:km, income:none); "
        "repeatable.",
        INPUT,
        default=[],
        metavar="COL:UNIT",
    )
    near: list[str] | None = option(
        "A column that follows from coordinates: the way to the nearest place of a file (points, lines, borders), to "
        "NAME=point:LON,LAT, or NAME=travel:FILE; behind it as=classes:1km,5km, as=name, as=count:within=2km, layer=, "
        "crs=, column=, coordinates=; repeatable.",
        INPUT,
        default=[],
        metavar="NAME=FILE",
    )
    reference: list[str] | None = option(
        "Public strings or vectors, of the kind of the records: columns NAME_1, NAME_2, … hold how far each record "
        "lies from them; repeatable.",
        INPUT,
        default=[],
        metavar="NAME=FILE",
    )
    coordinates: str | None = option("Coordinate columns; two, or any number.", INPUT, metavar="LON,LAT")
    text: list[str] | None = option("Columns of text to compare (names).", INPUT, default=[], metavar="COL,COL")
    encodings: str | None = option(
        "Columns, or files, of encodings: 0/1, hex, base64, sets of numbers; several (clk1,clk2) are of one person.",
        INPUT,
        metavar="COL|FILE",
        path=True,
        title=mark("Encodings"),
        hint=mark("A file of bit patterns of names: 0 and 1, hexadecimal or base64."),
    )
    metric: str | None = option(
        "Two coordinates: sphere (km, R = 6371), wgs84 (km). Any number of them: euclidean, cosine, gower (by the "
        "file's ranges; religion:category). Vectors: euclidean, cosine. Text: dice:q=2, levenshtein, damerau, "
        "jaro-winkler. Encodings: dice, jaccard, hamming. Each time the first by default, for coordinates sphere.",
        INPUT,
        title=mark("How distances are computed"),
        hint=mark("Usually right as it is: on the sphere for degrees, straight lines for a plane and for vectors."),
        answers=(("", mark("as usual for what is given")), *((name, name) for name in _METRICS.split())),
    )
    crs: str | None = option(
        "Reference system of the coordinates (EPSG:25832).",
        INPUT,
        title=mark("Reference system of the coordinates"),
        hint=mark("Needed for metres of a projection, such as Gauss-Krüger or UTM; leave it empty for degrees."),
    )
    unit: str | None = option(
        "Unit of distance files: km, m; min, h or s of travel times; none for plain numbers. Of euclidean coordinates: "
        "km, m or none.",
        INPUT,
        title=mark("Unit of the distances"),
        hint=mark("Of a file of distances, or of coordinates in a plane. Travel times are no lengths."),
        answers=(
            ("", mark("not said")),
            ("km", "km"),
            ("m", "m"),
            *((unit, unit) for unit in ("min", "h", "s")),
            ("none", mark("none: they are no lengths")),
        ),
    )
    generalise: list[str] | None = option(
        "Make a coarser column first: cob=century:yob, age=classes:age:18,65, width, decade, prefix.",
        INPUT,
        default=[],
        metavar="NEW=RULE:COL",
    )
    directed: bool | None = option(
        "Distances have a direction (travel times).",
        INPUT,
        default=False,
        title=mark("Distances have a direction"),
        hint=mark("Such as travel times, where the way there differs from the way back."),
    )
    unpublished: bool | None = option(
        "Empty cells of a matrix are unpublished.",
        INPUT,
        default=False,
        title=mark("Empty cells of a matrix are unpublished"),
        hint=mark("Otherwise an empty cell is a mistake."),
    )
    by_position: bool | None = option(
        "Take matrices, vectors and encodings in the order of the table, whatever ids they carry; --no-: by ids only.",
        INPUT,
        title=mark("Rows beside the table are joined"),
        hint=mark("Rows of distances, vectors or encodings belong to the table by their ids, or in its order."),
        answers=(
            ("", mark("by ids where they carry them")),
            ("yes", mark("as they stand")),
            ("no", mark("by ids only")),
        ),
    )
    sheet: str | None = option(
        "Sheet of a workbook that has several.",
        INPUT,
        metavar="NAME",
        title=mark("Sheet"),
        hint=mark("The workbook has several."),
    )
    layer: str | None = option(
        "Layer of a GeoPackage that has several.",
        INPUT,
        metavar="NAME",
        title=mark("Layer"),
        hint=mark("The file has several."),
    )
    codes: bool | None = option(
        "Keep the codes of Stata, SPSS and SAS files instead of their value labels.",
        INPUT,
        default=False,
        title=mark("Codes instead of value labels"),
        hint=mark("For files of Stata, SPSS and SAS, in which codes have names."),
    )

    accept: list[str] | None = option(
        "Go on with what the look at the input calls wrong, by the name that it says (doubled-records); repeatable.",
        LOOK,
        default=[],
        metavar="NAME",
        records=False,
    )

    @property
    def texts(self) -> list[str]:
        """The columns of text, also given as one text ``first,last``."""
        return [part.strip() for given in list_of(self.text) for part in given.split(",")]

    def unit_for(self, *, own: bool, other: bool) -> str | None:
        """Return the unit of a file; one of two whose metric says its unit leaves what was said to the other."""
        return None if other and not own else self.unit

    @property
    def further_files(self) -> list[Path]:
        """The files of encodings and places that are named, by which a run can be repeated."""
        from disclique.records.encoded_people import name_files
        from disclique.records.near import parse_wish

        named = [getattr(self, name) for name in rows_of(type(self)) if name.endswith("encodings")]
        named += [parse_wish(one).path for one in list_of(self.near)]
        named += [one.partition("=")[2].strip() for one in list_of(self.reference)]
        paths = [path for source in named if source is not None for path in name_files(str(source))]
        return [path for path in paths if path.is_file()]

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of ``Layout``: which columns mean what."""
        apart = ("label", "number", "reference", "accept")
        same = {name: getattr(self, name) for name in rows_of(ReadOptions) if name not in apart}
        return same | {
            "labels": list_of(self.label),
            "numbers": list_of(self.number),
            "near": list_of(self.near),
            "references": list_of(self.reference),
            "generalise": list_of(self.generalise),
            "text": self.texts,
        }


@dataclass(frozen=True)
class FileOptions(ReadOptions):
    """How the one file of a command is read."""

    distances: Path | None = option(
        "Matrix or list i,j,distance instead of coordinates.",
        INPUT,
        title=mark("Distances"),
        hint=mark("A matrix, or a list with two records and their distance in each line."),
    )
    vectors: Path | None = option(
        "Vectors instead: a NumPy file, a row per record, or a table with their ids.",
        INPUT,
        metavar="FILE",
        title=mark("Vectors"),
        hint=mark("A NumPy file with a row for each record, or a table with their ids."),
    )
    sensitive: list[str] | None = option(
        "A column that is released and not known to a snooper, such as a diagnosis: it is asked what they learn of it; "
        "repeatable.",
        INPUT,
        default=[],
        metavar="COL",
    )
    plain: list[str] | None = option(
        "A further column that is released as it is; repeatable. What has no role is never released.",
        INPUT,
        default=[],
        metavar="COL",
    )
    weight: str | None = option(
        "Column that says for how many people of the population each record stands.", INPUT, metavar="COL"
    )
    leave_out: Path | None = option(
        "Table of the ids of records that are left out of the release.",
        INPUT,
        metavar="FILE",
        title=mark("Records that are left out"),
        hint=mark("A table with the ids of people who are not released."),
    )

    @property
    def own_columns(self) -> dict[str, Any]:
        """The fields of ``Layout`` of the file that is released: what its further columns are for, too."""
        roles = {"sensitive": list_of(self.sensitive), "plain": list_of(self.plain), "weight": self.weight}
        return self.columns | roles | {"leave_out": self.leave_out}


def refuse_hidden(options: ReadOptions) -> None:
    """Raise an error if a label or number is what a release hides: ids, coordinates, text and encodings."""
    from disclique.records.formats.projections import LAT, LON
    from disclique.records.placing import CATEGORY
    from disclique.records.reading import Layout

    layout = Layout(**options.columns)
    hidden = [column.removesuffix(CATEGORY) for column in layout.coordinates or ()]
    for name in (*layout.labels, *(number for number, _ in layout.numbers)):
        if name in (options.id, LON, LAT, *hidden, *layout.text, *str(layout.encodings or "").split(",")):
            raise InputError("column_is_hidden", name=name)
