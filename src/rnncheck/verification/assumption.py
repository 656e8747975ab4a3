"""Assumptions about the environment: which words count."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import is_empty, short_words
from rnncheck.automata.product import intersection
from rnncheck.errors import InputError
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec
from rnncheck.verdict.guarantee import AssumptionFacts
from rnncheck.words import Alphabet


@dataclass(frozen=True)
class Assumption:
    """Only words of the language ``spec`` (if given) and of at most ``max_length`` letters count.

    ``distribution`` is the distribution of all words.
    """

    distribution: WordDistribution
    spec: Spec | None
    max_length: int | None

    @functools.cached_property
    def dfa(self) -> DFA:
        """The automaton of the words that count."""
        alphabet: Alphabet = self.distribution.alphabet
        if self.max_length is None:
            return short_words(alphabet, 0) if self.spec is None else self.spec.dfa
        short = short_words(alphabet, self.max_length)
        return short if self.spec is None else intersection(self.spec.dfa, short)

    @functools.cached_property
    def facts(self) -> AssumptionFacts:
        """The facts for the verdict."""
        spec = self.spec
        return AssumptionFacts(
            origin=None if spec is None else spec.origin,
            sha256=None if spec is None else spec.sha256(),
            states=None if spec is None else len(spec.dfa),
            automaton=None if spec is None else spec.dfa,
            max_length=self.max_length,
            mass=self.distribution.mass(self.dfa),
        )

    def words(self) -> WordDistribution:
        """The distribution of the words that count; raises InputError if there are none."""
        counting = conditioned(self.distribution, self.dfa, self.facts.given())
        if counting is None:
            why = "exists" if is_empty(self.dfa) else "has a positive probability under this distribution"
            raise InputError(
                f"no word{self.facts.scope} {why}, so there is nothing to verify; change what is assumed (--assume)"
            )
        return counting
