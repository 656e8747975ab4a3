"""Clocks for tests: time that passes by what is done and not by what the machine is busy with."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

# Seconds of processor time that stop what would hardly ever end; what is meant takes one or two.
HARDLY_EVER = 60.0


class Ticking:
    """A clock that is a second later at every reading, so that a time limit counts the looks at it."""

    def __init__(self) -> None:
        self._seconds = itertools.count()

    def __call__(self) -> float:
        return float(next(self._seconds))


class Standing:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called: a measure of work that is the same on every machine."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
