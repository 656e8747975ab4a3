"""``rnncheck compare-surrogates``: all extraction methods side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rnncheck.cli.command import Command
from rnncheck.cli.learning_options import learning_options, learning_settings
from rnncheck.cli.options import (
    ModelRequest,
    SpecRequest,
    distribution_options,
    model_options,
    optional_spec_options,
    relation_option,
    renamed_option,
    word_format_options,
)
from rnncheck.cli.output import say_lines
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.progress import progress_line
from rnncheck.errors import InputError
from rnncheck.extraction import EXTRACTIONS
from rnncheck.extraction.agreement import DEFAULT_WORDS
from rnncheck.extraction.compare import DEFAULT_ETA, DEFAULT_TIMEOUT
from rnncheck.runtime.files import write_atomically


@click.command("compare-surrogates", cls=Command)
@model_options
@optional_spec_options
@click.option("--method", "methods", multiple=True, type=click.Choice(list(EXTRACTIONS)),
              help="Only this extraction method; may be repeated.  [default: all but auto and cells]")  # fmt: skip
@renamed_option("--road", "--method")
@relation_option("subset: no false positives; superset: no false negatives.")
@word_format_options
@learning_options
@distribution_options
@click.option("--words", type=click.IntRange(min=1), default=DEFAULT_WORDS, show_default=True,
              help="Fresh words to measure agreement with.")  # fmt: skip
@click.option("--eta", type=float, default=DEFAULT_ETA, show_default=True,
              help="The probability that a small automaton may leave unexplained.")  # fmt: skip
@click.option("--out", type=OutputFile(), metavar="FILE.html", help="Write the table as a page.")
@click.option("--plot", type=OutputFile(), metavar="FILE.png|svg", help="Write the plot.")
def command(model: ModelRequest, request: SpecRequest, **choices: Any) -> None:
    """Extract an automaton by every method, each with the same time, and put what they came to side by side.

    The time limit is for each method: 30 seconds unless told.
    """
    from rnncheck.extraction.compare import compare_surrogates as compare
    from rnncheck.report.charts.comparison_chart import comparison_chart

    plot: Path | None = choices["plot"]
    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise InputError(f"{plot}: a plot is written as .png or .svg; name the file so")
    loaded = model.load(request.alphabet)
    with progress_line(quiet=choices["quiet"]) as tell:
        comparison = compare(
            loaded,
            request.build(loaded.alphabet) if request.given else None,
            methods=choices["methods"] or None,
            relation=choices["relation"],
            epsilon=choices["epsilon"],
            gamma=choices["gamma"],
            distribution=choices["distribution"](loaded.alphabet),
            seed=choices["seed"],
            timeout=DEFAULT_TIMEOUT if choices["timeout"] is None else choices["timeout"],
            words=choices["words"],
            eta=choices["eta"],
            name=model.name,
            settings=learning_settings(choices, loaded.alphabet),
            progress=tell,
        )
    if choices["out"] is not None:
        comparison.save_report(choices["out"])
    if plot is not None:
        write_atomically(plot, comparison_chart(comparison, plot.suffix[1:]))
    say_lines(comparison.to_text())
