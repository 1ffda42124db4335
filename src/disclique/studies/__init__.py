"""Studies: a grid of masks × α × repetitions on synthetic people, each cell one attack measured.

What is asked, drawn and measured for a study lives here; how its units run, resume and spread over machines is in
``runs``, and the attacks are those of ``attacks``.
"""

from disclique.studies.definition import PRESETS, Grid, People, Study, define_study
from disclique.studies.draws import Draw, calibrate_mask, draw, draw_people, tabulate_labels
from disclique.studies.run import StudyResult, load_study, study
from disclique.studies.summary import deviations, grid_table, reliability, summarise
from disclique.studies.unit import Cell, run_unit, typical_examples

__all__ = [
    "PRESETS",
    "Cell",
    "Draw",
    "Grid",
    "People",
    "Study",
    "StudyResult",
    "calibrate_mask",
    "define_study",
    "deviations",
    "draw",
    "draw_people",
    "grid_table",
    "load_study",
    "reliability",
    "run_unit",
    "study",
    "summarise",
    "tabulate_labels",
    "typical_examples",
]
