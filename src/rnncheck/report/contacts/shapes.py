"""What both pictures of a contact sequence share: the part of it that is drawn, and pieces of SVG text.

The line's form shows the same as its colour, and the colours (Okabe and Ito's) differ for colour-blind people
too.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from rnncheck.contacts.paths import ARROW, PathCheck, check_path
from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.report import palette
from rnncheck.report.markup import Attribute, Markup, join, shortened, tag
from rnncheck.words import Word, letter_text

# Colour, dashes and meaning of a line.
LegendEntry: TypeAlias = tuple[str, str | None, str]

WIDTH = 960

# More steps do not fit side by side; a picture then shows those around the break.
MOST_STEPS = 11

_LONGEST_NAME = 9


class PathStep(enum.Enum):
    """What a step of the sequence is."""

    TIMED = "contact taken, with its time"
    NEVER_MET = "never met"
    ONLY_BEFORE = "met only before"
    AFTER_BREAK = "met, but the path broke before"

    @property
    def colour(self) -> str:
        return _COLOURS[self]

    @property
    def dashes(self) -> str | None:
        return _DASHES.get(self)


_COLOURS = {
    PathStep.TIMED: "#0072B2",
    PathStep.NEVER_MET: "#D55E00",
    PathStep.ONLY_BEFORE: "#AA4499",
    PathStep.AFTER_BREAK: "#56B4E9",
}
_DASHES = {PathStep.NEVER_MET: "8 5", PathStep.ONLY_BEFORE: "2 4", PathStep.AFTER_BREAK: "14 4"}


@dataclass(frozen=True)
class DrawnSequence:
    """The part of a word that is drawn: ``people`` stand in the word from ``begin`` on."""

    network: TemporalNetwork
    check: PathCheck
    begin: int
    people: Word

    @classmethod
    def of(cls, network: TemporalNetwork, word: Iterable[str], *, strict: bool) -> DrawnSequence:
        check = check_path(network, word, strict=strict)
        centre = check.broken.position if check.broken else 0
        begin = max(0, min(centre - MOST_STEPS // 2, len(check.word) - 1 - MOST_STEPS))
        return cls(network, check, begin, check.word[begin : begin + MOST_STEPS + 1])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(itertools.pairwise(self.people))

    @property
    def times(self) -> tuple[int, ...]:
        """The times of the steps that are drawn and possible: the first ones of ``pairs``."""
        return self.check.times[self.begin : self.begin + len(self.pairs)]

    def steps(self) -> list[PathStep]:
        """What each of ``pairs`` is."""
        return [self._step(position) for position in range(len(self.pairs))]

    def _step(self, position: int) -> PathStep:
        at = self.begin + position
        if at < len(self.check.times):
            return PathStep.TIMED
        if self.check.broken is not None and at == self.check.broken.position:
            return PathStep[self.check.broken.reason.name]
        return PathStep.AFTER_BREAK if len(self.network.times_of(*self.pairs[position])) else PathStep.NEVER_MET

    def title(self) -> tuple[str, str]:
        """The people, and a sentence about them."""
        before = "… " if self.begin else ""
        after = " …" if self.begin + len(self.people) < len(self.check.word) else ""
        names = before + ARROW.join(map(short_name, self.people)) + after
        if self.check.broken is not None:
            return names, f"no time-respecting path: {self.check.broken}"
        return names or "nobody", "a time-respecting path, with its earliest times"


def svg_document(
    height: float, sequence: DrawnSequence, body: Iterable[Markup], legend: Iterable[LegendEntry], foot: str
) -> str:
    """A picture with the title above, the legend and a last line below."""
    names, meaning = sequence.title()
    picture = tag(
        "svg",
        tag("title", f"{names}: {meaning}"),
        tag("defs", *map(_marker, PathStep)),
        tag("rect", width="100%", height="100%", fill=palette.PAPER),
        svg_text(20, 30, names, size=16, font_weight="bold", longest=WIDTH - 40),
        svg_text(20, 54, meaning, size=13, longest=WIDTH - 40),
        *body,
        *(_entry(20 + 270 * place, height - 36, entry) for place, entry in enumerate(legend)),
        svg_text(20, height - 12, foot, size=11, fill=palette.SOFT),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}",
        width=WIDTH,
        height=height,
        role="img",
        font_family="Helvetica, Arial, sans-serif",
    )
    return f"{picture}\n"


def svg_line(
    x1: float, y1: float, x2: float, y2: float, stroke: str, width: float, dashes: str | None = None
) -> Markup:
    ends = {"x1": float(x1), "y1": float(y1), "x2": float(x2), "y2": float(y2)}
    return tag("line", stroke=stroke, stroke_width=width, stroke_dasharray=dashes, **ends)


def svg_text(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 12,
    fill: str = palette.INK,
    halo: bool = False,
    longest: float | None = None,
    **attributes: Attribute,
) -> Markup:
    """A line of text, with a pale rim where it lies on lines, and set narrower where it would be too long."""
    if halo:
        attributes |= {"stroke": palette.PAPER, "stroke_width": 4, "paint_order": "stroke", "stroke_linejoin": "round"}
    # A letter is about 0.56 of its size wide; only marked text is squeezed.
    if longest is not None and 0.56 * size * len(text) > longest:
        attributes |= {"textLength": longest, "lengthAdjust": "spacingAndGlyphs"}
    return tag("text", text, x=float(x), y=float(y), font_size=size, fill=fill, direction="ltr", **attributes)


def short_name(name: str) -> str:
    """A name that fits a label."""
    return shortened(letter_text(name), _LONGEST_NAME)


def _marker(step: PathStep) -> Markup:
    tip = tag("path", d="M0 0L10 5L0 10z", fill=step.colour)
    size = {"markerWidth": 15, "markerHeight": 15, "refX": 8, "refY": 5}
    return tag("marker", tip, id=step.name, viewBox="0 0 10 10", markerUnits="userSpaceOnUse", orient="auto", **size)


def _entry(x: float, y: float, entry: LegendEntry) -> Markup:
    colour, dashes, text = entry
    return join([svg_line(x, y, x + 36, y, colour, 3.2, dashes), svg_text(x + 44, y + 4, text)])
