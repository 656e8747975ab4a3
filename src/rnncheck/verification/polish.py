"""After a violation is found: a shorter counterexample, flows, and how much of the probability is violations."""

from __future__ import annotations

from collections.abc import Callable

from rnncheck.probability.statistics import clopper_pearson
from rnncheck.search.flows import Flow, FlowSettings, by_reference, find_flows
from rnncheck.search.shrinking import shrink
from rnncheck.verification.shorter import shorter_violation, shortest_violation
from rnncheck.verification.task import Task
from rnncheck.words import Codes, WordBatch

_FLOWS_REPORTED = 5
# On a shorter counterexample at most so many steps are spent, or as many as finding the first one took.
_POLISHING_STEPS = 160_000
_SHORT_WORDS = 0.4  # the share of it for asking every short word


class Polish:
    """A counterexample that becomes shorter, and flows through it; what is cut short is kept as far as it got."""

    def __init__(self, task: Task, word: Codes, told: Callable[[], None]) -> None:
        self._task = task
        self._told = told  # called after each improvement
        self.word = word
        self.flows: list[Flow] = []

    def shorten(self, *, search: bool) -> None:
        """Shrink the word; with ``search`` shorter ones are looked for that are no part of it."""
        task = self._task
        self._shrink()
        if search and task.oracle.stepping:
            spent = task.oracle.cost.work
            steps = max(_POLISHING_STEPS, spent)
            self._move(shortest_violation(task, self.word, int(_SHORT_WORDS * steps), plainly=spent + steps))
            self._move(shorter_violation(task, self.word, end=spent + steps))
            self._shrink()

    def find_flows(self, settings: FlowSettings) -> None:
        """Look for flows through the word."""
        task = self._task
        # Methods without a learner look for loops of the specification alone.
        hypothesis = task.spec if task.hypothesis is None else task.hypothesis.support
        reference = task.oracle.by_reference()
        wanted = task.spec.accepts_batch(WordBatch.from_codes([self.word]))  # a loop leads the specification back
        for candidate in find_flows(self.word, task.spec, hypothesis, task.violating, settings):
            flow = by_reference(candidate, reference, lambda answers: task.relation.broken(answers, wanted))
            if len(flow.hits) > settings.more_than:
                self.flows.append(flow)
            if len(self.flows) == _FLOWS_REPORTED:
                return

    def _shrink(self) -> None:
        shrink(self.word, len(self._task.spec.alphabet), self._task.violating, found=self._move)

    def _move(self, word: Codes) -> None:
        if word != self.word and self._task.violates(word):
            self.word = word
            self._told()


def violation_mass(task: Task, words: int) -> tuple[float, float]:
    """A 95 % interval for the probability of a violation, from fresh words."""
    batch = task.distribution.sample(task.rng("mass"), words)
    failures = int(task.violating(list(batch)).sum())
    return clopper_pearson(failures, words)
