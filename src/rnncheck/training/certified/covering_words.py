"""Words that take every transition of an automaton about equally often, however rare it is in random words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.words import IntArray

_FORGOTTEN = 0.1  # of the counts, after each batch
_ERROR_RATE = 0.05  # of the letters of error-injected words: low, since an error must be remembered for long
_FARTHER = 0.9  # the factor by which the weight of a rare transition decreases with each letter before it


class CoveringWords:
    """Half of the words are uniform; in a quarter a letter is the more likely, the rarer the transitions it leads to.

    So a state that only one long word reaches is visited too, and a state that is never left does not dominate. The
    last quarter are error-injected words: after an injected error such a word continues as if it were in another state,
    the one that it is *meant* to be in, by letters that lead to states that can be left. If every state can be left, an
    error need not be remembered for long, and the last quarter is drawn like the one before it.
    """

    def __init__(self, dfa: DFA) -> None:
        self._next = dfa.transitions.astype(np.int64)
        self.initial = dfa.initial
        leaves = (self._next != np.arange(len(self._next))[:, None]).any(axis=1)
        self._can_be_left = np.flatnonzero(leaves) if leaves.any() else np.arange(len(leaves))
        self._inject_errors = not leaves.all()
        leads_on = leaves[self._next]
        self._going_on = np.where(leads_on.any(axis=1, keepdims=True), leads_on, True).astype(np.float64)
        self.taken: npt.NDArray[np.float64] = np.ones(self._next.shape)

    @property
    def commonness(self) -> npt.NDArray[np.float64]:
        """How often each state was visited lately, relative to the mean, and at least 1."""
        visits = self.taken.sum(axis=1)
        return np.asarray((visits / visits.mean()).clip(min=1.0))

    def draw(self, rng: np.random.Generator, count: int, length: int) -> tuple[IntArray, IntArray]:
        """Letters (length × words) of words of one length, and the states after every prefix (length + 1 × words)."""
        begin = np.full(count, self.initial)
        letters, states, _ = self.extend(rng, begin, begin, length)
        return letters, states

    def extend(
        self, rng: np.random.Generator, states: IntArray, meant: IntArray, length: int
    ) -> tuple[IntArray, IntArray, IntArray]:
        """``length`` more letters for words that have led to these states; letters and states as in ``draw``.

        ``meant`` are the states that they are meant to be in; the last result has these after every letter.
        """
        count = len(states)
        letters = np.empty((length, count), dtype=np.int64)
        along, meant_along = np.empty((2, length + 1, count), dtype=np.int64)
        along[0], meant_along[0] = states, meant
        uniform = np.arange(count) < count // 2
        with_errors = (np.arange(count) >= count - count // 4) & self._inject_errors
        last, pull = self._next.shape[1] - 1, self._pull()
        for t in range(length):
            errors = with_errors & (rng.random(count) < _ERROR_RATE)
            elsewhere = rng.choice(self._can_be_left, count)
            meant = np.where(errors, elsewhere, np.where(with_errors, meant_along[t], along[t]))
            chances = np.where(with_errors[:, None], self._going_on[meant], pull[meant])
            chances[uniform] = 1.0
            reached = np.cumsum(chances, axis=1)
            picked = (reached <= rng.random(count)[:, None] * reached[:, -1:]).sum(axis=1).clip(max=last)
            np.add.at(self.taken, (along[t], picked), 1.0)
            letters[t], along[t + 1] = picked, self._next[along[t], picked]
            meant_along[t + 1] = np.where(with_errors, self._next[meant, picked], along[t + 1])
        self.taken = (1.0 - _FORGOTTEN) * self.taken + _FORGOTTEN
        return letters, along, meant_along

    def _pull(self) -> npt.NDArray[np.float64]:
        """For each state and letter, the rarity of its transition, or of one that it leads to."""
        own = 1.0 / self.taken
        pull = own
        for _ in range(len(own)):
            farther = np.maximum(own, _FARTHER * pull.max(axis=1)[self._next])
            if np.array_equal(farther, pull):
                break
            pull = farther
        return np.asarray(pull**4)
