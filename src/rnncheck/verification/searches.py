"""Searches as algorithms: every word in turn, the promising ones first, and the loops of the property repeated."""

from __future__ import annotations

from rnncheck.automata.language import is_empty
from rnncheck.errors import ModelError
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.guided import GuidedSearch
from rnncheck.search.mutation import MutationSearch
from rnncheck.search.prefix_tree import PrefixTree
from rnncheck.search.spec_loops import LoopSearch
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.verification_task import Algorithm, Finding, Task, violated


def exhaustive(task: Task, longest: int | None = None) -> Algorithm:
    """Query every word, shortest first, up to a length (unlimited by default)."""
    search = every_word(task)
    yield search.price(search.length + 1)
    while not search.finished and (longest is None or search.length < longest):
        search.next_length()
        if task.confirmed(search.violation):
            return violated(search.violation, "the shortest of all violations, by exhaustive search")
        task.exact_length = search.length
        yield search.price(search.length + 1)
    if search.finished:
        return (yield from _confirm_by_reference(task))
    return Finding(
        Outcome.UNDECIDED, f"every word of at most {search.length} letters was queried, and none is a violation"
    )


def guided(task: Task) -> Algorithm:
    """Follow the model's scores towards a violation, until the search is stopped."""
    search = GuidedSearch(prefix_tree(task), task.rng("guided"), memory=task.settings.memory_limit // 4)
    while not search.finished:
        before = task.oracle.cost.work
        search.advance()
        task.guided_steps += task.oracle.cost.work - before
        yield None
    if task.confirmed(search.violation):
        return violated(search.violation, "found by following the model's scores, confirmed")
    return (yield from _confirm_by_reference(task))


def mutation(task: Task) -> Algorithm:
    """Mutate random words towards a violation, until the search is stopped: for black-box models."""
    search = MutationSearch(task.oracle, task.prop, task.distribution, task.rng("mutation"))
    while not search.finished:
        before = task.oracle.cost.work
        search.advance()
        task.guided_steps += task.oracle.cost.work - before
        task.changed_words = search.words
        yield None
    if task.confirmed(search.violation):
        return violated(search.violation, "found by changing random words, confirmed")
    return (yield from _confirm_by_reference(task))


def repeated_loops(task: Task, steps: int) -> Algorithm:
    """Repeat the loops of the property's automaton for at most ``steps`` steps.

    The words become longer than any drawn word. A model that fails on such words ends only this search.
    """
    yield None  # other activities may find a violation with few steps first
    memory = task.settings.memory_limit // 4
    search = LoopSearch.of(task.oracle, task.unbounded, steps, task.max_length, memory)
    while not search.finished:
        before = task.oracle.cost.work
        try:
            search.advance()
        except ModelError as error:
            task.loop_failure = str(error)
            return Finding(Outcome.UNDECIDED, str(error))
        task.loop_steps += task.oracle.cost.work - before
        task.loop_length = search.longest
        yield None
    if task.confirmed(search.violation):
        return violated(search.violation, "found by repeating a loop of the property's automaton, confirmed")
    return Finding(Outcome.UNDECIDED, "no repeated loop of the property's automaton led to a violation")


def _confirm_by_reference(task: Task) -> Algorithm:
    """No word is left that could be a violation: proved once the reference was queried for all that could."""
    search = ExhaustiveSearch(PrefixTree(task.oracle.by_reference().stepper, task.prop))
    while not search.finished:
        search.next_length()
        if search.violation is not None:
            return violated(search.violation, "the shortest of all violations, by the reference")
        yield None
    vacuous = is_empty(task.prop.possible_violations)
    reason = "every word that counts and could be a violation was queried, and none is one"
    if vacuous:
        reason = "no word that counts can be a violation, whatever the model answers"
    return Finding(Outcome.SATISFIED, reason, proof=True, vacuous=vacuous)


def every_word(task: Task) -> ExhaustiveSearch:
    """The exhaustive search of a verification: each algorithm continues it where another one stopped."""
    if task.exhaustive is None:
        task.exhaustive = ExhaustiveSearch(prefix_tree(task), task.settings.memory_limit // 4)
    return task.exhaustive


def prefix_tree(task: Task) -> PrefixTree:
    """The prefix tree, as the evaluator reads it."""
    return PrefixTree(task.oracle.stepper, task.prop, task.search_samples.look)
