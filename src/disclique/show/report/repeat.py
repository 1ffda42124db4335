"""How to repeat an audit: everything it takes as one text that can be copied."""

from __future__ import annotations

from disclique.audits.result import AuditResult
from disclique.locale import Texts
from disclique.show.asked import MODES, tell_asked
from disclique.show.formats import SPACE


def write_repeat(result: AuditResult, texts: Texts) -> str:
    """Write command, plan, seed, hashes and versions, a line each."""
    plan, say = result.plan, texts.say
    lines = [say("# the call"), result.command or say("(not recorded)"), "", say("# the plan")]
    about: dict[str, str | None] = {say("records"): str(result.file.records)}
    about |= {say("labels"): ", ".join(result.file.labels)}
    about |= {say("what the snooper's file is"): say(MODES[result.snooper.mode]), **tell_asked(plan, texts)}
    lines += [f"{name}: {value}" for name, value in about.items() if value]
    lines += ["", say("# the input (SHA-256)")]
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
