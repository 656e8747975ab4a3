"""Random words, and the model's answers to them.

Words whose answer cannot matter are counted and not run. Of the others every prefix is checked too: any violation among
them is reported, and a drawn word on which model and hypothesis differ is cut to its shortest prefix that shows it.
Only the drawn words themselves enter a statistical claim, so only they can fail a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rnncheck.automata.moore import Hypothesis
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Property, Relation
from rnncheck.search.observations import Expectation, Observations
from rnncheck.words import Codes, WordBatch

# Words per batch: few at first, because many networks fail at once; more while nothing is found; and after a difference
# about as many as show some further ones.
_FIRST_BATCH = 64
_SMALLEST_BATCH = 16
LARGEST_BATCH = 1024
_ENOUGH = 16  # words of a batch that show a difference


class WordSource(Protocol):
    """Where random words come from."""

    def sample(self, rng: np.random.Generator, count: int) -> WordBatch: ...


@dataclass(frozen=True)
class SampleResult:
    """What a batch showed: a violation of the property, and a word on which hypothesis and model differ.

    ``observed`` are the words that were run, with the model's answers.
    """

    words: int
    violation: Codes | None
    difference: Codes | None
    observed: Observations


class Sampler:
    """Draws batches and compares the model with its property and with a hypothesis, where these are given.

    ``words`` counts the words drawn so far in whole batches without a violation: one pooled sample for the property,
    whatever hypotheses they were drawn to test, because R and A do not depend on the hypothesis. ``may_violate`` of
    them could be violations: a sample of such words. ``drawn`` counts all drawn words, run or not, and ``queries`` the
    membership queries for them. ``batch`` is how many words are drawn next.
    """

    def __init__(
        self, oracle: MembershipOracle, source: WordSource, rng: np.random.Generator, watched: Property | None = None
    ) -> None:
        self._oracle = oracle
        self._source = source
        self._rng = rng
        self._watched = Expectation.of(watched)
        self.batch = _FIRST_BATCH
        self.words = 0
        self.may_violate = 0
        self.drawn = 0
        self.queries = 0
        self.longest = 0

    unreported: Codes | None = None  # a violation found while a hypothesis was tested, by a sampler that reports none

    def draw(self, most: int, tested: tuple[Hypothesis, Relation] | None = None) -> SampleResult:
        """Draw a batch of at most ``most`` words. It counts as a whole, or, where it holds a violation, not at all.

        ``tested`` is a hypothesis and the relation in which the model should be to it.
        """
        batch = self._source.sample(self._rng, min(most, self.batch))
        expectations = self._watched, None if tested is None else Expectation(*tested, whole_words=True)
        relevant = [
            np.zeros(len(batch), dtype=bool) if expectation is None else expectation.may_violate(batch)
            for expectation in expectations
        ]
        words = batch.take(relevant[0] | relevant[1])
        self.longest = max(self.longest, int(words.lengths.max(initial=0)))
        before = self._oracle.cost.membership_queries
        observed = Observations.of(self._oracle, words)
        self.queries += self._oracle.cost.membership_queries - before
        self.drawn += len(batch)
        violation, difference = map(observed.least_broken, expectations)
        self.batch = self._next_batch(len(batch), expectations[1], observed)
        if violation is None:
            self.words += len(batch)
            self.may_violate += int(relevant[0].sum())
        return SampleResult(len(batch), violation, difference, observed)

    def _next_batch(self, drawn: int, tested: Expectation | None, observed: Observations) -> int:
        """Twice as many words if nothing was found, else as many as show enough differences."""
        found = 0 if tested is None else observed.count_broken(tested)
        if not found:
            return min(2 * self.batch, LARGEST_BATCH)
        return min(max(_SMALLEST_BATCH, drawn * _ENOUGH // found), self.batch)
