"""A contact sequence along time, as SVG text: a row for every two neighbours, and the way through their contacts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rnncheck.contacts.paths import ARROW, Reason
from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.report import palette
from rnncheck.report.contacts.shapes import (
    WIDTH,
    DrawnSequence,
    LegendEntry,
    PathStep,
    short_name,
    svg_document,
    svg_line,
    svg_text,
)
from rnncheck.report.markup import Markup, number, tag

_STROKE = "#777777"


@dataclass(frozen=True)
class _Axis:
    """Time from left to right, from ``first`` to ``last``."""

    first: float
    last: float
    left: float = 250.0
    right: float = WIDTH - 80.0

    @classmethod
    def around(cls, sequence: DrawnSequence) -> _Axis:
        """The times of the way and of a contact that comes too late, with some room; else all that the pairs have."""
        shown_times = [*sequence.times]
        broken = sequence.check.broken
        if broken is not None and broken.last_met is not None and broken.arrival is not None:
            shown_times += [broken.last_met, broken.arrival]
        if len(set(shown_times)) < 2:
            shown_times += [time for pair in sequence.pairs for time in sequence.network.times_of(*pair).tolist()]
        if not shown_times:
            shown_times = sequence.network.times[[0, -1]].tolist()
        room = max(1.0, 0.08 * (max(shown_times) - min(shown_times)))
        return cls(min(shown_times) - room, max(shown_times) + room)

    def at(self, time: float) -> float:
        return self.left + (self.right - self.left) * (time - self.first) / (self.last - self.first)

    def ticks(self) -> list[int]:
        """Up to eight round whole numbers."""
        rough = max(1.0, (self.last - self.first) / 8)
        power = 10 ** math.floor(math.log10(rough))
        step = int(next(factor for factor in (1, 2, 5, 10) if factor * power >= rough) * power)
        return list(range(math.ceil(max(self.first, 0) / step) * step, math.floor(self.last) + 1, step))


def timeline_svg(network: TemporalNetwork, word: Iterable[str], *, strict: bool = False) -> str:
    """The contacts of every two neighbours of the sequence along time, a row for each, and the way through them."""
    sequence = DrawnSequence.of(network, word, strict=strict)
    axis = _Axis.around(sequence)
    top, height = 100, 34
    bottom = top + height * max(len(sequence.pairs), 1)
    body = []
    for tick in axis.ticks():
        body.append(svg_line(axis.at(tick), top - 6, axis.at(tick), bottom, "#e2e2e2", 1))
        body.append(svg_text(axis.at(tick), bottom + 17, str(tick), text_anchor="middle", size=11, fill=palette.SOFT))
    middle = (axis.left + axis.right) / 2
    body.append(
        svg_text(middle, bottom + 36, "time, as labelled in the data", text_anchor="middle", size=11, fill=palette.SOFT)
    )
    rows = [top + height * (position + 0.5) for position in range(len(sequence.pairs))]
    for pair, step, y in zip(sequence.pairs, sequence.steps(), rows, strict=True):
        body.append(svg_text(axis.left - 70, y + 4, ARROW.join(map(short_name, pair)), text_anchor="end", size=13))
        body += _strokes(network.times_of(*pair).tolist(), y, axis, step)
    body += _way([(axis.at(time), y) for time, y in zip(sequence.times, rows, strict=False)])
    broken = sequence.check.broken
    if broken is not None and broken.reason is Reason.ONLY_BEFORE and broken.arrival is not None:
        x = axis.at(broken.arrival)
        body.append(svg_line(x, top - 6, x, bottom, PathStep.ONLY_BEFORE.colour, 1.6, PathStep.ONLY_BEFORE.dashes))
        label = f"here the path reaches {short_name(broken.first)}"
        body.append(svg_text(x, top - 12, label, text_anchor="end" if x > middle else "start", size=11))
    legend: list[LegendEntry] = []
    if any(len(network.times_of(*pair)) for pair in sequence.pairs):
        legend.append((_STROKE, None, "contact of the two"))
    if sequence.times:
        legend.append((PathStep.TIMED.colour, None, "contact taken: the earliest possible"))
    if PathStep.ONLY_BEFORE in sequence.steps():
        legend.append((PathStep.ONLY_BEFORE.colour, None, "contact that was too early"))
    foot = "numbers at the sides: further contacts of the two, before and after the time shown"
    return svg_document(bottom + 110, sequence, body, legend, foot)


def _strokes(times: Sequence[int], y: float, axis: _Axis, step: PathStep) -> list[Markup]:
    """The contacts of one pair; those that fall on one spot are one stroke."""
    if not times:
        return [svg_text((axis.left + axis.right) / 2, y + 4, "never met", text_anchor="middle", fill=step.colour)]
    colour = step.colour if step is PathStep.ONLY_BEFORE else _STROKE
    spots = sorted({round(axis.at(time)) for time in times if axis.first <= time <= axis.last})
    parts = [svg_line(x, y - 9, x, y + 9, colour, 1.6) for x in spots]
    for count, x, anchor, text in (
        (sum(time < axis.first for time in times), axis.left - 8, "end", "‹ {}"),
        (sum(time > axis.last for time in times), axis.right + 8, "start", "{} ›"),
    ):
        if count:
            parts.append(svg_text(x, y + 4, text.format(count), text_anchor=anchor, size=11, fill=palette.SOFT))
    return parts


def _way(points: Sequence[tuple[float, float]]) -> list[Markup]:
    """The contacts taken, joined in the order in which they are."""
    colour = PathStep.TIMED.colour
    line = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    joined = tag("polyline", points=line, fill="none", stroke=colour, stroke_width=2.4)
    return [joined, *(tag("circle", cx=x, cy=y, r=5, fill=colour) for x, y in points)]
