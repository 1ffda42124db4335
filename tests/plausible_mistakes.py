"""Plausible mistakes: what people do to files that stay well formed, and the clean files that it is done to.

A case is made of tables as a user would hand them in. A mistake takes one table (or matrix) and gives it back changed;
where it does not apply to that file it gives it back as it was.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import disclique as dq
from invented_towns import AGES, LABELS, PLACES, distances, on_map, towns

Rng = np.random.Generator
Change = Callable[[pd.DataFrame, Rng], pd.DataFrame]

N, KNOWN, STRANGERS = 140, 90, 60


@dataclass(frozen=True, eq=False)
class Files:
    """What is handed in: tables, or for the target a matrix, and how the audit is asked."""

    target: pd.DataFrame
    mask: str
    known: pd.DataFrame | None = None
    others: pd.DataFrame | None = None
    matrix: pd.DataFrame | None = None
    overlap: float | None = None

    def read(self) -> dict[str, Any]:
        """The files as an audit takes them; an error if they are refused."""
        if self.matrix is None:
            target = on_map(self.target)
        else:
            target = dq.microdata(self.target, LABELS, distances=self.matrix, ids="pid", unit="km", name="personen.csv")
        known = None if self.known is None else on_map(self.known, "bekannt.csv")
        others = None if self.others is None else on_map(self.others, "andere.csv")
        return {"target": target, "known": known, "others": others}

    def changed(self, part: str, change: Change, rng: Rng) -> "Files":
        """The files with a mistake in one of them."""
        held = getattr(self, part)
        return self if held is None else replace(self, **{part: change(held.copy(), rng)})

    def asked(self) -> dict[str, Any]:
        """What the audit is asked beside the files."""
        return {} if self.overlap is None else {"overlap": self.overlap}


def make_files(kind: str) -> Files:
    """A clean case: the whole file known, a known file, people outside, or a matrix beside nothing or a known file."""
    everybody = towns(N + STRANGERS, seed=4)
    target, strangers = everybody.iloc[:N].reset_index(drop=True), everybody.iloc[N:].reset_index(drop=True)
    known = pd.concat([target.iloc[:KNOWN], strangers]).sample(frac=1, random_state=1).reset_index(drop=True)
    plain, noisy = "gaussian:sigma=2km", "matrix-gaussian:sd=12km"
    return {
        "whole": Files(target, plain),
        "known": Files(target, plain, known=known),
        "others": Files(target, plain, others=strangers, overlap=0.4),
        "matrix": Files(target, noisy, matrix=distances(target)),
        "matrix and known": Files(target, noisy, known=known, matrix=distances(target)),
    }[kind]


KINDS = ("whole", "known", "others", "matrix", "matrix and known")


def _some(table: pd.DataFrame, rng: Rng, share: float) -> np.ndarray:
    return rng.random(len(table)) < share


def _swap(one: str, other: str) -> Change:
    return lambda t, _: t.rename(columns={one: other, other: one})[list(t.columns)]


def _scale(x: float, y: float | None = None) -> Change:
    return lambda t, _: t.assign(laenge=t.laenge * x, breite=t.breite * (x if y is None else y))


def _shift(x: float, y: float) -> Change:
    return lambda t, _: t.assign(laenge=t.laenge + x, breite=t.breite + y)


def _recode(column: str, how: Callable[[Any], Any], share: float = 1.0) -> Change:
    def change(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
        hit = _some(table, rng, share)
        values = [how(value) if do else value for value, do in zip(table[column], hit, strict=True)]
        return table.assign(**{column: pd.Series(values, dtype=object)})

    return change


def _shuffle(*columns: str, share: float = 1.0) -> Change:
    def change(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
        rows = np.flatnonzero(_some(table, rng, share))
        for column in columns:
            values = table[column].to_numpy(dtype=object).copy()
            values[rows] = values[np.roll(rows, 1)]
            table[column] = pd.Series(values).infer_objects()
        return table

    return change


def _decimals(count: int) -> Change:
    return lambda t, _: t.round({"laenge": count, "breite": count})


def _copy_rows(share: float, offset: float = 0.0) -> Change:
    def change(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
        again = table[_some(table, rng, share)]
        moved = again[PLACES] + offset * rng.normal(size=(len(again), 2))
        return pd.concat([table, again.assign(pid=again.pid + "b", **moved)], ignore_index=True)

    return change


def _drop(share: float) -> Change:
    return lambda t, rng: t[~_some(t, rng, share)].reset_index(drop=True)


def _at(x: float, y: float, share: float) -> Change:
    def change(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
        table.loc[_some(table, rng, share), PLACES] = x, y
        return table

    return change


def _town_onto_another(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """The people of one town get places in another, as when two towns of one name are mixed up."""
    in_kassel = (table.laenge - 9.48).abs().lt(0.3) & (table.breite - 51.31).abs().lt(0.3)
    table.loc[in_kassel, PLACES] += np.array([6.96 - 9.48, 50.94 - 51.31])
    return table


def _grid(step: float) -> Change:
    return lambda t, _: t.assign(laenge=(t.laenge / step).round() * step, breite=(t.breite / step).round() * step)


def _blur(degrees: float, share: float = 1.0) -> Change:
    def change(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
        table[PLACES] += rng.normal(0, degrees, (len(table), 2)) * _some(table, rng, share)[:, None]
        return table

    return change


def _merge(how: dict[str, str]) -> Change:
    return _recode("altersklasse", lambda value: how.get(value, value))


NUMBER = {age: code + 1 for code, age in enumerate(AGES)}
SEX = {"m": 1, "w": 2}
NEXT = dict(zip(AGES, [*AGES[1:], AGES[0]], strict=True))

MISTAKES: dict[str, Change] = {
    "longitude and latitude swapped": _swap("laenge", "breite"),
    "labels swapped": _swap("geschlecht", "altersklasse"),
    "id and a label swapped": _swap("pid", "altersklasse"),
    "id and longitude swapped": _swap("pid", "laenge"),
    "a label instead of longitude": lambda t, _: t.assign(laenge=t.altersklasse.map(NUMBER)),
    "coordinates times 1000": _scale(1000),
    "coordinates by 1000": _scale(1e-3),
    "coordinates by 10": _scale(0.1),
    "radians": _scale(np.pi / 180),
    "feet": _scale(3.28084),
    "longitude without its sign": _scale(-1, 1),
    "latitude without its sign": _scale(1, -1),
    "capitals": _recode("geschlecht", str.upper),
    "capitals in some": _recode("geschlecht", str.upper, 0.4),
    "one value in capitals": _recode("geschlecht", lambda v: "M" if v == "m" else v),
    "padding": _recode("altersklasse", lambda v: f"{v} "),
    "padding in some": _recode("altersklasse", lambda v: f"{v} ", 0.4),
    "numbers for words": _recode("geschlecht", SEX.get),
    "numbers for classes": _recode("altersklasse", NUMBER.get),
    "numbers as text": _recode("altersklasse", lambda v: str(NUMBER[v])),
    "two values swapped": _recode("geschlecht", {"m": "w", "w": "m"}.get),
    "two classes swapped": _recode("altersklasse", lambda v: {"18-29": "30-44", "30-44": "18-29"}.get(v, v)),
    "classes off by one": _recode("altersklasse", NEXT.get),
    "two values merged": _merge({"18-29": "30-44"}),
    "all values merged": _merge(dict.fromkeys(AGES, "0-17")),
    "99 for some": _recode("altersklasse", lambda v: 99, 0.25),
    "'99' for some": _recode("altersklasse", lambda v: "99", 0.25),
    "9 for some, as numbers": _recode("altersklasse", lambda v: "9", 0.25),
    "k.A. for some": _recode("altersklasse", lambda v: "k.A.", 0.25),
    "some empty": _recode("altersklasse", lambda v: None, 0.3),
    "few empty": _recode("altersklasse", lambda v: None, 0.08),
    "blanks for some": _recode("altersklasse", lambda v: " ", 0.25),
    "dashes": _recode("altersklasse", lambda v: v.replace("-", "–")),
    "dashes in some": _recode("altersklasse", lambda v: v.replace("-", "–"), 0.3),
    "classes turned into dates": _recode("altersklasse", lambda v: {"0-17": "17. Jan"}.get(v, v)),
    "a label shuffled": _shuffle("altersklasse"),
    "a label shuffled in part": _shuffle("altersklasse", share=0.25),
    "a label shuffled in a tenth": _shuffle("altersklasse", share=0.1),
    "ids shuffled": _shuffle("pid"),
    "ids shuffled in part": _shuffle("pid", share=0.2),
    "ids shuffled in a tenth": _shuffle("pid", share=0.1),
    "ids sorted": lambda t, _: t.assign(pid=sorted(t.pid)),
    "longitude shuffled": _shuffle("laenge"),
    "longitude shuffled in part": _shuffle("laenge", share=0.1),
    "places shuffled": _shuffle(*PLACES),
    "places shuffled in part": _shuffle(*PLACES, share=0.1),
    "no decimals": _decimals(0),
    "one decimal": _decimals(1),
    "two decimals": _decimals(2),
    "three decimals": _decimals(3),
    "a grid of minutes": _grid(1 / 60),
    "a grid of half minutes": _grid(1 / 120),
    "ids cut": lambda t, _: t.assign(pid=t.pid.str[:4]),
    "letter of ids lost": lambda t, _: t.assign(pid=t.pid.str[1:]),
    "ids in capitals": lambda t, _: t.assign(pid=t.pid.str.upper()),
    "some ids in capitals": lambda t, rng: t.assign(pid=t.pid.where(_some(t, rng, 0.5), t.pid.str.upper())),
    "ids with a suffix": lambda t, _: t.assign(pid=t.pid + "x"),
    "some ids with a suffix": lambda t, rng: t.assign(pid=t.pid.where(_some(t, rng, 0.5), t.pid + "x")),
    "ids renumbered": lambda t, _: t.assign(pid=[f"p{k + 1:04d}" for k in range(len(t))]),
    "ids off by one": lambda t, _: t.assign(pid=[f"p{int(name[1:]) + 1:04d}" for name in t.pid]),
    "classes cut": _recode("altersklasse", lambda v: v[:1]),
    "classes cut to nothing": _recode("altersklasse", lambda v: ""),
    "half of the rows": lambda t, _: t.iloc[: len(t) // 2],
    "rows dropped": _drop(0.3),
    "rows twice": _copy_rows(1.0),
    "some rows twice": _copy_rows(0.3),
    "rows twice, a little apart": _copy_rows(1.0, 1e-5),
    "a label twice": lambda t, _: t.assign(geschlecht=t.altersklasse),
    "the other label twice": lambda t, _: t.assign(altersklasse=t.geschlecht),
    "longitude twice": lambda t, _: t.assign(breite=t.laenge),
    "the id as a label": lambda t, _: t.assign(altersklasse=t.pid),
    "some at 0,0": _at(0.0, 0.0, 0.05),
    "some at the middle of a town": _at(9.48, 51.31, 0.15),
    "some at a middle of Germany": _at(10.45, 51.16, 0.05),
    "one town taken for another": _town_onto_another,
    "shifted by a datum": _shift(0.0011, -0.0009),
    "shifted by kilometres": _shift(0.05, 0.03),
    "shifted by a degree": _shift(1.0, 1.0),
    "shifted to the north": _shift(0.0, 10.0),
    "shifted to the east": _shift(20.0, 0.0),
    "places blurred": _blur(0.01),
    "places blurred more": _blur(0.05),
    "some places blurred": _blur(0.05, 0.2),
    "only one town": lambda t, _: t[(t.laenge - 9.48).abs() < 0.2].reset_index(drop=True),
}

# No look at one file can tell these from the truth; each is a file that somebody else has.
UNSEEN = {
    ("whole", "target", "two values merged"): "a coarser label is released, and its risk is lower",
    ("others", "target", "two values merged"): "the same",
    ("matrix", "target", "two values merged"): "the same",
    ("whole", "target", "one town taken for another"): "a map with one town less is a map",
    ("others", "target", "one town taken for another"): "the same",
    ("whole", "target", "shifted to the north"): "towns of Norway, whose degrees of longitude are shorter",
    ("others", "target", "shifted to the north"): "the same",
    (
        "matrix and known",
        "known",
        "only one town",
    ): "those known lie closer together, and noise hides them",
    ("matrix", "matrix", "by 10"): "towns that lie ten times as close, beside a mask in kilometres",
    ("matrix", "matrix", "miles"): "the same: nothing says how far apart these people should be",
}


def _every(how: Callable[[np.ndarray], Any]) -> Change:
    return lambda d, _: pd.DataFrame(how(d.to_numpy(dtype=float)), d.index, d.columns)


def _matrix_rows(d: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Sorted by another column, and written without names."""
    order = rng.permutation(len(d))
    return pd.DataFrame(d.to_numpy()[np.ix_(order, order)])


def _renamed(how: Callable[[str], str]) -> Change:
    return lambda d, _: d.rename(index=how, columns=how)


MATRIX_MISTAKES: dict[str, Change] = {
    "metres": _every(lambda d: d * 1000),
    "by 1000": _every(lambda d: d / 1000),
    "by 10": _every(lambda d: d / 10),
    "miles": _every(lambda d: d / 1.609344),
    "squares": _every(lambda d: d**2),
    "roots": _every(np.sqrt),
    "logarithms": _every(np.log1p),
    "similarities": _every(lambda d: np.where(np.eye(len(d)), 0, d.max() - d)),
    "half of it 0": _every(np.triu),
    "half of it empty": _every(lambda d: np.where(np.tri(len(d), k=-1), np.nan, d)),
    "rounded to 1": _every(np.round),
    "rounded to 10": _every(lambda d: np.round(d, -1)),
    "rounded to 50": _every(lambda d: np.round(d / 50) * 50),
    "long ones cut": _every(lambda d: np.minimum(d, 99.0)),
    "rows shuffled, without names": _matrix_rows,
    "rows shuffled, with names": lambda d, rng: d.iloc[(o := rng.permutation(len(d))), o],
    "ids in capitals": _renamed(str.upper),
    "ids shuffled": lambda d, rng: d.set_axis(o := rng.permutation(d.index), axis=0).set_axis(o, axis=1),
    "rows cut": lambda d, _: d.iloc[:-20],
    "rows and columns cut": lambda d, _: d.iloc[:-20, :-20],
    "rows twice": lambda d, _: pd.concat([d, d]),
    "similarities from 0 to 1": _every(lambda d: 1 - d / d.max()),
    "shares of the longest": _every(lambda d: d / d.max()),
    "ranks": _every(lambda d: pd.DataFrame(d).rank(axis=1).to_numpy() - 1),
    "ranks of all": _every(lambda d: pd.Series(d.ravel()).rank(method="dense").to_numpy().reshape(d.shape) - 1),
}


def _others_are_released(files: Files, rng: Rng) -> Files:
    """The file of other people is the released one, numbered anew."""
    return replace(files, others=files.target.assign(pid=[f"q{k:04d}" for k in range(len(files.target))]))


def _strangers_are_released(files: Files, rng: Rng) -> Files:
    """Everybody is in the known file, half of them by the ids of another source."""
    known = files.target.assign(pid=files.target.pid.where(rng.random(len(files.target)) < 0.5, "x" + files.target.pid))
    return replace(files, known=known)


def _known_is_released(files: Files, rng: Rng) -> Files:
    """The known file is a masked one already, as it was published."""
    assert files.known is not None
    return replace(
        files, known=files.known.assign(**(files.known[PLACES] + rng.normal(0, 0.02, (len(files.known), 2))))
    )


def _changed_places(files: Files, rng: Rng) -> Files:
    return files if files.known is None else replace(files, target=files.known, known=files.target)


WHOLE_FILES: dict[str, tuple[str, Callable[[Files, Rng], Files]]] = {
    "others are the released people": ("others", _others_are_released),
    "half of the known people have other ids": ("known", _strangers_are_released),
    "the known file is masked": ("known", _known_is_released),
    "target and known exchanged": ("known", _changed_places),
}


def list_mistakes(kind: str) -> list[tuple[str, str]]:
    """Every mistake that can be made in a case, as (file, name); what is done to a column that is not read is none."""
    files, found = make_files(kind), []
    for part in ("target", "known", "others"):
        if getattr(files, part) is not None:
            unread = part == "target" and files.matrix is not None
            found += [(part, name) for name in MISTAKES if not (unread and _on_places(name))]
    if files.matrix is not None:
        found += [("matrix", name) for name in MATRIX_MISTAKES]
    found += [("files", name) for name, (about, _) in WHOLE_FILES.items() if about == kind]
    return [(part, name) for part, name in found if (kind, part, name) not in UNSEEN]


def _on_places(name: str) -> bool:
    """True if a mistake changes nothing but coordinates."""
    table = towns(30)
    try:
        after = MISTAKES[name](table.copy(), np.random.default_rng(0))
    except (KeyError, ValueError):
        return False
    kept = ["pid", *LABELS]
    return len(after) == len(table) and after[kept].equals(table[kept])


def make_mistake(files: Files, part: str, name: str, rng: Rng) -> Files:
    """The files with one more mistake."""
    if part == "files":
        return WHOLE_FILES[name][1](files, rng)
    return files.changed(part, (MATRIX_MISTAKES if part == "matrix" else MISTAKES)[name], rng)
