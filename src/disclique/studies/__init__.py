"""Studies: a grid of masks × agreements × repetitions, each cell one attack measured; resumable and distributable."""

from disclique.studies.cells import run_unit, typical
from disclique.studies.draw import calibration_of, draw, people_of
from disclique.studies.grid import PRESETS, Grid, People, Study, Unit, read_options, study_from
from disclique.studies.methods import METHODS, Method
from disclique.studies.run import Outcome, load_study, run_study
from disclique.studies.summary import deviations, grid_table, summary

__all__ = [
    "METHODS",
    "PRESETS",
    "Grid",
    "Method",
    "Outcome",
    "People",
    "Study",
    "Unit",
    "calibration_of",
    "deviations",
    "draw",
    "grid_table",
    "load_study",
    "people_of",
    "read_options",
    "run_study",
    "run_unit",
    "study_from",
    "summary",
    "typical",
]
