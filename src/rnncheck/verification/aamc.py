"""Automaton abstraction and model checking (the paper's Algorithm 2): extract an automaton first, then check it."""

from __future__ import annotations

import itertools

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import words_up_to
from rnncheck.extraction import extracting
from rnncheck.verdict.value import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes

# How many words of the automaton that break the property are tried on the model before it is called spurious.
SUSPECTS = 100


def aamc(task: Task) -> Algorithm:
    """Extract an automaton H that passes an equivalence test (or met a bound), then check it against A."""
    method = task.settings.extraction
    extraction = yield from extracting(method, task)
    if task.confirmed(extraction.violation):
        return violated(extraction.violation, "a word asked to test the learned automaton is a violation")
    hypothesis = extraction.automaton.support
    spurious = 0
    for word in _suspects(task, hypothesis):
        if task.violates(word):
            return violated(word, "a word of the extracted automaton that breaks the property, confirmed")
        spurious += 1
        yield
    if spurious:
        return Finding(
            Outcome.UNDECIDED,
            f"the extracted automaton breaks the property, but the {spurious} shortest of its words that do so are "
            "spurious: the model answers them rightly",
        )
    if extraction.epsilon is None:
        return Finding(Outcome.UNDECIDED, f"{extraction.unfinished}; the automaton so far satisfies the specification")
    how = f" ({method}: {extraction.how})" if extraction.how else ""
    return Finding(
        Outcome.SATISFIED,
        f"the extracted automaton of {len(hypothesis)} states satisfies the specification, and agreed with the model "
        f"on every sampled word{how}",
        hypothesis_epsilon=extraction.epsilon,
    )


def _suspects(task: Task, hypothesis: DFA) -> list[Codes]:
    """The first words of the extracted automaton that break the relation, in shortlex order."""
    shortest = task.wanted.witness(hypothesis)
    if shortest is None:
        return []
    broken = task.wanted.violations(hypothesis)
    longest = len(shortest) + len(broken)
    words = itertools.islice(words_up_to(broken, longest), SUSPECTS)
    return [task.spec.alphabet.encode(word) for word in words]
