"""``rnncheck check``: a property file, verified."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rnncheck.cli.command import Command
from rnncheck.cli.options import AlphabetType, ModelRequest, model_options
from rnncheck.cli.output import Line, say, say_document
from rnncheck.cli.output_files import OutputFile, today
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import tell_result
from rnncheck.cli.verdict_text import glimpse
from rnncheck.errors import InputError
from rnncheck.models.label_names import LabelNeededError
from rnncheck.report.automaton.graphviz import one_graphviz
from rnncheck.report.checks.junit import junit_xml
from rnncheck.report.checks.sarif import sarif_json
from rnncheck.report.checks.summary_page import report_names, summary_page
from rnncheck.runtime.files import write_atomically
from rnncheck.suite.check import CheckProgress, check
from rnncheck.suite.check_results import Check, SuiteResult
from rnncheck.suite.starter import starter_suite
from rnncheck.words import Alphabet, parse_word

_COLOURS = {"violated": "red", "satisfied": "green", "undecided": "yellow", "error": "red"}


@click.command(cls=Command, name="check")
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
def check_command(ctx: click.Context, /, suite: Path, **choices: Any) -> None:
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


def write_pages(result: SuiteResult, path: Path) -> None:
    """The page, and beside it a folder with the report of each check."""
    folder = path.with_name(f"{path.stem}-reports")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}; remove what stands there") from None
    names, date = report_names(result), today()
    with one_graphviz():
        for one in result.checks:
            if one.verdict is not None:
                one.verdict.save_report(folder / names[one.model, one.name], date=date)
    links = {pair: f"{folder.name}/{name}" for pair, name in names.items()}
    write_atomically(path, summary_page(result, links, date))


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


@click.command(cls=Command, name="init")
@model_options
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files and code that do not say them.")
@click.option("-o", "--output", type=OutputFile(dash=True), default="suite.toml", show_default=True, metavar="FILE",
              help="Where to write; `-` prints it.")  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init_command(model: ModelRequest, alphabet: Alphabet | None, output: Path, force: bool) -> None:
    """Write a commented property file for a model, to begin with."""
    printed = str(output) == "-"
    if output.exists() and not force and not printed:
        raise InputError(f"{output} is there already; give another name (-o), or --force to write over it")
    try:
        loaded, labels = model.load(alphabet), None
    except LabelNeededError:  # properties of labels need none that means yes
        loaded = model.load(alphabet, any_label=True)
        labels = loaded.label_names
    said = {
        "path": None if model.path is None else os.path.relpath(model.path, "." if printed else output.parent),
        "module": model.module,
        "alphabet": None if alphabet is None else list(alphabet),
        "threshold": model.threshold,
        "label": model.entry.label,
        "labels": None if model.labels is None else list(model.labels),
        "state": None if model.state is None else os.path.relpath(model.state, "." if printed else output.parent),
        "cell": model.cell,
        "float64": model.float64 or None,
        "torchscript": model.torchscript or None,
        "before": None if model.before is None else list(parse_word(model.before)),
        "after": None if model.after is None else list(parse_word(model.after)),
    }
    text = starter_suite(loaded.alphabet, {key: value for key, value in said.items() if value is not None}, labels)
    if printed:
        say_document(text)
    else:
        write_atomically(output, text)
        say(f"{output} written; now edit it, and run: rnncheck check {output}")
