"""``rnncheck report``: the page of a verification, from its JSON document."""

from __future__ import annotations

from pathlib import Path

import click

from rnncheck.cli.command import Command
from rnncheck.cli.options import AlphabetType, ModelRequest, label_options, marker_options
from rnncheck.cli.output import say
from rnncheck.cli.output_files import OutputFile, today
from rnncheck.errors import FormatError
from rnncheck.runtime.files import read_limited, write_atomically
from rnncheck.verdict.value import Verdict
from rnncheck.verification.explanation.evidence import with_scores
from rnncheck.words import Alphabet


@click.command("report", cls=Command)
@click.argument("source", metavar="SOURCE", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, metavar="FILE", type=OutputFile(), help="An .html file.")
@click.option(
    "--model", type=click.Path(), metavar="MODEL", help="The network, to add its scores where the verdict has none."
)
@click.option("--alphabet", type=AlphabetType(), help="The letters, for model files that do not say them.")
@click.option("--threshold", type=float)
@label_options[0]
@label_options[1]
@marker_options[0]
@marker_options[1]
def command(
    source: Path,
    output: Path,
    model: str | None,
    alphabet: Alphabet | None,
    threshold: float | None,
    label: str | None,
    labels: Alphabet | None,
    before: str | None,
    after: str | None,
) -> None:
    """Write the report of a verdict or of a benchmark's folder: one HTML file that opens offline.

    SOURCE is the JSON document that `verify --json` wrote, or the folder of a `bench` run, finished or not.
    """
    if source.is_dir():
        if model is not None:
            raise click.UsageError("--model adds scores to a verdict; a benchmark's folder holds its networks itself")
        from rnncheck.experiments.folder import RunFolder
        from rnncheck.experiments.run_results import read_results
        from rnncheck.report.page import page_of

        write_atomically(output, page_of(read_results(RunFolder.existing(source))))
        say(f"report written to {output}", err=True)
        return
    try:
        data = read_limited(source, "verdict")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", str(source)) from None
    verdict = Verdict.from_json(data, str(source), folder=source.parent)
    if model is not None:
        request = ModelRequest(model, None, threshold, label, None, None, False, before=before, after=after,
                               labels=labels)  # fmt: skip
        marked = before is not None or after is not None  # whose letters the verdict does not know
        verdict = with_scores(verdict, request.load(alphabet or (None if marked else verdict.alphabet)))
    verdict.save_report(output, date=today(), document=str(source))
    say(f"report written to {output}", err=True)
