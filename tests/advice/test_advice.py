"""What can be released under a limit: the advice beside every combination tried one by one, and what it says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import disclique as dq
from disclique.advice.audited import Audits
from disclique.advice.families import list_arms, list_families
from disclique.advice.purposes import measure_chance, parse_purposes
from disclique.advice.search import EFFORT
from disclique.advice.unit import leave_out
from disclique.audits import Audit, Plan, Snooper
from disclique.audits.released import describe_release
from disclique.audits.summarise import Context, measure_setting
from disclique.audits.unit import UnitRunner
from disclique.cli import app
from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.measures.utility import utility
from disclique.records.coarsening import parse_recoding
from disclique.records.tables import select_records
from disclique.runs import Unit

FEW = replace(EFFORT, steps=4, left_out=(0.15,), weaker=4, arms=4, people=1000, more=3, uses=8)
MASKS = ("gaussian:sigma=20km..600km", "grid:cell=60km..900km")
QUICK = {"attacks": "labels", "repetitions": 20, "sensitivity": False}


def invent_people(seed: int, size: int = 40) -> dq.Microdata:
    """A small region with a town, and two labels of different strength."""
    rng = np.random.default_rng(seed)
    town = rng.random(size) < rng.uniform(0.3, 0.7)
    lon = np.where(town, rng.normal(10, 0.1, size), rng.uniform(8, 12, size))
    lat = np.where(town, rng.normal(51, 0.1, size), rng.uniform(49.5, 52.5, size))
    table = pd.DataFrame(
        {
            "id": [f"p{k:03}" for k in range(size)],
            "sex": rng.choice(["f", "m"], size),
            "job": rng.choice(["a", "b", "c", "d", "e"], size, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            "ill": rng.choice(["yes", "no"], size),
            "lon": lon,
            "lat": lat,
        }
    )
    return dq.microdata(table, ["sex", "job"], coordinates=["lon", "lat"], ids="id", sensitive=["ill"])


def ask_release(data: dq.Microdata, setting: Setting, limit: float, draws: int = 60) -> tuple[float, float, float]:
    """Return risk, its upper end and usefulness of a release, without anything of the search."""
    plan = Plan((str(setting),), Snooper(), max_risk=limit, repetitions=draws, attacks=("labels",), seed=77)
    audit = Audit(plan, data)
    run = UnitRunner(audit)
    found = {k: run(Unit(audit.plan.settings[0], k)) for k in range(draws)}
    risk = measure_setting(audit, found, {})
    rng = np.random.default_rng(5)
    kept = [
        utility(data.distances, setting.mask.apply(data.distances, rng), rng=rng, wanted=["neighbours"])["neighbours"]
        for _ in range(20)
    ]
    return risk.value, risk.high, float(np.mean([one or 0.0 for one in kept]))


def list_exposed(data: dq.Microdata, setting: Setting, limit: float, share: float) -> list[int]:
    """Return the rows of those whom the oracle names most often under a setting, so many as a share says."""
    audit = Audit(Plan((str(setting),), Snooper(), max_risk=limit, attacks=("labels",), seed=31), data)
    run, chances = UnitRunner(audit), np.zeros(len(data))
    for k in range(60):
        for row, chance in run(Unit(audit.plan.settings[0], k)).oracle.named:
            chances[row] += chance
    order = np.lexsort((np.arange(len(data)), -chances))
    return sorted(order[: max(round(share * len(data)), 1)].tolist())


def try_everything(data: dq.Microdata, limit: float, masks: Sequence[str]) -> list[tuple[float, str, float]]:
    """Try every combination of masks, labels and people left out; return usefulness, setting and upper end."""
    audit = Audit(Plan(("none",), Snooper(), max_risk=limit, attacks=("labels",)), data)
    families = list_families(audit, parse_purposes((), data), masks, FEW.steps)
    found = []
    for family, labels in product(families, ("", "drop:sex", "drop:job", "drop:sex | drop:job")):
        for mask in family.masks:
            setting = Setting(mask, parse_recoding(labels))
            for share in (0.0, *FEW.left_out):
                rows = list_exposed(data, setting, limit, share) if share else []
                kept = select_records(data, np.setdiff1d(np.arange(len(data)), rows)) if rows else data
                _, high, useful = ask_release(kept, setting, limit)
                if high <= limit:
                    found.append((useful * len(kept) / len(data), f"{setting} -{len(rows)}", high))
    return sorted(found, reverse=True)


FILES = [(1, 0.3), (2, 0.2), (3, 0.5), (4, 0.15), (5, 0.3), (6, 0.4), (7, 0.25), (8, 0.35), (9, 0.2), (10, 0.6)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "limit", "masks"),
    [(11, 0.35, MASKS[1:]), *(pytest.param(*one, MASKS, marks=pytest.mark.slow) for one in FILES)],
)
def test_advice_is_the_best_of_all_combinations(seed: int, limit: float, masks: Sequence[str]) -> None:
    """No combination of a coarse grid that keeps the limit is more useful by more than .01."""
    data = invent_people(seed)
    advice = dq.advise(data, limit, masks=masks, effort=FEW, **QUICK)
    every = try_everything(data, limit, masks)
    if not every:
        assert advice.best is None
        return
    best = advice.best
    assert best is not None
    assert best.status == "meets"
    assert best.risk.high <= limit
    left = [row - 1 for row in best.left_out]
    kept = select_records(data, np.setdiff1d(np.arange(len(data)), left)) if left else data
    _, _, useful = ask_release(kept, Setting.parse(best.setting), limit)
    own = useful * len(kept) / len(data)
    assert own >= every[0][0] - 0.01, (best.setting, len(left), own, every[:3])


@pytest.mark.long
def test_every_step_of_the_advice_is_needed() -> None:
    """Without any one step the limit is broken, or the step is not in the advice."""
    data, limit = invent_people(5), 0.3
    best = dq.advise(data, limit, masks=MASKS[1:], effort=FEW, **QUICK).best
    assert best is not None
    whole = Setting.parse(best.setting)
    left = [row - 1 for row in best.left_out]
    kept = select_records(data, np.setdiff1d(np.arange(len(data)), left)) if left else data
    for part in whole.labels.parts:
        rest = " | ".join(one for one in whole.labels.parts if one != part)
        assert ask_release(kept, replace(whole, labels=parse_recoding(rest)), limit)[1] > limit, part
    assert ask_release(kept, replace(whole, mask=dq.parse_mask("none")), limit)[1] > limit
    if left:
        assert ask_release(data, whole, limit)[1] > limit


def test_what_chance_gives_is_never_found() -> None:
    """A limit that only noise without bounds keeps is answered by why, what comes nearest, and ways out."""
    data = invent_people(3, 80)
    few = replace(FEW, people=160, left_out=())
    advice = dq.advise(data, 0.02, masks=["gaussian:sigma=20km..9000km"], effort=few, **QUICK)
    assert advice.status == "none"
    assert advice.best is None
    assert not any(one.status == "meets" for one in advice.releases)
    assert {way.code for way in advice.ways_out} >= {"way_secure_access", "way_tables"}
    assert advice.why
    assert advice.nearest is not None
    assert advice.nearest.risk.high > 0.02
    assert "✖" in advice.page()
    assert "✖" in advice.page(language="de")


def test_purposes_are_judged_by_their_measures() -> None:
    """Words of users lead to measures; what is not there is refused in a sentence."""
    data = invent_people(1)
    found = parse_purposes(["neighbours", "density", "columns:sex"], data)
    assert [one.measure for one in found] == ["neighbours", "density", ""]
    chance = measure_chance(data, found, np.random.default_rng(0))
    assert 0 < chance["neighbours"] < 0.5
    assert chance["columns:sex"] == 0
    for wrong, code in (("neighbors", "unknown_purpose"), ("columns:age", "purpose_of_no_column")):
        with pytest.raises(InputError) as problem:
            parse_purposes(wrong, data)
        assert problem.value.message.code == code


def test_what_cannot_be_read_leaves_no_folder_behind(tmp_path: Path) -> None:
    """A mask that is not there is said before anything is written: the next call takes the same folder."""
    with pytest.raises(InputError):
        dq.advise(invent_people(1), 0.5, masks="gausian:sigma=1km", folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_columns_that_are_needed_stay() -> None:
    """Who needs a label keeps it, as far as the limit allows; who does not loses it."""
    data, limit = invent_people(1), 0.6
    few = replace(FEW, people=400, left_out=())
    needed = dq.advise(data, limit, purpose=["neighbours", "columns:job"], masks=MASKS[1:], effort=few, **QUICK)
    assert needed.best is not None
    assert "drop:job" not in needed.best.setting
    assert {use.purpose for use in needed.best.uses} == {"neighbours", "columns:job"}


def test_labels_and_numbers_have_ladders() -> None:
    """Codes are shortened, ages widened, categories left out; the first way does nothing and the last one most."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "plz": rng.integers(10000, 99999, 50).astype(str),
            "age": rng.integers(18, 90, 50),
            "faith": rng.choice(["x", "y"], 50),
            "km": rng.uniform(0, 40, 50),
        }
    )
    data = dq.microdata(table, ["plz", "age", "faith"], numbers={"km": "km"})
    arms = list_arms(data)
    parts = {part for arm in arms for part in (*arm.labels.parts, *arm.numbers.parts)}
    assert arms[0].rank == (0, 0, 0, 0)
    assert not arms[0].labels.parts
    assert any(part.startswith("plz=prefix:plz:") for part in parts)
    assert "drop:faith" in parts
    assert any(part.startswith("km=round:") for part in parts) or "drop:km" in parts
    assert max(arms, key=lambda arm: arm.height).labels.dropped == ("plz", "age", "faith", "km")


NOBODY = (["--recipient", "neighbour"], "recipients")


@pytest.mark.long
def test_command_line_goes_from_limit_to_release(tmp_path: Path) -> None:
    """One command gives the answer, the next makes the release; the search goes on where it was; German pages."""
    data = invent_people(2)
    data.table.to_csv(tmp_path / "people.csv", index=False)
    words = ["advise", str(tmp_path / "people.csv"), "--id", "id", "--label", "sex", "--label", "job"]
    words += ["--coordinates", "lon,lat", "--sensitive", "ill", "--limit", "0.4", "--out", str(tmp_path / "answer")]
    words += ["--mask", MASKS[1], "--attack", "labels", "--repetitions", "5", "--processes", "1", "--for", "neighbours"]
    run = CliRunner().invoke(app, words)
    assert run.exit_code == 0, run.output
    told = json.loads((tmp_path / "answer" / "advice.json").read_text(encoding="utf-8"))
    first = told["releases"][0]
    assert {"setting", "left_out", "usefulness", "status", "risk"} <= set(first)
    assert first["status"] == "meets"
    assert first["risk"]["high"] <= 0.4
    assert dq.read_advice(tmp_path / "answer" / "advice.json").best is not None
    before = (tmp_path / "answer" / "search" / "journal.jsonl").read_bytes()
    again = CliRunner().invoke(app, [*words, "--language", "de"])
    assert again.exit_code == 0
    assert (tmp_path / "answer" / "search" / "journal.jsonl").read_bytes() == before
    assert "Was jeder Schritt bringt" in (tmp_path / "answer" / "advice.html").read_text(encoding="utf-8")
    assert first["command"].startswith("disclique mask ")
    assert "--sensitive ill" in first["command"]
    for wrong, said in (
        (["--limit", "9"], "0.09"),
        (["--max-risk", "0.2"], "--limit"),
        (["--for", "x"], "'x'"),
        NOBODY,
    ):
        bad = CliRunner().invoke(app, [*words[:-2], *wrong, "--out", str(tmp_path / "other")])
        assert bad.exit_code != 0, wrong
        assert said in str(bad.exception or bad.output), wrong


def test_releases_behind_the_best_are_attacked_as_it_is() -> None:
    """With all attacks, on as many releases, held against a control; only draws that narrow an interval are fewer."""
    audit = Audit(Plan(("none",), Snooper(), max_risk=0.3), invent_people(1))
    work: Any = SimpleNamespace(question=SimpleNamespace(audit=audit), effort=EFFORT)
    audits = Audits(work, None, Context())
    behind = audits._choose_work(first=False)
    assert audits._choose_work(first=True) is audit
    assert behind.plan.attacks == audit.plan.attacks == ("all",)
    assert behind.plan.repetitions == audit.plan.repetitions
    assert behind.tuning == audit.tuning
    assert behind.plan.person_trials is not None
    assert behind.plan.person_trials <= EFFORT.person_trials


def test_rare_values_of_a_label_are_joined_before_it_is_left_out() -> None:
    """Each step joins what the one before joined and more; the setting says which, and is read back."""
    data = invent_people(3)
    ranks = {arm.rank[1]: arm.labels for arm in list_arms(data) if arm.rank[0] == 0}
    seen = [set(ranks[k].apply(data).labels.get("job", pd.Series(["gone"]))) for k in sorted(ranks)]
    assert [len(values) for values in seen] == [5, 3, 2, 1]
    many = data.labels["job"].value_counts()
    kept = [value for value in seen[1] if "+" not in value]
    assert set(kept) == set(many.index[:2])
    for k in (1, 2):
        assert parse_recoding(ranks[k].spec) == ranks[k]
    groups = [list(ranks[k].apply(data).labels["job"]) for k in (1, 2)]
    assert len(set(zip(*groups, strict=True))) == 3  # no step splits what another joined


def test_a_release_says_how_many_people_it_leaves_out() -> None:
    data = invent_people(2)
    audit = Audit(Plan(("none",), Snooper(), max_risk=0.3), data)
    assert leave_out(audit, (1, 5)).target.left_out == 2
    facts: Any = SimpleNamespace(spec="none", utility=None)
    assert describe_release(leave_out(audit, (1, 5)), Setting.parse("none"), facts).left_out == 2
