"""Drawings as SVG: readable on its own, and coloured by the page's style sheet inside a page.

Every part has its light colours as attributes, which a style sheet overrides by class.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from rnncheck.report import palette
from rnncheck.report.automaton.automaton_drawing import Drawing, Edge, Node
from rnncheck.report.automaton.dot_text import FONT_SIZE, NOTE_WIDTH, diameter
from rnncheck.report.automaton.layout import Curve, Layout, Point
from rnncheck.report.markup import Attribute, Markup, escape, join, listed, number, shortened, tag
from rnncheck.words import letter_text

MARGIN = 8.0
_MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_ARROW = 10.0
_NOTE_SIZE = 10
_NOTE_LINE = 14.0
_TITLE_LETTERS = 40
_LISTED_LETTERS = 100  # an edge of more is the one for all letters that no other edge lists
_TITLE_WIDTH = 600


def automaton_svg(drawing: Drawing, layout: Layout, *, key: str = "", title: str = "", flow: int = 0) -> Markup:
    """The drawing as one ``svg`` element, for a page that shows the notes itself.

    ``key`` begins the ids of its parts; ``flow`` is the one coloured first.
    """
    return _svg(drawing, layout, [], key, title, flow)


def picture_svg(drawing: Drawing, layout: Layout, title: str = "") -> Markup:
    """The drawing as a picture by itself, with notes about what is not drawn under it."""
    lines = [line for note in drawing.notes for line in textwrap.wrap(note, NOTE_WIDTH)]
    return _svg(drawing, layout, lines, "", title, 0)


def _svg(drawing: Drawing, layout: Layout, notes: Sequence[str], key: str, title: str, flow: int) -> Markup:
    widest = max((len(line) for line in notes), default=0) * _NOTE_SIZE * 0.62
    width = max(layout.width, widest) + 2 * MARGIN
    height = layout.height + 2 * MARGIN + len(notes) * _NOTE_LINE
    # What comes later lies above: lines run under the letters of loops, and grey edges under coloured ones.
    both = sorted(zip(drawing.edges, layout.edges, strict=True), key=lambda pair: _height(pair[0]))
    edges = [_edge(drawing, edge, curve, flow) for edge, curve in both]
    rejecting = [] if drawing.labelled else ["rejecting"]
    nodes = [_node(node, layout.states[node.state], key, flow, rejecting) for node in drawing.nodes]
    return tag(
        "svg",
        tag("title", title) if title else None,
        tag("rect", class_="backdrop", x=-MARGIN, y=-MARGIN, width=width, height=height, fill=palette.PAPER),
        None if layout.start is None else _start(layout.start),
        join(edges),
        join(nodes),
        *(
            tag(
                "text",
                line,
                class_="note",
                x=0.0,
                y=layout.height + (n + 1) * _NOTE_LINE,
                fill=palette.SOFT,
                font_size=_NOTE_SIZE,
            )
            for n, line in enumerate(notes)
        ),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"{number(-MARGIN)} {number(-MARGIN)} {number(width)} {number(height)}",
        width=width,
        height=height,
        class_="automaton",
        role="img",
        font_family=_MONOSPACE,
        font_size=FONT_SIZE,
    )


def _height(edge: Edge) -> tuple[bool, bool]:
    """What lies above what: loops, which have their letters beside them, and then coloured edges."""
    return edge.source == edge.target, bool(edge.on_path or edge.flows)


def _node(node: Node, at: Point, key: str, flow: int, rejecting: Sequence[str]) -> Markup:
    x, y = at
    radius = diameter(node) / 2
    looped = flow in node.flows
    stroke = palette.LOOP if looped else palette.PATH if node.on_path else palette.INK
    fill = palette.LOOP_STATE if looped else palette.PATH_STATE if node.on_path else palette.STATE
    classes = ["state", "on-path" if node.on_path else "", "in-loop" if looped else "", "end" if node.is_end else ""]
    marks = [name for name, holds in (("initial", node.initial), ("accepting", node.accepting)) if holds]
    rings = [_ring("disc", at, radius, fill, stroke)]
    if node.accepting:
        rings.append(_ring("ring", at, radius - 3.5, "none", stroke))
    return tag(
        "g",
        tag(
            "title",
            ", ".join([f"state {shortened(node.name, 80)}", *(marks if node.accepting else [*marks, *rejecting])]),
        ),
        *rings,
        _text(node.label, (x, y), "name"),
        _text(f"+{node.left_out}", (x, y + radius + 8), "left-out", palette.SOFT, rim=True) if node.left_out else None,
        class_=" ".join(filter(None, classes)),
        id=f"{key}-state-{node.state}" if key else None,
        data_state=node.state,
        data_flows=" ".join(map(str, node.flows)) or None,
    )


def _ring(class_: str, at: Point, radius: float, fill: str, stroke: str) -> Markup:
    place: dict[str, Attribute] = {"cx": at[0], "cy": at[1], "rx": radius, "ry": radius}
    return tag("ellipse", class_=class_, fill=fill, stroke=stroke, stroke_width=1.5, **place)


def _edge(drawing: Drawing, edge: Edge, curve: Curve, flow: int) -> Markup:
    looped = flow in edge.flows
    stroke = palette.LOOP if looped else palette.PATH if edge.on_path else palette.LINE
    classes = ["edge", "on-path" if edge.on_path else "", "in-loop" if looped else ""]
    line: dict[str, Attribute] = {"d": _spline(curve), "fill": "none"}
    width = 2.5 if looped or edge.on_path else 1.2
    under = None
    if edge.on_path and edge.flows:  # the path shows through the gaps of the loop's dashes
        under = tag("path", class_="under", stroke=palette.PATH, stroke_width=width, **line)
    dashes = "7 4" if looped else None
    names = [letter_text(drawing.dfa.alphabet[code]) for code in edge.letters[:_TITLE_LETTERS]]
    more = f" and {len(edge.letters) - len(names)} more" if len(edge.letters) > len(names) else ""
    title = f"{drawing.dfa.name(edge.source)} → {drawing.dfa.name(edge.target)}: {', '.join(names)}"
    return tag(
        "g",
        tag("title", shortened(title, _TITLE_WIDTH) + more),
        under,
        tag("path", class_="line", stroke=stroke, stroke_width=width, stroke_dasharray=dashes, **line),
        tag("path", class_="tip", d=_arrow(curve), fill=stroke, stroke="none"),
        None
        if curve.label is None
        else _text(edge.label, curve.label, "letters", _label_colour(edge, looped), rim=True),
        class_=" ".join(filter(None, classes)),
        data_from=edge.source,
        data_to=edge.target,
        data_letters=" ".join(map(str, edge.letters)) if len(edge.letters) <= _LISTED_LETTERS else None,
        data_flows=" ".join(map(str, edge.flows)) or None,
    )


def _label_colour(edge: Edge, looped: bool) -> str:
    return palette.LOOP if looped else palette.PATH if edge.on_path else palette.INK


def _start(curve: Curve) -> Markup:
    return tag(
        "g",
        tag("path", class_="line", d=_spline(curve), fill="none", stroke=palette.INK, stroke_width=1.5),
        tag("path", class_="tip", d=_arrow(curve), fill=palette.INK),
        class_="start",
    )


def _text(text: str, at: Point, class_: str, fill: str = palette.INK, *, rim: bool = False) -> Markup:
    """Centred text; a rim of background keeps lines from running through it.

    It reads from left to right whatever its letters are: they are a list.
    """
    shown = Markup(listed(escape(text), "&#8206;"))
    around: dict[str, Attribute] = {"stroke": palette.PAPER, "stroke_width": 3, "paint_order": "stroke"} if rim else {}
    place: dict[str, Attribute] = {"x": at[0], "y": at[1], "dy": "0.35em", "text_anchor": "middle"}
    return tag("text", shown, class_=class_, fill=fill, direction="ltr", **place, **around)


def _spline(curve: Curve) -> str:
    first, *rest = [f"{number(x)},{number(y)}" for x, y in curve.points]
    return f"M{first}C{' '.join(rest)}"


def _arrow(curve: Curve) -> str:
    """A triangle from the end of the spline to the tip."""
    (x, y), (tip_x, tip_y) = curve.points[-1], curve.tip
    length = math.hypot(tip_x - x, tip_y - y) or 1.0
    ahead_x, ahead_y = (tip_x - x) / length, (tip_y - y) / length
    back = (tip_x - _ARROW * ahead_x, tip_y - _ARROW * ahead_y)
    half = _ARROW * 0.36
    corners = [
        (tip_x, tip_y),
        (back[0] - half * ahead_y, back[1] + half * ahead_x),
        (back[0] + half * ahead_y, back[1] - half * ahead_x),
    ]
    return "M" + "L".join(f"{number(px)},{number(py)}" for px, py in corners) + "Z"
