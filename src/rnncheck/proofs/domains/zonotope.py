"""Sets of network states whose numbers depend on each other: boxes forget that, and grow; affine forms do not.

A form is ``centre + Σ eᵢ generatorᵢ``, for all eᵢ between -1 and 1 and the same eᵢ in every number, and a ``rest`` by
which each number may differ by itself. It encloses what boxes enclose: every evaluation in IEEE float32 or float64, in
any order of summation. What float64 loses on the way is covered by the slack for the evaluator, as it is for boxes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.models.evaluator_assumption import OVERFLOW, UNDERFLOW
from rnncheck.proofs.domains.interval import Bounds, Box, Enclosure, Rounding, Sum, affine, logistic

_GUARD = 2.0**-35  # relative, of sums over generators in float64: above their roundings for 2¹⁷ of them
_SLOPE = 2.0**-45  # absolute, of a slope computed in float64
_TINY = 2.0**-1000  # more than float64 loses where numbers underflow

Function: TypeAlias = Callable[[Bounds], Bounds]


@dataclass(frozen=True, eq=False)
class Form:
    """Generators have an axis of their own before the last; a form that depends on nothing has none of them."""

    centre: Bounds
    generators: Bounds
    rest: Bounds

    @classmethod
    def of(cls, box: Box) -> Form:
        """A row a box: a generator for each number."""
        centre = (box.lo + box.hi) / 2
        reach = np.maximum(box.hi - centre, centre - box.lo) * (1.0 + _GUARD)
        return cls(centre, np.zeros((*centre.shape[:-1], 0, centre.shape[-1])), reach).spread_out()

    @classmethod
    def point(cls, values: npt.ArrayLike) -> Form:
        """These numbers and no others."""
        exact = np.asarray(values, dtype=np.float64)
        return cls(exact, np.zeros((*exact.shape[:-1], 0, exact.shape[-1])), np.zeros_like(exact))

    @classmethod
    def joined(cls, parts: Sequence[Form]) -> Form:
        """The numbers of all parts one after another; they share their generators."""
        return cls(
            np.concatenate([part.centre for part in parts], axis=-1),
            np.concatenate([part.generators for part in parts], axis=-1),
            np.concatenate([part.rest for part in parts], axis=-1),
        )

    @functools.cached_property
    def radius(self) -> Bounds:
        """How far each number is from the centre at most."""
        return np.asarray((np.abs(self.generators).sum(axis=-2) + self.rest) * (1.0 + _GUARD))

    @property
    def magnitude(self) -> Bounds:
        return np.asarray(np.abs(self.centre) + self.radius)

    @functools.cached_property
    def box(self) -> Box:
        """Bounds of each number by itself."""
        reach = self.radius + _GUARD * np.abs(self.centre)
        return Box(self.centre - reach, self.centre + reach)

    def part(self, numbers: slice) -> Form:
        return Form(self.centre[..., numbers], self.generators[..., numbers], self.rest[..., numbers])

    def rows(self, chosen: Any) -> Form:
        return Form(self.centre[chosen], self.generators[chosen], self.rest[chosen])

    def for_each_letter(self) -> Form:
        """With an axis for the letters before that of the numbers."""
        return Form(self.centre[:, None], self.generators[:, None], self.rest[:, None])

    def spread_out(self) -> Form:
        """The same set, where the rest of each number is a generator, so that what follows knows what it depends on."""
        own = self.rest[..., None] * np.eye(self.rest.shape[-1])
        return Form(self.centre, np.concatenate([self.generators, own], axis=-2), np.zeros_like(self.rest))


@dataclass(frozen=True, eq=False)
class FormSum:
    """A sum that an evaluator forms in an order of its own, as ``Sum``, with a form of its exact values."""

    exact: Form
    size: Bounds
    terms: int
    factors: Bounds

    def __add__(self, other: FormSum) -> FormSum:
        a, b = self.exact, other.exact
        return FormSum(
            Form(a.centre + b.centre, _together(a.generators, b.generators), a.rest + b.rest),
            self.size + other.size,
            self.terms + other.terms,
            np.maximum(self.factors, other.factors),
        )

    def __getitem__(self, numbers: slice) -> FormSum:
        return replace(self, exact=self.exact.part(numbers), size=self.size[..., numbers])

    def times(self, factor: Form) -> FormSum:
        """Every term times a number of a form; an evaluator may compute the sum first, which is a factor then."""
        apart = np.maximum(self.size, factor.magnitude).max(axis=-1, keepdims=True)
        factors = np.maximum(self.factors, np.maximum(apart, 1.0))
        return FormSum(_product(self.exact, factor), self.size * factor.magnitude, self.terms + 1, factors)


@dataclass(frozen=True)
class FormEnclosure:
    """The operations of an evaluator, on affine forms: a ``Semantics`` of cells."""

    rounding: Rounding

    def affine(self, weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None, x: Form) -> FormSum:
        matrix = weight.astype(np.float64).T
        # How large the terms are is told by the box, and in the same way.
        bounds = affine(weight, bias, Box(-x.magnitude, x.magnitude))
        centre = x.centre @ matrix if bias is None else x.centre @ matrix + bias
        form = Form(centre, x.generators @ matrix, x.rest @ np.abs(matrix))
        return FormSum(form, bounds.size, bounds.terms, bounds.factors)

    def products(self, *pairs: tuple[Form, Form]) -> FormSum:
        first, *others = (FormSum(_product(a, b), a.magnitude * b.magnitude, 1, _largest(a, b)) for a, b in pairs)
        for other in others:
            first = first + other
        return first

    def keeping(self, gate: Form) -> Form:
        return gate

    def unknown(self, x: Form, h: Form) -> Form:
        return Form.point(np.full(np.broadcast_shapes(h.centre.shape, (*x.centre.shape[:-1], 1)), np.nan))

    def computed(self, total: FormSum) -> Form:
        """The sum as any evaluator may compute it; not a number, which is in no box, where one could overflow."""
        nothing = Box.point(np.zeros_like(total.size))
        slack = Enclosure(self.rounding).computed(Sum(nothing, total.size, total.terms, total.factors)).hi
        return replace(total.exact, rest=total.exact.rest + slack)

    def tanh(self, x: Form) -> Form:
        return _monotone(x, np.tanh, lambda y: 1.0 - np.tanh(y) ** 2, self.rounding.tanh * self.rounding.unit)

    def sigmoid(self, x: Form) -> Form:
        error = self.rounding.sigmoid * self.rounding.unit
        return _monotone(x, logistic, lambda y: logistic(y) * (1.0 - logistic(y)), error)

    def relu(self, x: Form) -> Form:
        """Between the line through its two ends, and that line moved down to where it meets zero."""
        lo, hi = x.box.lo, x.box.hi
        bent = (lo < 0.0) & (hi > 0.0)
        slope = np.where(bent, hi / np.where(bent, hi - lo, 1.0), np.where(hi <= 0.0, 0.0, 1.0))
        above = np.where(bent, -slope * lo, 0.0 * lo)  # not a number where there are no bounds
        guard = _GUARD * slope * np.maximum(np.abs(lo), np.abs(hi)) + _TINY
        return _scaled(x, slope, above / 2, above / 2 + guard)

    def blend(self, z: Form, new: Form, old: Form) -> Form:
        """``(1 - z) new + z old`` for a gate z, with the slack that boxes have: for every way to write the formula."""
        unit, size = self.rounding.unit, new.magnitude + old.magnitude
        slack = (8.0 + self.rounding.sigmoid) * unit * size + _GUARD * size + UNDERFLOW * (1.0 + size)
        slack = np.where(size < OVERFLOW, slack, np.nan)
        gate, apart = z.centre, old.centre - new.centre
        differences = _together(old.generators, -new.generators)
        shift, quadratic = _quadratic(z.generators, z.rest, differences, old.rest + new.rest)
        generators = _together(
            (1.0 - gate)[..., None, :] * new.generators,
            _together(gate[..., None, :] * old.generators, apart[..., None, :] * z.generators),
        )
        rest = np.abs(1.0 - gate) * new.rest + np.abs(gate) * old.rest + np.abs(apart) * z.rest
        return Form((1.0 - gate) * new.centre + gate * old.centre + shift, generators, rest + quadratic + slack)


def _monotone(x: Form, function: Function, slope: Function, error: float) -> Form:
    """A function that grows, and whose slope is smallest at an end of every interval, as computed up to an error.

    Less a line of that smallest slope the function still grows, so that its ends are at the ends.
    """
    lo, hi = x.box.lo, x.box.hi
    least = np.maximum(np.minimum(slope(lo), slope(hi)) - _SLOPE, 0.0)
    low, high = function(lo) - least * lo, function(hi) - least * hi
    guard = _GUARD * (1.0 + least * (np.abs(lo) + np.abs(hi)))
    return _scaled(x, least, (low + high) / 2, (high - low) / 2 + error + guard)


def _scaled(x: Form, by: Bounds, offset: Bounds, error: Bounds) -> Form:
    return Form(by * x.centre + offset, by[..., None, :] * x.generators, by * x.rest + error)


def _product(a: Form, b: Form) -> Form:
    shift, quadratic = _quadratic(a.generators, a.rest, b.generators, b.rest)
    generators = _together(a.centre[..., None, :] * b.generators, b.centre[..., None, :] * a.generators)
    rest = np.abs(a.centre) * b.rest + np.abs(b.centre) * a.rest + quadratic
    return Form(a.centre * b.centre + shift, generators, rest)


def _quadratic(a: Bounds, a_rest: Bounds, b: Bounds, b_rest: Bounds) -> tuple[Bounds, Bounds]:
    """The product of what two forms have besides their centres: its middle, and how far it is from that at most.

    The square of an eᵢ is between 0 and 1, every other product between -1 and 1.
    """
    reach = (np.abs(a).sum(axis=-2) + a_rest) * (np.abs(b).sum(axis=-2) + b_rest)
    if not (a.shape[-2] and b.shape[-2]):
        return np.zeros_like(reach), reach * (1.0 + _GUARD)
    squares = a * b
    return squares.sum(axis=-2) / 2, reach * (1.0 + _GUARD) - np.abs(squares).sum(axis=-2) / 2


def _together(a: Bounds, b: Bounds) -> Bounds:
    """The sum of generators, where one of the two may have none."""
    if not a.shape[-2]:
        return b
    return a + b if b.shape[-2] else a


def _largest(a: Form, b: Form) -> Bounds:
    largest = np.maximum(a.magnitude, b.magnitude).max(axis=-1, keepdims=True)
    return np.asarray(np.maximum(largest, 1.0))
