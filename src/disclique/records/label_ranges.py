"""Labels as they are asked for: a range of class widths, of the length of a code, or a label with and without.

Every step of a range only joins classes of the step before, so that along the dial nobody ever becomes easier to tell
apart. Widths are therefore multiples of each other, not merely larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from math import isfinite, log

from disclique.errors import InputError
from disclique.model import Microdata
from disclique.records.generalise import parse_generaliser
from disclique.records.labels import canonical_labels
from disclique.records.recoding import DROP, Recoding, parse_recoding
from disclique.values import canonical

ALL_STEPS = 17  # of a range of labels
FEW_STEPS = 5  # where the dial of a mask is turned too
_SMOOTH = (2, 3, 5)  # factors of the widths between the ends
_WIDEST = 100_000  # as a multiple of the narrowest


def is_dial(spec: str) -> bool:
    """Say whether a generaliser stands for several settings: a range, or a label with and without.

    >>> is_dial("age=width:age:1..40"), is_dial("drop:sex"), is_dial("age=width:age:5")
    (True, True, False)
    """
    return spec.strip().startswith(DROP) or ".." in spec.rpartition(":")[2]


def read_beforehand(specs: Sequence[str]) -> list[str]:
    """Return what is to be done when a file is read: fixed generalisers, and raw values where a range works on them.

    >>> read_beforehand(["cob=century:yob", "ac=width:age:1..40", "age=width:age:1..40", "drop:sex"])
    ['cob=century:yob', 'ac=raw:age']
    """
    found = []
    for spec in specs:
        if not is_dial(spec):
            found.append(spec)
        elif not spec.strip().startswith(DROP):
            into, _, source, _, _ = _parse(spec)
            found += [f"{into}=raw:{source}"] if into != source else []
    return found


def list_label_settings(specs: Sequence[str], most: int = ALL_STEPS) -> tuple[str, ...]:
    """Return every way to recode the labels that generalisers name, each with at most so many steps.

    >>> list_label_settings(["age=width:age:5..20", "drop:sex"])[:3]
    ('age=width:age:5', 'age=width:age:5 | drop:sex', 'age=width:age:10')
    """
    found = []
    for chosen in product(*(_list_steps(spec, most) for spec in specs)):
        parts = [part for part in chosen if part]
        gone = {part.removeprefix(DROP).strip() for part in parts if part.startswith(DROP)}
        kept = tuple(part for part in parts if part.startswith(DROP) or part.partition("=")[0].strip() not in gone)
        found.append(parse_recoding(Recoding(kept).spec).spec)
    return tuple(dict.fromkeys(found))


def check_sources(specs: Sequence[str], data: Microdata) -> None:
    """Raise an error unless every label that is made coarser holds the raw values of a column that is no label itself.

    Of values that are coarse already the audit would show less risk than a release that follows the setting.
    """
    for spec in specs:
        if spec.strip().startswith(DROP):
            continue
        one = parse_generaliser(spec.partition("..")[0])
        if one.source == one.into:
            continue
        if one.source in data.labels.columns:
            raise InputError(
                f"generaliser {spec!r}: {one.source} stays a label as it is, so that a coarser {one.into} protects "
                f"nobody; write {one.source}={spec.partition('=')[2]}"
            )
        if one.source in data.table.columns and one.into in data.labels.columns:
            raw = canonical_labels(data.table, [one.source], data.name)[one.source]
            if list(raw) != list(data.labels[one.into]):
                raise InputError(
                    f"generaliser {spec!r}: {one.into} of {data.name} does not hold the values of {one.source} as they "
                    f"are, from which coarser ones are made; read it with generalise={one.into}=raw:{one.source}"
                )


@lru_cache(maxsize=256)
def _list_steps(spec: str, most: int) -> tuple[str, ...]:
    """Return the steps of one generaliser from fine to coarse; an empty text leaves the label as it is."""
    spec = spec.strip()
    if spec.startswith(DROP):
        return ("", spec)
    if not is_dial(spec):
        parse_generaliser(spec)
        return (spec,)
    into, rule, source, low, high = _parse(spec)
    if rule == "prefix":
        if not (low.is_integer() and high.is_integer()):
            raise InputError(f"generaliser {spec!r}: a code has a whole number of characters")
        lengths = range(int(high), int(low) - 1, -1)
        few = {round(k * (len(lengths) - 1) / (most - 1)) for k in range(most)}
        return tuple(f"{into}=prefix:{source}:{lengths[place]}" for place in sorted(few))
    return tuple(f"{into}=width:{source}:{canonical(width)}" for width in nest_widths(low, high, most))


def _parse(spec: str) -> tuple[str, str, str, float, float]:
    """Return label, rule, source and the two ends of a range, the smaller one first."""
    into, _, rest = spec.strip().partition("=")
    rule, _, tail = rest.partition(":")
    source, _, ends = tail.partition(":")
    try:
        low, high = sorted(float(end) for end in ends.split(".."))
    except ValueError:
        low = high = 0.0
    if not (into and source and low > 0 and isfinite(high) and rule in ("width", "classes", "prefix")):
        raise InputError(
            f"generaliser {spec!r}: a range is written NEW=width:COLUMN:1..40 (the width of classes) or "
            "NEW=prefix:COLUMN:1..5 (characters kept); drop:LABEL tries with and without a label"
        )
    return into.strip(), rule, source.strip(), low, high


def nest_widths(low: float, high: float, most: int = ALL_STEPS) -> list[float]:
    """Return widths from ``low`` to about ``high`` in ratios as even as can be, each a multiple of the one before.

    The last is the largest multiple of the first, up to ``high``, that has the factors 2, 3 and 5 only.

    >>> nest_widths(1, 40), nest_widths(5, 42, most=3)
    ([1.0, 2.0, 10.0, 20.0, 40.0], [5.0, 20.0, 40.0])
    """
    narrow = Fraction(str(low))  # exact, so that 0.3 is a multiple of 0.1
    ratio = Fraction(str(high)) // narrow
    if ratio > _WIDEST:
        raise InputError(f"a range of widths from {low:g} to {high:g}: the widest is at most {_WIDEST} times the other")
    times = next(n for n in range(ratio, 0, -1) if _count_factors(n) is not None)
    steps = min((_count_factors(times) or 0) + 1, most)
    divisors = [n for n in range(1, times + 1) if times % n == 0]

    @cache
    def go_on(place: int, here: int) -> tuple[float, tuple[int, ...]]:
        """Return the cheapest way from a multiple at its place to the last one: cost, and the larger ones if equal."""
        if place == steps - 1:
            return (0.0, ()) if here == times else (float("inf"), ())
        ways = []
        for there in divisors:
            if there > here and there % here == 0:
                cost, rest = go_on(place + 1, there)
                off = log(there) - log(times) * (place + 1) / (steps - 1)
                ways.append((round(cost + off**2, 9), tuple(-n for n in (there, *rest))))
        cost, chosen = min(ways, default=(float("inf"), ()))
        return cost, tuple(-n for n in chosen)

    return [float(narrow * n) for n in (1, *go_on(0, 1)[1])]


def _count_factors(number: int) -> int | None:
    """Count the prime factors of a number made of 2, 3 and 5; None for others."""
    count = 0
    for factor in _SMOOTH:
        while number % factor == 0:
            number, count = number // factor, count + 1
    return count if number == 1 else None
