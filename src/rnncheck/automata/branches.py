"""The transitions of an automaton that lead where one wants to go.

Of 50 000 letters a specification may allow two in most states. A walk that looks at every letter of every word to find
these two takes time that grows with the square of the letters, for as many steps of the model as letters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.words import IntArray


class Branches:
    """The letters that lead from each state of a table to a ``wanted`` one, in order."""

    def __init__(self, table: npt.NDArray[np.integer], wanted: Mask) -> None:
        sources, self._letters = np.nonzero(wanted[table])
        self._counts = np.bincount(sources, minlength=len(table))
        self._starts = np.cumsum(self._counts) - self._counts

    def counts(self, states: npt.NDArray[np.integer]) -> IntArray:
        """How many letters lead on from each of some states."""
        counts: IntArray = self._counts[states]
        return counts

    def follow(self, states: npt.NDArray[np.integer]) -> tuple[IntArray, IntArray]:
        """Every way on from some states, in order: the place of the state, and the letter."""
        counts = self._counts[states]
        places = np.repeat(np.arange(len(states)), counts)
        before = np.cumsum(counts) - counts  # ways on from earlier places
        return places, self._letters[np.arange(len(places)) + (self._starts[states] - before)[places]]
