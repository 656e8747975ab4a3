"""``rnncheck bench``: the paper's experiments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rnncheck.cli.command import Group
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.interruption import Interrupted
from rnncheck.cli.output import say, say_document
from rnncheck.cli.progress import pieces_progress
from rnncheck.cli.results import show_result
from rnncheck.errors import InputError
from rnncheck.probability.confidence import Bound
from rnncheck.runtime.files import write_atomically
from rnncheck.verification.methods import COMPARED

if TYPE_CHECKING:
    from rnncheck.experiments.folder import RunFolder
    from rnncheck.experiments.run_results import RunResults
    from rnncheck.experiments.subjects import Source

_HELP = "Run the paper's experiments, at any scale. The same command continues a run that was interrupted."
_TRAINED = ("words", "cell", "hidden", "layers", "target_accuracy", "recipe")


@make_command("bench random")
def random(options: GivenOptions) -> None:
    """Networks trained on random automata, each against several specifications, by every method (Table 1)."""
    from rnncheck.experiments.networks_of_a_run import networks_in
    from rnncheck.experiments.random_automata import RandomAutomata

    shape = options.pick(*_TRAINED, "count", "states", "min_states", "letters", "specs", "accuracy", "draws")
    models = options["models"]
    if options["paper"]:
        sizes = ("count", "states", "letters", "specs", "cell", "hidden", "layers")
        changed = [name for name in sizes if options.typed(name)]
        if changed or models:
            raise click.UsageError(f"--paper sets the sizes itself; leave out --{(changed or ['models'])[0]}")
        shape |= {"count": 30, "states": 30}
    source: Source = (
        RandomAutomata(**shape, training_seconds=options["train_seconds"], seed=options["seed"])
        if models is None
        else networks_in(models)
    )
    _run_and_show("random", source, options)


@make_command("bench contacts", click.Argument(["paths"], nargs=-1, type=click.Path()))
def contacts(options: GivenOptions) -> None:
    """Networks that should recognise contact sequences, against the graph of all contacts (Table 2).

    PATHS are files of contacts, or folders of such files. With --models they only explain what a mistake means.
    """
    from rnncheck.experiments.contact_networks import ContactNetworks, ReleasedContactNetworks, contact_files

    paths, synthetic, models = options["paths"], options["synthetic"], options["models"]
    if (synthetic and (paths or models)) or not (synthetic or paths or models):
        raise click.UsageError("give files of contacts, or --synthetic, or --models FOLDER")
    files = tuple(file for path in paths for file in contact_files(path))
    source: Source
    if models is not None:
        source = ReleasedContactNetworks(models, files)
    else:
        source = ContactNetworks(
            files=files,
            training_seconds=options["train_seconds"],
            **options.pick(
                *_TRAINED, "synthetic", "people", "seed", "columns", "self_contacts", "min_accuracy", "strict"
            ),
        )
    _run_and_show("contacts", source, options)


@make_command("bench summary", click.Argument(["folder"], type=click.Path(path_type=Path)))
def summary(options: GivenOptions) -> None:
    """The table of a run, finished or not."""
    from rnncheck.experiments.folder import RunFolder

    _show(options, RunFolder.existing(options["folder"]), options["format"], options["plots"])


@make_command("bench merge", click.Argument(["shards"], nargs=-1, required=True, type=click.Path(path_type=Path)))
def merge(options: GivenOptions) -> None:
    """Join the shards of a run, and show the table."""
    from rnncheck.experiments.merge import merge as merge_shards

    _show(options, merge_shards(options["shards"], options["out"]))


command = Group("bench", commands=[random, contacts, summary, merge], help=_HELP)


def _run_and_show(kind: str, source: Source, options: GivenOptions) -> None:
    """Do the rest of a run, and show its table."""
    import msgspec

    from rnncheck.experiments.folder import RunFolder
    from rnncheck.experiments.runner import Questions, Shard, as_printed, run_experiment
    from rnncheck.runtime.executors import open_executor

    chosen: tuple[str, ...] = tuple(dict.fromkeys(options["method"])) or COMPARED
    questions = Questions(
        methods=as_printed(chosen) if options["faithful"] else chosen,
        bound=Bound(options["bound"]),
        shrink=not options["no_shrink"],
        **options.pick("timeout", "epsilon", "gamma", "learner", "extraction", "stop", "min_hits", "seed"),
    )
    out, shard, cluster = options["out"], options["shard"], options["cluster"]
    part = None if shard is None else Shard.parse(shard)
    settings = msgspec.to_builtins(questions) | {"source": msgspec.to_builtins(source)}
    folder = RunFolder.begun(out, kind, settings, None if part is None else str(part), source.names())
    with (
        _interruptible(out),
        open_executor(options["workers"], cluster) as executor,
        pieces_progress(quiet=options["quiet"]) as show,
    ):
        run_experiment(folder, source, questions, executor, shard=part, resumable=cluster is None, progress=show)
    _show(options, folder)


@contextmanager
def _interruptible(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as end:
        raise Interrupted(f"interrupted; the same command continues the run in {out}") from end


def _show(options: GivenOptions, folder: RunFolder, form: str = "text", plot_folder: Path | None = None) -> None:
    from rnncheck.experiments.run_results import read_results
    from rnncheck.experiments.table import render

    run = read_results(folder)
    if plot_folder is not None:
        _write_plots(run, plot_folder)

    def write_report(path: Path) -> None:
        from rnncheck.report.page import page_of

        write_atomically(path, page_of(run))

    text = render(run, form)
    lines = text.removesuffix("\n").split("\n") if form == "text" else ()
    show_result(options, render(run, "json"), lines, [(options["report"], write_report)])
    if form != "text" and str(options["json"]) != "-":
        say_document(text)


def _write_plots(run: RunResults, folder: Path) -> None:
    from rnncheck.report.charts.run_charts import plots

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}") from None
    for name, content in plots(run).items():
        write_atomically(folder / name, content)
        say(str(folder / name), err=True)
