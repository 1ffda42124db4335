"""The release of one repetition before it is masked, the snooper's file, and one without any released person.

Of a register with millions of people some are kept, and are an ordinary file from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.attacks.knowledge import Across
from disclique.attacks.population import prepare
from disclique.audits.definition import Audit, count_common, split_sizes
from disclique.audits.plan import Plan
from disclique.errors import InputError
from disclique.masks import Gaussian
from disclique.measures.risk import Truth
from disclique.memory import default_memory, say_memory
from disclique.messages import Message
from disclique.model import Microdata
from disclique.numbers import Numbers
from disclique.options.audits import GERMANY
from disclique.records.population import Inhabitants
from disclique.records.registers import Register, draw_people, find_people
from disclique.records.tables import select_records
from disclique.spaces import Points
from disclique.spaces.base import Distances
from disclique.synthetic.people import home_points

Rows = NDArray[np.int64]
Pairs = tuple[tuple[int, int], ...]
FAKE = "fake"


@dataclass(frozen=True, eq=False)
class KnownFile:
    """The snooper's file, and who in it is who in the release.

    ``released`` are the records of the release before they are masked, ``rows`` their rows in the audited file: all of
    it, unless strangers had to be taken from it. ``seeds`` are pairs (released row, known row) that an insider knows.
    ``across`` is the audited file where both are parts of it: it has the distances between them.
    """

    data: Microdata
    truth: Truth
    released: Microdata
    rows: Rows
    seeds: Pairs = ()
    across: Across | None = None

    @property
    def share(self) -> float:
        """The share of released records that the snooper knows."""
        return len(self.truth) / len(self.released)

    @property
    def sought(self) -> Truth:
        """Who is who among those whom the snooper does not know to be released beforehand."""
        return self.truth.without([row for row, _ in self.seeds])

    def with_seeds(self, count: int, rng: np.random.Generator) -> KnownFile:
        """Return the file of an insider who knows so many true pairs, drawn at random."""
        chosen = np.sort(rng.choice(len(self.truth), count, replace=False))
        return replace(self, seeds=tuple((int(t), int(k)) for t, k in self.truth.pairs[chosen]))


def draw_known_file(audit: Audit, repetition: int) -> KnownFile:
    """Draw the snooper's file of one repetition: the same for every mask, in random order, with its errors."""
    rng = audit.chance.rng("known", repetition)
    rows, theirs = np.arange(len(audit.target)), None
    if audit.splits:
        rows, theirs = _split(audit, rng)
        drawn = replace(select_records(audit.target, theirs), name="known")
    else:
        drawn = _people(audit, rng)
    released = audit.target if len(rows) == len(audit.target) else select_records(audit.target, rows)
    order = rng.permutation(len(drawn))
    data = add_errors(audit, select_records(drawn, order), rng)
    across = None
    if theirs is not None:
        across = Across(audit.target.distances, theirs[order].astype(np.int32), rows.astype(np.int32))
    found = KnownFile(prepare(data), Truth.of_people(released.ids, data.ids), released, rows, across=across)
    seeds = audit.plan.snooper.seeds
    return found.with_seeds(seeds, audit.chance.rng("seeds", repetition)) if seeds else found


def _people(audit: Audit, rng: np.random.Generator) -> Microdata:
    snooper, size = audit.plan.snooper, len(audit.target)
    if audit.known is not None:
        return audit.known
    if snooper.overlap is None:
        return audit.target
    common = count_common(snooper.overlap, size)
    chosen = select_records(audit.target, np.sort(rng.choice(size, common, replace=False)))
    return join_files(chosen, draw_others(audit, max((snooper.size or size) - common, 0), rng))


def _split(audit: Audit, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw the rows that are released, and those of the snooper's file: some of these, and others kept out."""
    released, strangers = split_sizes(len(audit.target), audit.plan.snooper)
    mixed = rng.permutation(len(audit.target))
    common = count_common(audit.plan.snooper.overlap or 0.0, released)
    theirs = np.concatenate([mixed[:common], mixed[released : released + strangers]])
    return np.sort(mixed[:released]), np.sort(theirs)


def draw_others(audit: Audit, count: int, rng: np.random.Generator) -> Microdata:
    """Find people who are not in the release: from the file of others, or invented."""
    if audit.others is not None:
        strangers = set(audit.target.ids)
        rows = np.array([row for row, person in enumerate(audit.others.ids) if person not in strangers], dtype=np.int64)
        if len(rows) > count and audit.plan.snooper.size is not None:
            rows = rng.choice(rows, count, replace=False)
        return select_records(audit.others, rows)
    return invent_people(audit, count, rng)


def add_fakes(audit: Audit, known: KnownFile, share: float, rng: np.random.Generator) -> KnownFile:
    """Return the same with records of invented people in the release, as many as a share of its own.

    They are in nobody's file, and have the labels and values of records of the file.
    """
    count = round(share * len(known.released))
    if not count:
        return known
    like = rng.integers(len(known.released), size=count)
    made = replace(invent_people(audit, known.rows[like], rng), ids=tuple((FAKE, number) for number in range(count)))
    released = join_files(known.released, made)
    return replace(known, released=released, rows=np.concatenate([known.rows, known.rows[like]]), across=None)


def invent_people(audit: Audit, like: int | Rows, rng: np.random.Generator) -> Microdata:
    """Draw synthetic people with labels and places, vectors or texts like those of the file.

    ``like`` are the rows that they have labels of, or how many of these are drawn.
    """
    like = rng.integers(len(audit.target), size=like) if isinstance(like, int) else like
    count = len(like)
    labels = audit.target.labels.iloc[like].reset_index(drop=True)
    points = audit.target.distances.points()
    own = points if audit.plan.snooper.others == GERMANY else None
    source: Distances
    if audit.population is not None and points is not None and points.is_map:
        source = _settle(audit.population, points, count, rng)
    elif own is not None:
        source = replace(own, coordinates=home_points(count, rng))
    else:
        source = audit.target.distances.invent(count, rng)
    ids = tuple(("other", number) for number in range(count))
    numbers = _invent_numbers(audit.target.numbers, like, rng).measured(source, ids)
    return Microdata(pd.DataFrame(index=range(count)), labels, source, ids, "others", numbers=numbers)


def _settle(population: Inhabitants, points: Points, count: int, rng: np.random.Generator) -> Points:
    """Return where so many people of the population live, drawn at random."""
    rows = rng.choice(len(population), count, p=population.people / population.total)
    there = population.spread(rows, rng.integers(1 << 20, size=count))
    return replace(points, coordinates=there.coordinates)


def _invent_numbers(numbers: Numbers, like: Rows, rng: np.random.Generator) -> Numbers:
    """Return numbers of people like some of the file, but not the same: about as far off as the next ones are.

    With the very number of a real person, however exact, they would hide that person.
    """
    made = []
    for column in numbers.columns:
        there = column.values[~np.isnan(column.values)]
        width = float(1.06 * there.std() * max(len(there), 1) ** -0.2) if len(there) else 0.0
        values = column.values[like] + width * rng.standard_normal(len(like))
        whole = bool(len(there)) and bool((there == np.round(there)).all())
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
        values = np.clip(np.round(values) if whole else values, low, high)
        made.append(replace(column, values=values))
    return Numbers(tuple(made))


def join_files(one: Microdata, other: Microdata) -> Microdata:
    """Join the records of two files, one after the other."""
    labels = pd.concat([one.labels, other.labels], ignore_index=True)
    table = pd.DataFrame(index=range(len(labels)))
    numbers = one.numbers.join(other.numbers)
    return Microdata(table, labels, one.distances.join(other.distances), one.ids + other.ids, "known", numbers=numbers)


def add_errors(audit: Audit, data: Microdata, rng: np.random.Generator) -> Microdata:
    """Return the snooper's file with the errors that it is assumed to have."""
    snooper = audit.plan.snooper
    if snooper.label_error:
        labels = data.labels.apply(lambda column: _replace_some(column, snooper.label_error, rng))
        data = replace(data, labels=labels)
    if (error := snooper.coordinate_length) is not None:
        data = replace(data, distances=Gaussian(error).apply(data.distances, rng))
        numbers = data.numbers.measured(data.distances, data.ids, audit.coordinate_error)
        data = replace(data, numbers=numbers)
    return data


def _replace_some(column: pd.Series[Any], share: float, rng: np.random.Generator) -> pd.Series[Any]:
    """Return the column with a share of its values replaced by other ones, drawn as often as they occur."""
    values = column.to_numpy(dtype=object).copy()
    wrong = np.flatnonzero(rng.random(len(values)) < share)
    for row in wrong:
        rest = [value for value in column if value != values[row] and value is not None]
        if rest:
            values[row] = rest[int(rng.integers(len(rest)))]
    return pd.Series(values, index=column.index, dtype=object)


@dataclass(frozen=True, eq=False)
class Control:
    """Released rows, and a known file that has none of these people but the seeds of an insider."""

    rows: Rows
    data: Microdata
    seeds: Pairs = ()


def draw_control(audit: Audit, known: KnownFile, repetition: int) -> Control | None:
    """Choose released rows and a known file without any of these people: whatever an attack claims there is false.

    Known people stay as they are where they are no targets; others, drawn like the file, take the place of the targets.
    Where nobody can be drawn, one half of the release is attacked with the other half as known file. Those whom an
    insider knows stay in both files, and are not asked for.
    """
    rng = audit.chance.rng("control", repetition)
    everybody = np.arange(len(known.released))
    told = np.array(known.seeds, dtype=np.int64).reshape(-1, 2)
    kept = np.setdiff1d(np.arange(len(known.data)), known.sought.pairs[:, 1])
    own = audit.target.distances
    if own.can_invent and known.data.distances.can_join(own):
        fillers = invent_people(audit, len(known.data) - len(kept), rng)
        strangers = join_files(select_records(known.data, kept), fillers)
        order = rng.permutation(len(strangers))
        return _with_seeds(
            known, everybody, select_records(strangers, order), np.append(kept, -np.ones(len(fillers)))[order]
        )
    if len(kept) - len(told) < len(known.data) / 2:
        mixed = rng.permutation(np.setdiff1d(everybody, told[:, 0]))
        everybody = np.sort(np.concatenate([mixed[: len(mixed) // 2], told[:, 0]]))
        sought = known.sought.pairs
        kept = np.setdiff1d(np.arange(len(known.data)), sought[np.isin(sought[:, 0], everybody), 1])
    if len(everybody) - len(told) < 2 or len(kept) - len(told) < 2:
        return None
    order = rng.permutation(kept)
    return _with_seeds(known, everybody, select_records(known.data, order), order)


def _with_seeds(known: KnownFile, rows: Rows, data: Microdata, origin: NDArray[Any]) -> Control:
    """Return a control in which seeds are counted by the rows of its own files; ``origin`` are rows of the known."""
    target = {int(row): place for place, row in enumerate(rows)}
    theirs = {int(row): place for place, row in enumerate(origin)}
    return Control(rows, data, tuple((target[t], theirs[k]) for t, k in known.seeds))


@dataclass(frozen=True)
class KeptOfRegister:
    """How many people of a register an audit keeps.

    ``pool``: times as many strangers as are needed, among whom every repetition draws. ``strangers``: people of a known
    register who are not released, at the most, or as many as are released. ``bytes_per_person``: what an audit takes
    for each of them, in all its processes.
    """

    pool: int = 20
    strangers: int = 100_000
    bytes_per_person: int = 20_000


KEPT_OF_REGISTER = KeptOfRegister()


def hold_others(
    others: Microdata | Register | None, target: Microdata, plan: Plan, kept: KeptOfRegister = KEPT_OF_REGISTER
) -> Microdata | None:
    """Return the people outside the release; of a register some of them, drawn by the chance of the audit.

    With a size of the snooper's file each repetition draws its own strangers among them; without one the file is as
    large as the release.
    """
    if not isinstance(others, Register):
        return others
    size, common = plan.snooper.size, count_common(plan.snooper.overlap or 0.0, len(target))
    wanted = len(target) - common if size is None else kept.pool * max(size - common, 0)
    return draw_people(others, max(wanted, 1), plan.chance.rng("register of others"), without=target.ids)


def hold_known(
    known: Microdata | Register | None,
    target: Microdata,
    plan: Plan,
    memory: int | None = None,
    kept: KeptOfRegister = KEPT_OF_REGISTER,
) -> tuple[Microdata | None, Message | None]:
    """Return the snooper's file and, if it is a part of a register, the message that says which.

    Everybody who is released is kept, and of the others a sample. A snooper with this file is one with the whole
    register who was told besides that those left out are not in the release. That makes people easier to find, never
    harder: what an audit says of the part holds for the whole.
    """
    if not isinstance(known, Register):
        return known, None
    if known.layout.id is None:
        raise InputError("register_needs_id", file=known.name)
    rows = find_people(known, target.ids, known.layout.id)
    if not rows:
        raise InputError("no_common_id", file=known.name, other=target.name, hint=None)
    allowed = default_memory() if memory is None else memory
    most = min(max(kept.strangers, len(target)), allowed // kept.bytes_per_person)
    if most < len(target):
        needed = say_memory(len(target) * kept.bytes_per_person)
        raise InputError("memory_for_register", allowed=say_memory(allowed), records=len(target), needed=needed)
    released = known.take(np.sort(np.fromiter(rows.values(), np.int64, len(rows))))
    others = draw_people(known, most, plan.chance.rng("register that is known"), without=target.ids)
    sizes = {"records": len(known), "released": len(released), "others": len(others)}
    said = Message("register_thinned", sizes, file=known.name)
    return replace(join_files(released, others), name=known.name), said
