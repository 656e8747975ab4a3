"""Every way to evaluate a small sum of products: all orders and groupings, fused or not, in float32 and float64."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

_LEAST_NORMAL = 2.0**-126


@dataclass(frozen=True)
class Machine:
    """How operations are rounded. Values are float64 arrays, which hold every float32 number."""

    name: str
    single: bool = True  # results are float32 numbers
    double: bool = False  # results may be float64 numbers, too
    fused: bool = False  # a product may be added without being rounded
    flushed: bool = False  # what is smaller than the least normal number becomes zero

    def __str__(self) -> str:
        return self.name

    def rounded(self, exact: np.ndarray, error: np.ndarray | float = 0.0) -> list[np.ndarray]:
        """Every result for a number that is ``exact`` plus a much smaller error."""
        found = []
        if self.single:
            with np.errstate(over="ignore"):
                value = to_odd(exact, error).astype(np.float32).astype(np.float64)
            if self.flushed:
                value = np.where(np.abs(value) < _LEAST_NORMAL, 0.0, value)
            found.append(value)
        if self.double:
            found.append(exact)
        return found


MACHINES = [
    Machine("float32"),
    Machine("float32, fused", fused=True),
    Machine("float32, flushed to zero", fused=True, flushed=True),
    Machine("float64", single=False, double=True),
]
MIXED = Machine("float32 and float64 mixed, fused", double=True, fused=True)


def to_odd(total: np.ndarray, error: np.ndarray | float) -> np.ndarray:
    """The sum of two numbers rounded to odd in float64, so that rounding it to float32 rounds the exact sum."""
    total, error = np.broadcast_arrays(np.asarray(total, dtype=np.float64), np.asarray(error, dtype=np.float64))
    even = (total.view(np.int64) if total.flags.c_contiguous else np.ascontiguousarray(total).view(np.int64)) % 2 == 0
    towards = np.where(error > 0.0, np.inf, -np.inf)
    return np.where((error != 0.0) & even, np.nextafter(total, towards), total)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The float64 sum, and what it lacks of the exact one."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@dataclass(frozen=True)
class Term:
    """One term of a sum: the values it may have, and those before its last rounding, which a fused addition takes."""

    values: np.ndarray
    exact: np.ndarray

    @classmethod
    def product(cls, a: np.ndarray | float, b: np.ndarray | float, machine: Machine) -> Term:
        """Every product of one of the first and one of the second; of float32 numbers it is exact in float64."""
        left, right = (part.ravel() for part in np.meshgrid(a, b))
        exact = np.unique(left * right)
        return cls(np.unique(np.concatenate(machine.rounded(exact))), exact)

    @classmethod
    def value(cls, values: np.ndarray | float) -> Term:
        known = np.atleast_1d(np.asarray(values, dtype=np.float64))
        return cls(known, known)


def all_sums(terms: list[Term], machine: Machine) -> np.ndarray:
    """Every value of the sum that a machine can compute, in any order and grouping."""
    values = {1 << place: term.values for place, term in enumerate(terms)}
    for group in range(1, 1 << len(terms)):
        if group not in values:
            parts = [added(values[left], values[group ^ left], machine) for left in _halves(group)]
            if machine.fused:
                parts += [
                    added(terms[place].exact, values[group ^ 1 << place], machine)
                    for place in range(len(terms))
                    if group >> place & 1
                ]
            values[group] = np.unique(np.concatenate(parts))
    return values[(1 << len(terms)) - 1]


def added(a: np.ndarray, b: np.ndarray, machine: Machine) -> np.ndarray:
    """Every sum of one of the first and one of the second."""
    total, error = two_sum(*(part.ravel() for part in np.meshgrid(a, b)))
    return np.unique(np.concatenate(machine.rounded(total, error)))


class Columns:
    """Operations number by number: each value has a row for every way in which it was rounded until now."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def sum(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``a + b``."""
        total, error = two_sum(a[:, None], b[None, :])
        return self._rows(total, error)

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``a b``."""
        return self._rows(a[:, None] * b[None, :], 0.0)

    def fused(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """``a b + c``: with the product rounded before, and, where the machine does so, with one rounding alone."""
        found = [self.sum(self.product(a, b), c)]
        if self._machine.fused:
            exact = (a[:, None] * b[None, :]).reshape(-1, a.shape[1])
            found.append(self.sum(exact, c))
        return np.concatenate(found)

    def _rows(self, total: np.ndarray, error: np.ndarray | float) -> np.ndarray:
        found = [each.reshape(-1, total.shape[-1]) for each in self._machine.rounded(total, error)]
        return np.concatenate(found)


def _halves(group: int) -> Iterator[int]:
    """Every way to part a group in two; each once."""
    lowest = group & -group
    rest = group ^ lowest
    part = rest
    while part:
        part = (part - 1) & rest
        yield lowest | part


def trees(count: int) -> int:
    """How many groupings a sum of ``count`` terms has, where order within a pair does not matter: (2n - 3)!!"""
    return int(np.prod(np.arange(1, 2 * count - 2, 2)))


def groupings(terms: list[float]) -> Iterator[float]:
    """The sum in float32 by every grouping, one after the other: slow, and simple enough to judge ``all_sums``."""
    if len(terms) == 1:
        yield float(np.float32(terms[0]))
        return
    full = (1 << len(terms)) - 1
    for left in _halves(full):
        ours = [term for place, term in enumerate(terms) if left >> place & 1]
        others = [term for place, term in enumerate(terms) if not left >> place & 1]
        for a in groupings(ours):
            for b in groupings(others):
                yield float(np.float32(a) + np.float32(b))
