"""Pages that are made from the package itself: its names, its commands, its masks and the schema of its result."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import typer

import disclique
from disclique.audits.result import result_schema
from disclique.cli import app
from disclique.cli.options import NAMES
from disclique.masks import Mask, masks, usage

GROUPS = {
    "Ask": ("audit", "attack", "study", "inspect", "utility", "calibrate", "learn"),
    "Read and make files": (
        "read",
        "microdata",
        "read_register",
        "read_seeds",
        "read_key",
        "read_result",
        "load_study",
    ),
    "Release": ("mask", "release", "list_masks", "parse_mask", "register_mask"),
    "Show": ("report", "annex", "recipients_page", "plots"),
    "Examples and invented people": ("survey", "poets", "cities", "germany"),
    "What is asked": (
        "Plan",
        "Snooper",
        "Recipient",
        "Knowledge",
        "Spread",
        "Search",
        "Budget",
        "LabelRule",
    ),
    "When distances agree": ("Within", "Relative", "Between", "quantiles"),
    "Where work runs": ("Serial", "Processes", "OnDask"),
    "What comes back": (
        "AuditResult",
        "RecipientsResult",
        "AttackResult",
        "StudyResult",
        "Release",
        "Inspection",
        "Claims",
    ),
    "Data": ("Microdata", "Points", "Matrix", "Texts", "Encodings", "Register", "Exact"),
    "Attacks and cliques": ("Attack", "attack_names", "register_attack", "maximum_clique", "maximum_cliques"),
    "Errors": ("DiscliqueError", "InputError"),
}
ON = {
    "coordinates": "Masks that move places",
    "distances": "Masks that alter distances",
    "text": "Masks that encode text",
}


def api_page() -> str:
    """Return a page with every public name of the package; names without a group of their own stand last."""
    placed = [name for names in GROUPS.values() for name in names]
    rest = [name for name in disclique.__all__ if name not in placed]
    parts = [
        "# Python\n\nEvery public name of `import disclique as dq`. What is not listed may change without notice.\n"
    ]
    for group, names in [*GROUPS.items(), ("More", tuple(rest))]:
        known = [name for name in names if name in disclique.__all__]
        if known:
            parts.append(f"## {group}\n")
            parts += [f"::: disclique.{name}\n" for name in known]
    return "\n".join(parts)


def commands_page() -> str:
    """Return a page with every command, its arguments and its options, as ``--help`` has them."""
    group: Any = typer.main.get_command(app)
    parts = [
        "# The command line\n\n`disclique COMMAND --help` has the most needed options, `--help-all` what stands "
        "here. Exit status: 0 done, 2 bad input (one "
        "sentence says what), 3 and 4 a [verdict](../howto/audit.md#the-verdict), 130 interrupted.\n"
    ]
    for name, command in group.commands.items():
        if not command.hidden:
            parts += [f"## disclique {name}\n", *_command(name, command)]
    return "\n".join(parts)


def _command(name: str, command: Any) -> Iterable[str]:
    context = type(command).context_class(command, info_name=f"disclique {name}")
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    yield f"{_prose(command.help or '')}\n"
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    shown.sort(key=_panel)
    for panel, parameters in groupby(shown, key=_panel):
        rows = []
        for parameter in parameters:
            options, help_text = parameter.get_help_record(context)
            for word in (word for word in NAMES if word in help_text):
                help_text = help_text.replace(word, ", ".join(NAMES[word]()))
            rows.append((f"`{_cell(options)}`", _cell(_words(help_text))))
        yield _table((panel[1] or "Arguments and options", "what it does"), rows)


def _panel(parameter: Any) -> tuple[bool, str]:
    """Return by what options stand together: those without a panel first."""
    panel = getattr(parameter, "rich_help_panel", None) or ""
    return bool(panel), panel


def masks_page() -> str:
    """Return a page with every mask of the registry, its parameters and where it was published."""
    parts = [
        "# Every mask\n\nMade from the registry: what `--mask` and `dq.parse_mask` take. [Masks and their "
        "laws](masks.md) says what each does to a release and what a snooper makes of it.\n"
    ]
    kinds = sorted(masks().items(), key=lambda item: (list(ON).index(item[1].on), item[0]))
    for on, group in groupby(kinds, key=lambda item: item[1].on):
        parts.append(f"## {ON[on]}\n")
        for name, cls in group:
            parts += [f"### {name}\n", *_mask(cls)]
    return "\n".join(parts)


def _mask(cls: type[Mask]) -> Iterable[str]:
    yield f"```text\n{usage(cls)}\n```\n"
    yield f"{_prose(cls.__doc__ or '')}\n"
    dials = {cls.dial: cls.dial_rises, **cls.other_dials}
    rows = []
    for field in dataclasses.fields(cls):
        name = field.name.replace("_", "-").strip("-")
        given = "required" if field.default is dataclasses.MISSING else f"`{field.default}`"
        turned = "" if field.name not in dials else "larger is stronger" if dials[field.name] else "smaller is stronger"
        rows.append((f"`{name}`", given, turned))
    if rows:
        yield _table(("parameter", "default", "as a dial"), rows)
    notes = [
        "It leaves every distance as it is and **protects nothing**." if cls.rigid else "",
        "Published values are exact: whoever finds out how they were made tells people apart." if cls.replayed else "",
    ]
    yield " ".join(note for note in [*notes, f"Published in: {_cell(cls.reference)}."] if note) + "\n"


def result_page() -> str:
    """Return the part of the page on ``result.json`` that is made from its schema: every object with its fields."""
    schema = result_schema()
    objects = schema["$defs"]
    whole = schema["$ref"].rsplit("/", 1)[1]
    version = objects[whole]["properties"]["version"]["default"]
    parts = [
        f"## Every field\n\nMade from the schema, format version {version}. A field with a default may be absent in a "
        "result that another program writes.\n"
    ]
    for name, described in objects.items():
        parts.append(f"### {name}\n")
        parts.append(f"{_prose(described.get('description', ''))}\n")
        required = described.get("required", ())
        rows = [
            (f"`{field}`", _kind(kind), "" if field in required else f"`{_cell(str(kind.get('default', '')))}`")
            for field, kind in described.get("properties", {}).items()
        ]
        parts.append(_table(("field", "type", "default"), [(a, b, "" if c == "``" else c) for a, b, c in rows]))
    return "\n".join(parts)


def _kind(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(_kind(one) for one in kind["anyOf"])
    if "enum" in kind:
        return " or ".join(f"`{value}`" for value in kind["enum"])
    if kind.get("type") == "array":
        if "prefixItems" in kind:
            return f"({', '.join(_kind(one) for one in kind['prefixItems'])})"
        return f"list of {_kind(kind.get('items') or {})}"
    if kind.get("type") == "object" and isinstance(kind.get("additionalProperties"), dict):
        return f"object of {_kind(kind['additionalProperties'])}"
    return str(kind.get("type", "anything"))


def _prose(text: str) -> str:
    """Return a docstring as Markdown: examples of the interpreter are left to the page on Python."""
    lines = [line.strip() for line in text.strip().splitlines()]
    kept, example = [], False
    for line in lines:
        example = line.startswith(">>>") or (example and bool(line))
        if not example:
            kept.append(line)
    return _words("\n".join(kept).strip())


def _words(text: str) -> str:
    """Return a text in which options are set as code and nothing is taken for HTML."""
    text = text.replace("<", "&lt;")
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*)", r"`\1`", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
