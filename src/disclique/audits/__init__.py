"""Audits: one file, the masks considered, every attack, and a decision that can be defended.

What is asked (``plan``), what one release leaves behind (``records``), the risk that follows (``rates``), the decision
and its sentences, and the result with its written form live here. How units run is in ``runs``, how the result is shown
in ``show``.
"""

from disclique.audits.definition import Audit
from disclique.audits.plan import Plan, Snooper
from disclique.audits.recipients import Recipient, list_ready
from disclique.audits.result import ANNEX, ANNEX_WORD, RECORDS, REPORT, RESULT, AuditResult, read_result, write_result
from disclique.audits.run import audit, make_plan, run_audit
from disclique.audits.several import RecipientsResult
from disclique.masks.settings import MaskRange, Setting, parse_range

__all__ = [
    "ANNEX",
    "ANNEX_WORD",
    "RECORDS",
    "REPORT",
    "RESULT",
    "Audit",
    "AuditResult",
    "MaskRange",
    "Plan",
    "Recipient",
    "RecipientsResult",
    "Setting",
    "Snooper",
    "audit",
    "list_ready",
    "make_plan",
    "parse_range",
    "read_result",
    "run_audit",
    "write_result",
]
