"""A check as lines of text that are complete in themselves: the word and the flow, not how they were found."""

from __future__ import annotations

from rnncheck.errors import visible
from rnncheck.suite.check_results import Check
from rnncheck.verdict.text import facts, headline

_LONGEST_FORMULA = 500
_SHOWN = {"counterexample", "required", "assumed", "known", "severity", "on your data", "faulty flow", "note"}


def check_lines(check: Check) -> list[str]:
    """The facts about the check, one per line."""
    lines = [check.description] if check.description else []
    formula = check.text if len(check.text) <= _LONGEST_FORMULA else f"{check.text[:_LONGEST_FORMULA]}…"
    lines.append(f"property {check.name} ({check.kind}): {formula}")
    lines.append(f"model {check.model}: {check.source}")
    if check.verdict is None:
        lines.append(f"{check.outcome}: {check.sentence()}")
    else:
        lines.append(f"{check.outcome_name}: {headline(check.verdict)}; {check.verdict.reason}")
        for fact in facts(check.verdict):
            if fact.name in _SHOWN:
                lines.append(f"{fact.name}: {fact.text}{f' ({fact.more[-1]})' if fact.more else ''}")
    return [visible(line) for line in lines]
