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


@contextlib.contextmanager
def progress_line(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives a function that shows a text, not more often than a person can read."""
    if quiet or sys.stderr is None:  # None: closed, as by `2>&-`
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
        with unfailing(sys.stderr):
            sys.stderr.write(f"\r\033[K{visible(text)}" if terminal else f"{visible(text)}\n")

    try:
        yield tell
    finally:
        if terminal and shown:
            with unfailing(sys.stderr):
                sys.stderr.write("\r\033[K")


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
