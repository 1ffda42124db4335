"""Puts the table of the last benchmark into the engineering note: python benchmarks/document.py

The note's table is what ``make bench`` wrote, with its date and machine; nobody types it.
"""

from pathlib import Path

HERE = Path(__file__).parent
NOTE = HERE.parent / "docs" / "evidence" / "engine.md"
BEGIN, END = "<!-- bench: begin -->\n", "<!-- bench: end -->"

if __name__ == "__main__":
    before, rest = NOTE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    table = (HERE / "results" / "bench.md").read_text(encoding="utf-8")
    NOTE.write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8")
