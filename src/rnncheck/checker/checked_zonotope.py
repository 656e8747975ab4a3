"""Zonotopes for checking proofs by k-induction.

Each number is a ``middle``, plus a multiple of each of some unknowns between -1 and 1 that all numbers share, plus its
own ``error`` term. Like the checker's intervals, this shares no code with the proof search. Rounding is bounded in
advance: the error of a float64 sum of n terms is below n 2⁻⁵² of the sum of their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.checker.outward import Evaluator, Interval, Numbers, Total, down, linear, logistic, up
from rnncheck.models.evaluator_assumption import OVERFLOW, UNDERFLOW

_ROUNDING = 2.0**-52
_SLOPE_ERROR = 2.0**-48  # of 1 - tanh² and s (1 - s) in float64, from above


@dataclass(frozen=True, eq=False)
class Zonotope:
    """Rows of numbers; ``generators`` has the unknowns before the numbers, none where nothing is shared."""

    middle: Numbers
    generators: Numbers
    error: Numbers

    @classmethod
    def between(cls, low: Numbers, high: Numbers) -> Zonotope:
        """Every number of a row has its own unknown."""
        middle = (low + high) / 2
        reach = up(np.maximum(up(high - middle), up(middle - low)))
        return cls(middle, reach[:, :, None] * np.eye(low.shape[1]), np.zeros_like(low))

    @classmethod
    def point(cls, values: Numbers) -> Zonotope:
        return cls(values, np.zeros((len(values), 0, values.shape[1])), np.zeros_like(values))

    @classmethod
    def concatenate(cls, parts: Sequence[Zonotope]) -> Zonotope:
        """The numbers of all parts in one row."""
        middles, generators, errors = zip(*((part.middle, part.generators, part.error) for part in parts), strict=True)
        return cls(np.concatenate(middles, axis=1), np.concatenate(generators, axis=2), np.concatenate(errors, axis=1))

    def numbers(self, which: slice) -> Zonotope:
        return Zonotope(self.middle[:, which], self.generators[:, :, which], self.error[:, which])

    def rows(self, which: npt.NDArray[np.int64]) -> Zonotope:
        return Zonotope(self.middle[which], self.generators[which], self.error[which])

    def error_as_generators(self) -> Zonotope:
        """The same set, with each error term as a shared unknown."""
        own = self.error[:, :, None] * np.eye(self.error.shape[1])
        return Zonotope(self.middle, np.concatenate([self.generators, own], axis=1), np.zeros_like(self.error))

    def reach(self) -> Numbers:
        """The largest distance of a number from its middle."""
        terms = self.generators.shape[1] + 4
        return up((np.abs(self.generators).sum(axis=1) + self.error) * (1.0 + terms * _ROUNDING))

    def size(self) -> Numbers:
        return up(np.abs(self.middle) + self.reach())

    def bounds(self) -> Interval:
        reach = self.reach()
        return Interval(down(self.middle - reach), up(self.middle + reach))

    def __mul__(self, other: Zonotope) -> Zonotope:
        """Products of unknowns are between -1 and 1, and squares between 0 and 1."""
        both = up(self.size() * other.size())
        crossed, middle = up(self.reach() * other.reach()), self.middle * other.middle
        if self.generators.shape[1] and other.generators.shape[1]:
            squares = self.generators * other.generators
            middle, crossed = middle + squares.sum(axis=1) / 2, crossed - np.abs(squares).sum(axis=1) / 2
        generators = _sum(self.middle[:, None] * other.generators, other.middle[:, None] * self.generators)
        error = np.abs(self.middle) * other.error + np.abs(other.middle) * self.error + crossed
        return Zonotope(middle, generators, up(error + (generators.shape[1] + 16) * _ROUNDING * both))


@dataclass(frozen=True, eq=False)
class ZonotopeTotal:
    """A sum of products, like ``Total``."""

    exact: Zonotope
    sizes: Numbers
    terms: int
    factor: Numbers

    def __add__(self, other: ZonotopeTotal) -> ZonotopeTotal:
        a, b, sizes = self.exact, other.exact, up(self.sizes + other.sizes)
        exact = Zonotope(
            a.middle + b.middle, _sum(a.generators, b.generators), up(a.error + b.error + 4.0 * _ROUNDING * sizes)
        )
        return ZonotopeTotal(exact, sizes, self.terms + other.terms, np.maximum(self.factor, other.factor))

    def part(self, which: slice) -> ZonotopeTotal:
        return replace(self, exact=self.exact.numbers(which), sizes=self.sizes[:, which])

    def scaled(self, by: Zonotope) -> ZonotopeTotal:
        # The sum may be computed by itself before.
        factor = np.maximum(self.factor, np.maximum(self.sizes, by.size()).max(axis=-1, keepdims=True))
        return ZonotopeTotal(self.exact * by, up(self.sizes * by.size()), self.terms + 1, factor)


@dataclass(frozen=True)
class ZonotopeEvaluator:
    """An evaluator on zonotopes."""

    by: Evaluator

    def linear(self, weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Zonotope) -> ZonotopeTotal:
        """``weight @ x + bias``."""
        size = x.size()
        magnitudes = linear(weight, bias, Interval(-size, size))
        matrix = weight.astype(np.float64).T
        middle = x.middle @ matrix if bias is None else x.middle @ matrix + bias.astype(np.float64)
        rounding = (len(matrix) + 4) * _ROUNDING * magnitudes.sizes  # of the middle and all generators together
        exact = Zonotope(middle, x.generators @ matrix, up(x.error @ np.abs(matrix) + rounding))
        return ZonotopeTotal(exact, magnitudes.sizes, magnitudes.terms, magnitudes.factor)

    def products(self, *pairs: tuple[Zonotope, Zonotope]) -> ZonotopeTotal:
        """``a b + c d + …``"""
        first, *rest = (
            ZonotopeTotal(a * b, up(a.size() * b.size()), 1, np.maximum(np.maximum(a.size(), b.size()), 1.0))
            for a, b in pairs
        )
        for other in rest:
            first = first + other
        return first

    def error(self, total: ZonotopeTotal) -> Numbers:
        """The error of the computed sum."""
        nothing = Interval(np.zeros_like(total.sizes), np.zeros_like(total.sizes))
        return self.by.error(Total(nothing, total.sizes, total.terms, total.factor))

    def rounded(self, total: ZonotopeTotal) -> Zonotope:
        return replace(total.exact, error=up(total.exact.error + self.error(total)))

    def tanh(self, x: Zonotope) -> Zonotope:
        return _growing(x, self.by.tanh, lambda y: (1.0 - np.tanh(y)) * (1.0 + np.tanh(y)))

    def sigmoid(self, x: Zonotope) -> Zonotope:
        return _growing(x, self.by.sigmoid, lambda y: logistic(y) * (1.0 - logistic(y)))

    def relu(self, x: Zonotope) -> Zonotope:
        """The line between its ends is never below it, and above it by at most its value at zero."""
        ends = x.bounds()
        bends = (ends.low < 0.0) & (ends.high > 0.0)
        slope = np.where(ends.high <= 0.0, 0.0, 1.0)
        slope[bends] = ends.high[bends] / (ends.high - ends.low)[bends]
        lift = np.where(bends, slope * -ends.low, ends.low * 0.0)
        return _on_line(x, slope, Interval(np.zeros_like(lift), lift))

    def mean(self, share: Zonotope, new: Zonotope, old: Zonotope) -> Zonotope:
        """``(1 - s) new + s old``, grouped by linear terms, so that shared terms cancel."""
        s, sizes = share.middle, up(new.size() + old.size())
        apart = Zonotope(old.middle - new.middle, _sum(old.generators, -new.generators), up(old.error + new.error))
        varied = Zonotope(np.zeros_like(s), share.generators, share.error) * apart
        generators = _sum(_sum((1.0 - s)[:, None] * new.generators, s[:, None] * old.generators), varied.generators)
        error = np.abs(1.0 - s) * new.error + np.abs(s) * old.error + varied.error
        rounding = (6.0 + self.by.sigmoid_units) * self.by.unit * sizes + UNDERFLOW
        rounding = np.where(sizes < OVERFLOW, rounding, np.nan)
        of_floats = (generators.shape[1] + 16) * _ROUNDING * up(share.size() + 1.0) * sizes
        return Zonotope(
            (1.0 - s) * new.middle + s * old.middle + varied.middle, generators, up(error + rounding + of_floats)
        )


def _growing(x: Zonotope, function: Callable[[Interval], Interval], slope: Callable[[Numbers], Numbers]) -> Zonotope:
    """A monotone function with its smallest slope at an end: minus a line of that slope it is still monotone."""
    ends = x.bounds()
    least = np.maximum(np.minimum(slope(ends.low), slope(ends.high)) - _SLOPE_ERROR, 0.0)
    values, line = function(ends), Interval(-least, -least)
    at_low = Interval(values.low, values.low) + line * Interval(ends.low, ends.low)
    at_high = Interval(values.high, values.high) + line * Interval(ends.high, ends.high)
    return _on_line(x, least, Interval(at_low.low, at_high.high))


def _on_line(x: Zonotope, slope: Numbers, beside: Interval) -> Zonotope:
    """``slope x`` plus a number between two bounds."""
    middle = (beside.low + beside.high) / 2
    reach = up(np.maximum(up(beside.high - middle), up(middle - beside.low)))
    rounding = (x.generators.shape[1] + 8) * _ROUNDING * up(slope * x.size() + np.abs(middle) + reach)
    return Zonotope(slope * x.middle + middle, slope[:, None] * x.generators, up(slope * x.error + reach + rounding))


def _sum(a: Numbers, b: Numbers) -> Numbers:
    """The sum of two sets of generators, one of which may be empty."""
    if not a.shape[1]:
        return b
    return a + b if b.shape[1] else a
