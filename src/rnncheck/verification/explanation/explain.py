"""After a violation is found: a shorter counterexample, and flows through it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from rnncheck.automata.dfa import DFA
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.search.flows import Flow, FlowSettings, by_reference, find_flows
from rnncheck.search.shrinking import shrink
from rnncheck.verification.effort import Effort
from rnncheck.verification.explanation.diversify import find_others
from rnncheck.verification.explanation.shorten import short_words, shorter_violation
from rnncheck.verification.verification_task import Task
from rnncheck.words import Codes, WordBatch, shortlex_key

_FLOWS_REPORTED = 5
# Confirming flows takes at most one step of the reference for each ``_REFERENCE_SHARE`` made before, fewer where a
# step has many products, but at least ``_REFERENCE_LEAST``.
_REFERENCE_SHARE, _REFERENCE_PRODUCTS, _REFERENCE_LEAST = 16, 1 << 29, 2_000
_SETTLING_LOOPS = 1000  # at most, to see whether the model's state repeats


class Explanation:
    """A counterexample, made shorter, with further ones and flows; interrupted work keeps its results so far."""

    def __init__(self, task: Task, word: Codes, effort: Effort, improved: Callable[[], None]) -> None:
        self._task, self._effort = task, effort
        self._improved = improved  # called after each improvement
        self.word = word
        self.flows: list[Flow] = []
        self.others: list[Codes] = []

    def shorten(self, *, search: bool) -> None:
        """Shrink the word; with ``search`` also search for shorter ones that are not part of it."""
        task = self._task
        self._shrink()
        if search and task.settings.shorter_steps != 0:
            spent = task.oracle.cost.work
            limit = task.settings.shorter_steps
            steps = self._effort.shorter if limit is None else limit
            self._move(short_words(task, self.word, steps))
            if task.oracle.stepping:
                self._move(shorter_violation(task, self.word, end=spent + steps))
                self._shrink()

    def find_others(self, spec: DFA, count: int) -> None:
        """Search for counterexamples of other kinds; a shorter one replaces the word."""
        find_others(self._task, spec, self.word, count, self._keep)

    def _keep(self, word: Codes) -> None:
        if shortlex_key(word) < shortlex_key(self.word):
            self.word, word = word, self.word
        self.others.append(word)
        self.others.sort(key=lambda other: (-self._likely_words.probability(other), shortlex_key(other)))

    @functools.cached_property
    def _likely_words(self) -> WordDistribution:
        """The distribution that ranks words: fitted to the user's own sequences, if given."""
        task, data = self._task, self._task.settings.on_data
        if data is None or not data.words:
            return task.distribution
        return WordDistribution.fit(task.spec.alphabet, data.words)

    def find_flows(self, settings: FlowSettings) -> None:
        """Search for flows through the word."""
        task = self._task
        # Methods without a learner find only loops of the specification.
        hypothesis = task.spec if task.hypothesis is None else task.hypothesis.support
        reference = task.oracle.by_reference()
        specified = task.spec.accepts_batch(WordBatch.from_codes([self.word]))  # the same for all pumped words
        left, steps = self._steps_of_reference(reference), self._effort.flows
        for candidate in find_flows(self.word, task.spec, hypothesis, task.violating, settings, steps):
            if candidate.price > left and self.flows:
                return
            before = task.oracle.cost.work
            loops = min(_SETTLING_LOOPS, max(0, left - candidate.price) // (4 * len(candidate.loop)))
            flow = by_reference(candidate, reference, lambda answers: task.relation.broken(answers, specified), loops)
            left -= task.oracle.cost.work - before
            if len(flow.hits) > settings.min_hits:
                self.flows.append(flow)
            if len(self.flows) == _FLOWS_REPORTED:
                return

    def _steps_of_reference(self, reference: MembershipOracle) -> int:
        """The steps of the reference, which reads every word by itself, that flows may take."""
        steps = self._task.oracle.cost.work // _REFERENCE_SHARE
        if reference.stepping:  # a step of a large network takes long
            steps = min(steps, _REFERENCE_PRODUCTS // max(1, reference.stepper.initial(1).size) ** 2)
        return max(_REFERENCE_LEAST, steps)

    def _shrink(self) -> None:
        shrink(self.word, len(self._task.spec.alphabet), self._task.violating, found=self._move)

    def _move(self, word: Codes) -> None:
        if word != self.word and self._task.violates(word):
            self.word = word
            self._improved()
