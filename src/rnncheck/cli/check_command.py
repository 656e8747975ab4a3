"""``rnncheck check``: a property file, verified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rnncheck.cli.check_pages import write_pages
from rnncheck.cli.command import Command
from rnncheck.cli.output import Line
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import tell_result
from rnncheck.cli.verdict_text import glimpse
from rnncheck.report.checks.junit import junit_xml
from rnncheck.report.checks.sarif import sarif_json
from rnncheck.runtime.files import write_atomically
from rnncheck.suite.check import CheckProgress, check
from rnncheck.suite.check_results import Check, SuiteResult

_COLOURS = {"violated": "red", "satisfied": "green", "undecided": "yellow", "error": "red"}


@click.command("check", cls=Command)
@click.argument("suite", metavar="FILE.toml", type=click.Path(path_type=Path))
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only properties with this tag; may be repeated.")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Only this property; may be repeated.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Only this model; may be repeated.")
@click.option("--workers", type=click.IntRange(min=1), help="Share the work among so many processes.")
@click.option("--cluster", metavar="ADDRESS", help="Share it among the workers of a Dask scheduler.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads for each network.  [default: all cores, or 1 with "
              "--workers]")  # fmt: skip
@click.option("--checkpoint", metavar="FILE", type=OutputFile(), help="Keep each check there when it is done.")
@click.option("--resume", is_flag=True, help="Take from --checkpoint what has not changed since.")
@click.option("--junit", metavar="FILE", type=OutputFile(), help="Write JUnit XML, for CI servers.")
@click.option("--sarif", metavar="FILE", type=OutputFile(), help="Write SARIF 2.1.0, for code scanning.")
@click.option(
    "--html", metavar="FILE", type=OutputFile(), help="Write one page, and each report in a folder beside it."
)
@click.option("--json", "json_file", metavar="FILE", type=OutputFile(dash=True),
              help="Write all verdicts as JSON; `-` prints it alone.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def command(ctx: click.Context, /, suite: Path, **choices: Any) -> None:
    """Verify every property of a property file on every model it is about.

    Exit codes, by the worst that is not allowed: 0 nothing, 1 violated, 2 bad usage, bad input or an error,
    3 undecided.
    """
    with progress_line(quiet=choices["quiet"]) as tell:
        result = check(
            suite,
            checkpoint=choices["checkpoint"],
            progress=lambda now: tell(_progress_text(now)),
            **{
                name: choices[name]
                for name in ("tags", "properties", "models", "workers", "cluster", "threads", "resume")
            },
        )
    files = [
        (choices["junit"], lambda path: write_atomically(path, junit_xml(result))),
        (choices["sarif"], lambda path: write_atomically(path, sarif_json(result))),
        (choices["html"], lambda path: write_pages(result, path)),
    ]
    tell_result(result.to_json(), _described(result), choices["json_file"], files)
    ctx.exit(result.exit_code)


def _progress_text(now: CheckProgress) -> str:
    return f"{now.done} of {now.total} checks, {now.violated} violated; now {now.now}"


def _described(result: SuiteResult) -> Iterator[str | Line]:
    """The table, a line a check."""
    if result.title:
        yield Line("", result.title, bold=True)
    widths = [max(len(text) for text in column) for column in zip(*map(_names, result.checks), strict=True)]
    for one in result.checks:
        names = "  ".join(text.ljust(width) for text, width in zip(_names(one), widths, strict=True))
        remark = " (allowed)" if one.allowed and one.outcome != "satisfied" else ""
        seconds = 0.0 if one.verdict is None else one.verdict.cost.seconds
        told = f"  {names}  {seconds:6.1f} s  {glimpse(one.sentence())}{remark}"
        yield Line(told, one.outcome.ljust(9), _COLOURS[one.outcome], bold=not one.allowed)
    for note in result.notes:
        yield Line(f": {note}", "note", "yellow")
    if (joint := result.joint_sentence()) is not None:
        yield f"together: {joint}"
    head = "PASSED" if result.passed else "UNDECIDED" if result.exit_code == 3 else "FAILED"
    colour = {"PASSED": "green", "UNDECIDED": "yellow", "FAILED": "red"}[head]
    yield Line(f": {result.summary()}, {result.seconds:.1f} s", head, colour, bold=True)


def _names(one: Check) -> tuple[str, str]:
    return one.model, one.name
