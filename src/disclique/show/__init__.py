"""Everything that is looked at: matplotlib pictures, and the report of an audit.

What is shown has been computed before; nothing here attacks, measures or decides.

>>> import disclique as dq
>>> dq.plots.draw_graph_model(dq.cities()).axes[0].texts[0].get_text()
'343.6'
"""

from disclique.show.figures import (
    draw_files,
    draw_rates_by_alpha,
    draw_rates_by_attack,
    draw_rates_by_mask,
    draw_reliability,
    draw_risk_utility,
    draw_risk_utility_map,
    draw_study,
)
from disclique.show.label_figures import draw_rates_by_labels
from disclique.show.plots import draw_graph_model, draw_matches, draw_product_graph, save_figure

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
