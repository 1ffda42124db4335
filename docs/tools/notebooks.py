"""Notebooks as pages, with the output that was kept in them."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter


def as_markdown(notebook: Path, folder: Path) -> Path:
    """Write a notebook as a Markdown page with its pictures, and a copy of it to open; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    content = nbformat.read(notebook, as_version=4)
    exporter = MarkdownExporter()
    resources = {"output_files_dir": f"{notebook.stem}_files"}
    text, found = exporter.from_notebook_node(content, resources=resources)
    for name, data in found.get("outputs", {}).items():
        picture = folder / name
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(data)
    text = re.sub(r"<style scoped>.*?</style>", "", text, flags=re.S)
    text = re.sub(r"<table [^>]*>", "<table>", text)  # so that the theme sets it as any other table
    text = re.sub(r"!\[(png|svg)\]", f"![{notebook.stem}: what the cell above draws]", text)
    head, _, rest = text.partition("\n")
    (folder / notebook.name).write_bytes(notebook.read_bytes())
    page = folder / f"{notebook.stem}.md"
    note = f"*A notebook: [open it yourself]({notebook.name}). What it prints is checked by a test.*"
    page.write_text(f"{head}\n\n{note}\n{rest}", encoding="utf-8")
    return page
