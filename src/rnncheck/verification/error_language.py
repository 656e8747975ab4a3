r"""The language of a model's mistakes: the words that break the relation between model R and specification A.

For ``subset`` that is L(R) \ L(A). Words that cannot be mistakes whatever the model says cost no network step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.formats.dfa_json import write_json
from rnncheck.automata.regex.from_automaton import regular_expression
from rnncheck.learning import Query
from rnncheck.models.protocol import SteppingModel
from rnncheck.oracle import Oracle
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.probability.statistics import clopper_pearson
from rnncheck.relations import Relation
from rnncheck.words import Codes, WordBatch, shortlex_key

# Words that precision and recall are measured on, each.
DEFAULT_MEASURED = 1_000
CONFIDENCE = 0.95


class ErrorLanguage:
    """Answers whether words are mistakes, through the oracle."""

    def __init__(self, oracle: Oracle, spec: DFA, relation: Relation) -> None:
        self._oracle = oracle
        self._spec = spec
        self._relation = relation

    @property
    def possible(self) -> DFA:
        """The automaton of the words that can be mistakes."""
        spec = self._spec
        return DFA(spec.alphabet, spec.transitions, self._relation.can_break(spec.accepting), spec.initial)

    def ask(self, queries: Sequence[Query]) -> Mask:
        """One answer a query (access word, suffix): is the word a mistake?"""
        by_spec = self._spec.accepts_batch(WordBatch.from_codes([access + suffix for access, suffix in queries]))
        mistaken = self._relation.can_break(by_spec)
        rows = np.flatnonzero(mistaken)
        answers = self._oracle.ask([queries[row] for row in rows.tolist()])
        mistaken[rows] = self._relation.broken(answers, by_spec[rows])
        return mistaken

    def mistakes(self, words: WordBatch) -> Mask:
        """Which of the words are mistakes. A stepping model reads them side by side; nothing of that is kept."""
        model = self._oracle.model
        if not isinstance(model, SteppingModel):
            return self.ask([((), word) for word in words])
        by_spec = self._spec.accepts_batch(words)
        mistaken = self._relation.can_break(by_spec)
        rows = np.flatnonzero(mistaken)
        some = words.take(mistaken)
        answers = np.full(len(some), model.accepts_empty)
        last = some.lengths > 0
        answers[last] = self._oracle.prefix_answers(some)[some.offsets[1:][last] - 1]
        mistaken[rows] = self._relation.broken(answers, by_spec[rows])
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


@dataclass(frozen=True)
class Share:
    """A measured probability: so many of so many words, and the interval that shows with 95 % confidence."""

    hits: int
    words: int

    @property
    def value(self) -> float | None:
        return self.hits / self.words if self.words else None

    @property
    def interval(self) -> tuple[float, float]:
        return clopper_pearson(self.hits, self.words, CONFIDENCE) if self.words else (0.0, 1.0)

    def __str__(self) -> str:
        if not self.words:
            return "unknown (no such word was drawn)"
        low, high = self.interval
        return f"{self.hits / self.words:.3g} ({low:.3g} to {high:.3g}, {self.words} words)"


@dataclass(frozen=True)
class ErrorDescription:
    """An automaton that describes the mistakes, and how well it does.

    ``expression`` is its language as a regular expression, None where that is too long to read. ``mass`` is the
    probability of the words it names. ``precision`` is the share of mistakes among the words it names, ``recall`` the
    share of the words it names among the mistakes, both under the distribution; None where nobody had time to measure.
    """

    automaton: DFA
    expression: str | None
    mass: float
    precision: Share | None = None
    recall: Share | None = None

    def sentence(self) -> str:
        """For a person."""
        text = self.expression or f"an automaton of {len(self.automaton)} states, too large to write as an expression"
        parts = [f"the mistakes are described by {text} (probability {self.mass:.3g})"]
        if self.precision is not None:
            parts.append(f"precision {self.precision}")
        if self.recall is not None:
            parts.append(f"recall {self.recall}")
        return ", ".join(parts)

    def facts(self) -> dict[str, object]:
        """For documents: plain values."""
        return {
            "states": len(self.automaton),
            "automaton": msgspec.json.decode(write_json(self.automaton)),
            "expression": self.expression,
            "mass": self.mass,
            **{
                name: None
                if share is None
                else {"value": share.value, "interval": list(share.interval), "words": share.words}
                for name, share in (("precision", self.precision), ("recall", self.recall))
            },
        }


def describe(automaton: DFA, distribution: WordDistribution) -> ErrorDescription:
    """The description without measurements."""
    return ErrorDescription(automaton, regular_expression(automaton), distribution.mass(automaton))


def measure(
    description: ErrorDescription,
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
    automaton = description.automaton
    named, possible = conditioned(distribution, automaton), conditioned(distribution, language.possible)
    if named is not None:
        precision = Share(int(language.mistakes(named.sample(rng, words)).sum()), words)
    if possible is not None:
        drawn = possible.sample(rng, words)
        mistakes = drawn.take(language.mistakes(drawn))
        recall = Share(int(automaton.accepts_batch(mistakes).sum()), len(mistakes))
    return ErrorDescription(automaton, description.expression, description.mass, precision, recall)
