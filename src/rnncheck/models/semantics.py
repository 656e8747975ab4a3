"""The operations that a cell's equations are made of, so that each cell is written down once for all uses.

Proofs compute with intervals whose bounds hold for every evaluator. Training computes with tensors that have
gradients, on single states or on intervals of them.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar


class TermsOfASum(Protocol):
    """A sum that is not yet computed: terms can be added, and all of them multiplied."""

    def __add__(self, other: Self, /) -> Self: ...

    def __getitem__(self, part: slice, /) -> Self: ...  # along the last axis

    def times(self, factor: Any, /) -> Self: ...


Numbers = TypeVar("Numbers")
Terms = TypeVar("Terms", bound=TermsOfASum)


class Semantics(Protocol[Numbers, Terms]):
    """The operations that cells are made of."""

    def affine(self, weight: Any, bias: Any | None, x: Numbers, /) -> Terms:
        """``weight @ x + bias``."""

    def products(self, *pairs: tuple[Numbers, Numbers]) -> Terms:
        """``a b + c d + …``, number by number."""

    def computed(self, total: Terms, /) -> Numbers: ...

    def tanh(self, x: Numbers, /) -> Numbers: ...

    def sigmoid(self, x: Numbers, /) -> Numbers: ...

    def relu(self, x: Numbers, /) -> Numbers: ...

    def blend(self, z: Numbers, new: Numbers, old: Numbers, /) -> Numbers:
        """``(1 - z) new + z old`` for a gate z: what ``sigmoid`` returned, since bounds rest on its being in 0 … 1."""

    def keeping(self, gate: Numbers, /) -> Numbers:
        """The gate itself, marked as the one that keeps the past: where it stays near 1, errors never die out."""

    def unknown(self, x: Numbers, h: Numbers, /) -> Numbers:
        """The next state of a cell without equations: nothing is known about it."""
