"""The call that repeats an audit, as text: of the plan for Python, of options for the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from disclique.audits.plan import Plan
from disclique.options.audits import AUDIT_ROWS, OF_FILE
from disclique.options.table import differing

PATHS = {name for name, row in AUDIT_ROWS.items() if row.is_path} | {"out"}  # options whose values may be files


def write_call(plan: Plan) -> str:
    """Write the Python call of an audit, with what is not as by default.

    >>> from disclique.audits.plan import Snooper
    >>> print(write_call(Plan(("affine",), Snooper(overlap=0.2), repetitions=5)))
    dq.audit(file, ['affine'], overlap=0.2, repetitions=5)
    """
    snooper = plan.snooper
    said = {**differing(snooper), **differing(plan)}
    del said["masks"]
    if snooper.others == OF_FILE:
        del said["others"]
    beside = ["known=known"] * snooper.given + ["others=others"] * (snooper.others == OF_FILE)
    options = [f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in said.items()]
    return f"dq.audit({', '.join(['file', repr(list(plan.masks)), *beside, *options])})"


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
