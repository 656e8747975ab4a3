"""Check the user's own sequences again: the same file, and the same violations."""

from __future__ import annotations

from collections.abc import Iterator

from rnncheck.checker.checks import Check, confirmed_if, left_open, refuted
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.deadline import Deadline
from rnncheck.checker.strata_checks import FreshAnswers
from rnncheck.models.protocol import Model
from rnncheck.word_files import Sequences


def check_data(claims: Claims, model: Model | None, given: Sequences | None, deadline: Deadline) -> Iterator[Check]:
    """Query the reference for the sequences again; open without the model or their file."""
    facts, spec = claims.verdict.data, claims.spec
    if facts is None:
        return
    if facts.violations > facts.counted or facts.counted > facts.words or len(facts.first) > facts.violations:
        yield refuted("data", f"{facts.violations} of {facts.counted} of {facts.words} is impossible")
        return
    if facts.violations and not claims.verdict.violated:
        yield refuted("data", f"it says {claims.verdict.outcome.value}, and that sequences are violations")
    if model is None or spec is None or given is None:
        why = "the network was not queried; give --model" if model is None else "give their file with --on-data"
        yield left_open("data", why)
        return
    if given.sha256() != facts.sha256:
        yield refuted("data", "these are not the sequences of the document: their digest is another")
        return
    words = [claims.encode(word) for word in given.words]
    known = [word for word in words if word is not None]
    broken = set(FreshAnswers(model, known, deadline, "your data").violations(spec, claims.relation))
    wrong = [row for row, word in enumerate(words) if word in broken]
    counted = sum(spec.end(word) not in spec.ignored for word in known)
    first = [(given.lines[row], given.words[row]) for row in wrong[: len(facts.first)]]
    same = (len(words), counted, len(wrong)) == (facts.words, facts.counted, facts.violations)
    same = same and first == [(each.line, each.word) for each in facts.first]
    yield confirmed_if("data", same, f"{len(wrong)} of {counted} of {len(words)} sequences are violations")
