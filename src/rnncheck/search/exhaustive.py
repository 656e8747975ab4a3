"""Every word, shortest first: what is exact up to a length, and the provably shortest counterexample.

The prefix tree is stepped once. Branches from which the specification can no longer be violated are left out, and so
is, at the last length, every word that cannot be a violation whatever the model says to it.
"""

from __future__ import annotations

from rnncheck.automata.dfa import Mask
from rnncheck.search.prefix_tree import DEFAULT_MEMORY, Frontier, PrefixTree
from rnncheck.words import Codes

# Levels of the tree are kept for the next length while they fit into this; a level that does not is walked
# depth first in pieces, from the last level that did, and its words are stepped again for each further length.


class ExhaustiveSearch:
    """Asks all words of length 0, 1, 2, … in turn.

    ``length`` is the longest length that is done: no word of at most so many letters is a violation, unless
    ``violation`` holds one, which is then the shortlex-least of all.
    """

    def __init__(self, tree: PrefixTree, memory: int = DEFAULT_MEMORY) -> None:
        self._tree = tree
        self._memory = memory
        self._kept: Frontier = tree.root()
        self._kept_length = 0
        self._open_words = [0] * len(tree.spec)  # how many words of the present length lead to each state
        self._open_words[tree.spec.initial] = 1
        self.length = -1
        self.violation: Codes | None = None

    @property
    def finished(self) -> bool:
        """Whether a violation was found, or no longer word can be one."""
        return self.violation is not None or not any(
            count and is_open for count, is_open in zip(self._open_words, self._tree.open_states, strict=True)
        )

    def next_length(self) -> None:
        """Ask all words that are one letter longer; call it only while not ``finished``."""
        if self.length < 0:
            if self._tree.empty_word_breaks():
                self.violation = ()
        else:
            self._next_level()
            self._count_words()
        self.length += 1

    def _next_level(self) -> None:
        room = self._kept.room(self._memory, len(self._tree.spec.alphabet))
        if self._kept_length == self.length and len(self._kept) <= room:
            self._kept = self._tree.children(self._kept, self._tree.open_states)
            self._kept_length += 1
            self.violation = self._first_violation(self._kept)
        else:
            piece = max(1, room // (self.length + 2 - self._kept_length))
            self.violation = self._descend(self._kept, self.length + 1 - self._kept_length, piece)

    def _descend(self, frontier: Frontier, levels: int, piece: int) -> Codes | None:
        """The first violation so many levels below, walking the frontier in pieces of so many rows."""
        wanted: Mask = self._tree.open_states if levels > 1 else self._tree.breakable
        for start in range(0, len(frontier), piece):
            below = self._tree.children(frontier.take(slice(start, start + piece)), wanted)
            found = self._first_violation(below) if levels == 1 else self._descend(below, levels - 1, piece)
            if found is not None:
                return found
        return None

    def _first_violation(self, frontier: Frontier) -> Codes | None:
        broken = self._tree.broken(frontier, self._tree.scores(frontier))
        return frontier.word(int(broken.argmax())) if broken.any() else None

    def _count_words(self) -> None:
        counts = [0] * len(self._open_words)
        for state, row in enumerate(self._tree.spec.transitions.tolist()):
            if self._open_words[state]:
                for successor in row:
                    counts[successor] += self._open_words[state]
        self._open_words = counts
