"""Names from the registries in help texts, filled in when help is shown so that importing the command line is quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand


def _solvers() -> str:
    from disclique.engine import SOLVERS

    return ", ".join(SOLVERS)


def _described_solvers() -> str:
    from disclique.engine import SOLVERS

    return ", ".join(solver.description for solver in SOLVERS.values())


def _peers() -> str:
    from disclique.bench import PEERS

    return ", ".join(PEERS)


NAMES: dict[str, Callable[[], str]] = {
    "{solvers}": _solvers,
    "{described solvers}": _described_solvers,
    "{peers}": _peers,
}


class Command(TyperCommand):
    """A command in whose help texts a word in braces, such as ``{solvers}``, stands for the names of a registry."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the names filled in."""
        options: list[Any] = [option for option in self.params if getattr(option, "help", None)]
        for option in options:
            for word, names in NAMES.items():
                if word in option.help:
                    option.help = option.help.replace(word, names())
        super().format_help(ctx, formatter)
