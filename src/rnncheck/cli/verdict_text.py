"""A verdict on the terminal."""

from __future__ import annotations

from rnncheck.cli.output import Line
from rnncheck.verdict.text import SIGNS, Fact, facts, headline, outcome_name, property_text
from rnncheck.verdict.value import Verdict

_COLOURS = {"violated": "red", "satisfied": "green", "undecided": "yellow"}
_CUT = {
    "counterexample",
    "another",
    "cluster",
    "assumed",
    "property",
    "faulty flow",
}  # facts that hold words or formulas
_MOST_SHOWN, _END_SHOWN = 500, 100  # characters of a word
_LONGEST_PROPERTY = 200


def verdict_lines(verdict: Verdict, *, in_full: bool = False) -> list[str | Line]:
    """The verdict, one line per fact; long words are cut short unless they are shown ``in_full``."""
    lines = [_first_line(verdict, in_full=in_full)]
    return [*lines, *(line for fact in facts(verdict) for line in _lines(fact, in_full=in_full))]


def _first_line(verdict: Verdict, *, in_full: bool) -> str | Line:
    name = outcome_name(verdict)
    about = ""
    if verdict.comparison is None:
        about = f" {glimpse(property_text(verdict), _LONGEST_PROPERTY, in_full=in_full)}:"
    lead = f"{SIGNS[name]} {name.upper()}"
    colour = "yellow" if verdict.shortfall is not None else _COLOURS[verdict.outcome.value]
    return Line(f" {about} {headline(verdict)}" if about else f": {headline(verdict)}", lead, colour, bold=True)


def _lines(fact: Fact, *, in_full: bool) -> list[str | Line]:
    if fact.name == "note":
        return [Line(f"            {fact.text}", "  note", "yellow")]
    in_full = in_full or fact.name not in _CUT
    text = glimpse(fact.text, in_full=in_full)
    return [f"  {fact.name:<16}{text}", *(f"{'':18}{glimpse(line, in_full=in_full)}" for line in fact.more)]


def glimpse(text: str, most: int = _MOST_SHOWN, *, in_full: bool = False) -> str:
    """The beginning and the end of a text that would fill the screen, which --verbose shows ``in_full``."""
    if in_full or len(text) <= most:
        return text
    end = min(_END_SHOWN, most // 4)
    return f"{text[: most - end]} […] {text[-end:]}"
