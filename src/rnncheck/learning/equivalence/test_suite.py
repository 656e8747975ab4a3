"""Equivalence by words that somebody chooses: what every strategy without a statistical claim has in common."""

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
    """What words are asked for: ``relation`` is what model and hypothesis should be in.

    Violations of ``watched`` met on the way end the test too. Words are cut to ``max_length`` letters. What was asked
    is kept (``kept``) for hypotheses to come. ``distribution`` is how random words are drawn, and ``own`` are words
    that the person has.
    """

    oracle: MembershipOracle
    relation: Relation
    watched: Property | None = None
    max_length: int | None = None
    kept: ReplayedWords | None = None
    distribution: WordDistribution | None = None
    own: tuple[Codes, ...] = ()


class SuiteEquivalence(EquivalenceOracle):
    """Asks the words of ``batches``, prefixes included, until one is a counterexample.

    Passing shows nothing of other words.
    """

    def __init__(self, context: EquivalenceContext) -> None:
        self._oracle, self._relation, watched, self._max_length, self._kept, *_ = context
        self._watched = Expectation.of(watched)

    @abstractmethod
    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        """The words to ask, the most telling first."""

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        asked = 0
        for words in self.batches(hypothesis):
            words = words if self._max_length is None else words.cut(self._max_length)
            observed = Observations.of(self._oracle, words)
            if self._kept is not None:
                self._kept.keep(observed)
            violation = observed.least_broken(self._watched)
            differences = observed.all_broken(Expectation(hypothesis, self._relation), MOST_COUNTEREXAMPLES)
            if violation is not None or differences:
                least = next(iter(differences), None)
                others = {word: answer for word, answer in differences.items() if word != least}
                return EquivalenceAnswer(least, words=asked, violation=violation, others=others)
            asked += len(words)
            yield
        return EquivalenceAnswer(words=asked)
