"""Options on the command line, from where they are declared (``disclique.options``)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from disclique.options.table import Options, rows_of

O = TypeVar("O", bound="Options")  # noqa: E741


LANGUAGE = Annotated[
    str,
    typer.Option(
        help="Language of the pages, en or de; what is printed here stays English.",
        rich_help_panel="Output",
    ),
]
FORCE = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files that are there already, and go on with input that can only be mistaken.",
        rich_help_panel="Output",
    ),
]


def with_options(kind: type[O]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, whose parameter ``options`` is of this kind, an option of the command line for every field."""
    types, rows = get_type_hints(kind), rows_of(kind)
    made = []
    for name, row in rows.items():
        default = row.default
        shown = ", ".join(map(str, default if isinstance(default, list) else [default])) if default else False
        info = typer.Option(help=row.help, rich_help_panel=row.panel, metavar=row.metavar, show_default=shown)
        hint: Any = Annotated[types[name], info]
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint))

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            said = {name: given.pop(name) for name in rows}
            function(**given, options=kind(**said))

        own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != "options"]
        own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        first = [p for p in own if p.default is inspect.Parameter.empty]
        last = [p for p in own if p.default is not inspect.Parameter.empty]
        every = [*first, *made, *last]
        command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in every}
        command.__doc__, command.__name__, command.__module__ = function.__doc__, function.__name__, function.__module__
        return command

    return decorate
