"""Automaton abstraction and model checking (the paper's Algorithm 2): extract an automaton first, then check it."""

from __future__ import annotations

import itertools

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import words_up_to
from rnncheck.extraction import extracting
from rnncheck.extraction.method import Extraction
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.methods.proof_method import finding_of_invariant
from rnncheck.verification.verification_task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes


def aamc(task: Task) -> Algorithm:
    """Extract an automaton H that passes an equivalence test (or reaches a bound), then check it against A.

    Words of H that break the property are confirmed, or refine H where the extraction can continue; as printed, the
    first one decides. When the budget ends, the current automaton is checked.
    """
    task.last_look = lambda why: _last_look(task, why)
    extraction = yield from extracting(task.settings.extraction, task)
    while True:
        if task.confirmed(extraction.violation):
            return violated(extraction.violation, "a word queried to test the learned automaton is a violation")
        violation, spurious = yield from _check(task, extraction.automaton.support)
        if violation is not None:
            return violated(violation, "a word of the extracted automaton that breaks the property, confirmed")
        if not spurious:
            return _satisfied(task, extraction)
        if extraction.refine is None or task.settings.plain:
            return Finding(Outcome.UNDECIDED, _spurious_reason("the extracted automaton", spurious))
        extraction = yield from extraction.refine(spurious)


def _last_look(task: Task, why: str) -> Algorithm:
    """Check the current automaton when the budget has ended; it passed no test, so only a violation counts."""
    hypothesis = task.latest()
    if hypothesis is None:
        return Finding(Outcome.UNDECIDED, why)
    violation, spurious = yield from _check(task, hypothesis.support)
    if violation is not None:
        return violated(violation, f"{why}; a word of the automaton so far that breaks the property, confirmed")
    so_far = "the automaton so far"
    known = _spurious_reason(so_far, spurious) if spurious else f"{so_far} satisfies the specification"
    return Finding(Outcome.UNDECIDED, f"{why}; {known}")


def _check(task: Task, hypothesis: DFA) -> CooperativeWork[tuple[Codes | None, list[Codes]]]:
    """The first word of the automaton that is a violation, or None; and the spurious ones before it."""
    spurious: list[Codes] = []
    for word in _suspects(task, hypothesis):
        if task.violates(word):
            return word, spurious
        spurious.append(word)
        yield
    return None, spurious


def _suspects(task: Task, hypothesis: DFA) -> list[Codes]:
    """The first words of an automaton that break the relation, in shortlex order."""
    shortest = task.prop.witness(hypothesis)
    if shortest is None:
        return []
    broken = task.prop.violations(hypothesis)
    longest = len(shortest) + len(broken)
    words = itertools.islice(words_up_to(broken, longest), task.settings.suspects)
    return [task.spec.alphabet.encode(word) for word in words]


def _spurious_reason(automaton: str, spurious: list[Codes]) -> str:
    count = len(spurious)
    which = "the shortest such word is" if count == 1 else f"the {count} shortest such words are"
    return f"{automaton} breaks the property, but {which} spurious: the model answers as it should"


def _satisfied(task: Task, extraction: Extraction) -> Finding:
    """The finding from an automaton that satisfies the specification."""
    if extraction.cells is not None:
        stands = {"subset": "contains", "superset": "is contained in", "equal": "is"}[task.relation.value]
        how = f"the extracted automaton satisfies the specification, and its language {stands} the network's: "
        return finding_of_invariant(task, extraction.cells.invariant(), how)
    if task.confirmed(task.sampler.unreported):  # where the automaton was wrong
        return violated(task.sampler.unreported, "a word drawn to test the learned automaton is a violation")
    if extraction.epsilon is None:
        return Finding(Outcome.UNDECIDED, f"{extraction.unfinished}; the automaton so far satisfies the specification")
    how = f" ({task.settings.extraction}: {extraction.how})" if extraction.how else ""
    return Finding(
        Outcome.SATISFIED,
        f"the extracted automaton of {len(extraction.automaton)} states satisfies the specification, and agreed with "
        f"the model on every sampled word{how}",
        hypothesis_epsilon=extraction.epsilon,
    )
