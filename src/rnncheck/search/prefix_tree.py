"""Words with their states, one row each: the piece of the prefix tree that a search holds in its hands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.branches import Branches
from rnncheck.automata.dfa import Mask
from rnncheck.models.protocol import Scores, States
from rnncheck.oracle import Stepper
from rnncheck.relations import Property
from rnncheck.words import Codes, IntArray


@dataclass(frozen=True)
class Frontier:
    """Words of one length in shortlex order, each with the model's state and the specification's after it."""

    words: npt.NDArray[np.int32]  # one row per word, one column per letter
    states: States
    spec_states: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: IntArray | slice) -> Frontier:
        """Some of the words, in the order given."""
        return Frontier(self.words[rows], self.states[rows], self.spec_states[rows])

    def word(self, row: int) -> Codes:
        return tuple(self.words[row].tolist())

    def room(self, memory: int, letters: int) -> int:
        """How many such words may be extended by every letter within so many bytes."""
        row_bytes: int = self.states[:1].nbytes + self.words.itemsize * (self.words.shape[1] + 1) + _SCRATCH_BYTES
        return memory // max(1, row_bytes * letters)


# What an extended word takes besides: its parent, letter and state of the specification, its score, and its rank.
_SCRATCH_BYTES = 160
DEFAULT_MEMORY = 1 << 28  # bytes that a search may take

Look: TypeAlias = Callable[[Frontier, Scores], None]


def look_at_nothing(frontier: Frontier, scores: Scores) -> None:
    """The silent default."""


class PrefixTree:
    """The prefix tree of all words, read by a model and a specification side by side.

    ``look`` is shown words with their scores as a search comes to them.
    """

    def __init__(self, stepper: Stepper, watched: Property, look: Look = look_at_nothing) -> None:
        self._stepper = stepper
        self._look = look
        self._watched = watched.over(stepper.alphabet)
        self.spec, self.relation = self._watched.spec, watched.relation
        self.open_states, self.breakable = self._watched.open_states, self._watched.may_violate
        self._within = [self.breakable]
        self._branches: dict[bytes, Branches] = {}

    def root(self) -> Frontier:
        """The empty word alone."""
        spec_states = np.array([self.spec.initial], dtype=np.int32)
        return Frontier(np.zeros((1, 0), dtype=np.int32), self._stepper.initial(1), spec_states)

    def empty_word_breaks(self) -> bool:
        """Whether the empty word, which is never read off a state, breaks the relation."""
        accepted = np.array([self._stepper.accepts_empty])
        return bool(self._watched.broken(accepted, np.array([self.spec.initial]))[0])

    def price(self, length: int) -> int:
        """What one more word of so many letters costs, once its beginning is known, in network steps."""
        return self._stepper.price(length)

    def within(self, letters: int) -> Mask:
        """The states of the specification from which so many letters, or fewer, can lead to a violation."""
        while len(self._within) <= letters and not np.array_equal(self._within[-1], self.open_states):
            near = self._within[-1]
            self._within.append(near | near[self.spec.transitions].any(axis=1))
        return self._within[min(letters, len(self._within) - 1)]

    def children(self, frontier: Frontier, wanted: Mask) -> Frontier:
        """All one-letter extensions that lead to a ``wanted`` state of the specification, in shortlex order."""
        parents, codes = self._leading_to(wanted).follow(frontier.spec_states)
        states = self._stepper.step(frontier.states, codes, rows=parents)
        words = np.hstack([frontier.words[parents], codes[:, None].astype(np.int32)])
        return Frontier(words, states, self.spec.transitions[frontier.spec_states[parents], codes])

    def pieces(self, frontier: Frontier, wanted: Mask, room: int) -> Iterator[Frontier]:
        """The words in order, so many at a time that they have at most ``room`` children, or one that has more."""
        ends, start = np.cumsum(self._leading_to(wanted).counts(frontier.spec_states)), 0
        while start < len(frontier):
            done = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, done + room, side="right")))
            yield frontier.take(slice(start, end))
            start = end

    def _leading_to(self, wanted: Mask) -> Branches:
        key = wanted.tobytes()
        if key not in self._branches:
            self._branches[key] = Branches(self.spec.transitions, wanted)
        return self._branches[key]

    def scores(self, frontier: Frontier) -> Scores:
        """The model's score of each word (of at least one letter)."""
        scores = self._stepper.scores(frontier.states)
        self._look(frontier, scores)
        return scores

    def broken(self, frontier: Frontier, scores: Scores) -> Mask:
        """Which words (of at least one letter) break the relation, by the model's answers."""
        result = self.breakable[frontier.spec_states]
        rows = np.flatnonzero(result)
        answers = self._stepper.answers(scores[rows], lambda i: frontier.word(int(rows[i])))
        result[rows] = self._watched.broken(answers, frontier.spec_states[rows])
        return result
