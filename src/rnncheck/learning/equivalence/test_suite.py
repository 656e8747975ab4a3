"""Equivalence by a chosen test suite: the common part of all strategies without a statistical claim."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle, Testing
from rnncheck.learning.equivalence.replayed_words import MOST_COUNTEREXAMPLES, ReplayedWords
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.search.observations import Expectation, Observations
from rnncheck.words import Codes, WordBatch


class EquivalenceContext(NamedTuple):
    """What a strategy needs to choose and query words: model and hypothesis should be in ``relation``.

    Violations of ``watched`` that are found end the test too. Words are cut to ``max_length`` letters, and added to
    ``replayed`` for later hypotheses. ``distribution`` is for random words, and ``own`` are the user's own words.
    """

    oracle: MembershipOracle
    relation: Relation
    watched: Property | None = None
    max_length: int | None = None
    replayed: ReplayedWords | None = None
    distribution: WordDistribution | None = None
    own: tuple[Codes, ...] = ()


class SuiteEquivalence(EquivalenceOracle):
    """Queries the words of ``batches``, prefixes included, until one is a counterexample.

    Passing shows nothing about other words.
    """

    def __init__(self, context: EquivalenceContext) -> None:
        self._oracle, self._relation, watched, self._max_length, self._replayed, *_ = context
        self._watched = Expectation.of(watched)

    @abstractmethod
    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        """The words to query, the most informative first."""

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        queried = 0
        for words in self.batches(hypothesis):
            words = words if self._max_length is None else words.cut(self._max_length)
            observed = Observations.of(self._oracle, words)
            if self._replayed is not None:
                self._replayed.keep(observed)
            violation = observed.least_broken(self._watched)
            differences = observed.all_broken(Expectation(hypothesis, self._relation), MOST_COUNTEREXAMPLES)
            if violation is not None or differences:
                least = next(iter(differences), None)
                others = {word: answer for word, answer in differences.items() if word != least}
                return EquivalenceAnswer(least, words=queried, violation=violation, others=others)
            queried += len(words)
            yield
        return EquivalenceAnswer(words=queried)
