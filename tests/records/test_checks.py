"""A look at the input: what is well formed and means something else is seen, and a clean file is left in peace."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import disclique as dq
from disclique.records.checks.places import name_places
from disclique.spaces import full_matrix

LABELS = ["sex", "age_class"]
Change = Callable[[pd.DataFrame], pd.DataFrame]


def test_columns_that_call_themselves_latitude_and_longitude_are_not_swapped() -> None:
    """By their names, before anything is looked at; a matrix without names is caught by where its places lie."""
    table = dq.survey()
    with pytest.raises(dq.InputError, match="write lon,lat"):
        people(table, coordinates=["lat", "lon"])
    german = table.rename(columns={"lon": "Länge", "lat": "Breite"})
    with pytest.raises(dq.InputError, match="write Länge,Breite"):
        people(german, coordinates=["Breite", "Länge"])
    assert len(people(german, coordinates=["Länge", "Breite"])) == 500


def people(table: pd.DataFrame | None = None, name: str = "survey", **options: object) -> dq.Microdata:
    table = dq.survey() if table is None else table
    options = {"coordinates": ["lon", "lat"], "ids": "id"} | options
    return dq.microdata(table, LABELS, name=name, **options)  # type: ignore[arg-type]


def test_a_clean_file_is_described_without_a_remark() -> None:
    """Records, extent with its country, distances with their unit, labels and their groups as pandas counts them."""
    survey = dq.survey()
    found = dq.inspect(people())
    assert found.remarks == ()
    look = found.files[0]
    sizes = survey.groupby(LABELS).size()
    assert (look.records, look.groups, look.smallest) == (500, len(sizes), sizes.min())
    assert look.unique == (sizes == 1).sum()
    assert look.extent is not None
    assert look.extent.where[0][0] == "DE"
    assert look.extent.west <= survey.lon.min() < look.extent.west + 0.1
    assert look.lengths is not None
    assert look.lengths.unit == "km"
    block = full_matrix(people().distances)
    assert look.lengths.median == pytest.approx(np.median(block[~np.eye(500, dtype=bool)]))
    found.check()


def test_countries_and_seas_are_named_offline() -> None:
    """Capitals and waters that anybody can look up on a map."""
    places = {
        "DE": (13.4, 52.5),
        "FR": (2.35, 48.86),
        "GB": (-0.1, 51.5),
        "US": (-98.0, 39.0),
        "AU": (149.1, -35.3),
        "ZA": (28.2, -25.7),
        "LS": (28.2, -29.5),  # a hole in the outline of its neighbour
        "RU": (175.0, 67.0),
        "sea_north": (3.0, 56.0),
        "sea_pacific": (-140.0, 10.0),
        "sea_guinea": (0.0, 0.0),
    }
    assert name_places(np.array(list(places.values()))) == list(places)
    assert name_places(np.array([[-140.0 + 360, 10.0]])) == ["sea_pacific"]


def _at_zero(table: pd.DataFrame) -> pd.DataFrame:
    table.loc[:2, ["lon", "lat"]] = 0.0
    return table


def _one_place(table: pd.DataFrame) -> pd.DataFrame:
    table.loc[:49, ["lon", "lat"]] = 9.99, 50.01
    return table


def _far_off(table: pd.DataFrame) -> pd.DataFrame:
    table.loc[0, ["lon", "lat"]] = -150.0, -40.0
    return table


def _empty(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(sex=table.sex.where(np.arange(500) % 3 > 0))


def _nearly_twice(table: pd.DataFrame) -> pd.DataFrame:
    again = table.assign(id=table["id"] + "b", lon=table.lon + 1e-5, lat=table.lat - 1e-5)
    return pd.concat([table, again])


GAP = "label_stands_for_nothing"
ODD: dict[str, tuple[Change, str, bool]] = {  # what was done, what is said, whether it can only be a mistake
    "places_swapped": (lambda t: t.rename(columns={"lon": "lat", "lat": "lon"}), "places_swapped", True),
    "at zero": (_at_zero, "places_at_zero", True),
    "no sign": (lambda t: t.assign(lon=-t.lon - 10), "places_in_the_sea", False),
    "tenths": (lambda t: t.assign(lon=t.lon / 10, lat=t.lat / 10), "places_in_the_sea", False),
    "radians": (lambda t: t.assign(lon=np.radians(t.lon), lat=np.radians(t.lat)), "places_in_the_sea", False),
    "rounded": (lambda t: t.round({"lon": 1, "lat": 1}), "places_coarse", False),
    "one place": (_one_place, "place_crowded", False),
    "far off": (_far_off, "places_apart", False),
    "id as label": (lambda t: t.assign(sex=t["id"]), "label_looks_like_id", True),
    "measurement as label": (lambda t: t.assign(sex=np.arange(500) // 2 * 2), "label_of_many_values", False),
    "constant": (lambda t: t.assign(sex="f"), "label_of_one_value", False),
    "nothing": (lambda t: t.assign(sex=None), "label_always_empty", True),
    "a third empty": (_empty, "labels_empty", False),
    "codes": (
        lambda t: t.assign(sex=t.sex.where(np.arange(500) % 9 > 0, "unknown")),
        GAP,
        False,
    ),
    "case": (
        lambda t: t.assign(sex=t.sex.where(np.arange(500) % 2 > 0, t.sex.str.upper())),
        "label_written_twice",
        False,
    ),
    "a label twice": (lambda t: t.assign(sex=t.age_class), "labels_tell_the_same", False),
    "a label twice, recoded": (lambda t: t.assign(sex=t.age_class.rank(method="dense")), "labels_tell_the_same", False),
    "copies a little apart": (_nearly_twice, "records_have_twins", False),
    "cells": (lambda t: t.assign(lon=(t.lon * 7).round() / 7, lat=(t.lat * 7).round() / 7), "places_on_a_grid", False),
    "a code as longitude": (lambda t: t.assign(lon=np.arange(500) % 7 + 6), "places_coarse_on_one_axis", False),
    "a nine": (
        lambda t: t.assign(sex=np.where(np.arange(500) % 9 > 0, np.arange(500) % 3, 9)),
        GAP,
        False,
    ),
    "a text of nines": (
        lambda t: t.assign(age_class=t.age_class.where(t.index % 9 > 0, "99")),
        GAP,
        False,
    ),
    "copies": (lambda t: pd.concat([t, t.assign(id=t["id"] + "b")]), "records_copied", False),
}


@pytest.mark.parametrize("what", ODD)
def test_a_file_that_means_something_else_is_remarked_on(what: str) -> None:
    """Each change leaves the file well formed; what can only be a mistake ends a run unless it is accepted."""
    change, said, mistake = ODD[what]
    table = dq.survey()
    table["id"] = table["id"].astype(str)
    found = dq.inspect(people(change(table).reset_index(drop=True)))
    there = [remark for remark in found.remarks if said == remark.message.code]
    assert there, found.remarks
    assert there[0].mistake == mistake
    if mistake:
        with pytest.raises(dq.InputError) as error:
            found.check()
        assert error.value.message.code == "mistake_ends_the_run"
        names = [remark.name for remark in found.mistakes]
        assert error.value.message.values["name"] == names[0]
        assert found.check(accept=names).forced
        assert not [one for one in found.check(accept=names).unaccepted if one.mistake]
    else:
        found.check()


def _distances() -> NDArray[np.float64]:
    return np.asarray(full_matrix(people(dq.survey().iloc[:120]).distances))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d**2, "distances_squared"),
        (lambda d: np.where(np.eye(len(d)), 0, d.max() - d), "distances_no_metric"),
        (np.zeros_like, "distances_all_zero"),
        (lambda d: np.ones_like(d) - np.eye(len(d)), "distances_all_equal"),
        (lambda d: np.ceil(d / 100) * 100, "distances_in_classes"),
        (lambda d: np.where(d < 200, 0, d), "distances_often_zero"),
        (np.round, "distances_rounded"),
        (lambda d: np.minimum(d, 400), "distances_cut_off"),
    ],
)
def test_a_matrix_that_holds_no_distances_is_remarked_on(change: Callable[..., object], said: str) -> None:
    """Squares, similarities, constants, classes: a matrix of numbers, but not of the distances of people."""
    table = dq.survey().iloc[:120]
    clean = people(table, coordinates=None, distances=_distances(), unit="km")
    assert dq.inspect(clean).remarks == ()
    odd = people(
        table, coordinates=None, distances=change(_distances()), unit=None if said == "distances_squared" else "km"
    )
    assert any(said == remark.message.code for remark in dq.inspect(odd).remarks), dq.inspect(odd).remarks


KNOWN: dict[str, tuple[Change, str]] = {
    "labels in capitals": (lambda t: t.assign(sex=t.sex.str.upper()), "label_values_never_meet_but"),
    "labels padded": (lambda t: t.assign(sex=t.sex + " "), "label_values_never_meet_but"),
    "labels as numbers": (lambda t: t.assign(sex=(t.sex == "male").astype(int)), "label_values_never_meet"),
    "one value in capitals": (lambda t: t.assign(sex=t.sex.replace("male", "Male")), "label_values_differ_in_writing"),
    "values swapped": (
        lambda t: t.assign(sex=t.sex.map({"male": "female", "female": "male"})),
        "label_coded_otherwise",
    ),
    "labels shuffled": (lambda t: t.assign(age_class=np.roll(t.age_class, 7)), "label_coincides_by_chance"),
    "ids in capitals": (
        lambda t: t.assign(id=t["id"].where(t.index % 2 > 0, t["id"].str.upper())),
        "ids_differ_in_writing",
    ),
    "places swapped": (lambda t: t.rename(columns={"lon": "lat", "lat": "lon"}), "no_area_in_common"),
    "places shuffled": (
        lambda t: t.assign(lon=np.roll(t.lon, 3), lat=np.roll(t.lat, 3)),
        "distances_unrelated",
    ),
    "rows shuffled": (
        lambda t: t.assign(id=np.roll(t["id"], 5)),
        "distances_unrelated",
    ),
}


def test_distances_of_the_same_people_in_another_unit_are_a_mistake() -> None:
    """Miles, hundreds of metres: the same people say by how much, where the lengths alone could be a smaller map's."""
    table = dq.survey().iloc[:120]
    for factor, mistake in ((0.1, True), (1 / 1.609344, True), (1.3, False)):
        other = people(table, "known", coordinates=None, distances=factor * _distances(), unit="km")
        found = [
            r
            for r in dq.inspect(people(table), other, same_ids=True).remarks
            if r.message.code == "distances_of_other_length"
        ]
        assert [remark.mistake for remark in found] == [mistake]


def _moved_some(table: pd.DataFrame) -> pd.DataFrame:
    rows = np.arange(len(table)) % 10 == 0
    table.loc[rows, ["lon", "lat"]] = np.roll(table.loc[rows, ["lon", "lat"]].to_numpy(), 1, axis=0)
    return table


def _blurred(table: pd.DataFrame) -> pd.DataFrame:
    noise = np.random.default_rng(1).normal(0, 0.3, (len(table), 2))
    return table.assign(lon=table.lon + noise[:, 0], lat=table.lat + noise[:, 1])


def _labels_off(table: pd.DataFrame) -> pd.DataFrame:
    rows = np.arange(len(table))
    other = table.sex.map({"male": "female", "female": "male"})
    return table.assign(
        sex=table.sex.where(rows % 30 > 0, other), age_class=table.age_class.where(rows % 30 != 7, "75+")
    )


@pytest.mark.parametrize(
    ("change", "said", "mistake"),
    [
        (lambda t: t.assign(lon=t.lon + 0.3, lat=t.lat + 0.1), "people_shifted", True),
        (_blurred, "people_blurred", False),
        (_moved_some, "people_elsewhere", False),
        (_labels_off, "people_have_other_labels", False),
        (
            lambda t: t.assign(id=t["id"].where(t.index % 2 > 0, "x" + t["id"])),
            "records_are_doubles",
            False,
        ),
    ],
)
def test_people_who_are_not_where_or_who_they_should_be(change: Change, said: str, mistake: bool) -> None:
    """Shifted, blurred, a tenth somewhere else, one label in thirty wrong in each column, half by other ids."""
    table = dq.survey()
    table["id"] = "p" + table["id"].astype(str)
    known = people(change(table.iloc[:200].reset_index(drop=True)), "known")
    found = dq.inspect(people(table), known, same_ids=True)
    there = [remark for remark in found.remarks if said == remark.message.code]
    assert there, found.remarks
    assert there[0].mistake == mistake


def test_strangers_who_are_the_released_people_are_remarked_on() -> None:
    """A file of others that is the release, numbered anew: each of them would hide a person from the attacks."""
    table = dq.survey().iloc[:100].reset_index(drop=True)
    others = people(table.assign(id=[f"q{k}" for k in range(100)]), "others")
    result = dq.audit(
        people(table), "affine", others=others, overlap=0.5, attacks="labels", repetitions=1, sensitivity=False
    )
    assert "records_are_doubles" in {remark.message.code for remark in result.inspection.remarks}


def test_roots_of_distances_are_remarked_on() -> None:
    """They are a metric, but of no map; their squares are that of one."""
    rooted = people(dq.survey().iloc[:120], coordinates=None, distances=np.sqrt(_distances()), unit="km")
    result = dq.audit(rooted, "round:to=1km", attacks="labels", repetitions=1, sensitivity=False)
    assert "distances_are_roots" in {remark.message.code for remark in result.inspection.remarks}


@pytest.mark.parametrize("what", KNOWN)
def test_a_known_file_of_other_people_is_a_mistake(what: str) -> None:
    """The same people, coded, named or placed in another way: nobody could be found, whatever is released."""
    change, said = KNOWN[what]
    table = dq.survey()
    table["id"] = "p" + table["id"].astype(str)
    some = change(table.iloc[:200].reset_index(drop=True))
    found = dq.inspect(people(table), people(some, "known"), same_ids=True)
    assert any(said == remark.message.code and remark.mistake for remark in found.remarks), found.remarks


def test_an_honest_known_file_is_left_in_peace() -> None:
    """Fewer people, other rows, a few wrong labels, places off by some hundred metres: no remark."""
    rng = np.random.default_rng(1)
    table = dq.survey()
    some = table.sample(200, random_state=1)
    some = some.assign(
        lon=some.lon + rng.normal(0, 0.005, 200),
        lat=some.lat + rng.normal(0, 0.005, 200),
        sex=some.sex.where(rng.random(200) > 0.03, "male"),
    )
    found = dq.inspect(people(table), people(some, "known"), same_ids=True)
    assert found.remarks == ()
    assert found.shared_ids == 200


def test_matrices_in_two_units_are_a_mistake() -> None:
    """Metres on one side and kilometres on the other: no distance agrees."""
    table = dq.survey().iloc[:120]
    km = people(table, coordinates=None, distances=_distances())
    metres = people(table, "known", coordinates=None, distances=1000 * _distances())
    assert any(remark.message.code == "medians_differ" and remark.mistake for remark in dq.inspect(km, metres).remarks)


def test_no_remark_names_a_person_or_a_place() -> None:
    """What goes into a report says how many, never who or where."""
    table = _at_zero(_one_place(dq.survey()))
    table["id"] = "person-" + table["id"].astype(str)
    found = dq.inspect(people(table))
    text = str(found)
    assert "person-" not in text
    assert "9.99" not in text
    assert "50.01" not in text
