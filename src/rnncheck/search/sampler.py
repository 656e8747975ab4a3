"""Drawing words and looking at what the model does with them.

Words that cannot matter are counted and not run. Of those that are run every prefix is looked at: any violation among
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
from rnncheck.search.observations import AnsweredWords, Side
from rnncheck.words import Codes, WordBatch

# Words a batch: few at first, because many networks fail at once; the more, the longer nothing is found; and after a
# difference as few as that batch shows to be enough for some others.
_FIRST_BATCH = 64
_SMALLEST_BATCH = 16
LARGEST_BATCH = 1024
_ENOUGH = 16  # words of a batch that show a difference


class WordSource(Protocol):
    """Where random words come from."""

    def sample(self, rng: np.random.Generator, count: int) -> WordBatch: ...


@dataclass(frozen=True)
class SampleResult:
    """What a batch showed: a violation of the property, and a word on which hypothesis and model are at odds.

    ``observed`` are the words that were run, with the model's answers.
    """

    words: int
    violation: Codes | None
    difference: Codes | None
    observed: AnsweredWords


class Sampler:
    """Draws batches and compares the model with its property and with a hypothesis, where there are any.

    ``words`` counts the words drawn so far in whole batches without a violation: one pooled sample for the property,
    whatever hypotheses they were drawn to test, because R and A do not depend on the hypothesis. ``possible`` of them
    could be violations: a sample of such words. ``drawn`` counts all words that were drawn, run or not, and ``queries``
    what the model was asked on their account. ``batch`` is how many words are drawn next.
    """

    def __init__(
        self, oracle: MembershipOracle, source: WordSource, rng: np.random.Generator, watched: Property | None = None
    ) -> None:
        self._oracle = oracle
        self._source = source
        self._rng = rng
        self._watched = Side.of(watched)
        self.batch = _FIRST_BATCH
        self.words = 0
        self.possible = 0
        self.drawn = 0
        self.queries = 0
        self.longest = 0

    met: Codes | None = None  # a violation that was not reported

    def draw(self, most: int, tested: tuple[Hypothesis, Relation] | None = None) -> SampleResult:
        """Draw a batch of at most ``most`` words. It counts as a whole, or, where it holds a violation, not at all.

        ``tested`` is a hypothesis and the relation that the model should be in to it.
        """
        batch = self._source.sample(self._rng, min(most, self.batch))
        sides = self._watched, None if tested is None else Side(*tested, whole_words=True)
        telling = [np.zeros(len(batch), dtype=bool) if side is None else side.can_break(batch) for side in sides]
        words = batch.take(telling[0] | telling[1])
        self.longest = max(self.longest, int(words.lengths.max(initial=0)))
        before = self._oracle.cost.membership_queries
        observed = AnsweredWords.of(self._oracle, words)
        self.queries += self._oracle.cost.membership_queries - before
        self.drawn += len(batch)
        violation, difference = map(observed.least_broken, sides)
        self.batch = self._next_batch(len(batch), sides[1], observed)
        if violation is None:
            self.words += len(batch)
            self.possible += int(telling[0].sum())
        return SampleResult(len(batch), violation, difference, observed)

    def _next_batch(self, drawn: int, tested: Side | None, observed: AnsweredWords) -> int:
        """Twice as many words where nothing was found, else as many as show enough differences."""
        found = 0 if tested is None else observed.count_broken(tested)
        if not found:
            return min(2 * self.batch, LARGEST_BATCH)
        return min(max(_SMALLEST_BATCH, drawn * _ENOUGH // found), self.batch)
