"""Everything that is looked at: matplotlib pictures, and the report of an audit.

What is shown has been computed before; nothing here attacks, measures or decides.

>>> import disclique as dq
>>> dq.plots.draw_graph_model(dq.cities()).axes[0].texts[0].get_text()
'343.6'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from disclique.show.figures import (
        draw_files,
        draw_rates_by_alpha,
        draw_rates_by_attack,
        draw_rates_by_labels,
        draw_rates_by_mask,
        draw_reliability,
        draw_risk_utility,
        draw_risk_utility_map,
        draw_study,
    )
    from disclique.show.plots import draw_graph_model, draw_matches, draw_product_graph, save_figure

_HOME = {  # pages are made here too, and do not wait for the pictures
    "figures": (
        "draw_files",
        "draw_rates_by_alpha",
        "draw_rates_by_attack",
        "draw_rates_by_labels",
        "draw_rates_by_mask",
        "draw_reliability",
        "draw_risk_utility",
        "draw_risk_utility_map",
        "draw_study",
    ),
    "plots": ("draw_graph_model", "draw_matches", "draw_product_graph", "save_figure"),
}

__all__ = [
    "draw_files",
    "draw_graph_model",
    "draw_matches",
    "draw_product_graph",
    "draw_rates_by_alpha",
    "draw_rates_by_attack",
    "draw_rates_by_labels",
    "draw_rates_by_mask",
    "draw_reliability",
    "draw_risk_utility",
    "draw_risk_utility_map",
    "draw_study",
    "save_figure",
]


def __getattr__(name: str) -> Any:
    for room, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"disclique.show.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
