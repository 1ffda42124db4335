"""Options on the command line: those of a table (``disclique.options``), those of several commands, names in help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption

from disclique.cli.screen import Screen
from disclique.options.table import Options, Row, rows_of

O = TypeVar("O", bound="Options")  # noqa: E741

OUTPUT, WORK = "Output", "Work"
RELEASED = "CSV, Parquet, xlsx, Stata, SPSS, SAS, GeoPackage, …"  # what can be read
CONFIG = Annotated[Path | None, typer.Option(help="TOML file with any of these options.")]
LANGUAGE = Annotated[
    str,
    typer.Option(help="Language of the pages, en or de; what is printed here stays English.", rich_help_panel=OUTPUT),
]
FORCE = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files that are there already.",
        rich_help_panel=OUTPUT,
    ),
]
YES = Annotated[bool, typer.Option("--yes", "-y", help="Never ask whether to go on (scripts).", rich_help_panel=WORK)]
QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.", rich_help_panel=OUTPUT)]
PROCESSES = Annotated[int | None, typer.Option(help="Processes of this machine (all cores).", rich_help_panel=WORK)]
DASK = Annotated[str | None, typer.Option(metavar="tcp://...|local", help="A Dask cluster.", rich_help_panel=WORK)]
DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="Show the plan only.", rich_help_panel=WORK)]


def with_options(kind: type[O]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, whose parameter ``options`` is of this kind, an option of the command line for every row."""
    types, rows = get_type_hints(kind), rows_of(kind)
    made = []
    for name, row in rows.items():
        default = row.default
        shown = ", ".join(map(str, default if isinstance(default, list) else [default])) if default else False
        names = (f"--{row.flag}",) if row.flag else ()
        info = typer.Option(
            *names,
            help=row.help,
            rich_help_panel=row.panel,
            metavar=row.metavar,
            show_default=shown,
            autocompletion=completing(name, row),
        )
        hint: Any = Annotated[types[name], info]
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint))

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            said = {name: given.pop(name) for name in rows}
            function(**given, options=kind(**said))

        return _with_parameters(command, function, "options", made)

    return decorate


def completing(name: str, row: Row | None = None) -> Callable[[str], list[str]] | None:
    """Return what completes the value of an option in a shell: names of a registry, or the answers that there are."""
    words = COMPLETED.get(name)
    if words is not None:
        return lambda incomplete: [word for word in words() if word.startswith(incomplete)]
    known = () if row is None else row.choices
    return (lambda incomplete: [word for word in known if word.startswith(incomplete)]) if known else None


def on_screen(function: Callable[..., None], opened: Callable[[bool], Screen]) -> Callable[..., None]:
    """Give a command the screen that is its parameter, and the command line an option for a quiet one."""

    def command(**given: Any) -> None:
        screen = opened(given.pop("quiet"))
        function(**given, screen=screen)

    quiet = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=QUIET)
    return _with_parameters(command, function, "screen", [quiet])


def with_whole_help(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command whose help shows its first options alone an option for all of them."""

    def command(**given: Any) -> None:
        given.pop("help_all")
        function(**given)

    own = list(inspect.signature(function).parameters.values())
    whole = inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HELP_ALL)
    command.__signature__ = inspect.Signature([*own, whole])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in (*own, whole)}
    command.__doc__, command.__name__, command.__module__ = function.__doc__, function.__name__, function.__module__
    return command


def _show_whole_help(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[WHOLE] = True
        typer.echo(ctx.get_help(), nl=False)  # what rich prints by itself leaves nothing to say
        raise typer.Exit


HELP_ALL = Annotated[
    bool, typer.Option("--help-all", callback=_show_whole_help, is_eager=True, help="Show all options, by subject.")
]


def _with_parameters(
    command: Callable[..., None], function: Callable[..., None], given: str, instead: list[inspect.Parameter]
) -> Callable[..., None]:
    """Return a command that shows the parameters of a function, with others in the place of one that it is given."""
    own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != given]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    first = [p for p in own if p.default is inspect.Parameter.empty]
    last = [p for p in own if p.default is not inspect.Parameter.empty]
    every = [*first, *instead, *last] if given == "options" else [*first, *last, *instead]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in every}
    command.__doc__, command.__name__, command.__module__ = function.__doc__, function.__name__, function.__module__
    return command


def reflow(function: Callable[..., None]) -> str:
    """Return the docstring of a command with each paragraph on one line, which a terminal breaks where it ends."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(function.__doc__ or "").split("\n\n"))


def _registry(room: str, name: str) -> Any:
    return getattr(import_module(f"disclique.{room}"), name)


NAMES: dict[str, Callable[[], Iterable[str]]] = {  # what stands for names of a registry, which loads when help is shown
    "{solvers}": lambda: _registry("engine", "SOLVERS"),
    "{described solvers}": lambda: [solver.description for solver in _registry("engine", "SOLVERS").values()],
    "{attacks}": lambda: [_registry("attacks.registry", "list_attacks")()],
    "{measures}": lambda: list(_registry("measures.utility", "rankings")()),
    "{recipients}": lambda: list(_registry("audits.recipients", "list_ready")()),
    "{masks}": lambda: list(_registry("masks", "masks")()),
}


# What most people need of commands with many options: what a short help shows.
FIRST: dict[str, tuple[str, ...]] = {
    "audit": ("out", "id", "label", "coordinates", "distances", "mask", "max_risk", "overlap"),
    "advise": ("out", "limit", "purpose", "id", "label", "coordinates", "distances", "overlap"),
    "attack": ("label", "coordinates", "target_distances", "known_distances", "attack", "within", "truth", "out"),
    "mask": ("mask", "out", "id", "label", "coordinates", "distances", "as_", "key"),
    "masks": ("coordinates", "distances", "vectors", "text", "encodings", "metric", "unit", "crs"),
    "study": ("out", "preset", "mask", "repetitions", "people", "label", "attack", "processes"),
}
COMPLETED: dict[str, Callable[[], Iterable[str]]] = {
    "mask": NAMES["{masks}"],
    "attack": lambda: list(_registry("attacks", "attack_names")()),
    "solver": NAMES["{solvers}"],
    "utility": NAMES["{measures}"],
    "recipient": NAMES["{recipients}"],
}
WHOLE = "disclique.whole_help"


class Command(TyperCommand):
    """A command in whose help texts a word in braces, such as ``{solvers}``, stands for the names of a registry.

    One with many options shows the ``FIRST`` of them, and all with ``--help-all``.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the names filled in."""
        options: list[Any] = [option for option in self.params if getattr(option, "help", None)]
        for option in options:
            for word in (word for word in NAMES if word in option.help):
                option.help = option.help.replace(word, ", ".join(NAMES[word]()))
        first = () if ctx.meta.get(WHOLE) else FIRST.get(str(self.name), ())
        with _shown_alone(self, first):
            super().format_help(ctx, formatter)


@contextmanager
def _shown_alone(command: TyperCommand, first: Sequence[str]) -> Iterator[None]:
    """Hide the options of a command but for the first ones, which stand in one panel in their order."""
    if not first:
        yield
        return
    before = [(one, one.hidden, one.rich_help_panel) for one in command.params if isinstance(one, TyperOption)]
    order = command.params
    place = {name: number for number, name in enumerate((*first, "help_all"))}
    for one, _, _ in before:
        one.hidden, one.rich_help_panel = one.name not in place, None
    command.params = sorted(order, key=lambda one: place.get(str(one.name), -1))
    try:
        yield
    finally:
        command.params = order
        for one, hidden, panel in before:
            one.hidden, one.rich_help_panel = hidden, panel
