"""The result of an audit in plain types (``result.json``) and the risk of every record (``records.csv``).

The schema is ``data/result.schema.json``; its version is raised when a reader of the old one would misread the new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from disclique.audits.case import Case
from disclique.audits.decision import Decision, pareto
from disclique.audits.knows import known_file
from disclique.audits.measure import Records, measured, risk_of, utility_of
from disclique.audits.words import limits, snooper_words, verdict
from disclique.data.distances import Points
from disclique.data.labels import label_tuples
from disclique.data.provenance import versions
from disclique.data.write import plain
from disclique.masks import parse_mask
from disclique.measures.utility import usefulness
from disclique.model import FloatArray, Json

VERSION = 1
GROUPS = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, None))  # label group sizes shown together
SHOWN = 30  # people of the picture of typical matches


@dataclass(frozen=True, eq=False)
class Findings:
    """The records of every setting that was tried, the decisions, and how the run went."""

    records: Mapping[str, Records]
    decisions: tuple[Decision, ...]
    seconds: float
    notes: tuple[str, ...] = ()


def result_of(case: Case, found: Findings, *, with_records: bool = False) -> Json:
    """The whole result; without ``with_records`` no coordinate, id or label value of a person is in it."""
    plan = case.plan
    settings = [_setting(case, spec, records) for spec, records in found.records.items()]
    front = pareto([(s["spec"], s["risk"]["value"], s["usefulness"]) for s in settings])
    for setting in settings:
        setting["pareto"] = setting["spec"] in front
    facts = _facts(case, found)
    said = verdict(settings, plan)
    sizes = label_sizes(case)
    content: Json = {
        "kind": "disclique audit",
        "version": VERSION,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "verdict": said,
        "file": {
            "name": case.target.name.replace("\\", "/").rsplit("/", 1)[-1],
            "records": len(case.target),
            "labels": [str(column) for column in case.target.labels.columns],
            "distances": "coordinates" if case.points is not None else "matrix",
            "label_groups": _group_counts(sizes),
        },
        "snooper": {"mode": plan.snooper.mode, "sentences": snooper_words(plan, facts), **facts},
        "settings": settings,
        "pareto": front,
        "decisions": [decision.to_dict() for decision in found.decisions],
        "groups": [row for spec, records in found.records.items() for row in _by_group(case, spec, records, sizes)],
        "matches": _matches(case, found.records[said["setting"]], said["setting"]),
        "limits": [*limits(settings, plan, facts), *found.notes],
        "plan": plan.to_dict(),
        "versions": versions(),
        "seconds": round(found.seconds, 1),
        "records": None,
    }
    if with_records:
        content["records"] = _people(case, found.records[said["setting"]], said["setting"])
    return dict(plain(content))


def _setting(case: Case, spec: str, records: Records) -> Json:
    """One setting of a mask: risk, attacks, yardsticks, utility."""
    plan, mask = case.plan, parse_mask(spec)
    risk = risk_of(records, plan.names)
    attacks = [one for one in (measured(records, name) for name in plan.names) if one is not None]
    useful = utility_of(records)
    tried = risk.repetitions >= plan.repetitions
    return {
        "spec": spec,
        "mask": mask.name,
        "on": mask.on,
        "reference": mask.reference,
        "dial": mask.dial,
        "dial_value": mask.dial_value if mask.dial else None,
        "family": next(family.spec for family in plan.families if spec in family.settings),
        "repetitions": risk.repetitions,
        "risk": risk.to_dict(),
        "meets": None if plan.max_risk is None else bool(tried and risk.high <= plan.max_risk),
        "guess": float(np.mean([unit[0]["guess"] for unit in records.values()])),
        "guess_share": _guess_share(records),
        "insider": _insider_share(records),
        "attacks": [one.to_dict() for one in attacks],
        "utility": useful,
        "usefulness": None if useful is None else usefulness(useful, plan.utility),
    }


def _guess_share(records: Records) -> float:
    shares = [unit[0]["guess"] / len(unit[0]["common"]) for unit in records.values() if unit[0]["common"]]
    return float(np.mean(shares)) if shares else 0.0


def _insider_share(records: Records) -> float | None:
    """The share of known people that a snooper finds who knows beforehand how the released map lies."""
    units = [unit[0] for unit in records.values() if unit[0]["common"] and unit[0]["insider"] is not None]
    return float(np.mean([unit["insider"] / len(unit["common"]) for unit in units])) if units else None


def _facts(case: Case, found: Findings) -> Json:
    """Records, known people and those in both, on average over repetitions."""
    units = [unit[0] for records in found.records.values() for unit in records.values()]
    return {
        "records": len(case.target),
        "known": float(np.mean([unit["known"] for unit in units])),
        "common": float(np.mean([len(unit["common"]) for unit in units])),
        "guess_share": float(np.mean([_guess_share(records) for records in found.records.values()])),
    }


def label_sizes(case: Case) -> np.ndarray:
    """How many released records share the label of each one: its k-anonymity by labels."""
    labels = label_tuples(case.target.labels)
    counts = pd.Series(labels, dtype=object).value_counts()
    return np.array([counts[label] for label in labels], dtype=np.int64)


def _group_name(low: int, high: int | None) -> str:
    return f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}"


def _group_masks(sizes: np.ndarray) -> list[tuple[str, np.ndarray]]:
    groups = [(_group_name(low, high), (sizes >= low) & (sizes <= (high or np.inf))) for low, high in GROUPS]
    return [(name, inside) for name, inside in groups if inside.any()]


def _group_counts(sizes: np.ndarray) -> list[Json]:
    return [{"size": name, "records": int(inside.sum())} for name, inside in _group_masks(sizes)]


def shares(case: Case, records: Records) -> tuple[np.ndarray, dict[str, FloatArray]]:
    """How often each record was known, and by attack the share of these times in which it was re-identified."""
    known = np.zeros(len(case.target), dtype=np.int64)
    correct = {name: np.zeros(len(case.target)) for name in case.plan.names}
    for unit in records.values():
        known[unit[0]["common"]] += 1
        for attack in unit[1:]:
            correct[attack["attack"]][attack.get("correct", [])] += 1
    with np.errstate(invalid="ignore"):
        return known, {name: hits / np.where(known > 0, known, np.nan) for name, hits in correct.items()}


def _worst(by_attack: dict[str, FloatArray]) -> tuple[FloatArray, list[str]]:
    """Each record's highest share over the attacks, and the attack that reaches it first."""
    table = np.array(list(by_attack.values()))
    names = list(by_attack)
    worst = table.max(axis=0)
    first = np.where(np.isnan(table), -1, table).argmax(axis=0)
    return worst, [names[k] if share > 0 else "" for k, share in zip(first, worst, strict=True)]


def _by_group(case: Case, spec: str, records: Records, sizes: np.ndarray) -> list[Json]:
    """Mean risk of the records by the size of their label group: by the worst attack of each record."""
    worst, _ = _worst(shares(case, records)[1])
    rows = []
    for name, inside in _group_masks(sizes):
        there = worst[inside & ~np.isnan(worst)]
        if len(there):
            found = {"records": int(inside.sum()), "risk": float(there.mean()), "highest": float(there.max())}
            rows.append({"spec": spec, "size": name, **found})
    return rows


def records_table(case: Case, found: Findings) -> pd.DataFrame:
    """One row a record and setting: row number, id, k-anonymity of its label, and its risk by attack."""
    sizes = label_sizes(case)
    parts = []
    for spec, records in found.records.items():
        known, by_attack = shares(case, records)
        worst, by = _worst(by_attack)
        parts.append(
            pd.DataFrame(
                {
                    "row": np.arange(1, len(sizes) + 1),
                    "id": [str(person) for person in case.target.ids],
                    "label_k": sizes,
                    "mask": spec,
                    "times_known": known,
                    "risk": worst,
                    "by": by,
                    **{f"risk_{name}": share for name, share in by_attack.items()},
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _matches(case: Case, records: Records, spec: str) -> Json | None:
    """The matches of the worst attack in a typical repetition, as outcomes without any place or name."""
    found = _typical(case, records)
    if found is None:
        return None
    repetition, claim = found
    attack, unit = claim["attack"], records[repetition]
    right, wrong = set(claim["correct"]), {row for row, _ in claim["wrong"]}
    common = unit[0]["common"]
    chosen = case.plan.rng("picture").permutation(common)[:SHOWN].tolist()
    outcome = ["correct" if row in right else "wrong" if row in wrong else "none" for row in chosen]
    return {
        "spec": spec,
        "attack": attack,
        "common": len(common),
        "correct": len(right),
        "wrong": len(wrong),
        "shown": outcome,
    }


def _typical(case: Case, records: Records) -> tuple[int, Json] | None:
    """The repetition in which the worst attack had its median number of hits, and what it claimed there."""
    attack = risk_of(records, case.plan.names).attack
    claims = [
        (len(one["correct"]), repetition, one)
        for repetition, unit in records.items()
        for one in unit[1:]
        if one["attack"] == attack and one["applies"]
    ]
    if not claims:
        return None
    _, repetition, claim = sorted(claims, key=lambda entry: entry[:2])[len(claims) // 2]
    return repetition, claim


def _people(case: Case, records: Records, spec: str) -> Json:
    """The records themselves with their risk, for a report that stays with the data holder."""
    known, by_attack = shares(case, records)
    worst, by = _worst(by_attack)
    sizes = label_sizes(case)
    places = case.points.coordinates if case.points is not None else None
    rows = []
    for row, person in enumerate(case.target.ids):
        about: dict[str, Any] = {"row": row + 1, "id": str(person), "label_k": int(sizes[row])}
        about |= {"risk": float(worst[row]), "by": by[row], "times_known": int(known[row])}
        if places is not None and places.shape[1] == 2:
            about |= {"x": float(places[row, 0]), "y": float(places[row, 1])}
        rows.append(about)
    return {"spec": spec, "people": rows, "lines": _lines(case, records)}


def _lines(case: Case, records: Records) -> list[Json]:
    """From the true home of each claimed record to the home of the person it was taken for."""
    found = _typical(case, records)
    if found is None:
        return []
    repetition, claim = found
    known = known_file(case, repetition).data.distances
    if case.points is None or not isinstance(known, Points) or case.points.coordinates.shape[1] != 2:
        return []
    homes = case.points.coordinates
    right = [(homes[row], homes[row], True) for row in claim["correct"]]
    wrong = [(homes[row], known.coordinates[other], False) for row, other in claim["wrong"]]
    return [
        {"x": float(a[0]), "y": float(a[1]), "x2": float(b[0]), "y2": float(b[1]), "true": true}
        for a, b, true in [*right, *wrong]
    ]
