"""What makes a verdict easier to read: a shorter word, flows, a trace. Nothing of it can take the verdict away."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rnncheck.errors import RnncheckError, visible
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.verdict.facts import HealthNote

Result = TypeVar("Result")


class Extras:
    """Tries one extra after another; ``notes`` name those that failed. ``stop`` is for Ctrl-C: no more answers."""

    def __init__(self, stop: Callable[[], None] = lambda: None) -> None:
        self.notes: list[HealthNote] = []
        self._stop = stop

    def attempt(self, what: str, work: Callable[[], Result]) -> Result | None:
        """The result of the work, or None where the budget or an error ended it."""
        try:
            return work()
        except BudgetExceeded:
            pass
        except KeyboardInterrupt:
            self._stop()
        except Exception as error:  # the model is somebody else's code
            self.failed(what, error)
        return None

    def failed(self, what: str, error: Exception) -> None:
        """Say that something is missing, and why."""
        name = "" if isinstance(error, RnncheckError) else f"{type(error).__name__}: "
        self.notes.append(
            HealthNote("unfinished", f"{what} could not be found out ({name}{visible(str(error))}); the verdict stands")
        )
