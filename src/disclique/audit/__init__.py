"""The audit: one file, the masks considered, every attack, and a decision that can be defended."""

from disclique.audit.case import Case
from disclique.audit.families import Family, parse_family
from disclique.audit.plan import Plan, Snooper
from disclique.audit.run import RECORDS, RESULT, audit

__all__ = ["RECORDS", "RESULT", "Case", "Family", "Plan", "Snooper", "audit", "parse_family"]
