"""Where the command ``rnncheck`` begins: a signal that comes while Python still loads the rest ends it cleanly.

It stands outside the package, because importing anything of a package imports the package first. The package imports
it before all else, so that ``python -m rnncheck`` begins here too.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

_before: dict[int, Any] = {}  # the handlers that ours replace until the command line has its own


def main() -> None:
    """Load the command line, which then handles signals itself, and run it."""
    _before.update(_end_at_once())
    from rnncheck.cli import main as command_line

    _restore(_before)
    try:
        command_line()
    except KeyboardInterrupt:  # before or after the part that the command line handles
        _end(signal.SIGINT)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """End the process at once on Ctrl-C or SIGTERM: an exception in the middle of an import may become another one."""
    before = _end_at_once() if threading.current_thread() is threading.main_thread() else {}
    try:
        yield
    finally:
        _restore(before)


def _end_at_once() -> dict[int, Any]:
    """Handle both signals, unless the program that started this one ignores them; gives the handlers before."""
    before: dict[int, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) not in (signal.SIG_IGN, _end):
            before[number] = signal.signal(number, _end)
    return before


def _restore(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _end(number: int, *_: object) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _by_module_name() -> bool:
    """Whether this is ``python -m rnncheck``, which imports the package before it runs any of it."""
    return sys.argv[:1] == ["-m"] and ("-m", "rnncheck") in itertools.pairwise(sys.orig_argv)


if _by_module_name():
    _before.update(_end_at_once())
