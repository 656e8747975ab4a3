"""The words that could be violations: their probability, and a sample of them.

Where the specification rejects hardly any word, a random word hardly ever tests "no false positives", and "satisfied"
means little. The words that could be violations are a regular language: its probability is known exactly, and words can
be sampled from it exactly, however rare they are.
"""

from __future__ import annotations

import functools

import numpy as np

from rnncheck.oracle import MembershipOracle
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property
from rnncheck.search.sampler import Sampler
from rnncheck.verdict.guarantee import PossibleWords


class MayViolateSample:
    """``mass`` is the probability of the words that could be violations; ``sampler`` draws only these."""

    def __init__(
        self,
        oracle: MembershipOracle,
        prop: Property,
        distribution: WordDistribution,
        confidence: Confidence,
        rng: np.random.Generator,
    ) -> None:
        self._oracle = oracle
        self._prop = prop
        self._distribution = distribution
        self._confidence = confidence
        self._rng = rng

    @functools.cached_property
    def mass(self) -> float:
        return self._distribution.mass(self._prop.possible_violations)

    @functools.cached_property
    def words(self) -> WordDistribution | None:
        """Their distribution; None where none of them has a positive probability."""
        return conditioned(self._distribution, self._prop.possible_violations)

    @functools.cached_property
    def sampler(self) -> Sampler | None:
        return None if self.words is None else Sampler(self._oracle, self.words, self._rng, self._prop)

    @property
    def drawn(self) -> int:
        """How many words were drawn from these, in whole batches without a violation."""
        sampler = vars(self).get("sampler")
        return 0 if sampler is None else int(sampler.words)

    @property
    def below_epsilon(self) -> bool:
        """Whether violations are rarer than ε whatever the model answers."""
        return 0.0 < self.mass < self._confidence.epsilon

    def guarantee(self, among_others: int) -> PossibleWords | None:
        """What they show, together with the ``among_others`` in a sample of all words.

        None where all words could be violations, or where nothing was drawn and their mass is not below ε.
        """
        words = self.drawn + among_others
        if self.mass >= 1.0 or not (words or self.below_epsilon):
            return None
        return PossibleWords(self.mass, words, self._confidence.achieved(words), self._confidence.gamma)
