"""Equivalence by independent random words: the one strategy whose passing is a statistical claim."""

from __future__ import annotations

from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle, Testing
from rnncheck.learning.equivalence.replayed_words import MOST_COUNTEREXAMPLES, ReplayedWords
from rnncheck.probability.confidence import Confidence
from rnncheck.relations import Relation
from rnncheck.search.observations import Expectation
from rnncheck.search.sampler import Sampler, SampleResult
from rnncheck.words import Codes


class SamplingEquivalence(EquivalenceOracle):
    """Draws words until one is a counterexample, or until enough passed for ε and γ.

    Model and hypothesis should be in ``relation``. A learner's hypotheses depend on earlier tests, so each test has its
    share of γ; a hypothesis that does not depend on tests (``independent``) has all of it. Drawn words are added to
    ``replayed``, and show further counterexamples to this hypothesis. They do not count as a test of later
    hypotheses, for which new words are drawn.
    """

    def __init__(
        self,
        sampler: Sampler,
        confidence: Confidence,
        relation: Relation,
        *,
        independent: bool = False,
        replayed: ReplayedWords | None = None,
    ) -> None:
        self._sampler = sampler
        self._confidence = confidence
        self._relation = relation
        self._independent = independent
        self._replayed = replayed
        self._tests = 0

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        number, confidence = self._tests, self._confidence
        self._tests += 1
        needed = confidence.words if self._independent else confidence.words_of_test(number)
        passed = 0
        while passed < needed:
            drawn = self._sampler.draw(needed - passed, (hypothesis, self._relation))
            if self._replayed is not None:
                self._replayed.keep(drawn.observed)
            if drawn.violation is not None or drawn.difference is not None:
                others = {} if self._replayed is None else self._others(drawn, hypothesis)
                return EquivalenceAnswer(drawn.difference, words=passed, violation=drawn.violation, others=others)
            passed += drawn.words
            yield
        achieved = confidence.achieved(passed) if self._independent else confidence.achieved_by_test(passed, number)
        return EquivalenceAnswer(epsilon=achieved, words=passed)

    def _others(self, drawn: SampleResult, hypothesis: Hypothesis) -> dict[Codes, int]:
        """Further counterexamples of the batch."""
        found = drawn.observed.all_broken(Expectation(hypothesis, self._relation), MOST_COUNTEREXAMPLES)
        return {word: answer for word, answer in found.items() if word != drawn.difference}
