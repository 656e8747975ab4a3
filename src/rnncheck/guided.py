"""A search for rare violations: the prefix tree, followed where the model is most at odds with the specification.

A network that goes wrong on long words has usually lost track of where it is some letters before. The search therefore
keeps, for every state of the specification, the words whose score is furthest on the wrong side (or least far on the
right side) for that state, and extends those. It proves nothing when it finds nothing.
"""

from __future__ import annotations

import numpy as np

from rnncheck.models.protocol import Scores
from rnncheck.prefix_tree import Frontier, PrefixTree
from rnncheck.words import Codes, IntArray


class GuidedSearch:
    """A beam search that grows its words by one letter at a time."""

    def __init__(self, tree: PrefixTree, rng: np.random.Generator, width: int = 512) -> None:
        self._tree = tree
        self._rng = rng
        self._width = width
        self._beam: Frontier = tree.root()
        self.length = 0
        self.violation: Codes | None = () if tree.empty_word_breaks() else None

    @property
    def finished(self) -> bool:
        return self.violation is not None or not len(self._beam)

    def cost_of_next(self) -> int:
        """Network steps that the next length takes, at the most."""
        return len(self._beam) * len(self._tree.spec.alphabet)

    def next_length(self) -> None:
        """Extend the words of the beam by one letter each way, and keep the most promising."""
        grown = self._tree.children(self._beam, self._tree.open_states)
        self.length += 1
        if len(grown):
            scores = self._tree.scores(grown)
            broken = self._tree.broken(grown, scores)
            if broken.any():
                self.violation = grown.word(int(broken.argmax()))
                return
            grown = grown.take(self._most_promising(grown, scores))
        self._beam = grown

    def _most_promising(self, frontier: Frontier, scores: Scores) -> IntArray:
        """Up to ``width`` rows: equally many for each state, furthest on the wrong side first."""
        accepting = self._tree.spec.accepting[frontier.spec_states]
        wrongness = np.where(accepting, -scores, scores)
        # A little noise breaks the ties of saturated scores, so that the beam does not fill with copies of one state.
        wrongness += self._rng.normal(scale=1e-3, size=len(wrongness))
        order = np.lexsort((-wrongness, frontier.spec_states))
        states = frontier.spec_states[order]
        starts = np.flatnonzero(np.append(True, states[1:] != states[:-1]))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        kept = order[np.argsort(rank, kind="stable")[: self._width]]
        return np.sort(kept)
