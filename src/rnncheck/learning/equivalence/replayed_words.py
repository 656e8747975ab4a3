"""Equivalence on words that were answered before: each new hypothesis is tested on them without new queries.

The hypothesis was made from them too, so passing shows nothing about other words.
"""

from __future__ import annotations

from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle, Testing
from rnncheck.relations import Relation
from rnncheck.search.observations import Expectation, Observations

MOST_COUNTEREXAMPLES = 64
_MOST_LETTERS = 1 << 21


class ReplayedWords(EquivalenceOracle):
    """Keeps answered words (the latest, if there are too many) and compares hypotheses with all of them."""

    def __init__(self, relation: Relation = Relation.EQUAL) -> None:
        self._relation = relation
        self._kept: list[Observations] = []

    def keep(self, observed: Observations) -> None:
        """Add observations."""
        self._kept.append(observed)
        # Parts of similar size are joined, so that there are few of them.
        while len(self._kept) > 1 and _letters(self._kept[-2]) <= 2 * _letters(self._kept[-1]):
            last = self._kept.pop()
            if _letters(self._kept[-1]) + _letters(last) > _MOST_LETTERS:
                self._kept = [last]
            else:
                self._kept[-1] = Observations.joined([self._kept[-1], last])

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        expectation = Expectation(hypothesis, self._relation)
        for observed in self._kept:
            found = observed.all_broken(expectation, MOST_COUNTEREXAMPLES)
            yield
            if found:
                least, *others = found
                return EquivalenceAnswer(least, others={word: found[word] for word in others})
        return EquivalenceAnswer()


def _letters(observed: Observations) -> int:
    return len(observed.words.codes) + len(observed.words)
