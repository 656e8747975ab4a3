r"""The language of a model's mistakes: the words that break the relation between model R and specification A.

For ``subset`` that is L(R) \ L(A). Words that cannot be mistakes whatever the model says cost no network step.
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
    """Answers whether words are mistakes, through the oracle."""

    def __init__(self, oracle: MembershipOracle, wanted: Property) -> None:
        self._oracle = oracle
        self._wanted = wanted

    @property
    def possible(self) -> DFA:
        """The automaton of the words that can be mistakes."""
        return self._wanted.possible_violations

    def ask(self, queries: Sequence[Query]) -> Mask:
        """One answer per query (access word, suffix): is the word a mistake?"""
        words = WordBatch.from_codes([access + suffix for access, suffix in queries])
        ends = self._wanted.spec.end_states(words)
        mistaken = self._wanted.may_violate[ends]
        rows = np.flatnonzero(mistaken)
        answers = self._oracle.ask([queries[row] for row in rows.tolist()])
        mistaken[rows] = self._wanted.broken(answers, ends[rows])
        return mistaken

    def mistakes(self, words: WordBatch) -> Mask:
        """Which of the words are mistakes. A stepping model reads them side by side; nothing of that is kept."""
        if not self._oracle.stepping:
            return self.ask([((), word) for word in words])
        ends = self._wanted.spec.end_states(words)
        mistaken = self._wanted.may_violate[ends]
        rows = np.flatnonzero(mistaken)
        some = words.take(mistaken)
        answers = np.full(len(some), self._oracle.stepper.accepts_empty)
        last = some.lengths > 0
        answers[last] = self._oracle.prefix_answers(some)[some.offsets[1:][last] - 1]
        mistaken[rows] = self._wanted.broken(answers, ends[rows])
        return mistaken

    def difference(self, words: WordBatch, hypothesis: DFA) -> Codes | None:
        """The shortlex-least of the words on which hypothesis and truth differ, cut to its shortest such prefix."""
        wrong = words.take(self.mistakes(words) != hypothesis.accepts_batch(words))
        if not len(wrong):
            return None
        word = min(wrong, key=shortlex_key)
        if not self._oracle.stepping:
            return word
        prefixes = WordBatch.from_codes([word[:length] for length in range(len(word) + 1)])
        differs = self.mistakes(prefixes) != hypothesis.accepts_batch(prefixes)
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
    """The description with precision and recall, each from fresh words drawn where it can be seen.

    Precision needs words that the automaton names, recall words that are mistakes; the latter are looked for among
    those that can be mistakes at all.
    """
    precision = recall = None
    named, possible = conditioned(distribution, automaton), conditioned(distribution, language.possible)
    if named is not None:
        precision = Share.of(int(language.mistakes(named.sample(rng, words)).sum()), words)
    if possible is not None:
        drawn = possible.sample(rng, words)
        mistakes = drawn.take(language.mistakes(drawn))
        recall = Share.of(int(automaton.accepts_batch(mistakes).sum()), len(mistakes))
    return msgspec.structs.replace(description, precision=precision, recall=recall)
