"""Drawing words as the paper prints it: each is asked as a whole, in the order drawn, up to the first that fails.

Nothing is looked at besides, neither prefixes nor the rest of a batch, and no word is passed over because its answer
could not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.automata.moore import Hypothesis
from rnncheck.relations import Relation
from rnncheck.search.observations import AnsweredWords, Side
from rnncheck.search.sampler import LARGEST_BATCH, Sampler, SampleResult
from rnncheck.words import WordBatch


class PlainSampler(Sampler):
    """Draws words one after the other; batches are for speed alone, and words after the first failure never were drawn.

    Without a hypothesis a failure is a violation, with one a word on which hypothesis and model are at odds. What else
    is a violation while a hypothesis is tested is not reported: it is kept as ``met``, and ends the claim about the
    property (``words`` and ``possible`` are 0 from then on).
    """

    def draw(self, most: int, tested: tuple[Hypothesis, Relation] | None = None) -> SampleResult:
        """Draw at most ``most`` words, up to the first failure, which counts among them."""
        batch = self._source.sample(self._rng, min(most, self.batch))
        before = self._oracle.cost.membership_queries
        answers = self._oracle.answers(batch)
        self.queries += self._oracle.cost.membership_queries - before
        side = self._watched if tested is None else Side(*tested)
        failed = None if side is None else side.first_broken(batch, answers)
        used = len(batch) if failed is None else failed + 1
        batch, answers = batch.take(np.arange(used)), answers[:used]
        self.batch = min(2 * used, LARGEST_BATCH)
        self.drawn += used
        self.longest = max(self.longest, int(batch.lengths.max(initial=0)))
        self._count(batch, answers)
        word = None if failed is None else batch[failed]
        violation, difference = (word, None) if tested is None else (None, word)
        return SampleResult(used, violation, difference, AnsweredWords.whole(batch, answers))

    def _count(self, batch: WordBatch, answers: npt.NDArray[Any]) -> None:
        """Count the words for the property, as long as none of them was a violation."""
        if self._watched is not None and self.met is None:
            violation = self._watched.first_broken(batch, answers)
            self.met = None if violation is None else batch[violation]
            self.possible += int(self._watched.can_break(batch).sum())
        self.words += len(batch)
        if self.met is not None:
            self.words = self.possible = 0
