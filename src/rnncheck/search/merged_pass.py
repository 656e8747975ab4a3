"""Breadth-first search that takes words for one another: the same state of the specification, nearly the same hidden
state.

A network that has learned its task comes to few places, over and over. Words that lead to one place go on alike, so one
of them stands for all, and the prefix tree becomes narrow enough to be walked far. How near is near: at each length, as
fine as the steps allow that a pass has for it. The shorter the words, the more it has: those are the ones wanted. The
search proves nothing when it finds nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.search.prefix_tree import DEFAULT_MEMORY, Frontier, PrefixTree
from rnncheck.words import Codes, IntArray

_DIRECTIONS = 8  # hidden states are told apart by so many numbers each, seen from random directions
_COARSEST, _FINEST, _HALVINGS = -8.0, 24.0, 12  # cells of a grid are 2^-x wide
_FAR = 2.0**53  # cells further out are one

_NARROWER = 0.8  # each level than the one before
_NARROWEST = 1e-6  # by then one word has been followed for long, and it leads nowhere

_Places = npt.NDArray[np.float64]


class MergedPass:
    """One walk of so many network steps, from words of one length on, for a violation that is ``shorter_than``."""

    def __init__(
        self,
        tree: PrefixTree,
        start: Frontier,
        rng: np.random.Generator,
        *,
        steps: int,
        shorter_than: int,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        self._tree = tree
        self._memory = memory
        self._longest = shorter_than - 1
        levels = max(1, self._longest - start.words.shape[1])
        self._width = steps / len(tree.spec.alphabet) * (1 - _NARROWER) / (1 - _NARROWER**levels)
        self._directions = rng.normal(size=(start.states[:1].size, _DIRECTIONS))
        self._mix = rng.integers(1, 1 << 62, size=_DIRECTIONS + 1) | 1
        self._front = start
        self.violation: Codes | None = None

    @property
    def length(self) -> int:
        return int(self._front.words.shape[1])

    @property
    def finished(self) -> bool:
        """Whether a violation was found, or no longer word may be one or is worth following."""
        ended = self.length >= self._longest or not len(self._front) or self._width < _NARROWEST
        return self.violation is not None or ended

    def advance(self) -> None:
        """Let the words grow by one letter; call it only while not ``finished``."""
        room = self._front.room(self._memory, len(self._tree.spec.alphabet))
        before = self._merged(self._front, max(1, min(int(self._width), room)))
        self._width *= _NARROWER
        grown = self._tree.children(before, self._tree.within(self._longest - self.length - 1))
        self._front = grown
        if len(grown):
            broken = self._tree.broken(grown, self._tree.scores(grown))
            if broken.any():
                self.violation = grown.word(int(broken.argmax()))

    def _merged(self, frontier: Frontier, width: int) -> Frontier:
        """The shortlex-least word of each cell, on the finest grid that leaves at most ``width`` of them."""
        if len(frontier) <= width:
            return frontier
        seen = self._places(frontier)
        coarse, fine = _COARSEST, _FINEST
        kept: IntArray | None = None
        for _ in range(_HALVINGS):
            middle = (coarse + fine) / 2
            cells = self._cells(frontier, seen * 2.0**middle)
            if _distinct(cells) <= width:
                coarse, kept = middle, cells
            else:
                fine = middle
        if kept is None:  # not even the coarsest grid is coarse enough
            return frontier.take(np.arange(width))
        return frontier.take(np.sort(np.unique(kept, return_index=True)[1]))

    def _places(self, frontier: Frontier) -> _Places:
        """The hidden states, from each direction; large values, such as those of memories, are all alike."""
        states = frontier.states.reshape(len(frontier), -1)
        if np.issubdtype(states.dtype, np.floating):
            states = np.tanh(states)
        with single_threaded_blas, np.errstate(all="ignore"):
            seen = states @ self._directions.astype(np.result_type(states, np.float32))
        return np.asarray(np.nan_to_num(seen.astype(np.float64)))

    def _cells(self, frontier: Frontier, places: _Places) -> IntArray:
        cells = np.floor(np.clip(places, -_FAR, _FAR)).astype(np.int64) @ self._mix[1:]
        return np.asarray(cells + frontier.spec_states * self._mix[0])


def _distinct(cells: IntArray) -> int:
    """How many there are; sorting numbers is much cheaper than finding out where each stood first."""
    ordered = np.sort(cells)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
