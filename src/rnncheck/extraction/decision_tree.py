"""Extraction by halving: divides the hidden states visited on sampled words into more and more cells, while time lasts.

Cells of hidden states become the states of an automaton, as in quantisation, but their number doubles from stage to
stage, and so do the words. A transition goes to the cell of the mean of where the members of its cell go; where none of
them was seen to read the letter, members of the cell that was halved are used instead. A state answers as the network
does most often on the words that end in it, wherever they end in the network: this corrects some of the error that the
path through the cells adds.
"""

from __future__ import annotations

import itertools

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.language import empty_language
from rnncheck.automata.minimisation import minimise
from rnncheck.extraction.bisection import Bisection, Points, grouped_sums
from rnncheck.extraction.method import Extracting, check_on_fresh_words
from rnncheck.extraction.predictive_features import PredictiveFeatures
from rnncheck.extraction.quantisation import observed_words
from rnncheck.learning.learning_task import LearningTask
from rnncheck.models.protocol import States, letters_in_step, slices_within
from rnncheck.oracle import Stepper
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import IntArray, WordBatch

_FITTED_ON = 4_000  # letters after which states are used to fit the features
_LETTERS = 1 << 14  # of the words of the first stage
_PER_CELL = 32  # letters of the words of a stage
_POINTS_PER_CELL = 10  # by which the tree grows
_LETTERS_AT_ONCE = 1 << 14
_WORDS_AT_ONCE = 1_024
_MOST_LETTERS = 1 << 22  # of 100 bytes each
_FIRST = 8  # cells
_FRESH_WORDS = 512


def tree(task: LearningTask) -> Extracting:
    """Double the cells until the automaton is right on fresh words, or has as many states as allowed."""
    task.oracle.budget.check()
    grown = yield from _GrowingTree.start(task)
    fresh = task.distribution.sample(task.rng("tree fresh"), _FRESH_WORDS)
    truth = task.oracle.prefix_answers(fresh)
    best, chosen = (-1.0, 0), empty_language(task.oracle.alphabet)
    most = max(1, task.max_states - 1)  # the empty word has a state of its own
    for doubling in itertools.count():
        size = min(_FIRST << doubling, most)
        automaton = minimise((yield from grown.automaton(size)))
        agreement = float((automaton.accepting[automaton.visited(fresh)] == truth).mean()) if len(truth) else 1.0
        if (agreement, -len(automaton)) > best:
            best, chosen = (agreement, -len(automaton)), automaton
        task.hypothesis = automaton
        task.rounds += 1
        yield
        if agreement == 1.0 or size == most or grown.full:
            break
    how = f"a tree of cells, chosen because it agreed on {best[0]:.2%} of the prefixes of {len(fresh)} fresh words"
    return (yield from check_on_fresh_words(task, chosen, how))


class _GrowingTree:
    """The words so far with the points of their prefixes, and the tree grown on them."""

    def __init__(self, task: LearningTask, features: PredictiveFeatures, words: WordBatch, states: States) -> None:
        self._task = task
        self._features = features
        self._stepper: Stepper = task.oracle.stepper
        self._rng = task.rng("tree")
        self._words = words
        first = self._stepper.step(self._stepper.initial(1), *_each_letter(self._stepper))
        self._from_start = features.points(first)
        self._points: Points = features.points(states)
        self._answers = self._answers_at(states, words)
        self._bisection = Bisection(self._points.shape[1])

    @classmethod
    def start(cls, task: LearningTask) -> CooperativeWork[_GrowingTree]:
        """Start with the first words, all short ones among them, and features fitted to some of their states."""
        words, stepper, rng = observed_words(task, _LETTERS), task.oracle.stepper, task.rng("tree view")
        states = yield from _states(stepper, words)
        some = states[np.sort(rng.permutation(len(states))[:_FITTED_ON])]
        features = yield from PredictiveFeatures.fit(stepper, np.concatenate([stepper.initial(1), some]), rng)
        return cls(task, features, words, states)

    @property
    def full(self) -> bool:
        """Whether the limit of words is reached."""
        return len(self._words.codes) >= _MOST_LETTERS or len(self._words) >= _MOST_LETTERS

    def automaton(self, size: int) -> CooperativeWork[DFA]:
        """An automaton of about ``size`` cells, and a state for the empty word, whose answer may differ."""
        yield from self._read(min(_MOST_LETTERS, max(_LETTERS, _PER_CELL * size)))
        yield from self._bisection.grow(self._points[: max(_LETTERS, _POINTS_PER_CELL * size)], size, self._rng)
        cells = yield from self._bisection.cells(self._points)
        table = yield from self._table(cells)
        start = yield from self._bisection.cells(self._from_start)
        answers = np.append(_majority_answers(cells, self._answers, self._bisection.size), self._stepper.accepts_empty)
        rough = DFA(self._stepper.alphabet, np.vstack([table, start]), answers, initial=len(table))
        yield
        visited = rough.visited(self._words).astype(np.int64)
        seen = np.bincount(visited, minlength=len(rough)) > 0
        answers = np.where(seen, _majority_answers(visited, self._answers, len(rough)), answers)
        return DFA(rough.alphabet, rough.transitions, answers, initial=rough.initial)

    def _read(self, letters: int) -> CooperativeWork[None]:
        """Draw further words until there are ``letters`` letters, or as many words."""
        words, points, answers = [self._words], [self._points], [self._answers]
        missing = letters - len(self._words.codes)
        while missing > 0 and sum(map(len, words)) < letters:
            drawn = self._task.distribution.sample(self._rng, _WORDS_AT_ONCE)
            for start, end in slices_within(drawn.offsets, _LETTERS_AT_ONCE):
                words.append(drawn.take(np.arange(start, end)))
                states = yield from _states(self._stepper, words[-1])
                points.append(self._features.points(states))
                answers.append(self._answers_at(states, words[-1]))
            missing -= len(drawn.codes)
        self._words = WordBatch.joined(words)
        self._points, self._answers = np.concatenate(points), np.concatenate(answers)

    def _answers_at(self, states: States, words: WordBatch) -> Mask:
        return self._stepper.answers(self._stepper.scores(states), words.prefix_ending_at)

    def _table(self, cells: IntArray) -> CooperativeWork[IntArray]:
        """The cell that each cell goes to by each letter."""
        words, bisection, columns = self._words, self._bisection, []
        later: Mask = np.ones(len(words.codes), dtype=np.bool_)
        later[words.offsets[:-1][words.lengths > 0]] = False
        nodes = bisection.leaves[cells]
        for letter in range(len(self._stepper.alphabet)):
            to = np.flatnonzero(later & (words.codes == letter))
            sums = grouped_sums(self._points[to], nodes[to - 1], len(bisection.left))
            counts = np.bincount(nodes[to - 1], minlength=len(bisection.left)).astype(np.float64)
            rows = np.column_stack([sums, counts])
            bisection.sum_upwards(rows)
            missing = rows[:, -1] == 0.0
            rows /= np.maximum(rows[:, -1:], 1.0)
            bisection.fill_downwards(rows, missing)
            means = rows[bisection.leaves, :-1].astype(np.float32)
            columns.append((yield from bisection.cells(means)))
        return np.stack(columns, axis=1)


def _majority_answers(states: IntArray, answers: Mask, size: int) -> Mask:
    return np.asarray(np.bincount(states, weights=np.where(answers, 1.0, -1.0), minlength=size) > 0.0)


def _each_letter(stepper: Stepper) -> tuple[IntArray, IntArray]:
    letters: IntArray = np.arange(len(stepper.alphabet))
    return letters, np.zeros(len(letters), dtype=np.int64)


def _states(stepper: Stepper, words: WordBatch) -> CooperativeWork[States]:
    """The state after every letter of every word."""
    now = stepper.initial(len(words))
    states = np.empty((len(words.codes), *now.shape[1:]), dtype=now.dtype)
    for at in letters_in_step(words.offsets[:-1], words.lengths):
        now = stepper.step(now[: len(at)], words.codes[at])
        states[at] = now
    yield
    return states
