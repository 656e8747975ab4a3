"""How long a call may take that cannot look at a clock itself: where it never returns, a timer ends it.

A time limit is looked at between calls, which is no use when one of them hangs. Within ``watchdog`` such a call is
interrupted a little after the time is over; a module that is being imported is let finish, if it takes no ten seconds.
The timer is the system's alarm, so this works in the main thread only, for code that Python runs or that waits for the
system, and not where the program uses the alarm for itself. Where there is no alarm (Windows, other threads), a call
that hangs is not ended, and a time limit holds between calls alone.
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

_GRACE = 1.0  # seconds; a call that is only slow is let finish
_LONGEST_IMPORT = 10  # rings, one each grace: a module that is half imported would be broken for all that comes after
_remaining: ContextVar[Callable[[], float]] = ContextVar("remaining", default=lambda: math.inf)


class _Overdue(BaseException):
    """Not an Exception, so that code which tries again whatever happens lets it through."""


class _Bell:
    """The alarm's handler; it rings until it is put away."""

    def __init__(self) -> None:
        self.armed = True
        self._during_imports = 0

    def __call__(self, _: int, frame: FrameType | None) -> None:
        if not self.armed:
            return
        if self._during_imports < _LONGEST_IMPORT and _importing(frame):
            self._during_imports += 1  # and rings again
            return
        raise _Overdue


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported there."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def watchdog(remaining: Callable[[], float]) -> Iterator[None]:
    """Calls made meanwhile may take as long as ``remaining`` says when they begin, and a second."""
    token = _remaining.set(remaining)
    try:
        yield
    finally:
        _remaining.reset(token)


def guarded(call: Callable[[], T], what: Callable[[], str]) -> T:
    """The result of the call, or BudgetExceeded that says what was going on; the innermost of several calls says it."""
    seconds = _remaining.get()()
    if math.isinf(seconds) or not _alarm_is_ours():
        return call()
    handler = signal.getsignal(signal.SIGALRM)
    try:
        if isinstance(handler, _Bell):  # a call within a guarded call: the same time, and more to tell
            return call()
        return _within(seconds + _GRACE, call)
    except _Overdue:
        raise BudgetExceeded(f"the time limit was reached while {what()}") from None


def check_time() -> None:
    """Raise BudgetExceeded where the time that ``watchdog`` gives is over: for long work that queries no model."""
    if _remaining.get()() <= 0.0:
        raise BudgetExceeded("the time limit was reached")


def guarded_for(timeout: float | None, call: Callable[[], T], what: str) -> T:
    """The result of a call that may take so many seconds; without a limit, as long as the calls around it may."""
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
    """Whether there is an alarm, and nobody else uses it."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGALRM)
    free = handler is signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    return free or isinstance(handler, _Bell)
