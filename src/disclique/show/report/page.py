"""What the pages have in common: templates, the chart library inside the page, and scripts that cannot be left."""

from __future__ import annotations

import json
from functools import partial
from importlib import resources
from typing import Any

from disclique.audits.facts import FAILS, MEASURED, MEETS, UNPROVEN, FileFacts
from disclique.locale import mark, texts_in
from disclique.messages import Message
from disclique.show.pages import chart_library, environment
from disclique.show.report.risk_charts import say_source
from disclique.spaces.base import NOTHING

STATUS = {  # what stands above the verdict: never a tick on a limit that is not shown to be kept
    MEETS: mark("✔ A release that keeps the limit was found"),
    UNPROVEN: mark("▲ No release is shown to keep the limit"),
    FAILS: mark("✖ No release tried keeps the limit"),
    MEASURED: mark("◆ Risk measured, no limit set"),
}
MEANINGS = {  # what the risk of a release is
    mark("prosecutor"): mark(
        "the share of the people known to have taken part whose most probable record is the right one: the prosecutor "
        "knows that somebody took part and names a record, whatever the odds"
    ),
    mark("journalist"): mark(
        "the share of the known people whose record is claimed rightly, as more probable than not: the journalist "
        "wants to show somebody for certain"
    ),
    mark("marketer"): mark(
        "the share of the known people who took part and are named for their own record: the marketer names the most "
        "probable person for every record"
    ),
}

NUMBERS = {  # how the chart library writes numbers, where not as in English
    "de": {
        "decimal": ",",
        "thousands": "\u202f",
        "grouping": [3],
        "currency": ["", "\u00a0€"],
        "percent": "\u00a0%",
    },
}


def render(name: str, language: str, library: str | None, **content: Any) -> str:
    """Render a page by its template in a language, with styles and scripts inside; ``library`` if made before."""
    drawn, texts = content["charts"], texts_in(language)
    return str(
        environment(language)
        .get_template(f"{name}.html.jinja")
        .render(
            **content,
            Message=Message,
            source=partial(say_source, texts=texts),
            alone=content["result"].file.distances == NOTHING,
            numbers_of_file=name_numbers(content["result"].file),
            specs=_script_json(drawn),
            numbers=json.dumps(NUMBERS[language]) if language in NUMBERS else "",
            css=read_style("report.css") + (read_style("annex.css") if name == "annex" else ""),
            **dict(zip(("bundle", "js"), list_scripts(library), strict=True)),
        )
    )


def name_numbers(file: FileFacts) -> str:
    """Write the columns of numbers, with the unit of those that are lengths."""
    return ", ".join(f"{one.name} ({one.unit})" if one.unit else one.name for one in file.numbers)


def list_scripts(library: str | None = None) -> tuple[str, str]:
    """Return the scripts of every page, as they stand in it: the chart library, and how the page uses it."""
    return library or chart_library(), read_style("report.js")


def _script_json(content: Any) -> str:
    """JSON that cannot end the script element in which it stands."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def read_style(name: str) -> str:
    """Return a style, or a script, of the pages."""
    return (resources.files("disclique.show.report") / "templates" / name).read_text(encoding="utf-8")
