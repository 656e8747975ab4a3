"""Simple interval arithmetic for checking proofs, with every result rounded outwards.

Products with weights are the exception: all of their roundings are bounded at once. This shares no code with the proof
search. An interval of float64 numbers contains what exact arithmetic gives; ``Evaluator.error``
then adds what an evaluator in float32 may add (docs/evaluator-assumption.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.models.evaluator_assumption import OVERFLOW, UNDERFLOW

Numbers = npt.NDArray[np.float64]

_SMALLEST = 2.0**-1022  # of the numbers with all digits
_PRODUCT_ERROR = (
    2.0**-52
)  # for each product of a float64 sum in any order, relative to their sizes; twice what it can be
_UNDERFLOWN = 2.0**-1000  # far more than float64 loses of a product that is too small for it
_FUNCTION_ULPS = 8  # of float64 tanh, which has less than 2


def down(x: npt.ArrayLike) -> Numbers:
    return -up(np.negative(x))


def up(x: npt.ArrayLike) -> Numbers:
    """The next number or one a little above it: a float is followed by another within 2⁻⁵² of its size.

    ``np.nextafter`` takes several times as long. For -infinity the result is NaN, which no bound exceeds.
    """
    number = np.asarray(x, dtype=np.float64)
    return np.asarray(number + (np.abs(number) * 2.0**-52 + _SMALLEST))


@dataclass(frozen=True, eq=False)
class Interval:
    """Everything between two numbers; arrays of them, element by element. One that holds NaN contains nothing."""

    low: Numbers
    high: Numbers

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.low[index], self.high[index])

    def __add__(self, other: Interval) -> Interval:
        return Interval(down(self.low + other.low), up(self.high + other.high))

    def __mul__(self, other: Interval) -> Interval:
        (a, b), (c, d) = ((end * other.low, end * other.high) for end in (self.low, self.high))
        least, most = (np.minimum(a, b), np.minimum(c, d)), (np.maximum(a, b), np.maximum(c, d))
        return Interval(down(np.minimum(*least)), up(np.maximum(*most)))

    def size(self) -> Numbers:
        return np.maximum(-self.low, self.high)

    def spread(self, by: float | Numbers) -> Interval:
        return Interval(down(self.low - by), up(self.high + by))

    def inside(self, low: Numbers, high: Numbers) -> npt.NDArray[np.bool_]:
        """Where it lies between the two, for certain."""
        return (low <= self.low) & (self.high <= high)


@dataclass(frozen=True, eq=False)
class Total:
    """A sum of products: the interval of its exact values, the sum of the terms' sizes, and how many terms it has."""

    exact: Interval
    sizes: Numbers
    terms: int
    factor: Numbers

    def __add__(self, other: Total) -> Total:
        factor = np.maximum(self.factor, other.factor)
        return Total(self.exact + other.exact, up(self.sizes + other.sizes), self.terms + other.terms, factor)

    def part(self, rows: slice) -> Total:
        return Total(self.exact[..., rows], self.sizes[..., rows], self.terms, self.factor)

    def scaled(self, by: Interval) -> Total:
        """The sum may be computed before it is scaled, so it is a factor itself."""
        factor = np.maximum(self.factor, np.maximum(self.sizes, by.size()).max(axis=-1, keepdims=True))
        return Total(self.exact * by, up(self.sizes * by.size()), self.terms + 1, factor)


def linear(weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Interval) -> Total:
    """``weight @ x + bias``: the product for the middle of every interval, and the sizes' for how far its ends are.

    One product for all columns instead of one rounding outwards for each. In whatever order it is summed, the error of
    a float64 sum of n products is below n 2⁻⁵³ / (1 - n 2⁻⁵³) of the sum of their sizes, and what underflows is tiny:
    twice that and a little more is spread for the middles and the reaches together, and as much for the sizes.
    """
    matrix = weight.astype(np.float64).T
    amounts, size, middle = np.abs(matrix), x.size(), (x.low + x.high) / 2
    reach = up(np.maximum(up(x.high - middle), up(middle - x.low)))
    exact, sizes, terms = middle @ matrix, size @ amounts, len(matrix)
    if bias is not None:
        offset = bias.astype(np.float64)
        exact, sizes, terms = exact + offset, sizes + np.abs(offset), terms + 1
    sizes = up(up(sizes * (1.0 + (terms + 4) * _PRODUCT_ERROR)) + terms * _UNDERFLOWN)
    apart = up(reach @ amounts + up((terms + 8) * _PRODUCT_ERROR * sizes + terms * _UNDERFLOWN))
    # The largest factor counts even times zero: infinity times zero is NaN.
    factor = np.maximum(size.max(axis=-1, keepdims=True), max(1.0, float(amounts.max())))
    return Total(Interval(exact, exact).spread(apart), sizes, terms, factor)


def of_products(*pairs: tuple[Interval, Interval]) -> Total:
    """``a b + c d + …``"""
    totals = [
        Total(a * b, up(a.size() * b.size()), 1, np.maximum(np.maximum(a.size(), b.size()), 1.0)) for a, b in pairs
    ]
    first, *rest = totals
    for other in rest:
        first = first + other
    return first


@dataclass(frozen=True)
class Evaluator:
    """What is assumed of an evaluator: the relative error of an operation, and that of functions in such units."""

    unit: float
    tanh_units: float
    sigmoid_units: float

    def linear(self, weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Interval) -> Total:
        return linear(weight, bias, x)

    def products(self, *pairs: tuple[Interval, Interval]) -> Total:
        return of_products(*pairs)

    def error(self, total: Total) -> Numbers:
        """The error of the sum computed in any order: one rounding per term, and five for stored values.

        NaN, which no bound exceeds, where a computation could overflow.
        """
        share = (total.terms + 5) * self.unit
        error = up(up(share / (1.0 - share) * (1.0 + 2.0**-50)) * total.sizes)
        return np.where(
            np.maximum(total.sizes, total.factor) < OVERFLOW, up(error + total.terms * UNDERFLOW * total.factor), np.nan
        )

    def rounded(self, total: Total) -> Interval:
        """The sum as an evaluator computes it."""
        return total.exact.spread(self.error(total))

    def tanh(self, x: Interval) -> Interval:
        exact = Interval(np.tanh(x.low), np.tanh(x.high)).spread(_FUNCTION_ULPS * 2.0**-53)
        return exact.spread(self.tanh_units * self.unit)

    def sigmoid(self, x: Interval) -> Interval:
        exact = Interval(logistic(x.low), logistic(x.high)).spread(_FUNCTION_ULPS * 2.0**-53)
        return exact.spread(self.sigmoid_units * self.unit)

    def relu(self, x: Interval) -> Interval:
        return Interval(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0))

    def mean(self, share: Interval, new: Interval, old: Interval) -> Interval:
        """``(1 - s) new + s old`` for a share s, which is at most its own error outside 0 … 1.

        For every s between 0 and 1 it grows with new and old, and it is linear in s: its ends are at ends.
        """
        lows, highs = [], []
        for end in (np.clip(share.low, 0.0, 1.0), np.clip(share.high, 0.0, 1.0)):
            rest_low, rest_high = down(1.0 - end), up(1.0 - end)
            s, rest = Interval(end, end), Interval(np.maximum(rest_low, 0.0), rest_high)
            lows.append((rest * Interval(new.low, new.low) + s * Interval(old.low, old.low)).low)
            highs.append((rest * Interval(new.high, new.high) + s * Interval(old.high, old.high)).high)
        sizes = up(new.size() + old.size())
        error = up((6.0 + self.sigmoid_units) * self.unit * sizes + UNDERFLOW)
        error = np.where(sizes < OVERFLOW, error, np.nan)
        return Interval(np.minimum(*lows), np.maximum(*highs)).spread(error)


def logistic(x: Numbers) -> Numbers:
    """The sigmoid in float64, by exp of what is not positive, so that nothing overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0 / (1.0 + small), small / (1.0 + small))
