"""A model and automata on the same words: where is it not as it should be?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.automata.moore import Hypothesis
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Property, Relation
from rnncheck.words import Codes, WordBatch, shortlex_key


class Side(NamedTuple):
    """An automaton, and the relation that the model should be in to it.

    ``whole_words``: only a word that breaks the relation as a whole counts, and is then cut to its shortest prefix that
    does. Otherwise every prefix counts. ``counts``: the states of the automaton whose words do; all where it is None.
    """

    other: Hypothesis
    relation: Relation
    whole_words: bool = False
    counts: Mask | None = None

    @classmethod
    def of(cls, watched: Property | None) -> Side | None:
        """The side of a property: any prefix that is a violation."""
        return None if watched is None else cls(watched.spec, watched.relation, counts=watched.counts)

    def can_break(self, words: WordBatch) -> Mask:
        """Which words could break the relation, whatever the model says to them."""
        states = self.other.support.end_states(words)
        return self._counting(self.relation.can_break(self.other.outputs[states]), states)

    def broken(self, answers: npt.NDArray[Any], states: npt.NDArray[np.integer]) -> Mask:
        """Which words break it, from the model's answers and the states in which they end."""
        return self._counting(self.relation.broken(answers, self.other.outputs[states]), states)

    def _counting(self, broken: Mask, states: npt.NDArray[np.integer]) -> Mask:
        return broken if self.counts is None else broken & self.counts[states]


@dataclass(frozen=True)
class AnsweredWords:
    """Words and what the model says of them: after every letter, if it is a stepping one (``prefixes``)."""

    words: WordBatch
    answers: npt.NDArray[Any]
    prefixes: bool
    empty: npt.NDArray[Any] | None  # the answer to the empty word, where it is among the words

    @classmethod
    def of(cls, oracle: MembershipOracle, words: WordBatch) -> AnsweredWords:
        """Ask the oracle."""
        prefixes = oracle.stepping
        answers = oracle.prefix_answers(words) if prefixes else oracle.answers(words)
        empty = np.array([oracle.answer(())]) if (words.lengths == 0).any() else None
        return cls(words, answers, prefixes, empty)

    def least_broken(self, side: Side | None) -> Codes | None:
        """The shortlex-least word that breaks a side's relation; None where none does."""
        if side is None:
            return None
        automaton = side.other.support
        if self.empty is not None and side.broken(self.empty, np.array([automaton.initial]))[0]:
            return ()
        if self.prefixes:
            broken = side.broken(self.answers, automaton.visited(self.words))
            return self.words.least_prefix(broken, of_marked_words=side.whole_words)
        broken = side.broken(self.answers, automaton.end_states(self.words))
        return min(self.words.take(broken), key=shortlex_key, default=None)
