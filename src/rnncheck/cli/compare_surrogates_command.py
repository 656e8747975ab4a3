"""``rnncheck compare-surrogates``: all extraction methods side by side."""

from __future__ import annotations

from pathlib import Path

from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.learning_request import learning_settings
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import result_document, show_result
from rnncheck.cli.spec_request import SpecRequest
from rnncheck.cli.word_requests import check_distribution, distribution
from rnncheck.errors import InputError
from rnncheck.extraction.compare import DEFAULT_TIMEOUT, compare_surrogates
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.runtime.files import write_atomically


@make_command("compare-surrogates", model_argument())
def command(options: GivenOptions) -> None:
    """Extract an automaton by every method, each with the same time, and show the results side by side."""
    model, request = ModelRequest.of(options), SpecRequest.of(options, required=False)
    check_distribution(options)
    plot = options["plot"]
    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise InputError(f"{plot}: a plot is written as .png or .svg; name the file so")
    loaded = model.load(request.alphabet)
    with progress_line(quiet=options["quiet"]) as show:
        comparison = compare_surrogates(
            loaded,
            request.build(loaded.alphabet) if request.given else None,
            methods=options["method"] or None,
            timeout=DEFAULT_TIMEOUT if options["timeout"] is None else options["timeout"],
            distribution=distribution(options, loaded.alphabet),
            name=model.name,
            settings=learning_settings(options, loaded.alphabet, LearningSettings),
            progress=show,
            **options.pick("relation", "epsilon", "gamma", "seed", "words", "eta"),
        )

    def write_plot(path: Path) -> None:
        from rnncheck.report.charts.comparison_chart import comparison_chart

        write_atomically(path, comparison_chart(comparison, path.suffix[1:]))

    document = result_document(options, comparison=comparison)
    files = [(options["report"], comparison.save_report), (plot, write_plot)]
    show_result(options, document, comparison.to_text().removesuffix("\n").split("\n"), files)
