"""Some of the words that searches come to, for whoever wants to look at them again."""

from __future__ import annotations

import numpy as np

from rnncheck.models.protocol import Scores
from rnncheck.search.prefix_tree import Frontier
from rnncheck.words import Codes

_MOST = 128


class MetWords:
    """Of each step of a search the outermost word, the one nearest to the decision, and one in the middle.

    When there are too many, every other one is forgotten, and from then on every other step is passed over.
    """

    def __init__(self) -> None:
        self.words: list[Codes] = []
        self._stride = 1
        self._steps = 0

    def look(self, frontier: Frontier, scores: Scores) -> None:
        """Take down some of the words that a search has just scored."""
        self._steps += 1
        if self._steps % self._stride or not len(frontier):
            return
        far = np.where(np.isfinite(scores), np.abs(scores), 0.0)
        # The same row may be two of these; how many words there are must not depend on the last bits of the scores.
        self.words += [frontier.word(row) for row in (int(far.argmax()), int(far.argmin()), len(frontier) // 2)]
        if len(self.words) > _MOST:
            self.words = self.words[::2]
            self._stride *= 2
