"""The form of a table of options: a row says once what an option is, and every door and page follows from it.

A row is a field of a dataclass made by ``option`` or ``planned``; ``Row`` says what it holds beside name and type.
Command line, TOML file, form of the app, check, report, annex, comparison and schema go over the rows of such a class;
none of them names an option.
"""

from __future__ import annotations

import numbers
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from disclique.arguments import check_number, check_share, show
from disclique.errors import InputError
from disclique.messages import Message, mark

NUMBER, WHOLE, WORD, SWITCH, LINES, FILE = "number", "whole", "word", "switch", "lines", "file"
_KINDS = {float: NUMBER, int: WHOLE, str: WORD, bool: SWITCH, tuple: LINES, list: LINES, Path: FILE}
_AT_DOORS = {NUMBER: float, WHOLE: int, WORD: str, SWITCH: bool, LINES: list[str], FILE: Path}
_ROW = "row"


@dataclass(frozen=True)
class Bounds:
    """What a number may be; ``wanted`` is the code of what is said to whoever gave another one.

    ``low`` and ``high`` are allowed themselves, unless it lies ``above`` the one and ``below`` the other. Of a
    ``share`` percents are asked to be written as one.
    """

    low: float = 0
    high: float = float("inf")
    wanted: str = mark("wanted_whole_from")
    above: bool = False
    below: bool = False
    share: bool = False

    def hold(self, value: float) -> bool:
        """Say whether a number is inside."""
        low = value > self.low if self.above else value >= self.low
        return low and (value < self.high if self.below else value <= self.high)


@dataclass(frozen=True)
class Row:
    """One option. ``help`` is for the command line, under the heading ``panel``; ``metavar`` names its value there.

    ``door`` is its name on the command line, in a TOML file and in the app, if not that of Python, ``flag`` one that
    cannot be a name in Python, and ``opposite`` says that it says no there where Python says yes. ``path``: a text that
    may name a file. ``called`` is the code of its name in errors, if that has one, ``choices`` are the answers there
    are, ``example`` is one of many texts.
    ``records``: what is measured depends on it.

    People read it under its ``title``, with ``answers`` for the few values there are. The app asks for what has a
    ``hint``, which says what it means to whoever fills in a form; ``place`` is where on the page it stands, if not with
    the others of its panel, and empty where the page draws it itself. Report and comparison tell every option of a
    plan, the ``annex`` what a board decides about; ``none`` is said where nothing was asked. It is told only beside the
    option that it ``goes_with``.
    """

    help: str
    panel: str | None = None
    default: Any = None
    metavar: str | None = None
    door: str = ""
    flag: str = ""
    opposite: bool = False
    path: bool = False
    called: str = ""
    bounds: Bounds | None = None
    choices: tuple[str, ...] = ()
    example: str = ""
    title: str = ""
    hint: str = ""
    place: str | None = None
    answers: tuple[tuple[str, str], ...] = ()
    annex: bool = False
    none: str = ""
    goes_with: str = ""
    records: bool = True
    name: str = ""
    kind: str = WORD

    @property
    def spoken(self) -> str:
        """Its name on the command line and in a TOML file."""
        return self.flag or self.name.replace("_", "-")

    @property
    def what(self) -> str | Message:
        """What an error calls it."""
        return Message(self.called) if self.called else self.name.replace("_", " ")

    @property
    def is_path(self) -> bool:
        """Whether its value names a file, or may."""
        return self.path or self.kind == FILE

    def check(self, value: Any) -> None:
        """Raise an error if a value is not one of this option."""
        if value is None and self.default is None:
            return
        if self.kind == LINES and not (isinstance(value, tuple) and all(isinstance(one, str) for one in value)):
            raise InputError("option_wants_texts", what=self.what, value=show(value), example=self.example)
        if self.choices and value not in self.choices:
            raise InputError("option_not_a_choice", what=self.what, value=repr(value), choices=self.choices)
        if self.bounds is not None:
            self._check_number(value, self.bounds)

    def _check_number(self, value: Any, bounds: Bounds) -> None:
        if self.kind == WHOLE:
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            inside = whole and bounds.hold(int(value))
        elif bounds.share:
            inside = bounds.hold(check_share(value, self.what, bounds.wanted))
        else:
            inside = bounds.hold(check_number(value, self.what, "wanted_number"))
        if not inside:
            wanted = Message(bounds.wanted, low=bounds.low, high=bounds.high)
            raise InputError("argument_is_not", what=self.what, value=show(value), wanted=wanted, meant=None)

    def to_python(self, value: Any) -> Any:
        """Return the value that Python has of one that was given at a door, perhaps as a text."""
        if value is None or (value == [] and self.default is None):
            return self.default
        if self.kind == LINES:
            return tuple(list_of(value))
        if self.kind == SWITCH:
            return bool(value) != self.opposite
        if self.kind == NUMBER:
            return float(str(value))
        if self.kind == WHOLE:
            return value if isinstance(value, float) and not value.is_integer() else int(value)
        return str(value)


def option(help: str, panel: str | None = None, *, default: Any = None, **about: Any) -> Any:
    """Declare an option that is None until it is said; ``about`` are fields of ``Row``."""
    return field(default=None, metadata={_ROW: Row(help, panel, default, **about)})


def planned(help: str, panel: str | None = None, *, default: Any = None, **about: Any) -> Any:
    """Declare an option as what it is once all is said: a field of a plan, which has its default."""
    return field(default=default, metadata={_ROW: Row(help, panel, default, **about)})


def rows_of(kind: Any) -> dict[str, Row]:
    """Return the options of a class by name."""
    types = get_type_hints(kind)
    return {
        one.name: replace(one.metadata[_ROW], name=one.name, kind=_kind(types[one.name]))
        for one in fields(kind)
        if _ROW in one.metadata
    }


def _kind(hint: Any) -> str:
    """Return the kind of values that a type holds beside None."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    return _KINDS[get_origin(hint) or hint]


def at_doors(name: str, kinds: Iterable[Any], bases: tuple[type, ...]) -> Any:
    """Return the class of options, given or not, by which the fields of other classes are said at the doors."""
    made: list[tuple[str, Any, Any]] = []
    for kind in kinds:
        for row in rows_of(kind).values():
            default = list(row.default or ()) if row.kind == LINES else row.default
            default = not default if row.opposite else default
            said = replace(row, default=default)
            given: Any = field(default=None, metadata={_ROW: said})
            made.append((row.door or row.name, _AT_DOORS[row.kind] | None, given))
    return make_dataclass(name, made, bases=bases, frozen=True, namespace={"__module__": __name__})


@dataclass(frozen=True)
class Options:
    """Options as they were given: None is not said. ``sections`` of a TOML file are read by whoever needs them."""

    sections: ClassVar[tuple[str, ...]] = ()

    def filled(self, config: Path | None = None) -> Self:
        """Return the options with what was not said from a TOML file, else by default."""
        known = {row.spoken: row for row in rows_of(type(self)).values()}
        written = {} if config is None else {key.replace("_", "-"): v for key, v in read_toml(config).items()}
        strange = sorted(set(written) - set(known) - set(self.sections))
        if strange:
            raise InputError("unknown_option_in_file", file=config, option=strange[0], known=list(known))
        found = {}
        for key, row in known.items():
            said = getattr(self, row.name)
            found[row.name] = said if said is not None and said != [] else written.get(key, row.default)
        return replace(self, **found)


def differing(value: Any) -> dict[str, Any]:
    """Return the options that are not as by default, as they would be said again."""
    values = {name: (getattr(value, name), row.default) for name, row in rows_of(type(value)).items()}
    return {name: said for name, (said, default) in values.items() if said is not None and said != default}


def write_toml(
    said: Mapping[str, Any],
    sections: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    blocks: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> str:
    """Write options, sections of them, and blocks of which there are several, as a TOML file that can be read back.

    >>> print(write_toml({"max_risk": 0.1, "unlinked": True}, {"decision": {"author": "A"}}), end="")
    max-risk = 0.1
    unlinked = true
    <BLANKLINE>
    [decision]
    author = "A"
    >>> print(write_toml({}, blocks={"recipient": [{"name": "x", "max_risk": 0.1}]}), end="")
    [[recipient]]
    name = "x"
    max-risk = 0.1
    """
    import tomli_w

    def plain(words: Mapping[str, Any]) -> dict[str, Any]:
        return {name.replace("_", "-"): str(one) if isinstance(one, Path) else one for name, one in words.items()}

    parts = [tomli_w.dumps({**plain(said), **(sections or {})})]
    parts += [f"[[{name}]]\n{tomli_w.dumps(plain(one))}" for name, each in (blocks or {}).items() for one in each]
    return "\n".join(part for part in parts if part)


def read_toml(path: Path) -> dict[str, Any]:
    """Read the options in a TOML file."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError("file_unreadable", file=path, why=error.strerror) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("not_a_toml_file", file=path, why=str(error)) from None


def list_of(value: Any) -> list[str]:
    """Return a value, or a list of them, as texts."""
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [] if value is None else [str(value)]


def numbers_in(text: Any) -> list[Any] | None:
    """Return the parts of ``X,X,...``, or of a list in a TOML file."""
    if text is None or isinstance(text, (list, tuple)):
        return None if text is None else list(text)
    return [part.strip() for part in str(text).split(",") if part.strip()]
