"""disclique: audit what published distances disclose.

>>> import disclique as dq
>>> target = dq.microdata(released, labels=["sex", "age"], distances=D)
>>> known = dq.microdata(people, labels=["sex", "age"], coordinates=["lon", "lat"])
>>> dq.attack(target, known, agreement=dq.Within(5)).matches

Names are imported when they are first used, so that ``import disclique`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from disclique.attacks import METHODS, Attack, LabelRule, Linked, Search, attack
    from disclique.attacks.calibration import calibrate
    from disclique.attacks.knowledge import Knowledge
    from disclique.data.distances import Matrix, Points
    from disclique.data.labels import Exact
    from disclique.data.tables import microdata
    from disclique.engine import maximum_clique
    from disclique.engine.agreement import Between, Relative, Within, quantiles
    from disclique.errors import DiscliqueError, InputError
    from disclique.masks import parse_mask
    from disclique.model import Budget, Microdata, Spread
    from disclique.synthetic.people import germany

_HOME = {
    "Between": "engine.agreement",
    "Relative": "engine.agreement",
    "Within": "engine.agreement",
    "quantiles": "engine.agreement",
    "Attack": "attacks",
    "LabelRule": "attacks",
    "Linked": "attacks",
    "METHODS": "attacks",
    "Search": "attacks",
    "attack": "attacks",
    "maximum_clique": "engine",
    "Matrix": "data.distances",
    "Points": "data.distances",
    "DiscliqueError": "errors",
    "InputError": "errors",
    "Exact": "data.labels",
    "Knowledge": "attacks.knowledge",
    "Budget": "model",
    "Microdata": "model",
    "Spread": "model",
    "microdata": "data.tables",
    "calibrate": "attacks.calibration",
    "germany": "synthetic.people",
    "parse_mask": "masks",
}

__all__ = [
    "METHODS",
    "Attack",
    "Between",
    "Budget",
    "DiscliqueError",
    "Exact",
    "InputError",
    "Knowledge",
    "LabelRule",
    "Linked",
    "Matrix",
    "Microdata",
    "Points",
    "Relative",
    "Search",
    "Spread",
    "Within",
    "attack",
    "calibrate",
    "germany",
    "maximum_clique",
    "microdata",
    "parse_mask",
    "quantiles",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        found = getattr(import_module(f"disclique.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'disclique' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
