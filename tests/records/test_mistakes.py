"""Input that is well formed and means something else: refused, warned of where nobody can miss it, or told rightly.

Every line of the table is a mistake that made a release look safe, made again by a new user at the command line.
"""

import io
import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from conftest import Run
from disclique.audits import Audit, make_plan
from disclique.audits.caveats import inspect_audit
from invented_towns import LABELS, PLACES, distances, towns
from plausible_mistakes import KINDS, Files, list_mistakes, make_files, make_mistake
from small_files import LIGHT

NAMED = ("--id", "pid", "--label", "geschlecht", "--label", "altersklasse")
COLUMNS = (*NAMED, "--coordinates", "laenge,breite")
QUICK = ("--repetitions", "2", "--processes", "1", *LIGHT, "--out", "o")
LIMIT = ("--max-risk", "0.2")


def result() -> Any:
    return json.loads(Path("o/result.json").read_text(encoding="utf-8"))


def write(table: pd.DataFrame, name: str = "p.csv") -> str:
    table.to_csv(name, index=False)
    return name


def refused(answer: tuple[int, str, str], *words: str) -> None:
    """One sentence, exit status 2, and nothing written."""
    code, out, err = answer
    assert code == 2, err
    assert out == ""
    last = err.strip().splitlines()[-1]
    for word in words:
        assert word in last
    assert not Path("o").exists()


def find_messages(held: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every message in a part of a result, also within others: its code and its values."""
    if isinstance(held, dict):
        if "code" in held:
            yield held["code"], held["values"]
        held = list(held.values())
    for one in held if isinstance(held, list) else ():
        yield from find_messages(one)


def test_several_towns_with_neighbour_lists_are_attacked_town_by_town(run: Run) -> None:
    """Neighbour lists fall into parts, one for each town; each part is a map of its own."""
    masked = ("--mask", "knn:k=10", "--overlap", "0.2", *LIMIT, "--attack", "isomap")
    code, _, err = run("audit", write(towns()), *COLUMNS, *masked, *QUICK)
    assert code in (3, 4), err
    found = result()
    assert found["verdict"]["status"] != "meets"
    assert found["settings"][0]["risk"]["value"] > 0.5


def test_a_matrix_is_as_risky_as_the_places_it_was_made_from(run: Run) -> None:
    """Distances that fit a map are laid on one, as a snooper would do it; both doors give the same risk."""
    table = towns(84)
    distances(table).to_csv("d.csv")
    write(table)
    risks = []
    for source in (("--coordinates", "laenge,breite"), ("--distances", "d.csv", "--unit", "km")):
        more = ("--mask", "matrix-gaussian:sd=3km", *LIMIT, "--attack", "register", *QUICK)
        code, _, err = run("audit", "p.csv", *NAMED, *source, *more)
        assert code == 4, err
        risks.append(result()["settings"][0]["risk"]["value"])
        shutil.rmtree("o")
    assert risks[0] > 0.5
    assert risks[1] == pytest.approx(risks[0], abs=0.1)


CODED = {
    "all": (lambda t: t.assign(geschlecht=t.geschlecht.str.upper()), ("'geschlecht'", "only in case", "'m'")),
    "some": (lambda t: t.assign(geschlecht=t.geschlecht.replace("m", "M")), ("'geschlecht'", "only in case")),
    "numbers": (lambda t: t.assign(geschlecht=(t.geschlecht == "w") + 1), ("'geschlecht'", "no value of")),
    "words": (
        lambda t: t.assign(geschlecht=t.geschlecht.replace({"m": "maennlich"})),
        ("'geschlecht'", "'m' is 'maennlich'"),
    ),
}


@pytest.mark.parametrize("how", CODED)
def test_a_known_file_that_codes_a_label_in_another_way_ends_the_audit(run: Run, how: str) -> None:
    """M and W beside m and w, all of them or one, and other codes: with examples, and what differs."""
    change, words = CODED[how]
    known = write(change(towns().iloc[:150]), "k.csv")
    code, out, err = run("audit", write(towns()), *COLUMNS, "--known", known, "--mask", "affine", *LIMIT, *QUICK)
    refused((code, out, err), *words, "--accept")


def test_an_attack_that_cannot_see_the_map_does_not_clear_it(run: Run) -> None:
    """Only labels were tried on an unprotected map: no limit is shown to be kept, and the rest is named."""
    code, _, err = run("audit", write(towns()), *COLUMNS, "--mask", "affine", *LIMIT, *QUICK, "--attack", "labels")
    assert code in (3, 4)
    found = result()["verdict"]
    assert found["status"] != "meets"
    assert "register" in dict(find_messages(found["cautions"]))["not_asked_for"]["names"]
    assert "not asked for" in err
    report = Path("o/report.html").read_text(encoding="utf-8")
    assert "not asked for" in report


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ids: [name.upper() for name in ids], "differ only in case"),
        (lambda ids: [name[1:] for name in ids], "ids are not the ids in column 'pid'"),
        (lambda ids: [*ids[:-1], "p9999"], "1 of its 60 ids"),
    ],
)
def test_a_matrix_whose_ids_are_not_those_of_the_table_is_refused(run: Run, change: Any, words: str) -> None:
    """p0001 beside P0001, 0001 beside 1, one that is missing; and ids although no id column was named."""
    table = towns(60)
    matrix = distances(table)
    write(table)
    names = change(list(matrix.index))
    matrix.set_axis(names, axis=0).set_axis(names, axis=1).to_csv("d.csv")
    masked = ("--distances", "d.csv", "--unit", "km", "--mask", "round:to=1km", *QUICK)
    refused(run("audit", "p.csv", *NAMED, *masked), words)
    matrix.to_csv("d.csv")
    refused(run("audit", "p.csv", *NAMED[2:], *masked), "add --id pid")


def test_numbers_that_lost_their_zeros_are_refused(run: Run) -> None:
    """0001 in the table, 1 in the matrix, as spreadsheets write it."""
    table = towns(60, ids="{:04d}")
    matrix = distances(table)
    write(table)
    names = [int(name) for name in matrix.index]
    matrix.set_axis(names, axis=0).set_axis(names, axis=1).to_csv("d.csv")
    found = run("audit", "p.csv", *NAMED, "--distances", "d.csv", "--unit", "km", "--mask", "round:to=1km", *QUICK)
    refused(found, "leading zeros")


def test_a_labelled_frame_is_joined_by_its_index() -> None:
    """Rows of the frame in another order than the table: its index decides."""
    table = towns(60)
    matrix = distances(table)
    mixed = np.random.default_rng(1).permutation(60)
    found = dq.microdata(table, LABELS, distances=matrix.iloc[mixed, mixed], ids="pid")
    np.testing.assert_array_equal(found.distances.values, matrix.to_numpy())


def test_a_matrix_without_a_unit_never_meets_a_length(run: Run) -> None:
    """Metres taken for kilometres: asked for the unit; the wrong one is refused, the right one gives the figure."""
    table = towns(60)
    (1000 * distances(table)).to_csv("d.csv")
    write(table)
    masked = ("--distances", "d.csv", "--mask", "matrix-gaussian:sd=500m", *QUICK, "--attack", "labels")
    refused(run("audit", "p.csv", *NAMED, *masked), "--unit")
    refused(run("audit", "p.csv", *NAMED, *masked, "--unit", "km"), "metres")
    write(table.iloc[:30], "k.csv")
    both = ("p.csv", "k.csv", *COLUMNS[:-2], "--coordinates", "laenge,breite")
    refused(run("attack", *both, "--target-distances", "d.csv", "--attack", "register"), "unit")
    with pytest.raises(dq.InputError, match="do not say their unit"):
        dq.audit(dq.microdata(table, LABELS, distances=distances(table) * 1000, ids="pid"), "matrix-gaussian:sd=500m")


def test_incomplete_records_are_at_risk_and_spoken_of(run: Run) -> None:
    """An empty label excludes nobody: who has one is found by the map; and the share of them is said."""
    table = towns(105)
    gaps = np.random.default_rng(2).random(len(table)) < 0.3
    table.loc[gaps, "altersklasse"] = None
    masked = ("--mask", "gaussian:sigma=500m", *LIMIT, "--attack", "register")
    code, _, err = run("audit", write(table), *COLUMNS, *masked, *QUICK)
    assert code == 4, err
    share = f"{int(gaps.sum())} records"
    assert share in err
    said = dict(find_messages(result()["verdict"]["cautions"]))
    assert said["labels_empty"]["records"] == int(gaps.sum()), said
    risk = pd.read_csv("o/records.csv")
    with_gap = risk.set_index("id").loc[table.pid[gaps]]
    assert with_gap["risk"].mean() > 0.3


@pytest.mark.parametrize(
    ("names", "given", "words"),
    [
        (("lon", "lat"), "lat,lon", "write lon,lat"),
        (("laenge", "breite"), "breite,laenge", "write laenge,breite"),
        (("x", "y"), "y,x", "swapped"),
    ],
)
def test_longitude_and_latitude_swapped_are_refused(run: Run, names: tuple[str, str], given: str, words: str) -> None:
    """By what the columns are called, and by where on Earth the places would lie."""
    table = towns().rename(columns=dict(zip(PLACES, names, strict=True)))
    masked = ("--mask", "gaussian:sigma=2km", "--overlap", "0.2", *LIMIT, *QUICK)
    refused(run("audit", write(table), *NAMED, "--coordinates", given, *masked), words)


def test_an_attack_that_was_cut_short_says_so_in_the_table(run: Run) -> None:
    """Beside others that were not."""
    write(towns(60), "p.csv")
    write(towns(60).iloc[:40], "k.csv")
    attacks = ("--attack", "labels", "--attack", "clique", "--within", "30km", "--budget", "1e-9", "--truth", "pid")
    code, out, err = run("attack", "p.csv", "k.csv", *COLUMNS, *attacks)
    assert code == 0, err
    notes = pd.read_csv(io.StringIO(out), sep="\t").set_index("attack")["note"]
    assert "LOWER BOUND" in notes["clique"]
    assert pd.isna(notes["labels"])
    assert "clique: no sign of safety" in err


def test_nothing_is_overwritten(run: Run) -> None:
    """Neither the source, nor an older release, nor a key by its own release, with --force or without."""
    source = write(towns(40))
    before = Path(source).read_bytes()
    mask = ("mask", source, *COLUMNS, "--mask", "gaussian:sigma=1km")
    for force in ((), ("--force",)):
        refused(run(*mask, "--out", source, *force), source)
        refused(run(*mask, "--out", "r.csv", "--key", "r.csv", *force), "r.csv")
        refused(run(*mask, "--out", "r.csv", "--key", source, *force), source)
    assert Path(source).read_bytes() == before
    assert run(*mask, "--out", "r.csv", "--key", "k.csv")[0] == 0
    files = {path: path.read_bytes() for path in Path().iterdir()}
    refused(run(*mask, "--out", "r.csv"), "r.csv", "--force")
    refused(run(*mask, "--out", "new.csv", "--key", "k.csv"), "k.csv", "--force")
    assert {path: path.read_bytes() for path in Path().iterdir()} == files


# Two hundred mistakes more

TRIED: dict[str, Any] = {
    "attacks": ("labels",),
    "repetitions": 1,
    "person_trials": 10,
    "sensitivity": False,
}
LOWER, CHANCE = 0.05, 0.02  # how far a risk may lie below that of the clean file; what eleven draws leave to chance


def measure(files: Files) -> float | None:
    """The risk that an audit tells of these files; None if it refuses them or remarks on them.

    It is what the oracle makes of eleven releases, below which no limit is said to be kept. Where there is no oracle it
    is the upper end of the risk, which a verdict is made from.
    """
    try:
        read = files.read()
        plan = make_plan([files.mask], known=read["known"], others=read["others"], **files.asked(), **TRIED)
        found = inspect_audit(Audit(plan, **read))
        if found.remarks:
            return None
        told = dq.audit(read.pop("target"), files.mask, **read, **files.asked(), **TRIED)
    except dq.InputError:
        return None
    assert told.inspection.remarks == found.remarks
    setting = told.settings[0]
    return setting.risk.high if setting.oracle is None else setting.oracle.value


@cache
def clean_risk(kind: str) -> float:
    risk = measure(make_files(kind))
    assert risk is not None, "the clean files are remarked on"
    return risk


@st.composite
def mistaken(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]], int]:
    """A case, one or two mistakes in its files, and what chance makes of them."""
    kind = draw(st.sampled_from(KINDS))
    made = draw(st.lists(st.sampled_from(list_mistakes(kind)), min_size=1, max_size=2, unique=True))
    return kind, made, draw(st.integers(0, 99))


def check_mistakes(kind: str, made: list[tuple[str, str]], seed: int) -> None:
    files, rng = make_files(kind), np.random.default_rng(seed)
    for part, name in made:
        try:
            files = make_mistake(files, part, name, rng)
        except (AttributeError, KeyError, TypeError, ValueError):
            return  # the first mistake left nothing that the second could be made with
    risk = measure(files)
    assert risk is None or risk >= clean_risk(kind) - LOWER - CHANCE, (kind, made, risk, clean_risk(kind))


@pytest.mark.parametrize("seed", [1, 10, 56])
def test_a_few_people_under_wrong_ids_do_not_hide_the_others(seed: int) -> None:
    """A matrix is laid on the known map by the people in both files; three or four of 90 elsewhere must not turn it."""
    files = make_files("matrix and known")
    wrong = make_mistake(files, "known", "ids shuffled in a tenth", np.random.default_rng(seed))
    risk = measure(wrong)
    assert risk is None or risk >= clean_risk("matrix and known") - 2 * LOWER  # those themselves, and a few beside


@settings(max_examples=40, deadline=None)
@given(mistaken())
def test_no_plausible_mistake_makes_a_release_look_safe(case: tuple[str, list[tuple[str, str]], int]) -> None:
    """Refused, remarked on, or as risky as the clean file: whatever was swapped, scaled, recoded, shuffled or cut.

    A limit counts as kept only if the oracle keeps it, so that a risk of the oracle which is no lower than the clean
    file's means that no limit is met which the clean file breaks. What cannot be seen is in ``UNSEEN``, with why.
    """
    check_mistakes(*case)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(mistaken())
def test_two_hundred_plausible_mistakes(case: tuple[str, list[tuple[str, str]], int]) -> None:
    check_mistakes(*case)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_mistake_alone(kind: str) -> None:
    """Each of them once, in each file that it can be made in."""
    for part, name in list_mistakes(kind):
        check_mistakes(kind, [(part, name)], 5)
