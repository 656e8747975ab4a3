"""Pictures of automata as files: SVG, PNG and PDF (extra ``draw``), and dot text."""

from __future__ import annotations

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, MissingExtraError
from rnncheck.report.automaton.automaton_drawing import Marks, drawing_of
from rnncheck.report.automaton.dot_text import automaton_text, picture_text
from rnncheck.report.automaton.graphviz import available, run_graphviz
from rnncheck.report.automaton.layout import lay_out
from rnncheck.report.automaton.svg import picture_svg

_PNG_DOTS_PER_INCH = 144  # sharp on today's screens
FORMATS = ("svg", "png", "pdf", "dot")


def draw(
    dfa: DFA,
    picture_format: str = "svg",
    *,
    marks: Marks | None = None,
    title: str = "",
    timeout: float = 60.0,
    labelled: bool = False,
) -> bytes:
    """The automaton as a picture: ``svg``, ``png``, ``pdf`` or ``dot``.

    Transitions in ``marks`` are coloured. A large automaton is drawn in part, except as dot text, which is always
    whole and can be read again. ``labelled``: the states are those of a Moore machine, named after their outputs.
    """
    if picture_format not in FORMATS:
        raise InputError(f"unknown picture format {picture_format!r}; known are {', '.join(FORMATS)}")
    if picture_format == "dot":
        everything = len(dfa) * len(dfa.alphabet)
        whole = drawing_of(dfa, marks, most_states=len(dfa), most_edges=everything, leave_out_trap=False)
        return automaton_text(whole).encode("utf-8", "backslashreplace")
    if not available():
        raise MissingExtraError("drawing", "draw")
    drawing = drawing_of(dfa, marks, labelled=labelled)
    if picture_format == "svg":
        return picture_svg(drawing, lay_out(drawing, timeout=timeout), title).encode("utf-8")
    what = f"an automaton of {len(drawing.nodes)} states"
    dots = _PNG_DOTS_PER_INCH if picture_format == "png" else 72
    return run_graphviz(picture_text(drawing, dots_per_inch=dots), picture_format, timeout=timeout, what=what)
