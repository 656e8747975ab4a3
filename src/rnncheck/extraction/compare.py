"""Every extraction method on one network, with the same budget, compared on the same words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import short_words
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import (
    InputError,
    LearningBoundReached,
    MissingExtraError,
    ModelError,
    visible,
)
from rnncheck.extraction import COMPARED, ExtractionName, extraction_method
from rnncheck.extraction.agreement import DEFAULT_WORDS, AgreementCurve, Point, agreement_curve
from rnncheck.extraction.extract import extraction_task, run_extraction
from rnncheck.extraction.method import Extraction
from rnncheck.extraction.surrogate_comparison import MethodResult, PropertyCheck, SurrogateComparison
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.learning.learning_task import ENDINGS, LearningTask
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence, check_probability
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.runtime.cooperative import finish
from rnncheck.runtime.watchdog import watchdog
from rnncheck.spec import Spec
from rnncheck.words import WordBatch

DEFAULT_TIMEOUT = 30.0
DEFAULT_ETA = 0.01
_ENDINGS = tuple(ending for ending in ENDINGS if ending is not KeyboardInterrupt)  # these end only one method


def compare_surrogates(
    model: Model,
    spec: Spec | DFA | None = None,
    *,
    methods: Sequence[ExtractionName] | None = None,
    relation: str | Relation = Relation.SUBSET,
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = DEFAULT_TIMEOUT,
    words: int = DEFAULT_WORDS,
    eta: float = DEFAULT_ETA,
    name: str = "",
    settings: LearningSettings | None = None,
    progress: Callable[[str], None] | None = None,
) -> SurrogateComparison:
    """Extract by every method for at most ``timeout`` seconds, each with its own oracle, so that none profits from
    others.

    Agreement is measured afterwards on the same ``words`` fresh words for all. With a specification, each automaton
    gives the least word that breaks it, which is then checked on the network.
    """
    check_probability("eta", eta)
    if words < 1:
        raise InputError(f"{words} words were requested; an agreement is measured with at least 1")
    if spec is not None and not isinstance(spec, Spec):
        spec = Spec.from_dfa(spec)
    if methods is None:
        methods = [*COMPARED]
    for method in methods:
        extraction_method(method)
    learning, confidence = settings or LearningSettings(), Confidence(epsilon, gamma)
    counting = None if model.max_length is None else short_words(model.alphabet, model.max_length)
    prop = (
        None if spec is None else Property.assuming(spec.over(model.alphabet).dfa, Relation.named(relation), counting)
    )

    def task() -> LearningTask:
        return extraction_task(model, confidence, distribution, seed, timeout, learning)

    drawn = task()
    fresh = drawn.distribution.sample(drawn.rng("fresh words"), words)
    report = progress or (lambda text: None)
    results = [_extracted(method, task(), fresh, prop, report) for method in methods]
    report("agreement curve")
    return SurrogateComparison(
        name,
        None if spec is None else visible(spec.origin)[:300],
        tuple(results),
        _curve(task(), words),
        ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in drawn.distribution.describe().items()),
        eta,
    )


def _extracted(
    method: str, task: LearningTask, fresh: WordBatch, prop: Property | None, report: Callable[[str], None]
) -> MethodResult:
    """The best automaton of one method, when it ends or its time is over."""

    def between() -> None:
        states = 0 if task.hypothesis is None else len(task.hypothesis)
        report(f"{method}  {states} states  {task.oracle.cost.network_steps} network steps")

    report(method)
    automaton: DFA | None = None
    try:
        extraction = run_extraction(method, task, report=between, endings=_ENDINGS)
        automaton, ending = extraction.automaton.support, _ending(extraction)
    except _ENDINGS as end:
        ending = task.why_ended(end)  # before the first automaton
    except (InputError, ModelError, MissingExtraError) as error:
        ending = str(error)  # this method cannot be used here, others may be
    seconds, cost = task.seconds, task.oracle.cost
    point = check = None
    if automaton is not None:
        automaton = minimise(automaton)
        # Measuring is not part of the method and has its own time.
        reference = MembershipOracle(task.oracle.model, memory_limit=task.settings.memory_limit)
        differences = int((automaton.accepts_batch(fresh) != reference.answers(fresh)).sum())
        point = Point(automaton, differences, len(fresh))
        check = None if prop is None else _check(automaton, prop, reference)
    return MethodResult(method, point, seconds, cost.network_steps, cost.membership_queries, ending, check)


def _curve(task: LearningTask, words: int) -> AgreementCurve | None:
    """The agreement curve, or None where the time ended before its first point."""
    try:
        with watchdog(task.oracle.budget.remaining):
            return finish(agreement_curve(task, words), task.oracle.budget.check)
    except (*_ENDINGS, LearningBoundReached):
        return None


def _check(automaton: DFA, prop: Property, reference: MembershipOracle) -> PropertyCheck:
    suspect = prop.witness(automaton)
    if suspect is None:
        return PropertyCheck(None)
    answer = np.array([reference.reference_answer(reference.alphabet.encode(suspect))])
    return PropertyCheck(suspect, bool(prop.broken(answer, prop.spec.end_states([suspect]))[0]))


def _ending(extraction: Extraction) -> str:
    if extraction.cells is not None:
        return extraction.sentence
    if extraction.epsilon is None:
        return extraction.unfinished
    tested = f"differs from the network with probability below {extraction.epsilon:.3g}"
    return f"{extraction.how}; {tested}" if extraction.how else tested
