"""Words with their states, one row each: the piece of the prefix tree that a search holds in its hands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.models.protocol import Scores, States, SteppingModel, Tick, no_tick, settle
from rnncheck.relations import Relation
from rnncheck.words import Codes, IntArray


@dataclass(frozen=True)
class Frontier:
    """Words of one length in shortlex order, each with the model's state and the specification's after it."""

    words: npt.NDArray[np.int32]  # one row a word, one column a letter
    states: States
    spec_states: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: IntArray | slice) -> Frontier:
        """Some of the words, in the order given."""
        return Frontier(self.words[rows], self.states[rows], self.spec_states[rows])

    def word(self, row: int) -> Codes:
        return tuple(self.words[row].tolist())


class PrefixTree:
    """The prefix tree of all words, read by a stepping model and a specification side by side."""

    def __init__(self, model: SteppingModel, spec: DFA, relation: Relation, tick: Tick, asked: Tick = no_tick) -> None:
        """``tick`` is told of steps before they are computed, ``asked`` of words whose answer is looked at."""
        self.model = model
        self.spec = spec.over(model.alphabet)
        self.relation = relation
        self._tick = tick
        self._asked = asked
        self.open_states = relation.open_states(self.spec)
        self.breakable = relation.can_break(self.spec.accepting)

    def root(self) -> Frontier:
        """The empty word alone."""
        spec_states = np.array([self.spec.initial], dtype=np.int32)
        return Frontier(np.zeros((1, 0), dtype=np.int32), self.model.initial(1), spec_states)

    def empty_word_breaks(self) -> bool:
        """Whether the empty word, which is never read off a state, breaks the relation."""
        accepted = np.array([self.model.accepts_empty])
        return bool(self.relation.broken(accepted, self.spec.accepting[[self.spec.initial]])[0])

    def children(self, frontier: Frontier, wanted: Mask) -> Frontier:
        """All one-letter extensions that lead to a ``wanted`` state of the specification, in shortlex order."""
        letters = len(self.spec.alphabet)
        spec_states = self.spec.transitions[frontier.spec_states].ravel()
        keep = np.flatnonzero(wanted[spec_states])
        parents, codes = keep // letters, keep % letters
        self._tick(len(keep))
        states = self.model.step(frontier.states, codes, rows=parents)
        words = np.hstack([frontier.words[parents], codes[:, None].astype(np.int32)])
        return Frontier(words, states, spec_states[keep])

    def scores(self, frontier: Frontier) -> Scores:
        """The model's score of each word (of at least one letter)."""
        return self.model.scores(frontier.states)

    def broken(self, frontier: Frontier, scores: Scores) -> Mask:
        """Which words (of at least one letter) break the relation, by the model's settled answers."""
        result = self.breakable[frontier.spec_states]
        rows = np.flatnonzero(result)
        self._asked(len(rows))
        answers = settle(scores[rows], self.model.margin, lambda i: frontier.word(int(rows[i])), self._definition)
        result[rows] = self.relation.broken(answers, self.spec.accepting[frontier.spec_states[rows]])
        return result

    def _definition(self, word: Codes) -> bool:
        self._tick(len(word))
        return self.model.definition(word)
