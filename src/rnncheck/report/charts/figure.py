"""One way to draw with matplotlib: the same style everywhere, and the same file for the same data."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from rnncheck.errors import InputError, MissingExtraError

FORMS = ("svg", "png")
# Okabe and Ito's palette, each colour with a marker of its own: colour is never the only difference.
LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"))


def chart(draw: Callable[[Any], None], form: str) -> bytes:
    """The content of a file of that form; ``draw`` gets an empty matplotlib figure."""
    if form not in FORMS:
        raise InputError(f"a plot is written as .png or .svg, not {form!r}; name the file so")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a plot", "plot") from None
    style = {"svg.hashsalt": "rnncheck", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    content = io.BytesIO()
    with mpl.rc_context(style):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        draw(figure)
        # Without a date the same data give the same file.
        figure.savefig(content, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return content.getvalue()
