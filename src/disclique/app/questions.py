"""The form of Ask: what it shows of a project, and the project that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from disclique.app.beside import Choice, find_file, value_of
from disclique.app.cards import Card, list_cards, spec_of, split_spec
from disclique.app.fields import (
    ASK_FIELDS,
    ASK_SWITCHES,
    LAYOUT,
    SNOOPER_FILES,
    read_lines,
    read_value,
    show_value,
    with_point,
)
from disclique.app.looks import Seen
from disclique.app.number_lines import NumberLine, begin, join_parts, list_lines, show_lines, split_parts
from disclique.app.number_lines import read_lines as read_number_lines
from disclique.app.projects import AUDIT, Project
from disclique.app.recipient_cards import (
    NOTHING_KNOWN,
    Knowable,
    cards_in,
    check_recipients,
    read_recipients,
    show_recipients,
)
from disclique.app.snoopers import OWN, ReadySnooper, list_ready, ready_options, which
from disclique.errors import InputError
from disclique.locale import mark
from disclique.options.audits import AUDIT_ROWS
from disclique.options.table import FILE, LINES, SWITCH
from disclique.specs import parse_rule

if TYPE_CHECKING:
    from starlette.datastructures import FormData

SINGLE = tuple(name for name, row in ASK_FIELDS.items() if row.kind not in (LINES, SWITCH, FILE))
TURNED = 100  # labels with a dial of their own
DROP, CLASSES, CHARACTERS = "drop", "width", "prefix"
AS_THEY_ARE = "none"  # the mask of a file that has no distances
# What can be done to a label, each with its name.
HOW = (
    ("", mark("leave it as it is")),
    (DROP, mark("try with and without it")),
    (CLASSES, mark("classes of a width, from … to …")),
    (CHARACTERS, mark("the first characters, from … to …")),
)
# What is declared for the annex, each with its title.
DECISION = (
    ("author", mark("Author")),
    ("holder", mark("Data holder")),
    ("purpose", mark("Purpose of the release")),
    ("recipients", mark("Recipients")),
    ("basis", mark("Legal or contractual basis")),
    ("date", mark("Date")),
)
CELL = "k"  # declared beside them: how many people are in every cell of the map
DECLARED = (*(name for name, _ in DECISION), CELL)


@dataclass(frozen=True)
class Questions:
    """What the form of Ask can offer for a file: cards of masks, ready snoopers, labels, files to choose, numbers.

    ``alone`` says that labels and numbers are all that the file has: there are no distances to be masked. ``known`` is
    what recipients may be said to know.
    """

    cards: tuple[Card, ...]
    ready: tuple[ReadySnooper, ...]
    labels: tuple[str, ...]
    choices: tuple[Choice, ...]
    lines: tuple[NumberLine, ...] = ()
    alone: bool = False
    known: Knowable = NOTHING_KNOWN


def offer(project: Project, seen: Seen, choices: list[Choice]) -> Questions:
    """Return what the form offers for an opened file."""
    from disclique.spaces.base import EARTH, MAPS, NOTHING

    places = seen.kind in (*MAPS, "vectors")
    cards = list_cards(seen, places=places)
    ready = list_ready(seen.records, places=seen.kind in MAPS, earth=seen.kind == EARTH)
    labels, lines = tuple(project.said.get("label", [])), list_lines(seen.files)[:TURNED]
    known = Knowable(labels, tuple(choices))
    return Questions(tuple(cards), tuple(ready), labels[:TURNED], tuple(choices), lines, seen.kind == NOTHING, known)


def show_questions(project: Project, offered: Questions, folder: str) -> dict[str, Any]:
    """Return the values that the form shows for a project, by field."""
    said = project.said
    values: dict[str, Any] = {name: show_value(said.get(name)) for name in SINGLE}
    values |= {name: bool(said.get(name, AUDIT_ROWS[name].default)) for name in ASK_SWITCHES}
    values |= {name: value_of(said.get(name), list(offered.choices)) for name in SNOOPER_FILES}
    if (others := said.get("others")) is not None:
        values["others"] = value_of(others, list(offered.choices)) or str(others)
    values |= _show_masks_and_numbers(list(said.get("mask", [])), offered)
    values |= _show_labels(_dials(project), offered.labels)
    values["attack"] = list(said.get("attack", []))
    values |= {f"decision:{name}": show_value(project.declared.get(name)) for name in DECLARED}
    values["who"] = values["who_shown"] = which(said, list(offered.ready))
    values["folder"] = folder
    values["recipients"] = show_recipients(project.recipients, offered.known)
    return values


def show_again(form: FormData, offered: Questions) -> dict[str, Any]:
    """Return the values that the form shows after it could not be read: those that it has."""
    values: dict[str, Any] = {name: str(value) for name, value in form.items()}
    values |= {name: bool(form.get(name)) for name in ASK_SWITCHES}
    values |= {"mask": list(map(str, form.getlist("mask"))), "attack": list(map(str, form.getlist("attack")))}
    wanted = [*SINGLE, *SNOOPER_FILES, "who", "who_shown", "folder", "more_masks", "more_rules"]
    wanted += [f"decision:{name}" for name in DECLARED]
    wanted += [f"dial:{card.name}:{dial.name}:{end}" for card in offered.cards for dial in card.dials for end in "ab"]
    wanted += [f"{part}:{label}" for part in ("how", "from", "to") for label in offered.labels]
    wanted += [line.field(part) for part in ("how", "a", "b") for line in offered.lines]
    return dict.fromkeys(wanted, "") | values | {"recipients": cards_in(form)}


def _show_masks_and_numbers(specs: list[str], offered: Questions) -> dict[str, Any]:
    """Return the fields of cards and of numbers; where nothing was asked yet, what is proposed."""
    bare, parts = split_parts(specs, offered.lines)
    if not specs:
        bare, parts = [AS_THEY_ARE] * offered.alone, begin(offered.lines, alone=offered.alone)
    return _show_masks(bare, offered.cards) | show_lines(parts, offered.lines)[0]


def _show_masks(specs: list[str], cards: tuple[Card, ...]) -> dict[str, Any]:
    """Return the fields of the cards; what no card can show stands among the other masks, as it is written."""
    chosen, rest = _sort_masks(specs, cards)
    found: dict[str, Any] = {"mask": list(chosen), "more_masks": "\n".join(rest)}
    for card in cards:
        for dial in card.dials:
            low, high = dial.low, dial.high
            if card.name in chosen:
                low, high = split_spec(chosen[card.name])[1].get(dial.name, (dial.default, ""))
            found[f"dial:{card.name}:{dial.name}:a"], found[f"dial:{card.name}:{dial.name}:b"] = low, high
    return found


def _sort_masks(specs: list[str], cards: tuple[Card, ...]) -> tuple[dict[str, str], list[str]]:
    """Return the specs that cards show, in their order, and the others: each card one, and only if it says the same."""
    found: dict[str, str] = {}
    for card in cards:
        dials = {dial.name: dial for dial in card.dials}
        for spec in specs:
            name, values = split_spec(spec)
            told = {key: value for key, value in values.items() if key in dials and value != (dials[key].default, "")}
            if name == card.name and spec == spec_of(name, {key: told[key] for key in dials if key in told}):
                found[name] = spec
                break
    rest = list(specs)
    for spec in found.values():
        rest.remove(spec)
    return found, rest


def _show_labels(rules: list[str], labels: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {f"{part}:{label}": "" for part in ("how", "from", "to") for label in labels}
    rest = []
    for rule in rules:
        label, how, ends = _split_rule(rule)
        if label in labels and how and not found[f"how:{label}"]:
            found[f"how:{label}"] = how
            found[f"from:{label}"], found[f"to:{label}"] = ends
        else:
            rest.append(rule)
    return {**found, "more_rules": "\n".join(rest)}


def _split_rule(rule: str) -> tuple[str, str, tuple[str, str]]:
    """Return label, what is done to it and the ends of a range, of a rule that the form can show; else no label."""
    if rule.startswith(f"{DROP}:"):
        return rule.removeprefix(f"{DROP}:"), DROP, ("", "")
    asked = parse_rule(rule)
    if asked.rule not in (CLASSES, CHARACTERS) or asked.into != asked.source:
        return "", "", ("", "")
    low, _, high = asked.argument.partition("..")
    return asked.into, asked.rule, (low, high)


def _dials(project: Project, *, dial: bool = True) -> list[str]:
    """Return the rules that try several ways to make labels coarser, or those that do not."""
    from disclique.records.coarsening import is_dial

    return [rule for rule in project.said.get("generalise", []) if is_dial(rule) == dial]


def read_questions(project: Project, form: FormData, offered: Questions) -> Project:
    """Return the project that the form asks for; an error in one sentence if it cannot be read."""
    said: dict[str, Any] = {name: _one(name, form, offered) for name in SINGLE}
    for name in ASK_SWITCHES:
        said[name] = bool(form.get(name))
    for name in SNOOPER_FILES:
        value = str(form.get(name, ""))
        said[name] = find_file(value, list(offered.choices)) if value else None
    who = str(form.get("who", OWN))
    if who != str(form.get("who_shown", who)):
        said |= ready_options(who, offered.ready)
    parts = read_number_lines(form, offered.lines)
    said["mask"] = [join_parts(spec, parts) for spec in _read_masks(form, offered.cards)]
    said["attack"] = list(map(str, form.getlist("attack")))
    said = {name: value for name, value in said.items() if value != AUDIT_ROWS[name].default}
    layout = {name: value for name, value in project.said.items() if name in LAYOUT and name != "generalise"}
    made = replace(project, said=layout).with_said(
        generalise=[*_dials(project, dial=False), *_read_labels(form, offered.labels)]
    )
    forced = bool(form.get("forced"))
    said["accept"] = project.said.get("accept") if forced else None
    made = replace(made.with_said(**said), declared=_read_decision(form), forced=forced, way=AUDIT, purpose=())
    made = replace(made, recipients=read_recipients(form, offered.known))
    check_plan(made)
    return made


def check_plan(project: Project) -> None:
    """Raise an error if what is asked cannot be a plan; a plan without a mask is one that is not finished."""
    from disclique.audits.facts import declare
    from disclique.audits.from_options import read_plan
    from disclique.records.coarsening import list_label_settings

    options = project.options.filled()
    declare(project.declared)
    list_label_settings(_dials(project))
    if options.memory is not None:
        from disclique.memory import parse_memory

        parse_memory(options.memory)
    unfinished: dict[str, Any] = {} if options.mask else {"mask": ["affine"]}
    whole = replace(options, **unfinished)
    read_plan(whole)
    if project.recipients:
        check_recipients(project, whole)


def _one(name: str, form: FormData, offered: Questions) -> Any:
    text = str(form.get(name, ""))
    if name == "others" and ":" in text:
        return find_file(text, list(offered.choices))
    found = read_value(name, text)
    if isinstance(found, float) and found == ASK_FIELDS[name].default:
        return ASK_FIELDS[name].default
    return found


def _read_masks(form: FormData, cards: tuple[Card, ...]) -> list[str]:
    chosen = list(map(str, form.getlist("mask")))
    found = []
    for name in chosen:
        card = next((card for card in cards if card.name == name), None)
        if card is None:
            raise InputError("no_such_mask_card", mask=name)
        values = {}
        for dial in card.dials:
            ends = (str(form.get(f"dial:{name}:{dial.name}:{end}", "")).strip() for end in "ab")
            low, high = map(with_point, ends)
            if dial.needed or high or low != dial.default:
                values[dial.name] = (low, high)
        found.append(spec_of(name, values))
    shown, rest = _sort_masks([*found, *read_lines(str(form.get("more_masks", "")))], cards)
    return [*shown.values(), *rest]  # in an order that stays when the form is shown and sent again


def _read_labels(form: FormData, labels: tuple[str, ...]) -> list[str]:
    found = []
    for label in labels:
        how, low, high = (with_point(str(form.get(f"{part}:{label}", "")).strip()) for part in ("how", "from", "to"))
        if how == DROP:
            found.append(f"{DROP}:{label}")
        elif how in (CLASSES, CHARACTERS):
            if not (low and high):
                raise InputError("label_range_open", label=label)
            found.append(f"{label}={how}:{label}:{low}..{high}")
        elif how:
            raise InputError("no_such_coarsening", label=label, how=how)
        elif low or high:
            raise InputError("label_values_for_what", label=label, value=low or high)
    from disclique.records.coarsening import is_dial

    rules = read_lines(str(form.get("more_rules", "")))
    for rule in rules:
        if not is_dial(rule):
            raise InputError("rule_without_range", rule=rule)
    return [*found, *rules]


def read_label_rules(project: Project, form: FormData) -> list[str]:
    """Return the rules by which the form tries labels in several ways."""
    return _read_labels(form, tuple(project.said.get("label", []))[:TURNED])


def _read_decision(form: FormData) -> dict[str, Any]:
    from disclique.audits.facts import Declaration

    found: dict[str, Any] = {}
    for about in fields(Declaration):
        text = str(form.get(f"decision:{about.name}", "")).strip()
        if text and about.name == "k":
            if not (text.isascii() and text.isdigit() and len(text) < 10):
                raise InputError("k_not_whole", text=text)
            found["k"] = int(text)
        elif text:
            found[about.name] = " ".join(text.split())
    return found


def explain_choices(alone: bool = False) -> Mapping[str, Any]:
    """Return the choices that come from registries, with what each is: measures of usefulness, and attacks.

    For numbers ``alone`` those that mean something without distances.
    """
    from disclique.attacks.registry import attack_names, attacks
    from disclique.measures.utility import measures, rankings

    known = attacks()
    return {
        "utilities": [
            (name, measures()[name].heading) for name in rankings() if not alone or measures()[name].of_numbers
        ],
        "attacks": [
            (name, known[name].summary)
            for name in attack_names(every=True)
            if not known[name].sees_points and (not alone or known[name].without_distances)
        ],
    }
