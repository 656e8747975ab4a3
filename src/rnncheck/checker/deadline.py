"""The time limit and the progress reports of a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rnncheck.checker.checks import Check, left_open
from rnncheck.models.protocol import Model
from rnncheck.models.traces import TraceModel
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import guarded, watchdog
from rnncheck.words import Codes, WordBatch

_WORDS_AT_ONCE = 100  # between two looks at the clock


class Deadline:
    """Reports what is being checked; raises BudgetExceeded when the time is over."""

    def __init__(self, timeout: float | None = None, report: Callable[[str], None] | None = None) -> None:
        self._report = report
        self._budget = Budget.lasting(timeout)
        self._doing = "the document"

    def check(self, doing: str) -> None:
        """Report the current check, and raise BudgetExceeded when the time is over."""
        self._doing = doing
        self._budget.check()
        if self._report is not None:
            self._report(doing)

    def answers(self, model: Model, words: Sequence[Codes], what: str) -> list[bool]:
        """The model's answers."""
        answers: list[bool] = []
        for start in range(0, len(words), _WORDS_AT_ONCE):
            self.check(f"{what}: {start} of {len(words)} words queried")
            part = WordBatch.from_codes(list(words[start : start + _WORDS_AT_ONCE]))
            answers += map(bool, model.accepts_batch(part))
        return answers

    def within_time(self, checks: Iterator[Check]) -> Iterator[Check]:
        """The checks that finish in time, and one open check that says so if not all do."""
        try:
            with watchdog(self._budget.remaining):
                while (check := guarded(lambda: next(checks, None), lambda: self._doing)) is not None:
                    yield check
        except BudgetExceeded:
            yield left_open(
                "time limit", f"it was reached at {self._doing}; raise --timeout to check this and the rest"
            )


def reference_model(model: Model) -> Model:
    """The model with every answer from its reference; labels of all prefixes of many words are queried together."""
    return model.by_reference_together() if isinstance(model, TraceModel) else model.by_reference()
