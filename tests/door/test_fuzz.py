"""A thousand strange inputs: a result, or one clear sentence; never another error, half a result or a changed file."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import disclique as dq
from disclique.audits import RESULT, Audit, run_audit
from disclique.audits.caveats import inspect_audit
from disclique.audits.from_options import read_audit
from disclique.errors import DiscliqueError
from disclique.masks import masks
from disclique.options.audits import AuditOptions

NAMES = st.one_of(
    st.sampled_from(["id", "sex", "age", "lon", "lat", "<b>x</b>", "größe", "a,b", "", "id "]),
    st.text(max_size=6),
)
NUMBERS = st.one_of(
    st.floats(-200, 200, allow_nan=False).map(lambda x: f"{x:.3f}"),
    st.sampled_from(["", "NA", "1e400", "-0", "nan", "inf", "12,5", "x", "91", "181"]),
)
CELLS = st.one_of(st.sampled_from(["f", "m", "", "NA", "1", "1.0", "<i>"]), st.text(max_size=5), NUMBERS)
UNITS = st.sampled_from(["", "m", "km", "deg", "/km", "%", "parsec"])
VALUES = st.one_of(
    st.tuples(
        st.sampled_from(["0", "-1", "1", "0.5", "500", "1e9", "1e-9", "nan", "inf", "1..5", "5..1", "x"]), UNITS
    ).map("".join),
    st.text(max_size=4),
)
SANE = st.sampled_from(
    [
        "affine",
        "gaussian:sigma=1km",
        "gaussian:sigma=0.01deg",
        "knn:k=2",
        "round:to=1km",
        "grid:cell=5km",
        "swap:radius=9km",
    ]
)
EARTH = st.one_of(
    st.builds("gaussian:sigma={}m".format, st.floats(1e-6, 1e8)),
    st.builds("laplace:epsilon={}/km".format, st.floats(1e-6, 1e6)),
    st.builds("matrix-laplace:b={}km".format, st.floats(1e-6, 1e6)),
    st.builds("topcode:max={}km".format, st.floats(1e-6, 1e6)),
    st.builds("multiplicative:sd={}".format, st.floats(1e-6, 30)),
    st.builds("lipschitz:sets={}".format, st.integers(1, 9)),
    st.sampled_from(["voronoi", "dhs", "projection:dimensions=2", "donut:min=1m,max=1km", "knn:k=99"]),
)
PARAMETERS = st.sampled_from(["sigma", "sd", "min", "max", "k", "to", "epsilon", "cell", "sets", "mirror", "zzz"])
ODD = st.builds(
    lambda name, parts: f"{name}:{','.join(f'{key}={value}' for key, value in parts)}",
    st.one_of(st.sampled_from(sorted(masks())), st.text(max_size=5)),
    st.lists(st.tuples(PARAMETERS, VALUES), max_size=2),
)
CLEAN = st.tuples(st.sampled_from("fm"), st.sampled_from("123"), st.floats(-170, 170), st.floats(-80, 80))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """The bytes of a table: tidy, or with odd names, cells, rows, separators and encodings, or no table at all."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.binary(max_size=60))
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    if kind < 6:
        rows = draw(st.lists(CLEAN, min_size=2, max_size=8))
        table = [["id", "sex", "age", "lon", "lat"]]
        table += [[str(k), sex, age, f"{lon:.4f}", f"{lat:.4f}"] for k, (sex, age, lon, lat) in enumerate(rows)]
        if kind == 5:  # one cell of a tidy table is odd
            row, column = draw(st.integers(0, len(rows))), draw(st.integers(0, 4))
            table[row][column] = draw(CELLS)
    else:
        width = draw(st.integers(1, 6))
        table = [draw(st.lists(NAMES, min_size=width, max_size=width))]
        ragged = draw(st.booleans())
        for _ in range(draw(st.integers(0, 6))):
            table.append(draw(st.lists(CELLS, min_size=0 if ragged else width, max_size=width)))
    text = draw(st.sampled_from(["\n", "\r\n"])).join(separator.join(row) for row in table)
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])), errors="replace")


GOOD = st.fixed_dictionaries(
    {"mask": st.lists(st.one_of(SANE, EARTH), min_size=1, max_size=2, unique=True)},
    optional={
        "id": st.just("id"),
        "label": st.sampled_from([["sex", "age"], ["age"], ["lon"]]),
        "coordinates": st.sampled_from(["lon,lat", "lat,lon"]),
        "metric": st.sampled_from(["sphere", "sphere", "sphere", "wgs84"]),
        "crs": st.just("EPSG:4326"),
        "max-risk": st.floats(0, 1),
        "overlap": st.floats(0.1, 1),
        "label-error": st.floats(0, 0.9),
        "coordinate-error": st.sampled_from(["1m", "100km"]),
        "missing": st.sampled_from(["never", "any"]),
        "seed": st.integers(0, 10),
        "alpha": st.floats(0.01, 0.99),
        "repetitions": st.integers(1, 2),
        "utility": st.sampled_from(["neighbours", "pearson"]),
        "generalise": st.sampled_from([[], ["a=width:lon:5"]]),
    },
)
ABSURD = st.one_of(
    st.fixed_dictionaries({"mask": st.lists(ODD, max_size=2)}),
    st.fixed_dictionaries({"id": st.sampled_from(["nobody", ""])}),
    st.fixed_dictionaries({"label": st.lists(NAMES, max_size=2)}),
    st.fixed_dictionaries({"coordinates": NAMES}),
    st.fixed_dictionaries({"metric": st.sampled_from(["euclidean", "moon"])}),
    st.fixed_dictionaries({"crs": st.sampled_from(["EPSG:25832", "nowhere"])}),
    st.fixed_dictionaries({"max-risk": st.floats(-1, 2)}),
    st.fixed_dictionaries({"overlap": st.floats(), "known-size": st.integers(-1, 30)}),
    st.fixed_dictionaries({"overlap": st.just(0.5), "others": st.sampled_from(["germany", "no such file.csv"])}),
    st.fixed_dictionaries({"label-error": st.floats()}),
    st.fixed_dictionaries({"coordinate-error": VALUES}),
    st.fixed_dictionaries({"missing": st.just("maybe")}),
    st.fixed_dictionaries({"seed": st.integers(-1, 10**30)}),
    st.fixed_dictionaries({"alpha": st.floats()}),
    st.fixed_dictionaries({"repetitions": st.integers(-1, 1)}),
    st.fixed_dictionaries({"generalise": st.just(["x"])}),
)
CHOSEN = st.builds(lambda good, odd: {**good, **odd}, GOOD, st.one_of(st.just({}), st.just({}), ABSURD))


TIDY: dict[str, Any] = {
    "label": ["sex", "age"],
    "coordinates": "lon,lat",
    "repetitions": 1,
    "attack": ["labels", "clique"],
}


def outcome(file: Path, given_options: dict[str, Any], folder: Path, *, turn: int) -> str | None:
    """None after a release and, in one of sixteen turns, an audit; or the sentence that says why there is none."""
    result = None
    try:
        audit = audit_of(file, given_options)
        assert "\x00" not in str(inspect_audit(audit))
        audit = replace(audit, plan=replace(audit.plan, person_trials=10, sensitivity=turn % 32 == 0))
        if turn % 16 == 0:  # an audit takes longer than the rest, a page longer still
            result = run_audit(audit, folder=folder / "out")
        dq.release(audit.target, audit.plan.settings[0].mask, 0).save(folder / "release.csv")
    except DiscliqueError as error:
        return str(error)
    assert result is None or dq.read_result(folder / "out" / RESULT) == result
    assert result is None or turn < 64 or "<b>x</b>" not in result.report()
    return None


def audit_of(file: Path, given_options: dict[str, Any], config: Path | None = None) -> Audit:
    """The audit that options, by their names on the command line, ask for."""
    said = AuditOptions(**{name.replace("-", "_"): value for name, value in given_options.items()})
    return read_audit(file, said.filled(config))


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(files(), CHOSEN, st.integers(1, 64))
def test_strange_input_ends_in_a_result_or_a_sentence(content: bytes, chosen: dict[str, Any], turn: int) -> None:
    """Through the doors of audit and mask, with files and options of every kind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "eingabe ä.csv"
        file.write_bytes(content)
        said = outcome(file, {**TIDY, **chosen, "budget": 0.05}, folder, turn=turn)
        if said is not None:
            assert said.strip()
            assert "\n" not in said
            assert not (folder / "out" / RESULT).exists()
            assert not (folder / "release.csv").exists()
        assert file.read_bytes() == content
        assert not list(folder.rglob(".*")), "a draft was left behind"


CONFIGURATIONS = ["label = {a = 1}", "repetitions = 'many'", "budget = []", "= 1", "seed = 1.5e400", "mask = 3"]


@pytest.mark.parametrize("config", CONFIGURATIONS)
def test_strange_configuration_ends_in_a_sentence(tmp_path: Path, config: str) -> None:
    """Values of the wrong kind and text that is no TOML."""
    (tmp_path / "f.csv").write_text("sex,lon,lat\nf,1,2\nm,2,3\n")
    (tmp_path / "c.toml").write_text(config)
    tidy = {"label": ["sex"], "coordinates": "lon,lat", "mask": ["affine"]}
    with pytest.raises(DiscliqueError, match=r"."):
        audit_of(tmp_path / "f.csv", {key: tidy[key] for key in tidy if key not in config}, tmp_path / "c.toml")
