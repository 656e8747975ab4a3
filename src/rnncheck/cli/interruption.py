"""Being told to end: by Ctrl-C, or by SIGTERM, which a scheduler sends; either is told alike."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


class Terminated(KeyboardInterrupt):
    """SIGTERM: whatever is ready for Ctrl-C is ready for it."""


class Interrupted(Exception):  # noqa: N818 - a person's wish, not a defect
    """A command was told to end, and this is what is to be said of it; the cause is what told it."""


def exit_code_of(end: BaseException | None) -> int:
    """The code of a command that was ended with nothing to tell, as shells have it; 1 would look like a verdict."""
    return 128 + (signal.SIGTERM if isinstance(end, Terminated) else signal.SIGINT)


@contextlib.contextmanager
def told_to_end() -> Iterator[None]:
    """Let SIGTERM meanwhile be what Ctrl-C is, unless whoever started us wants it ignored."""
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
def asked_to_end() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C or SIGTERM came: work that asks it ends in good order.

    A second one ends it at once.
    """
    asked = False

    def remember(number: int, _: object) -> None:
        nonlocal asked
        if asked:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        asked = True

    here = threading.current_thread() is threading.main_thread()
    kinds = [each for each in (signal.SIGINT, signal.SIGTERM) if here and signal.getsignal(each) is not signal.SIG_IGN]
    before = {kind: signal.signal(kind, remember) for kind in kinds}
    try:
        yield lambda: asked
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
