"""Extraction tasks for tests: small bounds, and a run to the end."""

from collections.abc import Generator
from typing import TypeVar

from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.learning.learning_task import LearningTask
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.cooperative import finish
from rnncheck.words import Word

Result = TypeVar("Result")


def task_for(
    model: Model,
    *,
    seed: int = 0,
    budget: Budget | None = None,
    max_states: int = 100,
    confidence: Confidence | None = None,
    distribution: WordDistribution | None = None,
    known_words: tuple[Word, ...] = (),
) -> LearningTask:
    return LearningTask(
        MembershipOracle(model, budget=budget or Budget()),
        distribution or WordDistribution(model.alphabet),
        confidence or Confidence(0.02, 0.02),
        seed,
        LearningSettings(max_states=max_states, known_words=known_words),
    )


def end_of(work: Generator[object, None, Result]) -> Result:
    return finish(work, lambda: None)
