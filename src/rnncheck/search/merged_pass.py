"""Breadth-first search that merges words: those with the same state of the specification and nearly the same hidden
state.

A network that has learned its task visits few regions of its state space again and again. Words that lead to one region
continue alike, so one of them represents all, and the prefix tree becomes narrow enough to be walked far. At each
length the regions are as small as the steps for that length allow. Shorter words have more steps, since short
violations are preferred. That the search finds nothing proves nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.search.prefix_tree import DEFAULT_MEMORY, Frontier, PrefixTree
from rnncheck.words import Codes, IntArray

_DIRECTIONS = 8  # random projections by which hidden states are compared
_COARSEST, _FINEST, _HALVINGS = -8.0, 24.0, 12  # cells of a grid are 2^-x wide
_FAR = 2.0**53  # cells further out are merged

_NARROWER = 0.8  # width of each level, relative to the one before
_NARROWEST = 1e-6  # by then a single word has been followed for long without a violation

_Projections = npt.NDArray[np.float64]


class MergedPass:
    """One walk of at most ``steps`` steps, from the words of one length, for a violation ``shorter_than`` a length."""

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
        """Whether a violation was found, or no longer word can be one or is worth following."""
        ended = self.length >= self._longest or not len(self._front) or self._width < _NARROWEST
        return self.violation is not None or ended

    def advance(self) -> None:
        """Extend the words by one letter; call it only while not ``finished``."""
        room = self._front.room(self._memory, len(self._tree.spec.alphabet))
        before = self._merge(self._front, max(1, min(int(self._width), room)))
        self._width *= _NARROWER
        grown = self._tree.children(before, self._tree.within(self._longest - self.length - 1))
        self._front = grown
        if len(grown):
            broken = self._tree.broken(grown, self._tree.scores(grown))
            if broken.any():
                self.violation = grown.word(int(broken.argmax()))

    def _merge(self, frontier: Frontier, width: int) -> Frontier:
        """The shortlex-least word of each cell, on the finest grid that leaves at most ``width`` of them."""
        if len(frontier) <= width:
            return frontier
        projections = self._project(frontier)
        coarse, fine = _COARSEST, _FINEST
        kept: IntArray | None = None
        for _ in range(_HALVINGS):
            middle = (coarse + fine) / 2
            cells = self._cells(frontier, projections * 2.0**middle)
            if _count_distinct(cells) <= width:
                coarse, kept = middle, cells
            else:
                fine = middle
        if kept is None:  # not even the coarsest grid is coarse enough
            return frontier.take(np.arange(width))
        return frontier.take(np.sort(np.unique(kept, return_index=True)[1]))

    def _project(self, frontier: Frontier) -> _Projections:
        """The hidden states projected to each direction; large values, such as those of LSTM memories, are squashed."""
        states = frontier.states.reshape(len(frontier), -1)
        if np.issubdtype(states.dtype, np.floating):
            states = np.tanh(states)
        with single_threaded_blas, np.errstate(all="ignore"):
            projected = states @ self._directions.astype(np.result_type(states, np.float32))
        return np.asarray(np.nan_to_num(projected.astype(np.float64)))

    def _cells(self, frontier: Frontier, projections: _Projections) -> IntArray:
        cells = np.floor(np.clip(projections, -_FAR, _FAR)).astype(np.int64) @ self._mix[1:]
        return np.asarray(cells + frontier.spec_states * self._mix[0])


def _count_distinct(cells: IntArray) -> int:
    """The number of distinct cells; sorting is much cheaper than ``unique`` with first positions."""
    ordered = np.sort(cells)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
