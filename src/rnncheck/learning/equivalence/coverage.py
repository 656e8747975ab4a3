"""Equivalence by coverage: every transition of the hypothesis, a random walk, and a suffix that distinguishes states.

Random words rarely take rare transitions. Counterexamples behind these are found by taking them on purpose (Muškardin,
Aichernig, Pill and Tappler, iFM 2022, falsify networks in this way that random samples had passed).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rnncheck.automata.characterisation import characterising_suffixes, state_cover
from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.test_suite import EquivalenceContext, SuiteEquivalence
from rnncheck.words import WordBatch

_WALKS = 256  # from every transition
_MOST_WORDS = 20_000  # per test, shared among the transitions
_MEAN_WALK = 16  # letters
_BATCH = 1024


class CoverageEquivalence(SuiteEquivalence):
    """Words of the form access word · letter · random infix · distinguishing suffix, each transition in its turn."""

    def __init__(
        self,
        context: EquivalenceContext,
        rng: np.random.Generator,
        *,
        most_words: int = _MOST_WORDS,
        batch: int = _BATCH,
    ) -> None:
        super().__init__(context)
        self._rng = rng
        self._most_words = most_words
        self._batch = batch

    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        letters = hypothesis.support.transitions.shape[1]
        transitions = [(*word, letter) for word in state_cover(hypothesis).values() for letter in range(letters)]
        suffixes = characterising_suffixes(hypothesis)
        left = min(_WALKS * len(transitions), self._most_words)
        while left > 0:
            order = self._rng.permutation(len(transitions))[: min(left, self._batch)]
            lengths = self._rng.geometric(1.0 / (1 + _MEAN_WALK), size=len(order)) - 1
            chosen = self._rng.integers(len(suffixes), size=len(order))
            infixes = np.split(self._rng.integers(letters, size=int(lengths.sum())), np.cumsum(lengths)[:-1])
            yield WordBatch.from_codes(
                [
                    (*transitions[at], *infix.tolist(), *suffixes[suffix])
                    for at, infix, suffix in zip(order.tolist(), infixes, chosen.tolist(), strict=True)
                ]
            )
            left -= len(order)
