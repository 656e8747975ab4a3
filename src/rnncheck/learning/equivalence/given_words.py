"""Equivalence on a fixed set of words: a sample to learn from, say."""

from __future__ import annotations

from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle, Testing
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Relation
from rnncheck.search.comparing import AnsweredWords, Side
from rnncheck.words import WordBatch


class GivenWords(EquivalenceOracle):
    """The same words for every hypothesis; the model is asked for them once."""

    def __init__(self, oracle: MembershipOracle, words: WordBatch, relation: Relation = Relation.EQUAL) -> None:
        self._observed = AnsweredWords.of(oracle, words)
        self._relation = relation

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        yield
        word = self._observed.least_broken(Side(hypothesis, self._relation))
        return EquivalenceAnswer(word, words=len(self._observed.words))
