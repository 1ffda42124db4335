"""Tables and pictures of the benchmark of the attack on two matrices, made from the table of its runs.

Tables are printed, and put into the documentation between marks such as ``<!-- matching first: begin -->``; nobody
types them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from disclique.show.figures import draw_reliability
from disclique.show.plots import PLOT_COLOURS, save_figure
from matching_files import ENCODINGS
from matching_peers import PEERS

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("evidence/matching.md", "howto/names.md")
FILES = {
    "fakename_1k": "1,000",
    "fakename_2k": "2,000",
    "fakename_5k": "5,000",
    "titanic_full": "Titanic, 891",
    "fakename_10k": "10,000",
    "fakename_20k": "20,000",
    "recombined_50k": "50,000",
}
BLOOM = ENCODINGS["bf"]
PUBLISHED_ERRORS = {  # share found by graph matching with such lists (repository kilian1322/pprl-gma-ml-ba)
    ("fakename_1k", "typed", 0.5): 0.021,
    ("fakename_1k", "typed", 0.9): 0.066,
    ("fakename_2k", "typed", 0.5): 0.018,
    ("fakename_2k", "typed", 0.7): 0.970,
    ("fakename_5k", "letters-15", 0.3): 0.010,
    ("fakename_5k", "letters-15", 0.5): 0.960,
    ("fakename_10k", "letters-10", 0.1): 0.011,
    ("fakename_10k", "letters-10", 0.2): 0.962,
    ("fakename_10k", "letters-20", 0.5): 0.008,
}
NAMES = {encoding: name for name, encoding in ENCODINGS.items()}


def read_runs(file: Path) -> pd.DataFrame:
    """Return the runs with their rates; the rate of a file without common people is undefined."""
    runs = pd.read_csv(file, keep_default_na=True, dtype={"strangers": str, "doubt": str, "classes": str})
    for column in ("strangers", "doubt", "classes"):
        runs[column] = runs[column].fillna("")
    runs["found"] = runs["right"] / (runs["common"] - runs["seeds"]).where(runs["common"] > 0)
    runs["precision"] = runs["right"] / runs["claims"].where(runs["claims"] > 0)
    runs["share_expected"] = runs["expected"] / runs["common"].where(runs["common"] > 0)
    return runs


def read_published(data: Path | None) -> pd.DataFrame:
    """Return the published figures: encoding, file, strangers, overlap, found."""
    if data is None:
        return pd.DataFrame(columns=["encoding", "file", "strangers", "overlap", "found"])
    return pd.read_csv(data / "gma_published.csv")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def share(value: float) -> str:
    """Write a share as the rest of the documentation does; a dash where it is undefined."""
    return "–" if np.isnan(value) else f"{value:.3f}".lstrip("0") if value < 0.9995 else "1.000"


def _range(values: pd.Series) -> str:
    """Write a mean, and the least where splits differ."""
    mean, least = share(values.mean()), share(values.min())
    return mean if values.max() - values.min() < 0.005 or mean == least else f"{mean} (least {least})"


def _rates(group: pd.DataFrame) -> list[str]:
    mean, peak = group["share_expected"].mean(), group["memory"].max()
    expected = share(mean) if np.isnan(mean) or mean < 0.9995 else f"{mean:.3f}"  # more than all can be expected
    cost = [f"{group['seconds'].mean():.0f}", "–" if np.isnan(peak) else f"{peak:,.0f}"]
    return [_range(group["found"]), share(_pooled(group)), expected, *cost, str(len(group))]


def _pooled(group: pd.DataFrame) -> float:
    """Return the share of right ones among all claims of a cell."""
    claims = group["claims"].sum()
    return float(group["right"].sum() / claims) if claims else float("nan")


RATES = ["found", "precision", "expected ÷ common", "CPU s", "peak MB", "splits"]


def _release(cell: dict[str, object]) -> str:
    """Say in words what is released."""
    source, mask = str(cell["source"]), str(cell["mask"])
    kind, _, rest = source.partition("-")
    file, _, only = source.partition(" ")
    said = {
        "roads": "road travel times",
        "mixture": f"mixture in {rest} dimensions",
        "points": f"points in {rest} dimensions",
        "edits": "edit distances of names",
        "germany": "homes in Germany",
    }.get(kind) or f"{'names' if only else 'names and birthdays' if file.startswith('fake') else 'names'} ({file})"
    how = {"bf": "Bloom filters", "tmh": "MinHash", "tsh": "two-step hash"}.get(NAMES.get(mask, ""), mask)
    if mask.startswith("noise="):
        how = f"noise {float(mask.removeprefix('noise=')):g} of the mean"
    more = f", {cell['groups']} labels" if cell["groups"] else ""
    return f"{said}, {how}{more}" + (", typing errors in the known file" if cell["errors"] else "")


def _cells(runs: pd.DataFrame) -> Iterable[tuple[dict[str, object], pd.DataFrame]]:
    names = ["source", "mask", "targets", "known", "common", "groups", "errors"]
    for key, group in runs.groupby(names, sort=False):
        yield dict(zip(names, key, strict=True)), group


def spaces_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return what was found in each cell."""
    rows = [
        [_release(cell), f"{cell['targets']} × {cell['known']}, {cell['common']}", *_rates(group)]
        for cell, group in _cells(runs)
    ]
    return markdown(["release", "targets × known, common", *RATES], rows)


def alarms_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return the share of targets that were claimed where nobody is in both files."""
    rows = [
        [
            _release(cell),
            f"{cell['targets']} × {cell['known']}",
            f"{group['claims'].sum() / group['targets'].sum():.2%}",
            f"{(group['claims'] > 0).sum()} of {len(group)}",
        ]
        for cell, group in _cells(runs)
    ]
    total = [f"{runs['claims'].sum() / runs['targets'].sum():.2%}", f"{(runs['claims'] > 0).sum()} of {len(runs)}"]
    return markdown(["release", "targets × known", "claimed", "pairs of files"], [*rows, ["all", "", *total]])


def published_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return the published figures and ours, cell by cell."""
    rows = []
    order = runs.assign(encoding=runs["mask"].map(NAMES), place=runs["source"].map(list(FILES).index))
    order = order.sort_values(["strangers", "encoding", "place", "overlap"], ascending=[False, True, True, True])
    for key, group in order.groupby(["strangers", "encoding", "source", "overlap"], sort=False):
        strangers, encoding, file, overlap = key
        theirs = published_figure(published, encoding, file, strangers, overlap)
        where = "both sides" if strangers == "Both" else "known side"
        rows.append([where, encoding, file, f"{overlap:g}", share(theirs), *_rates(group)])
    return markdown(["strangers", "encoding", "file", "overlap", "published", *RATES], rows)


def published_figure(published: pd.DataFrame, encoding: str, file: str, strangers: str, overlap: float) -> float:
    """Return a published share found, NaN where there is none."""
    at = published[
        (published["encoding"] == encoding)
        & (published["file"] == file.replace("recombined", "fakename"))
        & (published["strangers"] == strangers)
        & np.isclose(published["overlap"].astype(float), overlap)
    ]
    return float(at["found"].mean()) if len(at) else float("nan")


def errors_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return what is found with a list that has errors, beside what was published for such lists."""
    rows = []
    people = runs["source"].str.extract(r"_(\d+)k", expand=False).astype(int)
    whole = runs["source"].str.contains("typed|letters")  # nearly every record is wrong
    runs = runs.assign(people=people, whole=whole).sort_values(
        ["whole", "people", "source", "errors", "overlap", "by"], ascending=[False, True, False, True, True, False]
    )
    for (source, wrong, overlap, by), group in runs.groupby(["source", "errors", "overlap", "by"], sort=False):
        file, _, fault = str(source).partition(" with ")
        theirs = PUBLISHED_ERRORS.get((file, fault, overlap), float("nan"))
        named = share(group["classes"].map(_count_right).sum() / group["common"].sum())
        rows.append([file, _fault(fault, float(wrong)), f"{overlap:g}", share(theirs), str(by), named, *_rates(group)])
    return markdown(["file", "errors in the list", "overlap", "published", "attack", "named at all", *RATES], rows)


def _count_right(classes: str) -> int:
    """Return how many right pairs are named, however improbable."""
    return sum(int(one.split(":")[2]) for one in classes.split())


def _fault(fault: str, records: float) -> str:
    """Say in words what is wrong in a list."""
    kind, _, rate = fault.partition("-")
    said = {
        "typed": "10 % of the letters (published file)",
        "letters": f"{rate} % of the letters",
        "swapped": f"names exchanged in {rate} % of the records",
        "missing": f"no birthday in {rate} % of the records",
    }
    return said.get(kind, f"a typing error in {records:.0%} of the records")


def several_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return what is found by each of several encodings of a person, and by all together."""
    columns = ("given name", "surname", "birthday")
    rows = []
    for (overlap, mask), group in runs.groupby(["overlap", "mask"], sort=False):
        parts = str(mask).removeprefix("columns=").split("+")
        said = " + ".join(f"({', '.join(columns[int(k)] for k in part)})" for part in parts)
        rows.append([f"{overlap:g}", said, *_rates(group)])
    return markdown(["overlap", "encoded", *RATES], rows)


def peers_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return what each solver found on the same files, and its processor time as a multiple of ours."""
    rows = []
    for overlap, cell in runs.groupby("overlap", sort=False):
        ours = cell.loc[cell["by"] == "profiles", "seconds"].mean()
        for by, group in cell.groupby("by", sort=False):
            name = PEERS[str(by)][0] if by in PEERS else "disclique `profiles`"
            ratio = f"{group['seconds'].mean() / ours:.2f}" if ours > 0 else "–"
            rows.append([f"{overlap:g}", name, _range(group["found"]), share(_pooled(group)), ratio, str(len(group))])
    return markdown(["overlap", "solver", "found", "precision", "CPU time ÷ ours", "splits"], rows)


def protect_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return for every dial what is found, and how well the encodings still link."""
    rows = []
    for mask, group in runs.groupby("mask", sort=False):
        found = [_range(_dialled(group, overlap, seeds)["found"]) for overlap, seeds in ((1.0, 0), (0.5, 0), (1.0, 50))]
        rows.append([f"`{_dial(str(mask))}`", *found, share(group["linkage"].mean())])
    head = ["encoding", "found, all common", "found, half common", "found by an insider", "linkage F1"]
    return markdown(head, rows)


def _dialled(runs: pd.DataFrame, overlap: float, seeds: int) -> pd.DataFrame:
    return runs[np.isclose(runs["overlap"], overlap) & (runs["seeds"] == seeds)]


def _dial(mask: str) -> str:
    """Write an encoding by what differs from the usual Bloom filter."""
    usual = set(BLOOM.replace(":", ",").split(","))
    parts = [part for part in mask.replace(":", ",").split(",") if part not in usual or part == "bloom"]
    return parts[0] + (":" + ",".join(parts[1:]) if len(parts) > 1 else "")


def calibration(runs: pd.DataFrame) -> pd.DataFrame:
    """Return for each class of probabilities the pairs, their mean probability and the share of true ones."""
    said = runs.loc[runs["classes"] != "", "classes"].str.split(" ")
    cells = np.array([[[float(x) for x in one.split(":")] for one in row] for row in said])
    pairs, total, true = cells.sum(axis=0).T if len(cells) else np.zeros((3, 0))
    some = pairs > 0
    return pd.DataFrame(
        {"pairs": pairs[some], "probability": total[some] / pairs[some], "true": true[some] / pairs[some]}
    )


def calibration_table(runs: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return the probabilities given and the shares of true pairs, over all cells whose files share people."""
    names, wrong = runs["mask"].isin(ENCODINGS.values()), (runs["part"] == "errors") | (runs["errors"] > 0)
    kinds = {
        "names": names & ~wrong,
        "names, errors in the list": names & wrong & (runs["by"] != "code"),
        "names, errors in the list, by `code`": names & wrong & (runs["by"] == "code"),
        "roads": runs["source"] == "roads",
        "vectors": runs["source"].str.match("points|mixture"),
        "edit distances": runs["source"] == "edits",
    }
    rows = [
        [name, f"{one.pairs:,.0f}", share(one.probability), share(one.true)]
        for name, chosen in kinds.items()
        for one in calibration(runs[chosen]).itertuples()
    ]
    return markdown(["files", "pairs", "mean probability", "share of true pairs"], rows)


Table = Callable[[pd.DataFrame, pd.DataFrame], str]
TABLES: dict[str, tuple[tuple[str, ...], Table]] = {
    "first": (("first",), spaces_table),
    "spaces": (("spaces",), spaces_table),
    "alarms": (("alarms",), alarms_table),
    "published": (("published",), published_table),
    "errors": (("errors",), errors_table),
    "fakes": (("fakes",), spaces_table),
    "several": (("several",), several_table),
    "peers": (("peers",), peers_table),
    "protect": (("protect",), protect_table),
    "calibration": (("first", "spaces", "published", "errors"), calibration_table),
}


def draw_overlap(runs: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw the share found against the overlap, a line for each file; what was published is dashed."""
    kinds = [kind for kind in ("Both", "Alice") if (runs["strangers"] == kind).any()]
    figure = Figure(figsize=(5.2 * len(kinds) + 1.6, 4.2), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(kinds), sharey=True))
    for axes, kind in zip(panels, kinds, strict=True):
        _overlap_lines(axes, runs[runs["strangers"] == kind], published[published["strangers"] == kind])
        where = "in both files" if kind == "Both" else "in the known file only"
        axes.set(title=f"strangers {where}", xlabel="overlap: share of common people", ylim=(-0.02, 1.04), xlim=(0, 1))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of the common people found")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", title="people", frameon=False)
    return figure


def _overlap_lines(axes: Axes, ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    # lines that coincide at 1 show by marks of falling size
    for (file, name), colour, size in zip(FILES.items(), PLOT_COLOURS, (9, 7, 5, 3, 9, 7, 5), strict=False):
        line = ours[ours["source"] == file].groupby("overlap")["found"].mean()
        if len(line):
            axes.plot(line.index, line, "o-", color=colour, markersize=size, linewidth=2, label=f"{name}, disclique")
        other = theirs[theirs["file"] == file.replace("recombined", "fakename")].groupby("overlap")["found"].mean()
        if len(other):
            axes.plot(other.index, other, "--", color=colour, linewidth=1.2, label=f"{name}, published")


def draw_dials(runs: pd.DataFrame) -> Figure:
    """Draw for every encoding what is found and how well it links: dots on a line."""
    masks = list(dict.fromkeys(runs["mask"]))
    figure = Figure(figsize=(8, 0.27 * len(masks) + 1.3), layout="constrained")
    axes = figure.add_subplot()
    rows = np.arange(len(masks))
    series = {
        "found by an insider who knows 50": (_dialled(runs, 1.0, 50), "found", "s", PLOT_COLOURS[6]),
        "found, everybody in both files": (_dialled(runs, 1.0, 0), "found", "o", PLOT_COLOURS[1]),
        "found, half of them in both": (_dialled(runs, 0.5, 0), "found", "D", PLOT_COLOURS[4]),
        "linkage with typing errors (F1)": (runs, "linkage", "|", PLOT_COLOURS[0]),
    }
    for name, (part, column, mark, colour) in series.items():
        means = part.groupby("mask")[column].mean().reindex(masks)
        size = {"|": 13, "s": 12, "o": 9, "D": 5}[mark]  # so that one shows behind the other
        axes.plot(means, rows, mark, color=colour, markersize=size, markeredgewidth=2, label=name, linestyle="none")
    axes.set_yticks(rows, [_dial(mask) for mask in masks], fontsize=9)
    axes.invert_yaxis()
    axes.set(xlim=(-0.03, 1.03), xlabel="share")
    axes.grid(axis="both", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return figure


def show(results: Path, data: Path | None, *, document: bool) -> None:
    """Print the tables of all parts that were run; to ``document``, put them into the pages and draw the pictures."""
    if not results.exists():
        print(f"{results}: no runs yet")
        return
    runs, published = read_runs(results), read_published(data)
    for name, (parts, table) in TABLES.items():
        chosen = runs[runs["part"].isin(parts)]
        if len(chosen):
            text = table(chosen, published)
            print(f"\n{name}\n\n{text}")
            if document:
                put(name, text)
    if document:
        draw(runs, published)


def draw(runs: pd.DataFrame, published: pd.DataFrame) -> None:
    """Draw the pictures for which there are runs."""
    grid = runs[(runs["part"] == "published") & (runs["mask"] == BLOOM)]
    if len(grid) and len(published):
        save_figure(draw_overlap(grid, published[published["encoding"] == "bf"]), DOCS / "img" / "matching.png")
    if (runs["part"] == "protect").any():
        save_figure(draw_dials(runs[runs["part"] == "protect"]), DOCS / "img" / "matching_dials.png")
    weighed = runs[runs["part"].isin(TABLES["calibration"][0])]
    if (weighed["classes"] != "").any():
        save_figure(draw_reliability({"profiles": calibration(weighed)}), DOCS / "img" / "matching_reliability.png")


def put(name: str, text: str) -> None:
    """Put a table between its marks, on whatever page has them."""
    begin, end = f"<!-- matching {name}: begin -->\n", f"<!-- matching {name}: end -->"
    for page in (DOCS / name for name in PAGES):
        said = page.read_text(encoding="utf-8") if page.exists() else ""
        if begin in said:
            before, rest = said.split(begin)
            page.write_text(f"{before}{begin}{text}{end}{rest.split(end)[1]}", encoding="utf-8")
