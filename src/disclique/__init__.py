"""disclique: audit what published distances disclose.

>>> import disclique as dq
>>> target, known = dq.poets()
>>> dq.attack(target, known, agreement=dq.Within(5), truth="name").risk.recall
1.0

Read files with ``read`` (or ``microdata`` from tables at hand), carry out one attack with ``attack``, ask for a
decision with ``audit``, make the release with ``release``, and compare masks on synthetic people with ``study``. Names
are imported when they are first used, so that ``import disclique`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from disclique import show as plots
    from disclique.advice import Advice, advise, read_advice
    from disclique.advice.mask_list import list_masks
    from disclique.attacks import (
        Attack,
        AttackResult,
        Knowledge,
        LabelRule,
        Search,
        attack,
        attack_names,
        learn,
        register_attack,
    )
    from disclique.attacks.calibration import calibrate
    from disclique.attacks.look import inspect
    from disclique.audits import AuditResult, Plan, Recipient, RecipientsResult, Snooper, audit, read_result
    from disclique.engine import maximum_clique, maximum_cliques
    from disclique.engine.agreement import Between, Relative, Within, quantiles
    from disclique.errors import DiscliqueError, InputError
    from disclique.geodesy import Spread
    from disclique.masks import parse_mask, register_mask
    from disclique.measures.utility import utility
    from disclique.model import Budget, Claims, Microdata
    from disclique.records.checks import Inspection
    from disclique.records.companions import read_seeds
    from disclique.records.labels import Exact
    from disclique.records.population import read_population
    from disclique.records.reading import read
    from disclique.records.registers import Register, read_register
    from disclique.records.tables import microdata
    from disclique.releases import Release, mask, read_key, release
    from disclique.runs import OnDask, Processes, Serial
    from disclique.show.advice_page import advice_page
    from disclique.show.report import annex, recipients_page, report
    from disclique.spaces import Encodings, Matrix, Points, Texts
    from disclique.studies import StudyResult, load_study, study
    from disclique.synthetic.examples import cities, poets, survey
    from disclique.synthetic.files import example
    from disclique.synthetic.people import germany

_ROOMS = {
    "advice": ("Advice", "advise", "read_advice"),
    "advice.mask_list": ("list_masks",),
    "attacks": (
        "Attack",
        "AttackResult",
        "Knowledge",
        "LabelRule",
        "Search",
        "attack",
        "attack_names",
        "learn",
        "register_attack",
    ),
    "attacks.calibration": ("calibrate",),
    "audits": ("AuditResult", "Plan", "Recipient", "RecipientsResult", "Snooper", "audit", "read_result"),
    "spaces": ("Encodings", "Matrix", "Points", "Texts"),
    "records.checks": ("Inspection",),
    "attacks.look": ("inspect",),
    "records.labels": ("Exact",),
    "records.reading": ("read",),
    "records.tables": ("microdata",),
    "records.population": ("read_population",),
    "records.registers": ("Register", "read_register"),
    "records.companions": ("read_seeds",),
    "engine": ("maximum_clique", "maximum_cliques"),
    "engine.agreement": ("Between", "Relative", "Within", "quantiles"),
    "errors": ("DiscliqueError", "InputError"),
    "masks": ("parse_mask", "register_mask"),
    "measures.utility": ("utility",),
    "geodesy": ("Spread",),
    "model": ("Budget", "Claims", "Microdata"),
    "releases": ("Release", "mask", "read_key", "release"),
    "runs": ("OnDask", "Processes", "Serial"),
    "show.advice_page": ("advice_page",),
    "show.report": ("annex", "recipients_page", "report"),
    "studies": ("StudyResult", "load_study", "study"),
    "synthetic.examples": ("cities", "poets", "survey"),
    "synthetic.files": ("example",),
    "synthetic.people": ("germany",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Advice",
    "Attack",
    "AttackResult",
    "AuditResult",
    "Between",
    "Budget",
    "Claims",
    "DiscliqueError",
    "Encodings",
    "Exact",
    "InputError",
    "Inspection",
    "Knowledge",
    "LabelRule",
    "Matrix",
    "Microdata",
    "OnDask",
    "Plan",
    "Points",
    "Processes",
    "Recipient",
    "RecipientsResult",
    "Register",
    "Relative",
    "Release",
    "Search",
    "Serial",
    "Snooper",
    "Spread",
    "StudyResult",
    "Texts",
    "Within",
    "advice_page",
    "advise",
    "annex",
    "attack",
    "attack_names",
    "audit",
    "calibrate",
    "cities",
    "example",
    "germany",
    "inspect",
    "learn",
    "list_masks",
    "load_study",
    "mask",
    "maximum_clique",
    "maximum_cliques",
    "microdata",
    "parse_mask",
    "plots",
    "poets",
    "quantiles",
    "read",
    "read_advice",
    "read_key",
    "read_population",
    "read_register",
    "read_result",
    "read_seeds",
    "recipients_page",
    "register_attack",
    "register_mask",
    "release",
    "report",
    "study",
    "survey",
    "utility",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("disclique")
    if name == "plots":
        return import_module("disclique.show")
    if name in _HOME:
        found = getattr(import_module(f"disclique.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'disclique' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
