"""The chart library that the pages carry with them: Vega, Vega-Lite and what embeds them, as one script.

Putting it together takes seconds in which nothing else of the process goes on. A server has it made by another one
(``python -m disclique.show.library`` writes it to its output) and holds it.
"""

from __future__ import annotations

import sys

from disclique.errors import MissingDependency

_held: list[str] = []


def chart_library() -> str:
    """Return the chart library as script text, which cannot end the element in which it stands."""
    if not _held:
        try:
            import vl_convert
        except ImportError:
            raise MissingDependency(
                "the report needs the package vl-convert-python: pip install vl-convert-python"
            ) from None
        script: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
        hold_library(script.replace("</script", "<\\/script"))
    return _held[0]


def hold_library(script: str) -> None:
    """Take the chart library as it was put together elsewhere."""
    _held[:] = [script]


def has_library() -> bool:
    """Say whether the library is there without any work."""
    return bool(_held)


if __name__ == "__main__":
    sys.stdout.buffer.write(chart_library().encode())
