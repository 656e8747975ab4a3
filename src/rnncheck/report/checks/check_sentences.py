"""A check as lines of text that are complete in themselves: the word and the flow, not how they were found."""

from __future__ import annotations

from rnncheck.errors import visible
from rnncheck.suite.check_results import Check
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.verdict.value import Verdict
from rnncheck.words import format_word

_LONGEST_FORMULA = 500


def check_lines(check: Check) -> list[str]:
    """The facts about the check, one per line."""
    lines = [check.description] if check.description else []
    formula = check.text if len(check.text) <= _LONGEST_FORMULA else f"{check.text[:_LONGEST_FORMULA]}…"
    lines.append(f"property {check.name} ({check.kind}): {formula}")
    lines.append(f"model {check.model}: {check.source}")
    lines += [f"{check.outcome}: {check.sentence()}"] if check.verdict is None else _of_verdict(check.verdict)
    return [visible(line) for line in lines]


def _of_verdict(verdict: Verdict) -> list[str]:
    lines = [f"{verdict.outcome.value}: {verdict.reason}"]
    word = verdict.counterexample
    if word is not None:
        lines.append(f"counterexample: {format_word(word)} ({answers_sentence(verdict)})")
    lines += [f"faulty flow: {flow}, {flow.hits} of n = 1 … {flow.pumps}{flow.ever}" for flow in verdict.faulty_flows]
    if verdict.severity is not None:
        lines.append(f"severity: {frequency_sentence(verdict.severity.interval)} (95 %)")
    if verdict.data is not None:
        lines.append(f"on your data: {verdict.data.sentence()}")
    if verdict.guarantee is not None:
        lines.append(f"known: {verdict.guarantee}")
    if verdict.assumption is not None:
        lines.append(f"assumed: {verdict.assumption.sentence()}")
    lines += [f"note: {note.message}" for note in verdict.health]
    return lines


def answers_sentence(verdict: Verdict) -> str:
    """The answers of network and specification to the counterexample."""
    if verdict.label_question is not None:
        labels = " ".join(verdict.label_question.said or ())
        return f"along it the network outputs: {labels}" if labels else "along it the network breaks the specification"
    accepts = verdict.specification is not None and verdict.specification.accepts(verdict.counterexample or ())
    network, spec = ("rejects", "accepts") if accepts else ("accepts", "rejects")
    label = verdict.yes_label
    output = "" if label is None else f" ({'outputs' if network == 'accepts' else 'does not output'} {label})"
    return f"the network {network} it{output}, the specification {spec} it"
