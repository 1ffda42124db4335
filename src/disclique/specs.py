"""Specs as people write them, read in one place: ``name:key=value,key=value`` and ``new=rule:column:argument``.

What names, keys and values mean is the business of whoever asks: masks, attacks, metrics, generalisers, comparators.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A part ``key=value`` of a spec; the value is empty where none was given, and ``text`` is the part as written."""

    key: str
    value: str
    text: str

    @property
    def ends(self) -> tuple[str, ...]:
        """The two ends of a range ``a..b``, or the one value."""
        return tuple(end.strip() for end in self.value.split("..", 1))


@dataclass(frozen=True)
class Spec:
    """A name and its parameters, all of them texts."""

    name: str
    parameters: tuple[Parameter, ...] = ()


def parse_spec(text: str) -> Spec:
    """Split a spec into its name and its parameters; empty parts are passed over.

    >>> parse_spec("donut: min=200m, max=1km..5km").parameters[1].ends
    ('1km', '5km')
    """
    name, _, rest = text.strip().partition(":")
    parts = [part.strip() for part in rest.split(",")]
    pairs = [(*part.partition("=")[::2], part) for part in parts if part]
    return Spec(name.strip(), tuple(Parameter(key.strip(), value.strip(), part) for key, value, part in pairs))


def write_spec(name: str, parameters: dict[str, str]) -> str:
    """Return the text that ``parse_spec`` reads back.

    >>> write_spec("donut", {"min": "200m", "max": "1km"}), write_spec("affine", {})
    ('donut:min=200m,max=1km', 'affine')
    """
    parts = ",".join(f"{key}={value}" for key, value in parameters.items())
    return f"{name}:{parts}" if parts else name


@dataclass(frozen=True)
class Rule:
    """What is done to a column: ``into=rule:rest``, where the rest is ``source`` or ``source:argument``."""

    into: str
    rule: str
    rest: str

    @property
    def source(self) -> str:
        """The first part of the rest: a column to work on, or a value."""
        return self.rest.partition(":")[0]

    @property
    def argument(self) -> str:
        """What stands behind the first part; empty if nothing does."""
        return self.rest.partition(":")[2]


def parse_rule(text: str) -> Rule:
    """Split a rule into the column that it makes, its name and what it is told.

    >>> parse_rule("age=width:years:10").source, parse_rule("age=width:years:10").argument
    ('years', '10')
    """
    into, _, rest = text.partition("=")
    rule, _, told = rest.partition(":")
    return Rule(into, rule, told)
