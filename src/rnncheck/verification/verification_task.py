"""What the algorithms share: the question, the ways to answer it, and the shapes of an answer.

An algorithm is a generator. It yields between pieces of work, so that several can take turns, and returns a Finding.
The budget ends an algorithm from outside: any query to the oracle may raise BudgetExceeded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import InconsistentAnswersError
from rnncheck.learning.learning_task import LearningTask, Progress
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.proofs.bounded import Layers
from rnncheck.relations import Property
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.search_samples import MetWords
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.guarantee import ShownBox
from rnncheck.verdict.violation import ErrorDescription
from rnncheck.verification.may_violate import PossibleSample
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Codes, WordBatch, shortlex_key


@dataclass(frozen=True)
class Finding:
    """How an algorithm ended.

    ``word`` is a confirmed violation. ``hypothesis_epsilon`` is what the last test of a hypothesis showed.
    ``proof``: no probability is involved, it holds for all words that count; ``vacuous``: whatever the model says.
    ``certificate`` shows it, where it is about states of the network. Where that proves a part, the other words have
    probability ``unproved`` at most, and ``lengths`` is up to which length a proof goes by itself; boxes are ``shown``.
    ``description`` is of all violations.
    """

    outcome: Outcome
    reason: str
    word: Codes | None = None
    hypothesis_epsilon: float | None = None
    proof: bool = False
    vacuous: bool = False
    certificate: Certificate | None = None
    unproved: float | None = None
    shown: tuple[ShownBox, ...] = ()
    lengths: Layers | None = None
    description: ErrorDescription | None = None


# Where an algorithm knows how many network steps its next piece of work takes, about, it yields that.
Algorithm: TypeAlias = Generator[int | None, None, Finding]


class Task(LearningTask):
    """One verification: R, A, the relation, how sure to be, and what is known while it runs.

    ``best_so_far`` is a result that stands, whatever becomes of the work that is still going on.
    """

    def __init__(
        self,
        oracle: MembershipOracle,
        wanted: Property,
        distribution: WordDistribution,
        confidence: Confidence,
        seed: int,
        settings: VerifySettings,
        max_length: int | None = None,
        unbounded: Property | None = None,
    ) -> None:
        super().__init__(oracle, distribution, confidence, seed, settings, watched=wanted, max_length=max_length)
        self.settings: VerifySettings = settings
        self.wanted = wanted
        self.unbounded = wanted if unbounded is None else unbounded  # the same without ``max_length``
        self.spec, self.relation = wanted.spec, wanted.relation
        self.exhaustive: ExhaustiveSearch | None = None  # goes on where an earlier algorithm left it
        self.best_so_far: Finding | None = None
        self.counterexample: Codes | None = None  # the shortlex-least violation that was confirmed
        self.first_violation: tuple[float, int] | None = None  # seconds and network steps until it was confirmed
        self.met = MetWords()
        self.possible = PossibleSample(oracle, wanted, distribution, confidence, self.rng("possible"))
        self.guided_steps = 0
        self.loop_steps = self.loop_length = 0  # of the search that repeats loops: its steps, and its longest word
        self.loop_failure: str | None = None  # why that search ended early
        self.last_look: Callable[[str], Algorithm] | None = None  # what can still be said when the budget has ended
        self.changed_words = 0  # asked by the search that changes words, where there are no states to follow

    def violates(self, word: Codes) -> bool:
        """Whether a word is a violation: the model by its reference, and the specification, both evaluated."""
        ends = self.spec.end_states(WordBatch.from_codes([word]))
        if not self.wanted.breakable[ends[0]]:
            return False
        broken = bool(self.wanted.broken(np.array([self.oracle.reference_answer(word)]), ends)[0])
        if broken and self.first_violation is None:
            self.first_violation = self.seconds, self.oracle.cost.network_steps
        if broken and not self.violation_stands:
            self.best_so_far = violated(word, "a confirmed violation; the work ended as soon as it was found")
        if broken and (self.counterexample is None or shortlex_key(word) < shortlex_key(self.counterexample)):
            self.counterexample = word
        return broken

    def progress(self, method: str) -> Progress:
        word = self.counterexample
        told = None if word is None else self.oracle.alphabet.decode(word)
        return dataclasses.replace(super().progress(method), counterexample=told)

    @property
    def violation_stands(self) -> bool:
        """Whether a violation was confirmed."""
        return self.best_so_far is not None and self.best_so_far.outcome is Outcome.VIOLATED

    def violating(self, words: Sequence[Codes], oracle: MembershipOracle | None = None) -> Mask:
        """Which words are violations; the model, or another oracle, is asked for those alone that could be."""
        ends = self.spec.end_states(WordBatch.from_codes(words))
        broken = self.wanted.breakable[ends]
        rows = np.flatnonzero(broken)
        answers = (oracle or self.oracle).answers([words[int(row)] for row in rows])
        broken[rows] = self.wanted.broken(answers, ends[rows])
        return broken

    def confirmed(self, word: Codes | None) -> bool:
        """Whether there is a word; one that was answered as a violation and now is none is an error."""
        if word is None:
            return False
        if not self.violates(word):
            raise InconsistentAnswersError(word, before=not self.oracle.answer(word))
        return True


def violated(word: Codes | None, how: str) -> Finding:
    """A confirmed violation, and how it was found."""
    return Finding(Outcome.VIOLATED, how, word)
