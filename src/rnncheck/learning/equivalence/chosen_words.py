"""Equivalence by words that somebody chooses: what every strategy without a statistical claim has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle, Testing
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Property, Relation
from rnncheck.search.comparing import AnsweredWords, Side
from rnncheck.words import WordBatch


class Comparing(NamedTuple):
    """What words are asked for: ``relation`` is what model and hypothesis should be in.

    Violations of ``watched`` met on the way end the test too. Words are cut to ``max_length`` letters.
    """

    oracle: MembershipOracle
    relation: Relation
    watched: Property | None = None
    max_length: int | None = None


class ChosenWords(EquivalenceOracle):
    """Asks the words of ``batches``, prefixes included, until one is a counterexample.

    Passing shows nothing of other words.
    """

    def __init__(self, comparing: Comparing) -> None:
        self._oracle, self._relation, watched, self._max_length = comparing
        self._watched = Side.of(watched)

    @abstractmethod
    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        """The words to ask, the most telling first."""

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        asked = 0
        for words in self.batches(hypothesis):
            words = words if self._max_length is None else words.cut(self._max_length)
            observed = AnsweredWords.of(self._oracle, words)
            violation = observed.least_broken(self._watched)
            difference = observed.least_broken(Side(hypothesis, self._relation))
            if violation is not None or difference is not None:
                return EquivalenceAnswer(difference, words=asked, violation=violation)
            asked += len(words)
            yield
        return EquivalenceAnswer(words=asked)
