"""Small files of invented people, and plans that are quick to carry out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from disclique.audits import Audit, AuditResult, Plan
from disclique.model import Microdata
from disclique.records.tables import microdata

QUICK = ("labels", "clique", "extend")
COLUMNS = ("--id", "id", "--label", "sex", "--label", "age", "--coordinates", "lon,lat")
LIGHT = ("--person-trials", "10", "--no-sensitivity")
FAST = ("--repetitions", "2", "--processes", "1", "--attack", "labels", "--attack", "clique", *LIGHT)


def people(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{k:03d}" for k in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["young", "middle", "old"], n),
            "lon": rng.uniform(9, 11, n),
            "lat": rng.uniform(49, 51, n),
        }
    )


def make_file(n: int = 60, seed: int = 0, name: str = "file.csv") -> Microdata:
    return microdata(people(n, seed), ["sex", "age"], coordinates=["lon", "lat"], ids="id", name=name)


def make_plan(*masks: str, **more: Any) -> Plan:
    given = {"repetitions": 3, "attacks": QUICK, "budget": 0.1, "person_trials": 20, "sensitivity": False, **more}
    return Plan(masks=masks or ("gaussian:sigma=2km",), **given)


def make_audit(*masks: str, n: int = 60, **more: Any) -> Audit:
    return Audit(make_plan(*masks, **more), make_file(n))


def without_times(result: AuditResult) -> AuditResult:
    """The result without what differs from run to run: when, how long, in which folder, and notes of the journal."""
    timeless = [
        replace(setting, attacks=tuple(replace(attack, seconds=0.0) for attack in setting.attacks))
        for setting in result.settings
    ]
    limits = tuple(line for line in result.limits if line.code != "journal_line_torn")
    return replace(result, made="", seconds=0.0, settings=tuple(timeless), limits=limits, command="")
