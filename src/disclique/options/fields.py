"""Options declared once: on the command line, in a TOML file, in the forms of the app, and with their defaults.

Whoever asks for something declares its options as a dataclass whose fields are made by ``option``. What is not said
comes from a TOML file, else it is the default.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from disclique.errors import InputError


def option(help: str, *, panel: str | None = None, default: Any = None, metavar: str = "") -> Any:
    """Declare an option."""
    about = {"help": help, "panel": panel, "default": default, "metavar": metavar or None}
    return field(default=None, metadata=about)


@dataclass(frozen=True)
class Options:
    """Options as they were given: None is not said. ``sections`` of a TOML file are read by whoever needs them."""

    sections: ClassVar[tuple[str, ...]] = ()

    def filled(self, config: Path | None = None) -> Self:
        """Return the options with what was not said from a TOML file, else by default."""
        known = {name.name.replace("_", "-"): name for name in fields(self)}
        written = {} if config is None else {key.replace("_", "-"): v for key, v in read_toml(config).items()}
        strange = sorted(set(written) - set(known) - set(self.sections))
        if strange:
            raise InputError(f"{config}: unknown option {strange[0]!r}; there are {', '.join(known)}")
        found = {}
        for key, about in known.items():
            said = getattr(self, about.name)
            default = about.metadata["default"]
            found[about.name] = said if said is not None and said != [] else written.get(key, default)
        return replace(self, **found)


def differing(options: Options) -> dict[str, Any]:
    """Return the options that are not as by default, as they would be said again."""
    values = {about.name: (getattr(options, about.name), about.metadata["default"]) for about in fields(options)}
    return {name: value for name, (value, default) in values.items() if value is not None and value != default}


def write_toml(said: Mapping[str, Any], sections: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Write options, and sections of them, as a TOML file that ``read_toml`` reads back.

    >>> print(write_toml({"max_risk": 0.1, "label": ["sex"], "unlinked": True}, {"decision": {"author": "A"}}), end="")
    max-risk = 0.1
    label = ["sex"]
    unlinked = true
    <BLANKLINE>
    [decision]
    author = "A"
    """
    lines = [f"{name.replace('_', '-')} = {_toml(value)}" for name, value in said.items()]
    for name, inside in (sections or {}).items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in inside.items())]
    return "\n".join([*lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return json.dumps(str(value)).replace("\x7f", "\\u007f")  # what JSON writes of a text is TOML but for this


def read_toml(path: Path) -> dict[str, Any]:
    """Read the options in a TOML file."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file ({error})") from None


def list_of(value: Any) -> list[str]:
    """Return a value, or a list of them, as texts."""
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [] if value is None else [str(value)]


def numbers_in(text: Any) -> list[Any] | None:
    """Return the parts of ``X,X,...``, or of a list in a TOML file."""
    if text is None or isinstance(text, (list, tuple)):
        return None if text is None else list(text)
    return [part.strip() for part in str(text).split(",") if part.strip()]
