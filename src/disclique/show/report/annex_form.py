"""The sections of the annex that follow a form: the joint anonymisation report of EMA and Health Canada, and WP216.

The words are those of the forms, the figures those of the audit. What was not measured is said to be so; it is never a
small figure.
"""

from __future__ import annotations

from dataclasses import dataclass

from disclique.audits.facts import InferenceFacts, KnownFigures, PeopleRisk, ReleasedFacts, SettingFacts
from disclique.audits.result import AuditResult
from disclique.audits.verdict import name_mask
from disclique.locale import Texts, mark
from disclique.measures.utility import OF_NUMBERS, describe, measures
from disclique.messages import Message
from disclique.records.checks.values import KINDS
from disclique.show.pages import DASH, QUANTILES, figure, measured, percent, tell_asked, title_of
from disclique.show.report.common_parts import compose_sensitivity
from disclique.show.report.document import Block, Cell, Chart, Code, Heading, Items, Paragraph, Said, Table, paragraphs
from disclique.show.report.maps import draw_cells
from disclique.show.report.render import list_what_ran
from disclique.show.report.risk_charts import draw_sensitivity
from disclique.spaces.base import NOTHING
from disclique.values import Json

RELEASE, FILE = "release", "file"  # what figures of other tools are of


@dataclass(frozen=True)
class Reference:
    """The threshold of EMA Policy 0070 and of Health Canada's PRCI, for the most exposed person, and its k."""

    share: float = 0.09
    alike: int = 11


REFERENCE = Reference()
ROLES = {  # of a column, in the words of the form
    "label": mark("quasi-identifier (label)"),
    "number": mark("quasi-identifier (number)"),
    "sensitive": mark("sensitive variable"),
    "plain": mark("other variable"),
}


def _named(result: AuditResult) -> SettingFacts:
    """Return the setting that the verdict names."""
    return result.setting(result.verdict.setting)


def _people(result: AuditResult) -> PeopleRisk | None:
    """Return how risk is spread over people under that setting, if it was measured."""
    return next((one for one in result.people_risk if one.spec == result.verdict.setting), None)


def _figures(result: AuditResult, of: str) -> KnownFigures | None:
    return next((one for one in result.figures if one.of == of), None)


def _released(result: AuditResult) -> ReleasedFacts | None:
    """Return what would be released, if it is said of the setting that the verdict names."""
    found = result.released
    return found if found is not None and found.spec == result.verdict.setting else None


# -- methodology ---------------------------------------------------------------------------------------------------


def compose_methodology(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return whom the holder guards against, as declared, and what was measured and how."""
    say, setting, ran = texts.say, _named(result), list_what_ran(result)
    rows = tuple(_tell_adversary(result, texts).items())
    oracle, plan = setting.oracle, result.plan
    lines: list[Said] = [
        Message("annex_quantitative", mask=name_mask(setting), count=setting.repetitions),
        Message("annex_oracle_asked", count=oracle.draws)
        if oracle is not None
        else Message("annex_oracle_not_asked", why=setting.oracle_why),
        Message("annex_attacks_ran", names=list(ran.busy)) if ran.busy else Message("annex_no_attack_ran"),
        *(Message("annex_attacks_idle", names=names, why=why) for why, names in ran.idle),
    ]
    cut = sorted({one.attack for one in setting.attacks if one.cut})
    if cut:
        lines.append(Message("annex_attacks_cut", names=cut))
    if ran.left:
        lines.append(Message("annex_attacks_left", names=ran.left))
    lines += [Message("annex_released_often", count=plan.releases)] if plan.releases > 1 else []
    return (
        Heading(say("Adversary and scenario, as declared by the data holder")),
        Table("form", rows),
        Heading(say("What was measured, and how")),
        *paragraphs(
            say(
                "The risk is what the release itself gives away. It is found by an oracle that only the data holder "
                "can ask: would this person's record stand out to somebody who knows who all the others are and how "
                "the mask works? The upper end decides. Attacks show how near a real snooper comes."
            )
        ),
        Items(paragraphs(*lines)),
    )


def _tell_adversary(result: AuditResult, texts: Texts) -> dict[str, str]:
    """Return what the holder declared about the snooper; the limits have a section of their own."""
    say, about = texts.say, result.snooper
    share = percent(result.plan.snooper.overlap, texts.language)
    known = {
        "given": say("the known file was given"),
        "whole": say("the whole file (worst case)"),
        "drawn": say("{share} of the released people", share=share),
    }[about.mode]
    common, records = (texts.number(f"{count:.4g}") for count in (about.common, about.known))
    asked, people = tell_asked(result.plan, texts, annex=True), say("{count} people", count=common)
    limits = {say("Largest share of people at risk"), say("Largest risk of the most exposed person")}
    return {
        say("Known to the snooper"): f"{known}: {people}",
        say("Records in the snooper's file"): records,
        **{name: value for name, value in asked.items() if value is not None and name not in limits},
    }


# -- threshold -----------------------------------------------------------------------------------------------------


def compose_threshold(result: AuditResult, texts: Texts, reference: Reference = REFERENCE) -> tuple[Block, ...]:
    """Return the limits that were set, where they come from, and how they stand to the regulators' threshold."""
    say, plan, people = texts.say, result.plan, _people(result)
    none = say("none was set")
    highest: Cell = say("not measured")
    if people is not None:
        highest = Message(
            mark("annex_highest_by_oracle") if people.source == "oracle" else mark("annex_highest_by_attack"),
            share=people.quantiles.get("highest"),
            attack=people.source,
        )
    rows: tuple[tuple[Cell, ...], ...] = (
        (
            say("Largest share of people at risk"),
            none if plan.max_risk is None else percent(plan.max_risk, texts.language),
        ),
        (
            say("Largest risk of the most exposed person"),
            none if plan.max_risk_person is None else percent(plan.max_risk_person, texts.language),
        ),
        (say("Most exposed person, as measured"), highest),
        (
            say("Reference: EMA Policy 0070 and Health Canada PRCI"),
            Message("annex_reference", share=reference.share, alike=reference.alike),
        ),
        (say("Set by"), none if plan.max_risk is None else say("the data holder, for this audit")),
        (say("Reason for this threshold"), None),
    )
    return Table("form", rows), *paragraphs(*_compare_limits(result, reference))


def _compare_limits(result: AuditResult, reference: Reference) -> list[Message]:
    """Say how the limits stand to the threshold of the regulators, which is for the most exposed person."""
    limit, person = result.plan.max_risk, result.plan.max_risk_person
    if limit is None:
        return [Message("annex_no_limit")]
    said = [Message("annex_limit_is_a_mean", limit=limit)]
    if limit > reference.share:
        said.append(Message("annex_limit_above_reference", limit=limit, reference=reference.share))
    if person is None:
        said.append(Message("annex_no_limit_of_a_person", reference=reference.share))
    elif person > reference.share:
        said.append(Message("annex_person_above_reference", limit=person, reference=reference.share))
    else:
        said.append(Message("annex_person_within_reference", limit=person, reference=reference.share))
    return said


# -- variables -----------------------------------------------------------------------------------------------------


def compose_variables(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return every variable, what it is in the words of the form, and what was done to it."""
    say, found = texts.say, _released(result)
    rows: list[tuple[Cell, ...]] = [(say("ids of the records"), say("direct identifier"), say("not released"))]
    if result.file.distances != NOTHING:
        done: Said = name_mask(_named(result))
        if found is not None and found.done:
            done = Message("annex_done", done=found.done)
        kind = Message(KINDS.get(result.file.distances, KINDS["records"]))
        rows.append((kind, say("quasi-identifier (place or distances)"), done))
    rows += _tell_columns(result, texts) if found is None else []
    after: list[Block] = []
    if found is None:
        after += paragraphs(
            say("Columns that are not in this table were not part of the audit. What they would tell is not known."),
            kind="soft",
        )
    else:
        roles = {name: say(title) for name, title in ROLES.items()}
        rows += [(one.name, roles.get(one.role, one.role), one.done) for one in found.columns]
        rows += [(name, say("not needed"), say("not released")) for name in found.dropped]
        if found.left_out:
            after += paragraphs(Message("annex_left_out", count=found.left_out))
        if found.files:
            after += [Heading(say("Files that would be released")), Items(paragraphs(*found.files))]
    head = say("Variable"), say("What it is"), say("What was done")
    return Table("grid", tuple(rows), head), *after


def _tell_columns(result: AuditResult, texts: Texts) -> list[tuple[Cell, ...]]:
    """Return the columns by what the setting does to all of a kind, where nothing is said of each."""
    say, setting = texts.say, _named(result)
    roles = {name: say(title) for name, title in ROLES.items()}
    labels = Message("labels_as_they_are") if setting.labels is None else setting.labels.said
    numbers = say("released as they are") if setting.numbers is None else setting.numbers.said
    found: list[tuple[Cell, ...]] = []
    if result.file.labels:
        found.append((", ".join(result.file.labels), roles["label"], labels))
    if result.file.numbers:
        found.append((", ".join(one.name for one in result.file.numbers), roles["number"], numbers))
    sensitive = [one.column for one in setting.inference]
    found += [(name, roles["sensitive"], say("released as it is")) for name in sensitive]
    return found


# -- residual risk -------------------------------------------------------------------------------------------------


def compose_residual_risk(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return what was measured of the setting that the verdict names, the population, and how sure that is."""
    say, found = texts.say, result.sensitivity
    varied: tuple[Block, ...]
    what = say("If the assumptions are wrong")
    if found is None:
        asked = "" if result.plan.sensitivity else " (--no-sensitivity)"
        unmeasured = say("How the risk depends on what was assumed of the snooper was not measured")
        varied = paragraphs(f"{unmeasured}{asked}.")
    else:
        varied = (
            *paragraphs(*found.findings),
            *_chart("sensitivity", draw_sensitivity(result, texts), what),
            *compose_sensitivity(result, texts),
        )
    return (
        Table("form", tuple(_tell_measured(result, texts))),
        *paragraphs(*(result.who_else or (Message("population_not_known"),))),
        *_compose_known_figures(result, texts),
        Heading(what),
        *varied,
        Heading(say("A further release")),
        *paragraphs(result.again),
        Heading(say("Where the risk lies")),
        *_compose_map(result, texts),
    )


def _tell_measured(result: AuditResult, texts: Texts) -> list[tuple[Cell, ...]]:
    """Return the figures of the setting that the verdict names, by title."""
    setting, say, people = _named(result), texts.say, _people(result)
    risk, oracle = setting.risk, setting.oracle

    def share(of: float | None) -> str:
        return percent(of, texts.language)

    def ends(value: float, high: float) -> str:
        return say("{share}, at most {most}", share=share(value), most=share(high))

    before = _figures(result, FILE)
    initial: Said = say("not measured")
    if before is not None:
        initial = Message("annex_initial_risk", average=before.average_risk, highest=before.highest_risk)
    shown = say("none")
    if risk.found is not None:
        shown = say("{risk} by {attack}", risk=share(risk.found.value), attack=risk.found.attack)
    one = None if setting.everybody is None else (setting.everybody.value, setting.everybody.high)
    rows: list[tuple[Cell, ...]] = [
        (say("Form of the release"), Code(setting.brief or setting.spec)),
        *([] if setting.numbers is None else [(say("Numbers"), setting.numbers.said)]),
        (say("Initial risk: the file as it is, by labels"), initial),
        (say("Residual risk: could be found"), ends(risk.value, risk.high)),
        *([] if one is None else [(say("Of all released records, on a list or not: named or read"), ends(*one))]),
        (say("Shown in practice by an attack"), shown),
        (say("By guessing from labels"), share(setting.guess)),
        (
            say("What the masked data give away (oracle)"),
            say("not modelled") if oracle is None else ends(oracle.value, oracle.high),
        ),
        (say("Repetitions"), str(setting.repetitions)),
    ]
    if people is None:
        return [*rows, (say("Risk of single people"), say("not measured by the oracle"))]
    spread = ", ".join(f"{say(QUANTILES.get(name, name))} {share(value)}" for name, value in people.quantiles.items())
    return [
        *rows,
        (say("Risk of single people"), spread),
        (say("More likely identified than not"), _tell_above_half(people, texts)),
    ]


def _tell_above_half(people: PeopleRisk, texts: Texts) -> str:
    return texts.say("{found} of {all} people", found=people.above_half, all=people.people)


def _compose_map(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return the coarse map, or why there is none."""
    found = result.coarse_map
    if found is None:
        return paragraphs(
            texts.say(
                "There is no map: the file has no places, or fewer than twice {k} people whose risk was measured.",
                k=result.declared.k,
            )
        )
    below = Message("annex_map", k=found.k, spec=found.spec)
    chart = _chart("cells", draw_cells(result, texts), texts.say("Where the risk lies"))
    return *chart, *paragraphs(below, kind="soft")


def _chart(name: str, spec: Json | None, said: str) -> tuple[Chart, ...]:
    return () if spec is None else (Chart(name, spec, said),)


def _compose_known_figures(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return the figures that other tools give, of the file and of the release; nothing where there are none."""
    columns = {of: one for of in (FILE, RELEASE) if (one := _figures(result, of)) is not None}
    if not columns:
        return ()
    say = texts.say
    told = [_tell_figures(one, texts) for one in columns.values()]
    titles = list(dict.fromkeys(title for one in told for title in one))
    heads = {FILE: say("the file as it is"), RELEASE: say("the release")}
    rows = tuple((title, *(one.get(title, DASH) for one in told)) for title in titles)
    head = say("Figure"), *(heads[of] for of in columns)
    return Heading(say("Figures that other tools give")), Table("figures", rows, head)


def _tell_figures(one: KnownFigures, texts: Texts) -> dict[str, str]:
    """Return the figures of one file by title; what was not measured is left out."""
    say, number = texts.say, texts.number
    shares = {
        say("average risk (prosecutor)"): one.average_risk,
        say("highest risk (prosecutor)"): one.highest_risk,
        say("records alone in their class"): one.unique,
        say("records in classes of fewer than five"): one.below,
        say("records alone in the population, estimated"): one.population_unique,
        say("average risk by sampling weights (journalist)"): one.journalist_risk,
        say("records with a spatial k below five"): one.spatial_k_below,
    }
    return {
        say("k-anonymity: the smallest class"): str(one.k),
        **{title: percent(share, texts.language) for title, share in shares.items() if share is not None},
        **({} if one.spatial_k is None else {say("spatial k (median)"): number(figure(one.spatial_k))}),
        **{say("l-diversity of {column}", column=name): str(least) for name, least in one.diversity.items()},
    }


# -- utility -------------------------------------------------------------------------------------------------------


def compose_utility(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return what is left of the data, in words and in figures."""
    setting, plan, unit = _named(result), result.plan, result.file.unit
    known, found = measures(), setting.utility or {}
    names = [name for name in dict.fromkeys((plan.utility, "spearman", OF_NUMBERS)) if found.get(name) is not None]
    if not names:
        return paragraphs(Message("full_sentence", said=describe(plan.utility, None)))
    words = [Message("full_sentence", said=describe(name, found[name])) for name in names]
    if setting.labels is not None:
        words.append(Message("annex_labels_left", share=setting.labels.information))
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys((*names, "published", "displacement_mean", "displacement_median", "displacement_ripley")):
        if (measure := known.get(name)) is not None and found.get(name) is not None:
            title = texts.say(title_of(measure, unit))
            shown = texts.number(measured(found[name], measure, unit, setting.utility_error, texts.language))
            rows.append((title[0].upper() + title[1:], shown))
    return *paragraphs(*words), Table("form", tuple(rows))


# -- the criteria of WP216 -----------------------------------------------------------------------------------------


def compose_criteria(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return singling out, linkability and inference, each with its figure and what it is to be compared with."""
    say, setting = texts.say, _named(result)
    labels = percent(setting.guess, texts.language)
    risk = Message("annex_linked", share=setting.risk.value, high=setting.risk.high)
    if setting.oracle is None:
        risk = Message("annex_linked_without_oracle", share=setting.risk.value, high=setting.risk.high)
    rows: list[tuple[Cell, ...]] = [
        (
            say("Singling out"),
            say("Can a record be isolated?"),
            Message("annex_together", said=_tell_singled_out(result)),
            _compare_singled_out(result, texts),
        ),
        (
            say("Linkability"),
            say("Can a released record be linked to a person in another file?"),
            risk,
            say("by guessing from labels: {share}", share=labels),
        ),
        *(_tell_inference(one, texts) for one in setting.inference),
    ]
    if not setting.inference:
        rows.append((say("Inference"), _ask_inference(texts), Message("annex_inference_not_asked"), DASH))
    head = say("Criterion"), say("Question"), say("Figure"), say("For comparison")
    source = say("Article 29 Working Party, Opinion 05/2014 on anonymisation techniques (WP216).")
    return Table("grid", tuple(rows), head), Paragraph((source, Message("annex_criteria_read")), kind="soft")


def _tell_singled_out(result: AuditResult) -> list[Message]:
    """Say who stands out: by labels, in the population, and by all that is released."""
    people, figures = _people(result), _figures(result, RELEASE)
    said = []
    if people is None:
        said.append(Message("annex_singled_out_not_measured"))
    else:
        code = mark("annex_stand_out") if people.source == "oracle" else mark("annex_stand_out_by_attack")
        said.append(Message(code, some=people.above_half, all=people.people, attack=people.source))
    if figures is not None:
        said.append(Message("annex_alone_in_class", share=figures.unique))
        if figures.population_unique is not None:
            said.append(Message("annex_alone_in_population", share=figures.population_unique))
    return said


def _compare_singled_out(result: AuditResult, texts: Texts) -> str:
    before = _figures(result, FILE)
    if before is None:
        return DASH
    return texts.say("the file as it is: {share} alone in their class", share=percent(before.unique, texts.language))


def _ask_inference(texts: Texts) -> str:
    return texts.say("Can the value of a sensitive column be told of a person?")


def _tell_inference(one: InferenceFacts, texts: Texts) -> tuple[Cell, ...]:
    """Return the row of one sensitive column."""
    say = texts.say
    figure_: Said = Message("annex_inference_not_measured", why=one.why)
    if one.value is not None and one.high is not None:
        figure_ = Message(
            "annex_inferred", share=one.value, high=one.high, certain=_tell_certain(one), kept=_tell_kept(one)
        )
    guessed, labelled = (percent(share, texts.language) for share in (one.by_distribution, one.by_labels))
    compared = say("by its distribution: {guessed}; by labels: {labelled}", guessed=guessed, labelled=labelled)
    return say("Inference: {column}", column=one.column), _ask_inference(texts), figure_, compared


def _tell_kept(one: InferenceFacts) -> Message | None:
    if one.meets is None:
        return None
    return Message(mark("annex_inference_kept") if one.meets else mark("annex_inference_not_kept"))


def _tell_certain(one: InferenceFacts) -> Message | None:
    return None if one.certain is None else Message("annex_inferred_for_certain", share=one.certain)
