"""Surrogates by quantisation: classes of the hidden states visited on sampled words become the states of an automaton.

Omlin and Giles cut the state space into equal bins; Wang and others cluster by k-means. Either way a class goes where
most of its members go and answers as most of them do. The number of classes is chosen by agreement on fresh words and
all their prefixes: the prefixes cost nothing, and short words show what long ones may hide.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.language import empty_language
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import InputError
from rnncheck.extraction.method import Extracting, check_on_fresh_words
from rnncheck.extraction.state_clustering import Clustering, clusterings
from rnncheck.extraction.state_partition import Vectors
from rnncheck.learning.learning_task import LearningTask
from rnncheck.models.protocol import States, letters_in_step
from rnncheck.oracle import Stepper
from rnncheck.words import IntArray, WordBatch

_OBSERVED_LETTERS = 8_000
_SHORT_WORDS = 500  # all words up to the length at which there are this many are observed too
_WORDS_AT_ONCE = 64
_FRESH_WORDS = 512
_MOST_CLASSES = 500
_MOST_DIMENSIONS = 24
_ITERATIONS = 6


def quantise(task: LearningTask, kind: str) -> Extracting:
    """The surrogate of the coarsest clustering (``kmeans`` or ``grid``) with the best agreement on fresh words."""
    if kind not in ("kmeans", "grid"):
        raise InputError(f"unknown kind of quantisation {kind!r}; known are kmeans and grid")
    oracle, most_states = task.oracle, task.max_states
    stepper = task.oracle.stepper
    observed = observe(task, stepper)
    oracle.budget.check()
    points = observed.view.points(observed.states)
    fresh = task.distribution.sample(task.rng(f"{kind} fresh"), _FRESH_WORDS)
    truth = oracle.prefix_answers(fresh)
    best: tuple[float, int] = (-1.0, 0)
    chosen, how = empty_language(stepper.alphabet), ""
    for clustering in clusterings(kind, points, task.rng(kind), _MOST_CLASSES):
        oracle.budget.check()
        automaton = minimise(_automaton(clustering, clustering.assign(points), observed, stepper))
        agreement = float((automaton.accepting[automaton.visited(fresh)] == truth).mean()) if len(truth) else 1.0
        if (agreement, -len(automaton)) > best and len(automaton) <= most_states:
            best, chosen = (agreement, -len(automaton)), automaton
            how = (
                f"{clustering}, chosen because it agreed on {agreement:.2%} of the prefixes of {len(fresh)} fresh words"
            )
        task.hypothesis = chosen
        task.rounds += 1
        yield
        if agreement == 1.0:
            break
    return (
        yield from check_on_fresh_words(
            task, chosen, how or f"no clustering gave at most {most_states} states, the bound"
        )
    )


@dataclass(frozen=True)
class Observed:
    """States visited on sampled words, the initial one first, and the transitions between them.

    Transition ``i`` reads ``letters[i]`` in state ``before[i]`` and leads to state ``i + 1``. ``view`` maps states
    to the points that are clustered.
    """

    states: States
    view: View
    answers: Mask
    before: IntArray
    letters: IntArray


class View:
    """States as points of few dimensions.

    Large values are squashed: an LSTM's memory may count without a limit, and would dominate all else. Of many
    dimensions, the directions of the largest spread are kept.
    """

    def __init__(self, states: States) -> None:
        points = squashed(states)
        self._varying = np.ptp(points, axis=0) > 0.0
        if not self._varying.any():
            self._varying[0] = True
        points = points[:, self._varying]
        self._directions: Vectors | None = None
        if points.shape[1] > _MOST_DIMENSIONS:
            self._directions = widest_directions(points - points.mean(axis=0), _MOST_DIMENSIONS)

    def points(self, states: States) -> Vectors:
        points = squashed(states)[:, self._varying]
        return points if self._directions is None else points @ self._directions


def widest_directions(points: Vectors, count: int) -> Vectors:
    """Approximate directions of the largest spread, one per column, by subspace iteration.

    Exact ones would take seconds for a network of a thousand units, and are not needed.
    """
    basis = np.random.default_rng(0).normal(size=(points.shape[1], count))
    for _ in range(_ITERATIONS):
        basis, _ = np.linalg.qr(points.T @ (points @ basis))
    return basis


def squashed(states: States) -> Vectors:
    """Every value mapped to between -1 and 1; infinite ones, which a memory may reach, to the ends."""
    values = np.nan_to_num(np.asarray(states, dtype=np.float64).reshape(len(states), -1))
    return np.asarray(values / (1.0 + np.abs(values)))


def observe(task: LearningTask, stepper: Stepper, letters: int = _OBSERVED_LETTERS) -> Observed:
    """Run sampled words of ``letters`` letters in total and keep every state visited."""
    words = observed_words(task, letters)
    initial = stepper.initial(1)
    states = np.empty((len(words.codes) + 1, *initial.shape[1:]), dtype=initial.dtype)
    states[0] = initial[0]
    now = stepper.initial(len(words))
    for at in letters_in_step(words.offsets[:-1], words.lengths):
        now = stepper.step(now[: len(at)], words.codes[at])
        states[1 + at] = now
    starts = np.repeat(words.offsets[:-1], words.lengths)
    positions = np.arange(len(words.codes))
    answers = stepper.answers(stepper.scores(states[1:]), words.prefix_ending_at)
    before = np.where(positions == starts, 0, positions)
    outputs = np.append(stepper.accepts_empty, answers)
    return Observed(states, View(states), outputs, before, words.codes.astype(np.int64))


def observed_words(task: LearningTask, letters: int) -> WordBatch:
    """Sampled words of ``letters`` letters in total, the last cut off, and all short words: the states after short
    words are rare, and a network is in one of them at the start of every word.
    """
    rng = task.rng("observed words")
    width = len(task.distribution.alphabet)
    words: list[tuple[int, ...]] = []
    length = 1
    while width**length <= _SHORT_WORDS and length <= _SHORT_WORDS:
        words = list(itertools.product(range(width), repeat=length))  # shorter ones are their prefixes
        length += 1 if width > 1 else _SHORT_WORDS
    total, drawn = 0, 0
    while total < letters and drawn < letters:  # so that a distribution of only empty words ends too
        for word in task.distribution.sample(rng, _WORDS_AT_ONCE):
            words.append(word[: max(0, letters - total)])
            total += len(word)
            drawn += 1
    return WordBatch.from_codes(words)


def _automaton(clustering: Clustering, classes: IntArray, observed: Observed, stepper: Stepper) -> DFA:
    """A state for each class, and one more for the empty word, whose answer may differ."""
    size = clustering.size
    table = _majority(classes[observed.before], observed.letters, classes[1:], (size, len(stepper.alphabet)))
    unseen = np.argwhere(table < 0)
    if len(unseen):
        # The first member of the class is stepped instead.
        first = np.zeros(size, dtype=np.int64)
        first[classes[::-1]] = np.arange(len(classes))[::-1]
        states = stepper.step(observed.states, unseen[:, 1], first[unseen[:, 0]])
        table[unseen[:, 0], unseen[:, 1]] = clustering.assign(observed.view.points(states))
    yes = np.bincount(classes[1:], weights=observed.answers[1:], minlength=size)
    accepting = 2 * yes > np.bincount(classes[1:], minlength=size)
    rows = np.vstack([table, table[classes[0]]])
    return DFA(stepper.alphabet, rows, np.append(accepting, observed.answers[0]), initial=size)


def _majority(before: IntArray, letters: IntArray, after: IntArray, shape: tuple[int, int]) -> IntArray:
    """The most frequent successor of each class by each letter, the least number in a tie; -1 where none was seen."""
    size, width = shape
    voted, votes = np.unique((before * width + letters) * size + after, return_counts=True)
    goals = voted % size
    order = np.lexsort((-goals, votes))  # the winner of each entry is written last
    table: IntArray = np.full(size * width, -1, dtype=np.int64)
    table[voted[order] // size] = goals[order]
    return table.reshape(shape)
