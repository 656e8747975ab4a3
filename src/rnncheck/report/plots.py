"""Small plots: a score as a loop is pumped, and a quantity over the rounds of learning."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rnncheck.report import palette
from rnncheck.report.markup import Attribute, Markup, join, number, tag

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
_MOST_POINTS = 400


@dataclass(frozen=True)
class Frame:
    """Where numbers are on the paper: the area inside the axes, and the ranges it shows."""

    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    left: float = 46.0
    right: float = 12.0
    top: float = 12.0
    bottom: float = 36.0

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (self.width - self.left - self.right) * (value - low) / ((high - low) or 1.0)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.height - self.bottom - (self.height - self.top - self.bottom) * (value - low) / ((high - low) or 1)

    def axes(self, x_label: str, y_label: str, y_text: Callable[[float], str]) -> Markup:
        parts = []
        for value in ticks(*self.y_range):
            y = self.y(value)
            parts.append(_line(self.left, y, self.width - self.right, y, "grid", "#d0d7de", 0.75))
            parts.append(_label(y_text(value), self.left - 6, y, "end", dy="0.32em"))
        for value in ticks(*self.x_range, whole=True):
            x, y = self.x(value), self.height - self.bottom
            parts.append(_line(x, y, x, y + 4, "axis", palette.SOFT, 1))
            parts.append(_label(f"{value:,.0f}", x, y + 16, "middle"))
        parts.append(_line(self.left, self.height - self.bottom, self.width - self.right, self.height - self.bottom,
                           "axis", palette.SOFT, 1))  # fmt: skip
        parts.append(_label(x_label, (self.left + self.width - self.right) / 2, self.height - 4, "middle"))
        middle = (self.top + self.height - self.bottom) / 2
        turned = f"rotate(-90 11 {number(middle)})"
        parts.append(_label(y_label, 11, middle, "middle", transform=turned))
        return join(parts)


def pumping_plot(
    scores: Sequence[float | None] | None, hits: Collection[int], pumps: int, title: str, *, two_models: bool = False
) -> Markup:
    """The score of prefix · loopⁿ · suffix against n; violations are filled points. Without scores, only which n."""
    known = [score for score in scores or () if score is not None]
    if not known:
        return _hits_only(hits, pumps, title)
    frame = Frame(480, 230, (0.0, float(pumps)), _around_zero(known))
    zero = frame.y(0.0)
    points = [(n, score) for n, score in enumerate(scores or (), start=1) if score is not None]
    marks = [_point(frame.x(n), frame.y(score), n in hits, _about(n, n in hits, score)) for n, score in points]
    score, above, below = ("score", "differ", "agree") if two_models else ("network’s score", "accepts", "rejects")
    return plot_of(
        frame,
        title,
        frame.axes("n, times the loop is repeated", score, signed),
        _line(frame.left, zero, frame.width - frame.right, zero, "zero", palette.INK, 1.5),
        join(marks),
        _side(f"{above} ↑", frame.width - frame.right - 2, zero - 6),
        _side(f"{below} ↓", frame.width - frame.right - 2, zero + 14),
    )


def rounds_plot(values: Sequence[int], title: str) -> Markup:
    """A quantity at the end of every round, as steps."""
    every = max(1, math.ceil(len(values) / _MOST_POINTS))
    kept = [(n, value) for n, value in enumerate(values, start=1) if n % every == 0 or n in (1, len(values))]
    frame = Frame(270, 170, (1.0, float(max(2, len(values)))), (0.0, max(values) or 1.0))
    steps = [f"{number(frame.x(kept[0][0]))},{number(frame.y(kept[0][1]))}"]
    for (_, before), (n, value) in itertools.pairwise(kept):
        steps += [f"{number(frame.x(n))},{number(frame.y(before))}", f"{number(frame.x(n))},{number(frame.y(value))}"]
    last = _point(frame.x(kept[-1][0]), frame.y(kept[-1][1]), True, f"round {kept[-1][0]}: {kept[-1][1]:,}")
    line = tag("polyline", class_="series", points=" ".join(steps), fill="none", stroke=palette.PATH, stroke_width=2)
    return plot_of(frame, title, frame.axes("round", "", signed), line, last)


def gauge(score: float | None, largest: float) -> Markup:
    """One score as a bar up (accepts) or down (rejects) from the line of the decision."""
    half, width = 30.0, 22.0
    share = 0.0 if score is None or not largest else max(-1.0, min(1.0, score / largest))
    length = abs(share) * (half - 2)
    y = half - length if share > 0 else half
    bar = tag("rect", class_="bar up" if share > 0 else "bar down", x=2.0, y=y, width=width - 4, height=max(length, 1))
    return tag(
        "svg",
        bar,
        _line(0, half, width, half, "zero", palette.INK, 1),
        class_="gauge",
        viewBox=f"0 0 {number(width)} {number(2 * half)}",
        width=width,
        height=2 * half,
        aria_hidden="true",
    )


def ticks(low: float, high: float, *, whole: bool = False, most: int = 5) -> list[float]:
    """About ``most`` round numbers between two bounds."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.999)
    if whole:
        step = max(1.0, step)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _hits_only(hits: Collection[int], pumps: int, title: str) -> Markup:
    frame = Frame(480, 110, (0.0, float(pumps)), (0.0, 1.0), left=76.0)
    marks = [
        _point(frame.x(n), frame.y(float(n in hits)), n in hits, _about(n, n in hits)) for n in range(1, pumps + 1)
    ]
    names = ("no violation", "violation")
    axes = frame.axes("n, times the loop is repeated", "", lambda value: names[int(value)] if value in (0, 1) else "")
    return plot_of(frame, title, axes, join(marks))


def upright(frame: Frame, at: float) -> Markup:
    """A line from top to bottom, at a value."""
    return _line(frame.x(at), frame.top, frame.x(at), frame.height - frame.bottom, "zero", palette.INK, 1.5)


def plot_of(frame: Frame, title: str, *parts: Markup) -> Markup:
    """A plot of these parts, with its title for those who cannot see it."""
    return tag(
        "svg",
        tag("title", title),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_="plot",
        viewBox=f"0 0 {number(frame.width)} {number(frame.height)}",
        width=frame.width,
        height=frame.height,
        role="img",
        aria_label=title,
        font_family=_FONT,
        font_size=11,
    )


def _around_zero(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.18 * ((high - low) or 1.0)  # what a side of the line means stands between the line and the axis
    return low - room, high + room


def _about(n: int, hit: bool, score: float | None = None) -> str:
    prefix = "" if score is None else f"score {score:.4g}, "
    return f"n = {n}: {prefix}{'a violation' if hit else 'no violation'}"


def signed(value: float) -> str:
    """A number on an axis."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{sign}"
    return f"{value:g}".replace("-", "−")


def _point(x: float, y: float, filled: bool, about: str) -> Markup:
    fill = palette.LOOP if filled else palette.PAPER
    shape: dict[str, Attribute] = {
        "cx": x,
        "cy": y,
        "r": 3.0,
        "fill": fill,
        "stroke": palette.LOOP if filled else palette.SOFT,
    }
    return tag("circle", tag("title", about), class_="point hit" if filled else "point", stroke_width=1.2, **shape)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str, stroke: str, width: float) -> Markup:
    ends: dict[str, Attribute] = {"x1": float(x1), "y1": float(y1), "x2": float(x2), "y2": float(y2)}
    return tag("line", class_=class_, stroke=stroke, stroke_width=width, **ends)


def _side(text: str, x: float, y: float) -> Markup:
    """What a side of the line means; a rim of background keeps points from running through it."""
    rim: dict[str, Attribute] = {"stroke": palette.PAPER, "stroke_width": 4, "paint_order": "stroke"}
    place: dict[str, Attribute] = {"x": x, "y": y, "text_anchor": "end"}
    return tag("text", text, class_="tick side", fill=palette.SOFT, **place, **rim)


def _label(text: str, x: float, y: float, anchor: str, dy: str | None = None, transform: str | None = None) -> Markup:
    place: dict[str, Attribute] = {
        "x": float(x),
        "y": float(y),
        "text_anchor": anchor,
        "dy": dy,
        "transform": transform,
    }
    return tag("text", text, class_="tick", fill=palette.SOFT, **place)
