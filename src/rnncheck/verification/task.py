"""What the algorithms share: the question, the ways to answer it, and the shapes of an answer.

An algorithm is a generator. It yields between pieces of work, so that several can take turns, and returns a Finding.
The budget ends an algorithm from outside: any question to the oracle may raise BudgetExceeded.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InconsistentAnswersError
from rnncheck.learning import Learner, make_learner
from rnncheck.oracle import Oracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.probability.statistics import Bound, round_sample_size, sample_size
from rnncheck.relations import Relation
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.sampling import Sampler
from rnncheck.verdict.value import Outcome
from rnncheck.words import Codes, WordBatch


@dataclass(frozen=True)
class Finding:
    """How an algorithm ended.

    ``word`` is a confirmed violation. ``hypothesis_epsilon`` is what the last test of a hypothesis showed.
    ``proof``: no probability is involved, it holds of all words.
    """

    outcome: Outcome
    reason: str
    word: Codes | None = None
    hypothesis_epsilon: float | None = None
    proof: bool = False


Algorithm: TypeAlias = Generator[None, None, Finding]


@dataclass
class State:
    """What is known while an algorithm runs, for progress and for the verdict of an interrupted run."""

    rounds: int = 0
    hypothesis: DFA | None = None
    exact_length: int | None = None
    exhaustive: ExhaustiveSearch | None = None  # goes on where an earlier algorithm left it
    spurious: int = 0
    earned: Finding | None = None  # a result that stands, whatever becomes of the work that is still going on


@dataclass
class Task:
    """One verification: R, A, the relation, and how sure to be."""

    oracle: Oracle
    spec: DFA
    relation: Relation
    distribution: WordDistribution
    epsilon: float
    gamma: float
    bound: Bound
    seed: int
    learner_name: str
    max_states: int
    max_query_length: int | None
    search_steps: int = 0
    road: str = ""
    known_words: Iterable[Codes] = ()
    state: State = field(default_factory=State)

    def __post_init__(self) -> None:
        self.sampler = Sampler(self.oracle, self.spec, self.relation, self.distribution, self.rng("sampler"))

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator of its own for each purpose, so that one activity does not change another's numbers."""
        return np.random.default_rng([self.seed, *purpose.encode()])

    @property
    def words_needed(self) -> int:
        """How many words without a violation show the property."""
        return sample_size(self.epsilon, self.gamma, self.bound)

    def words_needed_in_round(self, tests_before: int) -> int:
        """How many words without a difference show that this hypothesis is right enough."""
        return round_sample_size(self.epsilon, self.gamma, tests_before, self.bound)

    def violates(self, word: Codes) -> bool:
        """Whether a word is a violation: the model by its own definition, and the specification, both evaluated."""
        model = np.array([self.oracle.confirm(word)])
        spec = self.spec.accepts_batch([self.spec.alphabet.decode(word)])
        return bool(self.relation.broken(model, spec)[0])

    def confirmed(self, word: Codes | None) -> bool:
        """Whether there is a word; one that was answered as a violation and now is none is an error."""
        if word is None:
            return False
        if not self.violates(word):
            raise InconsistentAnswersError(word, before=not self.oracle.answer(word))
        return True

    def learner(self) -> Learner[Any]:
        """A learner that asks the oracle."""
        return make_learner(
            self.learner_name,
            self.spec.alphabet,
            self.oracle.ask,
            known=tuple(self.known_words),
            max_states=self.max_states,
            max_query_length=self.max_query_length,
            prefixes=self.oracle.stepping,  # their answers come along for no further step
        )


def refine(learner: Learner[Any], word: Codes) -> None:
    """Refine by a word on which hypothesis and model differed; if they no longer do, the model's answers change."""
    accepted = bool(learner.hypothesis.accepts_batch(WordBatch.from_codes([word]))[0])
    if not learner.refine(word):
        raise InconsistentAnswersError(word, before=not accepted)


def violated(word: Codes | None, how: str) -> Finding:
    """A confirmed violation, and how it was found."""
    return Finding(Outcome.VIOLATED, how, word)
