"""Registers: files of millions of people, read in pieces and never held as a whole.

``files`` says what a register consists of and reads its pieces, ``streams`` goes over all of them (one task a piece,
wherever tasks run) and sums up what they tell, ``people`` finds single people. Nothing here attacks.
"""

from disclique.records.registers.files import Batch, Label, Piece, Register
from disclique.records.registers.opening import open_register, read_known, read_register
from disclique.records.registers.people import check_column, draw_people, find_people, name_people
from disclique.records.registers.streams import InTurn, Mapper, Records, Survey, is_drawn, stream, survey_register

__all__ = [
    "Batch",
    "InTurn",
    "Label",
    "Mapper",
    "Piece",
    "Records",
    "Register",
    "Survey",
    "check_column",
    "draw_people",
    "find_people",
    "is_drawn",
    "name_people",
    "open_register",
    "read_known",
    "read_register",
    "stream",
    "survey_register",
]
