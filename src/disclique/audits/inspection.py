"""A look at the input of an audit: the holder's file, the snooper's, the people outside, and the masks beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr

from disclique.audits.definition import Audit
from disclique.messages import Message
from disclique.records.checks import Inspection, Remark, inspect
from disclique.records.checks.lengths import name_unit
from disclique.records.checks.pairs import find_doubles
from disclique.records.checks.values import show_length
from disclique.spaces import Matrix, full_matrix, spaced
from disclique.values import IntArray


@dataclass(frozen=True)
class MaskTrial:
    """A mask is tried on so many ``records``; below ``least_kept``, a rank correlation, hardly anything is left."""

    records: int = 200
    least_kept: float = 0.3


MASK_TRIAL = MaskTrial()


def inspect_audit(audit: Audit) -> Inspection:
    """Look at everything that an audit is given; its ids mean the same people in every file."""
    errors = audit.plan.snooper.label_error
    found = inspect(audit.target, audit.known, same_ids=True, errors=errors)
    if audit.others is not None:
        beside = inspect(audit.target, audit.others, errors=errors)
        remarks = tuple(dict.fromkeys([*found.remarks, *beside.remarks, *find_doubles(audit.target, audit.others)]))
        found = replace(
            found, files=(*found.files, *beside.files[1:]), meetings=found.meetings or beside.meetings, remarks=remarks
        )
    remarks = (*found.remarks, *_roots(audit), *_masks(audit))
    return replace(found, remarks=tuple(sorted(remarks, key=lambda remark: not remark.mistake)))


def _roots(audit: Audit) -> Iterator[Remark]:
    """Say whether distances that fit no map would fit one if they were squared, as those forgotten to be squared do."""
    own = audit.target.distances
    if own.matrix() is None or own.scaled or own.directed:
        return
    values = full_matrix(own.select(_choose_rows(audit)))
    if Matrix(values**2).to_map() is not None and Matrix(values).to_map() is None:
        yield Remark(Message("distances_are_roots", file=audit.target.name))


def _choose_rows(audit: Audit) -> IntArray:
    return spaced(len(audit.target), MASK_TRIAL.records).astype(np.int32)


def _masks(audit: Audit) -> Iterator[Remark]:
    """Say whether a mask, even at its weakest, is out of all proportion to the distances."""
    some = audit.target.distances.select(_choose_rows(audit))
    original = full_matrix(some)
    upper = np.triu(np.ones(original.shape, dtype=bool), 1)
    for range_ in audit.plan.mask_ranges:
        mask = range_.settings[0].mask
        if mask.on == "text":  # what encodings keep of texts is another question
            continue
        masked = full_matrix(mask.apply(some, audit.chance.rng("look")))
        there = upper & ~np.isnan(masked) & ~np.isnan(original)
        if there.sum() < MASK_TRIAL.records or original[there].std() == 0 or masked[there].std() == 0:
            continue
        kept = float(spearmanr(original[there], masked[there]).statistic)
        if kept < MASK_TRIAL.least_kept:
            median = show_length(float(np.median(original[there])), name_unit(audit.target.distances))
            yield Remark(Message("mask_leaves_nothing", setting=range_.settings[0], median=median, kept=kept))
