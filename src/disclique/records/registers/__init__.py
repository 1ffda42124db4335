"""Registers: files of millions of people, read in pieces and never held as a whole.

``files`` says what a register consists of and reads its pieces, ``streams`` goes over all of them (one task a piece,
wherever tasks run) and sums up what they tell, ``people`` finds single people. Nothing here attacks.
"""

from disclique.records.registers.files import Batch, Piece, Register
from disclique.records.registers.opening import open_register, read_known, read_register
from disclique.records.registers.people import draw_people, find_people, name_people
from disclique.records.registers.streams import InTurn, Mapper, Records, Survey, stream, survey_register

__all__ = [
    "Batch",
    "InTurn",
    "Mapper",
    "Piece",
    "Records",
    "Register",
    "Survey",
    "draw_people",
    "find_people",
    "name_people",
    "open_register",
    "read_known",
    "read_register",
    "stream",
    "survey_register",
]
