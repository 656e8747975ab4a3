"""What a row of the table is, and how processor time is taken."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One line of the table; ``baseline`` names what it is compared with and its figure."""

    what: str
    measured: str
    baseline: str
    ratio: str


@dataclass(frozen=True)
class Row:
    """A cost that users wait for: its number, its aim, and the function that measures it (``quick``: smaller sizes)."""

    number: int
    aim: str
    measure: Callable[[bool], Iterable[Measured]]


@dataclass(frozen=True)
class Curve:
    """How a cost grows with a size: the sizes to measure, and the largest exponent that it may have.

    ``measure`` gives (size, seconds) for each of the sizes; files list theirs as ``CURVES``.
    """

    name: str  # of the picture's file, too
    what: str  # a sentence: what is done at each size
    axis: str
    sizes: tuple[int, ...]
    measure: Callable[[Sequence[int]], list[tuple[int, float]]]
    most: float = 1.2


def processor_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def seconds_of(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    begin = processor_seconds()
    work()
    return processor_seconds() - begin
