r"""The language of a model's violations: the words that break the relation between model R and specification A.

For ``subset`` that is L(R) \ L(A). Words that cannot be violations whatever the model answers cost no network step.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.regex.state_elimination import regular_expression
from rnncheck.oracle import MembershipOracle, Query
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property
from rnncheck.verdict.violation import ErrorDescription, Share
from rnncheck.words import Codes, WordBatch, shortlex_key

# Words that precision and recall are measured on, each.
DEFAULT_MEASURED = 1_000


class ErrorLanguage:
    """Answers whether words are violations, through the oracle."""

    def __init__(self, oracle: MembershipOracle, prop: Property) -> None:
        self._oracle = oracle
        self._prop = prop

    @property
    def may_violate(self) -> DFA:
        """The automaton of the words that could be violations."""
        return self._prop.possible_violations

    def ask(self, queries: Sequence[Query]) -> Mask:
        """One answer per query (access word, suffix): is the word a violation?"""
        words = WordBatch.from_codes([access + suffix for access, suffix in queries])
        ends = self._prop.spec.end_states(words)
        violating = self._prop.may_violate[ends]
        rows = np.flatnonzero(violating)
        answers = self._oracle.ask([queries[row] for row in rows.tolist()])
        violating[rows] = self._prop.broken(answers, ends[rows])
        return violating

    def violations(self, words: WordBatch) -> Mask:
        """Which of the words are violations. A stepping model reads them side by side; nothing is cached."""
        if not self._oracle.stepping:
            return self.ask([((), word) for word in words])
        ends = self._prop.spec.end_states(words)
        violating = self._prop.may_violate[ends]
        rows = np.flatnonzero(violating)
        some = words.take(violating)
        answers = np.full(len(some), self._oracle.stepper.accepts_empty)
        last = some.lengths > 0
        answers[last] = self._oracle.prefix_answers(some)[some.offsets[1:][last] - 1]
        violating[rows] = self._prop.broken(answers, ends[rows])
        return violating

    def difference(self, words: WordBatch, hypothesis: DFA) -> Codes | None:
        """The shortlex-least of the words on which the hypothesis is wrong, cut to its shortest such prefix."""
        wrong = words.take(self.violations(words) != hypothesis.accepts_batch(words))
        if not len(wrong):
            return None
        word = min(wrong, key=shortlex_key)
        if not self._oracle.stepping:
            return word
        prefixes = WordBatch.from_codes([word[:length] for length in range(len(word) + 1)])
        differs = self.violations(prefixes) != hypothesis.accepts_batch(prefixes)
        return word[: int(differs.argmax())]


def describe(automaton: DFA, distribution: WordDistribution) -> ErrorDescription:
    """The description without measurements."""
    return ErrorDescription(
        states=len(automaton),
        automaton=automaton,
        expression=regular_expression(automaton),
        mass=distribution.mass(automaton),
    )


def measure(
    description: ErrorDescription,
    automaton: DFA,
    language: ErrorLanguage,
    distribution: WordDistribution,
    rng: np.random.Generator,
    words: int = DEFAULT_MEASURED,
) -> ErrorDescription:
    """The description with precision and recall, each measured on fresh words.

    Precision needs words that the automaton accepts, recall words that are violations; the latter are searched among
    those that could be violations.
    """
    precision = recall = None
    accepted, suspects = conditioned(distribution, automaton), conditioned(distribution, language.may_violate)
    if accepted is not None:
        precision = Share.of(int(language.violations(accepted.sample(rng, words)).sum()), words)
    if suspects is not None:
        drawn = suspects.sample(rng, words)
        violations = drawn.take(language.violations(drawn))
        recall = Share.of(int(automaton.accepts_batch(violations).sum()), len(violations))
    return msgspec.structs.replace(description, precision=precision, recall=recall)
