"""Searches of the prefix tree as algorithms: every word in turn, and the promising ones first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rnncheck.models.protocol import Letters, Scores, States, SteppingModel, no_tick
from rnncheck.oracle import Oracle
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.guided import GuidedSearch
from rnncheck.search.prefix_tree import PrefixTree
from rnncheck.verdict.value import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes, IntArray, WordBatch

# How many beams the search for a shorter violation tries in vain before it gives up: every ranking twice.
_BEAMS = 12


def exhaustive(task: Task, longest: int | None = None) -> Algorithm:
    """Ask every word, shortest first, up to a length (without end where none is given)."""
    search = task.state.exhaustive = task.state.exhaustive or ExhaustiveSearch(_tree(task))
    while not search.finished and (longest is None or search.length < longest):
        search.next_length()
        if task.confirmed(search.violation):
            return violated(search.violation, "the shortest of all violations, by exhaustive search")
        task.state.exact_length = search.length
        yield
    if search.finished:
        return Finding(Outcome.SATISFIED, "no word at all can be a violation", proof=True)
    return Finding(
        Outcome.UNDECIDED, f"every word of at most {search.length} letters was asked, and none is a violation"
    )


def guided(task: Task) -> Algorithm:
    """Follow the model's scores towards a violation, until somebody stops the search."""
    search = GuidedSearch(_tree(task), task.rng("guided"))
    while not search.finished:
        search.advance()
        yield
    if task.confirmed(search.violation):
        return violated(search.violation, "found by following the model's scores, confirmed")
    return Finding(Outcome.SATISFIED, "no word at all can be a violation", proof=True)


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
    model = task.oracle.model
    if isinstance(model, SteppingModel):
        return PrefixTree(model, task.spec, task.relation, task.oracle.tick, task.oracle.asked)
    return PrefixTree(_SpelledOut(task.oracle), task.spec, task.relation, no_tick)


class _SpelledOut(SteppingModel):
    """A model that only knows whole words, made to step: its state after a word is the word. The oracle counts."""

    margin = 0.0

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.alphabet = oracle.alphabet
        self.accepts_empty = oracle.answer(())
        self.empty_score = 1.0 if self.accepts_empty else -1.0

    def initial(self, rows: int) -> States:
        return np.zeros((rows, 0), dtype=np.int32)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        before = states if rows is None else states[rows]
        return np.hstack([before, np.asarray(letters, dtype=np.int32)[:, None]])

    def scores(self, states: States) -> Scores:
        offsets = np.arange(len(states) + 1, dtype=np.int64) * states.shape[1]
        return np.where(self._oracle.answers(WordBatch(states.ravel(), offsets)), 1.0, -1.0)

    def definition(self, codes: Codes) -> bool:
        return self._oracle.answer(codes)

    def describe(self) -> Mapping[str, object]:
        return self._oracle.model.describe()
