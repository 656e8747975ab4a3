"""Extraction by learning from answers only: PAC learning, and the same with an observation table and tight bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rnncheck.errors import LearningBoundReached
from rnncheck.extraction.method import Extracting, Extraction
from rnncheck.learning.equivalence.oracle import EquivalenceOracle
from rnncheck.learning.learners.learner import Learner
from rnncheck.learning.learning_task import LearningTask, refining
from rnncheck.relations import Relation
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes

# The bounds of bounded L*, unless the task's are tighter.
BOUNDED_STATES = 60
BOUNDED_QUERY = 200


def pac(task: LearningTask) -> Extracting:
    """Refine by every word on which model and hypothesis differ, until the equivalence oracle finds none."""
    return _learn(task, task.learner())


def bounded(task: LearningTask) -> Extracting:
    """The same with an observation table and bounds on states and queries; at a bound, the hypothesis is the result."""
    limit = task.settings.max_query_length
    learner = task.learner(
        learner="lstar",
        max_states=min(task.max_states, BOUNDED_STATES),
        max_query_length=BOUNDED_QUERY if limit is None else min(limit, BOUNDED_QUERY),
    )
    return _learn(task, learner)


def _learn(task: LearningTask, learner: Learner[Any]) -> Extracting:
    return _until_passed(task, learner, task.equivalence(Relation.EQUAL), learner.starting())


def _until_passed(
    task: LearningTask, learner: Learner[Any], equivalence: EquivalenceOracle, before: CooperativeWork[None]
) -> Extracting:
    """Do the work ``before``, then refine until a hypothesis passes its test."""

    def refine(words: Sequence[Codes]) -> Extracting:
        answers = dict(zip(words, map(int, task.oracle.answers(words)), strict=True))
        return _until_passed(task, learner, equivalence, refining(learner, words[0], answers))

    try:
        yield from before
        while True:
            hypothesis = task.begin_round(learner)
            yield
            answer = yield from task.run_test(equivalence.find_counterexample(hypothesis))
            if answer.violation is not None or answer.counterexample is None:
                return Extraction(
                    hypothesis, task.confidence, answer.epsilon, violation=answer.violation, refine=refine
                )
            yield from refining(learner, answer.counterexample, answer.others)
    except LearningBoundReached as bound:
        return Extraction(task.hypothesis_of(learner), task.confidence, unfinished=str(bound))
