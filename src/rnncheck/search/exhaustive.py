"""Every word, shortest first: what is exact up to a length, and the provably shortest counterexample.

The prefix tree is stepped once. Branches from which no violation can follow are left out, and so
is, at the last length, every word that cannot be a violation whatever the model answers.
"""

from __future__ import annotations

from rnncheck.automata.minimisation import look_at_time
from rnncheck.search.prefix_tree import DEFAULT_MEMORY, Frontier, PrefixTree
from rnncheck.words import Codes

# Levels of the tree are kept for the next length while they fit into memory; a level that does not is walked
# depth first in pieces, from the last level that did, and its words are stepped again for each further length.


class ExhaustiveSearch:
    """Queries all words of length 0, 1, 2, … in turn.

    ``length`` is the longest length that is complete: no word of at most that many letters is a violation, unless
    ``violation`` is one, which is then the shortlex-least of all.
    """

    def __init__(self, tree: PrefixTree, memory: int = DEFAULT_MEMORY) -> None:
        self._tree = tree
        self._memory = memory
        self._kept: Frontier = tree.root()
        self._kept_length = 0
        self._open_words = [0] * len(tree.spec)  # how many words of the current length lead to each state
        self._open_words[tree.spec.initial] = 1
        self._kept_words = self._open_words
        self.length = -1
        self.violation: Codes | None = None

    @property
    def finished(self) -> bool:
        """Whether a violation was found, or no longer word can be one."""
        return self.violation is not None or not any(
            count and is_open for count, is_open in zip(self._open_words, self._tree.open_states, strict=True)
        )

    @property
    def kept(self) -> Frontier:
        """The longest level of the tree that is kept, without words from which no violation can follow."""
        return self._kept

    def affordable(self, longest: int, steps: int, plain_steps: int = 0, most: int = 0) -> int:
        """The length, at most ``longest``, up to which all words can be queried within ``steps`` network steps.

        It is at least the length that querying every word from the start, leaving out none, reaches within
        ``plain_steps``, where this search takes at most ``most`` steps to get there.
        """
        length = self.length
        while length < longest:
            price = self.price(length + 1)
            if price > steps and (price > most or self._plain_price(length + 1) > plain_steps):
                break
            length += 1
        return length

    def price(self, longest: int) -> int:
        """Network steps until all words of at most ``longest`` letters are queried.

        Where the level of the current length is not kept, it is the price of one walk from the last kept level.
        """
        counts, total = self._kept_words, 0
        for length in range(self._kept_length + 1, longest + 1 if longest > self.length else 0):
            look_at_time(0, length * len(counts))
            counts = self._longer(counts)
            passing = self._tree.within(longest - length) if self._descends else self._tree.open_states
            targets = passing if length < longest else self._tree.may_violate
            words = sum(count for count, is_target in zip(counts, targets, strict=True) if is_target)
            total += words * self._tree.price(length)
        return total

    @property
    def _descends(self) -> bool:
        """Whether the level of the current length is not kept."""
        return self._kept_length < self.length

    def _plain_price(self, longest: int) -> int:
        letters = len(self._tree.spec.alphabet)
        return sum(letters**length * self._tree.price(length) for length in range(1, longest + 1))

    def next_length(self, *, last: bool = False) -> None:
        """Query all words that are one letter longer; call it only while not ``finished``.

        With ``last`` no further call is expected, and words that cannot be violations themselves are left out.
        """
        if self.length < 0:
            if self._tree.empty_word_violates():
                self.violation = ()
        else:
            self._next_level(last)
            self._open_words = self._longer(self._open_words)
        self.length += 1

    def _next_level(self, last: bool) -> None:
        letters = len(self._tree.spec.alphabet)
        room = self._kept.room(self._memory, letters)
        if self._kept_length == self.length and len(self._kept) <= room and not last:
            self._kept = self._tree.children(self._kept, self._tree.open_states)
            self._kept_words = self._longer(self._kept_words)
            self._kept_length += 1
            self.violation = self._first_violation(self._kept)
        else:
            piece = letters * room // (self.length + 2 - self._kept_length)
            self.violation = self._descend(self._kept, self.length + 1 - self._kept_length, piece)

    def _descend(self, frontier: Frontier, levels: int, piece: int) -> Codes | None:
        """The first violation ``levels`` below, walking the frontier in pieces of at most ``piece`` children."""
        targets = self._tree.within(levels - 1)
        for some in self._tree.pieces(frontier, targets, piece):
            below = self._tree.children(some, targets)
            found = self._first_violation(below) if levels == 1 else self._descend(below, levels - 1, piece)
            if found is not None:
                return found
        return None

    def _first_violation(self, frontier: Frontier) -> Codes | None:
        broken = self._tree.broken(frontier, self._tree.scores(frontier))
        return frontier.word(int(broken.argmax())) if broken.any() else None

    def _longer(self, counts: list[int]) -> list[int]:
        """How many words that are one letter longer lead to each state."""
        longer = [0] * len(counts)
        for state, row in enumerate(self._tree.spec.transitions.tolist()):
            if counts[state]:
                for successor in row:
                    longer[successor] += counts[state]
        return longer
