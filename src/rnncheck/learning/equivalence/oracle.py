"""The contract of every equivalence oracle: from a hypothesis to a counterexample, or "passed" and what that shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rnncheck.automata.moore import Hypothesis
from rnncheck.words import Codes


@dataclass(frozen=True)
class EquivalenceAnswer:
    """How the test of a hypothesis ended.

    ``counterexample`` is a word on which model and hypothesis differ; without one the hypothesis has passed.
    ``others`` are further such words that were found, with the model's answers.
    ``epsilon`` is what passing shows: they differ with at most this probability. It is None where no independent words
    were drawn, which shows nothing about other words. ``words`` counts the words of the test. ``violation`` is a
    violation of the property that was found meanwhile and ended the test.
    """

    counterexample: Codes | None = None
    epsilon: float | None = None
    words: int = 0
    violation: Codes | None = None
    others: Mapping[Codes, int] = field(default_factory=dict)


Testing: TypeAlias = Generator[None, None, EquivalenceAnswer]


class EquivalenceOracle(ABC):
    """Tests hypotheses, one after the other: a statistical claim has to know how many were tested before."""

    @abstractmethod
    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        """Test a hypothesis. Yields between pieces of work; the budget ends it from outside, by BudgetExceeded."""


class InTurn(EquivalenceOracle):
    """Several oracles, each used when those before it found nothing; the answer is that of the last one used."""

    def __init__(self, oracles: Sequence[EquivalenceOracle]) -> None:
        self._oracles = oracles

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        answer = EquivalenceAnswer()
        for oracle in self._oracles:
            answer = yield from oracle.find_counterexample(hypothesis)
            if answer.counterexample is not None or answer.violation is not None:
                break
        return answer
