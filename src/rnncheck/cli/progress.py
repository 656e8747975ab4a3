"""One calm line of progress on stderr: on a terminal rewritten in place, elsewhere printed now and then."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rnncheck.cli.output import unfailing
from rnncheck.errors import visible

if TYPE_CHECKING:
    from rnncheck.experiments.runner import RunProgress

_ON_TERMINAL = 0.1  # seconds between two updates
_ELSEWHERE = 10.0


class ProgressLine:
    """Shows a text when it is called, not more often than a person can read; ``stay`` shows one that stays."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._terminal = not silent and sys.stderr.isatty()
        self._pause = _ON_TERMINAL if self._terminal else _ELSEWHERE
        self._last = time.monotonic() - (self._pause if self._terminal else 0.0)
        self._shown = False

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if self._silent or now - self._last < self._pause:
            return
        self._last, self._shown = now, True
        self._write(f"\r\033[K{visible(text)}" if self._terminal else f"{visible(text)}\n")

    def stay(self, text: str) -> None:
        """Show a text at once, on a line of its own."""
        self.clear()
        self._write(f"{visible(text)}\n")

    def clear(self) -> None:
        """Leave nothing behind on a terminal."""
        if self._terminal and self._shown:
            self._write("\r\033[K")
            self._shown = False

    def _write(self, text: str) -> None:
        if not self._silent:
            with unfailing(sys.stderr):
                sys.stderr.write(text)


@contextlib.contextmanager
def progress_line(*, quiet: bool = False) -> Iterator[ProgressLine]:
    """The line, gone at the end."""
    line = ProgressLine(silent=quiet or sys.stderr is None)  # None: closed, as by `2>&-`
    try:
        yield line
    finally:
        line.clear()


@contextlib.contextmanager
def pieces_progress(*, quiet: bool = False) -> Iterator[Callable[[RunProgress], None]]:
    """Gives a function that shows how far a run of many pieces is: a bar, and on a terminal a line a running piece."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        with progress_line(quiet=quiet) as tell:
            yield lambda told: tell(f"{told.finished} of {told.known} pieces, {', '.join(told.running)}")
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    bar = Progress(
        TextColumn("pieces"), BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn(),
        console=Console(stderr=True),
    )  # fmt: skip
    task = bar.add_task("pieces", total=None)
    since: dict[str, float] = {}
    with Live(bar, console=bar.console, refresh_per_second=2, transient=True) as live:

        def show(told: RunProgress) -> None:
            for name in told.running:
                since.setdefault(name, told.seconds)
            bar.update(task, completed=told.finished, total=told.known)
            lines = [Text(f"  {visible(name)}  {told.seconds - since[name]:.0f} s") for name in told.running]
            live.update(Group(bar, *lines))

        yield show
