"""One time limit for everything that a command does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rnncheck.cli.model_request import ModelRequest
from rnncheck.models.protocol import Model
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.words import Alphabet

Result = TypeVar("Result")


class TimeLimit:
    """The --timeout of a command: for loading, compiling, connecting, and the work itself."""

    def __init__(self, seconds: float | None) -> None:
        self._budget = Budget.lasting(seconds)

    @property
    def left(self) -> float | None:
        """The seconds that are left; None where there is no limit."""
        return self._budget.left

    def spent_on(self, what: str, work: Callable[[], Result]) -> Result:
        """The result of the work; BudgetExceeded says that the time ended while ``what``."""
        return guarded_for(self.left, work, what)

    def load(
        self, model: ModelRequest, alphabet: Alphabet | None, max_length: int | None = None, *, any_label: bool = False
    ) -> Model:
        """The model, which is tried with some words when it is loaded, and may hang there."""
        return self.spent_on(
            "the model was being loaded", lambda: model.load(alphabet, max_length, any_label=any_label)
        )
