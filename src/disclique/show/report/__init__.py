"""The report of an audit, its annex and the page of recipients: self-contained pages, rendered from results alone."""

from disclique.show.report.annex_page import annex
from disclique.show.report.everybody_page import recipients_page
from disclique.show.report.render import report

__all__ = ["annex", "recipients_page", "report"]
