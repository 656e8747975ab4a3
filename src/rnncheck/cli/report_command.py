"""``rnncheck report``: the page of a verification, from its JSON document."""

from __future__ import annotations

from pathlib import Path

import click

from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest
from rnncheck.cli.output import say
from rnncheck.cli.output_files import today
from rnncheck.errors import FormatError
from rnncheck.runtime.files import read_limited, write_atomically
from rnncheck.verdict.value import Verdict


@make_command("report", click.Argument(["source"], metavar="SOURCE", type=click.Path(path_type=Path)))
def command(options: GivenOptions) -> None:
    """Write the report of a verdict or of a benchmark's folder: one HTML file that opens offline.

    SOURCE is the JSON document that `verify --json` wrote, or the folder of a `bench` run, finished or not.
    """
    source: Path = options["source"]
    if source.is_dir():
        _write_run_page(options, source)
    else:
        _verdict(options, source).save_report(options["report"], date=today(), document=str(source))
    say(f"report written to {options['report']}", err=True)


def _write_run_page(options: GivenOptions, folder: Path) -> None:
    if options["model"] is not None:
        raise click.UsageError("--model adds scores to a verdict; a benchmark's folder holds its networks itself")
    from rnncheck.experiments.folder import RunFolder
    from rnncheck.experiments.run_results import read_results
    from rnncheck.report.page import page_of

    write_atomically(options["report"], page_of(read_results(RunFolder.existing(folder))))


def _verdict(options: GivenOptions, source: Path) -> Verdict:
    """The verdict in a document, with the scores of --model."""
    try:
        data = read_limited(source, "verdict")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", str(source)) from None
    verdict = Verdict.from_json(data, str(source), folder=source.parent)
    if options["model"] is None:
        return verdict
    from rnncheck.verification.explanation.evidence import with_scores

    request = ModelRequest.reading(options, path=options["model"])
    delimited = request.before is not None or request.after is not None  # whose letters the verdict does not know
    letters = options["alphabet"] or (None if delimited else verdict.alphabet)
    return with_scores(verdict, request.load(letters))
