"""How to repeat an audit: everything it takes as one text that can be copied."""

from __future__ import annotations

from disclique.audits.facts import PlanFacts
from disclique.audits.result import AuditResult
from disclique.locale import Texts, mark
from disclique.show.formats import SPACE, percent


def write_repeat(result: AuditResult, texts: Texts) -> str:
    """Write command, plan, seed, hashes and versions, a line each."""
    plan, say = result.plan, texts.say
    lines = [say("# the call"), result.command or say("(not recorded)"), "", say("# the plan")]
    lines += [f"{say(name)}: {value}" for name, value in _plan(result, texts).items() if value]
    lines += ["", say("# chance"), say("seed: {seed}", seed=plan.seed), "", say("# the input (SHA-256)")]
    lines += [f"{digest}  {name}" for name, digest in plan.inputs.items()] or [say("given from Python, no file")]
    lines += ["", say("# versions"), ", ".join(f"{name} {version}" for name, version in result.versions.items())]
    seconds = texts.number(f"{result.seconds:g}")
    lines.append("")
    lines.append(
        say(
            "# made {made}, {seconds} s; result version {version}",
            made=result.made,
            seconds=seconds,
            version=result.version,
        )
    )
    return "\n".join(lines).replace(SPACE, " ")


def _plan(result: AuditResult, texts: Texts) -> dict[str, str]:
    plan, say = result.plan, texts.say

    def share(of: float | None) -> str:
        return texts.number(percent(of))

    return {
        mark("records"): str(result.file.records),
        mark("labels"): ", ".join(result.file.labels),
        mark("masks"): "; ".join(plan.masks),
        mark("labels made coarser"): "; ".join(plan.generalise),
        mark("snooper"): _snooper(plan, texts),
        mark("scenario"): plan.scenario,
        mark("limit"): say("none") if plan.max_risk is None else share(plan.max_risk),
        mark("limit of a person"): "" if plan.max_risk_person is None else share(plan.max_risk_person),
        mark("repetitions"): say(
            "{often} of every setting; every person asked for {trials} times",
            often=plan.repetitions,
            trials=plan.person_trials,
        ),
        mark("releases"): str(plan.releases) if plan.linked else say("{releases}, unlinked", releases=plan.releases),
        mark("attacks"): ", ".join(plan.attacks),
        mark("clique search"): say(
            "detection probability {alpha}; at most {budget} billion operations",
            alpha=texts.number(f"{plan.alpha:g}"),
            budget=texts.number(f"{plan.budget:g}"),
        ),
        mark("missing labels match"): plan.missing,
        mark("usefulness by"): plan.utility,
    }


def _snooper(plan: PlanFacts, texts: Texts) -> str:
    """Say what the snooper knows, as the plan has it."""
    about, say = plan.snooper, texts.say
    if about.get("given"):
        parts = [say("known file given")]
    elif about.get("overlap") is None:
        parts = [say("knows the whole file")]
    else:
        size = (
            say("as many records as are released")
            if about.get("size") is None
            else say("{count} records", count=about["size"])
        )
        share, others = texts.number(percent(about["overlap"])), about.get("others")
        parts = [say("overlap {share} in {size}, others {others}", share=share, size=size, others=others)]
    error = about.get("coordinate_error")
    parts.append(say("label error {share}", share=texts.number(percent(about.get("label_error") or 0.0))))
    parts += [say("coordinate error {error}", error=error)] if error else []
    parts += [say("{count} people known beforehand", count=about["seeds"])] if about.get("seeds") else []
    return "; ".join(parts)
