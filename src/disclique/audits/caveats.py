"""What a result rests on and does not show: what the snooper was assumed to know, and the limits of the audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr

from disclique.attacks.look import look_for_leaks
from disclique.audits.definition import Audit
from disclique.audits.facts import SettingFacts, SnooperFacts
from disclique.audits.plan import Plan
from disclique.audits.verdict import WORTH_SAYING, WorthSaying, name_mask
from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.numbers import Numbers
from disclique.records.checks import Inspection, Remark, inspect
from disclique.records.checks.lengths import name_unit
from disclique.records.checks.pairs import find_doubles
from disclique.records.checks.values import show_length
from disclique.spaces import Matrix, full_matrix, spaced
from disclique.spaces.base import EARTH, ENCODINGS, MAPS, MATRIX, NOTHING, PLANE, RECORDS, TEXTS, VECTORS
from disclique.values import IntArray

_HELD = {  # what the snooper holds of people, and of what it is free, by the kind of the file
    EARTH: (mark("held_places"), mark("coordinates_exact")),
    PLANE: (mark("held_places"), mark("coordinates_exact")),
    VECTORS: (mark("held_vectors"), mark("vectors_exact")),
    RECORDS: (mark("held_values"), mark("values_exact")),
    TEXTS: (mark("held_texts"), mark("texts_exact")),
    ENCODINGS: (mark("held_encodings"), mark("encodings_exact")),
    MATRIX: (mark("held_distances"), mark("distances_exact")),
    NOTHING: (mark("held_numbers"), ""),
}
_INVENTED = {
    EARTH: mark("invented_at_places"),
    PLANE: mark("invented_at_places"),
    VECTORS: mark("invented_between"),
    RECORDS: mark("invented_between"),
    MATRIX: mark("invented_on_map"),
    TEXTS: mark("invented_of_words"),
    NOTHING: mark("invented_like_numbers"),
}


def describe_snooper(audit: Audit, facts: SnooperFacts) -> list[Message]:
    """Say what the snooper was assumed to know, a message each."""
    snooper, kind = audit.plan.snooper, audit.file_kind
    held, exact = _HELD.get(kind, _HELD[RECORDS])  # a kind of one's own has values, too
    sizes = {"records": facts.records, "known": facts.known, "common": facts.common + snooper.seeds}
    lines = {
        "given": [Message("known_file_given", sizes)],
        "drawn": [Message("known_file_drawn", sizes), _describe_others(audit)] if snooper.mode == "drawn" else [],
        "whole": [Message("known_file_whole", records=facts.records, held=Message(held))],
    }[snooper.mode]
    if snooper.seeds:
        lines.append(Message("snooper_is_insider", seeds=snooper.seeds, others=facts.common))
    lines.append(Message(mark("snooper_knows_mask_and_maps") if kind in MAPS else mark("snooper_knows_mask")))
    hidden = snooper.lacks(audit.target.labels.columns)
    lines += [Message("labels_not_known", names=hidden)] if hidden else []
    lines.append(Message("labels_wrong", share=snooper.label_error) if snooper.label_error else Message("labels_exact"))
    error = snooper.coordinate_error
    if kind != NOTHING:
        lines.append(Message(exact) if error is None else Message("coordinates_wrong", error=str(error)))
    if len(audit.target.numbers):
        lines += _describe_numbers(audit.target.numbers)
    if audit.target.distances.scaled:
        lines.append(Message("map_drawn_from_distances"))
    return lines + ([Message("ranges_of_the_holder")] if audit.by_gower else [])


def _describe_numbers(numbers: Numbers) -> list[Message]:
    """Say which numbers the snooper has of people, and how exact these are."""
    near = [one.name for one in numbers.columns if one.near is not None and one.near.by_place]
    other = [one.name for one in numbers.columns if one.name not in near]
    lines = [Message("snooper_has_numbers", names=other)] if other else []
    return lines + ([Message("snooper_measures_numbers", names=near)] if near else [])


def _describe_others(audit: Audit) -> Message:
    """Say where the people come from who are not in the release."""
    if audit.splits:
        return Message("others_kept_out", released=audit.released_size, records=len(audit.target))
    others = audit.plan.snooper.others
    if others == "file":
        return Message("others_from_file")
    how = mark("invented_in_germany") if others == "germany" else _INVENTED.get(audit.file_kind, _INVENTED[RECORDS])
    return Message("others_synthetic", how=Message(how))


def foresee(chosen: SettingFacts, plan: Plan) -> Message:
    """Say what one more release of the same people would do to the setting that the verdict names, always."""
    times = Message("a_second_time") if plan.releases == 1 else Message("once_more_than", times=plan.releases)
    if chosen.oracle is None or chosen.again is None:
        return Message("again_not_measured", times=times)
    return Message(
        "again_identifies", times=times, again=chosen.again, value=chosen.oracle.value, mask=name_mask(chosen)
    )


def list_limits(
    settings: Sequence[SettingFacts], audit: Audit, facts: SnooperFacts, chosen: SettingFacts
) -> list[Message]:
    """Say what the result does not show; ``chosen`` is the setting that the verdict names."""
    plan = audit.plan
    lines = [
        Message("only_listed_attacks"),
        foresee(chosen, plan),
        Message("risk_is_an_average"),
        Message("intervals_hold_for"),
        Message("measured_at_most", times=audit.tuning.sampled_repetitions),
        *_yardsticks(settings),
        *_idle(settings),
    ]
    guess = min(s.guess for s in settings) if plan.generalise else facts.guess
    if plan.max_risk is not None and guess > plan.max_risk:
        lines.append(Message(mark("guess_above_even_coarse") if plan.generalise else mark("guess_above"), share=guess))
    if audit.thinned is not None:
        lines.append(Message("full_sentence", said=audit.thinned))
    empty = int(audit.target.labels.isna().any(axis=1).sum())
    if empty:
        code = mark("empty_labels_match_anything") if plan.missing == "any" else mark("empty_labels_match_nothing")
        lines.append(Message(code, empty=empty, records=len(audit.target)))
    if plan.repetitions == 1:
        lines.append(Message("one_repetition_only"))
    if audit.splits:
        lines.append(Message("whole_file_is_larger", all=len(audit.target), records=facts.records))
    elif plan.snooper.others != "file" and plan.snooper.mode == "drawn":
        lines.append(Message("synthetic_people_differ"))
    return lines


def _idle(settings: Sequence[SettingFacts]) -> list[Message]:
    """Name the attacks that were not carried out, or not everywhere, because they do not apply."""
    idle = {one.attack: one.why for s in settings for one in s.attacks if not one.applies}
    busy = {one.attack for s in settings for one in s.attacks if one.applies}
    by_reason: dict[Message | None, list[str]] = {}
    for name, why in idle.items():
        if name not in busy:
            by_reason.setdefault(why, []).append(name)
    lines = [Message("not_carried_out_everywhere", attack=name, why=idle[name]) for name in idle if name in busy]
    for why, names in by_reason.items():
        if len(names) == 1:
            lines.append(Message("not_carried_out", attack=names[0], why=why))
        else:
            lines.append(Message("several_not_carried_out", attacks=names, why=why))
    return lines


def _yardsticks(settings: Sequence[SettingFacts], worth: WorthSaying = WORTH_SAYING) -> list[Message]:
    """Name the settings that protect only because attacks do not find out how the released data lie, and the others."""
    inside = [
        Message("instead_of", share=s.risk.value, risk=s.risk.found.value, setting=s.brief)
        for s in settings
        if s.risk.found is not None and s.risk.value > s.risk.found.value + worth.share
    ]
    beaten = [s.brief for s in settings if s.risk.beaten]
    learned = sorted({s.mask for s in settings if s.oracle is not None and s.oracle.learned})
    whys = {s.oracle_why: s.brief for s in settings if s.oracle is None and s.oracle_why is not None}
    return [
        *([Message("oracle_finds_more", cases=inside)] if inside else []),
        *([Message("oracle_beaten_at", settings=beaten)] if beaten else []),
        *([Message("law_learned", masks=learned)] if learned else []),
        *(Message("not_modelled", setting=brief, why=why) for why, brief in whys.items()),
    ]


@dataclass(frozen=True)
class MaskTrial:
    """A mask is tried on so many ``records``; below ``least_kept``, a rank correlation, hardly anything is left."""

    records: int = 200
    least_kept: float = 0.3


MASK_TRIAL = MaskTrial()


def inspect_audit(audit: Audit) -> Inspection:
    """Look at everything that an audit is given; its ids mean the same people in every file."""
    found = _inspect_beside(audit, audit.known, same_ids=True)
    if audit.others is not None:
        beside = _inspect_beside(audit, audit.others)
        remarks = tuple(dict.fromkeys([*found.remarks, *beside.remarks, *find_doubles(audit.target, audit.others)]))
        found = replace(
            found, files=(*found.files, *beside.files[1:]), meetings=found.meetings or beside.meetings, remarks=remarks
        )
    remarks = (*found.remarks, *_roots(audit), *_masks(audit))
    leaks = look_for_leaks(audit.target, audit.known)
    return replace(found, remarks=tuple(sorted(remarks, key=lambda remark: not remark.mistake)), leaks=leaks)


def join_looks(looks: Sequence[Inspection]) -> Inspection:
    """Return looks at the same file beside several others as one, in which nothing stands twice."""
    found, files = looks[0], dict.fromkeys(file for look in looks for file in look.files)
    meetings = dict.fromkeys(one for look in looks for one in look.meetings)
    remarks = dict.fromkeys(one for look in looks for one in look.remarks)
    leaks = dict.fromkeys(one for look in looks for one in look.leaks)
    return replace(found, files=tuple(files), meetings=tuple(meetings), remarks=tuple(remarks), leaks=tuple(leaks))


def _inspect_beside(audit: Audit, known: Microdata | None, *, same_ids: bool = False) -> Inspection:
    """Look at the file beside one of the snooper, of which only the labels are compared that they know."""
    snooper, columns = audit.plan.snooper, audit.target.labels.columns
    if known is None or not snooper.lacks(columns):
        return inspect(audit.target, known, same_ids=same_ids, errors=snooper.label_error)
    mine, theirs = (replace(data, labels=data.labels[snooper.knows(columns)]) for data in (audit.target, known))
    both, own, less = (
        inspect(mine, theirs, same_ids=same_ids, errors=snooper.label_error),
        inspect(audit.target),
        inspect(mine),
    )
    more = [remark for remark in both.remarks if remark not in less.remarks]
    return replace(both, files=(*own.files, *both.files[1:]), remarks=tuple(dict.fromkeys([*own.remarks, *more])))


def _roots(audit: Audit) -> Iterator[Remark]:
    """Say whether distances that fit no map would fit one if they were squared, as those forgotten to be squared do."""
    own = audit.target.distances
    if not own.are_published or own.matrix() is None or own.scaled or own.directed:
        return
    values = full_matrix(own.select(_choose_rows(audit)))
    if Matrix(values**2).to_map() is not None and Matrix(values).to_map() is None:
        yield Remark(Message("distances_are_roots", file=audit.target.name))


def _choose_rows(audit: Audit) -> IntArray:
    return spaced(len(audit.target), MASK_TRIAL.records).astype(np.int32)


def _masks(audit: Audit) -> Iterator[Remark]:
    """Say whether a mask, even at its weakest, is out of all proportion to the distances."""
    if not audit.target.distances.are_published:
        return
    rows = _choose_rows(audit)
    some = audit.target.distances.select(rows)
    original = full_matrix(some)
    upper = np.triu(np.ones(original.shape, dtype=bool), 1)
    for range_ in audit.plan.mask_ranges:
        mask = range_.settings[0].mask.prepare(audit.target)
        if mask.on == "text":  # what encodings keep of texts is another question
            continue
        masked = full_matrix(mask.select(rows).apply(some, audit.chance.rng("look")))
        there = upper & ~np.isnan(masked) & ~np.isnan(original)
        if there.sum() < MASK_TRIAL.records or original[there].std() == 0 or masked[there].std() == 0:
            continue
        kept = float(spearmanr(original[there], masked[there]).statistic)
        if kept < MASK_TRIAL.least_kept:
            median = show_length(float(np.median(original[there])), name_unit(audit.target.distances))
            yield Remark(Message("mask_leaves_nothing", setting=range_.settings[0], median=median, kept=kept))
