"""Searches of the prefix tree as algorithms: every word in turn, and the promising ones first."""

from __future__ import annotations

from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.guided import GuidedSearch
from rnncheck.search.prefix_tree import PrefixTree
from rnncheck.verdict.value import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes

# How many beams the search for a shorter violation tries in vain before it gives up: every ranking twice.
_BEAMS = 12


def exhaustive(task: Task, longest: int | None = None) -> Algorithm:
    """Ask every word, shortest first, up to a length (without end where none is given)."""
    memory = task.settings.memory_limit // 4
    search = task.exhaustive = task.exhaustive or ExhaustiveSearch(_tree(task), memory)
    while not search.finished and (longest is None or search.length < longest):
        search.next_length()
        if task.confirmed(search.violation):
            return violated(search.violation, "the shortest of all violations, by exhaustive search")
        task.exact_length = search.length
        yield
    if search.finished:
        return (yield from _for_certain(task))
    return Finding(
        Outcome.UNDECIDED, f"every word of at most {search.length} letters was asked, and none is a violation"
    )


def guided(task: Task) -> Algorithm:
    """Follow the model's scores towards a violation, until somebody stops the search."""
    search = GuidedSearch(_tree(task), task.rng("guided"), memory=task.settings.memory_limit // 4)
    while not search.finished:
        before = task.oracle.cost.work
        search.advance()
        task.guided_steps += task.oracle.cost.work - before
        yield
    if task.confirmed(search.violation):
        return violated(search.violation, "found by following the model's scores, confirmed")
    return (yield from _for_certain(task))


def _for_certain(task: Task) -> Algorithm:
    """No word is left that could be a violation: certain once the reference has been asked for all that could."""
    search = ExhaustiveSearch(PrefixTree(task.oracle.by_reference().stepper, task.wanted))
    while not search.finished:
        search.next_length()
        if search.violation is not None:
            return violated(search.violation, "the shortest of all violations, by the reference")
        yield
    reason = "no word at all can be a violation"
    if task.wanted.counts is not None:
        reason = "every word that counts and could be a violation was asked, and none is one"
    return Finding(Outcome.SATISFIED, reason, proof=True)


def shorter_violation(task: Task, than: Codes, steps: int) -> Codes:
    """The shortest violation that the guided search finds within so many network steps, or ``than`` itself."""
    best = than
    end = task.oracle.cost.work + steps
    tree, rng = _tree(task), task.rng("shorter")
    while len(best) > 0:
        search = GuidedSearch(tree, rng, width=1024, shorter_than=len(best))
        while not search.finished:
            if task.oracle.cost.work >= end or search.beams > _BEAMS:
                return best
            search.advance()
        if not task.confirmed(search.violation):
            return best
        best = search.violation or ()
    return best


def _tree(task: Task) -> PrefixTree:
    return PrefixTree(task.oracle.stepper, task.wanted, task.met.look)
