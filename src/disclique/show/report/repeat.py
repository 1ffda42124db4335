"""How to repeat an audit: everything it takes as one text that can be copied."""

from __future__ import annotations

from disclique.audits.facts import PlanFacts
from disclique.audits.result import AuditResult
from disclique.show.formats import SPACE, percent


def write_repeat(result: AuditResult) -> str:
    """Write command, plan, seed, hashes and versions, a line each."""
    plan = result.plan
    lines = ["# the call", result.command or "(not recorded)", "", "# the plan"]
    lines += [f"{name}: {value}" for name, value in _plan(result).items() if value]
    lines += ["", "# chance", f"seed: {plan.seed}", "", "# the input (SHA-256)"]
    lines += [f"{digest}  {name}" for name, digest in plan.inputs.items()] or ["given from Python, no file"]
    lines += ["", "# versions", ", ".join(f"{name} {version}" for name, version in result.versions.items())]
    lines += ["", f"# made {result.made}, {result.seconds:g} s; result version {result.version}"]
    return "\n".join(lines).replace(SPACE, " ")


def _plan(result: AuditResult) -> dict[str, str]:
    plan = result.plan
    return {
        "records": str(result.file.records),
        "labels": ", ".join(result.file.labels),
        "masks": "; ".join(plan.masks),
        "labels made coarser": "; ".join(plan.generalise),
        "snooper": _snooper(plan),
        "scenario": plan.scenario,
        "limit": "none" if plan.max_risk is None else percent(plan.max_risk),
        "limit of a person": "" if plan.max_risk_person is None else percent(plan.max_risk_person),
        "repetitions": f"{plan.repetitions} of every setting; every person asked for {plan.person_trials} times",
        "releases": f"{plan.releases}{'' if plan.linked else ', unlinked'}",
        "attacks": ", ".join(plan.attacks),
        "clique search": f"detection probability {plan.alpha:g}; at most {plan.budget:g} billion operations",
        "missing labels match": plan.missing,
        "usefulness by": plan.utility,
    }


def _snooper(plan: PlanFacts) -> str:
    """Say what the snooper knows, as the plan has it."""
    about = plan.snooper
    if about.get("given"):
        parts = ["known file given"]
    elif about.get("overlap") is None:
        parts = ["knows the whole file"]
    else:
        size = "as many records as are released" if about.get("size") is None else f"{about['size']} records"
        parts = [f"overlap {percent(about['overlap'])} in {size}, others {about.get('others')}"]
    error = about.get("coordinate_error")
    parts.append(f"label error {percent(about.get('label_error') or 0.0)}")
    parts += [f"coordinate error {error}"] if error else []
    parts += [f"{about['seeds']} people known beforehand"] if about.get("seeds") else []
    return "; ".join(parts)
