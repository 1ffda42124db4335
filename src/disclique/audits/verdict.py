"""The decision of an audit: from figures and limits to a status and its reasons. Pure, and all of it is here.

A setting *meets* the limits only where that is shown: all repetitions were made, an oracle was asked, the upper end of
what the release gives away, the most exposed person and what is told of sensitive columns are under their limits, and
nobody doubts the input. It is
*unproven* where what was measured keeps the limits and that is no proof, and it *fails* otherwise. The file meets them
by the most useful setting that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from disclique.attacks import parse_attacks
from disclique.audits.facts import FAILS, MEASURED, MEETS, UNPROVEN, InferenceFacts, PeopleRisk, SettingFacts, Verdict
from disclique.audits.plan import Plan
from disclique.audits.rates import AttackRisk, EverybodyRisk, OracleRisk, SettingRisk
from disclique.audits.recipient_facts import RecipientRisk, SharedSetting
from disclique.masks.settings import Setting
from disclique.measures.utility import describe
from disclique.messages import Message, mark, percent
from disclique.records.checks.values import Leak
from disclique.specs import parse_spec

DICTIONARY = "dictionary"  # what a risk comes from that needs no key


@dataclass(frozen=True)
class WorthSaying:
    """What is worth a sentence: a ``share`` of people, or a difference between two, and a limit that means everybody.

    Such a limit is ``of_everybody``, eleven people who cannot be told apart, as the European Medicines Agency and
    Health Canada have it for publication; it is written as 0.09 or 1/11, so that much it may be ``off``.
    """

    share: float = 0.02
    of_everybody: float = 1 / 11
    off: float = 0.001

    def means_everybody(self, limit: float) -> bool:
        """Say whether a limit is one that is meant for the most exposed person where it comes from."""
        return abs(limit - self.of_everybody) <= self.off


WORTH_SAYING = WorthSaying()


@dataclass(frozen=True)
class Limits:
    """What the data holder accepts: a mean risk, and perhaps a risk of the most exposed person.

    ``inference`` is the largest share of people accepted of whom the value of a sensitive column is told rightly.
    """

    risk: float
    person: float | None = None
    inference: float | None = None


@dataclass(frozen=True)
class Figures:
    """What is known of a setting so far, as far as its status depends on it.

    ``repetitions`` is how many are asked for. ``person`` is the risk of the most exposed person and ``oracle`` what the
    masked data give away, None where they were not measured; ``oracle_why`` says why there is none. ``doubt``
    says what looks wrong with the input and was not accepted. ``inference`` is what is told of sensitive columns.
    ``everybody`` is what is found of all released records where they can be read, which is held against the limit of
    the risk as well: the risk is a share of the people on the snooper's list, this one of all records. A list of few
    people makes the one large, a dictionary the other.
    """

    risk: SettingRisk
    repetitions: int
    person: float | None = None
    oracle: OracleRisk | None = None
    oracle_why: Message | None = None
    doubt: Message | None = None
    inference: tuple[InferenceFacts, ...] = ()
    everybody: EverybodyRisk | None = None

    @property
    def measured(self) -> float:
        """The larger of the shares that the limit of the risk is held against, without their upper ends."""
        return self.risk.value if self.everybody is None else max(self.risk.value, self.everybody.value)

    @property
    def tried(self) -> bool:
        """All repetitions were made."""
        return self.risk.repetitions >= self.repetitions


@dataclass(frozen=True)
class Judgement:
    """How a setting stands against the limits, and why.

    ``keeps`` says that the limits are kept as far as is known, by the upper end of the risk, whatever is hidden.
    """

    figures: Figures
    limits: Limits

    @property
    def keeps(self) -> bool:
        """The limits are kept, as far as is known."""
        risk, person = self.figures.risk, self.figures.person
        person_kept = self._person_kept or (person is None and not self.figures.tried)
        return max(risk.high, self._everybody_high) <= self.limits.risk and person_kept and self._told_above is None

    @property
    def _everybody_high(self) -> float:
        """The upper end of what is found of everybody; nothing where records cannot be read."""
        return 0.0 if self.figures.everybody is None else self.figures.everybody.high

    @property
    def _person_kept(self) -> bool:
        limit, person = self.limits.person, self.figures.person
        return limit is None or (person is not None and person <= limit)

    @property
    def _told_above(self) -> InferenceFacts | None:
        """A column of which more may be told than is accepted; of one that was not measured by what is known anyhow."""
        risk, limit = self.figures.risk.high, self.limits.inference
        ends = ((one, max(one.guessed, risk) if one.high is None else one.high) for one in self.figures.inference)
        return next((one for one, end in ends if limit is not None and end > limit), None)

    @property
    def _told_kept(self) -> bool:
        """What was measured of sensitive columns is under its limit."""
        risk, limit = self.figures.risk.value, self.limits.inference
        values = (max(one.guessed, risk) if one.value is None else one.value for one in self.figures.inference)
        return limit is None or all(value <= limit for value in values)

    @property
    def measured_keeps(self) -> bool:
        """What was measured is under the limits, whether or not that is a proof."""
        person, kept = self.figures.person, self.figures.measured <= self.limits.risk
        return kept and (person is None or self._person_kept) and self._told_kept

    @property
    def hidden(self) -> Message | None:
        """Why a limit that is kept by all figures is not shown to be kept."""
        figures = self.figures
        if figures.oracle is None:  # a search that fails looks like protection
            return Message("no_oracle", why=figures.oracle_why)
        if figures.risk.beaten:  # one that is wrong is none
            return Message("oracle_is_wrong", attack=figures.risk.by)
        blind = next((one for one in figures.inference if one.value is None), None)
        if blind is not None and self.limits.inference is not None:
            return Message("inference_not_measured", column=blind.column, why=blind.why)
        return figures.doubt

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
        risk, limit = self.figures.risk, self.limits.risk
        if self.keeps:
            return Message("looked_at_a_few_times", some=risk.repetitions, all=self.figures.repetitions)
        if self.figures.person is None and self.limits.person is not None and risk.high <= limit:
            return Message("persons_not_measured")
        if risk.high <= limit and (above := self._told_above) is not None:
            return Message("inference_may_be", column=above.column, high=above.high, limit=self.limits.inference)
        if risk.high <= limit < self._everybody_high:
            return Message("everybody_may_be", high=self._everybody_high, limit=limit)
        return Message("risk_may_be", high=risk.high, limit=limit)


def count_reading(setting: SettingFacts, leak: Leak | None, plan: Plan) -> SettingFacts:
    """Return a setting with what anybody reads without a key as its risk, where it releases encodings as they are.

    Everybody whose encoding is explained by a code without a secret counts: a longer list of names is easily had.
    """
    if leak is None or leak.risk is None or not Setting.parse(setting.spec).mask.rigid:
        return setting
    risk, share = setting.risk, leak.risk
    if share > risk.value:
        risk = replace(risk, value=share, high=max(share, risk.high), by=DICTIONARY, high_of=DICTIONARY, highest=1.0)
    if plan.max_risk is None or share <= plan.max_risk:
        return replace(setting, risk=risk)
    return replace(setting, risk=risk, meets=False, open=False, open_why=None)


def decide(
    settings: Sequence[SettingFacts], plan: Plan, people: Sequence[PeopleRisk] = (), leak: Leak | None = None
) -> Verdict:
    """Decide by the settings that were tried; ``people`` say how the risk is spread, where that was measured.

    ``leak`` is what a dictionary reads of encodings without their key: of a release of them it is said first.
    """
    safest = min(settings, key=lambda s: (_high(s), -(s.usefulness or 0)))
    if plan.max_risk is None:
        status, chosen = MEASURED, safest
        reasons = _measured(max(settings, key=lambda s: s.risk.value), safest, plan)
    elif enough := [s for s in settings if s.meets]:
        status = MEETS
        chosen = max(enough, key=lambda s: (s.usefulness or 0, s.label_information, s.numbers_kept, -s.risk.high))
        reasons = _meets(chosen, settings, plan)
    elif unsettled := [s for s in settings if s.open]:
        status, chosen = UNPROVEN, min(unsettled, key=_high)
        reasons = _unproven(chosen, plan)
    else:
        status, chosen, reasons = FAILS, safest, _fails(safest, plan)
    if leak is not None and Setting.parse(chosen.spec).mask.rigid:
        reasons = [leak.message, *reasons]
    reasons += [one.message for one in people if one.spec == chosen.spec]
    reasons += say_told(chosen)
    reasons += [*say_everybody(chosen), *say_curve(chosen, plan)]
    return Verdict(status, chosen.spec, tuple(reasons), tuple(_warn(status, chosen, plan)))


def _high(setting: SettingFacts) -> float:
    """Return the larger of the two upper ends that the limit of the risk is held against."""
    return setting.risk.high if setting.everybody is None else max(setting.risk.high, setting.everybody.high)


def _value(setting: SettingFacts) -> float:
    """Return the larger of the two shares themselves."""
    return setting.risk.value if setting.everybody is None else max(setting.risk.value, setting.everybody.value)


def say_everybody(setting: SettingFacts) -> list[Message]:
    """Say what is found of all released records, where they can be read."""
    one = setting.everybody
    if one is None:
        return []
    shares = {"value": one.value, "high": one.high, "read": one.read, "covered": one.covered}
    return [Message("everybody_found", shares, mask=name_mask(setting))]


def say_curve(setting: SettingFacts, plan: Plan) -> list[Message]:
    """Say from how many known pairs on the limit is broken, where the secret of a mask is a key."""
    oracle, limit = setting.oracle, plan.max_risk
    if oracle is None or not oracle.curve or limit is None:
        return []
    by_code = {one.seeds: one.value for one in oracle.code_curve}
    points = [(one.seeds, max(one.value, by_code.get(one.seeds, 0.0))) for one in oracle.curve]
    most = points[-1][0]
    crossed = next(((seeds, value) for seeds, value in points if value > limit), None)
    if crossed is None:
        return [Message("curve_below", limit=limit, most=most, value=points[-1][1])]
    before = max((seeds for seeds, value in points if seeds < crossed[0]), default=None)
    told = {"limit": limit, "seeds": crossed[0], "value": crossed[1]}
    if before is None:
        return [Message("curve_crosses_at_once", told)]
    if crossed[0] == most:
        return [Message("curve_crosses_last", told, before=before)]
    return [Message("curve_crosses", told, before=before)]


def stand(setting: SettingFacts) -> str:
    """Say how a setting stands against the limits of its audit: a status, ``measured`` where there are none."""
    if setting.meets is None:
        return MEASURED
    return MEETS if setting.meets else UNPROVEN if setting.open else FAILS


def share_setting(by: Mapping[str, SettingFacts], plans: Mapping[str, Plan]) -> SharedSetting:
    """Hold one setting against the limits of every recipient; ``by`` has those for whom it was measured.

    It stands as it does for the strictest recipient, and nowhere where it was not measured for one of them.
    """
    risks = tuple(
        RecipientRisk(
            recipient=name,
            status=stand(by[name]),
            risk=_value(by[name]),
            high=_high(by[name]),
            limit=plan.max_risk,
            person=by[name].person,
            person_limit=plan.max_risk_person,
            why=by[name].open_why,
        )
        for name, plan in plans.items()
        if name in by
    )
    any_ = next(iter(by.values()))
    worst = max(risks, key=lambda one: (_SEVERITY.index(one.status), one.excess)) if len(risks) == len(plans) else None
    return SharedSetting(
        spec=any_.spec,
        brief=any_.brief or any_.spec,
        named=name_mask(any_),
        usefulness=min((one.usefulness for one in by.values() if one.usefulness is not None), default=None),
        label_information=any_.label_information,
        numbers_kept=any_.numbers_kept,
        status=None if worst is None else worst.status,
        strictest=None if worst is None else worst.recipient,
        recipients=risks,
    )


_SEVERITY = (MEETS, MEASURED, UNPROVEN, FAILS)


def decide_for_everybody(settings: Sequence[SharedSetting], verdicts: Mapping[str, Verdict]) -> Verdict:
    """Decide what may be given to every recipient: the strictest decides, and what was not measured for all is out.

    ``verdicts`` are those of the recipients; what all of them caution against is said of this one, too.
    """
    whole = [one for one in settings if one.status is not None]
    nearest = min(whole, key=lambda one: (_SEVERITY.index(one.worst.status), one.worst.excess, -(one.usefulness or 0)))
    status, chosen = nearest.worst.status, nearest
    if status == MEETS:
        enough = [one for one in whole if one.status == MEETS]
        chosen = max(enough, key=lambda s: (s.usefulness or 0, s.label_information, s.numbers_kept, -s.worst.excess))
    reasons = [_say_worst(_EVERYBODY[status], chosen, len(verdicts))]
    kept = [one.recipient for one in chosen.recipients if one.status == MEETS]
    if kept and status != MEETS:
        reasons.append(Message("kept_for_some", names=kept, count=len(kept)))
    if status in _ADVICE:
        reasons.append(Message(_ADVICE[status]))
    first, *rest = verdicts.values()
    cautions = [line for line in first.cautions if all(line in other.cautions for other in rest)]
    cautions.append(Message("one_release_for_all"))
    if len(whole) < len(settings):
        cautions.append(Message("measured_for_some_only", count=len(settings) - len(whole)))
    return Verdict(status, chosen.spec, tuple(reasons), tuple(cautions))


_EVERYBODY = {
    MEETS: mark("everybody_meets"),
    UNPROVEN: mark("everybody_unproven"),
    FAILS: mark("everybody_fails"),
    MEASURED: mark("everybody_measured"),
}
_ADVICE = {FAILS: mark("do_not_give_to_all"), UNPROVEN: mark("not_yet")}


def _say_worst(code: str, setting: SharedSetting, recipients: int) -> Message:
    """Say how a setting stands for the recipient who decides."""
    worst = setting.worst
    exposed = worst.person is not None and worst.person_limit is not None and worst.high <= (worst.limit or 0.0)
    person = {"person": worst.person, "person_limit": worst.person_limit}
    return Message(
        code,
        count=recipients,
        mask=setting.named,
        name=worst.recipient,
        share=worst.risk,
        high=worst.high,
        limit=worst.limit,
        exposed=Message("most_exposed_person", person) if exposed else None,
        why=None if worst.why is None else Message("because_of", why=worst.why),
    )


def name_mask(setting: SettingFacts) -> Message:
    """Name a setting as it is said in a sentence: ``the mask donut (min 200m, max 1km) and no labels``."""
    numbers = setting.numbers
    found = _name_with_mask(setting)
    if numbers is not None and numbers.alone:
        withheld = Setting.parse(setting.spec).mask.withholds
        found = Message("numbers_without_distances", numbers=numbers.said) if withheld else numbers.said
    return found if setting.labels is None else Message("mask_and_labels", mask=found, labels=setting.labels.said)


def _name_with_mask(setting: SettingFacts) -> Message:
    asked = parse_spec(Setting.parse(setting.spec).mask.brief)
    parts = [f"{one.key} {one.value}" for one in asked.parameters]
    found = Message("mask_with", name=asked.name, parts=parts) if parts else Message("mask_alone", name=asked.name)
    return found if setting.numbers is None else Message("mask_and_numbers", mask=found, numbers=setting.numbers.said)


_GIVES = {  # what the release gives away, by scenario
    "prosecutor": mark("gives_prosecutor"),
    "journalist": mark("gives_journalist"),
    "marketer": mark("gives_marketer"),
}


def give_away(setting: SettingFacts, plan: Plan) -> Message:
    """Say what the release gives away: the one number, and the end that decides."""
    share, high = setting.risk.value, setting.risk.high
    most = None if percent(share) == percent(high) else Message("at_most_of_hundred", high=high)
    return Message(_GIVES[plan.scenario], share=share, high=high, most=most)


def show_in_practice(setting: SettingFacts, plan: Plan) -> Message:
    """Say how near a real snooper came, and what guessing gives."""
    found, guess = setting.risk.found, setting.guess
    if found is None:
        return Message("shown_nothing", guess=guess)
    told = {"found": found.value, "attack": found.attack, "count": found.releases, "guess": guess}
    if plan.snooper.seeds:
        return Message("shown_by_insider", told, seeds=plan.snooper.seeds)
    return Message("shown_in_practice", told)


def _say(setting: SettingFacts, plan: Plan) -> dict[str, object]:
    return {"mask": name_mask(setting), "gives": give_away(setting, plan), "limit": plan.max_risk}


def _measured(riskiest: SettingFacts, safest: SettingFacts, plan: Plan) -> list[Message]:
    first = [Message("verdict_measured", _say(riskiest, plan)), *_warn_of_no_key(riskiest)]
    said = [*first, show_in_practice(riskiest, plan)]
    if safest is riskiest:
        return [*said, Message("no_limit_set")]
    return [*said, Message("safest_gives", mask=name_mask(safest), value=safest.risk.value, high=safest.risk.high)]


def _fails(safest: SettingFacts, plan: Plan) -> list[Message]:
    risk, limit, person = safest.risk, plan.max_risk or 0.0, plan.max_risk_person
    told = _find_worst(safest)
    if risk.high <= limit and person is not None and (safest.person is None or safest.person > person):
        exposed = {"person": safest.person, "person_limit": person}
        first = Message("person_above", exposed, mask=name_mask(safest), value=risk.value, limit=limit)
    elif risk.high <= limit and told is not None:
        above = {"column": told.column, "value": told.value, "high": told.high, "limit": plan.max_inference}
        first = Message("inference_above", above, mask=name_mask(safest), risk=risk.value, risk_limit=limit)
    elif risk.high <= limit and safest.everybody is not None and safest.everybody.high > limit:
        above = {"value": safest.everybody.value, "high": safest.everybody.high, "limit": limit}
        first = Message("everybody_above", above, mask=name_mask(safest), risk=risk.value)
    else:
        first = Message("verdict_fails", _say(safest, plan))
    said = [*_warn_of_no_key(safest), *_warn_of_guessing(safest, plan)]
    return [first, *said, show_in_practice(safest, plan), Message("do_not_release")]


def _warn_of_no_key(setting: SettingFacts) -> list[Message]:
    """Say that everybody can encode as the holder did, where there is no key."""
    return [] if setting.secret else [Message("no_key_names_everybody", mask=name_mask(setting))]


def _find_worst(setting: SettingFacts) -> InferenceFacts | None:
    """Return the sensitive column of which most is told, among those that break their limit."""
    broken = [one for one in setting.inference if one.meets is False and one.high is not None]
    return max(broken, key=lambda one: one.high or 0.0, default=None)


def _warn_of_guessing(setting: SettingFacts, plan: Plan) -> list[Message]:
    """Say of which columns no release can keep the limit, as telling everybody the commonest value breaks it."""
    limit = plan.max_inference
    return [
        Message("limit_below_distribution", column=one.column, share=one.by_distribution, limit=limit)
        for one in setting.inference
        if limit is not None and one.by_distribution > limit
    ]


def say_told(setting: SettingFacts) -> list[Message]:
    """Say what is told of every sensitive column under a setting, beside what anybody can guess."""
    found = []
    for one in setting.inference:
        about = {"column": one.column, "by_distribution": one.by_distribution, "by_labels": one.by_labels}
        if one.value is None:
            found.append(Message("told_not_measured", about, why=one.why))
            continue
        certain = Message("told_for_certain", share=one.certain) if one.certain else None
        groups = Message("told_in_groups", count=one.grouped) if one.grouped else None
        shares = {"value": one.value, "high": one.high, "certain": certain, "groups": groups}
        found.append(Message("told_of_column", about | shares, mask=name_mask(setting)))
    return found


def _unproven(best: SettingFacts, plan: Plan) -> list[Message]:
    return [
        Message("verdict_unproven", _say(best, plan), why=best.open_why),
        show_in_practice(best, plan),
        Message("not_yet"),
    ]


def _meets(best: SettingFacts, settings: Sequence[SettingFacts], plan: Plan) -> list[Message]:
    first = Message("verdict_meets", _say(best, plan))
    said = [first, show_in_practice(best, plan)]
    if plan.max_risk_person is not None:
        said.append(Message("person_kept", person=best.person, person_limit=plan.max_risk_person))
    if plan.max_inference is not None:
        highest = max(one.high or 0.0 for one in best.inference)
        said.append(Message("inference_kept", high=highest, limit=plan.max_inference))
    use = describe(plan.utility, best.usefulness)
    rest = [s for s in settings if s is not best]
    above = sum(_value(s) > (plan.max_risk or 0.0) or (_find_worst(s) is not None and not s.open) for s in rest)
    unshown = sum(s.open for s in rest)
    counts = {mark("others_above"): above, mark("others_unshown"): unshown}
    others = [Message(code, count=count) for code, count in counts.items() if count]
    return [*said, Message("use_and_others", use=use, others=others) if others else Message("phrase", said=use)]


def _warn(status: str, chosen: SettingFacts, plan: Plan, worth: WorthSaying = WORTH_SAYING) -> list[Message]:
    """Say what could not be attacked, was cut short, did not apply or was not asked for, of the setting named."""
    ran = [one for one in chosen.attacks if one.applies]
    lines = []
    if plan.max_risk is not None and worth.means_everybody(plan.max_risk) and plan.max_risk_person is None:
        lines.append(Message("limit_of_the_most_exposed", limit=plan.max_risk))
    if chosen.risk.beaten:
        lines.append(Message("oracle_beaten", attack=chosen.risk.by, value=chosen.risk.value))
    if not ran and chosen.oracle is None:
        lines.append(Message("nothing_known_of_risk"))
    if left := not_asked_for(plan.attacks):
        lines.append(_say_left([one.attack for one in ran], left, known=chosen.oracle is not None))
    if chosen.oracle is None:
        lines += [line for one in ran for line in _doubt_attack(status, one)]
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


def _doubt_attack(status: str, one: AttackRisk) -> list[Message]:
    """Say on how many releases an attack was not carried out, was cut short, or was in doubt."""
    often = {"attack": one.attack, "all": one.releases}
    lines = [] if one.why is None else [Message("attack_remark", attack=one.attack, why=one.why)]
    if one.cut:
        lines.append(Message("attack_cut", often, some=one.cut, why=one.cut_why))
    if one.doubtful and status != FAILS:
        lines.append(Message("attack_doubtful", often, some=one.doubtful))
    return lines


def _call_for_more(status: str, chosen: SettingFacts, plan: Plan) -> list[Message]:
    """Say that more repetitions might turn the verdict."""
    limit, risk = plan.max_risk, chosen.risk
    near = status == UNPROVEN and limit is not None and risk.value <= limit < risk.high
    return [Message("kept_on_average", count=risk.repetitions)] if near else []


def not_asked_for(asked: Sequence[str]) -> list[str]:
    """Return the attacks that an audit could carry out and was not asked to."""
    names = {spec.kind.name for spec in parse_attacks(asked)}
    return [spec.kind.name for spec in parse_attacks(("all",)) if spec.kind.name not in names]
