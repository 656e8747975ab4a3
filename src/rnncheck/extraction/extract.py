"""Just the automaton: extraction without a property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rnncheck.automata.minimisation import minimise
from rnncheck.automata.moore import NO_YES, Hypothesis, MooreMachine
from rnncheck.errors import InputError
from rnncheck.extraction import BLACK_BOX, DEFAULT_EXTRACTION, ExtractionName, extracting, extraction_method
from rnncheck.extraction.method import Extraction
from rnncheck.learning.settings import LearningSettings
from rnncheck.learning.task import ENDINGS, LearningTask, Progress
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.turns import finish
from rnncheck.runtime.watchdog import watchdog
from rnncheck.verdict.value import TotalCost


def extract_automaton(
    model: Model,
    *,
    method: ExtractionName = DEFAULT_EXTRACTION,
    labels: bool = False,
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: LearningSettings | None = None,
) -> Extraction:
    """Extract an automaton until it passes an equivalence test, or a bound or the time limit is reached.

    With ``labels`` it is a Moore machine of all labels of a network, by a method that needs answers alone. Where the
    time ends before there is any automaton, BudgetExceeded is raised.
    """
    if labels and not extraction_method(method).black_box:
        raise InputError(
            f"a Moore machine of all labels is learned from answers, and {method} looks at hidden states; "
            f"choose {' or '.join(BLACK_BOX)}"
        )
    task = extraction_task(
        model, Confidence(epsilon, gamma), distribution, seed, timeout, settings or LearningSettings(), labels=labels
    )

    def between() -> None:
        task.oracle.budget.check()
        if progress is not None:
            progress(task.progress(method))

    with watchdog(task.oracle.budget.remaining):
        try:
            extraction = finish(extracting(method, task), between)
        except ENDINGS as end:
            if task.hypothesis is None:
                raise
            extraction = Extraction(task.hypothesis, task.confidence, unfinished=task.why_ended(end))
    cost = task.oracle.cost
    return replace(
        extraction,
        automaton=_smallest(extraction.automaton),
        cost=TotalCost(task.seconds, cost.membership_queries, cost.network_steps, task.rounds),
    )


def extraction_task(
    model: Model,
    confidence: Confidence,
    distribution: WordDistribution | None,
    seed: int,
    timeout: float | None,
    settings: LearningSettings,
    *,
    labels: bool = False,
) -> LearningTask:
    """A task with an oracle that nobody has asked, and all its time."""
    budget = Budget.lasting(timeout, clock=settings.clock, cancelled=settings.cancelled)
    network = LabelledNetwork.of(model) if labels else None
    oracle = MembershipOracle(network or model, labels=labels, memory_limit=settings.memory_limit, budget=budget)
    distribution = (distribution or WordDistribution(model.alphabet)).over(model.alphabet)
    confidence = replace(confidence, bound=settings.bound)
    names = NO_YES if network is None else network.labels
    return LearningTask(oracle, distribution, confidence, seed, settings, labels=names)


def _smallest(automaton: Hypothesis) -> Hypothesis:
    return automaton.minimised() if isinstance(automaton, MooreMachine) else minimise(automaton)
