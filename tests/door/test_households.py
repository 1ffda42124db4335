"""People at one place: households, equal rows, distances of zero. Every mask, every attack, both doors, no crash."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import disclique as dq
from disclique.masks import masks

SPECS = {
    "disc": "disc:max=3km",
    "donut": "donut:min=1km,max=3km",
    "gaussian": "gaussian:sigma=2km",
    "grid": "grid:cell=20km",
    "knn": "knn:k=3",
    "laplace": "laplace:epsilon=1/km",
    "lipschitz": "lipschitz:sets=4,drawn=records",
    "matrix-gaussian": "matrix-gaussian:sd=3km",
    "matrix-laplace": "matrix-laplace:b=3km",
    "multiplicative": "multiplicative:sd=30",
    "projection": "projection:dimensions=3",
    "round": "round:to=20km",
    "swap": "swap:radius=100km",
    "topcode": "topcode:max=60km",
    "within": "within:size=20km,by=sex",
}
ON_PLANE = {"rotation"}  # turns the coordinates of a plane, and no others


def households(kind: str, homes: int = 5, seed: int = 0) -> dq.Microdata:
    """Two or three people at each home, some of them with one label, so that nobody can tell them apart."""
    rng = np.random.default_rng(seed)
    at = np.repeat(np.arange(homes), 2 + np.arange(homes) % 2)
    where = rng.uniform((9, 49), (11, 51), (homes, 2))[at]
    table = pd.DataFrame({"id": range(len(at)), "sex": rng.choice(["f", "m"], len(at))})
    if kind == "map":
        return dq.microdata(table, ["sex"], coordinates=where, ids="id")
    if kind == "plane":
        return dq.microdata(table, ["sex"], coordinates=where * 1e5, metric="euclidean", unit="m", ids="id")
    if kind == "matrix":
        return dq.microdata(table, ["sex"], distances=100 * cdist(where, where), unit="km", ids="id")
    names = np.array(["".join(rng.choice(list("abelmnorst"), 6)) for _ in range(homes)])
    return dq.microdata(table.assign(name=names[at]), ["sex"], text=["name"], ids="id")


CASES = [
    (kind, SPECS.get(name, name))
    for name, made in masks().items()
    if made.leading is None  # a file says how it encodes: tests/masks/test_schemes.py
    for kind in {"coordinates": ["map"], "distances": ["map", "matrix"], "text": ["text"]}[made.on]
]
CASES = [("plane" if spec in ON_PLANE else kind, spec) for kind, spec in CASES]


@pytest.mark.parametrize(("kind", "spec"), CASES)
def test_households_are_audited_and_attacked_under_every_mask(kind: str, spec: str) -> None:
    """Whatever is found, it is found without a crash."""
    file = households(kind)
    asked = {"repetitions": 1, "attacks": ["labels", "register", "profiles"], "person_trials": 1, "sensitivity": False}
    result = dq.audit(file, spec, accept=["doubled-records", "near-doubles"], **asked)
    assert 0 < result.settings[0].risk.value <= 1
    seen, who = dq.mask(file, spec, seed=1, key=True)
    for by in ("register", "profiles"):
        try:
            found = dq.attack(seen, file, by=by, truth=who, knowledge=dq.Knowledge(common=0.99))
        except dq.InputError:
            continue  # it says in one sentence that it does not apply here
        assert found.risk is not None
        assert found.risk.tp + found.risk.fn == len(file)
