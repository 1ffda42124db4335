"""Which masks there are, or fit a file: what each does, its dial, and a spec to begin with."""

from __future__ import annotations

import numpy as np
import pandas as pd

from disclique.advice.families import join_spec, list_parameters, mask_fits, measure_reach, words_of
from disclique.arguments import check_kind
from disclique.errors import DiscliqueError
from disclique.masks import Mask, masks
from disclique.masks.base import spec_name
from disclique.masks.registry import usage
from disclique.masks.settings import parse_range
from disclique.model import Microdata

COLUMNS = ("mask", "on", "dial", "example", "does")
RISES, FALLS = "↑", "↓"  # whether the dial protects more when it rises or falls


def list_masks(data: Microdata | None = None) -> pd.DataFrame:
    """Return the masks that fit a file, or all there are: one row each.

    ``on`` says what a mask takes (coordinates, distances or text), ``dial`` its parameter to be turned and whether it
    protects more when it rises (↑) or falls (↓), ``example`` a spec: of a file with a range of lengths that suits it,
    else the form, ``does`` a sentence.

    >>> import disclique as dq
    >>> found = dq.list_masks(dq.cities()).set_index("mask")
    >>> found.loc["gaussian", "dial"], found.loc["gaussian", "example"], "bloom" in found.index
    ('sigma ↑', 'gaussian:sigma=93km..930km', False)
    """
    if data is not None:
        check_kind(data, Microdata, "data", "wanted_microdata")
    rows = []
    for name, cls in masks().items():
        example = usage(cls) if data is None else _find_example(cls, data)
        if example is not None:
            rows.append((name, cls.on, _say_dial(cls), example, _say_what(cls)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _say_dial(cls: type[Mask]) -> str:
    dials = ({} if cls.dial is None else {cls.dial: cls.dial_rises}) | cls.other_dials
    return ", ".join(f"{spec_name(name)} {RISES if rises else FALLS}" for name, rises in dials.items())


def _say_what(cls: type[Mask]) -> str:
    own = " ".join((cls.__doc__ or "").split("\n\n")[0].split()).replace("``", "")  # of a mask that others wrote
    return str(cls.summary or own)


def _find_example(cls: type[Mask], data: Microdata) -> str | None:
    """Return a spec of a mask that can be applied to a file, None if none can."""
    reach = measure_reach(data)
    if reach is None:  # nothing lies between the records
        return usage(cls) if cls.on == "distances" and (cls.rigid or cls.withholds) else None
    specs = [join_spec(cls.name, part) for part in list_parameters(cls, reach, words_of(data, reach))]
    for spec in specs or [cls.name]:
        try:
            asked = parse_range(spec, 2)
        except DiscliqueError:
            continue
        if mask_fits(asked, data, np.random.default_rng(0)):
            return spec
    return None
