"""Registers: read in pieces, the same as a file that is held at once, wherever the pieces are read."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import disclique as dq
from builders import refused
from disclique.attacks.labels import LabelRule
from disclique.attacks.link import attack_register, open_work
from disclique.attacks.population import count_everybody
from disclique.attacks.registration import RegisterAttack
from disclique.attacks.thresholds import THRESHOLDS, Streaming, Thresholds
from disclique.attacks.weigh.background import LeftOut, lay_bells
from disclique.audits import Audit, make_plan, run_audit
from disclique.audits.known_file import KeptOfRegister, hold_known, hold_others
from disclique.cli import app
from disclique.engine.kernels.neighbours import RelatedClasses
from disclique.messages import Message
from disclique.records.reading import Layout
from disclique.records.registers import (
    InTurn,
    draw_people,
    find_people,
    name_people,
    open_register,
    survey_register,
)
from disclique.spaces.positions import locate_known
from disclique.synthetic.people import germany

LABELS = ["sex", "age_class"]


def people(n: int, seed: int = 0) -> pd.DataFrame:
    return germany(n_target=n, n_known=n, common=n, rng=np.random.default_rng(seed)).people


def write(folder: Path, table: pd.DataFrame, *, files: int = 3, groups: int = 1000) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), files)):
        table.iloc[rows].to_parquet(folder / f"part-{number}.parquet", row_group_size=groups, index=False)
    return folder


def open_small(path: Path, piece: int = 1500) -> dq.Register:
    """A register cut into pieces of a thousand records or so."""
    return open_register(path, Layout(labels=LABELS, coordinates="lon,lat", id="id"), piece=piece)


def release(table: pd.DataFrame, sigma: float, seed: int = 1) -> dq.Microdata:
    """A release of some people, as distances between masked places."""
    rng = np.random.default_rng(seed)
    places = dq.Points(table[["lon", "lat"]].to_numpy() + rng.normal(0, sigma, (len(table), 2)))
    rows = np.arange(len(table), dtype=np.int32)
    matrix = dq.Matrix(places.block(rows, rows))
    return dq.microdata(table.drop(columns=["lon", "lat"]), LABELS, distances=matrix, unit="km")


@pytest.fixture(scope="module")
def crowd() -> pd.DataFrame:
    return people(12_000)


def test_batches_are_the_file(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """Places, labels and ids of all batches together are those of the table, in its order."""
    register = open_small(write(tmp_path / "r", crowd))
    assert len(register) == len(crowd)
    assert len(register.pieces) > 8
    batches = list(register.batches(ids=True))
    assert np.array_equal(np.concatenate([b.coordinates for b in batches]), crowd[["lon", "lat"]].to_numpy())
    labels = [b.labels[code] for b in batches for code in b.codes]
    assert labels == list(crowd[LABELS].itertuples(index=False, name=None))
    assert [one for b in batches for one in b.ids.to_pylist()] == list(crowd["id"])
    assert [b.first for b in batches] == np.cumsum([0, *map(len, batches)])[:-1].tolist()
    assert len(pickle.loads(pickle.dumps(register))) == len(crowd)


def test_survey_counts_and_draws(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """Counts and extent are those of pandas; the sample does not depend on how the register is cut or where it runs."""
    register = open_small(write(tmp_path / "r", crowd))
    survey = survey_register(register, 3000)
    expected = crowd.groupby(LABELS).size()
    assert dict(zip(survey.labels, survey.counts.tolist(), strict=True)) == expected.to_dict()
    assert np.array_equal(survey.low, crowd[["lon", "lat"]].min().to_numpy())
    assert abs(len(survey.sample) - 3000) < 6 * np.sqrt(3000)
    drawn = crowd.iloc[survey.sample.rows]
    assert np.array_equal(survey.sample.coordinates, drawn[["lon", "lat"]].to_numpy())
    assert [survey.labels[k] for k in survey.sample.classes] == list(drawn[LABELS].itertuples(index=False, name=None))
    whole = dq.read_register(write(tmp_path / "one", crowd, files=1), LABELS, coordinates="lon,lat", ids="id")
    again = survey_register(whole, 3000)
    assert len(whole.pieces) == 1
    assert np.array_equal(again.sample.rows, survey.sample.rows)
    with dq.Processes(2).opened() as pool:
        elsewhere = survey_register(open_small(tmp_path / "r"), 2999, mapper=pool)
    assert np.array_equal(elsewhere.counts, survey.counts)
    assert set(elsewhere.sample.rows) <= set(survey.sample.rows)


def test_folders_tell_columns(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """A register parted by folders has their names as labels; leading zeros and missing values stay what they are."""
    few = crowd.iloc[:300].assign(area=np.array(["007", "7", None], dtype=object)[np.arange(300) % 3])
    for area, part in few.groupby("area", dropna=False):
        folder = tmp_path / f"area={'__HIVE_DEFAULT_PARTITION__' if pd.isna(area) else area}"
        write(folder, part.drop(columns="area"), files=1)
    register = dq.read_register(tmp_path, ["sex", "area"], coordinates="lon,lat", ids="id")
    survey = survey_register(register, 10**6)
    found = {(label[1], survey.counts[k]) for k, label in enumerate(survey.labels) if label[0] == "male"}
    male = few[few["sex"] == "male"]["area"]
    assert found == {("007", (male == "007").sum()), (7, (male == "7").sum()), (None, male.isna().sum())}
    assert register.read_whole().labels["area"].tolist().count("007") == 100


def test_links_to_files_are_followed(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """A folder of links to files that lie elsewhere is the register of these files."""
    there = write(tmp_path / "there", crowd.iloc[:300])
    (tmp_path / "here").mkdir()
    for file in there.iterdir():
        (tmp_path / "here" / file.name).symlink_to(file)
    register = dq.read_register(tmp_path / "here", LABELS, coordinates="lon,lat", ids="id")
    assert register.read_whole().ids == tuple(crowd["id"].iloc[:300])


def test_single_people_are_found(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """Rows by ids and ids by rows; strangers that are drawn are different people, none of them excluded."""
    register = open_small(write(tmp_path / "r", crowd))
    rows = np.array([11_000, 5, 700])
    ids = name_people(register, rows)
    assert list(ids) == crowd["id"].iloc[rows].tolist()
    assert find_people(register, [*ids, "nobody", None], "id") == dict(zip(ids, rows.tolist(), strict=True))
    without = crowd["id"].iloc[:11_500].tolist()
    drawn = draw_people(register, 400, np.random.default_rng(0), without=without)
    assert len(set(drawn.ids)) == 400
    assert not set(drawn.ids) & set(without)
    everybody = draw_people(register, 10**6, np.random.default_rng(0), without=without)
    assert len(everybody) == 500


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"lon": [np.nan]}, "cell_not_finite"),
        ({"lat": [95.0]}, "latitude_out_of_range"),
        ({"lon": [3_480_000.0]}, "no_degrees_as_others"),
        ({"id": [None]}, "id_missing"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, crowd: pd.DataFrame, change: dict[str, list[object]], code: str) -> None:
    table = crowd.iloc[:6000].copy()
    for column, value in change.items():
        table.loc[4000, column] = value[0]
    register = open_small(write(tmp_path / "r", table))
    with refused(code, row=4001):
        survey_register(register, 1000)


def test_what_cannot_be_meant_is_refused(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """Ids that repeat in other pieces, columns that are not there, swapped names, folders without data."""
    twice = crowd.iloc[:6000].copy()
    twice.loc[5000, "id"] = twice.loc[10, "id"]
    with refused("id_twice", row=5001, column="id", first=11):
        survey_register(open_small(write(tmp_path / "twice", twice)), 1000)
    path = write(tmp_path / "r", crowd.iloc[:100])
    with refused("no_such_column", column="age"):
        dq.read_register(path, ["age"], coordinates="lon,lat")
    with refused("latitude_before_longitude"):
        dq.read_register(path, ["sex"], coordinates="lat,lon")
    (tmp_path / "empty").mkdir()
    with refused("no_parquet_in_folder"):
        dq.read_register(tmp_path / "empty", ["sex"], coordinates="lon,lat")
    crowd.iloc[:100].rename(columns={"sex": "gender"}).to_parquet(path / "part-9.parquet")
    with refused("no_such_column", column="sex", file=str(path / "part-9.parquet")):
        dq.read_register(path, ["sex"], coordinates="lon,lat")


def told(sigma: float, common: float = 0.99, *, bold: bool = False) -> dq.Knowledge:
    return dq.Knowledge(noise=dq.Spread(sigma, sigma, "deg"), common=common, bold=bold)


@pytest.fixture(scope="module")
def big() -> pd.DataFrame:
    return people(20_000, seed=3)


def stream_attack(
    target: dq.Microdata,
    path: Path,
    knowledge: dq.Knowledge,
    *,
    sample: int,
    mapper: Any = None,
    truth: str | None = None,
) -> dq.AttackResult:
    """The attack with a register whose sample and pieces are forced small."""
    few = Thresholds(stream=Streaming(sample=sample))
    work = open_work(target, open_small(path, 5000), mapper=mapper, thresholds=few, rule=LabelRule())
    told = knowledge.fit(target.distances, work.survey.look.distances, (target.name, "known"))
    found = attack_register(work, {"register": RegisterAttack(told)}, truth=truth)["register"]
    assert isinstance(found, dq.AttackResult)
    return found


@pytest.mark.parametrize("sigma", [0.002, 0.01])
def test_streams_find_what_memory_finds(tmp_path: Path, big: pd.DataFrame, sigma: float) -> None:
    """With a fifth of the register in the sample the claims are those of the whole file, nearly."""
    target = release(big.sample(700, random_state=1).reset_index(drop=True), sigma)
    known = dq.microdata(big, LABELS, coordinates=["lon", "lat"], ids="id")
    whole = dq.attack(target, known, by="register", knowledge=told(sigma), truth="id")
    streamed = stream_attack(target, write(tmp_path, big), told(sigma), sample=4000, truth="id")
    assert streamed.claims.details["register"]["sample"] < len(big) / 3
    assert whole.risk is not None
    assert streamed.risk is not None
    assert not streamed.claims.doubt
    assert abs(whole.risk.precision - streamed.risk.precision) < 0.02
    assert abs(whole.risk.recall - streamed.risk.recall) < 0.02
    mine = {(t, k): p for t, k, p in zip(*streamed.claims.claimed(), strict=True)}
    theirs = {(t, k): p for t, k, p in zip(*whole.claims.claimed(), strict=True)}
    shared = set(mine) & set(theirs)
    assert len(shared) > 0.95 * max(len(mine), len(theirs))
    assert np.median([abs(mine[pair] - theirs[pair]) for pair in shared]) < 0.02
    assert streamed.matches["known_id"].tolist() == big["id"].iloc[streamed.matches["known_row"] - 1].tolist()
    assert streamed.baseline == whole.baseline


def test_a_register_that_fits_is_held(tmp_path: Path, big: pd.DataFrame) -> None:
    """Then the claims are the same to the last digit, missing labels and labels with errors included."""
    table = big.iloc[:6000].copy()
    table.loc[::50, "sex"] = None
    target = release(table.sample(300, random_state=2).reset_index(drop=True), 0.005)
    rule = LabelRule(comparators={"sex": dq.Exact(0.02)})
    known = dq.microdata(table, LABELS, coordinates=["lon", "lat"], ids="id")
    register = dq.read_register(write(tmp_path, table), LABELS, coordinates="lon,lat", ids="id")
    for labels in (None, rule):
        a, b = (
            dq.attack(target, one, by="register", knowledge=told(0.005), truth="id", labels=labels)
            for one in (known, register)
        )
        assert np.array_equal(a.claims.target, b.claims.target)
        assert np.array_equal(a.claims.known, b.claims.known)
        assert np.allclose(a.claims.probability, b.claims.probability, atol=1e-9)
        assert a.risk == b.risk
        assert a.baseline == b.baseline


@pytest.mark.long
def test_where_it_runs_does_not_matter(tmp_path: Path, big: pd.DataFrame) -> None:
    """In turn and in two processes: the same bytes."""
    target, path = release(big.sample(400, random_state=5).reset_index(drop=True), 0.003), write(tmp_path, big)
    one, two = (
        stream_attack(target, path, told(0.003), sample=5000, mapper=executor).claims
        for executor in (dq.Serial(), dq.Processes(2))
    )
    assert len(one.target)
    for name in ("target", "known", "probability"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@pytest.mark.parametrize("common", [0.05, 0.99])
def test_strangers_are_not_found(tmp_path: Path, big: pd.DataFrame, common: float) -> None:
    """A release of nobody in the register claims next to nothing, even if the snooper believes that all are in it."""
    target = release(people(400, seed=77), 0.02)
    found = stream_attack(target, write(tmp_path, big), told(0.02, common=common), sample=2000)
    assert len(found.matches) <= 4


def test_strangers_are_counted_over_the_whole_register(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """At the scales at which everybody is counted, the bells are those of a loop over all people."""
    survey = survey_register(open_small(write(tmp_path, crowd)), 1500)
    sample, sigma = locate_known(survey.points), 0.5
    classes = survey.sample.classes
    bells = lay_bells(sample, classes, sigma, THRESHOLDS.weigh)
    found = count_everybody(sample, bells, survey=survey, mapper=InTurn(), near=lambda radius: radius)
    assert found.close == len(found.bells)
    everybody = sample.place(survey.register.place(crowd[["lon", "lat"]].to_numpy()))
    number = np.array([survey.number[label] for label in crowd[LABELS].itertuples(index=False, name=None)])
    who = np.arange(0, len(crowd), 1500)
    many = len(survey.counts)
    alike = RelatedClasses(np.arange(many + 1), np.arange(many), np.log(len(crowd) / survey.counts))
    free, same = found.sum_around(LeftOut(who, everybody[who], number[who]), alike)
    for at, row in enumerate(who):
        square = ((everybody - everybody[row]) ** 2).sum(axis=1)
        for scale, one in enumerate(found.bells):
            height = np.exp(-square / (2 * one.variance)) / (2 * np.pi * one.variance)
            height[(square > one.reach**2) | (np.arange(len(crowd)) == row)] = 0.0
            odds = (number == number[row]) * len(crowd) / survey.counts[number[row]]
            assert free[scale, at] == pytest.approx(height.sum())
            assert same[scale, at] == pytest.approx((height * odds).sum())


def test_other_attacks_are_left_out_in_a_sentence(tmp_path: Path, crowd: pd.DataFrame) -> None:
    register = dq.read_register(write(tmp_path, crowd), LABELS, coordinates="lon,lat", ids="id")
    target = release(crowd.iloc[:50], 0.005)
    with refused("register_too_large_for_attack", size=12_000, name="clique"):
        dq.attack(target, register, agreement=dq.Within(1))
    with refused("executor_is_for_registers"):
        dq.attack(target, dq.microdata(crowd, LABELS, coordinates=["lon", "lat"]), by="register", memory="1GB")


def test_an_audit_draws_strangers_from_a_register(tmp_path: Path, big: pd.DataFrame) -> None:
    """Others are real people of it, none of them released."""
    register = open_small(write(tmp_path, big), 5000)
    target = dq.microdata(big.iloc[:60], LABELS, coordinates=["lon", "lat"], ids="id")
    plan = dq.Plan(("gaussian:sigma=1km",), dq.Snooper(overlap=0.5, size=80, others="file"))
    pool = hold_others(register, target, plan)
    assert pool is not None
    assert len(pool) == 20 * 50
    assert not set(pool.ids) & set(target.ids)
    assert set(pool.ids) <= set(big["id"])
    again = hold_others(register, target, plan)
    assert again is not None
    assert again.ids == pool.ids
    how = {"attacks": ["register"], "repetitions": 1, "overlap": 0.5, "size": 80, "sensitivity": False}
    how["person_trials"] = 1
    result = dq.audit(target, "gaussian:sigma=1km", others=register, **how)  # type: ignore[arg-type]
    assert result.verdict.status == "measured"


def test_an_audit_keeps_a_part_of_a_known_register(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """Everybody released is kept and some of the others, which is said; and nobody looks safer than beside all."""
    big = crowd.iloc[:3000]
    register = open_small(write(tmp_path, big), 1000)
    target = dq.microdata(big.iloc[:60], LABELS, coordinates=["lon", "lat"], ids="id")
    how: dict[str, Any] = {"attacks": ["register"], "repetitions": 1, "sensitivity": False, "person_trials": 1}
    plan = make_plan(["gaussian:sigma=1km"], known=register, **how)
    theirs, thinned = hold_known(register, target, plan, kept=KeptOfRegister(strangers=300))
    part = run_audit(Audit(plan, target, theirs, thinned=thinned))
    everybody = dq.microdata(big, LABELS, coordinates=["lon", "lat"], ids="id")
    whole = dq.audit(target, "gaussian:sigma=1km", known=everybody, **how)
    assert thinned is not None
    assert thinned.values == {"records": 3000, "released": 60, "others": 300, "file": register.name}
    assert Message("full_sentence", said=thinned) in part.limits
    assert part.settings[0].oracle is not None
    assert whole.settings[0].oracle is not None
    assert part.settings[0].oracle.value >= whole.settings[0].oracle.value
    strangers = dq.microdata(
        big.iloc[:60].assign(id=[f"x{k}" for k in range(60)]), LABELS, coordinates=["lon", "lat"], ids="id"
    )
    with refused("memory_for_register"):
        dq.audit(target, "gaussian:sigma=1km", known=register, memory="1MB", **how)
    with refused("no_common_id"):
        dq.audit(strangers, "gaussian:sigma=1km", known=register, **how)


def test_the_command_reads_registers(tmp_path: Path, crowd: pd.DataFrame) -> None:
    """A folder is taken for a register by its size, said before the work; codes that do not meet end the run."""
    rng, many = np.random.default_rng(4), 190_000
    abroad: dict[str, Any] = {
        "lon": rng.uniform(6, 15, many),
        "lat": rng.uniform(47, 55, many),
        "sex": "male",
        "age_class": "abroad",
    }
    abroad["id"] = [f"abroad {number}" for number in range(many)]
    everybody = pd.concat([crowd, pd.DataFrame(abroad)], ignore_index=True)[list(crowd.columns)]
    few = crowd.sample(300, random_state=9).reset_index(drop=True)
    known = write(tmp_path / "known", everybody, groups=50_000)
    target = release(few, 0.003)
    target.table.to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "d.npy", target.distances.block(*[np.arange(300, dtype=np.int32)] * 2))
    words = ["attack", tmp_path / "t.csv", known, "--target-distances", tmp_path / "d.npy", "--unit", "km"]
    words += ["--known-coordinates", "lon,lat", "--label", "sex", "--label", "age_class", "--id", "id"]
    words += ["--attack", "register", "--noise", "0.003deg", "--truth", "id", "--memory", "200MB", "--processes", "1"]
    ran = CliRunner().invoke(app, [str(word) for word in words])
    assert ran.exit_code == 0, ran.output
    assert "register of 202,000 people in" in ran.output
    assert "read in pieces; memory allowed 200 MB" in ran.output
    assert "precision" in ran.output
    coded = everybody.assign(sex=everybody["sex"].map({"male": 1, "female": 2}))
    words[2] = write(tmp_path / "coded", coded, groups=50_000)
    ran = CliRunner().invoke(app, [str(word) for word in words])
    assert "label 'sex': no value of" in str(ran.exception)
