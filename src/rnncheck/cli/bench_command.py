"""``rnncheck bench``: the paper's experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from rnncheck.cli.command import Group
from rnncheck.cli.interruption import Interrupted
from rnncheck.cli.options import cell_option, renamed_option
from rnncheck.cli.output import say, say_document, say_lines
from rnncheck.cli.progress import pieces_progress
from rnncheck.contacts.contact_files import SelfContacts
from rnncheck.errors import InputError
from rnncheck.extraction import DEFAULT_EXTRACTION, EXTRACTIONS
from rnncheck.learning import LEARNERS
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.probability.confidence import Bound, Confidence
from rnncheck.runtime.files import write_atomically
from rnncheck.search.flows import FlowSettings
from rnncheck.verification.methods import COMPARED

if TYPE_CHECKING:
    from rnncheck.experiments.folder import RunFolder
    from rnncheck.experiments.subjects import Source


@click.group("bench", cls=Group)
def command() -> None:
    """Repeat the paper's experiments, at any scale. A run that was interrupted is continued by the same command."""


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every experiment: what to ask, where to work, with how many hands."""
    options = [
        click.option("--out", required=True, type=click.Path(path_type=Path), help="The run's folder."),
        click.option("--method", "methods", multiple=True, type=click.Choice(COMPARED), help="May be repeated."),
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True),
        click.option("--epsilon", type=float, default=Confidence.epsilon, show_default=True),
        click.option("--gamma", type=float, default=Confidence.gamma, show_default=True),
        click.option("--bound", type=click.Choice([b.value for b in Bound]), default=Confidence.bound.value,
                     show_default=True),
        click.option("--learner", type=click.Choice(list(LEARNERS)), default=LearningSettings.learner,
                     show_default=True),
        click.option("--extraction", type=click.Choice(list(EXTRACTIONS)), default=DEFAULT_EXTRACTION,
                     show_default=True, help="How aamc extracts its automaton."),
        click.option("--stop", type=float, default=0.01, show_default=True,
                     help="A random word stops after each letter with this probability."),
        click.option("--min-hits", type=click.IntRange(min=0), default=FlowSettings.min_hits, show_default=True,
                     help="A flow has more than so many."),
        renamed_option("--hits", "--min-hits"),
        click.option("--no-shrink", is_flag=True, help="Keep counterexamples as they were found."),
        click.option("--faithful", is_flag=True, help="Each of smc, aamc, pdv also exactly as the paper prints it."),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes."),
        click.option("--cluster", metavar="ADDRESS", help="Work on a Dask cluster: tcp://SCHEDULER:8786."),
        click.option("--shard", metavar="I/N", help="Do only every N-th network; put together by `bench merge`."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def recipe_option(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--recipe", type=click.Choice(["ours", "paper"]), default="ours", show_default=True, help=meaning
    )


@command.command("random")
@click.option("--count", type=click.IntRange(min=1), default=5, show_default=True, help="Networks.")
@click.option("--states", type=click.IntRange(min=1), default=10, show_default=True, help="Of an automaton, at most.")
@click.option("--min-states", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--letters", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--specs", type=click.IntRange(min=1), default=5, show_default=True, help="A network, at most.")
@cell_option
@click.option("--hidden", type=click.IntRange(min=1), help="Dimensions of a layer.  [default: 20 a state]")
@click.option("--layers", type=click.IntRange(min=1), help="[default: 1 and one more for every 10 states]")
@click.option("--words", type=click.IntRange(min=10), default=10_000, show_default=True, help="To train and test with.")
@click.option("--accuracy", type=float, default=0.95, show_default=True, help="Networks not above it are drawn again.")
@click.option("--target-accuracy", type=float, default=0.99, show_default=True, help="Training stops there.")
@click.option("--draws", type=click.IntRange(min=1), default=10, show_default=True, help="Of a network, at most.")
@click.option("--train-seconds", type=float, default=3600.0, show_default=True, help="For a network, at most.")
@recipe_option("paper: one label a word, accuracy of the words trained with; ours: every prefix, of test words.")
@click.option("--paper", is_flag=True, help="The paper's sizes: 30 networks of at most 30 states.")
@click.option(
    "--models",
    metavar="FOLDER",
    help="Verify networks that exist, one folder each, or those of an earlier run, and train none.",
)
@run_options
@click.pass_context
def random(ctx: click.Context, /, **choices: Any) -> None:
    """Networks trained on random automata, each against several specifications, by every method (Table 1)."""
    from rnncheck.experiments.earlier_run import networks_in
    from rnncheck.experiments.random_automata import RandomAutomata

    shape = {
        name: choices.pop(name)
        for name in (
            "count", "states", "min_states", "letters", "specs", "cell", "hidden", "layers", "words", "accuracy",
            "target_accuracy", "draws", "recipe",
        )
    }  # fmt: skip
    shape["training_seconds"] = choices.pop("train_seconds")
    paper, models = choices.pop("paper"), choices.pop("models")
    if paper:
        changed = [
            name
            for name in ("count", "states", "letters", "specs", "cell", "hidden", "layers")
            if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        ]
        if changed or models:
            raise click.UsageError(f"--paper sets the sizes itself; leave out --{(changed or ['models'])[0]}")
        shape |= {"count": 30, "states": 30}
    source: Source = RandomAutomata(**shape, seed=choices["seed"]) if models is None else networks_in(models)
    run_and_show("random", source, **choices)


@command.command("contacts")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--synthetic", is_flag=True, help="Make up a network of contacts: needs nobody else's data.")
@click.option("--people", type=click.IntRange(min=2), default=30, show_default=True, help="With --synthetic.")
@click.option("--models", metavar="FOLDER", help="Verify networks that exist, one folder each, and train none.")
@click.option("--columns", metavar="NAMES", help="What the columns of the files are, as for `contacts info`.")
@click.option(
    "--self-contacts",
    type=click.Choice(get_args(SelfContacts)),
    default="auto",
    show_default=True,
    help="A person that meets itself, as for `contacts info`.",
)
@click.option(
    "--words", type=click.IntRange(min=10), help="To train with.  [default: two a contact; recipe paper: 300000]"
)
@cell_option
@click.option("--hidden", type=click.IntRange(min=1), help="[default: as many as people, at least 100]")
@click.option("--layers", type=click.IntRange(min=1), help="[default: 2 and one more for every 100 people]")
@click.option("--target-accuracy", type=float, default=0.99, show_default=True, help="Training stops there.")
@click.option(
    "--min-accuracy",
    type=float,
    default=0.0,
    show_default=True,
    help="A network that answers no more of its test words rightly is not verified.",
)
@click.option("--train-seconds", type=float, default=1800.0, show_default=True, help="For a network, at most.")
@recipe_option("paper: every step of a broken path may break, one label a word; ours: one break, every prefix.")
@click.option("--strict", is_flag=True, help="Times must increase along a path; without it they may stay equal.")
@run_options
def contacts(paths: tuple[str, ...], synthetic: bool, people: int, models: str | None, **choices: Any) -> None:
    """Networks that should recognise contact sequences, against the graph of all contacts (Table 2).

    PATHS are files of contacts, or folders of such files. With --models they only serve to say what a mistake means.
    """
    from rnncheck.experiments.contact_networks import ContactNetworks, ReleasedContactNetworks, contact_files

    if (synthetic and (paths or models)) or not (synthetic or paths or models):
        raise click.UsageError("give files of contacts, or --synthetic, or --models FOLDER")
    shape = {
        name: choices.pop(name)
        for name in (
            "columns", "self_contacts", "words", "cell", "hidden", "layers", "target_accuracy", "min_accuracy",
            "strict", "recipe",
        )
    }  # fmt: skip
    shape["training_seconds"] = choices.pop("train_seconds")
    files = tuple(file for path in paths for file in contact_files(path))
    source: Source
    if models is not None:
        source = ReleasedContactNetworks(models, files)
    else:
        source = ContactNetworks(files=files, synthetic=synthetic, people=people, seed=choices["seed"], **shape)
    run_and_show("contacts", source, **choices)


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "csv", "json", "latex"]), default="text")
@click.option("--plots", "plot_folder", type=click.Path(path_type=Path), help="Draw the plots into this folder.")
def summary(folder: Path, form: str, plot_folder: Path | None) -> None:
    """The table of a run, finished or not."""
    from rnncheck.experiments.folder import RunFolder

    _show(RunFolder.existing(folder), form, plot_folder)


@command.command()
@click.argument("shards", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder of the whole run.")
def merge(shards: tuple[Path, ...], out: Path) -> None:
    """Put the shards of a run together, and show the table."""
    from rnncheck.experiments.merge import merge as merge_shards

    _show(merge_shards(shards, out), "text", None)


def run_and_show(
    kind: str,
    source: Source,
    *,
    out: Path,
    methods: tuple[str, ...],
    timeout: float,
    faithful: bool,
    bound: str,
    no_shrink: bool,
    workers: int,
    cluster: str | None,
    shard: str | None,
    quiet: bool,
    **numbers: Any,
) -> None:
    """Do what is left of a run, and show its table."""
    import msgspec

    from rnncheck.experiments.folder import RunFolder
    from rnncheck.experiments.runner import Questions, Shard, as_printed, run_experiment
    from rnncheck.runtime.executors import open_executor

    chosen: tuple[str, ...] = tuple(dict.fromkeys(methods)) or COMPARED
    questions = Questions(
        methods=as_printed(chosen) if faithful else chosen,
        timeout=timeout,
        bound=Bound(bound),
        shrink=not no_shrink,
        **numbers,
    )
    part = None if shard is None else Shard.parse(shard)
    settings = msgspec.to_builtins(questions) | {"source": msgspec.to_builtins(source)}
    folder = RunFolder.begun(out, kind, settings, None if part is None else str(part), source.names())
    with _interruptible(out), open_executor(workers, cluster) as executor, pieces_progress(quiet=quiet) as tell:
        run_experiment(folder, source, questions, executor, shard=part, resumable=cluster is None, progress=tell)
    _show(folder, "text", None)


@contextmanager
def _interruptible(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as end:
        raise Interrupted(f"interrupted; the same command continues the run in {out}") from end


def _show(folder: RunFolder, form: str, plot_folder: Path | None) -> None:
    from rnncheck.experiments.run_results import read_results
    from rnncheck.experiments.table import render

    run = read_results(folder)
    if plot_folder is not None:
        from rnncheck.report.charts.run_charts import plots

        try:
            plot_folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{plot_folder}: cannot be made: {error.strerror or error}") from None
        for name, content in plots(run).items():
            write_atomically(plot_folder / name, content)
            say(str(plot_folder / name), err=True)
    (say_lines if form == "text" else say_document)(render(run, form))
