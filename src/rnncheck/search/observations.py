"""A model and automata on the same words: where is it not as it should be?"""

from __future__ import annotations

from collections.abc import Sequence
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
        return self._counting(self.relation.may_violate(self.other.outputs[states]), states)

    def broken(self, answers: npt.NDArray[Any], states: npt.NDArray[np.integer]) -> Mask:
        """Which words break it, from the model's answers and the states in which they end."""
        return self._counting(self.relation.broken(answers, self.other.outputs[states]), states)

    def first_broken(self, words: WordBatch, answers: npt.NDArray[Any]) -> int | None:
        """The position of the first word that breaks it, from the model's answers to all; None where none does."""
        broken = self.broken(answers, self.other.support.end_states(words))
        return int(np.argmax(broken)) if broken.any() else None

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
    def together(cls, parts: Sequence[AnsweredWords]) -> AnsweredWords:
        """All words of some, which are one model's, in their order."""
        return cls(
            WordBatch.joined([part.words for part in parts]),
            np.concatenate([part.answers for part in parts]),
            parts[0].prefixes,
            next((part.empty for part in parts if part.empty is not None), None),
        )

    @classmethod
    def of(cls, oracle: MembershipOracle, words: WordBatch) -> AnsweredWords:
        """Ask the oracle."""
        prefixes = oracle.stepping
        answers = oracle.prefix_answers(words) if prefixes else oracle.answers(words)
        empty = np.array([oracle.answer(())]) if (words.lengths == 0).any() else None
        return cls(words, answers, prefixes, empty)

    @classmethod
    def whole(cls, words: WordBatch, answers: npt.NDArray[Any]) -> AnsweredWords:
        """Words that were asked as wholes."""
        empty = answers[words.lengths == 0][:1]
        return cls(words, answers, prefixes=False, empty=empty if len(empty) else None)

    def count_broken(self, side: Side) -> int:
        """How many of the words, as wholes, break a side's relation."""
        filled = self.words.lengths > 0
        answers = self.answers[self.words.offsets[1:][filled] - 1] if self.prefixes else self.answers[filled]
        states = side.other.support.end_states(self.words)
        empty_words = (
            0 if self.empty is None else side.broken(self.empty.repeat((~filled).sum()), states[~filled]).sum()
        )
        return int(empty_words + side.broken(answers, states[filled]).sum())

    def all_broken(self, side: Side, most: int) -> dict[Codes, int]:
        """Shortlex-least words that break a side's relation with the model's answers, shortest first: at most one for
        each transition with which the automaton ends up wrong, and at most so many.

        Words that end with the same transition are likely to be wrong for the same reason.
        """
        automaton, words = side.other.support, self.words
        found: dict[Codes, int] = {}
        if self.empty is not None and side.broken(self.empty, np.array([automaton.initial]))[0]:
            found[()] = int(self.empty[0])
        visited = automaton.visited(words)
        ends = words.offsets[1:][words.lengths > 0] - 1
        at = np.arange(len(words.codes)) if self.prefixes else ends
        answers = self.answers if self.prefixes else self.answers[words.lengths > 0]
        wrong = side.broken(answers, visited[at])
        at, answers = at[wrong], answers[wrong]
        owner = np.searchsorted(words.offsets, at, side="right") - 1
        starts = words.offsets[owner]
        before = np.where(at == starts, automaton.initial, visited[at - 1])
        shortest_first = np.argsort(at - starts, kind="stable")
        transitions = before * automaton.transitions.shape[1] + words.codes[at]
        _, first = np.unique(transitions[shortest_first], return_index=True)
        for i in shortest_first[np.sort(first)[:most]].tolist():
            found[tuple(words.codes[starts[i] : at[i] + 1].tolist())] = int(answers[i])
        return found

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
