"""Automaton abstraction and model checking (the paper's Algorithm 2): extract an automaton first, then check it."""

from __future__ import annotations

import itertools
from collections.abc import Generator

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import words_up_to
from rnncheck.automata.product import difference, symmetric_difference
from rnncheck.errors import LearningBoundReached
from rnncheck.relations import Relation
from rnncheck.statistics import shown_epsilon
from rnncheck.verdict import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, refine, violated
from rnncheck.words import Codes

# How many words of the automaton that break the property are tried on the model before it is called spurious.
SUSPECTS = 100


def aamc(task: Task) -> Algorithm:
    """Learn H until it passes an equivalence test (or a bound is reached), then check it against A."""
    extraction = yield from extract(task)
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
    return Finding(
        Outcome.SATISFIED,
        f"the extracted automaton of {len(extraction.hypothesis)} states satisfies the specification, and agreed with "
        "the model on every sampled word",
        hypothesis_epsilon=extraction.shown,
        claim="differences between model and automaton",
    )


class Extraction:
    """An automaton learned from the model, and why learning stopped: a test passed, a bound, or a violation met."""

    def __init__(
        self, hypothesis: DFA, shown: float | None = None, bound: str = "", violation: Codes | None = None
    ) -> None:
        self.hypothesis = hypothesis
        self.shown = shown
        self.bound = bound
        self.violation = violation


def extract(task: Task) -> Generator[None, None, Extraction]:
    """PAC learning: refine by every sampled word on which model and hypothesis differ, until enough show none.

    The task's relation between model and hypothesis is equality here, whatever it is between model and property.
    """
    learner = task.learner()
    tested = 0
    try:
        while True:
            task.state.hypothesis = hypothesis = learner.hypothesis
            task.state.rounds += 1
            needed = task.words_needed_in_round(tested)
            tested += 1
            passed = 0
            while passed < needed:
                yield
                drawn = task.sampler.draw(needed - passed, hypothesis, Relation.EQUAL)
                if task.confirmed(drawn.violation):
                    return Extraction(hypothesis, violation=drawn.violation)
                if drawn.difference is not None:
                    refine(learner, drawn.difference)
                    break
                passed += drawn.words
            else:
                return Extraction(hypothesis, shown=shown_epsilon(passed, task.gamma / 2**tested, task.bound))
    except LearningBoundReached as bound:
        return Extraction(learner.hypothesis, bound=str(bound))


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
