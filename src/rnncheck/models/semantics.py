"""What the equations of a cell are computed with, so that each cell is written down once for all of them.

Proofs compute with boxes whose bounds hold for every evaluator; training computes with tensors that have gradients,
single states or boxes of them.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar


class TermsOfASum(Protocol):
    """A sum that is not yet computed: more terms may be added, and all of them multiplied."""

    def __add__(self, other: Self, /) -> Self: ...

    def __getitem__(self, part: slice, /) -> Self: ...  # some of the numbers, by the last axis

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
        """The gate itself, which decides how much of the past is kept: where it stays near 1, errors never die out."""

    def unknown(self, x: Numbers, h: Numbers, /) -> Numbers:
        """What is known of the next state where the cell has no equations: nothing."""
