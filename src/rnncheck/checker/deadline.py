"""What a replay tells while it is at work, and how long it may go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rnncheck.checker.checks import Check, left_open
from rnncheck.models.protocol import Model
from rnncheck.models.traces import TraceModel
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import guarded, watchdog
from rnncheck.words import Codes, WordBatch

_WORDS_AT_ONCE = 100  # between two looks at the clock


class Watch:
    """Told what is being looked at; raises BudgetExceeded when the time is over."""

    def __init__(self, timeout: float | None = None, tell: Callable[[str], None] | None = None) -> None:
        self._tell = tell
        self._budget = Budget.lasting(timeout)
        self._doing = "the document"

    def __call__(self, doing: str) -> None:
        self._doing = doing
        self._budget.check()
        if self._tell is not None:
            self._tell(doing)

    def answers(self, model: Model, words: Sequence[Codes], what: str) -> list[bool]:
        """The model's answers."""
        answers: list[bool] = []
        for start in range(0, len(words), _WORDS_AT_ONCE):
            self(f"{what}: {start} of {len(words)} words asked")
            part = WordBatch.from_codes(list(words[start : start + _WORDS_AT_ONCE]))
            answers += map(bool, model.accepts_batch(part))
        return answers

    def within_time(self, checks: Iterator[Check]) -> Iterator[Check]:
        """The checks that are made in time, and one that says so where the time is over before the last."""
        try:
            with watchdog(self._budget.remaining):
                while (check := guarded(lambda: next(checks, None), lambda: self._doing)) is not None:
                    yield check
        except BudgetExceeded:
            yield left_open(
                "time limit", f"it was reached at {self._doing}; raise --timeout to check this and the rest"
            )


def asked_again(model: Model) -> Model:
    """The model whose every answer is the reference's; labels of all prefixes are asked of many words together."""
    return model.by_reference_together() if isinstance(model, TraceModel) else model.by_reference()
