"""Where the command ``rnncheck`` begins: whoever ends it while Python still loads the rest is told so, in one word.

It stands outside the package, because importing anything of a package imports the package first. The package imports
it before all else, so that ``python -m rnncheck`` begins here too.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
from typing import Any

_before: dict[int, Any] = {}  # the handlers that ours stand in for


def main() -> None:
    """Load the command line, which then looks after itself, and run it."""
    _end_at_once()
    from rnncheck.cli import main as command_line

    for number, handler in _before.items():
        signal.signal(number, handler)
    try:
        command_line()
    except KeyboardInterrupt:  # so late, or so early, that the command line had no part in it
        _end(signal.SIGINT)


def _end_at_once() -> None:
    """Hear both signals until the command line does, unless the program that started this one ignores them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) not in (signal.SIG_IGN, _end):
            _before[number] = signal.signal(number, _end)


def _end(number: int, *_: object) -> None:
    """End at once: an exception in the middle of an import would come out as something else."""
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _by_module_name() -> bool:
    """Whether this is ``python -m rnncheck``, which imports the package before it runs any of it."""
    return sys.argv[:1] == ["-m"] and ("-m", "rnncheck") in itertools.pairwise(sys.orig_argv)


if _by_module_name():
    _end_at_once()
