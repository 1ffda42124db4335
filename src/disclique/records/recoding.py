"""Recodings: labels made coarser or left out, the same in every file, and the text that names them beside a mask.

A setting is written ``MASK | PART | PART``: a part makes one label coarser (``age=width:age:10``) or leaves it out
(``drop:sex``); ``none`` leaves out all of them. A mask alone leaves the labels as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from disclique.errors import InputError
from disclique.model import Microdata
from disclique.records.generalise import Generaliser, parse_generaliser
from disclique.records.labels import canonical_labels

DROP, NONE = "drop:", "none"
_BAR = "|"


@dataclass(frozen=True)
class Recoding:
    """Labels that are made coarser, value by value, and labels that are left out.

    A generaliser works on the label that it makes: the label holds the raw values of its source.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey(), ["sex", "age_class"], coordinates=["lon", "lat"], ids="id")
    >>> coarse = parse_recoding("age_class=width:age_class:20 | drop:sex").apply(people)
    >>> sorted(set(coarse.labels["age_class"]))
    [0, 20, 40, 60]
    """

    parts: tuple[str, ...] = ()

    @property
    def spec(self) -> str:
        """The text that ``parse_recoding`` reads back."""
        return f" {_BAR} ".join(self.parts)

    @cached_property
    def made(self) -> tuple[Generaliser, ...]:
        """The labels that are made coarser."""
        return tuple(parse_generaliser(part) for part in self.parts if part != NONE and not part.startswith(DROP))

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """The labels that are left out."""
        return tuple(part.removeprefix(DROP).strip() for part in self.parts if part.startswith(DROP))

    def apply(self, data: Microdata) -> Microdata:
        """Return the file with the labels that are released."""
        if not self.parts:
            return data
        labels = data.labels
        for column in (*(one.into for one in self.made), *self.dropped):
            if column not in labels.columns:
                there = ", ".join(map(repr, map(str, labels.columns))) or "none"
                raise InputError(f"{data.name}: no label {column!r} to be made coarser; its labels are {there}")
        for one in self.made:
            labels = replace(one, source=one.into).apply(labels, data.name)
        if NONE in self.parts:
            return replace(data, labels=pd.DataFrame(index=range(len(data))))
        kept = [str(column) for column in labels.columns if column not in self.dropped]
        return replace(data, labels=canonical_labels(labels, kept, data.name))

    @property
    def said(self) -> str:
        """What is done to the labels, in words."""
        said = [_describe(one) for one in self.made] + [f"without {column}" for column in self.dropped]
        said = ["no labels"] if NONE in self.parts else said
        return ", ".join(said) or "labels as they are"


def _describe(one: Generaliser) -> str:
    rule, _, rest = one.spec.partition("=")[2].partition(":")
    argument = rest.partition(":")[2]
    by_name = {
        "width": f"{one.into} in classes of {argument}",
        "prefix": f"the first {argument} of {one.into}",
        "classes": f"{one.into} in classes from {argument}",
    }
    return by_name.get(rule, f"{one.into} by {rule}")


def parse_recoding(text: str) -> Recoding:
    """Read a recoding from its parts; an empty text leaves labels as they are.

    >>> parse_recoding("age=width:age:10 | drop:sex").said
    'age in classes of 10, without sex'
    """
    parts = tuple(part.strip() for part in text.split(_BAR)) if text.strip() else ()
    found = Recoding(parts)
    touched = [one.into for one in found.made] + list(found.dropped)
    for column in touched:
        if not column:
            raise InputError(f"labels {text!r}: say which label to drop, such as drop:sex")
        if touched.count(column) > 1:
            raise InputError(f"labels {text!r}: {column} is recoded twice")
    if NONE in parts and len(parts) > 1:
        raise InputError(f"labels {text!r}: none leaves nothing else to recode")
    return found


def join_setting(mask: str, labels: str) -> str:
    """Return the text of a setting: the mask, and what is done to the labels.

    >>> join_setting("affine", "drop:sex"), join_setting("affine", "")
    ('affine | drop:sex', 'affine')
    """
    return f"{mask} {_BAR} {labels}" if labels else mask


def split_setting(text: str) -> tuple[str, str]:
    """Return the mask of a setting and what is done to the labels, both as texts.

    >>> split_setting("affine | age=width:age:10 | drop:sex")
    ('affine', 'age=width:age:10 | drop:sex')
    """
    mask, _, labels = text.partition(_BAR)
    return mask.strip(), labels.strip()
