"""Words that lead through every transition of an automaton about equally often, however rare it is in random words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.words import IntArray

_FORGOTTEN = 0.1  # of what was counted, after each batch


class CoveringWords:
    """Half of the words are uniform; in the others a letter is the likelier, the less its transition was taken."""

    def __init__(self, dfa: DFA) -> None:
        self._next = dfa.transitions.astype(np.int64)
        self._initial = dfa.initial
        self.taken: npt.NDArray[np.float64] = np.ones(self._next.shape)

    def draw(self, rng: np.random.Generator, count: int, length: int) -> tuple[IntArray, IntArray]:
        """Letters (length × words) of words of one length, and the states after every prefix (length + 1 × words)."""
        letters = np.empty((length, count), dtype=np.int64)
        states = np.full((length + 1, count), self._initial, dtype=np.int64)
        uniform = np.arange(count) < count // 2
        last = self._next.shape[1] - 1
        for t in range(length):
            chances = 1.0 / self.taken[states[t]]
            chances[uniform] = 1.0
            reached = np.cumsum(chances, axis=1)
            picked = (reached <= rng.random(count)[:, None] * reached[:, -1:]).sum(axis=1).clip(max=last)
            np.add.at(self.taken, (states[t], picked), 1.0)
            letters[t], states[t + 1] = picked, self._next[states[t], picked]
        self.taken = (1.0 - _FORGOTTEN) * self.taken + _FORGOTTEN
        return letters, states
