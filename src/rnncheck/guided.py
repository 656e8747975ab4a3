"""A search for rare violations: the prefix tree, followed where the model's scores say that a mistake may be near.

Each beam keeps, for every state of the specification, the words that rank highest for that state, and extends them by
one letter at a time. No single ranking is best: a network that has lost track of where it is shows it by scores on
the wrong side, or near the decision, or not at all, so several beams run side by side. The search proves nothing when
it finds nothing.
"""

from __future__ import annotations

import enum

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.protocol import Scores
from rnncheck.prefix_tree import Frontier, PrefixTree
from rnncheck.relations import Relation
from rnncheck.words import Codes, IntArray


class Ranking(enum.Enum):
    """What makes a word promising."""

    WRONG_SIDE = "score on the wrong side for the specification's state"
    WRONG_SIDE_LOOSELY = "the same, with noise as large as the scores"
    NEAR_DECISION = "score close to the decision"
    TOWARDS_VIOLATION = "score on the side that a violation needs"
    RANDOM = "chance: a random sample of each state of the specification"

    def values(self, scores: Scores, accepting: Mask, relation: Relation, rng: np.random.Generator) -> Scores:
        """One number a word, the most promising highest. A little noise breaks the ties of saturated scores."""
        noise = rng.normal(size=len(scores))
        if self is Ranking.RANDOM:
            return noise
        if self is Ranking.NEAR_DECISION:
            return -np.abs(scores) + 1e-3 * noise
        if self is Ranking.TOWARDS_VIOLATION and relation is not Relation.EQUAL:
            return (scores if relation is Relation.SUBSET else -scores) + 1e-3 * noise
        wrong_side = np.where(accepting, -scores, scores)
        loose = 0.3 * float(np.median(np.abs(scores))) if self is Ranking.WRONG_SIDE_LOOSELY else 0.0
        return wrong_side + max(loose, 1e-3) * noise


class Beam:
    """One beam: words of one length, ranked one way."""

    def __init__(self, tree: PrefixTree, ranking: Ranking, rng: np.random.Generator, width: int) -> None:
        self._tree = tree
        self._ranking = ranking
        self._rng = rng
        self._width = width
        self._front: Frontier = tree.root()
        self.length = 0

    @property
    def cost_of_next(self) -> int:
        """Network steps that the next length takes, at the most."""
        return len(self._front) * len(self._tree.spec.alphabet)

    def grow(self) -> Codes | None:
        """Extend the words by every letter; a violation among them, or None after keeping the most promising."""
        grown = self._tree.children(self._front, self._tree.open_states)
        self.length += 1
        self._front = grown
        if not len(grown):
            return None
        scores = self._tree.scores(grown)
        broken = self._tree.broken(grown, scores)
        if broken.any():
            return grown.word(int(broken.argmax()))
        self._front = grown.take(self._most_promising(grown, scores))
        return None

    def _most_promising(self, frontier: Frontier, scores: Scores) -> IntArray:
        """Up to ``width`` rows, as equally divided among the specification's states as can be."""
        accepting = self._tree.spec.accepting[frontier.spec_states]
        values = self._ranking.values(scores, accepting, self._tree.relation, self._rng)
        order = np.lexsort((-values, frontier.spec_states))
        states = frontier.spec_states[order]
        starts = np.flatnonzero(np.append(True, states[1:] != states[:-1]))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        return np.sort(order[np.argsort(rank, kind="stable")[: self._width]])


class GuidedSearch:
    """Beams of every ranking, in turn one letter longer each; begun anew with other noise when they are long."""

    def __init__(self, tree: PrefixTree, rng: np.random.Generator, *, width: int = 512, longest: int = 20) -> None:
        self._tree = tree
        self._rng = rng
        self._width = width
        self._longest = longest
        self._beams: list[Beam] = []
        self._turn = 0
        self.violation: Codes | None = () if tree.empty_word_breaks() else None

    @property
    def finished(self) -> bool:
        """Whether a violation was found, or none exists: no state is open."""
        return self.violation is not None or not self._tree.open_states[self._tree.spec.initial]

    def cost_of_next(self) -> int:
        """Network steps that the next turn takes, at the most."""
        return self._next_beam().cost_of_next

    def advance(self) -> None:
        """Let the next beam grow by one letter."""
        self.violation = self._next_beam().grow()
        self._turn += 1

    def _next_beam(self) -> Beam:
        place = self._turn % len(Ranking)
        if place == 0 and (not self._beams or self._beams[0].length >= self._longest):
            self._beams = [Beam(self._tree, ranking, self._rng, self._width) for ranking in Ranking]
            self._longest *= 2 if self._turn else 1
        return self._beams[place]
