"""The way to the terminal: every line is shown here, so that no name in it moves the cursor, and a lost one costs no
answer.

A reader may have gone (`| head -1`), a disk may be full, a terminal may lack a character. The exit code of a verdict is
the verdict's all the same.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TextIO

import click

from rnncheck.errors import visible


class Line(NamedTuple):
    """A line whose first words may be coloured."""

    text: str = ""
    lead: str = ""
    colour: str | None = None
    bold: bool = False


def say(line: str | Line, *, err: bool = False) -> None:
    """Show one line on stdout, or on stderr, with everything that does not print escaped, except tabs."""
    shown = Line(line) if isinstance(line, str) else line
    lead = click.style(_escaped(shown.lead), fg=shown.colour, bold=shown.bold) if shown.lead else ""
    click.echo(lead + _escaped(shown.text), err=err)


def say_lines(text: str) -> None:
    """Show a text of several lines."""
    for line in text.removesuffix("\n").split("\n"):
        say(line)


def say_document(text: str) -> None:
    """Give a text that is made for programs: in UTF-8 and as it is, but readable where stdout is a terminal."""
    if sys.stdout.isatty():
        say_lines(text)
    else:
        click.echo(text.encode(), nl=False)


def _escaped(text: str) -> str:
    return "\t".join(map(visible, text.split("\t")))


@contextmanager
def lasting_output() -> Iterator[Callable[[], str | None]]:
    """Let stdout and stderr take everything meanwhile. Gives a function that says why some of stdout was lost.

    A reader who has gone wanted no more, so that is no loss.
    """
    before = sys.stdout, sys.stderr
    stdout, sys.stderr = _Lasting(sys.stdout), _Lasting(sys.stderr).text
    sys.stdout = stdout.text

    def lost() -> str | None:
        sys.stdout.flush()
        failure = stdout.failure
        return None if failure is None or failure.errno == errno.EPIPE else failure.strerror or str(failure)

    try:
        yield lost
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


class _Lasting(io.RawIOBase):
    """A standard stream that never fails: what it no longer takes is dropped, and the first failure remembered."""

    def __init__(self, stream: TextIO | None) -> None:
        self.failure: OSError | None = None
        self._kept = stream or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - None: closed, as by `>&-`
        self.text: Any = self._kept
        buffer = getattr(self._kept, "buffer", None)
        self._raw: Any = getattr(buffer, "raw", buffer)
        if isinstance(self._raw, io.RawIOBase):  # and not what a test, or a notebook, put in its place
            by_line = bool(getattr(stream, "line_buffering", False))
            self.text = io.TextIOWrapper(
                io.BufferedWriter(self), self._kept.encoding, "backslashreplace", line_buffering=by_line
            )

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def write(self, data: Any) -> int:
        if self.failure is None:
            try:
                written = self._raw.write(data)
            except OSError as error:
                self.failure = error
            else:
                if written is not None:
                    return int(written)
                self.failure = BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return len(data)
