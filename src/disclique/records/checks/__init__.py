"""A look at the input before any work: what was understood, and what can hardly be meant.

Malformed files are refused where they are read. Here are files that are well formed and may mean something else:
coordinates swapped, ids written in two ways, labels coded in two ways, metres taken for kilometres. Each of these makes
a release look safer than it is, so that what can only be a mistake ends a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from disclique.arguments import check_kind
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.checks.labels import inspect_labels
from disclique.records.checks.lengths import inspect_lengths
from disclique.records.checks.near import inspect_near
from disclique.records.checks.numbers import inspect_numbers
from disclique.records.checks.pairs import Encounter, inspect_pair
from disclique.records.checks.places import inspect_places
from disclique.records.checks.released import inspect_released
from disclique.records.checks.values import EncodedLook, FileLook, Inspection, Remark
from disclique.records.near import Near

__all__ = ["FileLook", "Inspection", "Remark", "inspect"]

FEW_RECORDS = 10  # below which rates say little


def inspect(
    target: Microdata,
    known: Microdata | None = None,
    *,
    same_ids: bool = False,
    forgiven: Collection[str] = (),
    errors: float = 0.0,
) -> Inspection:
    """Look at one file, or at a release and a known file, before any work.

    With ``same_ids`` an id means the same person in both files. ``forgiven`` are labels that are compared with errors
    in mind; ``errors`` is the share of the snooper's labels that is declared to be wrong.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey(), ["sex"], coordinates=["lon", "lat"], id="id", name="survey")
    >>> print(dq.inspect(people))
    survey: 500 records (coordinates)
      extent: longitude 6 to 14.7, latitude 47.5 to 54.6: Germany 98 %, Czechia 1.0 %, Austria 0.4 %, Belgium 0.2 %
      distances: median 296 km, from 663 m to 851 km
      labels: sex (2 values)
      label groups: 2, the smallest of 235 (k-anonymity k = 235); 0 records have a label of their own
    """
    for name, data in (("target", target), ("known", known)):
        if data is not None or name == "target":
            check_kind(data, Microdata, name, "wanted_microdata")
    files = [_inspect_file(data) for data in (target, known) if data is not None]
    meeting = Encounter(None, (), ())
    if known is not None:
        meeting = inspect_pair(target, known, same_ids=same_ids, forgiven=forgiven, errors=errors)
    every = dict.fromkeys([remark for _, remarks in files for remark in remarks] + list(meeting.remarks))
    ordered = sorted(every, key=lambda remark: not remark.mistake)
    return Inspection(tuple(look for look, _ in files), meeting.shared_ids, meeting.meetings, tuple(ordered))


def _inspect_file(data: Microdata) -> tuple[FileLook, list[Remark]]:
    (extent, of_places), (lengths, of_lengths) = inspect_places(data), inspect_lengths(data)
    groups, same = inspect_labels(data), data.distances.identities() if data.distances.are_published else None
    numbers, of_numbers = inspect_numbers(data)
    look = FileLook(
        name=data.name.replace("\\", "/").rsplit("/", 1)[-1],
        records=len(data),
        kind=data.distances.kind,
        joined=str(getattr(data, "joined", "")),
        extent=extent,
        lengths=lengths,
        labels=groups.columns,
        groups=len(groups.sizes),
        smallest=groups.sizes[0] if groups.sizes else len(data),
        unique=sum(size == 1 for size in groups.sizes),
        incomplete=groups.incomplete,
        crowd=1 if same is None else max(Counter(same).values(), default=1),
        numbers=numbers,
        encoded=_look_at_encodings(data),
    )
    remarks = [*of_places, *of_lengths, *groups.remarks, *of_numbers, *inspect_released(data)]
    for near in (column.near for column in data.numbers.columns):
        if isinstance(near, Near):
            remarks += inspect_near(near, data.distances.points(), data.name)
    if data.textless:
        remarks.append(Remark(Message("records_without_text", file=data.name, count=data.textless)))
    if len(data) < FEW_RECORDS:
        remarks.append(Remark(Message("few_records", file=data.name, records=len(data))))
    return look, remarks


def _look_at_encodings(data: Microdata) -> EncodedLook | None:
    """Say how encodings were understood; a part without any bit is missing."""
    made = data.distances.encodings()
    if made is None:
        return None
    missing = sum(int((one.weights == 0).sum()) for one in made.pieces)
    return EncodedLook(made.parts, missing, made.metric, data.source.form, made.size * len(made.parts))
