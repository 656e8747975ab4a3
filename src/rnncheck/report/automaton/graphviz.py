"""The Graphviz that pygraphviz's wheel brings along (extra ``draw``), in a child process with a time limit.

A layout cannot be interrupted from inside, and a crash in foreign code must not take the verification along. Starting
the child takes far longer than a layout, so that pictures made within ``one_graphviz`` share one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import IO

from rnncheck.errors import MissingExtraError, ResourceLimitError

# A request is a line with the format and the length of the text, and the text; the reply is a length and the picture.
_CHILD = """
import sys, pygraphviz
while request := sys.stdin.buffer.readline():
    output_format, length = request.split()
    graph = pygraphviz.AGraph(string=sys.stdin.buffer.read(int(length)).decode())
    picture = graph.draw(format=output_format.decode(), prog="dot")
    graph.close()
    sys.stdout.buffer.write(b"%d\\n" % len(picture) + picture)
    sys.stdout.buffer.flush()
"""
_shared: ContextVar[_Graphviz | None] = ContextVar("shared", default=None)


def available() -> bool:
    """Whether pictures can be laid out here."""
    return importlib.util.find_spec("pygraphviz") is not None


def run_graphviz(text: str, output_format: str, *, timeout: float, what: str) -> bytes:
    """What ``dot`` makes of a text; ``what`` names it in errors."""
    if not available():
        raise MissingExtraError("drawing", "draw")
    with one_graphviz() as graphviz:
        return graphviz.draw(text, output_format, timeout, what)


@contextlib.contextmanager
def one_graphviz() -> Iterator[_Graphviz]:
    """Pictures made meanwhile share one child, started for the first of them; equal ones are made once."""
    shared = _shared.get()
    if shared is not None:
        yield shared
        return
    with tempfile.TemporaryFile() as errors:  # not a pipe, which warnings could fill while nobody reads it
        graphviz = _Graphviz(errors)
        token = _shared.set(graphviz)
        try:
            yield graphviz
        finally:
            _shared.reset(token)
            graphviz.stop()


class _Graphviz:
    """The child, started when it is needed and again after it has failed, and what it has made."""

    def __init__(self, errors: IO[bytes]) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._errors = errors
        self._made: dict[tuple[str, str], bytes] = {}

    def draw(self, text: str, output_format: str, timeout: float, what: str) -> bytes:
        key = (text, output_format)
        if key not in self._made:
            self._made[key] = self._new(text.encode("utf-8", "replace"), output_format, timeout, what)
        return self._made[key]

    def stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _new(self, text: bytes, output_format: str, timeout: float, what: str) -> bytes:
        child = self._child = self._child or self._started()
        overdue = threading.Event()

        def end() -> None:
            overdue.set()
            child.kill()

        timer = threading.Timer(timeout, end)
        timer.start()
        complete = False
        try:
            picture = _answer(child, b"%s %d\n%s" % (output_format.encode(), len(text), text))
            complete = True
            return picture
        except (OSError, ValueError):
            raise ResourceLimitError(
                f"drawing {what} took more than {timeout:g} s; minimise it, or write dot text and lay it out elsewhere"
                if overdue.is_set()
                else f"Graphviz could not draw {what}: {self._last_words()}; write dot text and lay it out elsewhere"
            ) from None
        finally:
            timer.cancel()
            if overdue.is_set() or not complete:  # else the rest of its reply would be read as the next one
                self.stop()

    def _started(self) -> subprocess.Popen[bytes]:
        self._errors.seek(0)
        self._errors.truncate()
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-c", _CHILD], stdin=pipe, stdout=pipe, stderr=self._errors)

    def _last_words(self) -> str:
        self._errors.seek(0)
        return (self._errors.read().decode(errors="replace").strip().splitlines() or ["no output"])[-1]


def _answer(child: subprocess.Popen[bytes], request: bytes) -> bytes:
    """The reply; an OSError or a ValueError where the child ended before it was complete."""
    requests, replies = child.stdin, child.stdout
    assert requests is not None
    assert replies is not None
    requests.write(request)
    requests.flush()
    length = int(replies.readline())
    picture = replies.read(length)
    if not length or len(picture) < length:
        raise ValueError("no whole picture")
    return picture
