"""How long a call into somebody else's code may take: where it never returns, a timer ends it.

A time limit is looked at between calls, which is no use when one of them hangs. Within ``watchdog`` such a call is
interrupted a little after the time is over. The timer is the system's alarm, so this works in the main thread only, for
code that Python runs or that waits for the system, and not where the program uses the alarm for itself.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from rnncheck.runtime.budget import BudgetExceeded

T = TypeVar("T")

_GRACE = 1.0  # seconds; a call that is only slow is let finish
_remaining: ContextVar[Callable[[], float]] = ContextVar("remaining", default=lambda: math.inf)


class _Overdue(BaseException):
    """Not an Exception, so that code which tries again whatever happens lets it through."""


@contextlib.contextmanager
def watchdog(remaining: Callable[[], float]) -> Iterator[None]:
    """Calls made meanwhile may take as long as ``remaining`` says when they begin, and a second."""
    token = _remaining.set(remaining)
    try:
        yield
    finally:
        _remaining.reset(token)


def guarded(call: Callable[[], T], what: Callable[[], str]) -> T:
    """The result of the call, or BudgetExceeded that says on what it was at work."""
    seconds = _remaining.get()()
    if math.isinf(seconds) or not _alarm_is_free():
        return call()
    armed = True

    def ring(*_: object) -> None:
        if armed:
            raise _Overdue

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE, _GRACE)
    try:
        try:
            return call()
        finally:
            armed = False
    except _Overdue:
        raise BudgetExceeded(f"the time limit was reached while the model was at work on {what()}") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _alarm_is_free() -> bool:
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    )
