"""The chart library that the pages carry with them: Vega, Vega-Lite and what embeds them, as one script.

Putting it together takes seconds in which nothing else of the process goes on. A server has it made by another one
(``python -m disclique.show.library`` writes it to its output), and passes it on.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import cache

from disclique.errors import MissingDependency


@cache
def chart_library() -> str:
    """Return the chart library as script text, which cannot end the element in which it stands."""
    try:
        import vl_convert
    except ImportError:
        raise MissingDependency("report_needs_vl_convert") from None
    script: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
    return script.replace("</script", "<\\/script")


class ChartLibrary:
    """The chart library of a server, put together once in a process of its own; whoever asks meanwhile waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._script: str | None = None

    def get(self) -> str:
        """Return the library as script text."""
        with self._lock:
            if self._script is None:
                made = subprocess.run([sys.executable, "-m", __name__], capture_output=True, check=False)
                if made.returncode:
                    raise MissingDependency("pictures_need_vl_convert")
                self._script = made.stdout.decode()
            return self._script

    def warm(self) -> None:
        """Begin to put the library together, if nobody has."""
        if not self._lock.locked():
            threading.Thread(target=self.get, daemon=True, name="charts").start()


if __name__ == "__main__":
    sys.stdout.buffer.write(chart_library().encode())
