"""Draw the badges of the README from pyproject.toml, ``python docs/tools/badges.py``: nothing is loaded for them."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "img"
LETTER, EDGE, HEIGHT = 6.6, 12, 20  # pixels: mean width of a letter at 11 px, both margins of a half, height


def badges() -> dict[str, tuple[str, str]]:
    """Return what each badge says, from what the project says of itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licence = project["license"] if isinstance(project["license"], str) else project["license"]["text"]
    return {
        "version": ("version", project["version"]),
        "python": ("python", project["requires-python"].replace(">=", "≥ ")),
        "licence": ("licence", licence),
        "docs": ("documentation", "make docs"),
    }


def draw(left: str, right: str) -> str:
    """Return a badge as SVG."""
    one, two = (LETTER * len(text) + EDGE for text in (left, right))
    middle = 'y="14" fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{one + two:.0f}" height="{HEIGHT}" role="img" '
        f'aria-label="{left}: {right}"><title>{left}: {right}</title>'
        f'<rect width="{one:.0f}" height="{HEIGHT}" rx="3" fill="#444"/>'
        f'<rect x="{one:.0f}" width="{two:.0f}" height="{HEIGHT}" rx="3" fill="#0b5c8f"/>'
        f'<text x="{one / 2:.0f}" {middle}>{left}</text><text x="{one + two / 2:.0f}" {middle}>{right}</text></svg>\n'
    )


def main() -> None:
    """Write all of them."""
    for name, said in badges().items():
        (IMAGES / f"badge-{name}.svg").write_text(draw(*said), encoding="utf-8")


if __name__ == "__main__":
    main()
