"""The call that repeats an audit, as text: of the plan for Python, of options for the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from disclique.audits.plan import Plan, Snooper
from disclique.units import Quantity

PATHS = {"distances", "vectors", "known", "others", "encodings", "out"}  # options whose values are files
PATHS |= {f"{side}_{what}" for side in ("known", "others", "target") for what in ("distances", "vectors", "encodings")}
TOLD = {"given", "inputs", "masks", "snooper"}  # what follows from the files


def write_call(plan: Plan) -> str:
    """Write the Python call of an audit, with what is not as by default.

    >>> print(write_call(Plan(("affine",), Snooper(overlap=0.2), repetitions=5)))
    dq.audit(file, ['affine'], overlap=0.2, repetitions=5)
    """
    said = {**_said(plan.snooper), **_said(plan)}
    if said.get("others") == "file":
        del said["others"]
    beside = ["known=known"] * plan.snooper.given + ["others=others"] * (plan.snooper.others == "file")
    options = [f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in said.items()]
    return f"dq.audit({', '.join(['file', repr(list(plan.masks)), *beside, *options])})"


def _said(value: Plan | Snooper) -> dict[str, Any]:
    """Return the fields that are not as by default."""
    found = {}
    for about in fields(value):
        one = getattr(value, about.name)
        if about.name not in TOLD and about.default is not MISSING and one != about.default:
            found[about.name] = str(one) if isinstance(one, Quantity) else one
    return found


def write_command(words: Sequence[str | Path], options: Mapping[str, Any]) -> str:
    """Write a command line with its options; of an absolute path only the name, as folders tell who works where.

    >>> write_command(["audit", Path("/home/me/my file.csv")], {"max_risk": 0.1, "mask": ["affine"], "unlinked": True})
    "disclique audit 'my file.csv' --max-risk 0.1 --mask affine --unlinked"
    """
    parts = ["disclique", *(_short(word) for word in words)]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            parts.append(flag if value else f"--no-{flag[2:]}")
        else:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                parts += [flag, _short(one) if name in PATHS or isinstance(one, Path) else str(one)]
    return shlex.join(parts)


def _short(value: object) -> str:
    path = Path(str(value))
    return path.name if path.is_absolute() else str(value)
