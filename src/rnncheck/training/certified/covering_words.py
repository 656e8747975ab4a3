"""Words that lead through every transition of an automaton about equally often, however rare it is in random words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.words import IntArray

_FORGOTTEN = 0.1  # of what was counted, after each batch
_SLIP = 0.05  # of the letters of words that slip: seldom, for a mistake is to be remembered for long
_FARTHER = 0.9  # of what a rare transition counts is left one letter before it


class CoveringWords:
    """Half of the words are uniform; in a quarter a letter is the likelier, the rarer the transitions it leads to.

    So a state that only one long word reaches is met, too, and one that is never left is not all that is met. The last
    quarter looks right but for a slip here and there, however long ago: such a word goes on as if it were in a state
    that it is *meant* to be in, by letters that lead to states that can be left. Where no state is for ever, a mistake
    need not be remembered for long, and the last quarter is drawn like the one before it.
    """

    def __init__(self, dfa: DFA) -> None:
        self._next = dfa.transitions.astype(np.int64)
        self.initial = dfa.initial
        leaves = (self._next != np.arange(len(self._next))[:, None]).any(axis=1)
        self._can_be_left = np.flatnonzero(leaves) if leaves.any() else np.arange(len(leaves))
        self._some_slip = not leaves.all()
        goes_on = leaves[self._next]
        self._going_on = np.where(goes_on.any(axis=1, keepdims=True), goes_on, True).astype(np.float64)
        self.taken: npt.NDArray[np.float64] = np.ones(self._next.shape)

    @property
    def commonness(self) -> npt.NDArray[np.float64]:
        """How often each state was met lately, as a multiple of the mean, or 1 where that is less."""
        met = self.taken.sum(axis=1)
        return np.asarray((met / met.mean()).clip(min=1.0))

    def draw(self, rng: np.random.Generator, count: int, length: int) -> tuple[IntArray, IntArray]:
        """Letters (length × words) of words of one length, and the states after every prefix (length + 1 × words)."""
        begin = np.full(count, self.initial)
        letters, states, _ = self.go_on(rng, begin, begin, length)
        return letters, states

    def go_on(
        self, rng: np.random.Generator, states: IntArray, meant: IntArray, length: int
    ) -> tuple[IntArray, IntArray, IntArray]:
        """So many letters more for words that have led to these states; letters and states as above.

        ``meant`` are the states that they are meant to be in, which come last, after every letter.
        """
        count = len(states)
        letters = np.empty((length, count), dtype=np.int64)
        along, meant_along = np.empty((2, length + 1, count), dtype=np.int64)
        along[0], meant_along[0] = states, meant
        uniform = np.arange(count) < count // 2
        slipping = (np.arange(count) >= count - count // 4) & self._some_slip
        last, pull = self._next.shape[1] - 1, self._pull()
        for t in range(length):
            slips = slipping & (rng.random(count) < _SLIP)
            elsewhere = rng.choice(self._can_be_left, count)
            meant = np.where(slips, elsewhere, np.where(slipping, meant_along[t], along[t]))
            chances = np.where(slipping[:, None], self._going_on[meant], pull[meant])
            chances[uniform] = 1.0
            reached = np.cumsum(chances, axis=1)
            picked = (reached <= rng.random(count)[:, None] * reached[:, -1:]).sum(axis=1).clip(max=last)
            np.add.at(self.taken, (along[t], picked), 1.0)
            letters[t], along[t + 1] = picked, self._next[along[t], picked]
            meant_along[t + 1] = np.where(slipping, self._next[meant, picked], along[t + 1])
        self.taken = (1.0 - _FORGOTTEN) * self.taken + _FORGOTTEN
        return letters, along, meant_along

    def _pull(self) -> npt.NDArray[np.float64]:
        """For each state and letter, how rare its transition is, or one that it leads towards."""
        own = 1.0 / self.taken
        pull = own
        for _ in range(len(own)):
            farther = np.maximum(own, _FARTHER * pull.max(axis=1)[self._next])
            if np.array_equal(farther, pull):
                break
            pull = farther
        return np.asarray(pull**4)
