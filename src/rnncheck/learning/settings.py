"""What can be set about learning, whatever it is for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rnncheck.learning.equivalence import EquivalenceName
from rnncheck.learning.learners import LearnerName
from rnncheck.oracle import DEFAULT_MEMORY
from rnncheck.probability.confidence import Bound
from rnncheck.runtime.budget import Clock, never
from rnncheck.words import Word


@dataclass(frozen=True)
class LearningSettings:
    """How an automaton is learned from a model: the learner, its tests and bounds, and what work may use."""

    learner: LearnerName = "ttt"
    equivalence: EquivalenceName | None = None  # what looks for counterexamples; None: what the method prefers
    bound: Bound = Bound.EXACT
    max_states: int = 2_000
    max_query_length: int | None = None
    known_words: tuple[Word, ...] = ()  # the learner begins with them
    memory_limit: int = DEFAULT_MEMORY
    clock: Clock = time.monotonic
    cancelled: Callable[[], bool] = never
