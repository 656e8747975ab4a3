"""Numbers that depend on each other, for checking proofs that look several letters ahead.

Each is a ``middle``, plus so much for each of some unknowns between -1 and 1 that all numbers share, plus something of
at most ``off`` that is its own. Like the intervals here it shares nothing with what proofs are found with. Rounding is
bounded beforehand: the error of a float64 sum of n terms is below n 2⁻⁵² of the sum of their sizes.
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
class Linked:
    """Rows of numbers; ``slopes`` has the unknowns before the numbers, none where nothing is shared."""

    middle: Numbers
    slopes: Numbers
    off: Numbers

    @classmethod
    def between(cls, low: Numbers, high: Numbers) -> Linked:
        """Every number of a row has an unknown of its own."""
        middle = (low + high) / 2
        reach = up(np.maximum(up(high - middle), up(middle - low)))
        return cls(middle, reach[:, :, None] * np.eye(low.shape[1]), np.zeros_like(low))

    @classmethod
    def just(cls, values: Numbers) -> Linked:
        return cls(values, np.zeros((len(values), 0, values.shape[1])), np.zeros_like(values))

    @classmethod
    def side_by_side(cls, parts: Sequence[Linked]) -> Linked:
        """The numbers of all parts in one row."""
        middles, slopes, offs = zip(*((part.middle, part.slopes, part.off) for part in parts), strict=True)
        return cls(np.concatenate(middles, axis=1), np.concatenate(slopes, axis=2), np.concatenate(offs, axis=1))

    def numbers(self, which: slice) -> Linked:
        return Linked(self.middle[:, which], self.slopes[:, :, which], self.off[:, which])

    def rows(self, which: npt.NDArray[np.int64]) -> Linked:
        return Linked(self.middle[which], self.slopes[which], self.off[which])

    def all_shared(self) -> Linked:
        """The same, where what is a number's own is an unknown from now on."""
        own = self.off[:, :, None] * np.eye(self.off.shape[1])
        return Linked(self.middle, np.concatenate([self.slopes, own], axis=1), np.zeros_like(self.off))

    def reach(self) -> Numbers:
        """How far a number is from its middle at most."""
        terms = self.slopes.shape[1] + 4
        return up((np.abs(self.slopes).sum(axis=1) + self.off) * (1.0 + terms * _ROUNDING))

    def size(self) -> Numbers:
        return up(np.abs(self.middle) + self.reach())

    def bounds(self) -> Interval:
        reach = self.reach()
        return Interval(down(self.middle - reach), up(self.middle + reach))

    def __mul__(self, other: Linked) -> Linked:
        """Products of unknowns are between -1 and 1, and squares between 0 and 1."""
        both = up(self.size() * other.size())
        crossed, middle = up(self.reach() * other.reach()), self.middle * other.middle
        if self.slopes.shape[1] and other.slopes.shape[1]:
            squares = self.slopes * other.slopes
            middle, crossed = middle + squares.sum(axis=1) / 2, crossed - np.abs(squares).sum(axis=1) / 2
        slopes = _sum(self.middle[:, None] * other.slopes, other.middle[:, None] * self.slopes)
        off = np.abs(self.middle) * other.off + np.abs(other.middle) * self.off + crossed
        return Linked(middle, slopes, up(off + (slopes.shape[1] + 16) * _ROUNDING * both))


@dataclass(frozen=True, eq=False)
class LinkedTotal:
    """A sum of products, as ``Total``."""

    exact: Linked
    sizes: Numbers
    terms: int
    factor: Numbers

    def __add__(self, other: LinkedTotal) -> LinkedTotal:
        a, b, sizes = self.exact, other.exact, up(self.sizes + other.sizes)
        exact = Linked(a.middle + b.middle, _sum(a.slopes, b.slopes), up(a.off + b.off + 4.0 * _ROUNDING * sizes))
        return LinkedTotal(exact, sizes, self.terms + other.terms, np.maximum(self.factor, other.factor))

    def part(self, which: slice) -> LinkedTotal:
        return replace(self, exact=self.exact.numbers(which), sizes=self.sizes[:, which])

    def scaled(self, by: Linked) -> LinkedTotal:
        # The sum may be computed by itself before.
        factor = np.maximum(self.factor, np.maximum(self.sizes, by.size()).max(axis=-1, keepdims=True))
        return LinkedTotal(self.exact * by, up(self.sizes * by.size()), self.terms + 1, factor)


@dataclass(frozen=True)
class LinkedEvaluator:
    """An evaluator on linked numbers."""

    by: Evaluator

    def linear(self, weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Linked) -> LinkedTotal:
        """``weight @ x + bias``."""
        size = x.size()
        told = linear(weight, bias, Interval(-size, size))
        matrix = weight.astype(np.float64).T
        middle = x.middle @ matrix if bias is None else x.middle @ matrix + bias.astype(np.float64)
        lost = (len(matrix) + 4) * _ROUNDING * told.sizes  # of the middle and all slopes together
        exact = Linked(middle, x.slopes @ matrix, up(x.off @ np.abs(matrix) + lost))
        return LinkedTotal(exact, told.sizes, told.terms, told.factor)

    def products(self, *pairs: tuple[Linked, Linked]) -> LinkedTotal:
        """``a b + c d + …``"""
        first, *rest = (
            LinkedTotal(a * b, up(a.size() * b.size()), 1, np.maximum(np.maximum(a.size(), b.size()), 1.0))
            for a, b in pairs
        )
        for other in rest:
            first = first + other
        return first

    def error(self, total: LinkedTotal) -> Numbers:
        """Of the sum as computed."""
        nothing = Interval(np.zeros_like(total.sizes), np.zeros_like(total.sizes))
        return self.by.error(Total(nothing, total.sizes, total.terms, total.factor))

    def rounded(self, total: LinkedTotal) -> Linked:
        return replace(total.exact, off=up(total.exact.off + self.error(total)))

    def tanh(self, x: Linked) -> Linked:
        return _growing(x, self.by.tanh, lambda y: (1.0 - np.tanh(y)) * (1.0 + np.tanh(y)))

    def sigmoid(self, x: Linked) -> Linked:
        return _growing(x, self.by.sigmoid, lambda y: logistic(y) * (1.0 - logistic(y)))

    def relu(self, x: Linked) -> Linked:
        """A line from its one end to the other is never below it, nor above by more than where it meets zero."""
        ends = x.bounds()
        bends = (ends.low < 0.0) & (ends.high > 0.0)
        slope = np.where(ends.high <= 0.0, 0.0, 1.0)
        slope[bends] = ends.high[bends] / (ends.high - ends.low)[bends]
        lift = np.where(bends, slope * -ends.low, ends.low * 0.0)
        return _on_line(x, slope, Interval(np.zeros_like(lift), lift))

    def mean(self, share: Linked, new: Linked, old: Linked) -> Linked:
        """``(1 - s) new + s old``, sorted by what it is linear in, so that what the two share cancels."""
        s, sizes = share.middle, up(new.size() + old.size())
        apart = Linked(old.middle - new.middle, _sum(old.slopes, -new.slopes), up(old.off + new.off))
        varied = Linked(np.zeros_like(s), share.slopes, share.off) * apart
        slopes = _sum(_sum((1.0 - s)[:, None] * new.slopes, s[:, None] * old.slopes), varied.slopes)
        off = np.abs(1.0 - s) * new.off + np.abs(s) * old.off + varied.off
        error = (6.0 + self.by.sigmoid_units) * self.by.unit * sizes + UNDERFLOW
        error = np.where(sizes < OVERFLOW, error, np.nan)
        lost = (slopes.shape[1] + 16) * _ROUNDING * up(share.size() + 1.0) * sizes
        return Linked((1.0 - s) * new.middle + s * old.middle + varied.middle, slopes, up(off + error + lost))


def _growing(x: Linked, function: Callable[[Interval], Interval], slope: Callable[[Numbers], Numbers]) -> Linked:
    """A function that grows, and most slowly at one of two ends: less a line of that slope it grows still."""
    ends = x.bounds()
    least = np.maximum(np.minimum(slope(ends.low), slope(ends.high)) - _SLOPE_ERROR, 0.0)
    values, line = function(ends), Interval(-least, -least)
    at_low = Interval(values.low, values.low) + line * Interval(ends.low, ends.low)
    at_high = Interval(values.high, values.high) + line * Interval(ends.high, ends.high)
    return _on_line(x, least, Interval(at_low.low, at_high.high))


def _on_line(x: Linked, slope: Numbers, beside: Interval) -> Linked:
    """``slope x`` and something between two numbers."""
    middle = (beside.low + beside.high) / 2
    reach = up(np.maximum(up(beside.high - middle), up(middle - beside.low)))
    lost = (x.slopes.shape[1] + 8) * _ROUNDING * up(slope * x.size() + np.abs(middle) + reach)
    return Linked(slope * x.middle + middle, slope[:, None] * x.slopes, up(slope * x.off + reach + lost))


def _sum(a: Numbers, b: Numbers) -> Numbers:
    """Of slopes, where one of the two may depend on nothing."""
    if not a.shape[1]:
        return b
    return a + b if b.shape[1] else a
