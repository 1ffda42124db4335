"""The page of several recipients: what may be given to all, who they are, and what every release gives to each."""

from __future__ import annotations

from disclique.arguments import check_kind
from disclique.audits.facts import FAILS, MEASURED, MEETS, UNPROVEN
from disclique.audits.recipient_facts import RecipientsFacts
from disclique.audits.result import REPORT
from disclique.locale import mark, texts_in
from disclique.show.pages import environment
from disclique.show.report.page import MEANINGS, STATUS, read_style

EVERYBODY = {  # what stands above the verdict on a release to all
    MEETS: mark("✔ A release that keeps the limits of every recipient was found"),
    UNPROVEN: mark("▲ No release is shown to keep the limits of every recipient"),
    FAILS: mark("✖ No release tried keeps the limits of every recipient"),
    MEASURED: mark("◆ Risk measured for every recipient, no limit set"),
}
SIGNS = {MEETS: mark("✔ kept"), UNPROVEN: mark("▲ not shown"), FAILS: mark("✖ broken"), MEASURED: mark("◆ measured")}


def recipients_page(facts: RecipientsFacts, *, language: str = "en") -> str:
    """Render the page of several recipients as HTML that needs no network, in English or German.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> made = dq.audit(people, "affine", recipients=["neighbour"], attacks="labels", repetitions=1)
    >>> "Ein Nachbar" in dq.recipients_page(made, language="de")
    True
    """
    check_kind(facts, RecipientsFacts, "facts", "wanted_recipients_result")
    texts_in(language)
    whole = [one for one in facts.settings if one.status is not None]
    return str(
        environment(language)
        .get_template("recipients.html.jinja")
        .render(
            facts=facts,
            status=EVERYBODY[facts.verdict.status],
            of_one=STATUS,
            signs=SIGNS,
            meanings=MEANINGS,
            whole=whole,
            partly=[one for one in facts.settings if one.status is None],
            page=REPORT,
            css=read_style("report.css"),
        )
    )
