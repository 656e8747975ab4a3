"""The report of a repair on the terminal."""

from __future__ import annotations

from rnncheck.cli.output import Line
from rnncheck.cli.verdict_text import glimpse
from rnncheck.repairs.repair_report import Ending, PropertyRepair, RepairReport, RepairRound, Standing
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.words import format_word

_COLOURS = {Ending.PROVED: "green", Ending.NOTHING_FOUND: "green", Ending.NOT_REPAIRED: "red"}
_WORDS_SHOWN = 5


def repair_lines(report: RepairReport, certificate: str | None = None, *, in_full: bool = False) -> list[str | Line]:
    """The report, one line per fact; words are cut short unless they are shown ``in_full``."""
    ending = report.ending
    lines: list[str | Line] = [
        Line(f": {report.reason}", ending.value.upper(), _COLOURS.get(ending, "yellow"), bold=True),
        f"  written         {_written_text(report)}",
    ]
    if certificate is not None:
        lines.append(f"  certificate     {certificate}")
    for each in report.properties:
        lines += _property(each, in_full)
    lines += [f"  round {one.number:<10}{_round(one)}" for one in report.rounds]
    held = report.held_out
    lines.append(
        f"  held-out words  {held.before:.3%} right before, {held.after:.3%} after ({held.words:,}: {held.source})"
    )
    lines += _changes(report, in_full)
    if report.hardening is not None:
        lines.append(f"  for a proof     {report.hardening.reason} ({report.hardening.seconds:.1f} s)")
    for note in report.notes:
        lines.append(Line(f"            {note}", "  note", "yellow"))
    return [*lines, f"  cost            {report.seconds:.1f} s, seed {report.seed}"]


def _written_text(report: RepairReport) -> str:
    if report.output is None and report.improved:
        return "nothing: the repaired network could not be written"
    if report.output is None:
        return "nothing: no network that is better than the one given was found"
    return report.output if report.improved else f"{report.output}: the network as it was given"


def _property(each: PropertyRepair, in_full: bool) -> list[str | Line]:
    lines: list[str | Line] = [f"  property        {glimpse(each.name, in_full=in_full)} ({each.relation})"]
    for when, standing in (("before", each.before), ("after", each.after)):
        lines.append(f"    {when:<14}{_standing(standing)}")
        for word in standing.counterexamples[: None if in_full else _WORDS_SHOWN]:
            lines.append(f"                  {glimpse(format_word(word), in_full=in_full)}")
    return lines


def _standing(standing: Standing) -> str:
    parts = ["proved" if standing.proved else standing.outcome.value]
    if not standing.proved and standing.search_steps:
        parts[0] += f" ({standing.search_steps:,} search steps)"
    if standing.mass is not None and not standing.proved:
        parts.append(f"{frequency_sentence(standing.mass.interval)} (95 %)")
    if standing.on_data is not None:
        parts.append(f"{standing.on_data} of your words violate it")
    return "; ".join(parts)


def _round(each: RepairRound) -> str:
    found = f"{len(each.violated)} violated" if each.violated else "answers lost"
    return (
        f"{found}; trained on {each.words:,} words, {each.learned:.2%} of the answers learned in {each.epochs} epochs; "
        f"{each.mistakes} of {each.audited:,} possible mistakes left ({each.seconds:.1f} s)"
    )


def _changes(report: RepairReport, in_full: bool) -> list[str | Line]:
    changes = report.changes
    if not changes.words:
        return []
    lines: list[str | Line] = [f"  changed         {changes.changed} of {changes.words:,} answers, {changes.reasons()}"]
    for each in changes.shortest[: None if in_full else _WORDS_SHOWN]:
        word = glimpse(format_word(each.word), in_full=in_full)
        lines.append(f"                  {word}: {each.before}, now {each.after}, {each.why}")
    return lines
