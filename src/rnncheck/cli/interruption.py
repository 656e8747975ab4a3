"""Interruption by Ctrl-C, or by SIGTERM, which a scheduler sends: both have the same effect."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled as Ctrl-C is."""


class Interrupted(Exception):  # noqa: N818 - a wish of the user, not a defect
    """A command was interrupted, with a message about it; the cause is the signal."""


def exit_code_of(end: BaseException | None) -> int:
    """The exit code of a command that was interrupted without a result, as in shells; 1 would look like a verdict."""
    return 128 + (signal.SIGTERM if isinstance(end, Terminated) else signal.SIGINT)


@contextlib.contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C, unless the program that started this one has it ignored."""
    here = threading.current_thread() is threading.main_thread()  # only there can signals be received
    if not here or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return

    def end(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def end_requested() -> Iterator[Callable[[], bool]]:
    """Gives a function that is true after Ctrl-C or SIGTERM, so that work can end in good order.

    A second signal ends it at once.
    """
    requested = False

    def remember(number: int, _: object) -> None:
        nonlocal requested
        if requested:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        requested = True

    here = threading.current_thread() is threading.main_thread()
    kinds = [each for each in (signal.SIGINT, signal.SIGTERM) if here and signal.getsignal(each) is not signal.SIG_IGN]
    before = {kind: signal.signal(kind, remember) for kind in kinds}
    try:
        yield lambda: requested
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
