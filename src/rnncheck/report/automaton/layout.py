"""Where the parts of a drawing go: positions that Graphviz found, as plain numbers."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rnncheck.report.automaton.automaton_drawing import Drawing
from rnncheck.report.automaton.dot_text import LABEL_HEIGHT, diameter, label_width, layout_text
from rnncheck.report.automaton.graphviz import run_graphviz

Point: TypeAlias = tuple[float, float]

_LOOP_HEIGHT, _LOOP_STEP = 20.0, 30.0  # of the first loop of a state, and how much higher each around it is
_LOOP_HANDLE = 26.0
_ARROW_LENGTH = 10.0


@dataclass(frozen=True)
class Curve:
    """An edge: the points of a Bézier spline, the tip of its arrow, and the middle of its label."""

    points: tuple[Point, ...]
    tip: Point
    label: Point | None


@dataclass(frozen=True)
class Layout:
    """Positions in points, y downwards: of states by number, of edges in the drawing's order, and the start arrow."""

    width: float
    height: float
    states: Mapping[int, Point]
    edges: tuple[Curve, ...]
    start: Curve | None


def lay_out(drawing: Drawing, *, timeout: float = 60.0) -> Layout:
    """Let Graphviz place the parts of a drawing."""
    what = f"an automaton of {len(drawing.nodes)} states"
    found = json.loads(run_graphviz(layout_text(drawing), "json0", timeout=timeout, what=what))
    _, _, width, height = map(float, found["bb"].split(","))
    states = {
        int(node["name"][1:]): _point(node["pos"], height) for node in found["objects"] if node["name"] != "start"
    }
    curves = {edge["id"]: _curve(edge, height) for edge in found["edges"]}
    ordered = tuple(curves[f"e{position}"] for position in range(len(drawing.edges)))
    return _with_loops_apart(drawing, Layout(width, height, states, ordered, curves.get("start")))


def _with_loops_apart(drawing: Drawing, layout: Layout) -> Layout:
    """Loops of one state on the same side, each around the one before and its label, through which Graphviz draws."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for position, edge in enumerate(drawing.edges):
        if edge.source == edge.target:
            above = layout.edges[position].tip[1] < layout.states[edge.source][1]
            groups.setdefault((edge.source, above), []).append(position)
    radius = {node.state: diameter(node) / 2 for node in drawing.nodes}
    curves = list(layout.edges)
    for (state, above), positions in groups.items():
        if len(positions) > 1:
            positions = sorted(positions, key=lambda place: label_width(drawing.edges[place].label))
            labels = [label_width(drawing.edges[position].label) for position in positions]
            nested = _nested_loops(layout.states[state], radius[state], labels, -1.0 if above else 1.0)
            for position, curve in zip(positions, nested, strict=True):
                curves[position] = curve
    return _with_room(dataclasses.replace(layout, edges=tuple(curves)))


def _nested_loops(centre: Point, radius: float, labels: Sequence[float], outwards: float) -> list[Curve]:
    """Loops around one another; a cubic curve is as high as 3/4 of its handles, and as wide as 0.288 of them."""
    x, y = centre
    found, inner = [], 0.0
    for place, width in enumerate(labels):
        foot = 5.0 + 3.0 * place
        begin = y + outwards * math.sqrt(radius**2 - foot**2)
        high = (_LOOP_HEIGHT + place * _LOOP_STEP) * 4 / 3
        wide = max(_LOOP_HANDLE, (inner / 2 + 8.0) / 0.288)
        handles = ((x - wide, begin + outwards * high), (x + wide, begin + outwards * high))
        end = (x + foot + 2.0, begin + outwards * _ARROW_LENGTH)
        label = (x, begin + outwards * (_LOOP_HEIGHT + place * _LOOP_STEP + LABEL_HEIGHT / 2))
        found.append(Curve(((x - foot, begin), *handles, end), (x + foot, begin), label))
        inner = max(inner, width)
    return found


def _with_room(layout: Layout) -> Layout:
    """The same with everything inside: what stands out above or on the left moves all of it."""
    seen = [point for curve in layout.edges for point in _outline(curve)]
    if not seen:
        return layout
    right, down = (max(0.0, -min(point[axis] for point in seen)) for axis in (0, 1))
    width, height = (max(size, max(point[axis] for point in seen)) for axis, size in enumerate(_size(layout)))

    def moved(point: Point) -> Point:
        return point[0] + right, point[1] + down

    def shifted(curve: Curve) -> Curve:
        label = None if curve.label is None else moved(curve.label)
        return Curve(tuple(map(moved, curve.points)), moved(curve.tip), label)

    states = {state: moved(at) for state, at in layout.states.items()}
    start = None if layout.start is None else shifted(layout.start)
    return Layout(width + right, height + down, states, tuple(map(shifted, layout.edges)), start)


def _size(layout: Layout) -> tuple[float, float]:
    return layout.width, layout.height


def _outline(curve: Curve) -> Iterator[Point]:
    """Points beyond which nothing of a curve and its label stands, its ends and middles taken for those of a loop."""
    yield from curve.points[::3]
    if len(curve.points) == 4:
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve.points
        for t in (0.21, 0.5, 0.79):
            shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            yield (
                sum(share * x for share, x in zip(shares, (x0, x1, x2, x3), strict=True)),
                sum(share * y for share, y in zip(shares, (y0, y1, y2, y3), strict=True)),
            )
    if curve.label is not None:
        yield curve.label[0], curve.label[1] - LABEL_HEIGHT / 2
        yield curve.label[0], curve.label[1] + LABEL_HEIGHT / 2


def _curve(edge: Mapping[str, Any], height: float) -> Curve:
    """Read ``e,x,y x,y x,y …``: the arrow's tip, and the spline."""
    parts = edge["pos"].split()
    tips = [part[2:] for part in parts if part.startswith("e,")]
    points = tuple(_point(part, height) for part in parts if part[0] not in "es")
    label = _point(edge["lp"], height) if "lp" in edge else None
    return Curve(points, _point(tips[0], height) if tips else points[-1], label)


def _point(text: str, height: float) -> Point:
    x, y = map(float, text.split(",")[:2])
    return x, height - y
