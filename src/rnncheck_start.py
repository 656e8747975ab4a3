"""Where the command ``rnncheck`` begins: whoever ends it while Python still loads the rest is told so, in one word.

It stands outside the package, because importing anything of a package imports the package first.
"""

from __future__ import annotations

import contextlib
import os
import signal


def main() -> None:
    """Load the command line, which then looks after itself, and run it."""
    ends = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _end) for number in ends}
    from rnncheck.cli import main as command_line

    for number, handler in before.items():
        signal.signal(number, handler)
    try:
        command_line()
    except KeyboardInterrupt:  # so late, or so early, that the command line had no part in it
        _end(signal.SIGINT)


def _end(number: int, *_: object) -> None:
    """End at once: an exception in the middle of an import would come out as something else."""
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(128 + number)
