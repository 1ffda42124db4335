"""The decision of an audit: from figures and limits to a status and its reasons. Pure, and all of it is here.

A setting *meets* the limits only where that is shown: all repetitions were made, the upper end of its risk and the most
exposed person are under their limits, and nothing is hidden. It is *unproven* where what was measured keeps the limits
and that is no proof, and it *fails* otherwise. The file meets them by the most useful setting that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from disclique.attacks import parse_attack, parse_attacks
from disclique.audits.facts import FAILS, MEASURED, MEETS, UNPROVEN, InsiderShare, PeopleRisk, SettingFacts, Verdict
from disclique.audits.plan import Plan
from disclique.audits.rates import AttackRisk, OracleRisk, SettingRisk
from disclique.masks.settings import Setting
from disclique.measures.utility import describe
from disclique.messages import Message, mark
from disclique.specs import parse_spec


@dataclass(frozen=True)
class WorthSaying:
    """What is worth a sentence: a ``share`` of people, or a difference between two; and how many examples."""

    share: float = 0.02
    examples: int = 2


WORTH_SAYING = WorthSaying()


@dataclass(frozen=True)
class Limits:
    """What the data holder accepts: a mean risk, and perhaps a risk of the most exposed person."""

    risk: float
    person: float | None = None


@dataclass(frozen=True)
class Figures:
    """What is known of a setting so far, as far as its status depends on it.

    ``repetitions`` is how many are asked for, ``effort`` how often the budget of its searches was raised. ``person`` is
    the risk of the most exposed person and ``oracle`` what the masked data give away, None where they were not
    measured; ``insider`` is the one who finds most, None where none was asked.
    """

    risk: SettingRisk
    repetitions: int
    effort: int = 0
    person: float | None = None
    oracle: OracleRisk | None = None
    insider: InsiderShare | None = None

    @property
    def tried(self) -> bool:
        """All repetitions were made."""
        return self.risk.repetitions >= self.repetitions


@dataclass(frozen=True)
class Judgement:
    """How a setting stands against the limits, and why.

    ``keeps`` says that the limits are kept as far as is known, whatever is hidden: by the upper end of the interval
    once it is tried often, before that by the mean. ``is_cut`` says that only work that was cut short stands between it
    and the limit.
    """

    figures: Figures
    limits: Limits

    @property
    def keeps(self) -> bool:
        """The limits are kept, as far as is known."""
        risk, person = self.figures.risk, self.figures.person
        mean_kept = (risk.interval[1] if self.figures.tried else risk.most) <= self.limits.risk
        return mean_kept and (self._person_kept or (person is None and not self.figures.tried))

    @property
    def _person_kept(self) -> bool:
        limit, person = self.limits.person, self.figures.person
        return limit is None or (person is not None and person <= limit)

    @property
    def is_cut(self) -> bool:
        """The limit would be kept but for what was cut short."""
        risk = self.figures.risk
        measured = risk.measured_high if self.figures.tried else risk.value
        matters = bool(risk.cut) and not risk.by_oracle  # else no work shows more than the oracle does
        return matters and not self.keeps and measured <= self.limits.risk

    @property
    def measured_keeps(self) -> bool:
        """What was measured is under the limits, whether or not that is a proof."""
        return self.figures.risk.value <= self.limits.risk and (self.figures.person is None or self._person_kept)

    @property
    def hidden(self) -> Message | None:
        """Why a limit that the attacks keep is not shown to be kept: where only the way in may be hidden.

        Where the oracle was asked, its risk decides. Elsewhere the search for a way in may fail where a better one
        would not: what a few known pairs give away is then no smaller risk than the limit, and without them nothing is
        known.
        """
        insider = self.figures.insider
        if self.figures.oracle is not None:
            return None
        if insider is None:
            return Message("not_modelled_and_no_insider")
        if insider.value > self.limits.risk:
            return Message("only_way_in_hidden", seeds=insider.seeds, value=insider.value, limit=self.limits.risk)
        return None

    @property
    def status(self) -> str:
        """``meets``, ``unproven`` or ``fails``."""
        if self.keeps and self.figures.tried and self.hidden is None:
            return MEETS
        return UNPROVEN if self.keeps or self.measured_keeps else FAILS

    @property
    def reason(self) -> Message | None:
        """Why it is not shown that the limits are kept; None where it is, or where only the risk is against it."""
        if self.status == MEETS:
            return None
        return self.hidden or (self._doubt if self.status == UNPROVEN else None)

    @property
    def _doubt(self) -> Message:
        """Why what was measured is no proof."""
        risk, oracle, limit = self.figures.risk, self.figures.oracle, self.limits.risk
        often, high = risk.repetitions, risk.interval[1]
        if self.keeps:
            return Message("looked_at_a_few_times", some=often, all=self.figures.repetitions)
        if self.figures.person is None and self.limits.person is not None and high <= limit:
            return Message("persons_not_measured")
        if oracle is not None and oracle.high > limit:
            return Message("oracle_above", value=oracle.value, high=oracle.high, limit=limit)
        if self.is_cut:
            return Message("cut_might_find", attacks=risk.cut, high=high, limit=limit)
        if risk.needed is not None and risk.needed > often:
            return Message("too_few_repetitions", some=often, needed=risk.needed)
        return Message("risk_may_be", high=high, limit=limit)


def decide(settings: Sequence[SettingFacts], plan: Plan, people: Sequence[PeopleRisk] = ()) -> Verdict:
    """Decide by the settings that were tried; ``people`` say how the risk is spread, where that was measured."""
    safest = min(settings, key=lambda s: (s.risk.interval[1], -(s.usefulness or 0)))
    if plan.max_risk is None:
        status, chosen = MEASURED, safest
        reasons = _measured(max(settings, key=lambda s: s.risk.value), safest, plan)
    elif enough := [s for s in settings if s.meets]:
        status = MEETS
        chosen = max(enough, key=lambda s: (s.usefulness or 0, s.label_information, -s.risk.interval[1]))
        reasons = _meets(chosen, settings, plan)
    elif unsettled := [s for s in settings if s.open]:
        status, chosen = UNPROVEN, min(unsettled, key=lambda s: s.risk.interval[1])
        reasons = _unproven(chosen, plan)
    else:
        status, chosen, reasons = FAILS, safest, _fails(safest, plan)
    reasons += [one.message for one in people if one.spec == chosen.spec]
    return Verdict(status, chosen.spec, tuple(reasons), tuple(_warn(status, chosen, plan)))


def name_mask(setting: SettingFacts) -> Message:
    """Name a setting as it is said in a sentence: ``donut (min 200m, max 1km) and no labels``."""
    asked = parse_spec(Setting.parse(setting.spec).mask.brief)
    parts = [f"{one.key} {one.value}" for one in asked.parameters]
    found = Message("mask_with", name=asked.name, parts=parts) if parts else Message("mask_alone", name=asked.name)
    return found if setting.labels is None else Message("mask_and_labels", mask=found, labels=setting.labels.said)


_FINDS = {  # what the worst attack does, by scenario; and where work was cut short
    "prosecutor": (mark("finds_record_of_known"), mark("finds_record_of_known_at_least")),
    "journalist": (mark("claims_record_of_known"), mark("claims_record_of_known_at_least")),
    "marketer": (mark("finds_person_of_record"), mark("finds_person_of_record_at_least")),
}
_OF_WHOM = {
    "prosecutor": mark("of_participants"),
    "journalist": mark("of_known_people"),
    "marketer": mark("of_all_records"),
}


def _find(setting: SettingFacts, plan: Plan, *, bound: bool = False) -> Message:
    """Say what the worst attack does, as a clause without its subject."""
    return Message(_FINDS[plan.scenario][bound], share=setting.risk.value)


def _measured(riskiest: SettingFacts, safest: SettingFacts, plan: Plan) -> list[Message]:
    find = _find(riskiest, plan, bound=riskiest.risk.lower_bound)
    first = Message("verdict_measured", mask=name_mask(riskiest), find=find)
    if safest is riskiest:
        return [first, Message("no_limit_set")]
    code = mark("safest_gives_at_least") if safest.risk.lower_bound else mark("safest_gives")
    risk = safest.risk
    return [first, Message(code, mask=name_mask(safest), value=risk.value, high=risk.interval[1])]


def _fails(safest: SettingFacts, plan: Plan) -> list[Message]:
    risk, mask, limit = safest.risk, name_mask(safest), plan.max_risk or 0.0
    if risk.value <= limit:
        exposed = {"person": safest.person, "person_limit": plan.max_risk_person}
        first = Message("person_above", exposed, mask=mask, value=risk.value, limit=limit)
    else:
        first = Message("verdict_fails", mask=mask, find=_find(safest, plan), high=risk.interval[1], limit=limit)
    return [first, Message("do_not_release")]


def _unproven(best: SettingFacts, plan: Plan) -> list[Message]:
    risk, whom = best.risk, Message(_OF_WHOM[plan.scenario], share=best.risk.value)
    first = Message("verdict_unproven", mask=name_mask(best), found=whom, limit=plan.max_risk, why=best.open_why)
    searched = any(parse_attack(spec).kind.by_agreement for spec in risk.cut)
    if risk.lower_bound and searched:
        return [first, Message("not_yet_more_budget")]
    if best.oracle is None and risk.needed is not None and risk.needed > risk.repetitions:
        return [first, Message("not_yet_more_repetitions", needed=risk.needed)]
    return [first, Message("not_yet")]


def _meets(best: SettingFacts, settings: Sequence[SettingFacts], plan: Plan) -> list[Message]:
    risk, limit = best.risk, plan.max_risk
    told = {"mask": name_mask(best), "find": _find(best, plan), "high": risk.interval[1], "limit": limit}
    if plan.max_risk_person is None:
        first = Message("verdict_meets", told)
    else:
        first = Message("verdict_meets_both", told, person=best.person, person_limit=plan.max_risk_person)
    use, others = describe(plan.utility, best.usefulness), _count_others(best, settings, plan)
    said = [first, Message("use_and_others", use=use, others=others) if others else Message("phrase", said=use)]
    lost = [one.attack for one in best.attacks if one.doubtful and parse_attack(one.attack).kind.by_seeds]
    return [*said, Message("no_way_found", attacks=lost)] if best.oracle is None and lost else said


def _count_others(best: SettingFacts, settings: Sequence[SettingFacts], plan: Plan) -> list[Message]:
    """Count the other settings by what is known of them: only those tried in full were shown to fail or to keep it."""
    others = [s for s in settings if s is not best]
    full = {s.spec: s.repetitions >= plan.repetitions for s in others}
    above = [full[s.spec] for s in others if s.risk.value > (plan.max_risk or 0.0)]
    unshown = sum(s.open and full[s.spec] for s in others)
    counts = {
        mark("others_above"): sum(above),
        mark("others_unshown"): unshown,
        mark("others_above_at_first"): above.count(False),
    }
    return [Message(code, count=count) for code, count in counts.items() if count]


def _warn(status: str, chosen: SettingFacts, plan: Plan, worth: WorthSaying = WORTH_SAYING) -> list[Message]:
    """Say what could not be attacked, was cut short, did not apply or was not asked for, of the setting named."""
    ran = [one for one in chosen.attacks if one.applies]
    lines = []
    if not ran:
        lines.append(Message("nothing_known_of_risk"))
    elif idle := [one.attack for one in chosen.attacks if not one.applies and not one.spared]:
        lines.append(Message("not_applicable", attacks=idle))
    spared: dict[Message, list[str]] = {}
    for one in chosen.attacks:
        if one.spared_why is not None:
            spared.setdefault(one.spared_why, []).append(one.attack)
    lines += [Message("left_out", attacks=names, why=why) for why, names in spared.items()]
    if left := not_asked_for(plan.attacks):
        lines.append(_say_left([one.attack for one in ran], left, known=chosen.oracle is not None))
    for one in ran:
        lines += _doubt_attack(status, one, chosen)
    if chosen.oracle is None and chosen.oracle_why is not None:
        lines.append(Message("most_not_known", why=chosen.oracle_why))
    shares = [one.unlaid for one in chosen.attacks if one.unlaid is not None]
    if shares and min(shares) >= worth.share:
        lines.append(Message("not_laid_on_a_map", share=min(shares)))
    return lines + _call_for_more(status, chosen, plan)


def _say_left(ran: Sequence[str], left: Sequence[str], *, known: bool) -> Message:
    """Say which attacks were not asked for; they may find more unless what the masked data give away is ``known``."""
    rest = Message(mark("not_asked_for") if known else mark("not_asked_and_may_find"), names=left, count=len(left))
    if not ran:
        return Message("only_nothing_tried", left=rest)
    return Message("only_tried", ran=Message("were_tried", names=ran, count=len(ran)), left=rest)


def _doubt_attack(status: str, one: AttackRisk, chosen: SettingFacts) -> list[Message]:
    """Say in how many repetitions an attack was not carried out, was cut short, or was in doubt."""
    lines = []
    if one.why is not None and not one.spared:
        lines.append(Message("attack_remark", attack=one.attack, why=one.why))
    often = {"attack": one.attack, "all": chosen.repetitions}
    if one.cut and chosen.risk.lower_bound:
        lines.append(Message("attack_cut", often, some=one.cut, why=one.cut_why, high=chosen.risk.interval[1]))
    elif one.cut:
        lines.append(Message("attack_cut_harmless", often, some=one.cut))
    if one.doubtful and chosen.oracle is None and status != FAILS:
        lines.append(Message("attack_doubtful", often, some=one.doubtful))
    return lines


def _call_for_more(status: str, chosen: SettingFacts, plan: Plan) -> list[Message]:
    """Say that more repetitions might turn the verdict."""
    often, limit, oracle = chosen.risk.repetitions, plan.max_risk, chosen.oracle
    if status == FAILS and chosen.turns:
        return [Message("near_the_limit", count=often)]
    near = oracle is not None and limit is not None and oracle.value <= limit < oracle.high
    return [Message("kept_on_average", count=often)] if status == UNPROVEN and near else []


def not_asked_for(asked: Sequence[str]) -> list[str]:
    """Return the attacks that an audit could carry out and was not asked to."""
    names = {parse_attack(spec).kind.name for spec in asked if spec != "all"}
    every = [] if "all" in asked else [spec.kind.name for spec in parse_attacks(("all",))]
    return [name for name in every if name not in names]
