"""The registry of masks, and how a spec such as ``gaussian:sigma=500m`` becomes one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

from disclique.arguments import show
from disclique.errors import InputError, guess_meant
from disclique.masks.base import Mask, km_of, list_parameters, spec_name
from disclique.spaces.base import Distances
from disclique.specs import Parameter, parse_spec, write_spec
from disclique.units import KM, parse_quantity

_MASKS: dict[str, type[Mask]] = {}
M = TypeVar("M", bound=type[Mask])


def register_mask(cls: M) -> M:
    """Make a mask known to ``parse_mask`` under its name; a decorator, it returns the class.

    >>> from dataclasses import dataclass
    >>> from disclique.masks.base import EntryMask
    >>> @register_mask
    ... @dataclass(frozen=True)
    ... class Doubled(EntryMask):
    ...     name, reference = "doubled", "an example"
    ...
    ...     def perturbed(self, d, rng, unit):
    ...         return 2 * d
    >>> parse_mask("doubled")
    Doubled()
    >>> del _MASKS["doubled"]  # an example only
    """
    if not (isinstance(cls, type) and issubclass(cls, Mask)):
        raise InputError("not_a_mask_class", cls=show(cls))
    name = getattr(cls, "name", None)
    if not name or not str(name).replace("-", "").isalnum():
        raise InputError("mask_without_name", kind=cls.__name__)
    if name in _MASKS and _MASKS[name].__qualname__ != cls.__qualname__:
        raise InputError("mask_name_taken", name=name, other=_MASKS[name].__qualname__)
    _MASKS[str(name)] = cls
    return cls


def masks() -> dict[str, type[Mask]]:
    """Return all masks that exist, by name."""
    return dict(sorted(_MASKS.items()))


def parse_mask(spec: str) -> Mask:
    """Return the mask that a spec names.

    >>> parse_mask("donut:min=200m,max=1km").max
    Quantity(value=1.0, unit='km')
    """
    if not isinstance(spec, str):
        raise InputError("mask_not_a_spec", spec=show(spec))
    asked = parse_spec(spec)
    cls = _MASKS.get(asked.name.lower())
    if cls is None:
        raise InputError(
            "no_such_mask", spec=spec, name=asked.name, masks=list(masks()), meant=guess_meant(asked.name, masks())
        )
    given = _parameters(spec, asked.parameters, cls)
    try:
        return cls(**given)
    except InputError as problem:
        raise InputError("mask_spec_wrong", spec=spec, problem=problem) from None


def name_units(spec: str, distances: Distances) -> str:
    """Return a spec, perhaps with a range ``a..b``, with km behind its bare lengths, as ``Mask.in_unit_of`` puts them.

    >>> from disclique.spaces import Matrix
    >>> name_units("round:to=1..5", Matrix([[0, 7], [7, 0]], unit="km"))
    'round:to=1km..5km'
    """
    if distances.unit != KM or distances.points() is not None or not bare_lengths(spec):
        return spec
    mask, bar, rest = spec.partition("|")
    asked = parse_spec(mask)
    ends = {one.key: [f"{end}{unit}" for end, unit in _units(asked.name, one)] for one in asked.parameters}
    named = write_spec(asked.name, {key: "..".join(both) for key, both in ends.items()})
    return f"{named} {bar}{rest}" if bar else named


def bare_lengths(spec: str) -> list[str]:
    """Return the lengths and rates of a spec, perhaps with a range, that are given without a unit.

    >>> bare_lengths("donut:min=200m,max=1..5")
    ['1', '5']
    """
    asked = parse_spec(str(spec).partition("|")[0])
    return [end for one in asked.parameters for end, unit in _units(asked.name, one) if unit]


def refuse_bare(unit: str | None, specs: Iterable[str]) -> None:
    """Refuse a mask with a bare length beside --unit m: metres become kilometres, and it could be meant in either."""
    for spec in specs if unit == "m" else ():
        for bare in bare_lengths(spec):
            raise InputError("mask_length_without_unit", spec=spec, bare=bare)


def find_ends(name: str, parameter: Parameter) -> tuple[str, ...]:
    """Return the two ends of a range ``a..b``, or the one value; a text such as ``../districts.gpkg`` is no range."""
    cls = _MASKS.get(name.lower())
    fields = () if cls is None else dataclasses.fields(cls)
    is_text = any(spec_name(one.name) == parameter.key and one.metadata.get("text") for one in fields)
    return (parameter.value,) if is_text else parameter.ends


def _units(name: str, parameter: Parameter) -> list[tuple[str, str]]:
    """Return the ends of a parameter of a mask, each with the unit in km that it lacks, empty if it lacks none."""
    cls = _MASKS.get(name.lower())
    lengths = {spec_name(one.name): km_of(one) for one in (() if cls is None else dataclasses.fields(cls))}
    return [(end, lengths.get(parameter.key, "") if _is_bare(end) else "") for end in find_ends(name, parameter)]


def _is_bare(text: str) -> bool:
    try:
        return bool(parse_quantity(text, units=("",)))
    except InputError:
        return False


def usage(cls: type[Mask]) -> str:
    """Return the form of a mask's spec: ``donut:min=…,max=…``, parameters with a default in brackets."""
    parts = []
    for parameter in list_parameters(cls):
        default = parameter.default
        shown = f"{spec_name(parameter.name)}=…"
        parts.append(
            shown if default is dataclasses.MISSING else f"[{spec_name(parameter.name)}={str(default) or '…'}]"
        )
    return f"{cls.name}:{','.join(parts)}" if parts else cls.name


def usages() -> str:
    """Return the forms of all specs, as a help text lists them.

    >>> "disc:max=…; donut:min=…,max=…" in usages()
    True
    """
    return "; ".join(usage(cls) for cls in masks().values())


def _parameters(spec: str, parameters: Iterable[Parameter], cls: type[Mask]) -> dict[str, Any]:
    known = {spec_name(parameter.name): parameter for parameter in dataclasses.fields(cls)}
    given: dict[str, Any] = {}
    for part in parameters:
        key, value = part.key, part.value
        if not value and cls.leading is not None and key not in known:
            key, value = cls.leading, key
        if not value:
            raise InputError("mask_parameter_malformed", spec=spec, text=part.text, form=usage(cls))
        if key not in known:
            if not known:
                raise InputError("mask_takes_no_parameters", spec=spec, name=cls.name, key=key, value=value)
            raise InputError(
                "mask_parameter_unknown", spec=spec, name=cls.name, key=key, value=value, known=list(known)
            )
        if known[key].name in given:
            raise InputError("mask_parameter_twice", spec=spec, key=key)
        given[known[key].name] = value
    absent = [k for k, p in known.items() if p.default is dataclasses.MISSING and p.name not in given]
    if absent:
        raise InputError("mask_parameter_missing", spec=spec, absent=absent, form=usage(cls))
    return given
