"""What audits cost against the size of the file: the figures of docs/evidence/scale.md, in processor seconds.

    python benchmarks/scale.py releases          one release by size, with the slope
    python benchmarks/scale.py audit 2000        a whole audit of so many records
    python benchmarks/scale.py slow 2000         its risk beside that of --thorough, on the settings where both ran
    python benchmarks/scale.py --document        table and plot into docs/

People are synthetic Germans with sex and age class; the snooper knows a tenth of them, among as many others as are
released. The mask is ``gaussian:sigma=1km..50km``, and everything else is as it is by default. One process, one thread.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

import disclique as dq
from disclique.audits import Audit, Plan, Snooper, run_audit
from disclique.audits.estimate import estimate_audit
from disclique.audits.rates import measure_risk
from disclique.audits.unit import run_unit
from disclique.masks.settings import Setting
from disclique.model import Microdata
from disclique.runs import Serial, Unit
from disclique.show.plots import PLOT_COLOURS, save_figure
from disclique.synthetic.people import germany

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scale.json"
DOCS = HERE.parent / "docs"
BEGIN, END = "<!-- scale: begin -->\n", "<!-- scale: end -->"
RANGE = "gaussian:sigma=1km..50km"
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
WIDTHS = ("1km", "7km", "50km")  # nearly everybody is found, many are, few are
SLOW = ("1km", "7km", "20km")
PLAIN = 5  # a repetition without the control, which is measured once


def make_people(n: int) -> Microdata:
    """Draw the people of the file."""
    table = germany(n_target=n, n_known=10, common=5, rng=np.random.default_rng(1)).target.reset_index(drop=True)
    table["person"] = [f"p{row}" for row in range(n)]
    return dq.microdata(table, ["sex", "age_class"], coordinates=["lon", "lat"], ids="person", name="people")


def make_audit(n: int, masks: tuple[str, ...] = (RANGE,), **options: Any) -> Audit:
    """Plan an audit: a range of noise, a tenth known."""
    return Audit(Plan(masks, Snooper(overlap=0.1), **options), make_people(n))


def spent() -> float:
    """Return processor seconds of this process and of those it started."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def peak() -> float:
    """Return the most memory held so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def time_releases() -> dict[str, Any]:
    """Time one release of every size and width; the first of a size prepares what all others share."""
    found: dict[str, dict[str, float]] = {}
    for n in SIZES:
        specs = tuple(f"gaussian:sigma={width}" for width in WIDTHS)
        audit = make_audit(n, specs)
        run_unit(audit, Unit(Setting.parse(specs[0]), PLAIN + 1))
        for width, spec in zip(WIDTHS, specs, strict=True):
            before = spent()
            record = run_unit(audit, Unit(Setting.parse(spec), PLAIN))
            found.setdefault(width, {})[str(n)] = spent() - before
            ran = {one.attack: round(one.hits.prosecutor) for one in record.attempts if one.applies}
            print(f"{n:6d} {width:>5s} {found[width][str(n)]:7.2f} s  {ran}  {peak():.1f} GB", flush=True)
    slopes = {}
    for width, times in found.items():
        many = np.array([int(n) for n in times], dtype=float)
        slopes[width] = float(np.polyfit(np.log(many), np.log(list(times.values())), 1)[0])
    return {"seconds": found, "slopes": slopes}


def time_audit(n: int, max_risk: float | None) -> dict[str, Any]:
    """Time the estimate and the audit itself."""
    audit = make_audit(n, max_risk=max_risk)
    before, begun = spent(), time.perf_counter()
    estimate = estimate_audit(audit, Serial())
    told = {"estimate": spent() - before, "expected": estimate.seconds}
    print(f"estimate: {told}", flush=True)
    before = spent()
    result = run_audit(audit)
    risks = {one.spec: [one.risk.value, one.repetitions] for one in result.settings}
    releases = sum(one.repetitions for one in result.settings)
    told |= {"seconds": spent() - before, "releases": releases, "wall": time.perf_counter() - begun, "peak_gb": peak()}
    return told | {"risks": risks, "verdict": list(result.verdict.sentences), "trials": audit.plan.person_trials}


def compare(n: int, repetitions: int) -> dict[str, Any]:
    """Measure the risk by all attacks on the same releases, and by those that an audit does not spare."""
    found: dict[str, Any] = {}
    for width in SLOW:
        spec = f"gaussian:sigma={width}"
        for name, thorough in (("quick", False), ("slow", True)):
            audit, before = make_audit(n, (spec,), thorough=thorough), spent()
            records = {k: run_unit(audit, Unit(Setting.parse(spec), k)) for k in range(PLAIN, PLAIN + repetitions)}
            risk = measure_risk(records, audit.plan.attack_names, audit.plan.scenario)
            found.setdefault(width, {})[name] = {"risk": risk.value, "attack": risk.attack, "seconds": spent() - before}
            print(n, width, name, found[width][name], flush=True)
    return {"repetitions": repetitions, "widths": found}


def document() -> None:
    """Write table and plot into the docs."""
    kept = read_results()
    page = DOCS / "evidence" / "scale.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    rows = [
        "| records | "
        + " | ".join(f"σ = {width}" for width in WIDTHS)
        + " | whole audit | releases | estimate | memory |"
    ]
    rows.append("|" + "---|" * (len(WIDTHS) + 5))
    for n in SIZES:
        cells = [f"{kept['releases']['seconds'][width][str(n)]:.1f} s" for width in WIDTHS]
        one = kept.get(f"audit {n}")
        whole = ["", "", "", ""]
        if one:
            whole = [
                f"{one['seconds'] / 60:.1f} min",
                str(one["releases"]),
                f"{one['estimate']:.0f} s",
                f"{one['peak_gb']:.1f} GB",
            ]
        rows.append(f"| {n:,} | " + " | ".join([*cells, *whole]) + " |")
    slopes = ", ".join(f"{slope:.2f} at σ = {width}" for width, slope in kept["releases"]["slopes"].items())
    text = "\n".join(rows) + f"\n\nSlope on logarithmic axes: {slopes}.\n"
    page.write_text(before + BEGIN + text + END + rest.split(END)[1], encoding="utf-8")
    save_figure(draw(kept), DOCS / "img" / "scale.png")


def draw(kept: dict[str, Any]) -> Figure:
    """Draw the cost of a release against the number of records, both logarithmic."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for colour, (width, times) in zip(PLOT_COLOURS, kept["releases"]["seconds"].items(), strict=False):
        many = np.array([int(n) for n in times], dtype=float)
        slope = kept["releases"]["slopes"][width]
        axes.plot(many, list(times.values()), "o-", color=colour, label=f"σ = {width}, slope {slope:.2f}")
    low = min(min(times.values()) for times in kept["releases"]["seconds"].values())
    ends = np.array([SIZES[0], SIZES[-1]], dtype=float)
    axes.plot(ends, low * ends / ends[0], "--", color="#7F7F7F", linewidth=1, label="in proportion to the records")
    axes.set(xscale="log", yscale="log", xlabel="records released, and as many known", ylabel="CPU seconds a release")
    axes.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def read_results() -> dict[str, Any]:
    """Return what was measured so far."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def main() -> None:
    """Measure one thing and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("releases", "audit", "slow"))
    parser.add_argument("records", nargs="?", type=int, default=2000)
    parser.add_argument("--max-risk", type=float, default=None)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--document", action="store_true")
    asked = parser.parse_args()
    kept = read_results()
    with threadpool_limits(1):
        if asked.what == "releases":
            kept["releases"] = time_releases()
        elif asked.what == "audit":
            kept[f"audit {asked.records}"] = time_audit(asked.records, asked.max_risk)
        elif asked.what == "slow":
            kept[f"slow {asked.records}"] = compare(asked.records, asked.repetitions)
    if asked.what:
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(next(reversed(kept.values())), indent=1))
    if asked.document:
        document()


if __name__ == "__main__":
    main()
