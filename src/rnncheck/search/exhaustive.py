"""Every word, shortest first: what is exact up to a length, and the provably shortest counterexample.

The prefix tree is stepped once. Branches from which the specification can no longer be violated are left out, and so
is, at the last length, every word that cannot be a violation whatever the model says to it.
"""

from __future__ import annotations

from rnncheck.automata.minimisation import look_at_time
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
        """The longest words of one length that are all held, but for those from which nothing can be violated."""
        return self._kept

    def affordable(self, longest: int, steps: int, plainly: int = 0, most: int = 0) -> int:
        """Up to which length, at most ``longest``, all words can be asked for so many network steps.

        It is at least the length that asking every word, from the beginning and leaving out none, comes to for
        ``plainly`` steps, where going there takes ``most`` steps or fewer.
        """
        length = self.length
        while length < longest:
            price = self.price(length + 1)
            if price > steps and (price > most or self._plain_price(length + 1) > plainly):
                break
            length += 1
        return length

    def price(self, longest: int) -> int:
        """Network steps until all words of at most so many letters are asked.

        Where words of the present length are not held, it is the price of going there in one walk.
        """
        counts, total = self._kept_words, 0
        for length in range(self._kept_length + 1, longest + 1 if longest > self.length else 0):
            look_at_time(0, length * len(counts))
            counts = self._longer(counts)
            passing = self._tree.within(longest - length) if self._descends else self._tree.open_states
            wanted = passing if length < longest else self._tree.breakable
            words = sum(count for count, is_wanted in zip(counts, wanted, strict=True) if is_wanted)
            total += words * self._tree.price(length)
        return total

    @property
    def _descends(self) -> bool:
        """Whether the words of the present length are not held."""
        return self._kept_length < self.length

    def _plain_price(self, longest: int) -> int:
        letters = len(self._tree.spec.alphabet)
        return sum(letters**length * self._tree.price(length) for length in range(1, longest + 1))

    def next_length(self, *, last: bool = False) -> None:
        """Ask all words that are one letter longer; call it only while not ``finished``.

        With ``last`` no longer ones are expected to follow, and words that are no violation themselves are left out.
        """
        if self.length < 0:
            if self._tree.empty_word_breaks():
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
        """The first violation so many levels below, walking the frontier in pieces with so many children."""
        wanted = self._tree.within(levels - 1)
        for some in self._tree.pieces(frontier, wanted, piece):
            below = self._tree.children(some, wanted)
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
