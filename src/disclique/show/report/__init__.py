"""The report of an audit and its annex for the board: self-contained pages, rendered from the result alone."""

from disclique.show.report.annex_page import annex
from disclique.show.report.render import report

__all__ = ["annex", "report"]
