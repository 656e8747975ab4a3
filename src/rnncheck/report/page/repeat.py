"""How to ask the same question again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from rnncheck.verdict.value import Verdict


def repeat_text(verdict: Verdict) -> str:
    """The command line of the verification, or, where it was called from Python, the call."""
    return verdict.command or python_call(verdict)


def python_call(verdict: Verdict) -> str:
    """The call of ``verify`` with everything that the verdict records of it."""
    asked = verdict.settings
    options = {"method": verdict.method, "relation": verdict.relation.value}
    lines = [f"    {name}={value!r}," for name, value in options.items()]
    lines += [f"    {name}={asked[name]!r}," for name in ("epsilon", "gamma", "timeout") if asked.get(name) is not None]
    lines.append(f"    seed={verdict.seed},")
    call = ["rnncheck.verify(", "    model,", "    spec,", *lines]
    drawn = asked.get("distribution")
    if isinstance(drawn, Mapping) and not (drawn.get("weights") == "uniform" and drawn.get("stop") == 0.01):
        call.append(f"    distribution=…,  # {drawn.get('kind')}, see the table of facts")
    known = {"epsilon", "gamma", "timeout", "distribution", "bound"}
    changed = sorted(set(asked) - known) + (["bound"] if asked.get("bound") not in (None, "exact") else [])
    if changed:
        call.append(f"    settings=…,  # changed: {', '.join(changed)}, see the table of facts")
    return "\n".join(["import rnncheck", "", *call, ")"])


def replay_text(verdict: Verdict) -> str:
    """The command that checks the evidence again."""
    return shlex.join(["rnncheck", "replay", "verdict.json", "--model", model_name(verdict) or "MODEL"])


def model_name(verdict: Verdict) -> str | None:
    """What the command line called the model."""
    parts = shlex.split(verdict.command) if verdict.command else []
    return parts[2] if len(parts) > 2 and parts[1] == "verify" and not parts[2].startswith("-") else None
