"""Files for the benchmark of the attack on two matrices: what is in a cell, and two files drawn for it."""

from __future__ import annotations

import string
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial import Delaunay

import disclique as dq
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.masks.encoding import TextMask
from disclique.model import Microdata
from disclique.runs.unit import Chance
from disclique.spaces import Encodings, Matrix, Points, Texts, full_matrix
from disclique.spaces.base import Distances
from disclique.spaces.strings import texts_of
from disclique.synthetic.people import germany, misspell

ENCODINGS = {
    "bf": "bloom:length=1024,bits=10,q=2",
    "tmh": "minhash:length=1024,q=2",
    "tsh": "two-step:columns=1000,bits=10,q=2",
}
SIGNS = string.ascii_letters + string.digits + string.punctuation
ROOT = Chance(2026)  # nothing was chosen on these draws


@dataclass(frozen=True)
class Cell:
    """What is drawn, how it is masked, and which attack is carried out.

    ``source`` is a file of the data folder (``names`` after it: without birthdays), ``edits``, ``roads``, ``points-3``,
    ``mixture-8``, ``mixture-32`` or ``germany``; `` with `` and a fault after it spoils the known file (``spoil``).
    ``mask`` is a spec, ``columns=01+02``: a Bloom filter of the columns 0 and 1 and one of 0 and 2, or ``noise=0.3``:
    Gaussian noise on every distance, its standard deviation a share of the mean distance. ``groups`` is the number of
    labels, 0 for none; ``errors`` is the share of known records with a typing error; ``overlap`` and ``strangers`` are
    those of the published grid; ``seeds`` is how many pairs an insider knows, who are not counted as found.
    """

    part: str
    source: str
    mask: str
    targets: int
    known: int
    common: int
    groups: int = 0
    errors: float = 0.0
    strangers: str = ""
    overlap: float = float("nan")
    seeds: int = 0
    by: str = "profiles"

    @property
    def drawn(self) -> tuple[str | int, ...]:
        """What the files depend on; cells that differ in the attack only have the same files."""
        sizes = (self.targets, self.known, self.common, self.groups)
        return (self.source, self.mask, *sizes, str(self.errors))

    def key(self, split: int) -> tuple[str, ...]:
        """What tells one run from all others."""
        return (*map(str, asdict(self).values()), str(split))


class Case(NamedTuple):
    """Two files and what the snooper knows of the mask; ``person`` is the truth in both."""

    target: Microdata
    known: Microdata
    mask: Mask


def grid_cell(part: str, source: str, people: int, strangers: str, overlap: float, **more: Any) -> Cell:
    """Return a cell of the published grid: where the strangers are says how large the two files are."""
    if strangers == "Both":
        targets = known = int(people / (2 - overlap))
        common = max(round(overlap * targets), 2 * targets - people)
    else:
        known, targets = people, round(overlap * people)
        common = targets
    return Cell(part, source, more.pop("mask"), targets, known, common, strangers=strangers, overlap=overlap, **more)


def count_people(data: Path, file: str) -> int:
    """Return how many people a file of the data folder has."""
    return len(_table(data, file))


def draw_case(cell: Cell, split: int, data: Path | None) -> Case:
    """Draw the two files of a cell; the release is masked by itself, under a secret of its own."""
    rng = ROOT.rng("matching", *cell.drawn, split)
    people = cell.targets + cell.known - cell.common
    source, _, fault = cell.source.partition(" with ")
    whole = _draw(source, people, data, rng)
    mask = _mask(cell.mask, whole)
    order = rng.permutation(people)
    released, held = rng.permutation(order[: cell.targets]), rng.permutation(order[cell.targets - cell.common :])
    group = rng.integers(max(cell.groups, 1), size=people)
    ours = whole.select(held)
    if cell.errors:
        assert isinstance(ours, Texts)
        ours = misspell(ours, rng, cell.errors)
    if fault:
        assert isinstance(ours, Texts)
        ours = spoil(ours, fault, rng, None if data is None else data / f"{source}_error_10.tsv")
    files = []
    for rows, distances in ((released, mask.apply(whole.select(released), rng)), (held, ours)):
        table = pd.DataFrame({"person": rows, "group": group[rows]})
        files.append(dq.microdata(table, ["group"] if cell.groups else [], distances=distances))
    return Case(replace(files[0], name="target"), replace(files[1], name="known"), mask)


@dataclass(frozen=True)
class Several(TextMask):
    """Several Bloom filters of each person, each of some columns under a key of its own, one behind the other."""

    name: ClassVar[str] = "several"
    columns: str = field(default="", metadata={"read": str})  # such as 01+02

    def encode(self, distances: Distances, key: bytes, rng: np.random.Generator) -> Encodings:
        """Encode every choice of columns by itself."""
        texts, one = distances.texts(), dq.parse_mask(ENCODINGS["bf"])
        assert texts is not None
        chosen = [[texts.fields[int(k)] for k in part] for part in self.columns.split("+")]
        found = [one.apply(texts.with_fields(columns), rng) for columns in chosen]
        bits = np.concatenate([part.bits for part in found], axis=1)
        return Encodings(bits, 8 * bits.shape[1], parts=tuple(part.length for part in found))


def _mask(spec: str, whole: Distances) -> Mask:
    if spec.startswith("columns="):
        return Several(spec.removeprefix("columns="))
    if not spec.startswith("noise="):
        return dq.parse_mask(spec)
    share = float(spec.removeprefix("noise="))
    values = full_matrix(whole)
    mean = float(values[~np.eye(len(values), dtype=bool)].mean())
    return dq.parse_mask(f"matrix-gaussian:sd={share * mean:.9g}")


def _draw(source: str, people: int, data: Path | None, rng: np.random.Generator) -> Distances:
    kind, _, rest = source.partition("-")
    if kind == "roads":
        return draw_roads(people, rng)
    if kind == "mixture":
        return draw_mixture(people, int(rest), rng)
    if kind == "points":
        return Points(rng.normal(size=(people, int(rest))), "euclidean")
    if kind == "germany":
        table = germany(n_target=people, n_known=people, common=people, rng=rng).target
        return Points(table[["lon", "lat"]].to_numpy())
    if data is None:
        raise InputError(f"{source}: give the folder of the names (--data DIR)")
    edits = source == "edits"
    file, _, only_names = ("fakename_1k names" if edits else source).partition(" ")
    table = _table(data, file)
    columns = list(table.columns[:2] if only_names else table.columns)
    texts = texts_of(table, columns, "levenshtein" if edits else "dice:q=2", name=file)
    return texts.select(rng.choice(texts.size, people, replace=False))


def spoil(texts: Texts, fault: str, rng: np.random.Generator, typed: Path | None) -> Texts:
    """Return the known file with faults.

    ``letters-10``: ten in a hundred letters are any other sign, as in the files with errors of the published runs;
    ``typed``: the person as that file has them. ``swapped-10``, ``missing-10``: of ten in a hundred people the first
    two columns are exchanged, or the last one is empty.
    """
    kind, _, rate = fault.partition("-")
    share, columns = float(rate or 0) / 100, [list(column) for column in texts.fields]
    if kind == "typed":
        assert typed is not None
        right, wrong = (_table(typed.parent, name) for name in (typed.stem.removesuffix("_error_10"), typed.stem))
        spelled = dict(zip(map(tuple, right.to_numpy()), map(tuple, wrong.to_numpy()), strict=True))
        rows = [spelled[tuple(row)] for row in zip(*columns, strict=True)]
        return texts.with_fields([list(column) for column in zip(*rows, strict=True)])
    if kind == "letters":
        return texts.with_fields([[_mistype(text, share, rng) for text in column] for column in columns])
    for row in np.flatnonzero(rng.random(texts.size) < share):
        if kind == "swapped":
            columns[0][row], columns[1][row] = columns[1][row], columns[0][row]
        else:
            columns[-1][row] = ""
    return texts.with_fields(columns)


def _mistype(text: str, share: float, rng: np.random.Generator) -> str:
    wrong, signs = rng.random(len(text)) < share, rng.integers(len(SIGNS), size=len(text))
    return "".join(SIGNS[sign] if bad else right for right, bad, sign in zip(text, wrong, signs, strict=True))


def _table(data: Path, file: str) -> pd.DataFrame:
    if file.startswith("recombined_"):
        return recombine(_table(data, "fakename_20k"), 1000 * int(file.removeprefix("recombined_").removesuffix("k")))
    return pd.read_csv(data / f"{file}.tsv", sep="\t", dtype=str, keep_default_na=False).drop(columns="uid")


def recombine(table: pd.DataFrame, people: int) -> pd.DataFrame:
    """Return more people than a table has: every column drawn by itself, as often as its values occur; nobody twice."""
    rng = ROOT.rng("recombined", people)
    drawn = pd.DataFrame({name: table[name].to_numpy()[rng.integers(len(table), size=2 * people)] for name in table})
    return drawn.drop_duplicates().head(people).reset_index(drop=True)


def draw_roads(places: int, rng: np.random.Generator) -> Matrix:
    """Return travel times between all junctions of a road network: planar, directed, of roads unequally fast.

    Junctions lie closer together in towns; neighbours are joined by a triangulation, of which a third is left out; a
    road's speed is its own, and somewhat another one on the way back.
    """
    in_town = rng.random(places) < 0.6
    towns = rng.random((8, 2))[rng.integers(8, size=places)] + rng.normal(0, 0.06, (places, 2))
    where = np.where(in_town[:, None], towns, rng.random((places, 2)))
    corners = Delaunay(where).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    pairs = np.unique(np.sort(sides, axis=1), axis=0)
    lengths = np.linalg.norm(where[pairs[:, 0]] - where[pairs[:, 1]], axis=1)
    tree = minimum_spanning_tree(csr_matrix((lengths, pairs.T), shape=(places, places))).tocoo()
    needed = set(zip(np.minimum(tree.row, tree.col).tolist(), np.maximum(tree.row, tree.col).tolist(), strict=True))
    kept = np.array([(a, b) in needed for a, b in pairs.tolist()]) | (rng.random(len(pairs)) > 1 / 3)
    pairs, lengths = pairs[kept], lengths[kept]
    slowness = np.exp(rng.normal(0, 0.5, len(pairs)))
    there, back = (lengths * slowness * np.exp(rng.normal(0, 0.2, len(pairs))) for _ in range(2))
    ends = np.concatenate([pairs, pairs[:, ::-1]]).T
    roads = csr_matrix((np.concatenate([there, back]), ends), shape=(places, places))
    return Matrix(100 * shortest_path(roads), directed=True)


def draw_mixture(people: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return vectors of a mixture of ten normal distributions of unequal size, their centres spread twice as wide."""
    centres = rng.normal(0, 2, (10, dimensions))
    kind = rng.choice(10, people, p=rng.dirichlet(np.full(10, 3.0)))
    return Points(centres[kind] + rng.normal(size=(people, dimensions)), "euclidean")
