"""Output on the terminal: every line is written here, so that no name in it moves the cursor, and no lost line costs
an answer.

A reader may be closed (`| head -1`), a disk may be full, a terminal may lack a character. The exit code of a verdict
stays the same.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

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
    lead = click.style(_escape(shown.lead), fg=shown.colour, bold=shown.bold) if shown.lead else ""
    with unfailing(sys.stderr if err else sys.stdout):
        click.echo(lead + _escape(shown.text), err=err)


def say_lines(text: str) -> None:
    """Show a text of several lines."""
    for line in text.removesuffix("\n").split("\n"):
        say(line)


def say_document(text: str) -> None:
    """Give a text that is made for programs: in UTF-8 and as it is, but readable where stdout is a terminal."""
    if sys.stdout is not None and sys.stdout.isatty():
        say_lines(text)
        return
    binary = hasattr(sys.stdout, "buffer")  # and not a text in memory
    with unfailing(sys.stdout):
        click.echo(text.encode() if binary else text, nl=False)


def _escape(text: str) -> str:
    return "\t".join(map(visible, text.split("\t")))


_losses: dict[int, OSError] = {}  # why a stream, by its number, lost something


@contextmanager
def unfailing(stream: TextIO | None) -> Iterator[None]:
    """Let a standard stream take what is written to it meanwhile: from its first failure on, everything is dropped."""
    try:
        yield
        if stream is not None:
            stream.flush()
    except OSError as error:
        if stream is None:
            raise
        _losses.setdefault(stream.fileno(), error)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # where Python, too, may flush what is left when it ends
        os.close(nowhere)


@contextmanager
def lasting_output() -> Iterator[Callable[[], str | None]]:
    """Let a terminal that lacks a character show its number. Gives a function that returns why some of stdout was lost.

    A closed reader (`| head -1`) needs no more, so that is not a loss.
    """
    _losses.clear()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def lost() -> str | None:
        with unfailing(sys.stdout):
            pass
        failure = _losses.get(1)
        return None if failure is None or failure.errno == errno.EPIPE else failure.strerror or str(failure)

    try:
        yield lost
    finally:
        for stream in (sys.stdout, sys.stderr):
            with unfailing(stream):
                pass
