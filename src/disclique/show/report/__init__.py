"""The report of an audit: one self-contained page, rendered from ``result.json`` alone."""

from disclique.show.report.render import read_result, report, write_report

__all__ = ["read_result", "report", "write_report"]
