"""The options of a study: a row for each, on the command line, in a TOML file and of ``dq.study``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from disclique.options.table import Options, option

AXES, PEOPLE, ATTACKS = "Axes", "People", "Attacks"


@dataclass(frozen=True)
class StudyOptions(Options):
    """What can be said of a study, on the command line or in a TOML file; what is not said is the paper's."""

    preset: str | None = option("kroll2014: the paper's grid, 9,000 attacks.")
    mask: list[str] | None = option("A mask, such as gaussian:sigma=0.01deg; repeatable.", AXES)
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
    seed: int | None = option("All chance follows from it.", PEOPLE)
    attack: list[str] | None = option("{attacks}; quasi:gamma=G; repeatable.", ATTACKS)
    solver: str | None = option("Clique solver: {solvers}.", ATTACKS)
    budget: float | None = option("For each clique: billions of operations.", ATTACKS, metavar="WORK")
    ties: int | None = option("List at most this many maximum cliques.", ATTACKS)
    pairs: int | None = option("Pairs of the snooper's simulation.", ATTACKS)
