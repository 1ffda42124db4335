"""Who is exposed: the risk of every record, how it is spread over people, and the groups that are most at risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.audits.decision import Decision
from disclique.audits.definition import Audit, Varied
from disclique.audits.facts import GroupRisk, PeopleRisk
from disclique.audits.rates import measure_risk
from disclique.audits.records import Records
from disclique.masks.settings import Setting
from disclique.messages import percent
from disclique.model import FloatArray
from disclique.records.coarsening import AS_THEY_ARE, Recoding
from disclique.records.labels import label_tuples

GROUPS = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, None))  # label group sizes shown together
SPARSE = ((0.0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))  # shares of the file, the sparsest first


@dataclass(frozen=True, eq=False)
class Findings:
    """The records of every setting that was tried, the decisions, and how the run went.

    ``trials`` are those of settings in which the oracle was asked for every person, ``varied`` those of the verdict's
    setting with one thing assumed otherwise.
    """

    records: Mapping[Setting, Records]
    decisions: tuple[Decision, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    trials: Mapping[Setting, Records] = field(default_factory=dict)
    varied: Mapping[Varied, Records] = field(default_factory=dict)


def add_trials(trials: Records) -> tuple[NDArray[np.int64], FloatArray]:
    """Add up how often every person was asked for, and how often named rightly."""
    there = [one.trials for one in trials.values() if one.trials is not None]
    if not there:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.sum([one.asked for one in there], axis=0), np.sum([one.right for one in there], axis=0)


def count_sharing(audit: Audit, recoding: Recoding = AS_THEY_ARE) -> NDArray[np.int64]:
    """Count how many released records share the label of each one, recoded in a way: its k-anonymity by labels."""
    labels = label_tuples(recoding.apply(audit.target).labels)
    counts = pd.Series(labels, dtype=object).value_counts()
    return np.array([counts[label] for label in labels], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Group:
    """Records that have something in common: by ``label`` its size, by ``density`` how sparsely people live there."""

    by: str
    name: str
    inside: NDArray[np.bool_]


def group_by_label(sizes: NDArray[np.int64]) -> list[Group]:
    """Return the records by how many share their label."""
    names = [(f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}") for low, high in GROUPS]
    inside = [(sizes >= low) & (sizes <= (high or np.inf)) for low, high in GROUPS]
    return [Group("label", name, found) for name, found in zip(names, inside, strict=True) if found.any()]


def group_by_distance(audit: Audit) -> list[Group]:
    """Return the records by how far their fifth nearest other record is: the sparsest tenth first."""
    source, size = audit.target.distances, len(audit.target)
    if size < 20:
        return []
    everybody, reach = np.arange(size, dtype=np.int32), np.empty(size)
    step = max(4_000_000 // size, 1)
    for first in range(0, size, step):
        rows = everybody[first : first + step]
        found = source.block(rows, everybody)
        reach[rows] = np.partition(np.where(np.isnan(found), np.inf, found), 5, axis=1)[:, 5]
    rank = np.empty(size)
    rank[np.lexsort((everybody, -reach))] = (np.arange(size) + 0.5) / size
    names = ["farthest 10 %", "10-25 %", "25-50 %", "50-75 %", "nearest 25 %"]
    inside = [(rank >= low) & (rank < high) for low, high in SPARSE]
    return [Group("density", name, found) for name, found in zip(names, inside, strict=True) if found.any()]


@dataclass(frozen=True, eq=False)
class RecordRisks:
    """The risk of every record under one setting: how often it was asked for, its risk (NaN: never), and by what."""

    spec: str
    source: str
    asked: NDArray[np.int64]
    risk: FloatArray
    by_attack: dict[str, FloatArray]


def measure_people(audit: Audit, found: Findings, setting: Setting) -> RecordRisks:
    """Measure the risk of every record: by the oracle where it was asked for everybody, else by the worst attack."""
    records, size = found.records[setting], len(audit.target)
    times = np.zeros(size, dtype=np.int64)
    right = {name: np.zeros(size) for name in audit.plan.attack_names}
    for record in records.values():
        times[list(record.common)] += 1
        for attempt in record.attempts:
            for row, chance in attempt.named:
                right[attempt.attack][row] += chance
    with np.errstate(invalid="ignore"):
        by_attack = {name: hits / np.where(times > 0, times, np.nan) for name, hits in right.items()}
    asked, hits = add_trials(found.trials.get(setting, {}))
    if (asked > 0).any():
        with np.errstate(invalid="ignore"):
            return RecordRisks(str(setting), "oracle", asked, hits / np.where(asked > 0, asked, np.nan), by_attack)
    worst = measure_risk(records, audit.plan.attack_names, audit.plan.scenario).attack
    chosen = by_attack.get(worst or "", np.where(times > 0, 0.0, np.nan))
    return RecordRisks(str(setting), worst or "", times, chosen, by_attack)


def describe_people(found: RecordRisks, groups: Sequence[Group]) -> PeopleRisk:
    """Describe how the risk is spread over people, with the sentence that a mean would hide."""
    there = ~np.isnan(found.risk)
    risk = found.risk[there]
    mean, above = float(risk.mean()), int((risk > 0.5).sum())
    by = "By what the masked data give away, on" if found.source == "oracle" else "On"
    said = [f"{by} average {percent(mean)} of the people would be identified"]
    parts = []
    sparse = next((g for g in groups if g.by == "density"), None)
    if sparse is not None and (sparse.inside & there).any():
        parts.append(
            f"of the tenth farthest from all others {percent(float(found.risk[sparse.inside & there].mean()))}"
        )
    few = [g for g in groups if g.by == "label" and not g.name.endswith("+") and int(g.name.split("-")[-1]) <= 9]
    inside = np.any([g.inside for g in few], axis=0) & there if few else np.zeros(len(there), dtype=bool)
    if inside.any():
        parts.append(
            f"of those who share their label with fewer than nine others {percent(float(found.risk[inside].mean()))}"
        )
    who = "nobody is" if above == 0 else "one person is" if above == 1 else f"{above} people are"
    said.append("; ".join(parts) + f"; {who} more likely to be identified than not" if parts else f"{who} above 50 %")
    sentence = f"{said[0]}, but {said[1]}." if parts else f"{said[0]}; {said[1]}."
    points = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "highest": 1.0}
    quantiles = {name: float(np.quantile(risk, at)) for name, at in points.items()}
    trials = int(found.asked[there].min())
    return PeopleRisk(found.spec, found.source, trials, int(there.sum()), mean, quantiles, above, sentence)


def average_groups(found: RecordRisks, groups: Sequence[Group]) -> list[GroupRisk]:
    """Average the risk of the records by group, the most exposed group of each kind first."""
    there = [(group, found.risk[group.inside & ~np.isnan(found.risk)]) for group in groups]
    rows = [
        GroupRisk(found.spec, group.by, group.name, int(group.inside.sum()), float(risk.mean()), float(risk.max()))
        for group, risk in there
        if len(risk)
    ]
    return sorted(rows, key=lambda row: (row.by, -row.risk))


def tabulate_people(
    audit: Audit, risks: Mapping[Setting, RecordRisks], sizes: Mapping[Recoding, NDArray[np.int64]]
) -> pd.DataFrame:
    """Return a row for each record and setting: row number, id, k-anonymity of its label, and its risk by attack."""
    parts = [
        pd.DataFrame(
            {
                "row": np.arange(1, len(audit.target) + 1),
                "id": [str(person) for person in audit.target.ids],
                "label_k": sizes[setting.labels],
                "mask": found.spec,
                "asked": found.asked if len(found.asked) else 0,
                "risk": found.risk,
                "by": found.source,
                **{f"risk_{name}": share for name, share in found.by_attack.items()},
            }
        )
        for setting, found in risks.items()
    ]
    return pd.concat(parts, ignore_index=True)
