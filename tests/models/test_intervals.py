"""Boxes contain what every evaluator computes: exact values, numpy, the engine and PyTorch, in float32 and float64."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.models.evaluator_assumption import OVERFLOW
from rnncheck.proofs.domains.interval import Interval, IntervalSemantics, Rounding, affine, products

ON = IntervalSemantics()
UNIT = Rounding().unit


def box_around(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> tuple[Interval, np.ndarray]:
    """A box, and a float32 point inside."""
    lo = (rng.normal(size=shape) * scale).astype(np.float32).astype(np.float64)
    hi = lo + np.abs(rng.normal(size=shape) * scale * rng.choice([0.0, 1e-6, 1.0])).astype(np.float32)
    point = np.clip((lo + rng.random(shape) * (hi - lo)).astype(np.float32).astype(np.float64), lo, hi)
    return Interval(lo, hi), point.astype(np.float32)


def exact_dot(weights: np.ndarray, x: np.ndarray, bias: float) -> Fraction:
    return sum(
        (Fraction(float(w)) * Fraction(float(v)) for w, v in zip(weights, x, strict=True)), Fraction(float(bias))
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([1e-30, 1e-3, 1.0, 1e6, 1e15]))
def test_a_sum_is_enclosed_in_every_order_and_exactly(seed: int, size: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    weight = (rng.normal(size=(3, size)) * rng.choice([1e-10, 1.0, 1e4])).astype(np.float32)
    bias = rng.normal(size=3).astype(np.float32)
    box, point = box_around(rng, (1, size), scale)
    found = ON.computed(affine(weight, bias, box))
    for row in range(3):
        low, high = Fraction(found.lo[0, row]), Fraction(found.hi[0, row])
        assert low <= exact_dot(weight[row], point[0], bias[row]) <= high
        for order in (np.arange(size), rng.permutation(size), np.argsort(-np.abs(weight[row] * point[0]))):
            total = bias[row]
            for i in order:
                total = np.float32(total + np.float32(weight[row, i] * point[0, i]))
            assert found.lo[0, row] <= float(total) <= found.hi[0, row]
    for computed in (weight @ point[0] + bias, (torch.from_numpy(weight) @ torch.from_numpy(point[0])).numpy() + bias):
        assert ((found.lo[0] <= computed) & (computed <= found.hi[0])).all()


def test_the_bounds_of_a_sum_are_reached() -> None:
    """Tight but for the rounding: no other box would do for exact arithmetic."""
    weight = np.array([[2.0, -3.0]], dtype=np.float32)
    found = ON.computed(affine(weight, None, Interval(np.array([[-1.0, 0.0]]), np.array([[1.0, 2.0]]))))
    assert found.lo[0, 0] == pytest.approx(-8.0, abs=1e-5)
    assert found.hi[0, 0] == pytest.approx(2.0, abs=1e-5)
    assert found.lo[0, 0] < -8.0
    assert found.hi[0, 0] > 2.0


def test_what_could_overflow_is_in_no_box() -> None:
    weight = np.array([[OVERFLOW, -OVERFLOW]], dtype=np.float32)
    found = ON.computed(affine(weight, None, Interval.point([[1.0, 1.0]])))
    assert np.isnan(found.lo).all()
    never_read = np.array([[1e300, 1.0]])  # float32 makes infinity of it, and nonsense of infinity times zero
    assert np.isnan(ON.computed(affine(never_read, None, Interval.point([[0.0, 1.0]]))).lo).all()
    everything = Interval(np.full((1, 1), -np.inf), np.full((1, 1), np.inf))
    assert not everything.contains(ON.tanh(found)).any()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 100.0]))
def test_products_and_blends_are_enclosed(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    (a, x), (b, y), (c, z), (d, w) = (box_around(rng, (2, 5), scale) for _ in range(4))
    found = ON.computed(products((a, b), (c, d)))
    for value in (x * y + z * w, x.astype(np.float64) * y + z.astype(np.float64) * w):
        assert ((found.lo <= value) & (value <= found.hi)).all()
    ends = np.sort(rng.random((2, 2, 5)), axis=0)
    gate = Interval(*np.clip(ends * 1.2 - 0.1, 0.0, 1.0).astype(np.float32).astype(np.float64))
    share = np.clip(np.float32(gate.lo + rng.random((2, 5)) * (gate.hi - gate.lo)), gate.lo, gate.hi).astype(np.float32)
    mixed = ON.blend(gate, a, b)
    one, half = np.float32(1), np.float32(0.5)
    ways = [
        (one - share) * x + share * y,
        x + (y - x) * share,
        x + ((y - x) * (share + share)) * half,
        (1 - share.astype(np.float64)) * x + share.astype(np.float64) * y,
    ]
    for value in ways:
        assert ((mixed.lo <= value) & (value <= mixed.hi)).all()


def test_a_blend_is_no_wider_than_what_it_blends() -> None:
    """A latched unit keeps its bounds: naive interval multiplication would widen them at every step."""
    ends = np.array([[-1.0]]), np.array([[1.0]])
    mixed = ON.blend(Interval(np.array([[0.1]]), np.array([[0.9]])), Interval(*ends), Interval(*ends))
    assert mixed.hi[0, 0] == pytest.approx(1.0, abs=1e-5)
    assert mixed.lo[0, 0] == pytest.approx(-1.0, abs=1e-5)


def sample_of_all_floats() -> np.ndarray:
    bits = np.arange(0, 0x7F800000, 20_011, dtype=np.uint32)
    values = np.concatenate([bits.view(np.float32), (bits | np.uint32(1 << 31)).view(np.float32)])
    return values[np.abs(values) < 1e4]


def exact(function: str, values: np.ndarray) -> np.ndarray:
    with mpmath.workprec(120):
        if function == "tanh":
            return np.array([float(mpmath.tanh(mpmath.mpf(float(v)))) for v in values])
        return np.array([float(1 / (1 + mpmath.exp(-mpmath.mpf(float(v))))) for v in values])


@pytest.mark.parametrize("function", ["tanh", "sigmoid"])
def test_functions_are_as_exact_as_assumed(function: str) -> None:
    """numpy's and torch's, over the whole range of float32: what the certificate assumes, with room to spare."""
    values = sample_of_all_floats()
    truth = exact(function, values)
    assumed = getattr(Rounding(), function) * UNIT
    with np.errstate(over="ignore"):
        half = (1 + np.tanh(values / 2)) / 2
        by_numpy = [np.tanh(values)] if function == "tanh" else [half, 1 / (1 + np.exp(-values))]
    for computed in (*by_numpy, getattr(torch, function)(torch.from_numpy(values)).numpy()):
        assert np.abs(computed - truth).max() <= assumed / 2
    found = getattr(ON, function)(Interval.point(values))
    assert (found.lo <= truth - assumed).all()
    assert (found.hi >= truth + assumed).all()
