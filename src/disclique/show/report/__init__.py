"""The report of an audit: one self-contained page, rendered from its result alone."""

from disclique.show.report.render import report

__all__ = ["report"]
