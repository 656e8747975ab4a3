"""Zonotopes: sets of network states that keep the dependencies between numbers, which boxes lose.

A zonotope is ``centre + Σ eᵢ generatorᵢ``, for all eᵢ between -1 and 1 and the same eᵢ in every number, plus an
``error`` term for each number alone. It encloses what boxes enclose: every evaluation in IEEE float32 or float64, in
any order of summation. The rounding of its own float64 arithmetic is covered by the slack for the evaluator, as for
boxes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.models.evaluator_assumption import OVERFLOW, UNDERFLOW
from rnncheck.proofs.domains.interval import (
    Bounds,
    Interval,
    IntervalSemantics,
    Rounding,
    Sum,
    affine,
    logistic,
)

_GUARD = 2.0**-35  # relative, of sums over generators in float64: above their roundings for 2¹⁷ of them
_SLOPE = 2.0**-45  # absolute, of a slope computed in float64
_TINY = 2.0**-1000  # more than float64 loses where numbers underflow

Function: TypeAlias = Callable[[Bounds], Bounds]


@dataclass(frozen=True, eq=False)
class Zonotope:
    """Generators have their own axis before the last; constants have no generators."""

    centre: Bounds
    generators: Bounds
    error: Bounds

    @classmethod
    def of(cls, interval: Interval) -> Zonotope:
        """One row per box, with a generator for each number."""
        centre = (interval.lo + interval.hi) / 2
        reach = np.maximum(interval.hi - centre, centre - interval.lo) * (1.0 + _GUARD)
        return cls(centre, np.zeros((*centre.shape[:-1], 0, centre.shape[-1])), reach).error_as_generators()

    @classmethod
    def point(cls, values: npt.ArrayLike) -> Zonotope:
        """Exactly these numbers."""
        exact = np.asarray(values, dtype=np.float64)
        return cls(exact, np.zeros((*exact.shape[:-1], 0, exact.shape[-1])), np.zeros_like(exact))

    @classmethod
    def concatenate(cls, parts: Sequence[Zonotope]) -> Zonotope:
        """The numbers of all parts, one after another; the parts share their generators."""
        return cls(
            np.concatenate([part.centre for part in parts], axis=-1),
            np.concatenate([part.generators for part in parts], axis=-1),
            np.concatenate([part.error for part in parts], axis=-1),
        )

    @functools.cached_property
    def radius(self) -> Bounds:
        """The largest distance of each number from the centre."""
        return np.asarray((np.abs(self.generators).sum(axis=-2) + self.error) * (1.0 + _GUARD))

    @property
    def magnitude(self) -> Bounds:
        return np.asarray(np.abs(self.centre) + self.radius)

    @functools.cached_property
    def interval(self) -> Interval:
        """Bounds of each number by itself."""
        reach = self.radius + _GUARD * np.abs(self.centre)
        return Interval(self.centre - reach, self.centre + reach)

    def part(self, numbers: slice) -> Zonotope:
        return Zonotope(self.centre[..., numbers], self.generators[..., numbers], self.error[..., numbers])

    def rows(self, chosen: Any) -> Zonotope:
        return Zonotope(self.centre[chosen], self.generators[chosen], self.error[chosen])

    def with_letter_axis(self) -> Zonotope:
        """With an axis for the letters before the axis of the numbers."""
        return Zonotope(self.centre[:, None], self.generators[:, None], self.error[:, None])

    def error_as_generators(self) -> Zonotope:
        """The same set, with each error term as a generator, so that later steps keep the dependency."""
        own = self.error[..., None] * np.eye(self.error.shape[-1])
        return Zonotope(self.centre, np.concatenate([self.generators, own], axis=-2), np.zeros_like(self.error))


@dataclass(frozen=True, eq=False)
class ZonotopeSum:
    """A sum that evaluators form in any order, like ``Sum``, with a zonotope of its exact values."""

    exact: Zonotope
    size: Bounds
    terms: int
    factors: Bounds

    def __add__(self, other: ZonotopeSum) -> ZonotopeSum:
        a, b = self.exact, other.exact
        return ZonotopeSum(
            Zonotope(a.centre + b.centre, _add_generators(a.generators, b.generators), a.error + b.error),
            self.size + other.size,
            self.terms + other.terms,
            np.maximum(self.factors, other.factors),
        )

    def __getitem__(self, numbers: slice) -> ZonotopeSum:
        return replace(self, exact=self.exact.part(numbers), size=self.size[..., numbers])

    def times(self, factor: Zonotope) -> ZonotopeSum:
        """Every term times a number of a zonotope; an evaluator may compute the sum first, which is a factor then."""
        apart = np.maximum(self.size, factor.magnitude).max(axis=-1, keepdims=True)
        factors = np.maximum(self.factors, np.maximum(apart, 1.0))
        return ZonotopeSum(_product(self.exact, factor), self.size * factor.magnitude, self.terms + 1, factors)


@dataclass(frozen=True)
class ZonotopeSemantics:
    """The operations of an evaluator on zonotopes: a ``Semantics`` for cells."""

    rounding: Rounding

    def affine(self, weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Zonotope) -> ZonotopeSum:
        matrix = weight.astype(np.float64).T
        # The box gives the sizes of the terms, computed as for intervals.
        bounds = affine(weight, bias, Interval(-x.magnitude, x.magnitude))
        centre = x.centre @ matrix if bias is None else x.centre @ matrix + bias
        exact = Zonotope(centre, x.generators @ matrix, x.error @ np.abs(matrix))
        return ZonotopeSum(exact, bounds.size, bounds.terms, bounds.factors)

    def products(self, *pairs: tuple[Zonotope, Zonotope]) -> ZonotopeSum:
        first, *others = (ZonotopeSum(_product(a, b), a.magnitude * b.magnitude, 1, _largest(a, b)) for a, b in pairs)
        for other in others:
            first = first + other
        return first

    def keeping(self, gate: Zonotope) -> Zonotope:
        return gate

    def unknown(self, x: Zonotope, h: Zonotope) -> Zonotope:
        return Zonotope.point(np.full(np.broadcast_shapes(h.centre.shape, (*x.centre.shape[:-1], 1)), np.nan))

    def computed(self, total: ZonotopeSum) -> Zonotope:
        """The sum as any evaluator may compute it; NaN, which lies in no box, where an evaluator could overflow."""
        nothing = Interval.point(np.zeros_like(total.size))
        slack = IntervalSemantics(self.rounding).computed(Sum(nothing, total.size, total.terms, total.factors)).hi
        return replace(total.exact, error=total.exact.error + slack)

    def tanh(self, x: Zonotope) -> Zonotope:
        return _monotone(x, np.tanh, lambda y: 1.0 - np.tanh(y) ** 2, self.rounding.tanh * self.rounding.unit)

    def sigmoid(self, x: Zonotope) -> Zonotope:
        error = self.rounding.sigmoid * self.rounding.unit
        return _monotone(x, logistic, lambda y: logistic(y) * (1.0 - logistic(y)), error)

    def relu(self, x: Zonotope) -> Zonotope:
        """Between the line through its two ends, and that line moved down until it touches zero."""
        lo, hi = x.interval.lo, x.interval.hi
        bent = (lo < 0.0) & (hi > 0.0)
        slope = np.where(bent, hi / np.where(bent, hi - lo, 1.0), np.where(hi <= 0.0, 0.0, 1.0))
        above = np.where(bent, -slope * lo, 0.0 * lo)  # NaN where there are no bounds
        guard = _GUARD * slope * np.maximum(np.abs(lo), np.abs(hi)) + _TINY
        return _scale(x, slope, above / 2, above / 2 + guard)

    def blend(self, z: Zonotope, new: Zonotope, old: Zonotope) -> Zonotope:
        """``(1 - z) new + z old`` for a gate z; the slack, as for boxes, covers every way to write the formula."""
        unit, size = self.rounding.unit, new.magnitude + old.magnitude
        slack = (8.0 + self.rounding.sigmoid) * unit * size + _GUARD * size + UNDERFLOW * (1.0 + size)
        slack = np.where(size < OVERFLOW, slack, np.nan)
        gate, apart = z.centre, old.centre - new.centre
        differences = _add_generators(old.generators, -new.generators)
        shift, quadratic = _quadratic_term(z.generators, z.error, differences, old.error + new.error)
        generators = _add_generators(
            (1.0 - gate)[..., None, :] * new.generators,
            _add_generators(gate[..., None, :] * old.generators, apart[..., None, :] * z.generators),
        )
        error = np.abs(1.0 - gate) * new.error + np.abs(gate) * old.error + np.abs(apart) * z.error
        return Zonotope((1.0 - gate) * new.centre + gate * old.centre + shift, generators, error + quadratic + slack)


def _monotone(x: Zonotope, function: Function, slope: Function, error: float) -> Zonotope:
    """A monotone function whose slope is smallest at an end of every interval, as computed up to an error.

    Minus a line of that smallest slope the function is still monotone, so its extremes are at the ends.
    """
    lo, hi = x.interval.lo, x.interval.hi
    least = np.maximum(np.minimum(slope(lo), slope(hi)) - _SLOPE, 0.0)
    low, high = function(lo) - least * lo, function(hi) - least * hi
    guard = _GUARD * (1.0 + least * (np.abs(lo) + np.abs(hi)))
    return _scale(x, least, (low + high) / 2, (high - low) / 2 + error + guard)


def _scale(x: Zonotope, by: Bounds, offset: Bounds, error: Bounds) -> Zonotope:
    return Zonotope(by * x.centre + offset, by[..., None, :] * x.generators, by * x.error + error)


def _product(a: Zonotope, b: Zonotope) -> Zonotope:
    shift, quadratic = _quadratic_term(a.generators, a.error, b.generators, b.error)
    generators = _add_generators(a.centre[..., None, :] * b.generators, b.centre[..., None, :] * a.generators)
    error = np.abs(a.centre) * b.error + np.abs(b.centre) * a.error + quadratic
    return Zonotope(a.centre * b.centre + shift, generators, error)


def _quadratic_term(a: Bounds, a_error: Bounds, b: Bounds, b_error: Bounds) -> tuple[Bounds, Bounds]:
    """The product of two zonotopes without their centres: its middle, and the largest distance from it.

    The square of an eᵢ is between 0 and 1, every other product between -1 and 1.
    """
    reach = (np.abs(a).sum(axis=-2) + a_error) * (np.abs(b).sum(axis=-2) + b_error)
    if not (a.shape[-2] and b.shape[-2]):
        return np.zeros_like(reach), reach * (1.0 + _GUARD)
    squares = a * b
    return squares.sum(axis=-2) / 2, reach * (1.0 + _GUARD) - np.abs(squares).sum(axis=-2) / 2


def _add_generators(a: Bounds, b: Bounds) -> Bounds:
    """The sum of two sets of generators, one of which may be empty."""
    if not a.shape[-2]:
        return b
    return a + b if b.shape[-2] else a


def _largest(a: Zonotope, b: Zonotope) -> Bounds:
    largest = np.maximum(a.magnitude, b.magnitude).max(axis=-1, keepdims=True)
    return np.asarray(np.maximum(largest, 1.0))
