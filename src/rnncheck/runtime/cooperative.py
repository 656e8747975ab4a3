"""Work in turns: a generator that yields between pieces of work and returns its result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Event = TypeVar("Event")

Turns: TypeAlias = Generator[None, None, Result]


def _nothing() -> None:
    pass


def finish(work: Generator[object, None, Result], between: Callable[[], None] = _nothing) -> Result:
    """The result of work that is done to its end; ``between`` is called after each piece."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        between()


def telling(work: Generator[Event, None, Result], tell: Callable[[Event], None]) -> Turns[Result]:
    """The work, where what it yields is told between its pieces."""
    while True:
        try:
            event = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        tell(event)
        yield
