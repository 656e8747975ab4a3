"""Settings of learning, whatever it is for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rnncheck.errors import InputError, WrongTypeError, short_repr
from rnncheck.learning.equivalence import EquivalenceName
from rnncheck.learning.learners import LearnerName
from rnncheck.oracle import DEFAULT_MEMORY
from rnncheck.probability.confidence import Bound, Confidence
from rnncheck.runtime.budget import Clock, never
from rnncheck.words import Word

# States of a hypothesis by default: in general, and in an extraction with a time limit.
MAX_STATES = 2_000
MAX_STATES_IN_TIME = 1 << 16


@dataclass(frozen=True)
class LearningSettings:
    """How an automaton is learned from a model: the learner, its tests and bounds, and what work may use."""

    learner: LearnerName = "ttt"
    equivalence: EquivalenceName | None = None  # None: the method's own choice
    bound: Bound = Confidence.bound
    plain: bool = False  # query every drawn word as a whole, one after the other, and use nothing else
    max_states: int | None = None  # None: 2 000, 65 536 where an extraction has a time limit, none if ``plain``
    max_query_length: int | None = None
    known_words: tuple[Word, ...] = ()  # the learner starts with them
    memory_limit: int = DEFAULT_MEMORY
    clock: Clock = time.monotonic
    cancelled: Callable[[], bool] = never

    def __post_init__(self) -> None:
        check_least("max_states", self.max_states, 1)
        check_least("max_query_length", self.max_query_length, 1)
        check_least("memory_limit", self.memory_limit, 0)


def check_least(name: str, value: int | None, least: int) -> None:
    """Raise an error for a number below ``least``; None is allowed."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise WrongTypeError(f"{name}={short_repr(value)} is a {type(value).__name__}; give a whole number")
    if value is not None and value < least:
        raise InputError(f"{name}={value} is too small; give a whole number of at least {least}")
