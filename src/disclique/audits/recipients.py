"""Recipients: who gets a release, what they hold and could do. Ready ones have their sources.

What is said of a recipient are options of an audit (``RECIPIENT_ROWS``). What is not said of what they hold is as by
default, the worst case; what they want and which limits hold for them is as the audit says unless it is said here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from disclique.arguments import show
from disclique.errors import InputError, guess_meant
from disclique.messages import Message, mark
from disclique.options.audits import NO_LABEL, PLAN_ROWS, RECIPIENT_ROWS, AuditOptions
from disclique.options.table import read_toml

BLOCK = "recipient"  # what blocks of a TOML file are called
HELD = tuple(name for name in RECIPIENT_ROWS if name not in PLAN_ROWS)  # what somebody holds and knows
_ABOUT = ("name", "like", "title", "about")  # what is said of a recipient beside options
_NAME = re.compile(r"\w[\w .+-]{0,59}(?<![ .])")  # it is also the name of a folder


@dataclass(frozen=True)
class ReadyRecipient:
    """A recipient by name: who they are, what they do, the source of the scenario, and what is assumed as options."""

    name: str
    title: Message
    about: Message
    source: str
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def assumed(self) -> Message:
        """What is assumed that they know, as a sentence."""
        if "overlap" not in self.given:
            return Message("ready_knows_all")
        error = self.given.get("label_error")
        code = mark("ready_knows_share_with_errors") if error else mark("ready_knows_share")
        return Message(code, share=self.given["overlap"], error=error)


_READY = (
    ReadyRecipient(
        "neighbour",
        Message(mark("recipient_neighbour")),
        Message(mark("recipient_neighbour_about")),
        "Elliot & Dale (1999), Scenarios of attack: the data intruder's perspective on statistical disclosure risk, "
        "Netherlands Official Statistics 14 (the nosy neighbour, who knows that a person took part); ICO, "
        "Anonymisation guidance (the motivated intruder)",
        {"overlap": 0.05, "scenario": "prosecutor"},
    ),
    ReadyRecipient(
        "employer",
        Message(mark("recipient_employer")),
        Message(mark("recipient_employer_about")),
        "Elliot & Dale (1999), Scenarios of attack, Netherlands Official Statistics 14 (response knowledge of a "
        "group); Article 29 Working Party, Opinion 05/2014 on anonymisation techniques (WP216)",
        {"overlap": 0.1, "scenario": "prosecutor"},
    ),
    ReadyRecipient(
        "insurer",
        Message(mark("recipient_insurer")),
        Message(mark("recipient_insurer_about")),
        "El Emam & Dankar (2008), Protecting privacy using k-anonymity, JAMIA 15(5) (an identification database); "
        "Court of Justice of the European Union, C-413/23 P, EDPS v SRB (2025) (the means of the recipient)",
        {"overlap": 0.9, "label_error": 0.02, "scenario": "marketer"},
    ),
    ReadyRecipient(
        "researcher",
        Message(mark("recipient_researcher")),
        Message(mark("recipient_researcher_about")),
        "Paass (1988), Disclosure risk and disclosure avoidance for microdata, Journal of Business & Economic "
        "Statistics 6(4); Elliot & Dale (1999), Scenarios of attack (cross match of two databases)",
        {"overlap": 0.3, "label_error": 0.05, "scenario": "marketer"},
    ),
    ReadyRecipient(
        "everybody",
        Message(mark("recipient_everybody")),
        Message(mark("recipient_everybody_about")),
        "European Medicines Agency, Policy 0070, external guidance on anonymisation (public release: an attempt is "
        "certain); Article 29 Working Party, Opinion 05/2014 (WP216)",
        {"scenario": "prosecutor"},
    ),
)


def list_ready() -> dict[str, ReadyRecipient]:
    """Return the ready recipients by name, from those who know least to the worst case.

    >>> [str(one.title) for one in list_ready().values()][-1]
    'Everybody (a public file)'
    """
    return {one.name: one for one in _READY}


def find_ready(name: str) -> ReadyRecipient:
    """Return a ready recipient by name."""
    ready = list_ready()
    if name not in ready:
        raise InputError("unknown_recipient", name=name, known=list(ready), meant=guess_meant(name, ready))
    return ready[name]


@dataclass(frozen=True, init=False)
class Recipient:
    """Somebody who gets a release.

    Parameters
    ----------
    name : str
        What they are called; also the name of the folder with their result.
    like : str
        A ready recipient of whom all is taken that is not said: neighbour, employer, insurer, researcher, everybody.
    title, about : str
        Who they are, for those who read the result.
    options
        What they hold and know (``known``, ``others``, ``overlap``, ``size``, ``labels``, ``label_error``,
        ``coordinate_error``, ``seeds``, the number of released people whom an insider knows), what they could do
        (``scenario``), and limits of their own (``max_risk``, ``max_risk_person``).

    Examples
    --------
    >>> Recipient("our insurer", like="insurer", overlap=0.5).given
    {'overlap': 0.5, 'label_error': 0.02, 'scenario': 'marketer'}
    """

    name: str
    like: str
    title: Message | None
    about: Message | None
    source: str
    given: Mapping[str, Any]

    def __init__(self, name: str, *, like: str | None = None, title: str = "", about: str = "", **given: Any) -> None:
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise InputError("recipient_name_unfit", name=show(name))
        try:
            strange = sorted(set(given) - set(RECIPIENT_ROWS))
            if strange:
                known = [*_ABOUT, *RECIPIENT_ROWS]
                raise InputError(
                    "unknown_audit_option", option=strange[0], known=known, meant=guess_meant(strange[0], known)
                )
            ready = None if like is None else find_ready(like)
        except InputError as problem:
            raise InputError("problem_of_recipient", name=name, problem=problem) from None
        for key, value in {
            "name": name,
            "like": like or "",
            "title": Message("as_written", said=title) if title else None if ready is None else ready.title,
            "about": Message("as_written", said=about) if about else None if ready is None else ready.about,
            "source": "" if ready is None else ready.source,
            "given": _merge({} if ready is None else ready.given, given),
        }.items():
            object.__setattr__(self, key, value)

    def apply(self, options: AuditOptions) -> AuditOptions:
        """Return the options of an audit for this recipient alone."""
        said = {RECIPIENT_ROWS[name].name: value for name, value in self.given.items()}
        return replace(options, recipient=None, **said)


def _merge(ready: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of somebody who is like a ready recipient; a file of their own is not drawn beside."""
    given = own.get("known") is not None
    kept = {name: value for name, value in ready.items() if not (given and is_drawn(name))}
    found = {**kept, **own}
    if found.get("labels") is not None:
        labels = [found["labels"]] if isinstance(found["labels"], str) else list(found["labels"])
        found["labels"] = labels or [NO_LABEL]
    return found


def is_drawn(name: str) -> bool:
    """Say whether an option belongs to a file that is drawn, not given."""
    return name == "overlap" or RECIPIENT_ROWS[name].goes_with == "overlap"


def parse_recipients(given: object) -> tuple[Recipient, ...]:
    """Return the recipients of an audit: values, or names of ready ones; each once.

    >>> [one.name for one in parse_recipients(["neighbour", Recipient("ministry", seeds=2)])]
    ['neighbour', 'ministry']
    """
    if isinstance(given, (str, Recipient)):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise InputError("not_recipients", given=show(given))
    found = tuple(_parse(one) for one in given)
    if not found:
        raise InputError("no_recipients")
    names = [one.name.casefold() for one in found]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError("recipient_twice", name=found[place].name)
    return found


def _parse(given: object) -> Recipient:
    if isinstance(given, Recipient):
        return given
    if isinstance(given, str):
        return Recipient(find_ready(given).name, like=given)
    raise InputError("not_recipients", given=show(given))


def read_recipients(config: Path | None, named: Sequence[str] = ()) -> tuple[Recipient, ...]:
    """Return the recipients that blocks of a TOML file describe, and ready ones that are named; perhaps none."""
    written = None if config is None else read_toml(config).get(BLOCK)
    if written is None:
        return parse_recipients(named) if named else ()
    try:
        if not isinstance(written, list):
            raise InputError("recipient_not_blocks", block=f"[[{BLOCK}]]")
        return parse_recipients([*(_read_block(one) for one in written), *named])
    except InputError as problem:
        raise InputError("problem_in_file", file=config, problem=problem) from None


def _read_block(block: object) -> Recipient | str:
    """Return the recipient of a block; its options have their names in Python or those of the command line."""
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        raise InputError("recipient_not_blocks", block=f"[[{BLOCK}]]")
    python = {row.name: name for name, row in RECIPIENT_ROWS.items()}
    said = {str(key).replace("-", "_"): value for key, value in block.items()}
    said = {python.get(key, key): value for key, value in said.items()}
    if "name" not in said and "like" not in said:
        raise InputError("recipient_without_name")
    name = said.pop("name", said.get("like"))
    for key in set(_ABOUT) & set(said):
        if not isinstance(said[key], str):
            raise InputError(
                "problem_of_recipient", name=show(name), problem=Message("wants_text", what=key, value=show(said[key]))
            )
    return Recipient(name, **said)


def refuse_beside(held: Collection[str]) -> None:
    """Raise an error if it is said beside recipients what a snooper holds: each recipient holds their own."""
    there = [name for name in RECIPIENT_ROWS if name in HELD and name in held]
    if there:
        raise InputError("snooper_beside_recipients", option=there[0])
