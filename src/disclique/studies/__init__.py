"""Studies: a grid of masks × α × repetitions on synthetic people, each cell one attack measured.

What is asked, drawn and measured for a study lives here; how its units run, resume and spread over machines is in
``runs``, and the attacks are those of ``attacks``.
"""

from disclique.studies.definition import PRESETS, Grid, People, Study, define_study
from disclique.studies.run import StudyResult, load_study, study
from disclique.studies.summary import deviations, grid_table, reliability, summarise
from disclique.studies.unit import Cell, Draw, StudyDraws, UnitRunner, typical_examples

__all__ = [
    "PRESETS",
    "Cell",
    "Draw",
    "Grid",
    "People",
    "Study",
    "StudyDraws",
    "StudyResult",
    "UnitRunner",
    "define_study",
    "deviations",
    "grid_table",
    "load_study",
    "reliability",
    "study",
    "summarise",
    "typical_examples",
]
