"""A known file that is a register: where it is read, what is said of it, and how it is attacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from disclique.errors import InputError

if TYPE_CHECKING:
    from disclique.attacks import LabelRule
    from disclique.attacks.link_register import RegisterWork
    from disclique.cli.screen import Screen
    from disclique.model import Microdata
    from disclique.records.registers import Register
    from disclique.runs import Executor


def columns_in(data: Microdata | Register) -> list[str]:
    """Return the names of the columns of a file."""
    from disclique.records.registers import Register

    if isinstance(data, Register):
        return [*data.schema, *(name for name, _ in data.pieces[0].folders)]
    return [str(name) for name in data.table.columns]


@contextmanager
def open_executor(known: Microdata | Register, processes: int | None, dask: str | None) -> Iterator[Executor | None]:
    """Give where a register is read; None for any other file, of which nothing can be said that concerns registers."""
    from disclique.records.registers import Register
    from disclique.runs import choose_executor, keep_open

    if isinstance(known, Register):
        with keep_open(choose_executor(processes, dask)) as running:
            yield running
        return
    if processes is not None:
        raise InputError(
            f"--processes {processes}: {known.name} is read as a whole; this is for a register of millions. A search "
            "for a clique takes --threads"
        )
    yield None


def survey_known(
    target: Microdata, known: Register, rule: LabelRule, *, executor: Any, memory: str | None, screen: Screen
) -> RegisterWork:
    """Say how a register is read, and go over it once."""
    from disclique.attacks.link_register import open_work
    from disclique.memory import default_memory, parse_memory

    allowed = default_memory() if memory is None else parse_memory(memory)
    screen.say([known.sentence(allowed)])
    return open_work(target, known, missing=rule.missing, comparators=rule.comparators, mapper=executor, memory=allowed)
