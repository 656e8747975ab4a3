"""One calm line of progress on stderr: on a terminal rewritten in place, elsewhere printed now and then."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rnncheck.cli.output import unfailing
from rnncheck.errors import visible

if TYPE_CHECKING:
    from rnncheck.experiments.runner import RunProgress
    from rnncheck.learning.learning_task import Progress as WorkProgress

_ON_TERMINAL = 0.1  # seconds between two updates
_ELSEWHERE = 10.0
_COLUMNS = 80  # of a terminal that does not say how wide it is


class ProgressLine:
    """Shows a text when it is called, not more often than it can be read; ``stay`` shows one that stays."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._terminal = not silent and sys.stderr.isatty()
        self._pause = _ON_TERMINAL if self._terminal else _ELSEWHERE
        self._last = time.monotonic() - (self._pause if self._terminal else 0.0)
        self._shown = 0  # columns

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if self._silent or now - self._last < self._pause:
            return
        self._last = now
        if not self._terminal:
            self._write(f"{visible(text)}\n")
            return
        columns = _columns()
        line, width = fitting(visible(text), columns - 1)  # a full line would wrap in some terminals
        self._write(self._clearing(columns) + line)
        self._shown = width

    def stay(self, text: str) -> None:
        """Show a text at once, on a line of its own."""
        self.clear()
        self._write(f"{visible(text)}\n")

    def clear(self) -> None:
        """Leave nothing behind on a terminal."""
        if self._terminal and self._shown:
            self._write(self._clearing(_columns()))
            self._shown = 0

    def _clearing(self, columns: int) -> str:
        """What clears the line, even after a narrower terminal has broken it into several.

        Line by line: what is cleared to the end of the screen at once, tmux may keep in its history.
        """
        return "\r\033[K" + "\033[A\033[K" * (max(0, self._shown - 1) // columns)

    def _write(self, text: str) -> None:
        if not self._silent:
            with unfailing(sys.stderr):
                sys.stderr.write(text)


def fitting(text: str, columns: int) -> tuple[str, int]:
    """The text, cut at its end to a number of columns, and its width; wide letters take two."""
    from rich.cells import cell_len, set_cell_size

    line = text
    if cell_len(text) > columns:
        line = f"{set_cell_size(text, max(0, columns - 1)).rstrip()}…"
    return line, cell_len(line)


def _columns() -> int:
    """How wide the terminal is now."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


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
    """Gives a function that shows how far a run of many pieces is: a bar, and on a terminal each running piece."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        with progress_line(quiet=quiet) as show_line:
            yield lambda now: show_line(f"{now.finished} of {now.known} pieces, {', '.join(now.running)}")
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

        def show(now: RunProgress) -> None:
            for name in now.running:
                since.setdefault(name, now.seconds)
            bar.update(task, completed=now.finished, total=now.known)
            lines = [Text(f"  {visible(name)}  {now.seconds - since[name]:.0f} s") for name in now.running]
            live.update(Group(bar, *lines))

        yield show


def _sample_text(progress: WorkProgress) -> str:
    """The words drawn, and how many one test needs: later rounds draw their own, so that all can be more than that."""
    if progress.words <= progress.words_needed:
        return f"{progress.words}/{progress.words_needed} words sampled"
    return f"{progress.words} words sampled ({progress.words_needed} for a test)"


def progress_text(progress: WorkProgress) -> str:
    """How far the work is, in one line."""
    parts = [f"{progress.method}  {progress.seconds:.0f} s"]
    if progress.states is not None:
        parts.append(f"round {progress.rounds}, {progress.states} states")
    if progress.boxes is not None:
        growing, boxes = progress.boxes
        parts.append(f"{growing} of {boxes} boxes open")
    if progress.method != "prove":
        parts.append(_sample_text(progress))
    if progress.exact_length is not None:
        parts.append(f"exact up to {progress.exact_length}")
    if progress.counterexample is not None:
        parts.append(f"violation of {len(progress.counterexample)} letters")
    parts.append(f"{progress.membership_queries} queries")
    if progress.remaining != float("inf"):
        parts.append(f"{progress.remaining:.0f} s left")
    return "  ".join(parts)
