"""What is done to the labels in a setting, and what they still tell."""

from __future__ import annotations

from dataclasses import dataclass

from disclique.audits.definition import Audit
from disclique.measures.label_information import count_classes, share_kept
from disclique.records.coarsening import Recoding


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


def describe_labels(audit: Audit, recoding: Recoding) -> LabelUse:
    """Say what a recoding does to the labels."""
    whole, left = audit.target.labels, recoding.apply(audit.target).labels
    classes, distinct = count_classes(left)
    return LabelUse(recoding.spec, recoding.said, share_kept(left, whole), classes, distinct)
