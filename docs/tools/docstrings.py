"""An extension of griffe: examples in docstrings become blocks of code, as they have no fence of their own."""

from __future__ import annotations

from typing import Any

import griffe


class Fences(griffe.Extension):
    """Set every run of ``>>>`` lines, with what it prints, as a block of the interpreter."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of whatever has been loaded."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with fences around its examples.

    >>> fenced("What.\\n\\n>>> 1 + 1\\n2").splitlines()
    ['What.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            inside = True
            lines.append("```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
