"""What a setting gives away of sensitive columns, with its upper end.

Whoever is identified is read, and everybody can guess: what is told is never less than the risk of being found, by
whatever that was measured, nor than what the column's distribution or labels tell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from disclique.audits.definition import Audit
from disclique.audits.facts import InferenceFacts
from disclique.audits.rates import SettingRisk
from disclique.audits.release_records import InferenceRecord, Records
from disclique.measures.bounds import smooth_upper_end
from disclique.messages import Message
from disclique.records.sensitive import SensitiveColumn


def measure_inference(
    audit: Audit, records: Records, trials: Records, risk: SettingRisk, why: Message | None
) -> tuple[InferenceFacts, ...]:
    """Measure what is told of each sensitive column under a setting; ``why`` says why there is no oracle.

    It is measured only where the oracle was asked of every release: what was not measured has no figure.
    """
    return tuple(
        _measure(column, [one.inference[k] for one in records.values()], _list_draws(trials, k), risk, why)
        for k, column in enumerate(audit.sensitive)
    )


def _list_draws(trials: Records, place: int) -> tuple[list[float], list[float]]:
    """Return the shares told, and told for certain, in the draws in which the oracle was asked for everybody."""
    there = [one.trials.told[place] for one in trials.values() if one.trials is not None]
    return [share for one in there for share in one.shares], [share for one in there for share in one.certain]


def _measure(
    column: SensitiveColumn,
    found: list[InferenceRecord],
    extra: tuple[list[float], list[float]],
    risk: SettingRisk,
    why: Message | None,
) -> InferenceFacts:
    asked = [one for one in found if one.people]
    people = [one.people for one in asked]
    guesses = [min(one.by_labels / one.people, 1.0) for one in asked]
    by_labels = float(np.mean(guesses)) if guesses else column.by_distribution
    facts = InferenceFacts(
        column.name, None, None, column.by_distribution, by_labels, missing=column.missing, grouped=column.groups
    )
    shares = [share for one in asked if (share := one.share) is not None]
    if not asked or len(shares) < len(asked):
        return replace(facts, why=why or Message("nobody_with_a_value", column=column.name))
    shares, certain = [*shares, *extra[0]], [*(one.certain / one.people for one in asked), *extra[1]]
    many = people + [round(float(np.mean(people)))] * len(extra[0])
    values = np.clip(shares, 0.0, 1.0)
    value = max(float(values.mean()), facts.guessed, risk.value)
    ends = smooth_upper_end(values, many), smooth_upper_end(guesses, people)
    return replace(
        facts,
        value=value,
        high=max(*ends, value, risk.high),
        certain=float(np.mean(np.clip(certain, 0.0, 1.0))),
        draws=len(values),
    )
