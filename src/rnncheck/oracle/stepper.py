"""Steps a model's states letter by letter, with every step counted: the oracle's interface for searches.

A search keeps states, one row per word, and continues those it chooses. A black-box model is stepped too: its state
after a word is the word.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.protocol import Letters, Scores, States, SteppingModel, resolve_near_threshold
from rnncheck.oracle.counters import Counters
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch


class Stepper(ABC):
    """States of a model, continued by letters within the oracle's budget.

    The answer to the empty word may differ from what the initial state shows, so it is never read off states.
    """

    alphabet: Alphabet
    accepts_empty: bool
    empty_score: float

    @abstractmethod
    def initial(self, rows: int) -> States:
        """The state before any letter, ``rows`` times."""

    @abstractmethod
    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        """The states after one more letter each, read in state ``i`` or, with ``rows``, in state ``rows[i]``."""

    def price(self, length: int) -> int:
        """How many letters the model reads to extend a word to ``length`` letters by its last one."""
        return 1

    @abstractmethod
    def scores(self, states: States) -> Scores:
        """How far each state is from the threshold, positive on the accepting side."""

    @abstractmethod
    def answers(self, scores: Scores, word_at: Callable[[int], Codes]) -> Mask:
        """The answers to the words (of at least one letter) that have these scores; ``word_at(i)`` is word ``i``."""


class CountedSteps(Stepper):
    """A stepping model behind the counters."""

    def __init__(self, model: SteppingModel, counters: Counters) -> None:
        self._model = model
        self._counters = counters
        self.alphabet = model.alphabet
        self.accepts_empty = model.accepts_empty
        self.empty_score = model.empty_score

    def initial(self, rows: int) -> States:
        return self._model.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        self._charge(len(letters))
        return self._model.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        return self._model.scores(states)

    def answers(self, scores: Scores, word_at: Callable[[int], Codes]) -> Mask:
        self._counters.queries += len(scores)
        return resolve_near_threshold(scores, self._model.margin, word_at, self._reference_answer)

    def _reference_answer(self, word: Codes) -> bool:
        self._charge(len(word))
        return self._model.reference_answer(word)

    def _charge(self, steps: int) -> None:
        self._counters.tick(steps)
        self._counters.work += steps


class SpelledWords(Stepper):
    """A black-box model, stepped by spelling words out. ``ask`` returns their answers and counts the cost."""

    def __init__(self, alphabet: Alphabet, ask: Callable[[WordBatch], Mask]) -> None:
        self._ask = ask
        self.alphabet = alphabet
        self.accepts_empty = bool(ask(WordBatch.from_codes([()]))[0])
        self.empty_score = 1.0 if self.accepts_empty else -1.0

    def initial(self, rows: int) -> States:
        return np.zeros((rows, 0), dtype=np.int32)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        before = states if rows is None else states[rows]
        return np.hstack([before, np.asarray(letters, dtype=np.int32)[:, None]])

    def price(self, length: int) -> int:
        return length  # the whole word again

    def scores(self, states: States) -> Scores:
        offsets = np.arange(len(states) + 1, dtype=np.int64) * states.shape[1]
        return np.where(self._ask(WordBatch(states.ravel(), offsets)), 1.0, -1.0)

    def answers(self, scores: Scores, word_at: Callable[[int], Codes]) -> Mask:
        return scores > 0.0
