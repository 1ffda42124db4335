"""The options of an audit: a row for each, from which the command line, a TOML file, the app, plan and pages follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from disclique.arguments import short_repr
from disclique.locale import mark
from disclique.options.files import FileOptions
from disclique.options.table import Bounds, Options, Row, at_doors, list_of, option, planned, rows_of

MASKS, SNOOPER, WORK = "Masks and limit", "What the snooper knows", "Work"
RECIPIENTS = "Recipients"
LIMIT, SEVERAL = "limit", "several"  # places of their own on the page of the app
SYNTHETIC, GERMANY, OF_FILE = "synthetic", "germany", "file"
NO_LABEL = "none"  # what is said of a snooper who knows no label
DECISION = "decision"  # the section of a TOML file that the annex shows
POPULATION = "population"  # how options begin that say who else lives there, whoever asks
MOST_RELEASES = 100


@dataclass(frozen=True)
class SnooperFields:
    """What the snooper is assumed to know, in plain values; ``given`` that their file was."""

    given: bool = False
    overlap: float | None = planned(
        "Share of the released people whom the snooper's file has, among others (all of them).",
        SNOOPER,
        metavar="R",
        called=mark("called_overlap"),
        bounds=Bounds(0, 1, mark("wanted_overlap"), above=True, share=True),
        title=mark("Share of the people whom they know"),
        hint=mark("A share such as 0.3, beside other people. Left empty, they have the whole file."),
    )
    size: int | None = planned(
        "Records in it (as many as released).",
        SNOOPER,
        door="known_size",
        called=mark("called_known_size"),
        goes_with="overlap",
        bounds=Bounds(1),
        title=mark("Records in their file"),
        hint=mark("Goes with the share; left empty, as many as are released."),
    )
    others: str = planned(
        "The others: synthetic, germany or a file.",
        SNOOPER,
        default=SYNTHETIC,
        path=True,
        title=mark("Where the other people in it come from"),
        hint=mark("Invented like those of your file, as people live in Germany, or from a file."),
        answers=(("", mark("drawn like those of the file")), (GERMANY, mark("people of Germany"))),
        goes_with="overlap",
        none=mark("none beyond that file"),
        annex=True,
    )
    labels: tuple[str, ...] | None = planned(
        "A label that they know (all); repeatable. none: they know none of them.",
        SNOOPER,
        metavar="COL",
        door="known_label",
        called=mark("called_known_labels"),
        example="sex",
        title=mark("Labels that they know"),
        none=mark("all of them"),
        annex=True,
    )
    label_error: float = planned(
        "Share of its labels that are wrong.",
        SNOOPER,
        default=0.0,
        metavar="R",
        called=mark("called_label_error"),
        bounds=Bounds(0, 1, mark("wanted_share_below_one"), below=True, share=True),
        title=mark("Share of their labels that are wrong"),
        hint=mark("A share such as 0.05: old or mistyped entries."),
        annex=True,
    )
    coordinate_error: str | None = planned(
        "Error of its coordinates (100m).",
        SNOOPER,
        metavar="X",
        title=mark("Error of their coordinates"),
        hint=mark("A length with its unit, such as 100m."),
        none="0",
        annex=True,
    )
    seeds: int = planned(
        "Released people whom an insider knows beforehand.",
        SNOOPER,
        default=0,
        metavar="N",
        called=mark("called_seeds"),
        bounds=Bounds(0),
        title=mark("Released people whom they know beforehand"),
        hint=mark("An insider recognises so many records and starts from them."),
        annex=True,
    )


@dataclass(frozen=True)
class PlanFields:
    """What an audit asks, in plain values."""

    masks: tuple[str, ...] = planned(
        "gaussian:sigma=500m, or a range of its dial: gaussian:sigma=100m..5km; repeatable. There are {masks}.",
        MASKS,
        default=(),
        metavar="SPEC",
        door="mask",
        example="gaussian:sigma=500m",
        title=mark("masks"),
    )
    snooper: SnooperFields = field(default_factory=SnooperFields)
    repetitions: int = planned(
        "Draws of every mask setting.",
        WORK,
        default=20,
        called=mark("called_repetitions"),
        bounds=Bounds(1),
        title=mark("Draws of every mask setting"),
        hint=mark("Every release is random: more draws make the result more certain and take longer."),
    )
    max_risk: float | None = planned(
        "Largest share of people at risk; ranges are searched, and the exit status is 0 only if it is kept.",
        MASKS,
        metavar="R",
        called=mark("called_max_risk"),
        bounds=Bounds(0, 1, mark("wanted_limit"), below=True, share=True),
        title=mark("Largest share of people at risk"),
        hint=mark("A share such as 0.05. Left empty, the risk is measured and not judged."),
        place=LIMIT,
        none=mark("none was set"),
        annex=True,
    )
    max_risk_person: float | None = planned(
        "Largest risk of the most exposed person, besides --max-risk.",
        MASKS,
        metavar="R",
        called=mark("called_max_risk_person"),
        bounds=Bounds(0, 1, mark("wanted_limit"), below=True, share=True),
        title=mark("Largest risk of the most exposed person"),
        hint=mark("Goes with the limit before it: how probably one person may be identified, such as 0.5."),
        place=LIMIT,
        none=mark("none was set"),
        annex=True,
    )
    max_inference: float | None = planned(
        "Largest share of people whose value of a sensitive column is told rightly, besides --max-risk.",
        MASKS,
        metavar="R",
        called=mark("called_max_inference"),
        bounds=Bounds(0, 1, mark("wanted_limit"), below=True, share=True),
        title=mark("Largest share of people of whom a sensitive value is told rightly"),
        hint=mark(
            "Goes with the first limit and with sensitive columns. Whoever tells the commonest value is often right."
        ),
        place=LIMIT,
        none=mark("none was set"),
        annex=True,
    )
    scenario: str = planned(
        "What risk means: prosecutor (the person took part: share named rightly), journalist (claimed rightly, as more "
        "probable than not) or marketer (named for every record: share named for their own).",
        MASKS,
        default="prosecutor",
        called=mark("called_scenario"),
        choices=("prosecutor", "journalist", "marketer"),
        title=mark("What the snooper is after"),
        hint=mark("What counts as success, and so what risk means."),
        place=SNOOPER,
        answers=(
            ("prosecutor", mark("prosecutor: the person is known to have taken part")),
            ("journalist", mark("journalist: claims only what is more probable than not")),
            ("marketer", mark("marketer: names somebody for every record")),
        ),
        annex=True,
    )
    releases: int = planned(
        "How often the same people are released with fresh noise.",
        MASKS,
        default=1,
        metavar="K",
        called=mark("called_releases"),
        bounds=Bounds(1, MOST_RELEASES, mark("wanted_releases")),
        title=mark("How often the same people are released"),
        hint=mark("With fresh noise each time, which can be averaged away."),
        place=SEVERAL,
        annex=True,
    )
    linked: bool = planned(
        "Rows of later releases do not tell which they were before.",
        MASKS,
        default=True,
        door="unlinked",
        opposite=True,
        title=mark("Rows of later releases do not tell which they were before"),
        hint=mark("Otherwise a row of one release can be found again in the next."),
        place=SEVERAL,
    )
    generalise: tuple[str, ...] = planned(
        "Make labels coarser: cob=century:yob, age=classes:age:18,65, width, decade, prefix; or try several: a range "
        "of widths age=width:age:1..40 or of characters plz=prefix:plz:2..5, drop:sex with and without.",
        MASKS,
        default=(),
        metavar="NEW=RULE:COL",
        example="age=width:age:1..40",
        title=mark("labels made coarser"),
    )
    utility: str = planned(
        "{measures}: how settings compare.",
        MASKS,
        default="neighbours",
        title=mark("What must stay useful"),
        hint=mark("Settings that keep the limit are compared by this."),
        place="",
    )
    missing: str = planned(
        "A missing label matches never or any value.",
        SNOOPER,
        default="any",
        choices=("never", "any"),
        title=mark("A missing label matches"),
        hint=mark("What an empty label of a record is taken for."),
        answers=(("any", mark("any value")), ("never", mark("never"))),
        annex=True,
    )
    sampling_fraction: float | None = planned(
        "Share of the population that the file is a sample of, for figures of the population that other tools give; "
        "not needed with --weight.",
        SNOOPER,
        metavar="R",
        called=mark("called_sampling_fraction"),
        bounds=Bounds(0, 1, mark("wanted_sampling_fraction"), above=True, share=True),
        title=mark("Share of the population that was sampled"),
        hint=mark("A share such as 0.01, for figures of the population that other tools give."),
        records=False,  # what is measured in releases does not depend on it
    )
    attacks: tuple[str, ...] = planned(
        "{attacks}; repeatable.",
        WORK,
        default=("all",),
        door="attack",
        example="register",
        title=mark("Attacks"),
        hint=mark("What the snooper tries."),
        place="",
    )
    alpha: float = planned(
        "Detection probability of the clique attack.",
        WORK,
        default=0.5,
        called=mark("called_alpha"),
        bounds=Bounds(0, 1, mark("wanted_alpha"), above=True, below=True),
        title=mark("Detection probability of the clique attack"),
        hint=mark("How surely a true pair of distances counts as agreeing: between 0 and 1."),
    )
    budget: float = planned(
        "For one clique search: billions of operations, half a second each; raised where it could decide.",
        WORK,
        default=2.0,
        metavar="WORK",
        called=mark("called_budget"),
        bounds=Bounds(0, wanted=mark("wanted_work"), above=True),
        title=mark("Work of one clique search"),
        hint=mark("In billions of operations, about half a second each; more where it could decide."),
    )
    seed: int = planned(
        "All chance follows from it.",
        WORK,
        default=0,
        called=mark("called_seed"),
        bounds=Bounds(0, wanted=mark("wanted_seed")),
        title=mark("Random seed"),
        hint=mark("The same number gives the same result again."),
    )
    person_trials: int | None = planned(
        "Draws by which every person's risk is measured under the setting that the verdict names: 200 for up to 500 "
        "records, fewer for more.",
        WORK,
        metavar="N",
        called=mark("called_person_trials"),
        bounds=Bounds(1),
        title=mark("Draws for every person's risk"),
        hint=mark("Left empty, 200 for up to 500 records and fewer for more."),
    )
    thorough: bool = planned(
        "Carry out every attack on every release, also where it cannot be expected to find more.",
        WORK,
        default=False,
        title=mark("Carry out every attack on every release"),
        hint=mark("Also where it cannot be expected to find more. Takes longer."),
    )
    sensitivity: bool = planned(
        "Ask how the risk depends on the overlap and on label errors.",
        WORK,
        default=True,
        title=mark("Ask how the risk depends on the assumptions"),
        hint=mark("Measured again for snoopers who know more or fewer people, and with more wrong labels."),
        records=False,  # an audit may go on with or without it
    )


@dataclass(frozen=True)
class PlanFacts(PlanFields):
    """What was asked, so that it can be repeated; ``inputs`` are the hashes of the files by name."""

    inputs: dict[str, str] = field(default_factory=dict)

    __repr__ = short_repr


PLAN_ROWS, SNOOPER_ROWS = rows_of(PlanFields), rows_of(SnooperFields)
PLAN_DOORS = {  # what the command line and TOML files call an option, which Python understands too
    row.door: name
    for rows in (PLAN_ROWS, SNOOPER_ROWS)
    for name, row in rows.items()
    if row.door and not row.opposite and name != "masks"
}


_PlanOptions = at_doors("_PlanOptions", (PlanFields, SnooperFields), (Options,))


@dataclass(frozen=True)
class AuditOptions(_PlanOptions, FileOptions):  # type: ignore[misc, valid-type]
    """What can be said of an audit, on the command line or in a TOML file: its plan, and the files beside its own."""

    sections: ClassVar[tuple[str, ...]] = (DECISION,)
    known: Path | None = option(
        "The snooper's file, with the same columns; a register of millions as a Parquet file or folder.",
        SNOOPER,
        title=mark("The snooper's file"),
        hint=mark("A real file of people with the same columns. Without one it is made from yours."),
    )
    known_distances: Path | None = option(
        "Its distances.",
        SNOOPER,
        title=mark("Distances of the snooper's file"),
        hint=mark("If distances come from a file of their own."),
    )
    known_vectors: Path | None = option(
        "Its vectors.",
        SNOOPER,
        metavar="FILE",
        title=mark("Vectors of the snooper's file"),
        hint=mark("If vectors come from a file of their own."),
    )
    others_vectors: Path | None = option(
        "Their vectors.",
        SNOOPER,
        metavar="FILE",
        title=mark("Vectors of the other people"),
        hint=mark("If vectors of the other people come from a file of their own."),
    )
    population: Path | None = option(
        "Who else lives there: dwellings, or a grid with persons (CSV, Parquet, GeoPackage, GeoTIFF). Says for every "
        "record how many people fit it, and is where strangers come from.",
        SNOOPER,
        metavar="FILE",
        title=mark("The population of the area"),
        hint=mark("Dwellings, or cells of a grid with persons: then it is counted how many people fit each record."),
    )
    population_people: str | None = option(
        "Its column that says for how many persons a row stands (each for one).",
        SNOOPER,
        metavar="COL",
        title=mark("Column with the number of persons"),
        hint=mark("Of the population; left empty, each row is one person."),
    )
    population_cell: str | None = option(
        "Side of the cells of its points (100m), if they are those of a grid.",
        SNOOPER,
        metavar="X",
        title=mark("Side of a cell"),
        hint=mark("If the points of the population are middles of cells: a length such as 100m."),
    )
    dictionary: Path | None = option(
        "What columns of text may say, in columns of the same names: public lists of names, places and dates, by which "
        "encodings of people on no list are read (all that the file itself says, and every day between its dates).",
        SNOOPER,
        metavar="FILE",
        title=mark("A dictionary of names, places and dates"),
        hint=mark("Has the columns of text of your file. Without one, all that your file says is taken to be in it."),
    )
    recipient: list[str] | None = option(
        "Somebody who gets the release, instead of one snooper: {recipients}; repeatable. A TOML file describes others "
        "in blocks [[recipient]].",
        RECIPIENTS,
        default=[],
        metavar="NAME",
    )
    memory: str | None = option(
        "Memory for the part of a register that is kept: 4GB, 50% (half of the machine's).",
        WORK,
        metavar="SIZE",
        title=mark("Memory for a large register"),
        hint=mark("How much of it may be kept at once: 4GB, or 50% of this machine's."),
        records=False,
    )

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of ``Layout``; labels that are tried in several ways are read as they are."""
        from disclique.records.coarsening import read_beforehand

        return super().columns | {"generalise": read_beforehand(list_of(self.generalise))}

    @property
    def file_of_others(self) -> Path | None:
        """The file from which the other people come, if it is one."""
        return None if self.others in (SYNTHETIC, GERMANY) else Path(str(self.others))

    def plan_values(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values of the fields of plan and snooper, by their names in Python."""
        plan, snooper = (
            {name: row.to_python(getattr(self, row.door or name)) for name, row in rows.items()}
            for rows in (PLAN_ROWS, SNOOPER_ROWS)
        )
        return plan, snooper | {"given": self.known is not None or self.has_names}

    @property
    def has_names(self) -> bool:
        """Encodings made elsewhere are audited, and the names in them are given, too: a snooper may know them."""
        return bool(self.texts) and self.encodings is not None


AUDIT_ROWS = rows_of(AuditOptions)


def _rows_of_recipient() -> dict[str, Row]:
    """Return by their names in Python the options that are said of one recipient: what they know, want, and may."""
    named = {row.door or name: name for rows in (PLAN_ROWS, SNOOPER_ROWS) for name, row in rows.items()}
    return {
        named.get(door, door): row
        for door, row in AUDIT_ROWS.items()
        if (row.panel == SNOOPER and not door.startswith(POPULATION)) or row.place in (SNOOPER, LIMIT)
    }


RECIPIENT_ROWS = _rows_of_recipient()
