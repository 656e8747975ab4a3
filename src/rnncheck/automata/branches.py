"""The transitions of an automaton that lead to selected states.

Of 50 000 letters a specification may allow two in most states. A search that tries every letter of every word to find
these two takes quadratic time in the letters, for only as many model steps as letters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.words import IntArray


class Branches:
    """The letters that lead from each state of a table to a ``target`` state, in order."""

    def __init__(self, table: npt.NDArray[np.integer], target: Mask) -> None:
        sources, self._letters = np.nonzero(target[table])
        self._counts = np.bincount(sources, minlength=len(table))
        self._starts = np.cumsum(self._counts) - self._counts

    def counts(self, states: npt.NDArray[np.integer]) -> IntArray:
        """The number of letters that lead to a target, for each of the given states."""
        counts: IntArray = self._counts[states]
        return counts

    def follow(self, states: npt.NDArray[np.integer]) -> tuple[IntArray, IntArray]:
        """Every transition to a target from the given states, in order: the place of the state, and the letter."""
        counts = self._counts[states]
        places = np.repeat(np.arange(len(states)), counts)
        before = np.cumsum(counts) - counts  # transitions from earlier places
        return places, self._letters[np.arange(len(places)) + (self._starts[states] - before)[places]]
