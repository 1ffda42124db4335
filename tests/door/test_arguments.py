"""Bad arguments at the public door: one sentence that names what is wrong, never a traceback of another library."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import disclique as dq
from disclique.engine.solvers import graph_of

PEOPLE = dq.survey().iloc[:12]
RNG = np.random.default_rng(0)
FILE = dq.microdata(PEOPLE, ["sex"], coordinates=["lon", "lat"], ids="id", name="file")
BARE = dq.microdata(PEOPLE, ["sex"], distances=np.ones((12, 12)) - np.eye(12), ids="id", name="bare")
MASK = dq.parse_mask("gaussian:sigma=500m")
GRAPH = graph_of(np.array([[0, 1], [1, 2]]), 3)
SQUARE = [[0, 5], [5, 0]]


def attack(**wrong: Any) -> Any:
    return dq.attack(FILE, FILE, **({"agreement": dq.Within(5)} | wrong))


def audit(**wrong: Any) -> Any:
    return dq.audit(FILE, **({"masks": "affine", "attacks": "labels", "repetitions": 1} | wrong))


def microdata(**wrong: Any) -> Any:
    return dq.microdata(**({"table": PEOPLE, "labels": ["sex"], "coordinates": ["lon", "lat"]} | wrong))


def study(**wrong: Any) -> Any:
    return dq.study(**({"sigma": 0.01, "repetitions": 1, "n": 60, "common": 10, "attack": "labels"} | wrong))


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "microdata, table": (lambda: microdata(table=[1, 2]), "a table is a pandas DataFrame"),
    "microdata, labels=5": (lambda: microdata(labels=5), "labels = 5"),
    "microdata, labels=[5]": (lambda: microdata(labels=[5]), "no (label )?column"),
    "microdata, coordinates='lon'": (lambda: microdata(coordinates="lon"), "coordinates.*lon.*two columns"),
    "microdata, coordinates=5": (lambda: microdata(coordinates=5), "coordinates = 5"),
    "microdata, coordinates of text": (lambda: microdata(coordinates=[["a", "b"]] * 12), "coordinates are not numbers"),
    "microdata, coordinates of strange columns": (lambda: microdata(coordinates=["x", "lat"]), "no column 'x'"),
    "microdata, metric": (lambda: microdata(metric="taxi"), "metric 'taxi'"),
    "microdata, metric=5": (lambda: microdata(metric=5), "metric 5"),
    "microdata, ids=7": (lambda: microdata(ids=7), "no column 7"),
    "microdata, ids=[...]": (lambda: microdata(ids=["id"]), r"ids = \['id'\]"),
    "microdata, unit": (lambda: microdata(unit="miles"), "unit = 'miles'"),
    "microdata, unit=1000": (lambda: microdata(coordinates=None, distances=np.eye(12) * 0, unit=1000), "unit = 1000"),
    "microdata, unit of coordinates": (lambda: microdata(unit="m"), "unit m: its distances .* are in km already"),
    "microdata, text=5": (lambda: microdata(coordinates=None, text=5), "text = 5"),
    "microdata, text of no column": (lambda: microdata(coordinates=None, text="name"), "no column 'name'"),
    "microdata, distances of text": (lambda: microdata(coordinates=None, distances="d.csv"), "distances.*read()"),
    "microdata, distances=5": (lambda: microdata(coordinates=None, distances=5), "distance"),
    "microdata, directed": (lambda: microdata(coordinates=None, distances=SQUARE, directed="no"), "directed = 'no'"),
    "microdata, option": (lambda: microdata(direct=True), "unknown option 'direct'"),
    "Matrix of text": (lambda: dq.Matrix([["a", "b"], ["c", "d"]]), "the distances are not numbers"),
    "Matrix, unit": (lambda: dq.Matrix(SQUARE, unit="mile"), "unit = 'mile'"),
    "Points of text": (lambda: dq.Points([["a", "b"]]), "the coordinates are not numbers"),
    "Points, metric=5": (lambda: dq.Points([[1, 2]], 5), "metric 5"),
    "Points, unit": (lambda: dq.Points([[1, 2]], unit="m"), "unit = 'm': distances by sphere are in km"),
    "Texts=5": (lambda: dq.Texts(5), "strings = 5"),
    "Texts of one text": (lambda: dq.Texts("anna"), "strings = 'anna'"),
    "Texts, metric": (lambda: dq.Texts(("a",), "taxi"), "taxi"),
    "Encodings=5": (lambda: dq.Encodings("0101", 4), "encodings of shape"),
    "Encodings, length": (lambda: dq.Encodings(np.zeros((2, 1), dtype=np.uint8), "8"), "length = '8'"),
    "Microdata by hand": (lambda: dq.Microdata(PEOPLE, PEOPLE[["sex"]], 5, tuple(range(12))), "distances = 5"),
    "Exact": (lambda: dq.Exact("much"), "error = 'much'"),
    "read, path=5": (lambda: dq.read(5), "path = 5"),
    "read, nothing there": (lambda: dq.read("nowhere.csv", coordinates="lon,lat"), "nowhere.csv"),
    "read, layout": (lambda: dq.read("f.csv", {"labels": []}), "layout = "),
    "read, option": (lambda: dq.read("f.csv", lables=["sex"]), "'lables'.*did you mean 'labels'"),
    "read, labels=5": (lambda: dq.read("f.csv", labels=5), "labels = 5"),
    "read_seeds, target": (lambda: dq.read_seeds("s.csv", 5, FILE), "target = 5"),
    "read_result=5": (lambda: dq.read_result(5), "path = 5"),
    "load_study=5": (lambda: dq.load_study(5), "folder = 5"),
    "Within text": (lambda: dq.Within("near"), "within = 'near' is not a number"),
    "Within degrees": (lambda: dq.Within("1deg"), "within = '1deg': the unit 'deg' does not fit"),
    "Within None": (lambda: dq.Within(None), "within = None"),
    "Within True": (lambda: dq.Within(True), "within = True"),
    "Within a list": (lambda: dq.Within([5]), r"within = .*\[5\]"),
    "Within -5m": (lambda: dq.Within("-5m"), "within = -5m: it must be a positive number"),
    "Relative percent": (lambda: dq.Relative(5), "relative = 5: .* write 5% for percent"),
    "Relative of a length": (lambda: dq.Relative("5km"), "relative = '5km'"),
    "Between mixed": (lambda: dq.Between(-1, "2km"), "between -1 and 2km: both ends have a unit, or neither"),
    "Between turned": (lambda: dq.Between("2km", "-500m"), "between 2km and -500m: .* the smaller one first"),
    "Between text": (lambda: dq.Between("a", "b"), "between = 'a' is not a number"),
    "quantiles, law": (lambda: dq.quantiles(5, 0.5), "law = 5"),
    "quantiles, alpha": (lambda: dq.quantiles(norm(0, 1), "x"), "alpha = 'x'"),
    "attack, target": (lambda: dq.attack(PEOPLE, FILE), "target = a DataFrame of 12: give microdata"),
    "attack, known": (lambda: dq.attack(FILE, None), "known = None: give microdata"),
    "attack, agreement=0.5": (lambda: attack(agreement=0.5), r"agreement = 0.5: .* Within\(0.5\)"),
    "attack, agreement='500m'": (lambda: attack(agreement="500m"), r"agreement = '500m': .* Within\(\"500m\"\)"),
    "attack, agreement=Within": (lambda: attack(agreement=dq.Within), "agreement = .*Within.*: say when"),
    "attack, by": (lambda: attack(by="regsiter"), "no attack 'regsiter'; .* did you mean 'register'"),
    "attack, by=5": (lambda: attack(by=5), "attack = 5"),
    "attack, knowledge": (lambda: attack(knowledge={"common": 0.1}), "knowledge = {'common': 0.1}"),
    "attack, truth": (lambda: attack(truth="who"), "file: no truth column 'who'"),
    "attack, truth=[...]": (lambda: attack(truth=["id"]), "the truth names 1: one id for each record"),
    "attack, labels": (lambda: attack(labels=["sex"]), r"labels = \['sex'\]: give a LabelRule"),
    "attack, search": (lambda: attack(search="exact"), "search = 'exact'"),
    "attack, progress": (lambda: attack(progress=True), "progress = True"),
    "attack, units": (lambda: dq.attack(BARE, FILE, agreement=dq.Within(5)), "bare: the distances do not say"),
    "LabelRule, missing": (lambda: dq.LabelRule("sometimes"), "missing = 'sometimes': choose one of"),
    "LabelRule, comparators": (lambda: dq.LabelRule(comparators="sex"), "comparators = 'sex'"),
    "Knowledge, noise": (lambda: dq.Knowledge(noise="500m"), "noise = '500m'"),
    "Knowledge, matrix noise": (lambda: dq.Knowledge(matrix_noise="3km"), "matrix noise = '3km'"),
    "Knowledge, common": (lambda: dq.Knowledge(common=20), "common share = 20: .*; for 20 % write 0.2"),
    "Knowledge, coordinate error": (lambda: dq.Knowledge(coordinate_error="5m"), "coordinate error = '5m'"),
    "Knowledge, seeds": (lambda: dq.Knowledge(seeds=5), "seeds = 5: give pairs"),
    "Knowledge, mask": (lambda: dq.Knowledge(mask="affine"), "mask = 'affine'"),
    "Knowledge, agreement": (lambda: dq.Knowledge(agreement=5), r"agreement = 5: .* Within\(5\)"),
    "Knowledge, alpha": (lambda: dq.Knowledge(alpha=50), "alpha = 50"),
    "Search, solver": (lambda: attack(search=dq.Search("exakt")), "'exakt'"),
    "Search, budget": (lambda: dq.Search(budget=60), "budget = 60: .* Budget"),
    "Search, threads": (lambda: dq.Search(threads=1.5), "threads = 1.5"),
    "Search, limit": (lambda: dq.Search(limit=0), "limit of maximum cliques = 0"),
    "Search, seed": (lambda: dq.Search(seed="x"), "seed = 'x'"),
    "Budget, seconds": (lambda: dq.Budget("60s"), "budget, seconds = '60s'"),
    "Budget, work": (lambda: dq.Budget(work="much"), "budget, work = 'much'"),
    "Budget, size": (lambda: dq.Budget(size="x"), "budget, size = 'x'"),
    "Spread": (lambda: dq.Spread("500m", "500m"), "spread east = '500m'"),
    "Spread, unit": (lambda: dq.Spread(1, 1, "mile"), "spread in 'mile'"),
    "attack_names": (lambda: dq.attack_names(every="no"), "every = 'no'"),
    "read_register, labels": (lambda: dq.read_register("x", 5, coordinates="lon,lat"), "labels = 5"),
    "read_register": (lambda: dq.read_register("nowhere", ["sex"], coordinates="lon,lat"), "nowhere: there is no such"),
    "read_population": (lambda: dq.read_population("nowhere.csv", coordinates="lon,lat"), "nowhere.csv"),
    "register_attack": (lambda: dq.register_attack(5), "attack = 5"),
    "register_mask": (lambda: dq.register_mask("affine"), "mask = 'affine'"),
    "list_masks=3": (lambda: dq.list_masks(3), "data = 3"),  # type: ignore[arg-type]
    "parse_mask=3": (lambda: dq.parse_mask(3), "mask = 3"),
    "parse_mask, name": (lambda: dq.parse_mask("gausian:sigma=1km"), "did you mean 'gaussian'"),
    "parse_mask, unit": (lambda: dq.parse_mask("gaussian:sigma=1mile"), "the unit 'mile' does not fit here"),
    "mask=3": (lambda: dq.mask(FILE, 3), "mask = 3"),
    "mask, data": (lambda: dq.mask(PEOPLE, "affine"), "data = a DataFrame of 12"),
    "mask, seed": (lambda: dq.mask(FILE, "affine", "x"), "seed = 'x': a seed is a whole number"),
    "mask, bare number": (lambda: dq.mask(FILE, "round:to=5"), "to = 5: the unit is missing; write 5km or 5m"),
    "mask, unit unsaid": (lambda: dq.mask(BARE, "round:to=5km"), "the distances do not say their unit"),
    "release, data": (lambda: dq.release("f.csv", "affine"), "data = 'f.csv'"),
    "release, mask": (lambda: dq.release(FILE, None), "mask = None"),
    "release, seed": (lambda: dq.release(FILE, "affine", 1.5), "seed = 1.5"),
    "Release.save": (lambda: dq.release(FILE, "affine").save(5), "path = 5"),
    "calibrate, mask": (lambda: dq.calibrate("affine", rng=RNG), "mask = 'affine': .* parse_mask"),
    "calibrate, rng": (lambda: dq.calibrate(MASK, rng=0), "rng = 0"),
    "calibrate, pairs": (lambda: dq.calibrate(MASK, pairs=2.5, rng=RNG), "pairs = 2.5"),
    "calibrate, points": (lambda: dq.calibrate(MASK, points="f.csv", rng=RNG), "points = 'f.csv'"),
    "calibrate, metric": (lambda: dq.calibrate(MASK, metric="taxi", rng=RNG), "metric"),
    "calibrate, unit": (lambda: dq.calibrate(MASK, unit="m", rng=RNG), "unit = 'm': distances by sphere are in km"),
    "learn, mask": (lambda: dq.learn("affine", None, None, common=None, rng=RNG), "mask = 'affine'"),
    "learn, calibration": (lambda: dq.learn(MASK, 5, None, common=None, rng=RNG), "calibration = 5"),
    "utility, original": (lambda: dq.utility(FILE, FILE.distances, rng=RNG), "original = .*: give the distances"),
    "utility, rng": (lambda: dq.utility(FILE.distances, FILE.distances, rng=0), "rng = 0"),
    "utility, sample": (lambda: dq.utility(FILE.distances, FILE.distances, rng=RNG, sample="all"), "sample = 'all'"),
    "utility, sizes": (lambda: dq.utility(FILE.distances, dq.cities().distances, rng=RNG), "12 records before and 4"),
    "audit, target": (lambda: dq.audit(PEOPLE, "affine"), "target = a DataFrame of 12"),
    "audit, masks=3": (lambda: audit(masks=3), "masks = 3"),
    "audit, masks=[3]": (lambda: audit(masks=[3]), r"masks = \(3,\)"),
    "audit, known": (lambda: audit(known="k.csv"), "known = 'k.csv'"),
    "audit, overlap": (lambda: audit(overlap="20%"), "overlap = '20%'"),
    "audit, overlap percent": (lambda: audit(overlap=20), "overlap = 20: .*; for 20 % write 0.2"),
    "audit, max_risk": (lambda: audit(max_risk=5), "max risk = 5: .*; for 5 % write 0.05"),
    "audit, max_risk text": (lambda: audit(max_risk="5%"), "max risk = '5%'"),
    "audit, repetitions": (lambda: audit(repetitions=2.5), "repetitions = 2.5: it must be a whole number"),
    "audit, seed": (lambda: audit(seed="x"), "seed = 'x': a seed is a whole number"),
    "audit, attacks": (lambda: audit(attacks="regsiter"), "no attack 'regsiter'; .* did you mean 'register'"),
    "audit, attacks=5": (lambda: audit(attacks=5), "attacks = 5"),
    "audit, option": (lambda: audit(repetition=5), "unknown option 'repetition'; .* did you mean 'repetitions'"),
    "audit, alpha": (lambda: audit(alpha="x"), "alpha = 'x'"),
    "audit, coordinate error": (lambda: audit(coordinate_error="far"), "coordinate error = 'far'"),
    "audit, executor": (lambda: audit(executor=4), "executor = 4"),
    "audit, folder": (lambda: audit(folder=5), "folder = 5"),
    "Plan, masks": (lambda: dq.Plan("affine"), "masks = 'affine'"),
    "Plan, snooper": (lambda: dq.Plan(("affine",), 0.2), "snooper = 0.2"),
    "audit, recipients": (lambda: audit(recipients=5), "5 is no recipient"),
    "audit, labels": (lambda: audit(labels="sex"), "known labels = 'sex'"),
    "Recipient, name": (lambda: dq.Recipient(5), "5 cannot be the name"),
    "Recipient, option": (
        lambda: dq.Recipient("a", overlab=0.5),
        "unknown option 'overlab'; .* did you mean 'overlap'",
    ),
    "Recipient, like": (lambda: dq.Recipient("a", like="insurr"), "'insurr'; .* did you mean 'insurer'"),
    "Snooper, overlap": (lambda: dq.Snooper(overlap="all"), "overlap = 'all'"),
    "Snooper, size": (lambda: dq.Snooper(overlap=0.2, size=1.5), "known size = 1.5"),
    "Processes": (lambda: dq.Processes("all"), "processes = 'all'"),
    "OnDask": (lambda: dq.OnDask(5), "address = 5"),
    "report": (lambda: dq.report("result.json"), "result = 'result.json'"),
    "study, option": (lambda: study(repetition=5), "'repetition'.*did you mean 'repetitions'"),
    "study, repetitions": (lambda: study(repetitions="x"), "repetitions = 'x'"),
    "study, n": (lambda: study(n="many"), "n = 'many'"),
    "study, sigma": (lambda: study(sigma="far"), "far"),
    "study, attack": (lambda: study(attack="lables"), "did you mean 'labels'"),
    "study, seed": (lambda: study(seed="x"), "seed = 'x'"),
    "study, definition": (lambda: dq.study("affine"), "definition = 'affine'"),
    "example, name": (lambda: dq.example("nothing"), "nothing"),
    "germany, n": (lambda: dq.germany(n_target="x", rng=RNG), "n_target = 'x'"),
    "germany, rng": (lambda: dq.germany(rng=0), "rng = 0"),
    "maximum_clique, graph": (lambda: dq.maximum_clique([[0, 1]]), r"graph = \[\[0, 1\]\]"),
    "maximum_clique, solver": (lambda: dq.maximum_clique(GRAPH, solver="exakt"), "'exakt'"),
    "maximum_clique, budget": (lambda: dq.maximum_clique(GRAPH, budget=60), "budget = 60"),
    "maximum_cliques, clique": (lambda: dq.maximum_cliques(GRAPH, (0, 1)), r"clique = \(0, 1\)"),
    "maximum_cliques, limit": (lambda: dq.maximum_cliques(GRAPH, dq.maximum_clique(GRAPH), limit="x"), "limit"),
    "inspect, target": (lambda: dq.inspect(PEOPLE), "target = a DataFrame of 12: give microdata"),
    "inspect, known": (lambda: dq.inspect(FILE, 5), "known = 5: give microdata"),
    "read_key": (lambda: dq.read_key(5), "path = 5"),
    "recipients_page": (lambda: dq.recipients_page("recipients.json"), "facts = 'recipients.json'"),
    "advise, target": (lambda: dq.advise(PEOPLE, 0.1), "target = a DataFrame of 12: give microdata"),
    "advise, limit": (lambda: dq.advise(FILE, 9), "for 9 % write 0.09"),
    "advise, purpose": (lambda: dq.advise(FILE, 0.1, purpose="neighbors"), "neighbors"),
    "advise, max_risk": (lambda: dq.advise(FILE, 0.1, max_risk=0.1), "limit"),
    "read_advice": (lambda: dq.read_advice(5), "path = 5"),
    "advice_page": (lambda: dq.advice_page("advice.json"), "advice = 'advice.json'"),
    "annex": (lambda: dq.annex("result.json"), "result = 'result.json'"),
    "draw_matches": (lambda: dq.plots.draw_matches(FILE, FILE, 5), "matches = 5"),
}
NO_ARGUMENTS = {"cities", "poets", "survey"}
NOT_CALLED = {
    "Advice",
    "Register",
    "Attack",
    "AttackResult",
    "AuditResult",
    "Claims",
    "DiscliqueError",
    "InputError",
    "Inspection",
    "RecipientsResult",
    "Release",
}
NOT_CALLED |= {"Serial", "StudyResult"}  # made by functions, never by hand


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_argument_is_refused_in_one_sentence(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the argument or the value, in one line."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("f.csv", index=False)
    pd.DataFrame({"target_id": [1], "known_id": [1]}).to_csv("s.csv", index=False)
    call, says = WRONG[case]
    with pytest.raises(dq.InputError, match=says) as raised:
        call()
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


def test_the_table_asks_every_public_function() -> None:
    """What can be called with an argument has a line in the table."""
    asked = {case.replace("=", " ").replace(",", " ").replace(".", " ").split()[0] for case in WRONG}
    asked |= {"plots"} if "draw_matches" in asked else set()
    assert set(dq.__all__) - asked - NO_ARGUMENTS - NOT_CALLED == set()
