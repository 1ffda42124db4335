"""A setting of an audit: a mask and what is done to the labels, as one text, and the audit with these labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from disclique.audits.definition import Audit
from disclique.masks import Mask, parse_mask
from disclique.measures.label_information import count_classes, share_kept
from disclique.records.coarsening import join_setting, parse_recoding, split_setting
from disclique.runs import Unit


@dataclass(frozen=True)
class LabelUse:
    """What is done to the labels in a setting, as a spec and in words, and what they still tell.

    ``classes`` is how many equally frequent classes would tell as much, ``distinct`` how many there are, and
    ``information`` their entropy as a share of that of the labels as they are.
    """

    spec: str
    said: str
    information: float
    classes: float
    distinct: int


def parse_setting_mask(setting: str) -> Mask:
    """Return the mask of a setting, whatever is done to the labels."""
    return parse_mask(split_setting(setting)[0])


def shorten(setting: str) -> str:
    """Return the text of a setting without parameters of the mask that are as by default.

    >>> shorten("gaussian:sigma=1km | drop:sex")
    'gaussian:sigma=1km | drop:sex'
    """
    return join_setting(parse_setting_mask(setting).brief, split_setting(setting)[1])


def at_labels(audit: Audit, unit: Unit) -> tuple[Audit, Unit]:
    """Return the audit with the labels of a unit's setting in all its files, and the unit with the mask alone."""
    mask, labels = split_setting(unit.mask)
    return recode(audit, labels), replace(unit, mask=mask)


@lru_cache(maxsize=64)
def recode(audit: Audit, labels: str) -> Audit:
    """Return the audit with its labels recoded in every file: the same people, known to the same snooper.

    All chance is as before. Errors of the snooper's labels are drawn in the classes that are released.
    """
    if not labels:
        return audit
    recoding = parse_recoding(labels)
    target, known, others = (
        None if data is None else recoding.apply(data) for data in (audit.target, audit.known, audit.others)
    )
    assert target is not None
    return Audit(replace(audit.plan, generalise=()), target, known, others, audit)


def describe_labels(audit: Audit, setting: str) -> LabelUse | None:
    """Say what a setting does to the labels; None in an audit that leaves them alone."""
    if not audit.plan.generalise:
        return None
    recoding = parse_recoding(split_setting(setting)[1])
    whole, left = audit.target.labels, recoding.apply(audit.target).labels
    classes, distinct = count_classes(left)
    return LabelUse(recoding.spec, recoding.said, share_kept(left, whole), classes, distinct)
