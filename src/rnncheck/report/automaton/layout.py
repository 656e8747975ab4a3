"""Where the parts of a drawing go: positions that Graphviz found, as plain numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rnncheck.report.automaton.dot_text import layout_text
from rnncheck.report.automaton.drawing import Drawing
from rnncheck.report.automaton.graphviz import run_graphviz

Point: TypeAlias = tuple[float, float]


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
    return Layout(width, height, states, ordered, curves.get("start"))


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
