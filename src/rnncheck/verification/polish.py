"""After a violation is found: a shorter counterexample, flows, and how much of the probability is violations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import LearningBoundReached
from rnncheck.models.protocol import SteppingModel
from rnncheck.probability.statistics import clopper_pearson
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.flows import Flow, FlowSettings, find_flows
from rnncheck.search.shrinking import shrink
from rnncheck.verification.searches import shorter_violation
from rnncheck.verification.settings import VerifySettings
from rnncheck.verification.task import Task
from rnncheck.words import Codes

_FLOWS_REPORTED = 5
# On a shorter counterexample at least so many steps are spent, and no more than finding the first one took.
_POLISHING_STEPS = 100_000


def polished(task: Task, word: Codes, settings: VerifySettings, *, search: bool) -> tuple[Codes, tuple[Flow, ...]]:
    """Shrink the counterexample and look for flows; what a budget cuts short is kept as far as it got.

    With ``search`` shorter counterexamples are looked for that are no part of the one at hand.
    """
    best, letters = word, len(task.spec.alphabet)
    flows: list[Flow] = []

    def violates(words: Sequence[Codes]) -> Mask:
        return _violating(task, words)

    def confirmed(shorter: Codes) -> None:
        nonlocal best
        if task.violates(shorter):
            best = shorter

    try:
        if settings.shrink:
            shrink(word, letters, violates, found=confirmed)
            if search and isinstance(task.oracle.model, SteppingModel):
                steps = max(_POLISHING_STEPS, task.oracle.cost.work)
                confirmed(shorter_violation(task, best, steps))
                shrink(best, letters, violates, found=confirmed)
        if settings.flows is not None:
            for flow in _flows(task, best, settings.flows):
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
        failures = int(_violating(task, list(batch)).sum())
    except (BudgetExceeded, KeyboardInterrupt):
        return None
    return clopper_pearson(failures, words, 0.95)


def _violating(task: Task, words: Sequence[Codes]) -> Mask:
    """Which words are violations; the model is asked for those alone that could be."""
    spec = task.spec.accepts_batch([task.spec.alphabet.decode(word) for word in words])
    broken = task.relation.can_break(spec)
    rows = np.flatnonzero(broken)
    answers = task.oracle.answers([words[int(row)] for row in rows])
    broken[rows] = task.relation.broken(answers, spec[rows])
    return broken


def _flows(task: Task, word: Codes, settings: FlowSettings) -> Iterable[Flow]:
    hypothesis = task.state.hypothesis
    if hypothesis is None:  # methods without a learner look for loops of the specification alone
        hypothesis = task.spec
    model = task.oracle.model if isinstance(task.oracle.model, SteppingModel) else None
    return find_flows(word, task.spec, hypothesis, lambda words: _violating(task, words), settings, model)
