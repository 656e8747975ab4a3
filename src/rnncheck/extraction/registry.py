"""Roads to an automaton that stands for the model: the line "Approximation(R)" of the paper's Algorithm 2, by name.

Two roads need answers alone: PAC learning, and the same with an observation table and tight bounds. The others look at
hidden states. These end by a rule of their own, which is no evidence, so their automaton is tested on fresh words
afterwards: what a verdict claims rests on that test, whatever the road.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, LearningBoundReached, shown
from rnncheck.extraction.method import Road, Subject
from rnncheck.extraction.quantisation import quantised
from rnncheck.extraction.weiss import weiss
from rnncheck.learning import Learner, make_learner
from rnncheck.probability.statistics import round_shown_epsilon, shown_epsilon
from rnncheck.relations import Relation
from rnncheck.verification.task import Task, refine
from rnncheck.words import Codes, format_word

DEFAULT_ROAD = "pac-lstar"
# The bounds of bounded L*, where the task has none that are tighter.
BOUNDED_STATES = 60
BOUNDED_QUERY = 200


@dataclass(frozen=True)
class Extraction:
    """An automaton that stands for the model, and how the road to it ended.

    ``shown`` is the ε of the test that the automaton passed; None where it passed none, and ``bound`` says why.
    ``violation`` is a violation of the property that was met on the way. ``how`` is what the road says of itself.
    """

    hypothesis: DFA
    shown: float | None = None
    bound: str = ""
    violation: Codes | None = None
    how: str = ""


Extracting: TypeAlias = Generator[None, None, Extraction]


def extraction_by(name: str) -> Callable[[Task], Extracting]:
    """The road of that name."""
    try:
        return ROADS[name]
    except KeyError:
        raise InputError(f"unknown road {shown(name)} to a surrogate; known are {', '.join(ROADS)}") from None


def pac(task: Task) -> Extracting:
    """PAC learning: refine by every sampled word on which model and hypothesis differ, until enough show none.

    The task's relation between model and hypothesis is equality here, whatever it is between model and property.
    """
    return (yield from _learned(task, task.learner()))


def bounded(task: Task) -> Extracting:
    """The same with an observation table and bounds on states and questions; at a bound the hypothesis is taken."""
    limit = task.max_query_length
    learner = make_learner(
        "lstar",
        task.spec.alphabet,
        task.oracle.ask,
        known=tuple(task.known_words),
        max_states=min(task.max_states, BOUNDED_STATES),
        max_query_length=BOUNDED_QUERY if limit is None else min(limit, BOUNDED_QUERY),
        prefixes=task.oracle.stepping,
    )
    return (yield from _learned(task, learner))


def _learned(task: Task, learner: Learner[Any]) -> Extracting:
    tested = 0
    try:
        while True:
            task.state.hypothesis = hypothesis = learner.hypothesis
            task.state.rounds += 1
            needed = task.words_needed_in_round(tested)
            tested += 1
            passed = 0
            while passed < needed:
                yield
                drawn = task.sampler.draw(needed - passed, hypothesis, Relation.EQUAL)
                if task.confirmed(drawn.violation):
                    return Extraction(hypothesis, violation=drawn.violation)
                if drawn.difference is not None:
                    refine(learner, drawn.difference)
                    break
                passed += drawn.words
            else:
                return Extraction(hypothesis, shown=round_shown_epsilon(passed, task.gamma, tested - 1, task.bound))
    except LearningBoundReached as bound:
        return Extraction(learner.hypothesis, bound=str(bound))


def _tested(task: Task, road: Callable[[Subject], Road]) -> Extracting:
    """Go a road to its end, then test what it came to on words that had no part in it."""
    going = road(_subject(task))
    while True:
        try:
            task.state.hypothesis = next(going)
        except StopIteration as end:
            surrogate = end.value
            break
        task.state.rounds += 1
        yield
    task.state.hypothesis = hypothesis = surrogate.automaton
    passed = 0
    while passed < task.words_needed:
        yield
        drawn = task.sampler.draw(task.words_needed - passed, hypothesis, Relation.EQUAL)
        if task.confirmed(drawn.violation):
            return Extraction(hypothesis, violation=drawn.violation, how=surrogate.how)
        if drawn.difference is not None:
            word = shown(format_word(task.spec.alphabet.decode(drawn.difference)), 120)
            bound = f"{surrogate.how}, but model and automaton differ on the sampled word {word}"
            return Extraction(hypothesis, bound=bound, how=surrogate.how)
        passed += drawn.words
    return Extraction(hypothesis, shown=shown_epsilon(passed, task.gamma, task.bound), how=surrogate.how)


def _subject(task: Task) -> Subject:
    return Subject(task.oracle, task.distribution, task.rng, task.learner, task.max_states)


ROADS: Mapping[str, Callable[[Task], Extracting]] = MappingProxyType(
    {
        "pac-lstar": pac,
        "bounded-lstar": bounded,
        "weiss": functools.partial(_tested, road=weiss),
        "kmeans": functools.partial(_tested, road=functools.partial(quantised, kind="kmeans")),
        "grid": functools.partial(_tested, road=functools.partial(quantised, kind="grid")),
    }
)
