"""What "R satisfies A" is to mean: a relation between two languages, and what breaks it."""

from __future__ import annotations

import enum
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.minimisation import coreachable
from rnncheck.automata.product import difference, difference_witness, inclusion_witness, symmetric_difference
from rnncheck.errors import InputError, short_repr
from rnncheck.words import Word

RelationName = Literal["subset", "superset", "equal"]


class Relation(enum.Enum):
    """How the language of a model R must stand to the language of a specification A.

    The same relation is asked of R and a hypothesis H, so ``other`` below is A or H.
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
        """The relation in signs."""
        return {"subset": "L(R) ⊆ L(A)", "superset": "L(R) ⊇ L(A)", "equal": "L(R) = L(A)"}[self.value]

    def broken(self, model: npt.NDArray[Any], other: npt.NDArray[Any]) -> Mask:
        """Where a word breaks the relation, from the answers of the two sides (labels, if it is equality)."""
        if self is Relation.SUBSET:
            return np.asarray(model & ~other)
        if self is Relation.SUPERSET:
            return np.asarray(~model & other)
        return np.asarray(model != other)

    def can_break(self, other: npt.NDArray[Any]) -> Mask:
        """Where a word could break the relation, whatever the model says to it."""
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

    def open_states(self, other: DFA) -> Mask:
        """The states of ``other`` from which some word still leads to a state where the relation can break."""
        if self is Relation.EQUAL:
            return np.ones(len(other), dtype=bool)
        return coreachable(other.complement() if self is Relation.SUBSET else other)


class Property(NamedTuple):
    """What R is to satisfy: a specification A, and the relation in which R is to stand to it."""

    spec: DFA
    relation: Relation
