"""Plots of a benchmark run, as SVG and PNG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rnncheck.experiments.run_results import Result, RunResults
from rnncheck.experiments.runner import AS_PRINTED, method_label, own_name
from rnncheck.report.charts.figure import FORMS, LOOKS, chart

# A colour, a marker and a line per method; as printed it has the same colour, a cross and a thin line.
_LOOKS = {
    "smc": (*LOOKS[0], "-"),
    "aamc": (*LOOKS[1], "--"),
    "pdv": (*LOOKS[2], "-."),
    "auto": ("#000000", "D", ":"),
}
_OTHER = ("#CC79A7", "x", "-")
_WIDE = 20.0  # figures further apart than this factor get a logarithmic axis


def plots(run: RunResults) -> dict[str, bytes]:
    """File names and contents: time against time, cactus, lengths of counterexamples, cost."""
    drawn: dict[str, Callable[[Any, RunResults], None]] = {
        "cactus": _cactus,
        "lengths": _lengths,
        "queries": _queries,
    }
    if len(run.methods) > 1:
        drawn["time-against-time"] = _time_against_time
    return {
        f"{name}.{form}": chart(lambda figure, draw=draw: draw(figure, run), form)  # type: ignore[misc]
        for name, draw in drawn.items()
        for form in FORMS
    }


def _time_against_time(figure: Any, run: RunResults) -> None:
    """One panel for each other method against the last requested one, on logarithmic axes."""
    base = run.methods[-1]
    others = run.methods[:-1]
    figure.set_size_inches(1.0 + 2.4 * len(others), 3.2)
    panels = figure.subplots(1, len(others), squeeze=False, sharex=True, sharey=True)[0]
    mine = {result.instance: result for result in run.of(base)}
    marks = {"violated": ("o", "found by both"), "one": ("^", "found by one"), "none": ("x", "found by neither")}
    for panel, other in zip(panels, others, strict=True):
        pairs = [(result, mine[result.instance]) for result in run.of(other) if result.instance in mine]
        for kind, (marker, label) in marks.items():
            chosen = [pair for pair in pairs if _agreement(*pair) == kind]
            panel.scatter(
                [max(ours.seconds, 1e-3) for _, ours in chosen],
                [max(theirs.seconds, 1e-3) for theirs, _ in chosen],
                marker=marker,
                s=22,
                color=_looks(other)[0],
                linewidths=1.0,
                label=label,
                facecolors="none" if marker != "x" else None,
                edgecolors=_looks(other)[0] if marker != "x" else None,
            )
        panel.set(xlabel=f"{method_label(base)} (s)", ylabel=f"{method_label(other)} (s)")
        _logarithmic(panel, "x")
        _logarithmic(panel, "y")
        low, high = _limits([*run.of(base), *run.of(other)])
        panel.plot([low, high], [low, high], color="0.6", linewidth=0.8, zorder=0)
        panel.set_aspect("equal")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)


def _agreement(one: Result, other: Result) -> str:
    return "violated" if one.violated and other.violated else "one" if one.violated or other.violated else "none"


def _cactus(figure: Any, run: RunResults) -> None:
    """How many mistakes a method finds, if each instance may take so long."""
    panel = figure.subplots()
    for method in run.methods:
        seconds = np.sort([max(result.seconds, 1e-3) for result in run.of(method) if result.violated])
        colour, marker, line = _looks(method)
        counted, width = np.arange(1, len(seconds) + 1), 0.8 if method.endswith(AS_PRINTED) else 1.5
        panel.plot(
            seconds,
            counted,
            line,
            marker=marker,
            markersize=4,
            color=colour,
            linewidth=width,
            label=method_label(method),
        )
    panel.set(xlabel="seconds for an instance", ylabel="mistakes found")
    _logarithmic(panel, "x")
    panel.set_ylim(bottom=0)
    panel.yaxis.get_major_locator().set_params(integer=True)
    figure.legend(loc="outside right center", frameon=False)


def _lengths(figure: Any, run: RunResults) -> None:
    """The lengths of the counterexamples, one row of marks a method."""
    _strips(figure, run, "letters of the counterexample", lambda result: result.length)


def _queries(figure: Any, run: RunResults) -> None:
    """Queried words, one row of marks per method."""
    _strips(figure, run, "membership queries", lambda result: result.words)


def _strips(figure: Any, run: RunResults, label: str, value: Callable[[Result], float | None]) -> None:
    panel = figure.subplots()
    everything: list[float] = []
    for row, method in enumerate(run.methods):
        figures = [max(1.0, figure) for result in run.of(method) if (figure := value(result)) is not None]
        everything += figures
        colour, marker, _ = _looks(method)
        spread = np.linspace(-0.25, 0.25, len(figures)) if len(figures) > 1 else np.zeros(len(figures))
        panel.plot(figures, row + spread, marker, color=colour, markersize=4.5, markerfacecolor="none")
        if figures:
            panel.plot([np.median(figures)] * 2, [row - 0.35, row + 0.35], color=colour, linewidth=1.6)
    panel.set(
        xlabel=f"{label} (bar: median)", yticks=range(len(run.methods)), yticklabels=map(method_label, run.methods)
    )
    if everything and max(everything) > _WIDE * min(everything):
        _logarithmic(panel, "x")
    panel.set_ylim(len(run.methods) - 0.5, -0.5)


def _logarithmic(panel: Any, axis: str) -> None:
    """A logarithmic axis with plain numbers."""
    panel.set(**{f"{axis}scale": "log"})
    getattr(panel, f"{axis}axis").set_major_formatter("{x:g}")
    getattr(panel, f"{axis}axis").set_minor_formatter("")


def _limits(results: Sequence[Result]) -> tuple[float, float]:
    seconds = [max(result.seconds, 1e-3) for result in results] or [1.0]
    return min(seconds) / 1.5, max(seconds) * 1.5


def _looks(method: str) -> tuple[str, str, str]:
    colour, marker, line = _LOOKS.get(own_name(method), _OTHER)
    return (colour, "x", line) if method.endswith(AS_PRINTED) else (colour, marker, line)
