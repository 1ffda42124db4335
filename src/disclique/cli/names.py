"""Names from the registries in help texts, filled in when help is shown so that importing the command line is quick."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from typer.core import TyperCommand


def _registry(room: str, name: str) -> Any:
    return getattr(import_module(f"disclique.{room}"), name)


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "{solvers}": lambda: _registry("engine", "SOLVERS"),
    "{described solvers}": lambda: [solver.description for solver in _registry("engine", "SOLVERS").values()],
    "{attacks}": lambda: [_registry("attacks.registry", "list_attacks")()],
    "{measures}": lambda: list(_registry("measures.utility", "rankings")()),
    "{masks}": lambda: list(_registry("masks", "masks")()),
}


class Command(TyperCommand):
    """A command in whose help texts a word in braces, such as ``{solvers}``, stands for the names of a registry."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the names filled in."""
        options: list[Any] = [option for option in self.params if getattr(option, "help", None)]
        for option in options:
            for word in (word for word in NAMES if word in option.help):
                option.help = option.help.replace(word, ", ".join(NAMES[word]()))
        super().format_help(ctx, formatter)
