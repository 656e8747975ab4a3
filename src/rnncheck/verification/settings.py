"""What can be set about a verification, and what is told while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields

from rnncheck.extraction.registry import DEFAULT_ROAD
from rnncheck.learning import DEFAULT_LEARNER
from rnncheck.oracle import DEFAULT_MEMORY
from rnncheck.probability.statistics import Bound
from rnncheck.runtime.budget import Clock
from rnncheck.search.flows import FlowSettings
from rnncheck.words import Word


@dataclass(frozen=True)
class Progress:
    """What is told while a verification runs."""

    method: str
    seconds: float
    remaining: float
    rounds: int
    states: int | None
    membership_queries: int
    network_steps: int
    words: int
    words_needed: int
    exact_length: int | None


@dataclass(frozen=True)
class VerifySettings:
    """Everything about a verification that is not the model, the specification or the question."""

    learner: str = DEFAULT_LEARNER
    by: str = DEFAULT_ROAD  # the way in which AAMC comes to its automaton
    bound: Bound = Bound.EXACT
    max_states: int = 2_000
    max_query_length: int | None = None
    exhaustive: int | None = None  # first ask every word of at most so many letters
    search_steps: int = 1_000_000  # network steps that ``auto`` spends on the guided search before "satisfied"
    shrink: bool = True
    flows: FlowSettings | None = FlowSettings()  # noqa: RUF009 - frozen
    mass_words: int = 0  # words to estimate the mass of violations with, when there is one
    memory_limit: int = DEFAULT_MEMORY
    known_words: tuple[Word, ...] = ()
    checkpoint: str | None = None  # a file to write now and then what the model has answered so far
    checkpoint_seconds: float = 30.0
    resume: bool = False  # go on from that file: the same verdict as without the interruption
    clock: Clock = time.monotonic
    cancelled: Callable[[], bool] = lambda: False

    def describe(self) -> dict[str, object]:
        """What is not left at its default, for whoever wants to ask the same again."""
        told = {"known_words": len(self.known_words), "flows": None if self.flows is None else asdict(self.flows)}
        # Told apart, or without a say in the result.
        unheard = {"bound", "clock", "cancelled", "memory_limit", "checkpoint", "checkpoint_seconds", "resume"}
        changed = [
            part for part in fields(self) if part.name not in unheard and getattr(self, part.name) != part.default
        ]
        return {part.name: told.get(part.name, getattr(self, part.name)) for part in changed}
