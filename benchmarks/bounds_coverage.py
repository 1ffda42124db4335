"""How often the ends of intervals hold: the figures of docs/evidence/verdicts.md, simulated from fixed seeds.

    python benchmarks/bounds_coverage.py [--runs 2000] [--document]

A release has a risk: the share of its 100 people that are found. It is drawn by a law whose mean is known, so that one
can count how often a bound from 5 or 20 releases lies below that mean. *Search* is the audit's own search for the
weakest of 17 settings (``audits/search.py``), given releases from such laws along a falling curve of risk.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from disclique.audits.rates import SettingRisk, rate
from disclique.audits.search import search_range
from disclique.audits.verdict import Figures, Judgement, Limits
from disclique.masks.settings import Setting, parse_range
from disclique.measures.bounds import LEVEL, p_value, smooth_upper_end, upper_end
from disclique.show.plots import PLOT_COLOURS, save_figure
from disclique.values import FloatArray

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "evidence" / "verdicts.md"
PEOPLE = 100
FAMILY = parse_range("gaussian:sigma=100m..5km")
FOUND, ELSE = 0.95, 0.05  # an attack that succeeds finds so many, one that fails at most so many
Bound = Callable[[FloatArray], float]


@dataclass(frozen=True)
class Law:
    """How the risk of one release is drawn, given its mean: from uniform numbers, so that settings can share them."""

    kind: str
    scatter: float = 0.0  # correlation of two people of one release

    def draw(self, mean: float, releases: int, rng: np.random.Generator) -> FloatArray:
        """Draw the shares of people found."""
        if self.kind == "all or nothing":
            often = (mean - ELSE / 2) / (FOUND - ELSE / 2)
            luck = rng.random(releases) < often
            return np.where(luck, FOUND, np.round(rng.uniform(0, ELSE, releases), 2))
        chance = np.full(releases, mean)
        if self.scatter:
            size = 1 / self.scatter - 1
            chance = rng.beta(mean * size, (1 - mean) * size, releases)
        return rng.binomial(PEOPLE, chance) / PEOPLE


ALIKE, LOOSE, TIED = Law("people alone"), Law("clustered", 0.05), Law("clustered", 0.3)
SPLIT = Law("all or nothing")


def bound_now(shares: FloatArray) -> float:
    """Return the upper end by Student and Wilson, pooled: two-sided, 95 %."""
    hits = np.round(shares * PEOPLE).astype(int).tolist()
    return rate(hits, [PEOPLE] * len(hits)).high or 0.0


def bound_smooth(shares: FloatArray) -> float:
    """Return the end for yardsticks that vary smoothly."""
    return smooth_upper_end(shares, np.full(len(shares), PEOPLE))


BOUNDS: dict[str, Bound] = {"Student/Wilson": bound_now, "smooth": bound_smooth, "Gaffke": upper_end}


class Cell(NamedTuple):
    """The coverage of each bound and its mean width above the true mean, in one case."""

    law: Law
    mean: float
    releases: int
    covers: dict[str, float]
    above: dict[str, float]


def plain_cases() -> Iterable[tuple[Law, float]]:
    """Return laws and means."""
    for law in (ALIKE, LOOSE, TIED):
        yield from ((law, mean) for mean in (0.02, 0.05, 0.1, 0.3))
    yield from ((SPLIT, 0.025 + often * (FOUND - 0.025)) for often in (0.02, 0.05, 0.1, 0.2, 0.5))


def measure(law: Law, mean: float, releases: int, runs: int) -> Cell:
    """Count how often each bound lies at or above the mean; how far above it, from every tenth sample."""
    rng = np.random.default_rng([20_000, releases, int(1000 * mean), int(100 * law.scatter)])
    samples = [law.draw(mean, releases, rng) for _ in range(runs)]
    ends = {name: np.array([bound(x) for x in samples[::10]]) for name, bound in BOUNDS.items()}
    covers = {
        "Student/Wilson": np.mean([bound_now(x) >= mean for x in samples]),
        "smooth": np.mean([bound_smooth(x) >= mean for x in samples]),
        "Gaffke": np.mean([p_value(x, mean) >= 1 - LEVEL for x in samples]),
    }
    above = {name: float((end - mean).mean()) for name, end in ends.items()}
    return Cell(law, mean, releases, {name: float(share) for name, share in covers.items()}, above)


def curves(limit: float) -> dict[str, FloatArray]:
    """Return the true risk of 17 settings, in cases that try the search."""
    dial = np.arange(17)
    return {
        "steep": 0.03 + 0.87 * np.exp(-((dial / 6) ** 2)),
        "slow": np.linspace(1.5, 0.4, 17) * limit,
        "just above": np.linspace(1.15, 1.01, 17) * limit,
        "step": np.where(dial < 14, 1.05 * limit, 0.6 * limit),
    }


class Searched(NamedTuple):
    """What searches ended with: chosen at all, a true risk above the upper end, a true risk above the limit."""

    curve: str
    law: Law
    releases: int
    limit: float
    bound: str
    chosen: float
    missed: float
    broken: float


class Releases:
    """The releases of 17 settings in one audit, and what a search has seen of them.

    Where settings ``share`` their chance, as those of a mask do in an audit, each repetition has the same random
    numbers at every setting.
    """

    def __init__(self, case: tuple[str, Law, int, float, bool], bound: str, run: int) -> None:
        curve, law, self.releases, self.limit, share = case
        self.risk, self.bound, self.tried = curves(self.limit)[curve], bound, dict[Setting, int]()
        rngs = (np.random.default_rng([30_000, run, 0 if share else i]) for i in range(len(self.risk)))
        self.drawn = [law.draw(float(r), self.releases, rng) for r, rng in zip(self.risk, rngs, strict=True)]
        self.place = {setting: i for i, setting in enumerate(FAMILY.settings)}

    def holds(self, setting: Setting, mean: float, many: int) -> bool:
        """Whether the upper end of a setting is at most ``mean``."""
        x = self.drawn[self.place[setting]][:many]
        return p_value(x, mean) <= 1 - LEVEL if self.bound == "Gaffke" else BOUNDS[self.bound](x) <= mean

    def judge(self, setting: Setting) -> Judgement | None:
        """Tell the search what it may know: the mean, and after all repetitions whether the limit is kept."""
        many = self.tried.get(setting)
        if many is None:
            return None
        mean = float(self.drawn[self.place[setting]][:many].mean())
        high = self.limit if many >= self.releases and self.holds(setting, self.limit, many) else 1.0
        risk = SettingRisk("register", mean, (0.0, high), many, lower_bound=False, most=mean, measured_high=high)
        return Judgement(Figures(risk, self.releases), Limits(self.limit))

    def search(self) -> Setting | None:
        """Return the setting that the audit's search chooses."""
        steps = search_range(FAMILY, self.releases, self.judge)
        try:
            while True:
                for one in next(steps):
                    self.tried[one.setting] = max(self.tried.get(one.setting, 0), one.repetitions)
        except StopIteration as end:
            return next((one for one in FAMILY.settings if str(one) == end.value.setting), None)


def search(case: tuple[str, Law, int, float, bool], bound: str, runs: int) -> Searched:
    """Let the audit's search choose settings whose risks are drawn."""
    chosen = missed = broken = 0
    for run in range(runs):
        audit = Releases(case, bound, run)
        found = audit.search()
        if found is not None:
            true = float(audit.risk[audit.place[found]])
            chosen += 1
            missed += audit.holds(found, true * (1 - 1e-12), audit.releases)
            broken += true > audit.limit
    curve, law, releases, limit, _ = case
    return Searched(curve, law, releases, limit, bound, chosen / runs, missed / runs, broken / runs)


def search_cases() -> list[tuple[str, Law, int, float, bool]]:
    """Return curves, laws, numbers of releases and limits; below a limit of .17 twenty releases show nothing."""
    return [
        (curve, law, releases, limit, share)
        for releases, limit in ((20, 0.25), (5, 0.6))
        for law in (ALIKE, TIED, SPLIT)
        for curve in curves(limit)
        for share in (True, False)
    ]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _name(law: Law) -> str:
    return f"{law.kind} ({law.scatter:g})" if law.scatter else law.kind


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def plain_table(cells: Sequence[Cell]) -> str:
    """Return the least coverage over the means of a law, and how far the bound lies above the mean."""
    rows = []
    for releases in (5, 20):
        for law in (ALIKE, LOOSE, TIED, SPLIT):
            group = [cell for cell in cells if cell.law == law and cell.releases == releases]
            row = [str(releases), _name(law)]
            for name in BOUNDS:
                least = min(cell.covers[name] for cell in group)
                row.append(f"{_percent(least)} (+{np.mean([cell.above[name] for cell in group]):.2f})")
            rows.append(row)
    return markdown(["releases", "risk of a release", *BOUNDS], rows)


def search_table(found: Sequence[Searched]) -> str:
    """Return the worst case of every law and number of releases."""
    rows = []
    keys = dict.fromkeys((one.releases, one.limit, one.law, one.bound) for one in found)
    for releases, limit, law, bound in keys:
        group = [one for one in found if (one.releases, one.law, one.bound) == (releases, law, bound)]
        missed, broken = max(one.missed for one in group), max(one.broken for one in group)
        rows.append([str(releases), f"{limit:g}", _name(law), bound, _percent(1 - missed), _percent(broken)])
    return markdown(["releases", "limit", "risk of a release", "bound", "end holds", "limit broken"], rows)


def draw(cells: Sequence[Cell], found: Sequence[Searched]) -> Figure:
    """Draw the coverage of each bound: alone, for every law and mean, and after a search."""
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True, width_ratios=(17, 17, 12))
    marks = dict(zip(BOUNDS, ("s", "D", "o"), strict=True))
    for axes, releases, least in ((panels[0], 5, 0.94), (panels[1], 20, 0.96)):
        group = [cell for cell in cells if cell.releases == releases]
        for name, colour in zip(BOUNDS, (PLOT_COLOURS[1], PLOT_COLOURS[4], PLOT_COLOURS[0]), strict=True):
            high = [cell.covers[name] for cell in group]
            axes.plot(range(len(group)), high, marks[name], color=colour, label=name, markersize=6)
        axes.set_title(f"{releases} releases", fontsize=11)
        axes.set_xticks(range(len(group)), [f"{cell.mean:.2f}".lstrip("0") for cell in group], fontsize=8, rotation=90)
        for at in (3.5, 7.5, 11.5):
            axes.axvline(at, color="#BBBBBB", linewidth=0.8)
        for at, name in (
            (1.5, "people\nalone"),
            (5.5, "clustered\n.05"),
            (9.5, "clustered\n.3"),
            (14.2, "all or\nnothing"),
        ):
            axes.text(at, 0.02, name, ha="center", va="bottom", fontsize=8, transform=axes.get_xaxis_transform())
        axes.set_xlabel("true mean risk")
        axes.axhline(least, color="#444444", linewidth=1, linestyle="--")
    worst: dict[tuple[int, str], list[float]] = {}
    for one in found:
        worst.setdefault((one.releases, one.bound), []).append(1 - one.missed)
    for place, ((releases, name), values) in enumerate(sorted(worst.items())):
        colour = PLOT_COLOURS[0] if name == "Gaffke" else PLOT_COLOURS[1]
        spread = np.linspace(-0.25, 0.25, len(values))
        panels[2].plot(place + spread, values, marks[name], color=colour, markersize=5)
        panels[2].text(place, 0.02, f"{releases}", ha="center", fontsize=9, transform=panels[2].get_xaxis_transform())
    panels[2].set_title("after the search among 17 settings", fontsize=11)
    panels[2].set_xticks([])
    panels[2].set_xlabel("releases")
    for axes in panels:
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set(ylabel="share of audits whose upper end holds", ylim=(-0.02, 1.03))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", title="upper end", frameon=False)
    return figure


def put(name: str, text: str) -> None:
    """Put a table between its marks in docs/evidence/verdicts.md."""
    begin, end, page = f"<!-- coverage {name}: begin -->\n", f"<!-- coverage {name}: end -->", PAGE
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}{text}{end}{rest.split(end)[1]}", encoding="utf-8")


def main() -> None:
    """Simulate, print, and with ``--document`` write tables and picture into the documentation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--document", action="store_true")
    asked = parser.parse_args()
    cells = [measure(law, mean, releases, asked.runs) for releases in (5, 20) for law, mean in plain_cases()]
    found = [search(case, bound, asked.runs // 4) for case in search_cases() for bound in ("Student/Wilson", "Gaffke")]
    tables = {"plain": plain_table(cells), "search": search_table(found)}
    for name, text in tables.items():
        print(f"\n{name}\n\n{text}")
        if asked.document:
            put(name, text)
    if asked.document:
        save_figure(draw(cells, found), DOCS / "img" / "coverage.png")


if __name__ == "__main__":
    main()
