"""Releases of more records than a matrix is formed of: the same distances, whichever block asks for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial import cKDTree

import disclique as dq
from builders import rng
from disclique.attacks import Knowledge, LabelRule
from disclique.attacks.calibration import calibrate_matrix
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle import Asking, ask_oracle
from disclique.errors import InputError, TooLarge
from disclique.geodesy import Spread, to_space
from disclique.masks import EntryMask, parse_mask
from disclique.masks.entrywise import EntryChance, threefry
from disclique.masks.publishing import NeighbourSearch, list_nearest
from disclique.measures.risk import SCENARIOS, Truth
from disclique.records import Layout
from disclique.releases.distances import Writing, describe_size, estimate_size, write_distances
from disclique.spaces import SIZES, Listed, Matrix, Points, Sizes, Unformed, full_matrix
from disclique.spaces.metrics import paired
from disclique.values import FloatArray

MANY = SIZES.formed_records + 200


def places(n: int = MANY, seed: int = 1, metric: str = "sphere") -> Points:
    """Return points of a country, in degrees or in km."""
    return Points(rng(seed).uniform((6, 47), (15, 55), (n, 2)) * (1 if metric == "sphere" else 100), metric)


def rows(*numbers: int) -> np.ndarray:
    """Return rows as blocks take them."""
    return np.array(numbers, dtype=np.int32)


@pytest.mark.parametrize(
    ("counter", "key", "found"),
    [
        ((0, 0), (0, 0), (0xC2B6E3A8C2C69865, 0x6F81ED42F350084D)),
        ((2**64 - 1,) * 2, (2**64 - 1,) * 2, (0xE02CB7C4D95D277A, 0xD06633D0893B8B68)),
        (
            (0x243F6A8885A308D3, 0x13198A2E03707344),
            (0xA4093822299F31D0, 0x082EFA98EC4E6C89),
            (0x263C7D30BB0F0AF1, 0x56BE8361D3311526),
        ),
    ],
)
def test_the_cipher_gives_its_published_answers(
    counter: tuple[int, int], key: tuple[int, int], found: tuple[int, int]
) -> None:
    """Known answers of Random123 for threefry2x64, 20 rounds."""
    words = threefry(np.array(counter[:1], np.uint64), np.array(counter[1:], np.uint64), key)
    assert tuple(int(word[0]) for word in words) == found


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda chance, n: chance.random(n), stats.uniform()),
        (lambda chance, n: chance.uniform(2.0, 5.0, n), stats.uniform(2, 3)),
        (lambda chance, n: chance.normal(1.0, 2.0, n), stats.norm(1, 2)),
        (lambda chance, n: chance.standard_normal(n), stats.norm()),
        (lambda chance, n: chance.lognormal(-0.5, 0.3, n), stats.lognorm(0.3, scale=np.exp(-0.5))),
        (lambda chance, n: chance.laplace(1.0, 3.0, n), stats.laplace(1, 3)),
        (lambda chance, n: chance.exponential(2.0, n), stats.expon(scale=2)),
    ],
)
def test_entries_have_their_law_and_are_independent(draw, law) -> None:  # type: ignore[no-untyped-def]
    """The draws of neighbouring entries, and the next draws of the same ones, follow the law and do not correlate."""
    i, j = (part.ravel().astype(np.int32) for part in np.indices((200, 200)))
    chance = EntryChance((11, 12), i, j)
    first, second, third = (draw(chance, i.shape) for _ in range(3))
    assert stats.kstest(first, law.cdf).pvalue > 1e-3
    ranks = [stats.rankdata(one) for one in (first, second, third, np.roll(first, 1), np.roll(first, 200))]
    assert np.abs(np.corrcoef(ranks)[np.triu_indices(5, 1)]).max() < 4.5 / np.sqrt(len(i))


@pytest.mark.parametrize(
    "spec",
    ["matrix-gaussian:sd=5km", "matrix-laplace:b=5km", "multiplicative:sd=0.2", "round:to=10km", "topcode:max=300km"],
)
def test_noise_belongs_to_the_entry(spec: str) -> None:
    """Whatever block asks for it, there or back, a distance is the same; another release has another one."""
    source, mask = places(), parse_mask(spec)
    masked = mask.apply(source, rng(3))
    assert isinstance(masked, Unformed)
    assert (masked.size, masked.directed, masked.unit) == (MANY, False, "km")
    some = rng(4).choice(MANY, 60, replace=False).astype(np.int32)
    block = masked.block(some, some)
    np.testing.assert_array_equal(block, block.T)
    np.testing.assert_array_equal(np.diagonal(block), 0)
    for k in (0, 7, 59):
        np.testing.assert_array_equal(masked.block(some[::-1], some[k : k + 1])[::-1, 0], block[:, k])
    np.testing.assert_array_equal(full_matrix(masked.select(some)), block)
    again, other = (full_matrix(mask.apply(source, rng(seed)), rows=some) for seed in (3, 5))
    np.testing.assert_array_equal(again, block)
    assert (spec[:5] in ("round", "topco")) == np.array_equal(other, block)


@pytest.mark.parametrize(
    "spec", ["matrix-gaussian:sd=5km", "matrix-laplace:b=5km", "round:to=10km", "topcode:max=300km"]
)
def test_large_and_small_files_are_masked_by_one_law(spec: str) -> None:
    """What is computed on demand deviates from the truth as the formed matrix does."""
    source, mask = places(), parse_mask(spec)
    some = np.arange(300, dtype=np.int32)
    small = source.select(some)
    upper = np.triu_indices(300, 1)
    large_off = (full_matrix(mask.apply(source, rng(3)), rows=some) - full_matrix(small))[upper]
    small_off = (full_matrix(mask.apply(small, rng(3))) - full_matrix(small))[upper]
    if mask.law is None:  # nothing is drawn
        np.testing.assert_allclose(large_off, small_off, atol=1e-12)
    else:
        far = full_matrix(small)[upper] > 60  # nothing is cut at 0
        assert stats.kstest(large_off[far], mask.law.cdf).pvalue > 1e-3


def test_a_factor_has_mean_one() -> None:
    """The logarithm of the factor has the stated standard deviation, and the factor mean 1."""
    source = places()
    some = np.arange(300, dtype=np.int32)
    masked = full_matrix(parse_mask("multiplicative:sd=0.2").apply(source, rng(3)), rows=some)
    factor = (masked / np.where(np.eye(300), 1, full_matrix(source, rows=some)))[np.triu_indices(300, 1)]
    assert abs(factor.mean() - 1) < 4 * 0.2 / np.sqrt(len(factor))
    assert np.log(factor).std() == pytest.approx(0.2, rel=0.02)


def test_a_direction_has_noise_of_its_own() -> None:
    """There and back are two distances where they have a direction, and one where they have none."""
    source = Points(places().coordinates, directed=True)
    masked = parse_mask("matrix-gaussian:sd=5km").apply(source, rng())
    block = full_matrix(masked, rows=np.arange(40, dtype=np.int32))
    upper = np.triu_indices(40, 1)
    assert (block[upper] != block.T[upper]).mean() > 0.95


@dataclass(frozen=True)
class Own(EntryMask):
    """A mask of one's own."""

    name: ClassVar[str] = "own"
    reference: ClassVar[str] = "a test"
    how: ClassVar[str] = "normal"

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Draw in some way."""
        if self.how == "normal":
            return np.asarray(d + np.abs(rng.normal(0, 1, d.shape) + rng.random(len(d))))
        if self.how == "below":
            return np.asarray(d - 1000)
        return np.asarray(d + (rng.gamma(2.0, 1.0, d.shape) if self.how == "gamma" else rng.normal(0, 1, 3).sum()))


def test_masks_of_ones_own() -> None:
    """They are computed on demand too; a draw that cannot belong to an entry is refused, not drawn anew each time."""
    source = places()
    masked = Own().apply(source, rng())
    block = masked.block(rows(5, 9), rows(9, 5))
    assert block[0, 0] == block[1, 1] == masked.block(rows(9), rows(5))[0, 0] > 0
    for how, error in (("gamma", TooLarge), ("few", TooLarge), ("below", InputError)):
        with pytest.raises(error, match=r"own|rng\.gamma|3 numbers"):
            type("Other", (Own,), {"how": how})().apply(source, rng())


def test_a_mask_that_does_not_fit_is_refused_before_any_block() -> None:
    """A bare number beside kilometres is an error when the mask is applied, as with a small file."""
    with pytest.raises(InputError, match="the unit is missing"):
        parse_mask("round:to=10").apply(places(), rng())


@pytest.mark.parametrize("metric", ["sphere", "euclidean", "cosine", "wgs84"])
def test_what_is_shown_are_distances_alone(metric: str) -> None:
    """The distances of many points are theirs, symmetric bit by bit, and nothing that an attack asks for is a point."""
    source = places(metric=metric if metric == "sphere" else "euclidean")
    source = Points(source.coordinates / (100 if metric == "wgs84" else 1), metric)
    shown = source.as_matrix()
    assert isinstance(shown, Unformed)
    assert not isinstance(shown, Points)
    assert not hasattr(shown, "coordinates")
    assert shown.as_matrix() is shown is shown.hidden()
    assert shown.unit == source.unit
    assert "coordinates" not in repr(shown)
    some = rng(2).choice(MANY, 80, replace=False).astype(np.int32)
    np.testing.assert_array_equal(full_matrix(shown, rows=some), full_matrix(source, rows=some))
    np.testing.assert_array_equal(full_matrix(shown, rows=some), full_matrix(shown, rows=some).T)
    mixed = rng(5).permutation(MANY)
    turned = shown.select(mixed)
    assert isinstance(turned, Unformed)
    np.testing.assert_array_equal(
        full_matrix(turned, rows=some), full_matrix(source, rows=mixed[some].astype(np.int32))
    )
    assert isinstance(turned.select(some), Matrix)


def test_identities_of_hidden_records_name_no_place() -> None:
    """Records at one place are the same, in any order, and what says so is a number."""
    some = places().coordinates.copy()
    some[[7, 4001]] = some[3]
    shown = Points(some).as_matrix()
    found = shown.identities()  # type: ignore[attr-defined]
    assert [found[k] for k in (3, 7, 4001)] == [3, 3, 3]
    assert len(set(found)) == MANY - 2
    turned = shown.select(np.arange(MANY)[::-1]).identities()  # type: ignore[attr-defined]
    assert turned[MANY - 1 - 7] == turned[MANY - 1 - 3]
    assert len(set(turned)) == MANY - 2


def brute(values: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the distance of the k-th nearest of every record, and the matrix without the diagonal."""
    away = np.where(np.eye(len(values), dtype=bool), np.inf, values)
    return np.sort(away, axis=1)[:, k - 1], away


@pytest.mark.parametrize("metric", ["sphere", "euclidean", "wgs84", "cosine", "matrix"])
@pytest.mark.parametrize("ties", [False, True])
def test_lists_of_the_nearest_are_those_of_the_matrix(metric: str, ties: bool) -> None:
    """Tree or blocks: everybody nearer than the k-th is listed, of ties so many as are asked for, and nobody else."""
    n, k = 300, 4
    where = rng(1).uniform((6, 47), (15, 55), (n, 2))
    where = np.round(where * 1.2) / 1.2 if ties else where
    source = Points(where, "sphere" if metric == "matrix" else metric)
    whole = source.as_matrix()
    small = (whole if metric == "matrix" else source).with_sizes(Sizes(entries=2_000))  # several blocks are needed
    found = list_nearest(small, k, rng(2), NeighbourSearch(records=70, pairs=2_000))
    values = full_matrix(whole)
    limit, away = brute(values, k)
    listed = ~np.isnan(full_matrix(found)) & ~np.eye(n, dtype=bool)
    np.testing.assert_array_equal(listed, listed.T)
    np.testing.assert_allclose(full_matrix(found)[listed], values[listed], rtol=1e-12)
    slack = 1e-9 * limit + 1e-12
    surely = away < (limit - slack)[:, None]
    possibly = away <= (limit + slack)[:, None]
    assert listed[surely].all()
    assert not listed[~(possibly | possibly.T)].any()
    assert (listed.sum(axis=1) >= k).all()
    assert len(found.value) <= n * k
    if not ties:
        np.testing.assert_array_equal(listed, surely | surely.T | possibly | possibly.T)


def test_ties_are_broken_at_random() -> None:
    """Of four who are equally near, and have somebody nearer, every one is listed about as often."""
    ring = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    far = 1000 + 50 * np.arange(40)
    where = np.concatenate([[[0, 0]], ring, 1.125 * ring, np.column_stack([far, far])])
    seen, draws = np.zeros(4), rng(0)
    for _ in range(200):
        found = list_nearest(Points(where, "euclidean"), 1, draws)
        seen += ~np.isnan(found.block(rows(0), rows(1, 2, 3, 4))[0])
    assert seen.sum() == 200
    assert stats.chisquare(seen).pvalue > 1e-4


def test_many_people_at_one_place_do_not_form_the_matrix() -> None:
    """Of thousands at a few places neighbours are found among those at the same place."""
    where = rng(3).uniform((6, 47), (15, 55), (40, 2))[rng(4).integers(40, size=MANY)]
    found = parse_mask("knn:k=3").apply(Points(where), rng())
    assert isinstance(found, Listed)
    assert (found.value == 0).all()
    assert MANY * 3 / 2 <= len(found.value) <= MANY * 3
    block = found.block(np.arange(50, dtype=np.int32), np.arange(MANY, dtype=np.int32))
    assert ((~np.isnan(block)).sum(axis=1) >= 4).all()  # three, and the record itself


def test_a_list_answers_any_block() -> None:
    """Repeated, mixed and empty rows, a published 0, a direction: as a matrix with NaN answers."""
    values = np.full((5, 5), np.nan)
    np.fill_diagonal(values, 0)
    first, second, value = np.array([0, 3, 1]), np.array([2, 1, 4]), np.array([2.0, 0.0, 5.0])
    for directed in (False, True):
        whole = values.copy()
        whole[first, second] = value
        if not directed:
            whole[second, first] = value
        found = Listed(5, first, second, value, directed)
        for some, others in (
            (rows(0, 1, 2, 3, 4), rows(0, 1, 2, 3, 4)),
            (rows(3, 3), rows(1, 0, 1)),
            (rows(), rows(1)),
        ):
            np.testing.assert_array_equal(found.block(some, others), whole[np.ix_(some, others)])
    with pytest.raises(InputError, match="two records and a value"):
        Listed(5, first, second, value[:2])


@pytest.mark.parametrize(
    "spec",
    [
        "lipschitz:sets=8",
        "lipschitz:sets=8,norm=1,drawn=records",
        "lipschitz:sets=3,norm=inf",
        "projection:dimensions=2",
    ],
)
def test_embeddings_of_many_records(spec: str) -> None:
    """The distances of an embedding on demand are those of its matrix."""
    source, mask = places(300), parse_mask(spec)
    whole = mask.apply(source, rng(3))
    assert isinstance(whole, Matrix)
    masked = mask.apply(source.with_sizes(Sizes(formed_records=200)), rng(3))
    assert isinstance(masked, Unformed)
    np.testing.assert_allclose(full_matrix(masked), whole.values, rtol=1e-12, atol=1e-9)
    assert masked.unit == whole.unit == "km"


def people(n: int, seed: int = 0) -> dq.Microdata:
    """Return a file with one label and places."""
    where = places(n, seed).coordinates
    frame = pd.DataFrame({"sex": rng(seed).choice(["f", "m"], n), "lon": where[:, 0], "lat": where[:, 1]})
    return dq.microdata(frame, ["sex"], coordinates=["lon", "lat"], name="people")


@pytest.mark.parametrize("kind", ["csv", "npy", "parquet", "list"])
@pytest.mark.parametrize("spec", ["gaussian:sigma=5km", "knn:k=3"])
def test_distances_are_written_some_rows_at_a_time(kind: str, spec: str, tmp_path: Path) -> None:
    """Whatever the size of the blocks, the file holds the matrix, and is read back as such."""
    made = dq.release(people(60), spec, seed=1)
    paths = made.save(tmp_path / "r.csv", kind=kind)
    write_distances(
        made.masked.with_sizes(Sizes(entries=500)), paths["distances"], kind=kind, writing=Writing(lines_at_once=77)
    )
    found = dq.read(paths["table"], Layout(labels=("sex",), unit="km", unpublished=True), distances=paths["distances"])
    np.testing.assert_allclose(full_matrix(found.distances), made.distances, rtol=1e-15)
    size = paths["distances"].stat().st_size
    assert kind == "parquet" or estimate_size(made.masked, kind) == pytest.approx(size, rel=0.2)
    if kind == "npy":
        np.testing.assert_array_equal(np.load(paths["distances"]), made.distances)
    if kind == "csv":
        assert paths["distances"].read_text() == pd.DataFrame(made.distances).to_csv(index=False, header=False)


def test_a_large_list_is_released_without_a_matrix(tmp_path: Path) -> None:
    """The lines of a list are those of the shuffled records, in an order that says nothing of the file's."""
    data = people(MANY)
    made = dq.release(data, "knn:k=2", seed=1)
    assert isinstance(made.masked, Listed)
    paths = made.save(tmp_path / "r.csv")
    lines = pd.read_csv(paths["distances"])
    assert list(lines.columns) == ["from", "to", "distance"]
    assert (lines["from"] < lines["to"]).all()
    assert lines[["from", "to"]].apply(tuple, axis=1).is_monotonic_increasing
    where = data.distances.coordinates[made.key]  # type: ignore[attr-defined]
    true = paired(where[lines["from"] - 1], where[lines["to"] - 1])
    np.testing.assert_allclose(lines["distance"], true, rtol=0, atol=0.51e-6)  # km to the millimetre
    nearest = cKDTree(to_space(where, "sphere")).query(to_space(where, "sphere"), k=3)[1][:, 1:]
    both = np.sort(np.column_stack([np.repeat(np.arange(MANY), 2), nearest.ravel()]), axis=1)
    np.testing.assert_array_equal(lines[["from", "to"]].to_numpy() - 1, np.unique(both, axis=0))


def test_large_releases_say_their_size_and_refuse_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matrix of 20,000 is said to take gigabytes; a full disk, or Parquet, is refused before anything is written."""
    made = dq.release(people(20_000), "gaussian:sigma=5km", seed=1)
    assert isinstance(made.masked, Points)
    told = describe_size(made.masked, "csv")
    assert told is not None
    assert (told.code, told.values["records"], told.values["binary"]) == ("distances_will_take_or", 20_000, "3.2 GB")
    assert str(told.values["size"]).startswith("7.")
    with pytest.raises(TooLarge, match=r"20,000 records takes 3\.2 GB"):
        _ = made.distances
    with pytest.raises(InputError, match="not made for 20,000"):
        made.save(tmp_path / "r.csv", kind="parquet")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1e9))
    with pytest.raises(InputError, match=r"the disk has 1\.0 GB left"):
        made.save(tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("spec", ["gaussian:sigma=5km", "matrix-gaussian:sd=5km"])
def test_masked_records_are_those_of_a_release(spec: str) -> None:
    """``mask`` and ``release`` with one seed give the same distances, also where no matrix is formed."""
    data = people(MANY)
    masked, made = dq.mask(data, spec, seed=4), dq.release(data, spec, seed=4)
    assert isinstance(masked.distances, Unformed)
    some = np.arange(0, MANY, 100, dtype=np.int32)
    np.testing.assert_array_equal(full_matrix(masked.distances, rows=some), full_matrix(made.masked, rows=some))


def holder_of(n: int, known: int, seed: int = 0) -> tuple[Points, Holder]:
    """Return released points, and what the holder knows of a snooper who has the first of them, among strangers."""
    own = places(n, seed)
    theirs = own.join(places(known, seed + 50)).select(np.r_[np.arange(known), np.arange(n, n + known)])
    data = [
        dq.microdata(pd.DataFrame({"x": np.arange(one.size)}), [], coordinates=one.coordinates, name="file")
        for one in (own, theirs)
    ]
    pairs = np.column_stack([np.arange(known), np.arange(known)])
    return own, Holder(data[0], data[1], LabelRule().candidates(*data), Truth(pairs))


@pytest.mark.parametrize("spec", ["round:to=20km", "matrix-gaussian:sd=400km", "affine"])
def test_the_oracle_reads_blocks_of_large_files(spec: str) -> None:
    """What it says of a file is the same, or has the same law, whether the matrix is formed or not."""
    own, holder = holder_of(900, 120)
    mask, told = parse_mask(spec), Knowledge(noise=Spread(0, 0), common=0.15)
    told = replace(told, mask=mask, matrix_noise=mask.matrix_sd)
    masked = mask.apply(own, rng(1))
    holder = replace(holder, knowledge=told)
    formed = ask_oracle([masked], holder)
    exact = holder.exact.distances.with_sizes(Sizes(formed_records=100))
    holder = replace(holder, exact=replace(holder.exact, distances=exact))
    blocks = ask_oracle([masked.as_matrix(most=100)] if spec != "affine" else [masked], holder, Asking(partners=300))
    if spec.startswith("matrix"):
        right = [one.of("prosecutor").sum() for one in (formed, blocks)]
        assert 10 < right[0] < 115  # neither nobody nor everybody
        assert right[1] == pytest.approx(right[0], rel=0.15)
    else:
        for scenario in SCENARIOS:
            np.testing.assert_array_equal(formed.of(scenario), blocks.of(scenario))


@pytest.mark.parametrize("spec", ["matrix-gaussian:sd=5km", "round:to=10km", "knn:k=4"])
def test_a_large_matrix_is_calibrated_on_some_of_its_records(spec: str) -> None:
    """Some rows of the masked matrix say what the mask does to all distances, as the whole of it does."""
    whole = places(600).as_matrix()
    mask = parse_mask(spec)
    small = calibrate_matrix(mask, whole, rng=rng(1))
    large = calibrate_matrix(mask, whole.with_sizes(Sizes(formed_records=100, entries=60_000)), rng=rng(2))
    assert (large.original > 0).all()
    assert len(large.original) > 300
    if spec == "knn:k=4":
        assert small.variance == large.variance == 0
        assert np.median(large.original) == pytest.approx(np.median(small.original), rel=0.3)
    else:
        assert large.variance == pytest.approx(small.variance, rel=0.1)
