"""Every road to a surrogate on one network, with the same budget, judged by the same words."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words
from rnncheck.automata.minimise import minimise
from rnncheck.errors import (
    InconsistentAnswersError,
    InputError,
    LearningBoundReached,
    MissingExtraError,
    ModelError,
    visible,
)
from rnncheck.extraction.agreement import DEFAULT_WORDS, AgreementCurve, Point, agreement_curve
from rnncheck.extraction.comparison import Comparison, PropertyCheck, RoadResult
from rnncheck.extraction.method import Subject
from rnncheck.extraction.registry import ROADS, Extraction, extraction_by
from rnncheck.models.protocol import Model
from rnncheck.oracle import Oracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.probability.statistics import check_probability
from rnncheck.relations import Relation
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import patience
from rnncheck.spec import Spec
from rnncheck.verification.settings import VerifySettings
from rnncheck.verification.task import Task
from rnncheck.words import WordBatch

DEFAULT_TIMEOUT = 30.0
DEFAULT_ETA = 0.01

_Result = TypeVar("_Result")


def compare_surrogates(
    model: Model,
    spec: Spec | DFA | None = None,
    *,
    roads: Sequence[str] = tuple(ROADS),
    relation: str | Relation = Relation.SUBSET,
    epsilon: float = 5e-4,
    gamma: float = 5e-4,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = DEFAULT_TIMEOUT,
    words: int = DEFAULT_WORDS,
    eta: float = DEFAULT_ETA,
    name: str = "",
    settings: VerifySettings | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Go every road for at most ``timeout`` seconds, each with an oracle of its own, so that none profits from another.

    Agreement is measured afterwards on the same ``words`` fresh words for all. With a specification each automaton is
    asked for the least word that breaks it, and the network whether it does.
    """
    check_probability("epsilon", epsilon)
    check_probability("gamma", gamma)
    check_probability("eta", eta)
    if words < 1:
        raise InputError(f"{words} words were asked for; an agreement is measured with at least 1")
    if spec is not None and not isinstance(spec, Spec):
        spec = Spec.from_dfa(spec)
    for road in roads:
        extraction_by(road)
    comparing = _Comparing(
        model,
        None if spec is None else spec.over(model.alphabet).dfa,
        Relation.named(relation),
        (epsilon, gamma),
        distribution or WordDistribution(model.alphabet),
        seed,
        timeout,
        settings or VerifySettings(),
    )
    fresh = comparing.task().distribution.sample(comparing.task().rng("fresh words"), words)
    tell = progress or (lambda text: None)
    results = [comparing.go(road, fresh, tell) for road in roads]
    tell("agreement curve")
    return Comparison(
        name,
        None if spec is None else visible(spec.origin)[:300],
        tuple(results),
        comparing.curve(words),
        ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in comparing.distribution.describe().items()),
        eta,
    )


class _Comparing:
    """One comparison: what stays the same from road to road."""

    def __init__(
        self,
        model: Model,
        spec: DFA | None,
        relation: Relation,
        sureness: tuple[float, float],
        distribution: WordDistribution,
        seed: int,
        timeout: float | None,
        settings: VerifySettings,
    ) -> None:
        self._model = model
        self._spec = spec
        self._relation = relation
        self._sureness = sureness
        self._seed = seed
        self._timeout = timeout
        self._settings = settings
        self.distribution = distribution

    def task(self) -> Task:
        """A task with an oracle that nobody has asked, and all its time.

        The property that every word has is in the place of the specification: a road is to be gone to its end, and not
        to stop at the first violation that is met on the way.
        """
        settings = self._settings
        budget = Budget.lasting(self._timeout, clock=settings.clock, cancelled=settings.cancelled)
        return Task(
            oracle=Oracle(self._model, memory_limit=settings.memory_limit, budget=budget),
            spec=all_words(self._model.alphabet),
            relation=Relation.SUBSET,
            distribution=self.distribution,
            epsilon=self._sureness[0],
            gamma=self._sureness[1],
            bound=settings.bound,
            seed=self._seed,
            learner_name=settings.learner,
            max_states=settings.max_states,
            max_query_length=settings.max_query_length,
            known_words=[self._model.alphabet.encode(word) for word in settings.known_words],
        )

    def go(self, road: str, fresh: WordBatch, tell: Callable[[str], None]) -> RoadResult:
        """One road to its end, or to the end of its time."""
        clock = self._settings.clock
        began = clock()
        task = self.task()
        tell(road)
        automaton: DFA | None
        try:
            with patience(task.oracle.budget.remaining):
                extraction = _end_of(extraction_by(road)(task), task, lambda: tell(_told(road, task)))
            automaton, ending = extraction.hypothesis, _ending(extraction)
        except BudgetExceeded as end:
            automaton, ending = task.state.hypothesis, end.reason
        except (ModelError, MissingExtraError, InconsistentAnswersError) as error:
            automaton, ending = None, str(error)  # this road is closed, the others need not be
        seconds, cost = clock() - began, task.oracle.cost
        point = check = None
        if automaton is not None:
            automaton = minimise(automaton)
            # Measuring is no part of the road: it has time of its own.
            judge = Oracle(self._model, memory_limit=self._settings.memory_limit)
            differences = int((automaton.accepts_batch(fresh) != judge.answers(fresh)).sum())
            point = Point(automaton, differences, len(fresh))
            check = self._check(automaton)
        return RoadResult(road, point, seconds, cost.network_steps, cost.membership_queries, ending, check)

    def curve(self, words: int) -> AgreementCurve | None:
        """The agreement curve, or None where the time ended before there was any."""
        task = self.task()
        subject = Subject(task.oracle, task.distribution, task.rng, task.learner, task.max_states)
        try:
            with patience(task.oracle.budget.remaining):
                return _end_of(agreement_curve(subject, words), task, lambda: None)
        except (BudgetExceeded, LearningBoundReached):
            return None

    def _check(self, automaton: DFA) -> PropertyCheck | None:
        if self._spec is None:
            return None
        suspect = self._relation.witness(automaton, self._spec)
        if suspect is None:
            return PropertyCheck(None)
        answers = self._model.accepts_batch([suspect]), self._spec.accepts_batch([suspect])
        return PropertyCheck(suspect, bool(self._relation.broken(*answers)[0]))


def _end_of(work: Generator[object, None, _Result], task: Task, between: Callable[[], None]) -> _Result:
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: _Result = end.value
            return result
        task.oracle.budget.check()
        between()


def _ending(extraction: Extraction) -> str:
    if extraction.shown is None:
        return extraction.bound
    tested = f"differs from the network with probability below {extraction.shown:.3g}"
    return f"{extraction.how}; {tested}" if extraction.how else tested


def _told(road: str, task: Task) -> str:
    states = 0 if task.state.hypothesis is None else len(task.state.hypothesis)
    return f"{road}  {states} states  {task.oracle.cost.network_steps} network steps"
