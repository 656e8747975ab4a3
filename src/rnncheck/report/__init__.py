"""Readable results: pictures, pages, and how values show themselves in notebooks.

Reading order: ``markup`` (text that cannot become markup), ``automaton/`` (what to draw, where to put it, pictures),
``contacts/`` (pictures of contact sequences), ``plots`` and ``charts/``, ``page/`` (the pages), ``notebook``.
"""

from rnncheck.report.automaton.automaton_drawing import Marks, marks_of
from rnncheck.report.automaton.pictures import draw

__all__ = ["Marks", "draw", "marks_of"]
