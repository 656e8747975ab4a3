"""Pictures of a contact sequence, as SVG text: on the graph of who met whom (here), and along time.

Only the people of the sequence and some whom they met are drawn, so that a network of hundreds stays readable.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.report import palette
from rnncheck.report.contacts.shapes import (
    MOST_STEPS,
    WIDTH,
    DrawnSequence,
    PathStep,
    short_name,
    svg_document,
    svg_line,
    svg_text,
)
from rnncheck.report.contacts.timeline import timeline_svg
from rnncheck.report.markup import Markup, number, tag

__all__ = ["contact_graph_svg", "timeline_svg"]

Place: TypeAlias = tuple[float, float]

_MOST_PEOPLE = 20
_FEWEST_OTHERS = 8
_RADIUS = 18
_MIDDLE = 300.0
_GREY = "#c4c4c4"


def contact_graph_svg(network: TemporalNetwork, word: Iterable[str], *, strict: bool = False) -> str:
    """The sequence on the graph of contacts, with some of the people whom its people met."""
    sequence = DrawnSequence.of(network, word, strict=strict)
    on_path = list(dict.fromkeys(sequence.people))
    others = _acquaintances(network, on_path)
    places = _places(network, on_path, others)
    body = _contact_lines(network, on_path, others, places)
    arrows = _arrows(sequence, places)
    body += [arrow.line for arrow in arrows]
    body += [_node(network, person, places[person], person in on_path) for person in (*others, *on_path)]
    body += [arrow.label for arrow in arrows]
    absent = len(network.people) - len(places)
    foot = f"grey: people who met, the thicker the more often; {absent} of {len(network.people)} people are not drawn"
    legend = [(step.colour, step.dashes, step.value) for step in PathStep if step in sequence.steps()]
    return svg_document(580, sequence, body, legend, foot)


def _acquaintances(network: TemporalNetwork, on_path: Sequence[str]) -> list[str]:
    """The people who met most of those on the path; more contacts decide between equals."""
    codes = list(network.people.encode(on_path))
    known = network.met[codes].sum(axis=0)
    with_path = np.isin(network.index.start, codes)
    weight = np.bincount(network.index.end[with_path], minlength=len(network.people))
    known[codes] = 0
    order = np.lexsort((-weight, -known))[: max(_FEWEST_OTHERS, _MOST_PEOPLE - len(on_path))]
    return [network.people[code] for code in order.tolist() if known[code]]


def _places(network: TemporalNetwork, on_path: Sequence[str], others: Sequence[str]) -> dict[str, Place]:
    """The path in the middle from left to right, the others above and below, near those whom they met."""
    places: dict[str, Place] = {}
    for k, person in enumerate(on_path):
        zigzag = 40 * (-1) ** k if len(on_path) > 2 else 0
        places[person] = (WIDTH * (k + 0.5) / len(on_path), _MIDDLE + zigzag)
    columns = list(network.people.encode(on_path))

    def mean(person: str) -> float:
        met = network.met[network.people.index(person), columns]
        return float(np.mean([places[other][0] for other, yes in zip(on_path, met, strict=True) if yes]))

    ordered = sorted(others, key=mean)
    for row, y in ((ordered[::2], 120.0), (ordered[1::2], 470.0)):
        for k, person in enumerate(row):
            places[person] = (WIDTH * (k + 0.5) / len(row), y)
    return places


def _contact_lines(
    network: TemporalNetwork, on_path: Sequence[str], others: Sequence[str], places: dict[str, Place]
) -> list[Markup]:
    lines = []
    for person, other in (*itertools.combinations(on_path, 2), *itertools.product(on_path, others)):
        often = len(network.times_of(person, other))
        if often:
            lines.append(svg_line(*places[person], *places[other], _GREY, 0.8 + 0.7 * math.log10(often)))
    return lines


@dataclass(frozen=True)
class _Arrow:
    line: Markup
    label: Markup


def _arrows(sequence: DrawnSequence, places: dict[str, Place]) -> list[_Arrow]:
    """One for each step, with its time or a cross."""
    texts = [*map(str, sequence.times), *itertools.repeat("✗", len(sequence.pairs) - len(sequence.times))]
    walked: dict[frozenset[str], int] = {}
    arrows = []
    for pair, step, text in zip(sequence.pairs, sequence.steps(), texts, strict=True):
        before = walked.setdefault(frozenset(pair), 0)
        walked[frozenset(pair)] += 1
        label = "" if step is PathStep.AFTER_BREAK else text
        arrows.append(_arrow(places[pair[0]], places[pair[1]], step, label, before))
    return arrows


def _arrow(start: Place, end: Place, step: PathStep, label: str, before: int) -> _Arrow:
    """A bent arrow, the more so the farther it goes and the more went there before, so that none hides another."""
    if start == end:
        x, y = start
        points = [(x - 10, y - 16), (x - 48, y - 80), (x + 48, y - 80), (x + 11, y - 19)]
        top = (x, y - 66)
        curve = "C"
    else:
        dx, dy = end[0] - start[0], end[1] - start[1]
        far = math.hypot(dx, dy)
        bend = _bend(start, end, before)
        middle = ((start[0] + end[0]) / 2 + bend * dy / far, (start[1] + end[1]) / 2 - bend * dx / far)
        points = [_towards(start, middle, _RADIUS + 1), middle, _towards(end, middle, _RADIUS + 4)]
        top = ((points[0][0] + 2 * middle[0] + points[2][0]) / 4, (points[0][1] + 2 * middle[1] + points[2][1]) / 4)
        curve = "Q"
    first, *rest = (f"{number(x)} {number(y)}" for x, y in points)
    line = tag(
        "path",
        d=f"M{first}{curve}{' '.join(rest)}",
        fill="none",
        stroke=step.colour,
        stroke_width=3.2,
        stroke_dasharray=step.dashes,
        marker_end=f"url(#{step.name})",
    )
    size, lower = (20, 7) if label == "✗" else (12, 4)
    text = svg_text(
        top[0],
        top[1] + lower,
        label,
        size=size,
        fill=step.colour,
        halo=True,
        text_anchor="middle",
        font_weight="bold",
    )
    return _Arrow(line, text)


def _bend(start: Place, end: Place, before: int) -> float:
    """How far the arrow leaves the straight line, to the left; to the right where it is negative."""
    far = math.hypot(end[0] - start[0], end[1] - start[1])
    long_way = far > 1.5 * WIDTH / MOST_STEPS
    bend = min(30.0 + 40.0 * before + (0.35 * far if long_way else 0.0), 190.0)
    # People of the path stand in two rows: an arrow along one of them keeps clear of the other.
    goes_right, upper = end[0] > start[0], start[1] < _MIDDLE
    return -bend if long_way and start[1] == end[1] != _MIDDLE and goes_right != upper else bend


def _towards(point: Place, other: Place, distance: float) -> Place:
    dx, dy = other[0] - point[0], other[1] - point[1]
    far = math.hypot(dx, dy)
    return point[0] + distance * dx / far, point[1] + distance * dy / far


def _node(network: TemporalNetwork, person: str, place: Place, on_path: bool) -> Markup:
    x, y = place
    name = short_name(person)
    inside = len(name) <= 4
    radius, fill, rim, size = (
        (_RADIUS, "#fff3c4", palette.INK, 12) if on_path else (15, palette.PAPER, palette.LINE, 10)
    )
    below = y + radius + 13
    group = network.groups.get(person)
    under = below if inside else below + 12
    return tag(
        "g",
        tag("title", person),
        tag("circle", cx=x, cy=y, r=radius, fill=fill, stroke=rim, stroke_width=1.5),
        svg_text(x, y + 4 if inside else below, name, text_anchor="middle", size=size, halo=not inside),
        svg_text(x, under, short_name(group), text_anchor="middle", size=10, fill=palette.SOFT, halo=True)
        if group
        else None,
    )
