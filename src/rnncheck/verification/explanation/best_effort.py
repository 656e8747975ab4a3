"""Optional work that makes a verdict easier to read: a shorter word, flows, a trace. Its failure keeps the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rnncheck.errors import RnncheckError, visible
from rnncheck.runtime.budget import INTERRUPTED, BudgetExceeded
from rnncheck.verdict.facts import HealthNote

Result = TypeVar("Result")


class BestEffort:
    """Runs optional pieces of work; ``notes`` name those that failed.

    Ctrl-C ends the running one, calls ``stop``, sets ``interrupted`` and adds a note; no further one is run.
    """

    def __init__(self, stop: Callable[[], None] = lambda: None, *, interrupted: bool = False) -> None:
        self.notes: list[HealthNote] = []
        self.interrupted = interrupted
        self._stop = stop

    def attempt(self, what: str, work: Callable[[], Result]) -> Result | None:
        """The result of the work, or None where the budget, an error or Ctrl-C ended it."""
        if self.interrupted:
            return None
        try:
            return work()
        except BudgetExceeded:
            pass
        except KeyboardInterrupt:
            self.interrupt()
        except Exception as error:  # the model is user code
            self.failed(what, error)
        return None

    def interrupt(self) -> None:
        """Stop the work, and record it: a caller that runs several verifications must end too."""
        self._stop()
        if not self.interrupted:
            self.interrupted = True
            self.notes.append(
                HealthNote(INTERRUPTED, "Ctrl-C or SIGTERM ended the work early; run it again for the rest")
            )

    def failed(self, what: str, error: Exception) -> None:
        """Add a note that something is missing, and why."""
        name = "" if isinstance(error, RnncheckError) else f"{type(error).__name__}: "
        self.notes.append(
            HealthNote("unfinished", f"{what} could not be found out ({name}{visible(str(error))}); the verdict stands")
        )
