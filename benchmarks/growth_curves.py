"""How costs grow with one size at a time: every curve of ``cliff_rows/``, measured, fitted and drawn.

``growth.py`` writes what is found into ``docs/growth.md``, between its two marks, and the pictures beside it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cliff_rows
import numpy as np
from cliff_rows.row import Curve

from rnncheck.report.charts.figure import LOOKS, chart
from rnncheck.runtime.files import write_atomically

DOCS = Path(__file__).resolve().parent.parent / "docs"
_BEGIN, _END = "<!-- growth: {} begin -->", "<!-- growth: {} end -->"
_UPPER = 10.0  # the exponent is that of the largest sizes, down to a tenth of them and one more


def all_curves() -> list[Curve]:
    """Every curve of every file in ``cliff_rows``, by name."""
    names = (f"cliff_rows.{module.name}" for module in pkgutil.iter_modules(cliff_rows.__path__))
    curves = (curve for name in names for curve in getattr(importlib.import_module(name), "CURVES", []))
    return sorted(curves, key=lambda curve: curve.name)


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """The slope of the line through the largest sizes, both axes logarithmic: small sizes show what starting costs."""
    sizes, seconds = np.log(np.array(_largest(points), dtype=float)).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def _largest(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    largest = max(size for size, _ in points)
    chosen = [point for point in points if point[0] * _UPPER >= largest]
    return chosen if len(chosen) > 1 else points[-2:]


def picture(curve: Curve, points: Sequence[tuple[int, float]]) -> bytes:
    """The curve, and the line of its largest exponent allowed; on white, so that it is readable on a dark page."""

    def draw(figure: Any) -> None:
        figure.set_size_inches(4.8, 3.0)
        panel = figure.subplots()
        sizes, seconds = zip(*points, strict=True)
        colour, marker = LOOKS[0]
        panel.plot(sizes, seconds, marker=marker, color=colour, label=f"exponent {exponent(points):.2f} at the end")
        fitted = _largest(points)
        (size, begin), (last, _) = fitted[0], fitted[-1]
        allowed = [begin, begin * (last / size) ** curve.most]
        panel.plot([size, last], allowed, "--", color="0.5", linewidth=1, label=f"exponent {curve.most:g}")
        panel.set(xscale="log", yscale="log", xlabel=curve.axis, ylabel="processor seconds")
        panel.set_ylim(bottom=min(seconds) / 2)
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
        panel.legend(frameon=False)

    return chart(draw, "svg")


def section(curve: Curve, points: Sequence[tuple[int, float]]) -> str:
    """The curve in words, as a table and as a picture, for the page."""
    figures = ", ".join(f"{seconds:.2g} s" for _, seconds in points)
    sizes = ", ".join(f"{size:,}".replace(",", " ") for size, _ in points)
    fitted = f"Exponent {exponent(points):.2f}, aim at most {curve.most:g}."
    sentence = f"{curve.what}: {sizes} {curve.axis} take {figures}. {fitted}"
    return f"{sentence}\n\n![{curve.what}: processor seconds against {curve.axis}](assets/growth-{curve.name}.svg)"


def measure_curves(names: Sequence[str], *, write: bool) -> None:
    """Measure the curves of these names, or all; ``write``: put figures and pictures into the documentation."""
    for curve in all_curves():
        if names and curve.name not in names:
            continue
        points = curve.measure(curve.sizes)
        print(f"{curve.name:>22}: exponent {exponent(points):.2f} (at most {curve.most:g}); "
              + ", ".join(f"{size} {seconds:.2g} s" for size, seconds in points), flush=True)  # fmt: skip
        if write:
            write_atomically(DOCS / "assets" / f"growth-{curve.name}.svg", picture(curve, points))
            _put(curve.name, section(curve, points))


def _put(name: str, text: str) -> None:
    """Into the page, in the place of what was there before; new curves at its end."""
    page = DOCS / "growth.md"
    begin, end = _BEGIN.format(name), _END.format(name)
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    write_atomically(page, f"{before.rstrip()}\n\n{begin}\n{text}\n{end}{after}")
