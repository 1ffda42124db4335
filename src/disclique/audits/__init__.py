"""The audit: one file, the masks considered, every attack, and a decision that can be defended."""

from disclique.audits.case import Case
from disclique.audits.families import Family, parse_family
from disclique.audits.plan import Plan, Snooper
from disclique.audits.run import RECORDS, RESULT, audit

__all__ = ["RECORDS", "RESULT", "Case", "Family", "Plan", "Snooper", "audit", "parse_family"]
