"""Sampling as printed in the paper: each word is queried as a whole, in the order drawn, up to the first failure.

Neither prefixes nor the rest of a batch are considered, and no word is skipped because its answer could not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.automata.moore import Hypothesis
from rnncheck.relations import Relation
from rnncheck.search.observations import Expectation, Observations
from rnncheck.search.sampler import LARGEST_BATCH, Sampler, SampleResult
from rnncheck.words import WordBatch


class PlainSampler(Sampler):
    """Draws words one after the other; batches are only for speed, and words after the first failure do not count.

    Without a hypothesis a failure is a violation, with one a word on which hypothesis and model differ. A violation
    found while a hypothesis is tested is not reported: it is kept as ``unreported``, and ends the claim about the
    property (``words`` and ``may_violate`` are 0 from then on).
    """

    def draw(self, most: int, tested: tuple[Hypothesis, Relation] | None = None) -> SampleResult:
        """Draw at most ``most`` words, up to the first failure, which counts among them."""
        batch = self._source.sample(self._rng, min(most, self.batch))
        before = self._oracle.cost.membership_queries
        answers = self._oracle.answers(batch)
        self.queries += self._oracle.cost.membership_queries - before
        expectation = self._watched if tested is None else Expectation(*tested)
        failed = None if expectation is None else expectation.first_broken(batch, answers)
        used = len(batch) if failed is None else failed + 1
        batch, answers = batch.take(np.arange(used)), answers[:used]
        self.batch = min(2 * used, LARGEST_BATCH)
        self.drawn += used
        self.longest = max(self.longest, int(batch.lengths.max(initial=0)))
        self._count(batch, answers)
        word = None if failed is None else batch[failed]
        violation, difference = (word, None) if tested is None else (None, word)
        return SampleResult(used, violation, difference, Observations.of_whole_words(batch, answers))

    def _count(self, batch: WordBatch, answers: npt.NDArray[Any]) -> None:
        """Count the words for the property, as long as none of them was a violation."""
        if self._watched is not None and self.unreported is None:
            violation = self._watched.first_broken(batch, answers)
            self.unreported = None if violation is None else batch[violation]
            self.may_violate += int(self._watched.may_violate(batch).sum())
        self.words += len(batch)
        if self.unreported is not None:
            self.words = self.may_violate = 0
