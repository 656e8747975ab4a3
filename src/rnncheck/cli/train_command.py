"""``rnncheck train``: a network from a specification or from labelled words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rnncheck.cli.certified_networks import check_name, labelled_words, progress_text, write_network
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.interruption import exit_code_of
from rnncheck.cli.output_files import write_or_rescue
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import result_document, setting_lines, show_result
from rnncheck.cli.spec_request import SpecRequest
from rnncheck.models.cells import Cell
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec

if TYPE_CHECKING:
    from rnncheck.training import TrainedNetwork


@make_command("train")
def command(options: GivenOptions) -> int:
    """Train a recurrent network on a specification or on labelled words, and write it as .safetensors.

    With --provable the exit code is 0 if the proof closes, 1 if the network that was written is wrong on a word, which
    is shown, and 3 if neither is known. Ctrl-C and SIGTERM write the best network so far; the exit code is then 130.
    """
    from rnncheck.models.files.safetensors_file import save_network
    from rnncheck.training.curriculum import Ending

    request = SpecRequest.of(options, required=False)
    if request.given == (options["words"] is not None):
        raise click.UsageError("give a specification (--dfa, --regex, --ltlf or --word-list), or --words FILE")
    check_name(options["output"])
    if options["provable"]:
        return _train_provably(options, request)
    trained = _train(options, request)
    troubles: list[str] = []
    place = write_or_rescue(options["output"], lambda path: save_network(trained.network, path), troubles)
    report, where = trained.report, "not written" if place is None else place
    lines = [
        f"{where}: {report.test_accuracy:.2%} of {report.sizes['test']} test words right",
        f"  {report.ending.value}; {report.epochs} epochs, {report.seconds:.1f} s",
        *(f"  {line}" for line in report.sentences()),
        *(f"  note: {note}" for note in report.notes),
        *setting_lines(options, report.settings),
    ]
    document = result_document(options, output=None if place is None else str(place), report=report)
    show_result(options, document, lines, troubles=troubles)
    # After an interruption the file is written, and the work is unfinished.
    return exit_code_of(None) if report.ending is Ending.INTERRUPTED else 0


def _train(options: GivenOptions, request: SpecRequest) -> TrainedNetwork:
    from rnncheck.training import TrainingSettings, train_on_automaton, train_on_words

    settings = options.settings(TrainingSettings, cell=Cell(options["cell"]), **options.pick("timeout", "seed"))
    with progress_line(quiet=options["quiet"]) as show:
        running: dict[str, Any] = {
            "settings": settings,
            **options.pick("checkpoint", "resume"),
            "progress": lambda p: show(
                f"epoch {p.epoch}/{p.epochs}  loss {p.loss:.4f}  accuracy {p.accuracy:.2%}  words up to {p.longest} "
                f"letters  {p.seconds:.0f} s"
            ),
        }
        if not request.given:
            words = labelled_words(options, request.alphabet)
            return train_on_words(words, label=options["label"], source=str(options["words"]), **running)
        spec = request.build()
        return train_on_automaton(
            spec.dfa,
            distribution=WordDistribution(spec.alphabet, stop=options["stop"]),
            words=options["count"],
            **options.pick("balance", "pumped"),
            **running,
        )


def _train_provably(options: GivenOptions, request: SpecRequest) -> int:
    from rnncheck.training import HardeningSettings, automaton_from_words, train_provable

    if options["words"] is None:
        spec = request.build()
    else:
        words = labelled_words(options, request.alphabet)
        spec = Spec.from_dfa(automaton_from_words(words), origin=str(options["words"]))
    with progress_line(quiet=options["quiet"]) as show:
        made = train_provable(
            spec.dfa,
            cell=Cell(options["cell"]),
            settings=options.settings(HardeningSettings, **options.pick("timeout", "seed", "threads")),
            progress=lambda progress: show(progress_text(progress)),
            rules=not options["no_rules"],
            **options.pick("hidden", "layers", "embedding"),
        )
    return write_network(options, made, spec)
