"""Advice: from a limit to a release. What can be published that keeps it, and which of that is the most useful?

What a release may be used for (``purposes``), what can be done to a file (``families``), the search for what keeps the
limit (``search``), and the best of it audited (``run``) live here. What a release gives away is asked of ``audits``,
and whether it keeps a limit is decided there.
"""

from disclique.advice.ask import advise
from disclique.advice.facts import ADVICE, PAGE, Advice, AdvisedRelease, read_advice

__all__ = ["ADVICE", "PAGE", "Advice", "AdvisedRelease", "advise", "read_advice"]
