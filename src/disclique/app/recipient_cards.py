"""Recipients as cards in the form of Ask: who gets the release, what each holds, knows and could do.

A card is what a block ``[[recipient]]`` of the command line's file says. Fields of a card that say what its ready
recipient says anyway are not said again; where one is emptied that cannot be, they are no longer like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData

from disclique.app.beside import Choice, find_file, value_of
from disclique.app.fields import read_value, show_value
from disclique.errors import InputError
from disclique.options.audits import LIMIT, NO_LABEL, RECIPIENT_ROWS, SNOOPER, SNOOPER_ROWS, AuditOptions
from disclique.options.table import FILE, Row

if TYPE_CHECKING:
    from disclique.app.projects import Project
    from disclique.audits.recipients import ReadyRecipient, Recipient

ROWS = {name: row for name, row in RECIPIENT_ROWS.items() if row.hint}  # fields of a card, beside those of _WORDS
# The fields that one snooper has and recipients have each for themselves, by their names in the form.
OF_ONE_SNOOPER = (*(row.name for row in ROWS.values() if SNOOPER in (row.panel, row.place)), "who", "who_shown")
_WORDS = ("like", "name", "title")
_LABELS, _LABELS_SHOWN = "labels", "labels_shown"  # those that they know; and that one could say so
_FIELD = re.compile(r"recipient:(\d{1,3}):(\w+)")
MOST = 20  # cards of one form
OWN = "own"  # a card that is like no ready recipient


@dataclass(frozen=True)
class RecipientCard:
    """One recipient in the form: its number, the texts of its fields by name, and the labels that they know, or all."""

    number: int
    values: Mapping[str, str]
    labels: tuple[str, ...] | None
    ready: ReadyRecipient | None = None

    def name(self, part: str) -> str:
        """Return how a field is called in the form."""
        return f"recipient:{self.number}:{part}"

    @property
    def shown(self) -> str:
        """What the recipient is called."""
        return self.values["name"]

    @property
    def rows(self) -> list[tuple[str, Row]]:
        """The options of a recipient: what they hold and know, what they could do, files, and limits last."""
        return sorted(
            ROWS.items(), key=lambda item: (item[1].place == LIMIT, item[1].kind == FILE, item[0] not in SNOOPER_ROWS)
        )

    @property
    def items(self) -> list[tuple[str, str]]:
        """The fields as a browser sends them."""
        words = [(self.name(part), self.values.get(part, "")) for part in (*_WORDS, *ROWS)]
        if self.labels is None:
            return words
        return [*words, (self.name(_LABELS_SHOWN), "yes"), *((self.name(_LABELS), label) for label in self.labels)]


@dataclass(frozen=True)
class Knowable:
    """What cards can name: labels of the file, and files to choose."""

    labels: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()


NOTHING_KNOWN = Knowable()


def list_ready() -> list[ReadyRecipient]:
    """Return the ready recipients, from those who know least to the worst case."""
    from disclique.audits.recipients import list_ready as ready

    return list(ready().values())


def show_recipients(blocks: Iterable[Mapping[str, Any]], known: Knowable) -> list[RecipientCard]:
    """Return the cards of what is kept of recipients."""
    from disclique.audits.recipients import Recipient

    found = []
    for number, block in enumerate(blocks, 1):
        given = Recipient(**block).given
        labels = given.get("labels")
        told = None if labels is None else tuple(one for one in labels if one != NO_LABEL)
        values = {"like": block.get("like", ""), "name": block["name"], "title": block.get("title", "")}
        values |= {name: _show(name, given.get(name), known) for name in ROWS}
        found.append(_card(number, values, told))
    return found


def _show(name: str, value: Any, known: Knowable) -> str:
    if ROWS[name].is_path and value is not None:
        return value_of(value, list(known.choices)) or ("" if ROWS[name].kind == FILE else str(value))
    return show_value(value)


def cards_in(form: FormData) -> list[RecipientCard]:
    """Return the cards of a form, as it was sent."""
    numbers = sorted({int(one[1]) for one in map(_FIELD.fullmatch, form) if one})
    if len(numbers) > MOST:
        raise InputError("too_many_recipients", most=MOST)
    found = []
    for number in numbers:
        start = f"recipient:{number}:"
        values = {part: str(form.get(start + part, "")).strip() for part in (*_WORDS, *ROWS)}
        # only somebody who was asked can have said that labels are not known
        asked = form.get(start + _LABELS_SHOWN) is not None
        labels = tuple(map(str, form.getlist(start + _LABELS))) if asked else None
        found.append(_card(number, values, labels))
    return found


def _card(number: int, values: Mapping[str, str], labels: tuple[str, ...] | None = None) -> RecipientCard:
    ready = {one.name: one for one in list_ready()}
    return RecipientCard(number, values, labels, ready.get(values["like"]))


def add_card(form: FormData, like: str, known: Knowable) -> FormData:
    """Return the form with one card more: of a ready recipient, or of the snooper whom the form described so far."""
    from disclique.audits.recipients import find_ready

    cards = cards_in(form)
    if len(cards) >= MOST:
        raise InputError("too_many_recipients", most=MOST)
    given = {} if like == OWN else find_ready(like).given
    values = {name: _show(name, given.get(name), known) for name in ROWS}
    if like == OWN and not cards:
        values |= {name: str(form.get(row.name, "")) for name, row in ROWS.items() if row.name in OF_ONE_SNOOPER}
    taken = {card.shown.casefold() for card in cards}
    base = "recipient" if like == OWN else like
    name = next(one for n in range(1, MOST + 2) if (one := base if n == 1 else f"{base} {n}").casefold() not in taken)
    values |= {"like": "" if like == OWN else like, "name": name, "title": ""}
    number = max((card.number for card in cards), default=0) + 1
    rest = [(key, value) for key, value in form.multi_items() if key not in OF_ONE_SNOOPER]
    return FormData([*rest, *_card(number, values).items])


def remove_card(form: FormData, number: str) -> FormData:
    """Return the form without a card."""
    start = f"recipient:{number}:"
    return FormData([(name, value) for name, value in form.multi_items() if not name.startswith(start)])


def read_recipients(form: FormData, known: Knowable) -> tuple[dict[str, Any], ...]:
    """Return what the cards say, as blocks; an error in one sentence if one of them cannot be read."""
    from disclique.audits.recipients import parse_recipients

    found = []
    for card in cards_in(form):
        try:
            found.append(_read(card, known))
        except InputError as problem:
            raise InputError("problem_of_recipient", name=card.shown or "?", problem=problem) from None
    if found:
        parse_recipients([_as_recipient(block) for block in found])
    return tuple(found)


def _read(card: RecipientCard, known: Knowable) -> dict[str, Any]:
    from disclique.audits.recipients import find_ready, is_drawn

    like = card.values["like"]
    ready = find_ready(like).given if like else {}
    own = {name: _read_option(name, card.values[name], known) for name in ROWS}
    if own["known"] is not None:  # a file of their own is not drawn: what the ready one draws goes without a word
        own |= {name: None for name in ROWS if is_drawn(name) and own[name] == ready.get(name, ROWS[name].default)}
        ready = {name: value for name, value in ready.items() if not is_drawn(name)}
    if any(own[name] is None for name in ready):
        like, ready = "", {}
    said = {name: one for name, one in own.items() if one is not None and one != ready.get(name, ROWS[name].default)}
    block: dict[str, Any] = {"name": card.values["name"]}
    if like:
        block["like"] = like
    if card.values["title"]:
        block["title"] = card.values["title"]
    if card.labels is not None and not set(known.labels) <= set(card.labels):
        strange = [one for one in card.labels if one not in known.labels]
        if strange:
            raise InputError("unknown_label_of_recipient", label=strange[0])
        block["labels"] = list(card.labels)
    return block | said


def _read_option(name: str, text: str, known: Knowable) -> Any:
    """Return the value of a field; where nothing was filled in, what holds then."""
    row = ROWS[name]
    if row.is_path and (":" in text or row.kind == FILE):
        return find_file(text, list(known.choices)) if text else None
    found = read_value(row.name, text)
    return row.default if found is None else found


def _as_recipient(block: Mapping[str, Any]) -> Recipient:
    from disclique.audits.recipients import Recipient

    return Recipient(**block)


def list_recipients(project: Project) -> tuple[Recipient, ...]:
    """Return the recipients of a project; none where one snooper is asked about."""
    from disclique.audits.recipients import parse_recipients

    return parse_recipients([_as_recipient(one) for one in project.recipients]) if project.recipients else ()


def check_recipients(project: Project, options: AuditOptions) -> None:
    """Raise an error if what is asked for one of the recipients cannot be a plan, or only some have a limit."""
    from disclique.audits.from_options import read_plan
    from disclique.audits.recipients import refuse_beside
    from disclique.audits.several import check_limits

    refuse_beside([name for name, row in RECIPIENT_ROWS.items() if getattr(options, row.name) != row.default])
    plans = {}
    for one in list_recipients(project):
        try:
            plans[one.name] = read_plan(one.apply(options))
        except InputError as problem:
            raise InputError("problem_of_recipient", name=one.name, problem=problem) from None
    check_limits(plans)


def fields_beside(rows: Sequence[Row]) -> list[Row]:
    """Return those of the fields of one snooper that go for all recipients together."""
    return [row for row in rows if row.name not in OF_ONE_SNOOPER]
