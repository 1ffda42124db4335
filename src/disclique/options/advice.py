"""The options of an advice: those of an audit, with a limit and what the release is for."""

from __future__ import annotations

from dataclasses import dataclass

from disclique.locale import mark
from disclique.options.audits import LIMIT, MASKS, AuditOptions
from disclique.options.table import Bounds, option, rows_of


@dataclass(frozen=True)
class AdviceOptions(AuditOptions):
    """What can be said of an advice, on the command line or in a TOML file."""

    limit: float | None = option(
        "Largest share of people who could be found: 0.09 is EMA's and Health Canada's.",
        MASKS,
        metavar="R",
        called=mark("called_max_risk"),
        bounds=Bounds(0, 1, mark("wanted_limit"), below=True, share=True),
        title=mark("Largest share of people at risk"),
        hint=mark("A share such as 0.09."),
        place=LIMIT,
    )
    purpose: list[str] | None = option(
        "What the release is for: neighbours, clusters, distances, accessibility, density, linkage, columns:age,sex, "
        "or a measure ({measures}); repeatable. Usefulness is the mean over them.",
        MASKS,
        default=[],
        metavar="USE",
        flag="for",
        title=mark("What the release is for"),
        hint=mark("Releases that keep the limit are ranked by what is left for this."),
    )


ADVICE_ROWS = rows_of(AdviceOptions)
