"""One calm line of progress on stderr: on a terminal rewritten in place, elsewhere printed now and then."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

_ON_TERMINAL = 0.1  # seconds between two updates
_ELSEWHERE = 10.0


@contextlib.contextmanager
def progress_line(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives a function that shows a text, not more often than a person can read."""
    if quiet:
        yield lambda text: None
        return
    terminal = sys.stderr.isatty()
    pause = _ON_TERMINAL if terminal else _ELSEWHERE
    last = time.monotonic() - (pause if terminal else 0.0)
    shown = False

    def tell(text: str) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if now - last < pause:
            return
        last, shown = now, True
        sys.stderr.write(f"\r\033[K{text}" if terminal else f"{text}\n")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        if terminal and shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
