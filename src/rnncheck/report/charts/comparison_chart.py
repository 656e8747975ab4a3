"""Agreement against states: every extraction method, with intervals, over the agreement curve."""

from __future__ import annotations

from typing import Any

from rnncheck.extraction.surrogate_comparison import SurrogateComparison
from rnncheck.report.charts.figure import LOOKS, chart


def comparison_chart(comparison: SurrogateComparison, form: str) -> bytes:
    """The chart of a comparison; ``form`` is png or svg."""
    return chart(lambda figure: _draw(figure, comparison), form)


def _draw(figure: Any, comparison: SurrogateComparison) -> None:
    axes = figure.subplots()
    curve = [] if comparison.curve is None else comparison.curve.rows()
    if curve:
        states, agreement, low, high = zip(*curve, strict=True)
        axes.plot(states, agreement, color="0.6", marker=".", label="agreement curve")
        axes.fill_between(states, low, high, color="0.9")
    drawn = [(result.method, result.point) for result in comparison.results if result.point is not None]
    sizes = [point.states for _, point in drawn] + [row[0] for row in curve]
    first, last = min(sizes, default=1), max(sizes, default=1)
    axes.set_xlim(first - 1, last + 1)
    for number, (method, point) in enumerate(drawn):
        colour, marker = LOOKS[number % len(LOOKS)]
        least, most = point.interval
        error = [[point.agreement - least], [most - point.agreement]]
        # Methods with the same result are drawn side by side, not on top of each other.
        beside = (number - (len(drawn) - 1) / 2) * 0.02 * (last - first + 2)
        axes.errorbar([point.states + beside], [point.agreement], error, label=method, color=colour, marker=marker,
                      linestyle="none", capsize=3, markerfacecolor="none")  # fmt: skip
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("states")
    axes.set_ylabel("agreement with the network")
    if sizes:
        axes.legend(frameon=False)
