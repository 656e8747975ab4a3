"""Words with the model's answers, and where these are not as an automaton requires."""

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


class Expectation(NamedTuple):
    """An automaton, and the relation in which the model should be to it.

    ``whole_words``: a word counts only if it breaks the relation itself, and is then cut to its shortest prefix that
    does. Otherwise every prefix counts. ``counts``: the states whose words count; all where it is None.
    """

    other: Hypothesis
    relation: Relation
    whole_words: bool = False
    counts: Mask | None = None

    @classmethod
    def of(cls, watched: Property | None) -> Expectation | None:
        """What a property expects: no prefix is a violation."""
        return None if watched is None else cls(watched.spec, watched.relation, counts=watched.counts)

    def may_violate(self, words: WordBatch) -> Mask:
        """Which words could break the relation, whatever the model answers."""
        states = self.other.support.end_states(words)
        return self._counting(self.relation.may_violate(self.other.outputs[states]), states)

    def broken(self, answers: npt.NDArray[Any], states: npt.NDArray[np.integer]) -> Mask:
        """Which words break it, from the model's answers and the states in which they end."""
        return self._counting(self.relation.broken(answers, self.other.outputs[states]), states)

    def first_broken(self, words: WordBatch, answers: npt.NDArray[Any]) -> int | None:
        """The position of the first word that breaks it, from the model's answers to all words, or None."""
        broken = self.broken(answers, self.other.support.end_states(words))
        return int(np.argmax(broken)) if broken.any() else None

    def _counting(self, broken: Mask, states: npt.NDArray[np.integer]) -> Mask:
        return broken if self.counts is None else broken & self.counts[states]


@dataclass(frozen=True)
class Observations:
    """Words and the model's answers: after every letter where the model is stepping (``prefixes``)."""

    words: WordBatch
    answers: npt.NDArray[Any]
    prefixes: bool
    empty: npt.NDArray[Any] | None  # the answer to the empty word, where it is among the words

    @classmethod
    def joined(cls, parts: Sequence[Observations]) -> Observations:
        """All words of several observations of one model, in order."""
        return cls(
            WordBatch.joined([part.words for part in parts]),
            np.concatenate([part.answers for part in parts]),
            parts[0].prefixes,
            next((part.empty for part in parts if part.empty is not None), None),
        )

    @classmethod
    def of(cls, oracle: MembershipOracle, words: WordBatch) -> Observations:
        """Query the oracle."""
        prefixes = oracle.stepping
        answers = oracle.prefix_answers(words) if prefixes else oracle.answers(words)
        empty = np.array([oracle.answer(())]) if (words.lengths == 0).any() else None
        return cls(words, answers, prefixes, empty)

    @classmethod
    def of_whole_words(cls, words: WordBatch, answers: npt.NDArray[Any]) -> Observations:
        """Observations of words that were queried without their prefixes."""
        empty = answers[words.lengths == 0][:1]
        return cls(words, answers, prefixes=False, empty=empty if len(empty) else None)

    def count_broken(self, expectation: Expectation) -> int:
        """How many of the words themselves (not their prefixes) break the relation."""
        filled = self.words.lengths > 0
        answers = self.answers[self.words.offsets[1:][filled] - 1] if self.prefixes else self.answers[filled]
        states = expectation.other.support.end_states(self.words)
        empty_words = (
            0 if self.empty is None else expectation.broken(self.empty.repeat((~filled).sum()), states[~filled]).sum()
        )
        return int(empty_words + expectation.broken(answers, states[filled]).sum())

    def all_broken(self, expectation: Expectation, most: int) -> dict[Codes, int]:
        """Shortlex-least words that break the relation, with the model's answers, shortest first: one per last
        transition of the automaton, and at most ``most``.

        Words that end with the same transition are likely to be wrong for the same reason.
        """
        automaton, words = expectation.other.support, self.words
        found: dict[Codes, int] = {}
        if self.empty is not None and expectation.broken(self.empty, np.array([automaton.initial]))[0]:
            found[()] = int(self.empty[0])
        visited = automaton.visited(words)
        ends = words.offsets[1:][words.lengths > 0] - 1
        at = np.arange(len(words.codes)) if self.prefixes else ends
        answers = self.answers if self.prefixes else self.answers[words.lengths > 0]
        wrong = expectation.broken(answers, visited[at])
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

    def least_broken(self, expectation: Expectation | None) -> Codes | None:
        """The shortlex-least word that breaks the relation; None where none does."""
        if expectation is None:
            return None
        automaton = expectation.other.support
        if self.empty is not None and expectation.broken(self.empty, np.array([automaton.initial]))[0]:
            return ()
        if self.prefixes:
            broken = expectation.broken(self.answers, automaton.visited(self.words))
            return self.words.least_prefix(broken, of_marked_words=expectation.whole_words)
        broken = expectation.broken(self.answers, automaton.end_states(self.words))
        return min(self.words.take(broken), key=shortlex_key, default=None)
