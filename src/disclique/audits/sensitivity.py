"""How the risk depends on what was assumed: the verdict's setting under other overlaps and other errors.

The same releases are measured again with a snooper who knows more or fewer people, or whose data are better or worse:
by the oracle where there is one, which takes seconds, else by the best attack in a few repetitions. Each is a stage of
its own, so that an interrupted audit goes on there too. Whatever was assumed in the holder's favour is measured without
it, always: a small figure must not come from an assumption of which nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from disclique.audits.definition import Audit, Varied
from disclique.audits.facts import Favour, JointRelease, Sensitivity, SensitivityPoint, SettingFacts
from disclique.audits.plan import Plan
from disclique.audits.rates import ORACLE, OracleRisk, measure_attack, measure_oracle, measure_risk
from disclique.audits.release_records import Records
from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.messages import Message, mark
from disclique.runs import Unit

OVERLAP, LABELS, PLACES, STRANGERS = "overlap", "label-error", "coordinate-error", "strangers"
RELEASED, WITHOUT_NUMBERS, NUMBERS_ALONE = "released", 0.0, 1.0  # what of a joint release is looked at
ALONE = "labels"  # an attack that costs nothing, beside the oracle

OR_IF = mark("or_if")  # how cases are joined


@dataclass(frozen=True)
class Variants:
    """What is assumed otherwise, and why something is not."""

    found: tuple[Varied, ...]
    notes: tuple[Message, ...]


def choose_variants(audit: Audit, setting: SettingFacts) -> Variants:
    """Choose what is assumed otherwise of the verdict's setting: what is in the holder's favour always."""
    by = _measured_by(setting)
    if by is None:
        return Variants((), (Message("nothing_to_vary"),))
    wanted, chosen = find_variants(audit, by), Setting.parse(setting.spec)
    both = len(chosen.labels.apply(audit.target).numbers) and not chosen.mask.withholds
    return wanted if both else replace(wanted, found=tuple(_without(RELEASED, wanted.found)))


def _without(varied: str, variants: Iterable[Varied]) -> list[Varied]:
    return [one for one in variants if one.varied != varied]


def find_variants(audit: Audit, by: str) -> Variants:
    """Return what is assumed otherwise, as far as the files allow it."""
    notes: list[Message] = []
    found: list[Varied] = []
    wanted = list_favours(audit, by)
    if audit.plan.sensitivity:
        wanted += [Varied(LABELS, value, by) for value in _label_errors(audit.plan)]
        wanted += [] if audit.plan.snooper.given else [Varied(OVERLAP, share, by) for share in _overlaps(audit.plan)]
        notes += [Message("only_label_errors_varied")] if audit.plan.snooper.given else []
    if not len(audit.target.labels.columns):
        wanted = [one for one in wanted if one.varied != LABELS]
        notes += [Message("no_labels_to_vary")] if audit.plan.sensitivity else []
    if by == ORACLE and len(audit.target.numbers) and audit.target.distances.are_published:
        wanted += [Varied(RELEASED, part, by) for part in (WITHOUT_NUMBERS, NUMBERS_ALONE)]
    order = (OVERLAP, STRANGERS, LABELS, PLACES, RELEASED)
    for variant in sorted(dict.fromkeys(wanted), key=lambda one: (order.index(one.varied), one.value)):
        try:
            other = vary(audit, variant)
        except InputError as problem:
            notes.append(Message("variant_not_tried", what=_name(variant), why=problem))
            continue
        if variant.varied == OVERLAP and other.most_common == audit.most_common:
            continue  # the file is so small that it is the same number of people
        if other.released_size != audit.released_size:
            sizes = {"released": other.released_size, "declared": audit.released_size}
            notes.append(Message("variant_releases_others", sizes, what=_name(variant)))
        found.append(variant)
    return Variants(tuple(found), tuple(notes))


def list_favours(audit: Audit, by: str) -> list[Varied]:
    """Return what the plan assumes in the holder's favour, each as it would be without."""
    snooper = audit.plan.snooper
    found = [Varied(LABELS, 0.0, by)] if snooper.label_error else []
    found += [Varied(PLACES, 0.0, by)] if snooper.coordinate_error is not None else []
    if snooper.overlap is not None:
        found += [Varied(OVERLAP, 1.0, by)] if snooper.overlap < 1 else []
        found += [] if audit.splits else [Varied(STRANGERS, 0.0, by)]
    return found


def _measured_by(setting: SettingFacts) -> str | None:
    """Return what the variants are measured by: the oracle, else the worst attack that was carried out."""
    if setting.oracle is not None:
        return ORACLE
    ran = [one for one in setting.attacks if one.applies and one.risk.value is not None]
    worst = max(ran, key=lambda one: one.risk.value or 0.0, default=None)
    return None if worst is None else worst.attack


def _overlaps(plan: Plan) -> tuple[float, ...]:
    """Return half and double the share that is known, at most all; of the whole file half and a fifth."""
    own = plan.snooper.overlap
    if own is None or own == 1:
        return 0.2, 0.5
    return round(own / 2, 6), min(round(2 * own, 6), 1.0)


def _label_errors(plan: Plan) -> tuple[float, ...]:
    """Return two more shares of wrong labels; where errors were assumed, none at all is one of them."""
    own = plan.snooper.label_error
    return (0.02, 0.1) if not own else (0.0, round(2 * own if own < 0.5 else own / 2, 6))


def vary(audit: Audit, variant: Varied) -> Audit:
    """Return the audit with one thing assumed otherwise, and with the one attack that measures it."""
    change: dict[str, float | int | None] = {
        OVERLAP: {"overlap": variant.value},
        LABELS: {"label_error": variant.value},
        PLACES: {"coordinate_error": None},
        STRANGERS: {"size": audit.most_common},
        RELEASED: {},
    }[variant.varied]  # type: ignore[assignment]
    snooper = replace(audit.plan.snooper, **change)  # type: ignore[arg-type]
    plan = replace(audit.plan, snooper=snooper, attacks=(ALONE if variant.by == ORACLE else variant.by,))
    plain = None if audit.uncoarsened is None else vary(audit.uncoarsened, variant)
    return Audit(plan, audit.target, audit.known, audit.others, plain, tuning=audit.tuning)


@dataclass(frozen=True)
class PointDraws:
    """Releases for one point: by the oracle, which costs little, and by an attack."""

    oracle: int = 10
    attack: int = 3


POINT_DRAWS = PointDraws()


def list_units(setting: Setting, variants: Variants, many: PointDraws = POINT_DRAWS) -> list[Unit]:
    """Return the units that measure the variants of a setting."""
    draws = {one: many.oracle if one.by == ORACLE else many.attack for one in variants.found}
    return [Unit(setting, k, one) for one, times in draws.items() for k in range(times)]


def describe_sensitivity(
    audit: Audit, setting: SettingFacts, variants: Variants, varied: Mapping[Varied, Records]
) -> Sensitivity | None:
    """Put the points together, that of the audit itself first in each row; None if there is none but that."""
    limit, scenario = audit.plan.max_risk, audit.plan.scenario
    by = _measured_by(setting)
    points, notes = [], list(variants.notes)
    for variant in _without(RELEASED, variants.found):
        found = _measure(varied[variant], variant.by, scenario)
        if isinstance(found, Message):
            notes.append(Message("variant_not_measured", what=_name(variant), why=found))
            continue
        risk, high = found
        common = sum(len(record.common) for record in varied[variant].values()) / len(varied[variant])
        points.append(
            SensitivityPoint(
                varied=variant.varied,
                value=variant.value,
                declared=False,
                common=common,
                risk=risk,
                high=high,
                draws=len(varied[variant]),
                keeps=None if limit is None else high <= limit,
            )
        )
    if not points or by is None:
        return None
    every = [one for name in dict.fromkeys(one.varied for one in points) for one in _row(audit, setting, name, points)]
    return Sensitivity(setting.spec, by, tuple(every), tuple(_judge(setting, by, every, limit)), tuple(notes))


def describe_joint(audit: Audit, setting: SettingFacts, varied: Mapping[Varied, Records]) -> JointRelease | None:
    """Say what numbers give away beside what is published between records; None where not both are released."""
    parts = {one.value: records for one, records in varied.items() if one.varied == RELEASED}
    if setting.oracle is None or set(parts) != {WITHOUT_NUMBERS, NUMBERS_ALONE}:
        return None
    found = {part: measure_oracle(records, audit.plan.scenario) for part, records in parts.items()}
    without, alone = found[WITHOUT_NUMBERS], found[NUMBERS_ALONE]
    if without is None or alone is None:
        return None
    places = audit.has_map and setting.on == "coordinates"
    return JointRelease(setting.spec, setting.oracle.value, without.value, alone.value, places)


def _measure(records: Records, by: str, scenario: str) -> tuple[float, float] | Message:
    """Return risk and upper end of a variant, or say why there is none."""
    if by == ORACLE:
        asked = measure_oracle(records, scenario)
        if asked is None:
            whys = [one.oracle.why for one in records.values() if one.oracle is not None]
            return next((why for why in whys if why is not None), Message("oracle_not_asked"))
        return asked.value, asked.high
    tried = measure_attack(records, by, scenario)
    if tried is None or not tried.applies:
        return (tried and tried.why) or Message("attack_does_not_apply")
    found = measure_risk(records, (by,), scenario)
    return found.value, found.high


def _row(audit: Audit, setting: SettingFacts, name: str, points: Sequence[SensitivityPoint]) -> list[SensitivityPoint]:
    """Return the points of one assumption by size, with that of the audit itself among them."""
    snooper, limit = audit.plan.snooper, audit.plan.max_risk
    oracle, risk = setting.oracle, setting.risk
    declared = {
        OVERLAP: 1.0 if snooper.overlap is None else snooper.overlap,
        LABELS: snooper.label_error,
        PLACES: audit.coordinate_error,
        STRANGERS: float((snooper.size or len(audit.target)) - audit.most_common),
    }
    high = risk.high if oracle is None else oracle.high
    own = SensitivityPoint(
        varied=name,
        value=declared[name],
        declared=True,
        common=float(audit.most_common - snooper.seeds),
        risk=risk.value if oracle is None else oracle.value,
        high=high,
        draws=setting.repetitions if oracle is None else oracle.draws,
        keeps=None if limit is None else high <= limit,
    )
    return sorted([own, *(one for one in points if one.varied == name)], key=lambda one: one.value)


def describe_favours(
    audit: Audit, setting: SettingFacts, found: Sensitivity | None, prosecutor: OracleRisk | None
) -> tuple[Favour, ...]:
    """Say what was assumed in the holder's favour, with the risk without it; ``prosecutor`` is that of one."""
    snooper, plan = audit.plan.snooper, audit.plan
    points = () if found is None else found.points
    lines: list[Favour] = []
    shares = {LABELS: snooper.label_error, OVERLAP: snooper.overlap}
    for variant in list_favours(audit, ORACLE):
        known = {"share": shares.get(variant.varied), "error": snooper.coordinate_error}
        said = Message(_ASSUMED[variant.varied], known)
        there = [one for one in points if one.varied == variant.varied and one.value == variant.value]
        lines.append(Favour(said, there[0].risk, there[0].high) if there else Favour(said))
    if setting.oracle is not None and setting.oracle.seeds is not None and setting.oracle.curve:
        most = max(one[-1].value for one in (setting.oracle.curve, setting.oracle.code_curve) if one)
        if most > setting.oracle.value:
            lines.append(Favour(Message("assumed_key_secret", seeds=setting.oracle.seeds), most))
    hidden = snooper.lacks(audit.target.labels.columns)
    if hidden:
        lines.append(Favour(Message("assumed_labels_unknown", names=hidden)))
    if (unknown := say_unknown_columns(audit)) is not None:
        lines.append(Favour(unknown))
    if plan.missing == "never" and audit.target.labels.isna().any(axis=None):
        lines.append(Favour(Message("assumed_missing_never")))
    if plan.scenario == "journalist":
        without = (None, None) if prosecutor is None else (prosecutor.value, prosecutor.high)
        lines.append(Favour(Message("assumed_journalist"), *without))
    return tuple(lines)


def say_unknown_columns(audit: Audit) -> Message | None:
    """Say which released columns are taken to be unknown to the snooper: one that is known belongs to the labels."""
    names = audit.target.roles.released
    return Message("assumed_columns_unknown", names=names) if names else None


_ASSUMED = {
    LABELS: mark("assumed_label_error"),
    OVERLAP: mark("assumed_overlap"),
    PLACES: mark("assumed_coordinate_error"),
    STRANGERS: mark("assumed_strangers"),
}


def _judge(setting: SettingFacts, by: str, points: Sequence[SensitivityPoint], limit: float | None) -> list[Message]:
    """Say what the points show."""
    lines = []
    for name in dict.fromkeys(one.varied for one in points):
        row = [one for one in points if one.varied == name]
        own = next(one for one in row if one.declared)
        cases = [Message("risk_if", share=one.risk, case=_assume(one)) for one in row if not one.declared]
        if by == ORACLE:
            lines.append(Message("varied_by_oracle", share=own.risk, cases=cases))
        else:
            lines.append(Message("varied_by_attack", attack=by, share=own.risk, cases=cases))
    if setting.meets and limit is not None:
        broken = [_assume(one) for one in points if not one.declared and one.risk > limit]
        unshown = [_assume(one) for one in points if not one.declared and one.risk <= limit < one.high]
        lines += [Message("limit_broken_if", limit=limit, cases=_join(broken))] if broken else []
        lines += [Message("not_shown_if", cases=_join(unshown))] if unshown else []
    return lines


def _join(cases: Sequence[Message]) -> Message:
    """Return several cases, any of which may hold, as one."""
    return reduce(lambda one, other: Message(OR_IF, one=one, other=other), cases)


_CASES = {
    OVERLAP: mark("snooper_knows_share"),
    LABELS: mark("labels_wrong_share"),
    PLACES: mark("coordinates_are_exact"),
    STRANGERS: mark("nobody_else_in_file"),
}


def _assume(point: SensitivityPoint) -> Message:
    return Message(_CASES[point.varied], share=point.value)


_NAMES = {
    OVERLAP: mark("share_known"),
    LABELS: mark("share_wrong"),
    PLACES: mark("exact_coordinates"),
    STRANGERS: mark("no_strangers"),
    RELEASED: mark("part_of_release"),
}


def _name(variant: Varied) -> Message:
    return Message(_NAMES[variant.varied], share=variant.value)
