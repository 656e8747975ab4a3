"""Equivalence by several strategies at once, preferring those that find differences most cheaply.

No way to choose words is best for all hypotheses: random words refute the first ones at once, later ones differ behind
rare transitions, on short words, on the rarer answer, or on words like the user's own. The strategies take turns, a
batch at a time; the next batch is of the one that has found the most differences per queried letter, where past tests
count less and less. Letters are counted and not seconds, so that a run is the same on every machine. A strategy that
finds nothing falls behind, so all have their turn before a hypothesis passes.

One of them is the sample: the claim rests on its words, which are drawn for this hypothesis.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.coverage import CoverageEquivalence
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle, Testing
from rnncheck.learning.equivalence.test_suite import EquivalenceContext, SuiteEquivalence
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.words import Codes, WordBatch

_BATCH = 64
_COVERING, _DRAWN = 256, 128  # words that a strategy queries per test
_SHORT = 1 << 14  # short words in all
_TRIED = 8  # words drawn for each queried one, to have equally many of every answer
_HISTORY = 3  # letters of the n-grams of the user's own words
_HOPE = 16, 1_000  # differences and letters that each strategy starts with, so that all are soon tried
_FADING = 0.8  # the weight of past tests when the next one starts


def mixed(context: EquivalenceContext, rng: np.random.Generator, sample: EquivalenceOracle) -> EquivalenceOracle:
    """All strategies that apply, and the sample."""
    strategies: list[EquivalenceOracle] = [
        CoverageEquivalence(context, rng, most_words=_COVERING, batch=_BATCH),
        ShortWords(context),
    ]
    if context.distribution is not None:
        strategies.append(EveryAnswer(context, rng, context.distribution))
    if context.own:
        strategies.append(LikeOwnWords(context, rng, context.own))
    return MixedEquivalence([*strategies, sample], context.oracle)


@dataclass
class _Strategy:
    """An oracle, the differences it found and the letters it queried, and its test of the current hypothesis."""

    oracle: EquivalenceOracle
    found: float = 0.0
    letters: float = 0.0
    test: Testing | None = None

    @property
    def promise(self) -> float:
        differences, letters = _HOPE
        return (self.found + differences) / (self.letters + letters)


class MixedEquivalence(EquivalenceOracle):
    """Runs the next batch of the most promising oracle. If all pass, the answer is that of the last one."""

    def __init__(self, oracles: Sequence[EquivalenceOracle], membership: MembershipOracle) -> None:
        self._strategies = [_Strategy(oracle) for oracle in oracles]
        self._membership = membership

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        passed = EquivalenceAnswer()
        for strategy in self._strategies:
            strategy.found, strategy.letters = _FADING * strategy.found, _FADING * strategy.letters
            strategy.test = strategy.oracle.find_counterexample(hypothesis)
        while active := [strategy for strategy in self._strategies if strategy.test is not None]:
            strategy = max(active, key=lambda each: each.promise)
            answer = self._next_batch(strategy)
            if answer is not None and (answer.counterexample is not None or answer.violation is not None):
                return answer
            if answer is not None and strategy is self._strategies[-1]:
                passed = answer
            yield
        return passed

    def _next_batch(self, strategy: _Strategy) -> EquivalenceAnswer | None:
        """How the strategy's test ended; None while it continues."""
        assert strategy.test is not None
        before = self._membership.cost.work
        answer: EquivalenceAnswer | None = None
        try:
            next(strategy.test)
        except StopIteration as end:
            answer, strategy.test = end.value, None
            strategy.found += (answer.counterexample is not None) + len(answer.others)
        strategy.letters += self._membership.cost.work - before
        return answer


class ShortWords(SuiteEquivalence):
    """All words in shortlex order, a few in each test, up to a limit over all tests."""

    def __init__(self, context: EquivalenceContext) -> None:
        super().__init__(context)
        letters = range(len(context.oracle.alphabet))
        longest = _SHORT if self._max_length is None else self._max_length
        lengths = range(1, longest + 1)
        every = itertools.chain.from_iterable(itertools.product(letters, repeat=length) for length in lengths)
        self._words = itertools.islice(every, _SHORT)

    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        for _ in range(_DRAWN // _BATCH):
            if batch := list(itertools.islice(self._words, _BATCH)):
                yield WordBatch.from_codes(batch)


class EveryAnswer(SuiteEquivalence):
    """Random words, equally many of each answer of the hypothesis, as far as drawing finds them."""

    def __init__(self, context: EquivalenceContext, rng: np.random.Generator, distribution: WordDistribution) -> None:
        super().__init__(context)
        self._rng = rng
        self._distribution = distribution

    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        for _ in range(_DRAWN // _BATCH):
            drawn = self._distribution.sample(self._rng, _TRIED * _BATCH)
            outputs = hypothesis.outputs[hypothesis.support.end_states(drawn)]
            answers = np.unique(outputs)
            if len(answers) < 2:
                return  # the words would be like those of the sample
            share = max(1, _BATCH // len(answers))
            yield drawn.take(np.concatenate([np.flatnonzero(outputs == answer)[:share] for answer in answers]))


class LikeOwnWords(SuiteEquivalence):
    """Words drawn from an n-gram model of the user's own words."""

    def __init__(self, context: EquivalenceContext, rng: np.random.Generator, own: Sequence[Codes]) -> None:
        super().__init__(context)
        self._rng = rng
        self._like = WordDistribution.fit(context.oracle.alphabet, WordBatch.from_codes(own), order=_HISTORY)

    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        for _ in range(_DRAWN // _BATCH):
            yield self._like.sample(self._rng, _BATCH)
