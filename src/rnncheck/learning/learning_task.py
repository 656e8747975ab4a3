"""The input of every learning algorithm, and its state while it runs."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from rnncheck.automata.moore import NO_YES, Hypothesis, MooreMachine
from rnncheck.errors import InconsistentAnswersError
from rnncheck.learning.equivalence import EquivalenceName, make_equivalence
from rnncheck.learning.equivalence.oracle import EquivalenceOracle
from rnncheck.learning.equivalence.replayed_words import ReplayedWords
from rnncheck.learning.equivalence.sampling import SamplingEquivalence
from rnncheck.learning.equivalence.test_suite import EquivalenceContext
from rnncheck.learning.learners import make_learner
from rnncheck.learning.learners.answers import Ask
from rnncheck.learning.learners.learner import Learner
from rnncheck.learning.learning_settings import MAX_STATES, LearningSettings
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.runtime.budget import INTERRUPTED, BudgetExceeded
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.search.plain_sampler import PlainSampler
from rnncheck.search.sampler import Sampler
from rnncheck.words import Codes, Word, WordBatch, format_word

Result = TypeVar("Result")

# What may end learning from outside; ``why_ended`` puts it in words.
ENDINGS = (BudgetExceeded, KeyboardInterrupt, InconsistentAnswersError, MemoryError)


@dataclass(frozen=True)
class Progress:
    """The progress of learning or verification."""

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
    boxes: tuple[int, int] | None = None  # of a proof: those still growing, and all
    counterexample: Word | None = None  # the shortest violation confirmed so far


class LearningTask:
    """A model to learn an automaton of: its oracle, the distribution of words, the confidence.

    ``labels`` are the meanings of the oracle's answers. ``watched`` is a property whose violations are reported as soon
    as they are found. ``max_length``: the model is never queried for longer words. ``rounds`` and ``hypothesis`` show
    the progress; ``so_far`` makes a result of it, from the reason why it ended, where a hypothesis is not all of it.
    """

    exact_length: int | None = None
    boxes: tuple[int, int] | None = None
    working: str = ""  # the method that made the hypothesis, where several take turns
    testing: bool = False  # whether a hypothesis is being tested rather than learned

    def __init__(
        self,
        oracle: MembershipOracle,
        distribution: WordDistribution,
        confidence: Confidence,
        seed: int,
        settings: LearningSettings,
        *,
        labels: Sequence[str] = NO_YES,
        watched: Property | None = None,
        max_length: int | None = None,
    ) -> None:
        self.oracle = oracle
        self.distribution = distribution
        self.confidence = confidence
        self.seed = seed
        self.settings = settings
        self.watched = watched
        self.max_length = max_length
        self.sampler = (PlainSampler if settings.plain else Sampler)(oracle, distribution, self.rng("sampler"), watched)
        self.rounds = 0
        self.hypothesis: Hypothesis | None = None
        self.so_far: Callable[[str], Any] | None = None
        self._labels = tuple(labels)
        self._learner: Learner[Any] | None = None
        self._began = settings.clock()

    def rng(self, purpose: str) -> np.random.Generator:
        """A separate random generator for each purpose, so that one activity does not change another's numbers."""
        return np.random.default_rng([self.seed, *purpose.encode()])

    def sibling(self, confidence: Confidence) -> Self:
        """A task with the same model, oracle and budget, and with its own rounds and hypothesis."""
        twin = copy.copy(self)
        twin.confidence, twin.hypothesis, twin.rounds, twin._learner = confidence, None, 0, None
        twin.so_far = None
        return twin

    def run_test(self, test: CooperativeWork[Result]) -> CooperativeWork[Result]:
        """Run a test with ``testing`` set, and return its result."""
        self.testing = True
        try:
            return (yield from test)
        finally:
            self.testing = False

    @property
    def max_states(self) -> int:
        """The most states that a hypothesis may have."""
        return MAX_STATES if self.settings.max_states is None else self.settings.max_states

    @property
    def several_labels(self) -> bool:
        """Whether the model has more answers than yes and no."""
        return len(self._labels) > 2

    def learner(self, ask: Ask | None = None, **bounds: Any) -> Learner[Any]:
        """A learner that queries the oracle, or ``ask``; ``bounds`` (and ``learner``) override the settings."""
        settings = self.settings
        name = bounds.pop("learner", settings.learner)
        unlimited = settings.plain and settings.max_states is None  # as printed, only time ends learning
        most = sys.maxsize if unlimited else self.max_states
        options = {"max_states": most, "max_query_length": settings.max_query_length, **bounds}
        if self.max_length is not None:
            options["max_query_length"] = min(self.max_length, options["max_query_length"] or self.max_length)
        return make_learner(
            name,
            self.oracle.alphabet,
            ask or self.oracle.ask,
            labels=self._labels,
            known=[self.oracle.alphabet.encode(word) for word in settings.known_words],
            prefixes=self.oracle.stepping and not settings.plain,  # whose answers cost no further step
            **options,
        )

    def equivalence(self, relation: Relation, preferred: EquivalenceName = "sampling") -> EquivalenceOracle:
        """The equivalence oracle of the settings; model and hypothesis should be in the relation.

        It always includes a sample, on which the claim about a hypothesis rests.
        """
        replayed = ReplayedWords(relation)
        sample = SamplingEquivalence(
            self.sampler, self.confidence, relation, replayed=None if self.settings.plain else replayed
        )
        name = self.settings.equivalence or preferred
        own = tuple(self.oracle.alphabet.encode(word) for word in self.settings.known_words)
        context = EquivalenceContext(
            self.oracle, relation, self.watched, self.max_length, replayed, self.distribution, own
        )
        return make_equivalence(name, context, replayed, sample, self.rng(name))

    def begin_round(self, learner: Learner[Any]) -> Hypothesis:
        """Start a round with the learner's current hypothesis."""
        self._learner = learner
        self.hypothesis = self.hypothesis_of(learner)
        self.rounds += 1
        return self.hypothesis

    def latest(self) -> Hypothesis | None:
        """The learner's current hypothesis, which may have grown since the round began."""
        return self.hypothesis if self._learner is None else self.hypothesis_of(self._learner)

    def constants(self) -> list[Hypothesis]:
        """The automata of one state: one for each answer."""
        row = [0] * len(self.oracle.alphabet)
        return [self.automaton([row], [answer]) for answer in range(len(self._labels))]

    def automaton(self, transitions: Sequence[Sequence[int]], outputs: Sequence[int]) -> Hypothesis:
        """The automaton of a table with initial state 0, or the machine where there are several labels."""
        machine = MooreMachine(self.oracle.alphabet, self._labels, transitions, outputs)
        return machine if self.several_labels else machine.support

    def hypothesis_of(self, learner: Learner[Any]) -> Hypothesis:
        """The learner's last complete hypothesis: an automaton, or a machine where there are several labels."""
        return learner.machine if self.several_labels else learner.hypothesis

    @property
    def words_used(self) -> int:
        """The words whose answers were used, as the paper counts them: every query, and every drawn word, even if its
        answer could not matter and was not queried.
        """
        return self.oracle.cost.membership_queries - self.sampler.queries + self.sampler.drawn

    @property
    def seconds(self) -> float:
        """The seconds since the work started."""
        return self.settings.clock() - self._began

    def progress(self, method: str) -> Progress:
        """The current progress."""
        cost = self.oracle.cost
        return Progress(
            method=method,
            seconds=self.seconds,
            remaining=self.oracle.budget.remaining(),
            rounds=self.rounds,
            states=None if self.hypothesis is None else len(self.hypothesis),
            membership_queries=cost.membership_queries,
            network_steps=cost.network_steps,
            words=self.sampler.words,
            words_needed=self.confidence.words,
            exact_length=self.exact_length,
            boxes=self.boxes,
        )

    def why_ended(self, ending: BaseException) -> str:
        """One of ``ENDINGS`` in words."""
        if isinstance(ending, InconsistentAnswersError):
            word = format_word(self.oracle.alphabet.decode(ending.word))
            before, now = ("accepted", "rejected") if ending.before else ("rejected", "accepted")
            return (
                f"the model's answers change: the word {word} was first {before} and then {now}; "
                "a model must give each word one answer"
            )
        if isinstance(ending, MemoryError):
            return "memory ran out; give the process more, or lower the memory limit (--memory)"
        return ending.reason if isinstance(ending, BudgetExceeded) else INTERRUPTED


def refining(
    learner: Learner[Any], counterexample: Codes, others: Mapping[Codes, int] | None = None
) -> CooperativeWork[None]:
    """Refine by a word on which hypothesis and model differed; if they no longer do, the model's answers change.

    Refines by ``others`` too, with the model's answers, which are not queried again.
    """
    machine = learner.machine
    expected = int(machine.outputs[machine.support.end_states(WordBatch.from_codes([counterexample]))[0]])
    yield from learner.refining([counterexample, *(others or ())], others or {})
    if learner.answered(counterexample) == expected:
        raise InconsistentAnswersError(counterexample, before=not expected)
