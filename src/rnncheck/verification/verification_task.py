"""The common base of the algorithms: the task they work on, and the Finding they return.

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
from rnncheck.proofs.bounded import BoundedProof
from rnncheck.relations import Property
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.search_samples import SearchSamples
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.guarantee import ShownBox
from rnncheck.verdict.violation import ErrorDescription
from rnncheck.verification.possible_violations import MayViolateSample
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Codes, WordBatch, shortlex_key


@dataclass(frozen=True)
class Finding:
    """How an algorithm ended.

    ``word`` is a confirmed violation. ``hypothesis_epsilon`` is the result of the last test of a hypothesis.
    ``proof``: it holds for all words that count, without probability; ``vacuous``: whatever the model answers.
    ``certificate`` proves it where the specification alone does not. Where the certificate proves a part, the other
    words have probability at most ``unproved``, and ``lengths`` is the length up to which all words are proved;
    ``shown`` are boxes to draw. ``description`` is of all violations.
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
    lengths: BoundedProof | None = None
    description: ErrorDescription | None = None


# Yields about how many network steps the next piece of work takes, or None where that is unknown.
Algorithm: TypeAlias = Generator[int | None, None, Finding]


class Task(LearningTask):
    """One verification: R, A, the relation, the confidence, and the state of the work.

    ``best_so_far`` is a result that stands, however the remaining work ends.
    """

    def __init__(
        self,
        oracle: MembershipOracle,
        prop: Property,
        distribution: WordDistribution,
        confidence: Confidence,
        seed: int,
        settings: VerifySettings,
        max_length: int | None = None,
        unbounded: Property | None = None,
    ) -> None:
        super().__init__(oracle, distribution, confidence, seed, settings, watched=prop, max_length=max_length)
        self.settings: VerifySettings = settings
        self.prop = prop
        self.unbounded = prop if unbounded is None else unbounded  # the same without ``max_length``
        self.spec, self.relation = prop.spec, prop.relation
        self.exhaustive: ExhaustiveSearch | None = None  # continued by later algorithms
        self.best_so_far: Finding | None = None
        self.counterexample: Codes | None = None  # the shortlex-least violation that was confirmed
        self.first_violation: tuple[float, int] | None = None  # seconds and network steps until it was confirmed
        self.search_samples = SearchSamples()
        self.may_violate = MayViolateSample(oracle, prop, distribution, confidence, self.rng("possible"))
        self.guided_steps = 0
        self.loop_steps = self.loop_length = 0  # of the search that repeats loops: steps and longest word
        self.loop_failure: str | None = None  # why the search of loops ended early
        self.last_look: Callable[[str], Algorithm] | None = None  # makes a finding after the budget has ended
        self.changed_words = 0  # queried by the mutation search of black-box models

    def violates(self, word: Codes) -> bool:
        """Whether a word is a violation: evaluates the model's reference and the specification."""
        ends = self.spec.end_states(WordBatch.from_codes([word]))
        if not self.prop.may_violate[ends[0]]:
            return False
        broken = bool(self.prop.broken(np.array([self.oracle.reference_answer(word)]), ends)[0])
        if broken and self.first_violation is None:
            self.first_violation = self.seconds, self.oracle.cost.network_steps
        if broken and not self.violation_stands:
            self.best_so_far = violated(word, "a confirmed violation; the work ended right after it was found")
        if broken and (self.counterexample is None or shortlex_key(word) < shortlex_key(self.counterexample)):
            self.counterexample = word
        return broken

    def progress(self, method: str) -> Progress:
        word = self.counterexample
        counterexample = None if word is None else self.oracle.alphabet.decode(word)
        return dataclasses.replace(super().progress(method), counterexample=counterexample)

    @property
    def violation_stands(self) -> bool:
        """Whether a violation was confirmed."""
        return self.best_so_far is not None and self.best_so_far.outcome is Outcome.VIOLATED

    def violating(self, words: Sequence[Codes], oracle: MembershipOracle | None = None) -> Mask:
        """Which words are violations; the model (or another oracle) is queried only for those that could be."""
        ends = self.spec.end_states(WordBatch.from_codes(words))
        broken = self.prop.may_violate[ends]
        rows = np.flatnonzero(broken)
        answers = (oracle or self.oracle).answers([words[int(row)] for row in rows])
        broken[rows] = self.prop.broken(answers, ends[rows])
        return broken

    def confirmed(self, word: Codes | None) -> bool:
        """Whether there is a word, a violation by the evaluator. An error if the reference disagrees."""
        if word is None:
            return False
        if not self.violates(word):
            raise InconsistentAnswersError(word, before=not self.oracle.answer(word))
        return True


def violated(word: Codes | None, how: str) -> Finding:
    """A confirmed violation, and how it was found."""
    return Finding(Outcome.VIOLATED, how, word)
