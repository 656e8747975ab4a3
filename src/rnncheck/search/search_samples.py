"""Samples of the words that searches visit, to be checked again later."""

from __future__ import annotations

import numpy as np

from rnncheck.models.protocol import Scores
from rnncheck.search.prefix_tree import Frontier
from rnncheck.words import Codes

_MOST = 128


class SearchSamples:
    """From each step of a search: the word furthest from the threshold, the one nearest to it, and the middle one.

    When there are too many, every other one is dropped, and from then on every other step is skipped.
    """

    def __init__(self) -> None:
        self.words: list[Codes] = []
        self._stride = 1
        self._steps = 0

    def look(self, frontier: Frontier, scores: Scores) -> None:
        """Record some of the words that a search has just scored."""
        self._steps += 1
        if self._steps % self._stride or not len(frontier):
            return
        far = np.where(np.isfinite(scores), np.abs(scores), 0.0)
        # One row may be two of these: the number of words must not depend on the last bits of the scores.
        self.words += [frontier.word(row) for row in (int(far.argmax()), int(far.argmin()), len(frontier) // 2)]
        if len(self.words) > _MOST:
            self.words = self.words[::2]
            self._stride *= 2
