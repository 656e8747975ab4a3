"""After a violation is found: a shorter counterexample, flows, and how much of the probability is violations."""

from __future__ import annotations

from rnncheck.errors import LearningBoundReached
from rnncheck.probability.statistics import clopper_pearson
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.flows import Flow, find_flows
from rnncheck.search.shrinking import shrink
from rnncheck.verification.searches import shorter_violation
from rnncheck.verification.task import Task
from rnncheck.words import Codes

_FLOWS_REPORTED = 5
# On a shorter counterexample at least so many steps are spent, and no more than finding the first one took.
_POLISHING_STEPS = 100_000


def polished(task: Task, word: Codes, *, search: bool) -> tuple[Codes, tuple[Flow, ...]]:
    """Shrink the counterexample and look for flows; what a budget cuts short is kept as far as it got.

    With ``search`` shorter counterexamples are looked for that are no part of the one at hand.
    """
    best, letters, settings = word, len(task.spec.alphabet), task.settings
    flows: list[Flow] = []

    def confirmed(shorter: Codes) -> None:
        nonlocal best
        if task.violates(shorter):
            best = shorter

    try:
        if settings.shrink:
            shrink(word, letters, task.violating, found=confirmed)
            if search and task.oracle.stepping:
                steps = max(_POLISHING_STEPS, task.oracle.cost.work)
                confirmed(shorter_violation(task, best, steps))
                shrink(best, letters, task.violating, found=confirmed)
        if settings.flows is not None:
            # Methods without a learner look for loops of the specification alone.
            hypothesis = task.spec if task.hypothesis is None else task.hypothesis.support
            stepper = task.oracle.stepper if task.oracle.stepping else None
            for flow in find_flows(best, task.spec, hypothesis, task.violating, settings.flows, stepper):
                flows.append(flow)
                if len(flows) == _FLOWS_REPORTED:
                    break
    except (BudgetExceeded, KeyboardInterrupt, LearningBoundReached):
        pass
    return best, tuple(flows)


def violation_mass(task: Task, words: int) -> tuple[float, float] | None:
    """A 95 % interval for the probability of a violation, from fresh words; None where the time was over."""
    batch = task.distribution.sample(task.rng("mass"), words)
    try:
        failures = int(task.violating(list(batch)).sum())
    except (BudgetExceeded, KeyboardInterrupt):
        return None
    return clopper_pearson(failures, words, 0.95)
