"""Labels as a dial: steps that only join classes, audits and studies over them, and what the labels still tell."""

import json
import pickle
from dataclasses import replace
from itertools import combinations, pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

import disclique as dq
from conftest import SMALL, Run
from disclique.audits import Audit, AuditResult, Plan, Snooper
from disclique.audits.facts import SettingFacts
from disclique.audits.known_file import draw_control, draw_known_file
from disclique.masks import parse_mask
from disclique.masks.settings import Setting
from disclique.model import Microdata
from disclique.records.coarsening import AS_THEY_ARE, list_label_settings, nest_widths, parse_recoding
from disclique.records.tables import microdata
from disclique.studies import define_study, load_study
from disclique.synthetic.people import germany
from small_files import LIGHT

MASK = "gaussian:sigma=2km"
AGES = "age=width:age:1..40"


def frame(n: int = 80, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{k:03d}" for k in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(0, 90, n),
            "lon": rng.uniform(9, 11, n),
            "lat": rng.uniform(49, 51, n),
        }
    )


def read(table: pd.DataFrame, labels: tuple[str, ...] = ("sex", "age")) -> Microdata:
    return microdata(table, list(labels), coordinates=["lon", "lat"], ids="id", name="file")


def classes(values: list[Any], labels: str) -> list[Any]:
    """The class of each value of a label, by a recoding."""
    places = np.zeros((len(values), 2))
    data = microdata(pd.DataFrame({"v": pd.Series(values, dtype=object)}), ["v"], coordinates=places)
    recoded = parse_recoding(labels).apply(data).labels
    return list(recoded.itertuples(index=False, name=None)) if len(recoded.columns) else [()] * len(values)


def splits(fine: list[Any], coarse: list[Any]) -> bool:
    """Whether two records with one fine label have different coarse ones."""
    return len(set(zip(fine, coarse, strict=True))) > len(set(fine))


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 12),
    st.integers(1, 300),
    st.sampled_from([1.0, 0.1, 0.25, 7.0]),
    st.lists(st.integers(-500, 5000), min_size=2, max_size=40),
    st.integers(2, 8),
)
def test_a_wider_step_never_splits_a_class(low: int, times: int, unit: float, raw: list[int], most: int) -> None:
    """Whole numbers and decimal fractions, below and above 0, whatever the ends of the range are."""
    values = [round(number * unit / 10, 6) for number in raw]
    first = round(low * unit, 6)
    steps = list_label_settings([f"v=width:v:{first}..{round(first * times, 6)}"], most)
    assert 1 <= len(steps) <= most
    along = [classes(values, step) for step in steps]
    assert not any(splits(fine, coarse) for fine, coarse in pairwise(along))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text("01234", min_size=1, max_size=6), min_size=2, max_size=30), st.integers(1, 5))
def test_a_shorter_code_never_splits_a_class(codes: list[str], longest: int) -> None:
    """Codes with and without leading zeros, some shorter than what is kept of them."""
    along = [classes(codes, step) for step in list_label_settings([f"v=prefix:v:1..{longest}"])]
    assert len(along) == longest
    assert not any(splits(fine, coarse) for fine, coarse in pairwise(along))


def test_classes_as_text_are_joined_by_their_lower_end() -> None:
    """The census's classes; a date or a falling interval is not taken for one."""
    census = ["0-2", "3-5", "6-14", "15-17", "18-24", "25-29", "30-39", "40-49", "50-64", "65-74", "75+"]
    assert [of for (of,) in classes(census, "v=width:v:20")] == [0, 0, 0, 0, 0, 20, 20, 40, 40, 60, 60]
    assert classes(["[18,65)", "[65,)", "18 – 24"], "v=width:v:10") == [(10,), (60,), (10,)]
    for wrong in ("2001-05", "2001-05-03", "x+", "old", "-"):
        with pytest.raises(dq.InputError, match=r"row 1, column 'v'.*class such as"):
            classes([wrong, wrong], "v=width:v:10")


@pytest.mark.parametrize("most", [3, 4, 5])
@pytest.mark.parametrize("times", [8, 12, 30, 36, 40, 48, 60])
def test_widths_are_as_even_as_multiples_can_be(times: int, most: int) -> None:
    """No other chain of divisors of that length lies nearer to equal ratios: all of them are tried."""
    found = [int(width) for width in nest_widths(1, times, most)]
    assert found[0] == 1
    assert found[-1] == times
    inner = [n for n in range(2, times) if times % n == 0]

    def cost(chain: tuple[int, ...]) -> float:
        return sum((log(n) - log(times) * k / (len(chain) - 1)) ** 2 for k, n in enumerate(chain))

    chains = [(1, *some, times) for some in combinations(inner, len(found) - 2)]
    chains = [chain for chain in chains if all(b % a == 0 for a, b in pairwise(chain))]
    assert cost(tuple(found)) == pytest.approx(min(map(cost, chains)))
    assert not any(
        all(b % a == 0 for a, b in pairwise((1, *some, times)))
        for longer in range(len(found) - 1, most - 1)
        for some in combinations(inner, longer)
    )


def test_an_end_that_no_multiple_reaches_is_lowered() -> None:
    """37 and 42 / 5 have no divisors to speak of; a range of one width is that width."""
    assert nest_widths(1, 37)[-1] == 36
    assert nest_widths(5, 42)[-1] == 40
    assert nest_widths(7, 7) == [7]
    assert list_label_settings(["a=classes:b:0.1..0.3"]) == ("a=width:b:0.1", "a=width:b:0.3")


def test_settings_are_all_combinations_and_a_dropped_label_is_not_recoded() -> None:
    """Three widths, with and without sex; dropping age leaves one setting of it."""
    assert list_label_settings([]) == ("",)
    found = list_label_settings(["age=width:age:5..20", "drop:sex", "drop:age"])
    assert len(found) == len(set(found)) == 3 * 2 + 2
    assert {"drop:age", "drop:sex | drop:age"} <= set(found)
    assert Plan((MASK, "affine"), generalise=(AGES,)).settings[0] == Setting.parse(f"{MASK} | age=width:age:1")
    assert len(Plan((MASK,), generalise=("age=width:age:1..512",)).label_settings) == 10
    assert len(Plan(("gaussian:sigma=1km..9km",), generalise=("age=width:age:1..512",)).label_settings) == 5


@pytest.mark.parametrize("labels", ["", "age=width:age:10", "age=classes:age:18,65 | drop:sex", "none"])
def test_the_text_of_a_setting_is_read_back(labels: str) -> None:
    """Mask and labels come out as they went in."""
    setting = Setting(parse_mask(MASK), parse_recoding(labels))
    assert Setting.parse(str(setting)) == setting
    assert str(setting) == (f"{MASK} | {labels}" if labels else MASK)
    assert parse_recoding(labels).spec == labels
    assert pickle.loads(pickle.dumps(setting)) == setting


WRONG = {
    "age=width:age:0..5": "a range is written",
    "age=width:age:1..inf": "a range is written",
    "age=width:age:nan..2": "a range is written",
    "age=width:age:1..": "a range is written",
    "age=century:age:1..2": "a range is written",
    "age=width:age:1..1e12": "at most 100000 times",
    "plz=prefix:plz:1.5..3": "whole number of characters",
    "drop:": "which label to drop",
    "drop:height": "no label 'height'",
    "height=width:height:1..4": "no label 'height'",
    "group=width:age:1..4": "stays a label as it is",
    "sex=width:sex:1..4": "row 1, column 'sex'",
}


@pytest.mark.parametrize("spec", WRONG)
def test_what_cannot_be_done_is_said_before_the_run(spec: str) -> None:
    """One sentence, from Python too."""
    with pytest.raises(dq.InputError, match=WRONG[spec]):
        dq.audit(read(frame()), MASK, generalise=spec, attacks="labels", repetitions=1)
    with pytest.raises(dq.InputError, match="recoded twice"):
        Plan((MASK,), generalise=(AGES, AGES))


def test_a_label_that_is_coarse_already_is_not_taken_for_raw_values() -> None:
    """Its audit would be that of coarser labels than the setting says."""
    table = frame()
    about: dict[str, Any] = {"generalise": "group=width:age:5..20", "attacks": "labels", "repetitions": 1}
    with pytest.raises(dq.InputError, match="does not hold the values of age"):
        dq.audit(read(table.assign(group=table["age"] // 10 * 10), ("group",)), "affine", **about)
    found = dq.audit(read(table.assign(group=table["age"]), ("group",)), "affine", **about)
    assert found.settings[0].guess == pytest.approx(len(set(table["age"] // 5)) / len(table))


@pytest.fixture(scope="module")
def by_labels() -> AuditResult:
    """An audit by labels alone, in which the snooper has the whole file."""
    return dq.audit(read(frame()), "affine", generalise=[AGES, "drop:sex"], attacks="labels", repetitions=1)


def coarse(table: pd.DataFrame, width: int, sex: bool = True) -> pd.DataFrame:
    """The labels made coarser by pandas."""
    labels = pd.DataFrame({"age": table["age"] // width * width})
    return labels.assign(sex=table["sex"]) if sex else labels


def found(setting: SettingFacts) -> float:
    """What the best attack showed."""
    assert setting.risk.found is not None
    return setting.risk.found.value


def test_risk_by_labels_alone_is_what_the_groups_of_the_file_give_and_falls(by_labels: AuditResult) -> None:
    """Guessing is right for one in each group, and the attack names those who are alone: by hand, with pandas."""
    table, seen = frame(), []
    for setting in by_labels.settings:
        assert setting.labels is not None
        width = int(setting.labels.spec.split(" | ")[0].rpartition(":")[2])
        left = coarse(table, width, "drop:sex" not in setting.labels.spec)
        sizes = left.groupby(list(left.columns))["age"].transform("size")
        assert setting.guess == pytest.approx(len(left.drop_duplicates()) / len(table))
        assert setting.risk.found is not None
        assert setting.risk.found.value == pytest.approx((1 / sizes).mean())
        assert setting.attacks[0].recall.value == pytest.approx((sizes == 1).mean())
        whole = entropy(coarse(table, 1).value_counts())
        assert setting.labels.information == pytest.approx(entropy(left.value_counts()) / whole)
        assert setting.labels.classes == pytest.approx(np.exp(entropy(left.value_counts())))
        assert setting.labels.distinct == len(left.drop_duplicates())
        seen.append(("drop:sex" in setting.labels.spec, setting))
        rows = by_labels.people[by_labels.people["mask"] == setting.spec]
        assert rows["label_k"].tolist() == sizes.tolist()
    for dropped in (False, True):
        along = [setting for without, setting in seen if without == dropped]
        assert len(along) == 5
        for fine, wide in pairwise(along):
            assert found(wide) <= found(fine)
            assert wide.guess < fine.guess
            assert wide.label_information < fine.label_information
    assert found(seen[0][1]) > 0.5 > found(seen[-1][1])


def test_an_audit_with_coarser_labels_is_that_of_a_file_with_them() -> None:
    """The same figures as if the holder had made the labels coarser beforehand, for every attack and yardstick."""
    labels = "age=width:age:20 | drop:sex"
    table = frame()
    made = table.assign(age=table["age"] // 20 * 20)
    plain = read(made, ("age",))
    about: dict[str, Any] = {
        "attacks": ["labels", "clique", "register"],
        "repetitions": 2,
        "overlap": 0.4,
        "budget": 0.1,
    }
    about |= {"sensitivity": False, "person_trials": 40}
    generalise = labels.split(" | ")
    inside = dq.audit(read(table), MASK, generalise=generalise, **about).setting(f"{MASK} | {labels}")
    outside = dq.audit(plain, MASK, **about).settings[0]
    assert inside.risk.found is not None
    assert inside.risk.found.attack == "register"
    assert inside.oracle is not None
    assert outside.oracle is not None
    assert inside.oracle.value == pytest.approx(outside.oracle.value, abs=0.05)  # by more draws for the chosen setting
    same = {"spec": "", "family": "", "brief": "", "labels": None, "pareto": False, "attacks": (), "oracle": None}
    same |= {"risk": inside.risk}
    assert inside.risk.found == outside.risk.found
    assert inside.risk.value == pytest.approx(outside.risk.value, abs=0.05)
    assert replace(inside, **same) == replace(outside, **same)
    for one, other in zip(inside.attacks, outside.attacks, strict=True):
        assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


@pytest.mark.parametrize("source", ["invented", "others", "known"])
def test_every_file_of_a_unit_has_the_labels_of_its_setting(source: str) -> None:
    """Released, known, invented, other and control people: the same ones as before, each label by the rule."""
    target, more = read(frame()), read(frame(200, seed=1).assign(id=[f"q{k}" for k in range(200)]))
    theirs = read(pd.concat([frame().iloc[:30], more.table.iloc[:20]], ignore_index=True))
    snooper = Snooper(overlap=0.3, others="file" if source == "others" else "synthetic")
    snooper = Snooper(given=True) if source == "known" else snooper
    plan = Plan((MASK,), snooper, generalise=("age=width:age:20", "drop:sex"))
    audit = Audit(plan, target, theirs if source == "known" else None, more if source == "others" else None)
    audit.check_masks()
    there = audit.recoded(plan.settings[-1].labels)
    assert there.plain is audit
    assert audit.recoded(AS_THEY_ARE) is audit
    before, after = draw_known_file(audit, 0), draw_known_file(there, 0)
    assert after.data.ids == before.data.ids
    np.testing.assert_array_equal(after.truth.pairs, before.truth.pairs)
    np.testing.assert_array_equal(after.data.distances.coordinates, before.data.distances.coordinates)  # type: ignore[attr-defined]
    for raw, left in ((before.data, after.data), (before.released, after.released)):
        assert list(left.labels.columns) == ["age"]
        assert left.labels["age"].tolist() == [age // 20 * 20 for age in raw.labels["age"]]
    one, other = draw_control(audit, before, 0), draw_control(there, after, 0)
    assert one is not None
    assert other is not None
    assert other.data.labels["age"].tolist() == [age // 20 * 20 for age in one.data.labels["age"]]


def test_of_equally_useful_settings_the_one_that_keeps_more_of_the_labels_is_named() -> None:
    """The finest labels that keep the limit, since the mask is the same; none is beaten by one with coarser labels."""
    about: dict[str, Any] = {"generalise": AGES, "attacks": "labels", "max_risk": 0.3, "repetitions": 5}
    result = dq.audit(read(frame(100)), "gaussian:sigma=3000km", person_trials=10, **about)
    kept = result.table[result.table["meets"]]
    assert 1 < len(kept) < len(result.table)
    assert result.verdict.setting == kept["mask"].iloc[kept["label_information"].argmax()]
    assert result.verdict.reasons[0].values["mask"].code == "mask_and_labels"
    assert result.verdict.setting in result.pareto


def test_the_command_takes_ranges_drops_and_fixed_generalisers(run: Run) -> None:
    """The label holds raw values of another column until a step is chosen; a fixed generaliser is as it was."""
    frame().to_csv("f.csv", index=False)
    columns = ("--id", "id", "--label", "group", "--label", "sex", "--coordinates", "lon,lat")
    rest = (
        "--mask",
        "affine",
        "--attack",
        "labels",
        "--repetitions",
        "1",
        "--processes",
        "1",
        *LIGHT,
        "--out",
    )
    dial = ("--generalise", "group=width:age:5..20", "--generalise", "drop:sex")
    code, shown, err = run("audit", "f.csv", *columns, *dial, *rest, "o")
    assert code == 0, err
    assert "6 settings of the labels: group in classes of 5; group in classes of 5, without sex" in err
    result = dq.read_result("o/result.json")
    assert [s.labels.spec for s in result.settings if s.labels][:2] == [
        "group=width:age:5",
        "group=width:age:5 | drop:sex",
    ]
    sizes = coarse(frame(), 20).value_counts()
    wide = result.setting("affine:mirror=random | group=width:age:20")
    assert wide.guess == pytest.approx(len(sizes) / 80)
    assert result.plan.generalise == ("group=width:age:5..20", "drop:sex")
    assert shown.splitlines()[0].startswith("mask\trisk")
    assert "label_information" in result.table.columns
    fixed = ("--generalise", "group=width:age:20")
    assert run("audit", "f.csv", *columns, *fixed, *rest, "p")[0] == 0
    assert dq.read_result("p/result.json").settings[0].labels is None
    assert dq.read_result("p/result.json").settings[0].guess == wide.guess
    frame().assign(group=frame()["age"] // 10 * 10).drop(columns="age").to_csv("k.csv", index=False)
    code, _, err = run("audit", "f.csv", *columns, *dial, "--known", "k.csv", *rest, "q")
    assert code == 2
    assert "k.csv: no column 'age' to generalise into 'group'" in err


def test_the_report_shows_risk_against_the_labels(by_labels: AuditResult) -> None:
    """A chart with every setting, and a row of the table for each; a dial of the mask is not made up."""
    page = by_labels.report()
    specs = json.loads(page.partition('id="specs">')[2].partition("</script>")[0])
    rows = specs["labels"]["data"]["values"]
    assert [row["risk"] for row in rows] == [setting.risk.value for setting in by_labels.settings]
    assert rows[2]["said"] == "age in classes of 2"
    assert not any(name.startswith("dial") for name in specs)
    assert page.count("without sex</td>") == 5
    plain = dq.audit(read(frame()), "affine", attacks="labels", repetitions=1)
    assert "Labels are a dial" not in plain.report()
    assert "label_information" not in plain.table


LEVELS = ["full", "age_class=width:age_class:20..40", "drop:age_class", "none"]


def test_a_study_over_labels_shares_people_and_noise_and_counts_pairs_by_label(tmp_path: Path) -> None:
    """The first level is the study without the axis; vertices are counted by hand; a folder is read back."""
    options = {**SMALL, "repetitions": 2, "alpha": 0.5, "attack": ["clique", "labels"]}
    study = dq.study(**options, labels=LEVELS, folder=tmp_path / "s")
    plain = dq.study(**options)
    records = study.records
    full = records[records["labels"] == "full"].drop(columns=["labels", "seconds"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(full, plain.records.drop(columns="seconds"))
    assert "labels" not in plain.records
    people = germany(n_target=60, n_known=50, common=15, rng=study.study.chance.rng("people", 0))
    low = {name: int(name.rstrip("+").split("-")[0]) for name in set(people.people["age_class"])}
    keys = {
        "full": lambda table: table["sex"] + table["age_class"],
        "age_class=width:age_class:20": lambda table: table["sex"] + (table["age_class"].map(low) // 20).astype(str),
        "age_class=width:age_class:40": lambda table: table["sex"] + (table["age_class"].map(low) // 40).astype(str),
        "drop:age_class": lambda table: table["sex"],
        "none": lambda table: pd.Series("", index=table.index),
    }
    assert list(dict.fromkeys(study.summary["labels"])) == list(keys)
    for labels, key in keys.items():
        both = [key(table).value_counts() for table in (people.target, people.known)]
        pairs = int((both[0] * both[1]).dropna().sum())
        cells = records[(records["labels"] == labels) & (records["attack"] == "clique")]
        assert set(cells["vertices"]) == {pairs}
    assert records.groupby(["mask", "repetition"])["seed"].nunique().max() == 1
    again = load_study(tmp_path / "s")
    assert again.study == study.study
    pd.testing.assert_frame_equal(again.records, records)
    assert define_study(study.study.to_dict()) == study.study
    assert "labels" not in plain.study.to_dict()
    assert len(study.plot().axes) == 2
    assert list(study.averages()["labels"][:5]) == list(keys)
    written = {path.name for path in study.save(tmp_path / "t")}
    assert "labels.csv" in written
    assert pd.read_csv(tmp_path / "t" / "labels.csv")["information"].is_monotonic_decreasing


def test_a_study_says_what_is_wrong_with_its_labels() -> None:
    """Levels given twice, labels that nobody has, and a comparison with the paper that it cannot have."""
    with pytest.raises(dq.InputError, match="full is given twice"):
        define_study({**SMALL, "labels": ["full", "full"]})
    with pytest.raises(dq.InputError, match="no label 'age'"):
        dq.study(**SMALL, labels="age=width:age:5")
    with pytest.raises(dq.InputError, match="nothing else to recode"):
        define_study({**SMALL, "labels": "none | drop:sex"})
