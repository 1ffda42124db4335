"""Take the screenshots of docs/start/index.md from the audit of that page: ``python docs/tools/screens.py AUDIT``.

AUDIT is the folder that the command of the page wrote. It needs a Chromium on this machine, and no network.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(DOCS.parent / "tests"))
from browser import Browser  # noqa: E402 - the tests drive one already


def main(report: Path) -> None:
    """Write the top of a report, and the part with its first chart."""
    with tempfile.TemporaryDirectory() as profile:
        window = Browser(Path(profile))
        window.open(report, width=1080, height=900)
        window.wait("document.querySelector('svg, canvas') !== null")
        tops = window.value("[...document.querySelectorAll('h2')].map(h => h.getBoundingClientRect().top + scrollY)")
        for name, (top, bottom) in {"start-report.png": (0, tops[0]), "start-risk.png": (tops[0], tops[1])}.items():
            area = {"x": 0, "y": max(top - 16, 0), "width": 1080, "height": min(bottom - top, 1050), "scale": 1}
            shot = window.send("Page.captureScreenshot", captureBeyondViewport=True, clip=area)
            (DOCS / "img" / name).write_bytes(base64.b64decode(shot["data"]))
        window.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() / "report.html")
