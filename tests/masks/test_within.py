"""Distances within groups: what is published, what a snooper sees of it, and how it is asked for."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import laplace, norm
from typer.testing import CliRunner

import disclique as dq
from builders import every_space, refused
from disclique.advice.families import list_families
from disclique.advice.groups import choose_group
from disclique.advice.purposes import parse_purposes
from disclique.advice.search import EFFORT
from disclique.audits import Audit, make_plan
from disclique.audits.known_file import draw_known_file
from disclique.audits.unit import UnitRunner, draw_releases
from disclique.cli import app
from disclique.errors import InputError
from disclique.model import Microdata, Roles
from disclique.runs import Unit
from disclique.spaces import Points, full_matrix
from disclique.spaces.base import SIZES, Distances
from disclique.values import FloatArray

QUICK = {"attacks": "labels", "person_trials": 1, "sensitivity": False}
HOW = {"round": "round", "gaussian": "matrix-gaussian", "laplace": "matrix-laplace"}


def file_of(distances: Distances, groups: list[str], labels: dict[str, list[str]] | None = None) -> Microdata:
    """A file whose column ``region`` is no label."""
    ids = tuple(f"p{k}" for k in range(distances.size))
    frame = pd.DataFrame(labels or {}, index=range(distances.size)).astype(object)
    return Microdata(pd.DataFrame({"region": groups}), frame, distances, ids)


def spec_of(distances: Distances, how: str, strength: float) -> tuple[str, float]:
    """The mask as strong as a share of the mean distance, and its size."""
    mean = float(np.nanmean(full_matrix(distances)[~np.eye(distances.size, dtype=bool)]))
    size = float(f"{strength * mean:.3g}")
    return f"within:size={size}{'km' if distances.unit == 'km' else ''},by=region,how={how}", size


@pytest.mark.parametrize("name", every_space())
@pytest.mark.parametrize("how", HOW)
def test_only_distances_within_a_group_are_published(name: str, how: str) -> None:
    """These are what the mask of single distances makes of them, in every space; the others are not there."""
    distances = every_space()[name]
    groups = ["abc"[k % 3] for k in range(distances.size)]
    spec, size = spec_of(distances, how, 0.2)
    mask = dq.parse_mask(spec).prepare(file_of(distances, groups))
    found = full_matrix(mask.apply(distances, np.random.default_rng(4)))
    key = {"round": "to", "gaussian": "sd", "laplace": "b"}[how]
    unit = "km" if distances.unit == "km" else ""
    alone = dq.parse_mask(f"{HOW[how]}:{key}={size}{unit}").apply(distances, np.random.default_rng(4))
    together = np.array([[a == b for b in groups] for a in groups])
    np.testing.assert_array_equal(np.isnan(found), ~together | np.isnan(full_matrix(alone)))
    np.testing.assert_array_equal(found[together], full_matrix(alone)[together])


def test_of_many_records_no_matrix_is_formed() -> None:
    small = (
        every_space(40)["points"] if "points" in every_space(3) else Points(np.random.default_rng(0).random((40, 2)))
    )
    large = small.with_sizes(replace(SIZES, formed_records=10))
    groups = ["ab"[k % 2] for k in range(40)]
    mask = dq.parse_mask(spec_of(small, "round", 0.1)[0]).prepare(file_of(small, groups))
    shown, whole = mask.apply(large, np.random.default_rng(1)), mask.apply(small, np.random.default_rng(1))
    assert large.is_large
    assert shown.matrix() is None
    every = np.arange(40, dtype=np.int32)
    np.testing.assert_allclose(shown.block(every, every), full_matrix(whole))


def density(how: str, size: float, masked: FloatArray, true: FloatArray) -> FloatArray:
    """The log likelihood of published distances, straight from what is done to each."""
    if how == "round":
        same = np.isclose(np.round(true / size) * size, masked, rtol=1e-9, atol=1e-12)
        return np.where(same, 0.0, -np.inf)
    law = norm if how == "gaussian" else laplace
    return np.where(masked > 0, law.logpdf(masked, true, size), law.logcdf(-true / size))


def brute_force(
    how: str, size: float, masked: FloatArray, true: FloatArray, groups: list[str], directed: bool
) -> float:
    """Name everybody by the weight of all assignments that put people of a group on records of that group.

    Record i is person i. What a record says of a person is what its published distances to all others say, whose
    people are known.
    """
    n = len(true)
    scores = np.full((n, n), -np.inf)
    for t in range(n):
        for k in range(n):
            if groups[t] != groups[k]:
                continue
            who = np.arange(n)
            who[[t, k]] = who[[k, t]]
            others = np.array([j for j in range(n) if j != t and groups[j] == groups[t]], dtype=int)
            scores[t, k] = density(how, size, masked[t, others], true[k, who[others]]).sum()
            if directed:
                scores[t, k] += density(how, size, masked[others, t], true[who[others], k]).sum()
    orders = np.array(list(permutations(range(n))))
    total = scores[orders, np.arange(n)].sum(axis=1)
    weight, share = np.exp(total - total.max()), np.zeros((n, n))  # records by people
    for person in range(n):
        share[:, person] = np.bincount(orders[:, person], weight, n)
    best = share >= share.max(axis=0) * (1 - 1e-6)
    return float(np.mean(np.diagonal(best) / best.sum(axis=0)))


@pytest.mark.parametrize("kind", ["sphere", "vectors", "cosine", "gower", "texts", "matrix", "one-way"])
def test_the_oracle_is_brute_force_over_assignments_within_groups(kind: str) -> None:
    """Who is together with whom is seen, and the column need not be a label for that."""
    gaps = []
    for how in HOW:
        ways = np.random.default_rng(9).uniform(100, 900, (7, 7)) * (1 - np.eye(7))
        distances = dq.Matrix(ways, directed=True) if kind == "one-way" else every_space(7)[kind]
        groups = list("aaaabbb")
        spec, size = spec_of(distances, how, 0.9 if how == "round" else 0.3)
        audit = Audit(make_plan([spec], max_risk=0.5, repetitions=8, attacks="labels"), file_of(distances, groups))
        run, setting = UnitRunner(audit), audit.plan.settings[0]
        mask = setting.mask.prepare(audit.target)
        found, expected = [], []
        for repetition in range(8):
            known = draw_known_file(audit, repetition)
            draws = draw_releases(mask, known, 1, lambda k: audit.chance.rng("noise", mask.name, repetition, *k))  # noqa: B023
            masked = full_matrix(draws[0])
            expected.append(brute_force(how, size, masked, full_matrix(distances), groups, distances.directed))
            asked = run(Unit(setting, repetition)).oracle
            assert asked is not None
            assert asked.hits is not None
            found.append(asked.hits.prosecutor / 7)
        gaps.append(np.mean(found) - np.mean(expected))
        assert -0.03 < gaps[-1] < 0.06, (kind, how, np.mean(found), np.mean(expected))
    assert abs(np.mean(gaps)) < 0.025


def invent(n: int = 60, seed: int = 1) -> pd.DataFrame:
    """Four regions with people around their middles."""
    rng = np.random.default_rng(seed)
    region = np.arange(n) % 4
    places = np.array([[8, 50], [10, 50], [8, 52], [10, 52]])[region] + rng.normal(0, 0.3, (n, 2))
    return pd.DataFrame(
        {
            "id": [f"p{k:03}" for k in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "region": [f"r{k}" for k in region],
            "ill": rng.choice(["yes", "no"], n),
            "lon": places[:, 0],
            "lat": places[:, 1],
        }
    )


def read(table: pd.DataFrame, *labels: str) -> Microdata:
    return dq.microdata(table, list(labels), coordinates=["lon", "lat"], ids="id", sensitive=["ill"])


@pytest.mark.parametrize("labels", [(), ("region",)])
@pytest.mark.parametrize("snooper", [{}, {"overlap": 0.5}, {"coordinate_error": "1km"}])
def test_the_group_of_a_record_is_never_hidden(labels: tuple[str, ...], snooper: dict[str, object]) -> None:
    """However strong the noise: one of fifteen people of a region, not one of sixty, also without the label."""
    specs = ["within:size=100000km,by=region,how=gaussian"]
    specs += [f"{specs[0]} | drop:region"] if labels else []
    for spec in specs:
        found = dq.audit(read(invent(), *labels), spec, max_risk=0.5, repetitions=10, **QUICK, **snooper)
        assert found.settings[0].risk.value >= 0.9 / 15


def test_exact_distances_name_everybody() -> None:
    found = dq.audit(read(invent(), "sex"), "within:size=0,by=region", max_risk=0.5, repetitions=3, **QUICK)
    assert found.settings[0].risk.value == 1.0


def test_no_attack_beats_the_oracle_and_one_by_hand_stays_below() -> None:
    """A snooper who aligns the blocks by all distances, told every true pair but one, names no more than it says."""
    table, size = invent(40), 40.0
    data = read(table)
    spec = f"within:size={size:g}km,by=region,how=gaussian"
    risk = dq.audit(data, spec, max_risk=0.5, repetitions=20, **QUICK).settings[0].risk
    true, groups = full_matrix(data.distances), table["region"].to_numpy()
    mask, right = dq.parse_mask(spec).prepare(data), []
    for draw in range(20):
        masked = full_matrix(mask.apply(data.distances, np.random.default_rng(draw)))
        for person in range(len(data)):
            own = np.flatnonzero(groups == groups[person])
            gap = [np.nansum((masked[t, own] - true[person, own])[own != t] ** 2) for t in own]
            right.append(own[int(np.argmin(gap))] == person)
    assert np.mean(right) <= risk.high + 0.03
    assert np.mean(right) > 2 / 10


def test_a_snooper_who_was_told_the_mask_attacks_the_blocks() -> None:
    """With the region as a label, as they know it of people, many are named where distances are nearly exact."""
    data = read(invent(40), "region")
    seen, who = dq.mask(data, "within:size=100m,by=region", 1, key=True)
    places, rng = data.distances.points(), np.random.default_rng(0)
    assert places is not None
    for told in ("within:size=100m,by=region", "within:size=100m"):
        mask = dq.parse_mask(told)
        calibration = dq.calibrate(mask, points=places.coordinates, rng=rng)
        assert calibration.agreement(0.9).interval(np.array([1.0]))[1][0] == pytest.approx(1.045)
        found = dq.attack(seen, data, agreement=calibration.agreement(0.99), by="clique", truth=who)
        assert found.risk is not None
        assert found.risk.tp >= 8


def test_with_people_kept_out_the_groups_are_those_of_the_released() -> None:
    """Of a bare matrix strangers are taken from the file itself: the mask then knows the rest by their rows."""
    table = invent(40)
    distances = read(table).distances.as_matrix()
    data = replace(file_of(distances, list(table["region"])), ids=tuple(table["id"]))
    found = dq.audit(data, "within:size=20km,by=region", max_risk=0.5, repetitions=4, overlap=0.5, **QUICK)
    assert found.settings[0].risk.value > 0.3


def test_advice_tries_it_where_a_column_keeps_near_records_together() -> None:
    table = invent()
    data = read(table, "sex")
    assert choose_group(data) == "region"
    audit = Audit(make_plan(["none"], max_risk=0.5), data)
    specs = [family.spec for family in list_families(audit, parse_purposes((), data), (), 3)]
    assert sum(spec.startswith("within:") and "by=region" in spec for spec in specs) == 2
    plain = read(table.assign(region=np.random.default_rng(0).permutation(table["region"])), "sex")
    assert choose_group(plain) is None
    secret = replace(data, roles=Roles(id="id", sensitive=("region",)))
    assert choose_group(secret) != "region"


def test_advice_finds_a_release_within_groups() -> None:
    """Also in a search, in which columns that nobody asks for are left behind."""
    few = replace(EFFORT, steps=4, people=120, left_out=(), more=2)
    masks = ["within:size=20km..400km,by=region"]
    found = dq.advise(read(invent(), "sex"), 0.6, masks=masks, effort=few, repetitions=3, **QUICK)
    assert found.best is not None
    assert found.best.setting.startswith("within:")
    assert found.best.risk.high <= 0.6


def test_release_from_the_command_line(tmp_path: Path) -> None:
    table = invent()
    table.to_csv(tmp_path / "people.csv", index=False)
    told = ["--id", "id", "--label", "sex", "--coordinates", "lon,lat"]
    words = ["mask", str(tmp_path / "people.csv"), *told, "--mask", "within:size=5km,by=region"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "release.csv")])
    assert done.exit_code == 0, done.output
    found = dq.mask(read(table, "sex"), "within:size=5km,by=region", 3, key=True)
    shown, who = full_matrix(found[0].distances), found[1]
    region = dict(zip(table["id"], table["region"], strict=True))
    together = np.array([[region[a] == region[b] for b in who] for a in who])
    np.testing.assert_array_equal(np.isnan(shown), ~together)
    assert "region" not in found[0].table.columns
    np.testing.assert_allclose(shown[together] % 5, 0, atol=1e-9)


def test_what_does_not_fit_is_said_in_one_sentence() -> None:
    table = invent()
    data = read(table, "sex")
    for spec, code in (
        ("within:size=5km", "groups_without_column"),
        ("within:size=5km,by=county", "no_such_column"),
        ("within:size=5,by=region", "length_without_unit"),
    ):
        with pytest.raises(InputError) as problem:
            dq.release(data, spec, 1)
        assert problem.value.message.code == code
    with refused("group_missing", row=3, column="region"):
        dq.release(
            read(table.assign(region=table["region"].where(table.index != 2)), "sex"), "within:size=5km,by=region"
        )
    with refused("mask_not_prepared"):
        dq.parse_mask("within:size=5km,by=region").apply(data.distances, np.random.default_rng(0))
