"""The Graphviz that pygraphviz's wheel brings along (extra ``draw``), in a child process with a time limit.

A layout cannot be interrupted from inside, and a crash in foreign code must not take the verification along.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from rnncheck.errors import MissingExtraError, ResourceLimitError

_CHILD = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


def available() -> bool:
    """Whether pictures can be laid out here."""
    return importlib.util.find_spec("pygraphviz") is not None


def run_graphviz(text: str, output_format: str, *, timeout: float, what: str) -> bytes:
    """What ``dot`` makes of a text; ``what`` names it in errors."""
    if not available():
        raise MissingExtraError("drawing", "draw")
    try:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, output_format],
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ResourceLimitError(
            f"drawing {what} took more than {timeout:g} s; minimise it, or write dot text and lay it out elsewhere"
        ) from None
    if child.returncode or not child.stdout:
        reason = (child.stderr.decode(errors="replace").strip().splitlines() or ["no output"])[-1]
        raise ResourceLimitError(f"Graphviz could not draw {what}: {reason}; write dot text and lay it out elsewhere")
    return child.stdout
