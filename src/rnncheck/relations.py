"""What "R satisfies A" means: a relation between two languages, and its violations."""

from __future__ import annotations

import dataclasses
import enum
import functools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.language import least_word
from rnncheck.automata.minimisation import coreachable
from rnncheck.automata.product import (
    difference,
    difference_witness,
    inclusion_witness,
    intersection,
    product,
    symmetric_difference,
)
from rnncheck.errors import InputError, short_repr
from rnncheck.words import Alphabet, Word

RelationName = Literal["subset", "superset", "equal"]


class Relation(enum.Enum):
    """The required relation of the language of a model R to the language of a specification A.

    The same relation is checked between R and a hypothesis H, so ``other`` below is A or H.
    """

    SUBSET = "subset"
    SUPERSET = "superset"
    EQUAL = "equal"

    @classmethod
    def named(cls, name: str | Relation) -> Relation:
        """The relation of that name."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(relation.value for relation in cls)
            raise InputError(f"unknown relation {short_repr(name)}; known are {known}") from None

    @property
    def formula(self) -> str:
        """The relation as a formula."""
        return {"subset": "L(R) ⊆ L(A)", "superset": "L(R) ⊇ L(A)", "equal": "L(R) = L(A)"}[self.value]

    def broken(self, model: npt.NDArray[Any], other: npt.NDArray[Any]) -> Mask:
        """Where a word breaks the relation, from the answers of the two sides (labels, if it is equality)."""
        if self is Relation.SUBSET:
            return np.asarray(model & ~other)
        if self is Relation.SUPERSET:
            return np.asarray(~model & other)
        return np.asarray(model != other)

    def may_violate(self, other: npt.NDArray[Any]) -> Mask:
        """Where a word could break the relation, for some answer of the model."""
        if self is Relation.EQUAL:
            return np.ones(other.shape, dtype=np.bool_)
        return np.logical_not(other) if self is Relation.SUBSET else np.asarray(other, dtype=np.bool_)

    def witness(self, model: DFA, other: DFA) -> Word | None:
        """The shortlex-least word that breaks the relation between two automata; None when it holds."""
        if self is Relation.SUBSET:
            return inclusion_witness(model, other)
        if self is Relation.SUPERSET:
            return inclusion_witness(other, model)
        return difference_witness(model, other)

    def violations(self, model: DFA, other: DFA) -> DFA:
        """The words that break the relation between two automata."""
        if self is Relation.SUBSET:
            return difference(model, other)
        if self is Relation.SUPERSET:
            return difference(other, model)
        return symmetric_difference(model, other)


@dataclass(frozen=True, eq=False)
class Property:
    """What R must satisfy: a specification A, and the relation of R to it.

    Where only some words count, ``counts`` holds for each state of ``spec`` whether words that end there count; other
    words are never violations. ``assuming`` builds such a property.
    """

    spec: DFA
    relation: Relation
    counts: Mask | None = None

    @classmethod
    def assuming(cls, spec: DFA, relation: Relation, assumed: DFA | None) -> Property:
        """The property for the words that the automaton ``assumed`` accepts; for all words without one."""
        if assumed is None:
            return cls(spec, relation)
        both = product(spec, assumed, lambda in_spec, _: in_spec)
        return cls(both.dfa, relation, assumed.accepting[both.right])

    def over(self, alphabet: Alphabet) -> Property:
        """The same with the letters in another order."""
        return dataclasses.replace(self, spec=self.spec.over(alphabet))

    @functools.cached_property
    def may_violate(self) -> Mask:
        """The states of ``spec`` where a word could be a violation, for some answer of the model."""
        return self._counting(self.relation.may_violate(self.spec.accepting), np.arange(len(self.spec)))

    @functools.cached_property
    def open_states(self) -> Mask:
        """The states of ``spec`` from which some word leads to a possible violation."""
        return coreachable(self.possible_violations)

    @property
    def possible_violations(self) -> DFA:
        """The automaton of the words that could be violations."""
        return DFA(self.spec.alphabet, self.spec.transitions, self.may_violate, self.spec.initial)

    def broken(self, answers: Mask, states: npt.NDArray[np.integer]) -> Mask:
        """Which words are violations, from the model's answers and the states of ``spec`` in which they end."""
        return self._counting(self.relation.broken(answers, self.spec.accepting[states]), states)

    def witness(self, model: DFA) -> Word | None:
        """The shortlex-least violation of an automaton in place of R; None where there is none."""
        if self.counts is None:
            return self.relation.witness(model, self.spec)
        return least_word(self.violations(model))

    def violations(self, model: DFA) -> DFA:
        """All violations of an automaton in place of R."""
        broken = self.relation.violations(model, self.spec)
        if self.counts is None:
            return broken
        return intersection(broken, DFA(self.spec.alphabet, self.spec.transitions, self.counts, self.spec.initial))

    def _counting(self, broken: Mask, states: npt.NDArray[np.integer]) -> Mask:
        return broken if self.counts is None else broken & self.counts[states]
