"""``rnncheck check``: a property file, verified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rnncheck.cli.check_pages import write_pages
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.output import Line
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import show_result
from rnncheck.cli.verdict_text import glimpse, verdict_lines
from rnncheck.report.checks.junit import junit_xml
from rnncheck.report.checks.sarif import sarif_json
from rnncheck.runtime.files import write_atomically
from rnncheck.suite.check import CheckProgress, check
from rnncheck.suite.check_results import Check, SuiteResult

_COLOURS = {"violated": "red", "satisfied": "green", "undecided": "yellow", "error": "red"}


@make_command("check", click.Argument(["suite"], metavar="FILE.toml", type=click.Path(path_type=Path)))
def command(options: GivenOptions) -> int:
    """Verify every property of a property file on every model it is about.

    Exit codes, by the worst that is not allowed: 0 nothing, 1 violated, 2 bad usage, bad input or an error,
    3 undecided.
    """
    with progress_line(quiet=options["quiet"]) as show:
        result = check(
            options["suite"],
            tags=options["tag"],
            properties=options["property"],
            models=options["model"],
            progress=lambda now: show(_progress_text(now)),
            **options.pick("workers", "cluster", "threads", "checkpoint", "resume", "require"),
        )
    files = [
        (options["junit"], lambda path: write_atomically(path, junit_xml(result))),
        (options["sarif"], lambda path: write_atomically(path, sarif_json(result))),
        (options["report"], lambda path: write_pages(result, path)),
    ]
    show_result(options, result.to_json(), _lines(result, in_full=options["verbose"]), files)
    return result.exit_code


def _progress_text(now: CheckProgress) -> str:
    return f"{now.done} of {now.total} checks, {now.violated} violated; now {now.now}"


def _lines(result: SuiteResult, *, in_full: bool) -> Iterator[str | Line]:
    """The table, one line per check."""
    if result.title:
        yield Line("", result.title, bold=True)
    widths = [max(len(text) for text in column) for column in zip(*map(_names, result.checks), strict=True)]
    for one in result.checks:
        names = "  ".join(text.ljust(width) for text, width in zip(_names(one), widths, strict=True))
        remark = " (allowed)" if one.allowed and one.outcome != "satisfied" else ""
        seconds = 0.0 if one.verdict is None else one.verdict.cost.seconds
        shown = f"  {names}  {seconds:6.1f} s  {glimpse(one.sentence(), in_full=in_full)}{remark}"
        yield Line(shown, one.outcome_name.ljust(10), _COLOURS[one.outcome], bold=not one.allowed)
        if in_full and one.verdict is not None:
            yield from verdict_lines(one.verdict, in_full=True)[1:]
    for note in result.notes:
        yield Line(f": {note}", "note", "yellow")
    if (joint := result.joint_sentence()) is not None:
        yield f"together: {joint}"
    head = "PASSED" if result.passed else "UNDECIDED" if result.exit_code == 3 else "FAILED"
    colour = {"PASSED": "green", "UNDECIDED": "yellow", "FAILED": "red"}[head]
    yield Line(f": {result.summary()}, {result.seconds:.1f} s", head, colour, bold=True)


def _names(one: Check) -> tuple[str, str]:
    return one.model, one.name
