"""The four arithmetics that enclose evaluations, under one interface: the prover's two, and the checker's two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx

from rnncheck.checker.checked_zonotope import Zonotope, ZonotopeEvaluator
from rnncheck.checker.outward import Evaluator, Interval
from rnncheck.checker.proof_checks import KNOWN_ARITHMETIC
from rnncheck.proofs.domains.interval import Interval as ProverInterval
from rnncheck.proofs.domains.interval import IntervalSemantics, Rounding
from rnncheck.proofs.domains.zonotope import Zonotope as ProverZonotope
from rnncheck.proofs.domains.zonotope import ZonotopeSemantics

UNIT = 2.0**-24
FUNCTION_UNITS = 8.0
PRECISION = 2400  # binary digits of Arb: sums and products of float64 numbers of every size are exact


@dataclass(frozen=True)
class Domain:
    """One arithmetic. ``of`` takes bounds (rows × numbers); sums are the arithmetic's own until they are computed."""

    name: str
    of: Callable[[np.ndarray, np.ndarray], Any]
    affine: Callable[[np.ndarray, np.ndarray | None, Any], Any]
    products: Callable[..., Any]
    times: Callable[[Any, Any], Any]
    computed: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    sigmoid: Callable[[Any], Any]
    relu: Callable[[Any], Any]
    blend: Callable[[Any, Any, Any], Any]

    def __str__(self) -> str:
        return self.name


def domains() -> list[Domain]:
    boxes, zonotopes = IntervalSemantics(Rounding()), ZonotopeSemantics(Rounding())

    def prover_zonotope(low: Any, high: Any) -> ProverZonotope:
        return ProverZonotope.of(ProverInterval(low, high))

    plain = Evaluator(KNOWN_ARITHMETIC.unit, KNOWN_ARITHMETIC.tanh, KNOWN_ARITHMETIC.sigmoid)
    shared = ZonotopeEvaluator(plain)
    return [
        *(
            Domain(name, of, by.affine, by.products, lambda total, factor: total.times(factor), by.computed,
                   by.tanh, by.sigmoid, by.relu, by.blend)
            for name, by, of in (
                ("prover boxes", boxes, ProverInterval), ("prover zonotopes", zonotopes, prover_zonotope)
            )
        ),
        *(
            Domain(name, of, by.linear, by.products, lambda total, factor: total.scaled(factor), by.rounded,
                   by.tanh, by.sigmoid, by.relu, by.mean)
            for name, by, of in (
                ("checker intervals", plain, Interval), ("checker zonotopes", shared, Zonotope.between)
            )
        ),
    ]  # fmt: skip


def exactly(value: float) -> arb:
    ctx.prec = PRECISION
    return arb(float(value))


def _ends(found: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The bounds of an interval; None of a zonotope."""
    if isinstance(found, ProverInterval):
        return found.lo, found.hi
    return (found.low, found.high) if isinstance(found, Interval) else None


def _parts(found: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(found, ProverZonotope):
        return found.centre, found.generators, found.error
    return found.middle, found.generators, found.error


def number(found: Any, column: int, unknowns: np.ndarray) -> arb:
    """The exact number of the first row where all unknowns have these values; an interval has one per column."""
    ends = _ends(found)
    if ends is not None:
        low, high = (exactly(end[0, column]) for end in ends)
        return low + (high - low) * (exactly(unknowns[column]) + 1) / 2
    return _on_line(found, column, unknowns)


def _on_line(found: Any, column: int, unknowns: np.ndarray) -> arb:
    centre, slopes, _ = _parts(found)
    total = exactly(centre[0, column])
    for place in np.flatnonzero(slopes[0, :, column]).tolist():
        total += exactly(slopes[0, place, column]) * exactly(unknowns[place])
    return total


def encloses(found: Any, column: int, unknowns: np.ndarray, low: arb, high: arb) -> bool:
    """Whether everything between two numbers is enclosed for certain, where the unknowns have these values."""
    ends = _ends(found)
    if ends is not None:
        if not np.isfinite([ends[0][0, column], ends[1][0, column]]).all():
            return False
        return bool(exactly(ends[0][0, column]) <= low) and bool(high <= exactly(ends[1][0, column]))
    centre, slopes, rest = _parts(found)
    if not (np.isfinite([centre[0, column], rest[0, column]]).all() and np.isfinite(slopes[0, :, column]).all()):
        return False
    line, apart = _on_line(found, column, unknowns), exactly(rest[0, column])
    return bool(line - apart <= low) and bool(high <= line + apart)


def has_bounds(found: Any) -> np.ndarray:
    """Where an enclosure claims anything: what is not a number is in no box."""
    ends = _ends(found)
    if ends is not None:
        return np.asarray(np.isfinite(ends[0][0]) & np.isfinite(ends[1][0]))
    centre, slopes, rest = _parts(found)
    return np.asarray(np.isfinite(centre[0]) & np.isfinite(rest[0]) & np.isfinite(slopes[0]).all(axis=0))


def bounds(found: Any) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of every number by itself."""
    ends = _ends(found)
    if ends is not None:
        return ends
    if isinstance(found, ProverZonotope):
        return found.interval.lo, found.interval.hi
    both = found.bounds()
    return both.low, both.high
