"""Which attacks exist, what each needs, and how it is built from what the snooper knows.

An attack is a frozen dataclass with ``run(target, known, candidates) -> Claims``. To add one, write its class in a file
of this room and name it in the list of ``attacks/__init__.py``; one of one's own is made known by ``@register_attack``.
The command line, studies, audits and the report take everything they say about it from here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

from disclique.arguments import check_kind, short_repr, show
from disclique.attacks.knowledge import Knowledge, Search
from disclique.errors import InputError, TooLarge, guess_meant
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.specs import parse_spec

ALL = "all"  # stands for every attack that a snooper would carry out


@dataclass(frozen=True)
class Attack:
    """A way to attack a release.

    ``needs`` says to which releases it applies, ``summary`` what it does and ``who`` the same in a few words behind its
    name ("which …"), each in words for people. With
    ``by_agreement`` it rests on ≈ and so on the detection probability α. With ``by_evidence`` it weighs labels that
    differ; to the others a wrong label excludes a pair. What is not ``in_all`` is run only when asked for by name: an
    attack that others outdo, or a yardstick. With ``sees_points`` it is given the masked points themselves. With
    ``by_seeds`` it starts from the pairs that an insider knows (``Knowledge.seeds``) where there are any. With
    ``without_distances`` it also applies to a file that has no distances between its records.
    ``cost`` says how its work grows: 0 it is nothing, 1 like the records, 2 like pairs of them, 3 faster; where several
    are carried out, the cheap ones are first. ``most`` are the records of target and known file up to which it can be
    carried out, where it needs all their distances at once.
    Fields with a default and ``metadata={"spec": True}`` can be set in a spec, such as ``quasi:gamma=0.7``.

    >>> from disclique.attacks import LabelAttack
    >>> LabelAttack.name, str(LabelAttack.needs), LabelAttack.by_agreement
    ('labels', 'labels', False)
    """

    name: ClassVar[str]
    needs: ClassVar[Message | str]
    summary: ClassVar[Message | str]
    who: ClassVar[Message | str] = ""
    by_agreement: ClassVar[bool] = False
    by_evidence: ClassVar[bool] = False
    in_all: ClassVar[bool] = True
    sees_points: ClassVar[bool] = False
    by_seeds: ClassVar[bool] = False
    without_distances: ClassVar[bool] = False
    cost: ClassVar[int] = 3
    most: ClassVar[tuple[int, int] | None] = None

    @classmethod
    def say_needs(cls) -> Message:
        """Say to which releases it applies, in a sentence."""
        return Message("attack_needs", needs=cls.needs)

    def __init_subclass__(cls) -> None:
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = short_repr  # type: ignore[method-assign] # else the dataclass would make a long one

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from what the snooper knows and how much work they spend."""
        raise NotImplementedError

    @property
    def told(self) -> tuple[tuple[int, int], ...]:
        """The pairs (target row, known row) that it was told beforehand: these people it does not find."""
        return ()

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link ``target`` to ``known`` among the candidate pairs."""
        raise NotImplementedError

    def run_from(self, fetch: Fetch, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Do the same with the help of other attacks on the same files, whose claims ``fetch`` returns."""
        return self.run(target, known, candidates)

    def check_size(self, target: Microdata, known: Microdata) -> None:
        """Refuse files without the distances that it needs, or so large that all of one do not fit anywhere."""
        if not self.without_distances and not (target.distances.are_published and known.distances.are_published):
            raise InputError("attack_needs_distances")
        for data, most in zip((target, known), self.most or (), strict=False):
            if len(data) > most:
                raise TooLarge(
                    "too_many_records_for_attack", name=data.name, count=len(data), attack=self.name, most=most
                )


Fetch = Callable[[Attack], Claims]


A = TypeVar("A", bound=type[Attack])
_ATTACKS: dict[str, type[Attack]] = {}


def register_attack(cls: A) -> A:
    """Make an attack of one's own known by its name (a class decorator).

    >>> @register_attack
    ... class Nobody(Attack):
    ...     name, needs, summary = "nobody", "nothing", "Claims nobody."
    >>> _ = _ATTACKS.pop("nobody")
    """
    if not (isinstance(cls, type) and issubclass(cls, Attack)):
        raise InputError("attack_is_no_class", text=show(cls))
    name = getattr(cls, "name", "")
    if not str(name).replace("-", "").isalnum() or name == ALL:
        raise InputError("attack_name_invalid", name=cls.__name__, all=ALL)
    if name in _ATTACKS and _ATTACKS[name].__qualname__ != cls.__qualname__:
        raise InputError("attack_name_taken", name=name, other=_ATTACKS[name].__qualname__)
    _ATTACKS[name] = cls
    return cls


def attacks() -> dict[str, type[Attack]]:
    """Return all attacks and yardsticks by name, in the order in which they were registered.

    >>> str(attacks()["clique"].needs)
    'any distances'
    """
    return dict(_ATTACKS)


def attack_names(*, every: bool = False) -> tuple[str, ...]:
    """Return the names of the attacks that ``all`` stands for, or of every one.

    >>> "register" in attack_names(), "guess" in attack_names(), "guess" in attack_names(every=True)
    (True, False, True)
    """
    check_kind(every, bool, "every", "wanted_truth_value")
    return tuple(name for name, cls in _ATTACKS.items() if every or cls.in_all)


@dataclass(frozen=True)
class AttackSpec:
    """An attack as it is asked for: its name and the parameters that a spec such as ``quasi:gamma=0.7`` sets."""

    spec: str
    kind: type[Attack]
    parameters: tuple[tuple[str, float], ...] = ()

    def build(self, knowledge: Knowledge, search: Search) -> Attack:
        """Build the attack from what the snooper knows."""
        return dataclasses.replace(self.kind.build(knowledge, search), **dict(self.parameters))


def parse_attack(spec: str) -> AttackSpec:
    """Read a spec such as ``clique`` or ``quasi:gamma=0.7``.

    >>> parse_attack("quasi:gamma=0.7").parameters
    (('gamma', 0.7),)
    """
    if not isinstance(spec, str):
        raise InputError("attack_is_no_text", spec=show(spec), known=list(_ATTACKS))
    asked = parse_spec(spec)
    name = asked.name
    cls = _ATTACKS.get(name)
    if cls is None:
        raise InputError(
            "no_such_attack", spec=spec, name=name, known=list(_ATTACKS), meant=guess_meant(name, _ATTACKS)
        )
    settable = {field.name: field for field in dataclasses.fields(cls) if field.metadata.get("spec")}
    given: dict[str, float] = {}
    for part in asked.parameters:
        if part.key not in settable:
            raise InputError("attack_has_no_parameter", spec=spec, name=name, key=part.key)
        given[part.key] = _share(spec, part.key, part.value)
    return AttackSpec(str(spec).strip(), cls, tuple(given.items()))


def _share(spec: str, key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError("attack_value_no_number", spec=spec, text=text) from None
    if not 0 < value <= 1:
        raise InputError("attack_value_outside", spec=spec, key=key)
    return value


def parse_attacks(specs: str | Iterable[str]) -> tuple[AttackSpec, ...]:
    """Read several specs; ``all`` stands for every attack that is ``in_all``."""
    if not isinstance(specs, Iterable):
        raise InputError("attacks_are_no_names", specs=show(specs), known=attack_names(), all=ALL)
    wanted = [specs] if isinstance(specs, str) else list(specs)
    named = [name for spec in wanted for name in (attack_names() if spec == ALL else (spec,))]
    if not named:
        raise InputError("no_attack_chosen", known=attack_names(), all=ALL)
    return tuple(parse_attack(spec) for spec in dict.fromkeys(named))


def build_attacks(specs: Iterable[AttackSpec], knowledge: Knowledge, search: Search) -> dict[str, Attack | InputError]:
    """Build attacks by their specs; in the place of one that needs to know more stands the error that says so.

    >>> built = build_attacks(parse_attacks(["clique", "profiles"]), Knowledge(), Search())
    >>> [isinstance(one, Attack) for one in built.values()]
    [False, True]
    """
    built: dict[str, Attack | InputError] = {}
    for spec in specs:
        try:
            built[spec.spec] = spec.build(knowledge, search)
        except InputError as error:
            built[spec.spec] = error
    return built


def list_attacks() -> str:
    """Return the names for a help text: those that ``all`` stands for, and those that are run only by name."""
    rest = [name for name in attack_names(every=True) if name not in attack_names()]
    return f"{', '.join(attack_names())} or {ALL} of these; by name also {', '.join(rest)}"
