"""Make the documentation site: ``python docs/tools/build.py`` writes it to site/, which needs no network and no server.

The pages of docs/ are copied to build/docs/ together with those that are made from the package and from the notebooks;
Zensical turns them into a site, strictly; then every link of what came out is followed (``links.py``), since Zensical
looks at links between pages only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from links import problems
from notebooks import as_markdown
from reference import api_page, commands_page, masks_page, result_page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
SHIM = "https://unpkg.com/iframe-worker/shim"  # what the theme would load from elsewhere so that search works on files


def main() -> None:
    """Build, check, and say where the site is; end with status 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="folder of the site, replaced")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "docs", help="folder to work in, replaced")
    given = parser.parse_args()
    out, work = given.out.resolve(), given.work.resolve()
    stage(work)
    render(work)
    settle(work / "site")
    wrong = problems(work / "site")
    if wrong:
        sys.exit("\n".join([*wrong, f"{len(wrong)} broken links or foreign addresses in the built site"]))
    if out.exists():
        shutil.rmtree(out)
    shutil.copytree(work / "site", out)
    print(f"{sum(1 for _ in out.rglob('*.html'))} pages: {out / 'index.html'}")


def stage(folder: Path) -> None:
    """Put everything that the site is made of into a folder."""
    if folder.exists():
        shutil.rmtree(folder)
    pages = folder / "pages"
    for name in ("assets", "img", "start", "howto", "understand", "reference", "evidence"):
        shutil.copytree(DOCS / name, pages / name)
    shutil.copy(DOCS / "index.md", pages)
    shutil.copy(DOCS / "zensical.toml", folder)
    shutil.copytree(DOCS / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "src").symlink_to(ROOT / "src")
    made = {
        "reference/api.md": api_page(),
        "reference/commands.md": commands_page(),
        "reference/every-mask.md": masks_page(),
        "reference/result.md": (DOCS / "reference" / "result.md").read_text(encoding="utf-8") + "\n" + result_page(),
    }
    for name, text in made.items():
        (pages / name).write_text(text, encoding="utf-8")
    for notebook in sorted((DOCS / "notebooks").glob("*.ipynb")):
        as_markdown(notebook, pages / "notebooks")
    named = {str(path.relative_to(pages)) for path in pages.rglob("*.md")}
    listed = set(re.findall(r'"([^"]+\.md)"', (DOCS / "zensical.toml").read_text(encoding="utf-8")))
    if named != listed:
        sys.exit(f"pages and navigation differ: {', '.join(sorted(named ^ listed))}")
    for page in pages.rglob("*.md"):
        page.write_text(bring_files(page.read_text(encoding="utf-8"), page, pages), encoding="utf-8")


def bring_files(text: str, page: Path, pages: Path) -> str:
    """Return a page whose links to files of the repository outside docs/ lead to copies of them in the site."""

    def lead(link: re.Match[str]) -> str:
        address, mark, anchor = link[2].partition("#")
        if re.match(r"[a-z]+:", address) or not address:
            return link[0]
        source = (DOCS / page.relative_to(pages).parent / address).resolve()
        if source.is_relative_to(DOCS) or not source.is_file() or not source.is_relative_to(ROOT):
            return link[0]
        copy = pages / "files" / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
        return f"{link[1]}{os.path.relpath(copy, page.parent)}{mark}{anchor}{link[3]}"

    return LINK.sub(lead, text)


def render(folder: Path) -> None:
    """Let Zensical make the site; whatever it warns of ends the build."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    environment = os.environ | {"NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    said = f"{done.stdout}{done.stderr}"
    warned = re.search(r"warning|error|traceback", said, re.I)
    if done.returncode or warned:
        sys.exit(f"{said}\nzensical ended with status {done.returncode}")
    missing = [page for page in _pages(folder) if not (folder / "site" / page).exists()]
    if missing:
        sys.exit(f"zensical made no {', '.join(missing)}")


def _pages(folder: Path) -> list[str]:
    def names(entry: object) -> list[str]:
        if isinstance(entry, dict):
            return [name for value in entry.values() for name in names(value)]
        return [name for one in entry for name in names(one)] if isinstance(entry, list) else [str(entry)]

    config = tomllib.loads((folder / "zensical.toml").read_text(encoding="utf-8"))
    return [name.removesuffix(".md") + ".html" for name in names(config["project"]["nav"])]


def settle(site: Path) -> None:
    """Put our own script in the place of the one that the theme would load from elsewhere.

    The page for addresses that a server does not find goes: it takes the site to lie at the root of one.
    """
    (site / "404.html").unlink(missing_ok=True)
    replaced = 0
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        replaced += text.count(SHIM)
        here = os.path.relpath(site / "assets" / "worker.js", page.parent)
        page.write_text(text.replace(SHIM, here), encoding="utf-8")
    if not replaced:
        sys.exit(
            "the theme no longer loads its script for search on files: see whether docs/assets/worker.js is needed"
        )


if __name__ == "__main__":
    main()
