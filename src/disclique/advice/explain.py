"""What an advice says of itself: the steps of a release, why nothing keeps a limit, and what can be done instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from disclique.advice.facts import AdvisedRelease
from disclique.advice.families import Arm
from disclique.advice.search import Candidate
from disclique.audits.definition import Audit
from disclique.audits.estimate import describe_work
from disclique.audits.sensitivity import say_unknown_columns
from disclique.masks.numbers import NUMBERS_AS_THEY_ARE
from disclique.masks.settings import read_dial
from disclique.messages import Message
from disclique.records.coarsening import Recoding

FEW = 5  # people of a class in which they are few


def describe_file(audit: Audit) -> list[Message]:
    """Say what the snooper is assumed to hold, and what not."""
    unknown = say_unknown_columns(audit)
    return [*describe_work(audit)[:1], *([] if unknown is None else [unknown])]


def list_steps_taken(one: Candidate, start: Candidate | None = None) -> list[tuple[Message, Candidate]]:
    """Return the steps of a release, each with the release as it is after this step and those before.

    ``start`` is the file as it is, from which they are counted.
    """
    return list(_take_steps(one, start or one))


def _take_steps(one: Candidate, there: Candidate) -> Iterator[tuple[Message, Candidate]]:
    arm = one.arm
    labels = Recoding(tuple(part for part in arm.labels.parts if part not in arm.gone.parts))
    if labels.parts:
        there = replace(there, arm=Arm(labels, NUMBERS_AS_THEY_ARE, arm.rank))
        yield labels.message, there
    if arm.numbers.parts or arm.gone.parts:
        there = replace(there, arm=arm)
        yield arm.numbers.message or Message("numbers_left_out", names=arm.gone.dropped), there
    mask = one.family.masks[one.place]
    if mask.name != "none":
        there = replace(one, left_out=())
        yield Message("step_mask", mask=mask.brief), there
    if one.left_out:
        yield Message("step_left_out", count=len(one.left_out)), one


def describe_release(one: Candidate) -> list[Message]:
    """Say what is done to a file in words: by the mask, to labels and numbers, and who is left out."""
    mask = one.family.masks[one.place]
    said = [step for step, there in list_steps_taken(one) if step.code != "step_mask"]
    return [*([Message("mask_in_words", mask=mask.brief, does=mask.summary)] if mask.summary else []), *said]


def say_bought(one: Candidate, before: Candidate) -> Message | None:
    """Say how far the dial may be turned back where some people are left out."""
    dial = one.setting.mask.dial
    if dial is None or before.place <= one.place:
        return None
    weaker, stronger = (str(read_dial(each.setting, dial)) for each in (one, before))
    return Message("left_out_buys", count=len(one.left_out), mask=one.family.name, dial=dial, low=weaker, high=stronger)


def explain_failure(audit: Audit, nearest: AdvisedRelease | None) -> list[Message]:
    """Say who is exposed: in which label people are fewest, how many are alone with theirs, and what comes nearest."""
    labels = audit.target.labels
    found = []
    rare = {str(name): _count_few(labels[name]) for name in labels.columns}
    worst = max(rare, key=lambda name: rare[name][0] / max(rare[name][1], 1), default=None)
    if worst is not None and rare[worst][0]:
        few, every = rare[worst]
        found.append(Message("few_in_values", column=worst, few=few, all=every, least=FEW))
    if len(labels.columns) > 1:
        few, every = _count_few(pd.Series(list(labels.itertuples(index=False, name=None)), dtype=object))
        if few:
            found.append(Message("few_in_combinations", few=few, all=every, least=FEW, labels=list(labels.columns)))
    if nearest is not None:
        found.append(Message("nearest_still_above", setting=nearest.brief, risk=nearest.risk.value))
    return found or [Message("distances_single_out", records=len(audit.target))]


def _count_few(values: pd.Series) -> tuple[int, int]:
    """Return in how many classes people are few, and how many classes there are."""
    sizes = values.value_counts(dropna=False)
    return int((sizes < FEW).sum()), len(sizes)


def list_ways_out() -> tuple[Message, ...]:
    """Name what a holder can do that is no release of microdata, and what would change the answer."""
    return (
        Message("way_secure_access"),
        Message("way_tables"),
        Message("way_fewer_columns"),
        Message("way_recipient"),
    )
