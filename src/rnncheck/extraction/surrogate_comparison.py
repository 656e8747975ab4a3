"""The results of the extraction methods on one network, as a value and as text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rnncheck.display import page_of
from rnncheck.extraction.agreement import AgreementCurve, Point
from rnncheck.runtime.files import write_atomically
from rnncheck.words import Word, format_word

_LONGEST_WORD = 120


@dataclass(frozen=True)
class PropertyCheck:
    """Whether a surrogate satisfies a specification.

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
class MethodResult:
    """One extraction method: its result, its cost, and how it ended.

    ``point`` is its automaton with its agreement on words that no method has seen; None where it has none.
    """

    method: str
    point: Point | None
    seconds: float
    network_steps: int
    membership_queries: int
    ending: str
    property_check: PropertyCheck | None = None


@dataclass(frozen=True)
class SurrogateComparison:
    """All methods on one network. ``curve`` is the agreement curve; None where the time ended first."""

    model: str
    specification: str | None
    results: tuple[MethodResult, ...]
    curve: AgreementCurve | None
    distribution: str
    eta: float

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and cells."""
        head = ["method", "states", "agreement", "95 % interval", "seconds", "network steps", "queries"]
        head += ["specification"] if self.specification is not None else []
        head.append("how it ended")
        return head, [self._cells(result) for result in self.results]

    def _cells(self, result: MethodResult) -> list[str]:
        cells = [result.method, "–", "–", "–"]
        if result.point is not None:
            low, high = result.point.interval
            cells[1:] = [str(result.point.states), f"{result.point.agreement:.4f}", f"{low:.4f} to {high:.4f}"]
        cells += [f"{result.seconds:.2f}", str(result.network_steps), str(result.membership_queries)]
        if self.specification is not None:
            cells.append("–" if result.property_check is None else str(result.property_check))
        return [*cells, result.ending]

    def curve_sentences(self) -> list[str]:
        """What the curve shows, in sentences."""
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
        # The last column is a sentence and has its own line.
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

    def save_report(self, path: str | Path) -> None:
        """Write the page: one HTML file with everything in it."""
        write_atomically(path, page_of(self))
