"""The operations of cells on PyTorch's tensors, with gradients: on single states, and on boxes of states.

Boxes are bounded as in a proof, but without its slack for rounding: training only needs gradients, and the prover
decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from rnncheck.errors import ModelError

_HELD = 0.8  # a gate that keeps more than this of the past is penalised
_NO_EQUATIONS = "this kind of cell has no equations to train with; choose another"


@dataclass(frozen=True, eq=False)
class Points:
    """Numbers, or a sum."""

    at: Tensor

    def __add__(self, other: Points) -> Points:
        return Points(self.at + other.at)

    def __getitem__(self, part: slice) -> Points:
        return Points(self.at[..., part])

    def times(self, factor: Points) -> Points:
        return Points(self.at * factor.at)


class OnPoints:
    """The textbook's formulas; ``penalty`` grows with every gate that keeps too much."""

    def __init__(self) -> None:
        self.penalty = torch.zeros(())

    def affine(self, weight: Tensor, bias: Tensor | None, x: Points) -> Points:
        return Points(functional.linear(x.at, weight, bias))

    def products(self, *pairs: tuple[Points, Points]) -> Points:
        (a, b), *others = pairs
        total = a.at * b.at
        for c, d in others:
            total = torch.addcmul(total, c.at, d.at)
        return Points(total)

    def computed(self, total: Points) -> Points:
        return total

    def tanh(self, x: Points) -> Points:
        return Points(torch.tanh(x.at))

    def sigmoid(self, x: Points) -> Points:
        return Points(torch.sigmoid(x.at))

    def relu(self, x: Points) -> Points:
        return Points(torch.relu(x.at))

    def blend(self, z: Points, new: Points, old: Points) -> Points:
        return Points(torch.lerp(new.at, old.at, z.at))

    def keeping(self, gate: Points) -> Points:
        self.penalty = self.penalty + torch.relu(gate.at - _HELD).mean()
        return gate

    def unknown(self, x: Points, h: Points) -> Points:
        raise ModelError(_NO_EQUATIONS)


@dataclass(frozen=True, eq=False)
class Boxes:
    """Lower and upper bounds of numbers, or of a sum; the last axis over the numbers of a state."""

    lo: Tensor
    hi: Tensor

    @classmethod
    def point(cls, at: Tensor) -> Boxes:
        return cls(at, at)

    def __add__(self, other: Boxes) -> Boxes:
        return Boxes(self.lo + other.lo, self.hi + other.hi)

    def __getitem__(self, part: slice) -> Boxes:
        return Boxes(self.lo[..., part], self.hi[..., part])

    def times(self, factor: Boxes) -> Boxes:
        """Each number times a gate, which is never negative."""
        return Boxes(
            torch.where(self.lo < 0.0, factor.hi, factor.lo) * self.lo,
            torch.where(self.hi > 0.0, factor.hi, factor.lo) * self.hi,
        )

    def linear(self, weight: Tensor, bias: Tensor | None) -> Boxes:
        if self.lo is self.hi:
            return Boxes.point(functional.linear(self.lo, weight, bias))
        middle = functional.linear((self.lo + self.hi) / 2, weight, bias)
        reach = functional.linear((self.hi - self.lo) / 2, weight.abs())
        return Boxes(middle - reach, middle + reach)


class OnBoxes:
    """Interval arithmetic."""

    def affine(self, weight: Tensor, bias: Tensor | None, x: Boxes) -> Boxes:
        return x.linear(weight, bias)

    def products(self, *pairs: tuple[Boxes, Boxes]) -> Boxes:
        (gate, numbers), *others = pairs
        total = numbers.times(gate)
        for gate, numbers in others:
            total = total + numbers.times(gate)
        return total

    def computed(self, total: Boxes) -> Boxes:
        return total

    def tanh(self, x: Boxes) -> Boxes:
        return Boxes(torch.tanh(x.lo), torch.tanh(x.hi))

    def sigmoid(self, x: Boxes) -> Boxes:
        return Boxes(torch.sigmoid(x.lo), torch.sigmoid(x.hi))

    def relu(self, x: Boxes) -> Boxes:
        return Boxes(torch.relu(x.lo), torch.relu(x.hi))

    def blend(self, z: Boxes, new: Boxes, old: Boxes) -> Boxes:
        return Boxes(
            torch.minimum(torch.lerp(new.lo, old.lo, z.lo), torch.lerp(new.lo, old.lo, z.hi)),
            torch.maximum(torch.lerp(new.hi, old.hi, z.lo), torch.lerp(new.hi, old.hi, z.hi)),
        )

    def keeping(self, gate: Boxes) -> Boxes:
        return gate

    def unknown(self, x: Boxes, h: Boxes) -> Boxes:
        raise ModelError(_NO_EQUATIONS)
