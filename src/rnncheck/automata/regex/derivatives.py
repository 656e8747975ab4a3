"""Brzozowski derivatives: the term for what may follow a letter.

The derivative of a concatenation is spread over the alternatives at its head (the partial derivatives of Antimirov), so
that a derivative is a flat set of terms out of a stock that grows with the expression and not with the automaton.

The derivatives of a term by all letter classes are its row: a dict from the classes named in it, and the derivative by
all other classes. The rest class is never named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from rnncheck.automata.regex.terms import (
    Algebra,
    Complement,
    Concatenation,
    EmptyWord,
    Intersection,
    OneOf,
    Power,
    Term,
    Union,
)

Row: TypeAlias = tuple[dict[int, Term], Term]

_WORK_PER_ENTRY = 10
_WORK_PER_SUCCESSOR = 4


class Derivatives:
    """Derives the terms of an algebra and remembers the rows of their parts."""

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra
        self._rows: dict[Term, Row] = {}

    def successors(self, state: Term) -> list[Term]:
        """The derivatives of a term by the letter classes, in their order."""
        # The parts come first, from an explicit stack: terms may be nested deeper than Python can recurse.
        stack = [state]
        while stack:
            top = stack[-1]
            if top not in self._rows:
                missing = [part for part in _needs(top) if part not in self._rows]
                if missing:
                    stack += missing
                    continue
                self._rows[top] = self._derived(top)
            stack.pop()
        by_class, other = self._rows.pop(state)  # a state is left once; its row would only take room
        self._algebra.spend(_WORK_PER_SUCCESSOR * self._algebra.classes)
        return [by_class.get(each, other) for each in range(self._algebra.classes)]

    def _derived(self, term: Term) -> Row:
        """The row of a term, once those of all that it ``_needs`` are known."""
        algebra, rows = self._algebra, self._rows
        match term:
            case Union():
                return self._combined([rows[member] for member in term.members], algebra.union)
            case Concatenation():
                row = self._followed_by(rows[term.head], term.tail)
                return self._combined([row, rows[term.tail]], algebra.union) if term.head.nullable else row
            case Power():
                remaining = algebra.power(term.base, max(term.low - 1, 0), term.high - 1)
                return self._followed_by(rows[term.base], remaining)
            case Intersection():
                return self._combined([rows[member] for member in term.members], algebra.intersection)
            case Complement():
                return _mapped(rows[term.inner], algebra.complement)
            case OneOf():
                by_rest, by_exceptions = algebra.nothing, algebra.epsilon
                if term.has_rest:
                    by_rest, by_exceptions = by_exceptions, by_rest
                return dict.fromkeys(term.exceptions, by_exceptions), by_rest
            case EmptyWord():
                return {}, algebra.nothing
        raise TypeError(f"no derivative is known for a {type(term).__name__}")

    def _combined(self, rows: Sequence[Row], operation: Callable[[Iterable[Term]], Term]) -> Row:
        """One row out of several, class by class."""
        named = sorted(set[int]().union(*(by_class for by_class, _ in rows)))
        self._algebra.spend(_WORK_PER_ENTRY * len(rows) * (len(named) + 1))
        default = operation([other for _, other in rows])
        combined = {each: operation([by_class.get(each, other) for by_class, other in rows]) for each in named}
        return {each: term for each, term in combined.items() if term is not default}, default

    def _followed_by(self, row: Row, tail: Term) -> Row:
        """A row with ``tail`` behind every derivative."""
        algebra = self._algebra

        def followed(term: Term) -> Term:
            if isinstance(term, Union):
                return algebra.union([algebra.concatenation(member, tail) for member in term.members])
            return algebra.concatenation(term, tail)

        return _mapped(row, followed)


def _mapped(row: Row, operation: Callable[[Term], Term]) -> Row:
    by_class, other = row
    return {each: operation(term) for each, term in by_class.items()}, operation(other)


def _needs(term: Term) -> Sequence[Term]:
    """The terms whose rows the row of this one is made of."""
    match term:
        case Union() | Intersection():
            return term.members
        case Concatenation():
            return (term.head, term.tail) if term.head.nullable else (term.head,)
        case Power():
            return (term.base,)
        case Complement():
            return (term.inner,)
    return ()
