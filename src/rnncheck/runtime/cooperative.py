"""Cooperative work: a generator that yields between pieces of work and returns its result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Event = TypeVar("Event")

CooperativeWork: TypeAlias = Generator[None, None, Result]


def _nothing() -> None:
    pass


def finish(work: Generator[object, None, Result], between: Callable[[], None] = _nothing) -> Result:
    """Run work to its end and return its result; ``between`` is called after each piece."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        between()


def reporting(work: Generator[Event, None, Result], report: Callable[[Event], None]) -> CooperativeWork[Result]:
    """The same work, with each event that it yields passed to ``report``."""
    while True:
        try:
            event = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        report(event)
        yield
