"""Interval arithmetic on network states that encloses every way to evaluate the network.

A box has a lower and an upper bound for each number. The operations enclose every evaluation in IEEE float32 or
float64 (or a mixture), in any order of summation, with or without fused operations and gradual underflow, with tanh and
sigmoid functions whose error is within ``Rounding``. So a statement about boxes does not depend on the processor, the
batch or the library. What is assumed, and why, is in docs/evaluator-assumption.md.

The bounds are computed in float64. Their own rounding (about 2⁻⁵³) is covered by the slack for the evaluator's
rounding, which is a little larger than necessary: by one rounding, 2⁻²⁴, of everything that was summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.models.evaluator_assumption import FUNCTION_UNITS, OVERFLOW, UNDERFLOW, UNIT

Bounds: TypeAlias = npt.NDArray[np.float64]

# Of a sum, beyond one per term: inputs, weights and sums of biases stored in float32, the stored result, and our own.
_MORE_ROUNDINGS = 6
_GUARD = 2.0**-40  # relative error of float64 functions, far above the 2⁻⁵² that they have


@dataclass(frozen=True)
class Rounding:
    """What is assumed of an evaluator: its relative rounding error, and the error of its functions in such units."""

    unit: float = UNIT
    tanh: float = FUNCTION_UNITS
    sigmoid: float = FUNCTION_UNITS


@dataclass(frozen=True, eq=False)
class Interval:
    """Boxes: lower and upper bounds, with the numbers of a state along the last axis."""

    lo: Bounds
    hi: Bounds

    @classmethod
    def point(cls, values: npt.ArrayLike) -> Interval:
        """Exactly these numbers."""
        exact = np.asarray(values, dtype=np.float64)
        return cls(exact, exact)

    @property
    def magnitude(self) -> Bounds:
        """The largest absolute value of each number."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.lo[index], self.hi[index])

    def inflate(self, by: float | Bounds) -> Interval:
        return Interval(self.lo - by, self.hi + by)

    def contains(self, other: Interval) -> npt.NDArray[np.bool_]:
        """Whether each number of ``other`` lies in these bounds, for certain: NaN lies nowhere."""
        return (self.lo <= other.lo) & (other.hi <= self.hi)


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum that evaluators form in any order: exact bounds, the sum of absolute values, the number of terms."""

    exact: Interval
    size: Bounds
    terms: int
    factors: Bounds  # the largest factor of a product in it, weights included

    def __add__(self, other: Sum) -> Sum:
        return Sum(
            Interval(self.exact.lo + other.exact.lo, self.exact.hi + other.exact.hi),
            self.size + other.size,
            self.terms + other.terms,
            np.maximum(self.factors, other.factors),
        )

    def __getitem__(self, part: slice) -> Sum:
        return Sum(self.exact[..., part], self.size[..., part], self.terms, self.factors)

    def times(self, factor: Interval) -> Sum:
        """Every term times a number of a box; an evaluator may compute the sum first, which is a factor then."""
        apart = np.maximum(self.size, factor.magnitude).max(axis=-1, keepdims=True)
        factors = np.maximum(self.factors, np.maximum(apart, 1.0))
        return Sum(_product(self.exact, factor), self.size * factor.magnitude, self.terms + 1, factors)


def affine(weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Interval) -> Sum:
    """``weight @ x + bias``."""
    matrix = weight.astype(np.float64).T
    absolute = np.abs(matrix)
    middle, radius, magnitude = (x.lo + x.hi) / 2, (x.hi - x.lo) / 2, x.magnitude
    centre, reach, size = middle @ matrix, radius @ absolute, magnitude @ absolute
    terms = weight.shape[1]
    if bias is not None:
        centre, size, terms = centre + bias, size + np.abs(bias), terms + 1
    # A weight that overflows float32 gives NaN even times zero.
    largest = np.maximum(magnitude.max(axis=-1, keepdims=True, initial=1.0), absolute.max(initial=0.0))
    return Sum(Interval(centre - reach, centre + reach), size, terms, largest)


def products(*pairs: tuple[Interval, Interval]) -> Sum:
    """``a b + c d + …``, number by number."""
    boxes = [_product(a, b) for a, b in pairs]
    sizes = [a.magnitude * b.magnitude for a, b in pairs]
    factors = np.maximum.reduce([np.maximum(a.magnitude, b.magnitude).max(-1, keepdims=True) for a, b in pairs])
    exact = Interval(np.sum([box.lo for box in boxes], axis=0), np.sum([box.hi for box in boxes], axis=0))
    return Sum(exact, np.sum(sizes, axis=0), len(pairs), np.maximum(factors, 1.0))


def _product(a: Interval, b: Interval) -> Interval:
    corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi]
    return Interval(np.minimum.reduce(corners), np.maximum.reduce(corners))


@dataclass(frozen=True)
class IntervalSemantics:
    """The operations of an evaluator on boxes: a ``Semantics`` for cells."""

    rounding: Rounding = Rounding()

    def affine(self, weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Interval) -> Sum:
        return affine(weight, bias, x)

    def products(self, *pairs: tuple[Interval, Interval]) -> Sum:
        return products(*pairs)

    def keeping(self, gate: Interval) -> Interval:
        return gate

    def unknown(self, x: Interval, h: Interval) -> Interval:
        return Interval.point(np.full(np.broadcast_shapes(h.lo.shape, (*x.lo.shape[:-1], 1)), np.nan))

    def computed(self, total: Sum) -> Interval:
        """The sum as any evaluator may compute it; NaN, which lies in no box, where an evaluator could overflow."""
        roundings = (total.terms + _MORE_ROUNDINGS) * self.rounding.unit
        slack = roundings / (1.0 - roundings) * total.size + total.terms * UNDERFLOW * total.factors
        slack = np.where(np.maximum(total.size, total.factors) < OVERFLOW, slack, np.nan)
        return total.exact.inflate(slack)

    def tanh(self, x: Interval) -> Interval:
        return Interval(np.tanh(x.lo), np.tanh(x.hi)).inflate(self.rounding.tanh * self.rounding.unit + _GUARD)

    def sigmoid(self, x: Interval) -> Interval:
        return Interval(logistic(x.lo), logistic(x.hi)).inflate(self.rounding.sigmoid * self.rounding.unit + _GUARD)

    def relu(self, x: Interval) -> Interval:
        return Interval(np.maximum(x.lo, 0.0), np.maximum(x.hi, 0.0))

    def blend(self, z: Interval, new: Interval, old: Interval) -> Interval:
        """``(1 - z) new + z old`` for a gate z: a mean of the two, so no wider than both of them together.

        A computed gate may lie outside 0 … 1 by its error; the slack covers that, and the rounding of every way to
        write the formula.
        """
        unit = self.rounding.unit
        gate = [np.clip(z.lo, 0.0, 1.0), np.clip(z.hi, 0.0, 1.0)]
        size = new.magnitude + old.magnitude
        slack = (8.0 + self.rounding.sigmoid) * unit * size + _GUARD * size + UNDERFLOW * (1.0 + size)
        slack = np.where(size < OVERFLOW, slack, np.nan)
        return Interval(
            np.minimum.reduce([(1.0 - share) * new.lo + share * old.lo for share in gate]),
            np.maximum.reduce([(1.0 - share) * new.hi + share * old.hi for share in gate]),
        ).inflate(slack)


def logistic(x: Bounds) -> Bounds:
    """The sigmoid in float64."""
    return np.asarray((1.0 + np.tanh(x / 2.0)) / 2.0)
