"""Automaton abstraction and model checking (the paper's Algorithm 2): extract an automaton first, then check it."""

from __future__ import annotations

import itertools

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import words_up_to
from rnncheck.automata.product import difference, symmetric_difference
from rnncheck.extraction.registry import DEFAULT_ROAD, extraction_by
from rnncheck.relations import Relation
from rnncheck.verdict.value import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes

# How many words of the automaton that break the property are tried on the model before it is called spurious.
SUSPECTS = 100


def aamc(task: Task) -> Algorithm:
    """Find an automaton H that passes an equivalence test (or met a bound), by some road, then check it against A."""
    extraction = yield from extraction_by(task.road or DEFAULT_ROAD)(task)
    if extraction.violation is not None:
        return violated(extraction.violation, "a word drawn to test the learned automaton is a violation")
    suspects = _suspects(task, extraction.hypothesis)
    for word in suspects:
        if task.violates(word):
            return violated(word, "a word of the extracted automaton that breaks the property, confirmed")
        task.state.spurious += 1
        yield
    if task.state.spurious:
        return Finding(
            Outcome.UNDECIDED,
            f"the extracted automaton breaks the property, but the {task.state.spurious} shortest of its words that do "
            "so are spurious: the model answers them rightly",
        )
    if extraction.shown is None:
        return Finding(Outcome.UNDECIDED, f"{extraction.bound}; the automaton so far satisfies the specification")
    road = f" ({task.road}: {extraction.how})" if extraction.how else ""
    return Finding(
        Outcome.SATISFIED,
        f"the extracted automaton of {len(extraction.hypothesis)} states satisfies the specification, and agreed with "
        f"the model on every sampled word{road}",
        hypothesis_epsilon=extraction.shown,
    )


def _suspects(task: Task, hypothesis: DFA) -> list[Codes]:
    """The first words of the extracted automaton that break the relation, in shortlex order."""
    shortest = task.relation.witness(hypothesis, task.spec)
    if shortest is None:
        return []
    if task.relation is Relation.EQUAL:
        broken = symmetric_difference(hypothesis, task.spec)
    elif task.relation is Relation.SUBSET:
        broken = difference(hypothesis, task.spec)
    else:
        broken = difference(task.spec, hypothesis)
    longest = len(shortest) + len(broken)
    words = itertools.islice(words_up_to(broken, longest), SUSPECTS)
    return [task.spec.alphabet.encode(word) for word in words]
