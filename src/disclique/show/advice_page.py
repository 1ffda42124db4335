"""The page of an advice: what to release, what else would do, what each step buys; from advice.json alone."""

from __future__ import annotations

from importlib import resources

from disclique.advice.facts import Advice
from disclique.arguments import check_kind
from disclique.locale import mark
from disclique.messages import Message
from disclique.show.pages import environment

STATUS = {  # what stands above the answer: never a tick on what was not shown to keep the limit
    "found": mark("✔ This release keeps the limit"),
    "none": mark("✖ Nothing useful keeps the limit"),
}
HELD = {
    "meets": mark("keeps the limit"),
    "unproven": mark("not shown to keep the limit"),
    "fails": mark("does not keep the limit"),
}


def advice_page(advice: Advice, *, language: str = "en") -> str:
    """Return the page of an advice as one HTML file that needs no network and runs no script.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:30], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> advice = dq.advise(people, 0.6, masks="grid:cell=90km..900km", attacks="labels", repetitions=2)
    >>> "under a limit of 60" in advice_page(advice)
    True
    """
    check_kind(advice, Advice, "advice", "wanted_advice")
    styles = resources.files("disclique.show.report") / "templates"
    css = "".join((styles / name).read_text(encoding="utf-8") for name in ("report.css", "advice.css"))
    best = advice.best
    return str(
        environment(language)
        .get_template("advice.html.jinja")
        .render(
            advice=advice,
            best=best,
            others=[one for one in advice.releases if one is not best],
            status=STATUS[advice.status],
            held=HELD,
            Message=Message,
            language=language,
            css=css,
        )
    )
