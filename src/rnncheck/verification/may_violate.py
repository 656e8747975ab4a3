"""The words that could be violations: how probable they are, and a sample of these alone.

Where the specification rejects hardly any word, a random word hardly ever tests "no false positives", and "satisfied"
comes cheap. The words that could be violations are a regular language: its probability is known exactly, and words can
be drawn from it exactly, however rare they are.
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


class PossibleSample:
    """``mass`` is the probability of the words that could be violations; ``sampler`` draws these alone."""

    def __init__(
        self,
        oracle: MembershipOracle,
        wanted: Property,
        distribution: WordDistribution,
        confidence: Confidence,
        rng: np.random.Generator,
    ) -> None:
        self._oracle = oracle
        self._wanted = wanted
        self._distribution = distribution
        self._confidence = confidence
        self._rng = rng

    @functools.cached_property
    def mass(self) -> float:
        return self._distribution.mass(self._wanted.possible_violations)

    @functools.cached_property
    def words(self) -> WordDistribution | None:
        """Their distribution; None where none of them has a positive probability."""
        return conditioned(self._distribution, self._wanted.possible_violations)

    @functools.cached_property
    def sampler(self) -> Sampler | None:
        return None if self.words is None else Sampler(self._oracle, self.words, self._rng, self._wanted)

    @property
    def drawn(self) -> int:
        """How many words were drawn from these alone, in whole batches without a violation."""
        sampler = vars(self).get("sampler")
        return 0 if sampler is None else int(sampler.words)

    @property
    def alone_below_epsilon(self) -> bool:
        """Whether a violation is rarer than asked for, whatever the model says."""
        return 0.0 < self.mass < self._confidence.epsilon

    def shown(self, among_others: int) -> PossibleWords | None:
        """What they show, with ``among_others`` of them that came in a sample of all words.

        None where all words could be violations, or nothing was drawn and their mass is nothing special.
        """
        words = self.drawn + among_others
        if self.mass >= 1.0 or not (words or self.alone_below_epsilon):
            return None
        return PossibleWords(self.mass, words, self._confidence.achieved(words), self._confidence.gamma)
