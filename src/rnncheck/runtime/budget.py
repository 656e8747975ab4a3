"""Limits of work: a deadline and a way to cancel, checked between steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rnncheck.errors import InputError, ResourceLimitError, WrongTypeError

Clock = Callable[[], float]

INTERRUPTED = "interrupted"  # the reason where Ctrl-C ended the work


class BudgetExceeded(ResourceLimitError):  # noqa: N818 - an expected end of work, not a defect
    """The budget ended first. The caller keeps the results until then."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def never() -> bool:
    """The default of ``cancelled``: no."""
    return False


@dataclass(frozen=True)
class Budget:
    """A deadline on a clock, and a function that reports cancellation.

    ``deadline`` is a reading of ``clock``; None means no limit. ``cancelled`` is called between steps, perhaps from
    several threads.
    """

    deadline: float | None = None
    clock: Clock = time.monotonic
    cancelled: Callable[[], bool] = never

    @classmethod
    def lasting(
        cls, seconds: float | None, *, clock: Clock = time.monotonic, cancelled: Callable[[], bool] = never
    ) -> Budget:
        """A budget that ends ``seconds`` from now, or never."""
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
            raise WrongTypeError(f"a time limit of {seconds!r} was given; give a number of seconds, or leave it out")
        if seconds is not None and not seconds >= 0.0:
            raise InputError(f"a time limit of {seconds} seconds was given; give 0 or more, or leave it out")
        return cls(None if seconds is None else clock() + seconds, clock, cancelled)

    def remaining(self) -> float:
        """Seconds until the deadline, at least 0; infinite where there is none."""
        return float("inf") if self.deadline is None else max(0.0, self.deadline - self.clock())

    @property
    def left(self) -> float | None:
        """``remaining()`` as a time limit: None without a deadline."""
        return None if self.deadline is None else self.remaining()

    def check(self) -> None:
        """Raise BudgetExceeded if the budget has ended."""
        if self.cancelled():
            raise BudgetExceeded("cancelled")
        if self.deadline is not None and self.clock() >= self.deadline:
            raise BudgetExceeded("the time limit was reached")


UNLIMITED = Budget()
