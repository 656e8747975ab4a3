"""Being told to end: by Ctrl-C, or by SIGTERM, which a scheduler sends; either is told alike."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


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
