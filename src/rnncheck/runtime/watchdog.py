"""A timer that ends calls which do not check the time themselves and may never return.

Time limits are checked between calls, which does not help when a call hangs. Within ``watchdog`` such a call is
interrupted shortly after the deadline; an import in progress may finish within ten seconds. The timer is the system's
alarm, so it works only in the main thread, for Python code and for code that waits for the system, and not where the
program uses the alarm itself. Without an alarm (Windows, other threads), a hanging call is not ended, and time limits
are checked only between calls.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import TypeVar

from rnncheck.runtime.budget import Budget, BudgetExceeded

T = TypeVar("T")

_GRACE = 1.0  # seconds; a slow call may finish
_LONGEST_IMPORT = 10  # alarms, one per grace period: a half-imported module would be broken for the rest of the program
_remaining: ContextVar[Callable[[], float]] = ContextVar("remaining", default=lambda: math.inf)


class _Overdue(BaseException):
    """Not an Exception, so that code which retries after any Exception does not catch it."""


class _Bell:
    """The alarm's handler; it fires until it is disarmed."""

    def __init__(self) -> None:
        self.armed = True
        self._during_imports = 0

    def __call__(self, _: int, frame: FrameType | None) -> None:
        if not self.armed:
            return
        if self._during_imports < _LONGEST_IMPORT and _importing(frame):
            self._during_imports += 1  # and fires again
            return
        raise _Overdue


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported in this frame or its callers."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def watchdog(remaining: Callable[[], float]) -> Iterator[None]:
    """Limit guarded calls to the time that is ``remaining`` when they begin, plus one second."""
    token = _remaining.set(remaining)
    try:
        yield
    finally:
        _remaining.reset(token)


def guarded(call: Callable[[], T], what: Callable[[], str]) -> T:
    """The result of the call, or BudgetExceeded with ``what`` was running (of nested calls, the innermost)."""
    seconds = _remaining.get()()
    if math.isinf(seconds) or not _alarm_is_ours():
        return call()
    handler = signal.getsignal(signal.SIGALRM)
    try:
        if isinstance(handler, _Bell):  # a nested call: the outer timer applies
            return call()
        return _within(seconds + _GRACE, call)
    except _Overdue:
        raise BudgetExceeded(f"the time limit was reached while {what()}") from None


def check_time() -> None:
    """Raise BudgetExceeded when the time of ``watchdog`` is over: for long work that queries no model."""
    if _remaining.get()() <= 0.0:
        raise BudgetExceeded("the time limit was reached")


def guarded_for(timeout: float | None, call: Callable[[], T], what: str) -> T:
    """The result of a call that may take ``timeout`` seconds; without one, the limit of the enclosing calls."""
    if timeout is None:
        return call()
    with watchdog(Budget.lasting(timeout).remaining):
        return guarded(call, lambda: what)


def _within(seconds: float, call: Callable[[], T]) -> T:
    bell = _Bell()
    signal.signal(signal.SIGALRM, bell)
    signal.setitimer(signal.ITIMER_REAL, seconds, _GRACE)
    try:
        try:
            return call()
        finally:
            bell.armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _alarm_is_ours() -> bool:
    """Whether there is an alarm that no other code uses."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGALRM)
    free = handler is signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    return free or isinstance(handler, _Bell)
