"""What every page is made with: one environment of templates for each language, with the same filters and texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from disclique.errors import MissingDependency
from disclique.locale import Texts, texts_in
from disclique.show.formats import QUANTILES, figure, interval, measured, percent, title_of

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment(language: str = "en", *rooms: str) -> Environment:
    """Return the environment of the templates in the given rooms (``disclique.app``), and in the report's, last.

    Each room has its templates in the folder ``templates``. Everything is escaped; shares are written by the filter
    ``percent``, intervals by ``interval``, other numbers by ``figure``, as the language writes them.

    >>> environment("de").from_string("{{ _('records') }}: {{ 0.123 | percent }}").render().split()
    ['Datensätze:', '12', '%']
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise MissingDependency("pages_need_jinja") from None
    inside = resources.files("disclique")  # a room that is named is not imported
    places = [inside.joinpath(*room.split(".")[1:], "templates") for room in (*rooms, "disclique.show.report")]

    def load(name: str) -> str | None:
        for place in places:
            if (place / name).is_file():
                return (place / name).read_text(encoding="utf-8")
        return None

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(load)
    )
    texts = texts_in(language)
    texts.install(made)
    made.filters |= {
        "percent": partial(percent, language=language),
        "interval": _in(texts, interval),
        "figure": _in(texts, figure),
    }
    made.globals |= {
        "measured": _in(texts, partial(measured, language=language)),
        "title_of": title_of,
        "quantiles": QUANTILES,
    }
    made.tests["match_dial"] = lambda name: str(name).startswith("dial-")
    made.tests["match_groups"] = lambda name: str(name).startswith("groups-")
    return made


def _in(texts: Texts, write: Callable[..., str]) -> Callable[..., str]:
    """Return a function that writes a number as it is written in a language."""

    def written(*of: Any) -> str:
        return texts.number(write(*of))

    return written
