"""Just the automaton: extraction without a property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rnncheck.automata.moore import NO_YES
from rnncheck.errors import InputError
from rnncheck.extraction import BLACK_BOX, DEFAULT_EXTRACTION, ExtractionName, extracting, extraction_method
from rnncheck.extraction.method import Extraction
from rnncheck.extraction.model_selection import ModelSelection, smallest
from rnncheck.learning.learning_settings import MAX_STATES_IN_TIME, LearningSettings, check_least
from rnncheck.learning.learning_task import ENDINGS, LearningTask, Progress
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.conditioned import up_to
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution, distribution_over
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.cooperative import finish
from rnncheck.runtime.watchdog import watchdog
from rnncheck.verdict.facts import TotalCost


def extract(
    model: Model,
    *,
    method: ExtractionName = DEFAULT_EXTRACTION,
    labels: bool = False,
    states: int | None = None,
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: LearningSettings | None = None,
) -> Extraction:
    """Extract an automaton until it passes an equivalence test, or a bound or the time limit is reached.

    With ``states`` it is the best automaton of at most that many states. Whatever ends the work, the best automaton so
    far is returned with its agreement on fresh words, which is at least that of a constant answer on the words that
    selected it.

    With ``labels`` it is a Moore machine of all labels of a network, by a method that needs only answers. If the time
    ends before the first automaton, BudgetExceeded is raised.
    """
    check_least("states", states, 1)
    if labels and not extraction_method(method).black_box:
        raise InputError(
            f"a Moore machine of all labels is learned from answers, and {method} needs hidden states; "
            f"choose {' or '.join(BLACK_BOX)}"
        )
    if states is not None and extraction_method(method).contains:
        raise InputError(
            f"the automaton of {method} contains the network's language, and one of at most {states} states may not; "
            "leave the number of states out, or choose another method"
        )
    task = extraction_task(
        model, Confidence(epsilon, gamma), distribution, seed, timeout, settings or LearningSettings(), labels=labels
    )

    return run_extraction(method, task, states, lambda: None if progress is None else progress(task.progress(method)))


def run_extraction(
    method: str,
    task: LearningTask,
    states: int | None = None,
    report: Callable[[], None] = lambda: None,
    endings: tuple[type[BaseException], ...] = ENDINGS,
) -> Extraction:
    """The best automaton by a method, whichever of ``endings`` ends it. Calls ``report`` between pieces of work."""
    work, selection = extracting(method, task), ModelSelection(task)

    def between() -> None:
        selection.show(task.latest(), task.working)
        task.oracle.budget.check()
        report()

    with watchdog(task.oracle.budget.remaining):
        try:
            extraction = finish(selection.query_alongside(work), between)
        except endings as end:
            made = task.latest()
            latest = made or selection.best()
            if latest is None:
                raise
            why = task.why_ended(end)
            how = "no automaton was made yet; this is a constant answer" if made is None else f"as far as {method} came"
            started = Extraction(latest, task.confidence, unfinished=why, how=how)
            extraction = task.so_far(why) if task.so_far else started
    passed, whole = extraction.passed, smallest(extraction.automaton)
    extraction = _best(selection, replace(extraction, automaton=whole), states, task.working)
    cost = task.oracle.cost
    return replace(
        extraction,
        measured=selection.measured(extraction.automaton),
        curve=selection.curve(whole, complete=passed),
        cost=TotalCost(task.seconds, cost.membership_queries, cost.network_steps, task.rounds),
    )


def _best(selection: ModelSelection, extraction: Extraction, states: int | None, maker: str) -> Extraction:
    """The automaton that passed its test, if it is small enough; otherwise the best one seen."""
    selection.show(extraction.automaton, maker, last=True)
    if extraction.cells is not None:  # only this one is proved to contain the network's language
        return extraction
    selection.reduce(states)
    fits = states is None or len(extraction.automaton) <= states
    if extraction.passed and fits:
        return extraction
    choice = selection.chosen(states)
    if choice is None:  # the time ended before any was compared
        return extraction
    size = f"the best automaton of at most {states} states was requested"
    why = (
        extraction.unfinished if fits or not extraction.passed else f"{size}; one of {len(extraction.automaton)} passed"
    )
    best = choice.point.automaton
    maker = selection.maker(best)
    how = f"the best automaton seen is of {maker}" if maker else extraction.how
    return replace(extraction, automaton=best, epsilon=None, unfinished=why, how=how, chosen=choice.why)


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
    """A task with an unused oracle and the full time limit."""
    budget = Budget.lasting(timeout, clock=settings.clock, cancelled=settings.cancelled)
    network = LabelledNetwork.of(model) if labels else None
    oracle = MembershipOracle(network or model, labels=labels, memory_limit=settings.memory_limit, budget=budget)
    distribution = distribution_over(model.alphabet, distribution)
    if model.max_length is not None:
        distribution = up_to(distribution, model.max_length)
    confidence = replace(confidence, bound=settings.bound)
    if timeout is not None and settings.max_states is None:
        settings = replace(settings, max_states=MAX_STATES_IN_TIME)
    names = NO_YES if network is None else network.outputs
    return LearningTask(oracle, distribution, confidence, seed, settings, labels=names, max_length=model.max_length)
