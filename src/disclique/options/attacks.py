"""The options of attacks, on two files or in a study: a row for each, on the command line and in a TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disclique.options.files import INPUT, ReadOptions
from disclique.options.table import Options, option

AGREE, KNOWS, LABELS = "Agreement", "What the snooper knows (register, isomap, extend, profiles)", "Labels"
SEARCH = "Attack and search"
AXES, PEOPLE, ATTACKS = "Axes", "People", "Attacks"


@dataclass(frozen=True)
class AttackOptions(ReadOptions):
    """What can be said of an attack on two files.

    ``coordinates``, ``text`` and ``encodings`` are those of a file of which nothing else is said; with both text and
    encodings the target is encoded and the snooper knows the text.
    """

    target_distances: Path | None = option("Matrix or list i,j,distance of the target.", INPUT)
    target_coordinates: str | None = option("Coordinate columns of the target.", INPUT, metavar="LON,LAT")
    known_distances: Path | None = option("Matrix or list i,j,distance of the known file.", INPUT)
    known_coordinates: str | None = option("Coordinate columns of the known file.", INPUT, metavar="LON,LAT")
    target_vectors: Path | None = option("File of the target's vectors.", INPUT, metavar="FILE")
    known_vectors: Path | None = option("File of the known vectors.", INPUT, metavar="FILE")
    target_encodings: str | None = option("Encodings of the target.", INPUT, metavar="COL|FILE")
    known_encodings: str | None = option("Encodings of the known file.", INPUT, metavar="COL|FILE")
    attack: list[str] | None = option(
        "{attacks}; repeatable; without it all that fit, the best first.", SEARCH, default=["all"]
    )
    within: str | None = option("Distances agree if |d - d'| < X (5, 500m, 5km).", AGREE, metavar="X")
    relative: str | None = option("... if |d - d'| < X·d' (0.05, 5%).", AGREE, metavar="X")
    between: str | None = option("... if LO < d - d' < HI.", AGREE, metavar="LO,HI")
    mask: str | None = option(
        "... as often as --alpha for a release made by this mask, such as gaussian:sigma=0.01deg; behind it what was "
        "done to numbers (| km_school=round:100m).",
        AGREE,
        metavar="SPEC",
    )
    alpha: float | None = option("Detection probability of a common edge, with --mask.", AGREE, default=0.5)
    seed: int | None = option("Seed of the simulation for --mask.", AGREE, default=0)
    noise: str | None = option("Displacement of the points (500m, 0.01deg); estimated if not given.", KNOWS)
    matrix_noise: str | None = option("Independent noise on each distance.", KNOWS, default="0")
    common: float | None = option("Share of the target in the known file; estimated if not given.", KNOWS)
    coordinate_error: str | None = option("Error of the known coordinates.", KNOWS, default="0")
    seeds: Path | None = option(
        "Pairs that an insider knows beforehand (profiles): columns target_id, known_id.", KNOWS, metavar="FILE"
    )
    missing: str | None = option("A missing label value matches any value or never.", LABELS, default="any")
    compare: list[str] | None = option(
        "Forgive label errors: age=tolerance:1, name=similar:0.85, sex=exact:0.01, place=hierarchy:FILE.",
        LABELS,
        default=[],
        metavar="COL=RULE",
    )
    truth: str | None = option("Column of both files that tells who is who.", LABELS)
    key: Path | None = option(
        "Key of the release, as `mask --key` writes it, instead of --truth; --id names the known people.",
        LABELS,
        metavar="FILE",
    )
    solver: str | None = option("{solvers}.", SEARCH, default="exact")
    budget: float | None = option(
        "Stop searching for a clique after this time (60 where several attacks are run).",
        SEARCH,
        metavar="SECONDS",
    )
    threads: int | None = option("Threads to search with (all cores).", SEARCH)
    cliques: int | None = option("List at most this many maximum cliques.", SEARCH, default=1000)
    memory: str | None = option(
        "Memory for the product graph, or for a register that is read in pieces: 4GB, 50% (half of the machine's).",
        SEARCH,
        metavar="SIZE",
    )

    def columns_of(self, side: str) -> dict[str, Any]:
        """Return the fields of ``Layout`` for a file, its source of distances among them."""
        takes = {one: self._takes_unit(one) for one in ("target", "known")}
        other = takes["known" if side == "target" else "target"]
        own = {"metric": self.metric_of(side), "unit": self.unit_for(own=takes[side], other=other)}
        return self.columns | {"id_optional": True} | self.source(side) | own

    def _takes_unit(self, side: str) -> bool:
        source = self.source(side)
        return bool(source["distances"] or source["vectors"]) or self.metric_of(side) == "euclidean"

    def source(self, side: str) -> dict[str, Any]:
        """Return what gives the distances of a file: what was said of it, else what was said of both."""
        own = {name: getattr(self, f"{side}_{name}") for name in ("distances", "vectors", "coordinates", "encodings")}
        if any(own.values()):
            return {**own, "text": []}
        text, encodings = self.texts, self.encodings
        if text and encodings:
            text, encodings = ([], encodings) if side == "target" else (text, None)
        return {**own, "coordinates": self.coordinates, "text": text, "encodings": encodings}

    def metric_of(self, side: str) -> str | None:
        """Return how a file is compared: as was said, unless only the other file can be compared so."""
        if self.metric is None or self._compares(side, self.metric):
            return self.metric
        other = "known" if side == "target" else "target"
        return None if self._compares(other, self.metric) else self.metric

    def _compares(self, side: str, metric: str) -> bool:
        from disclique.spaces.bits import is_bit_metric
        from disclique.spaces.strings import is_text_metric

        source = self.source(side)
        if source["text"]:
            return is_text_metric(metric)
        return is_bit_metric(metric) if source["encodings"] else not is_text_metric(metric)


@dataclass(frozen=True)
class StudyOptions(Options):
    """What can be said of a study, on the command line or in a TOML file; what is not said is the paper's."""

    preset: str | None = option("kroll2014: the paper's grid, 9,000 attacks.")
    mask: list[str] | None = option(
        "A mask, such as gaussian:sigma=0.01deg, perhaps with what is done to numbers (| km=round:100m); repeatable.",
        AXES,
    )
    sigma: str | None = option("Values of the mask's dial (degrees without --mask).", AXES, metavar="X,X,...")
    alpha: str | None = option("Detection probabilities of a common edge.", AXES, metavar="X,X,...")
    repetitions: int | None = option("Noise draws for each mask.", AXES)
    labels: list[str] | None = option(
        "Labels as they are (full), coarser (age_class=width:age_class:20 | drop:sex, or a range of widths), or none; "
        "repeatable.",
        AXES,
    )
    n: str | None = option("Records of target and known file.", PEOPLE, metavar="N[,N2]")
    common: int | None = option("People in both files.", PEOPLE)
    datasets: int | None = option("Data sets over which the repetitions are spread.", PEOPLE)
    points: Path | None = option("CSV of places lon,lat[,weight] to live at.", PEOPLE)
    shares: Path | None = option("CSV of label values and their counts.", PEOPLE)
    people: Path | None = option("Draw the people from this file instead.", PEOPLE)
    sheet: str | None = option("Its sheet, if it is a workbook that has several.", PEOPLE, metavar="NAME")
    text: list[str] | None = option("Its columns of text to compare.", PEOPLE, metavar="COL,COL")
    metric: str | None = option("dice:q=2, levenshtein, damerau or jaro-winkler.", PEOPLE)
    label: list[str] | None = option("A quasi-identifier column of it; repeatable.", PEOPLE)
    number: list[str] | None = option(
        "A column of numbers of it, and their unit (km_school:km); repeatable.", PEOPLE, metavar="COL:UNIT"
    )
    seed: int | None = option("All chance follows from it.", PEOPLE)
    attack: list[str] | None = option("{attacks}; quasi:gamma=G; repeatable.", ATTACKS)
    solver: str | None = option("Clique solver: {solvers}.", ATTACKS)
    budget: float | None = option("For each clique: billions of operations.", ATTACKS, metavar="WORK")
    ties: int | None = option("List at most this many maximum cliques.", ATTACKS)
    pairs: int | None = option("Pairs of the snooper's simulation.", ATTACKS)
