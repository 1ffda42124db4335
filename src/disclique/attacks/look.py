"""The look at the input of an attack: what the files hold, what looks wrong, and what encodings leak by themselves."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from disclique.attacks.leaks import find_leaks
from disclique.model import Microdata
from disclique.records import checks
from disclique.records.checks import Inspection
from disclique.records.checks.values import Leak
from disclique.spaces import Encodings, Texts


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
    in mind; ``errors`` is the share of the snooper's labels that is declared to be wrong. Of encodings it is asked what
    they leak: whether they can be read without a key, also by the names of the known file where it has the same people.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey(), ["sex"], coordinates=["lon", "lat"], ids="id", name="survey")
    >>> print(dq.inspect(people))
    survey: 500 records (coordinates)
      extent: longitude 6 to 14.7, latitude 47.5 to 54.6: Germany 98 %, Czechia 1.0 %, Austria 0.4 %, Belgium 0.2 %
      distances: median 296 km, from 663 m to 851 km
      labels: sex (2 values)
      label groups: 2, the smallest of 235 (k-anonymity k = 235); 0 records have a label of their own
    """
    found = checks.inspect(target, known, same_ids=same_ids, forgiven=forgiven, errors=errors)
    return replace(found, leaks=look_for_leaks(target, known))


def look_for_leaks(target: Microdata, known: Microdata | None = None) -> tuple[Leak, ...]:
    """Return what the encodings of a file leak; nothing where it has none."""
    made = target.distances.encodings()
    return () if made is None else find_leaks(*_with_names(made, target, known))


def _with_names(made: Encodings, target: Microdata, known: Microdata | None) -> tuple[Encodings, Texts | None]:
    """Return the encodings with the names of the same people, where a known file has those of most of them."""
    texts = None if known is None else known.distances.texts()
    if known is None or texts is None:
        return made, None
    where = {person: row for row, person in enumerate(known.ids)}
    pairs = [(row, where[person]) for row, person in enumerate(target.ids) if person in where]
    if 2 * len(pairs) < len(target):
        return made, None
    own, theirs = np.array(pairs).T
    names = texts.select(theirs).texts()
    return made.select(own), names
