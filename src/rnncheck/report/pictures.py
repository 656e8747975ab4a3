"""Pictures of automata, laid out by the Graphviz that pygraphviz's wheel brings along (extra ``draw``).

The layout runs in a child process with a time limit, because it cannot be interrupted from inside.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from rnncheck.automata.dfa import DFA
from rnncheck.automata.dot import write_dot
from rnncheck.errors import InputError, MissingExtraError, ResourceLimitError

FORMATS = ("svg", "png", "pdf")

# Above this many states dot's default search for a beautiful layout can take minutes; these settings cut it short
# at the price of straight edges.
_BEAUTIFUL_STATES = 30
_QUICK_LAYOUT = "splines=line; nslimit=1; nslimit1=1; mclimit=0.1;"

_CHILD = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


def draw(dfa: DFA, picture_format: str = "svg", *, timeout: float = 60.0) -> bytes:
    """The automaton as a picture: ``svg``, ``png`` or ``pdf``."""
    if picture_format not in FORMATS:
        raise InputError(f"unknown picture format {picture_format!r}; known are {', '.join(FORMATS)}")
    if importlib.util.find_spec("pygraphviz") is None:
        raise MissingExtraError("drawing", "draw")
    text = write_dot(dfa)
    if len(dfa) > _BEAUTIFUL_STATES:
        text = text.replace("{\n", "{\n  " + _QUICK_LAYOUT + "\n", 1)
    try:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, picture_format],
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ResourceLimitError(
            f"drawing an automaton of {len(dfa)} states took more than {timeout:g} s; "
            "minimise it, or write dot text and lay it out elsewhere"
        ) from None
    if child.returncode or not child.stdout:
        reason = (child.stderr.decode(errors="replace").strip().splitlines() or ["no output"])[-1]
        raise ResourceLimitError(f"Graphviz could not draw the automaton: {reason}")
    return child.stdout
