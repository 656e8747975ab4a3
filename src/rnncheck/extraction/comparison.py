"""What the roads to a surrogate came to on one network: as text, as one HTML file, and as a plot."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass

from rnncheck.errors import InputError, MissingExtraError
from rnncheck.extraction.agreement import AgreementCurve, Point
from rnncheck.words import Word, format_word

_LONGEST_WORD = 120
# Okabe and Ito's palette, each with a marker of its own: colour is never the only difference.
_LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"))


@dataclass(frozen=True)
class PropertyCheck:
    """What a surrogate says about a specification.

    ``suspect`` is the least of its words that break the property; None where it satisfies it. ``real``: the network
    breaks the property on that word too.
    """

    suspect: Word | None
    real: bool = False

    def __str__(self) -> str:
        if self.suspect is None:
            return "satisfied"
        text = format_word(self.suspect)
        shown = text if len(text) <= _LONGEST_WORD else text[: _LONGEST_WORD - 1] + "…"
        return f"violated by {shown}, {'confirmed' if self.real else 'spurious'}"


@dataclass(frozen=True)
class RoadResult:
    """One road: where it led, what it cost, and how it ended.

    ``point`` is its automaton with its agreement on words that no road has seen; None where it led nowhere.
    """

    road: str
    point: Point | None
    seconds: float
    network_steps: int
    membership_queries: int
    ending: str
    property_check: PropertyCheck | None = None


@dataclass(frozen=True)
class Comparison:
    """All roads on one network. ``curve`` is the agreement curve, where there was one to be had."""

    model: str
    specification: str | None
    results: tuple[RoadResult, ...]
    curve: AgreementCurve | None
    distribution: str
    eta: float

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and cells."""
        head = ["road", "states", "agreement", "95 % interval", "seconds", "network steps", "queries"]
        head += ["specification"] if self.specification is not None else []
        head.append("how it ended")
        return head, [self._cells(result) for result in self.results]

    def _cells(self, result: RoadResult) -> list[str]:
        cells = [result.road, "–", "–", "–"]
        if result.point is not None:
            low, high = result.point.interval
            cells[1:] = [str(result.point.states), f"{result.point.agreement:.4f}", f"{low:.4f} to {high:.4f}"]
        cells += [f"{result.seconds:.2f}", str(result.network_steps), str(result.membership_queries)]
        if self.specification is not None:
            cells.append("–" if result.property_check is None else str(result.property_check))
        return [*cells, result.ending]

    def curve_sentences(self) -> list[str]:
        """What the curve shows, for a person."""
        if self.curve is None:
            return ["there was no time for an agreement curve"]
        knee, smallest = self.curve.knee(), self.curve.smallest(self.eta)
        low, high = knee.interval
        sentences = [f"knee of the curve: {knee.states} states agree on {knee.agreement:.4f} ({low:.4f} to {high:.4f})"]
        if smallest is None:
            sentences.append(f"no automaton seen explains {1 - self.eta:g} of the probability")
        else:
            below, above = (1.0 - end for end in smallest.interval[::-1])
            sentences.append(
                f"smallest automaton that explains {1 - self.eta:g} of the probability: {smallest.states} states "
                f"(η between {below:.4f} and {above:.4f})"
            )
        if not self.curve.complete:
            sentences.append("the curve ends early: a bound or the time limit came first, larger automata are missing")
        return sentences

    def to_text(self) -> str:
        """The table and the curve, for a terminal."""
        head, rows = self.table()
        # The last column is a sentence and stands on a line of its own.
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(head, widths, strict=False)).rstrip()]
        for row in rows:
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip())
            lines.append(f"    {row[-1]}")
        lines += ["", *self.curve_sentences()]
        if self.curve is not None:
            lines += [f"  {states:>6} states  {value:.4f}  ({low:.4f} to {high:.4f})"
                      for states, value, low, high in self.curve.rows()]  # fmt: skip
        return "\n".join([*lines, ""])

    def to_html(self) -> str:
        """One file that needs no other. Every name in it is escaped: letters and file names are anybody's.

        The plot is in it, where it can be made (extra ``plot``).
        """
        head, rows = self.table()
        try:
            picture = base64.b64encode(self.plot("svg")).decode()
            plot = (
                f'<img src="data:image/svg+xml;base64,{picture}" alt="States against agreement; the tables say it too">'
            )
        except MissingExtraError as error:
            plot = f"<p>{_escaped(str(error))}</p>"
        about = [f"network: {self.model}", f"words: {self.distribution}"]
        about += [f"specification: {self.specification}"] if self.specification is not None else []
        curve = (
            [] if self.curve is None else [[str(row[0]), *(f"{x:.4f}" for x in row[1:])] for row in self.curve.rows()]
        )
        parts = [
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Surrogates compared</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_STYLE}</style></head><body><h1>Surrogates compared</h1>",
            *(f"<p>{_escaped(line)}</p>" for line in about),
            _html_table(head, rows),
            "<h2>States against agreement</h2>",
            plot,
            *(f"<p>{_escaped(line)}</p>" for line in self.curve_sentences()),
            _html_table(["states", "agreement", "from", "to"], curve) if curve else "",
            "</body></html>\n",
        ]
        return "\n".join(parts)

    def plot(self, form: str) -> bytes:
        """Agreement against states for all roads, with intervals, over the curve; ``form`` is png or svg."""
        if form not in ("png", "svg"):
            raise InputError(f"a plot is written as .png or .svg, not {form!r}; name the file so")
        try:
            import matplotlib as mpl
            from matplotlib.figure import Figure
            from matplotlib.ticker import MaxNLocator
        except ImportError:
            raise MissingExtraError("a plot", "plot") from None
        style = {"svg.hashsalt": "rnncheck", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
        with mpl.rc_context(style):
            figure = Figure(figsize=(6.4, 4.0), layout="constrained")
            axes = figure.subplots()
            if self.curve is not None:
                states, agreement, low, high = zip(*self.curve.rows(), strict=True)
                axes.plot(states, agreement, color="0.6", marker=".", label="agreement curve")
                axes.fill_between(states, low, high, color="0.9")
            drawn = [(result.road, result.point) for result in self.results if result.point is not None]
            sizes = [point.states for _, point in drawn] + [row[0] for row in (self.curve.rows() if self.curve else [])]
            first, last = min(sizes, default=1), max(sizes, default=1)
            axes.set_xlim(first - 1, last + 1)
            for number, (road, point) in enumerate(drawn):
                colour, marker = _LOOKS[number % len(_LOOKS)]
                least, most = point.interval
                error = [[point.agreement - least], [most - point.agreement]]
                # Roads that come to the same stand side by side, not one on top of the other.
                beside = (number - (len(drawn) - 1) / 2) * 0.02 * (last - first + 2)
                axes.errorbar([point.states + beside], [point.agreement], error, label=road, color=colour,
                              marker=marker, linestyle="none", capsize=3, markerfacecolor="none")  # fmt: skip
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("states")
            axes.set_ylabel("agreement with the network")
            if sizes:
                axes.legend(frameon=False)
            content = io.BytesIO()
            figure.savefig(content, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
        return content.getvalue()


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# Wide tables scroll inside themselves; only what can be long, sentences and words, is broken into lines.
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em;overflow-wrap:anywhere}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:1em 0;overflow-wrap:normal}"
    "td,th{padding:.35em .7em;border-bottom:1px solid #8886;text-align:left;vertical-align:top;white-space:nowrap}"
    "td.long{white-space:normal;min-width:15em;overflow-wrap:anywhere}th{border-bottom:2px solid}"
    "img{max-width:100%;height:auto;background:#fff;border-radius:4px}"
)
_SHORT_CELL = 24


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{_escaped(cell)}</th>" for cell in head)
    lines = [f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows]
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="wide" tabindex="0">{table}</div>'


def _html_cell(cell: str) -> str:
    long = ' class="long"' if len(cell) > _SHORT_CELL else ""
    return f"<td{long}>{_escaped(cell)}</td>"


def _escaped(text: str) -> str:
    """The text as it is to be read; characters that do not print show as escapes."""
    return html.escape("".join(ch if ch.isprintable() else repr(ch)[1:-1] for ch in text))
