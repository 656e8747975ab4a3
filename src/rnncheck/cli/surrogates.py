"""``rnncheck compare-surrogates``, and ``extract --moore``: automata that stand for a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rnncheck.cli.options import (
    ModelRequest,
    OutputFile,
    SpecRequest,
    distribution_options,
    model_options,
    optional_spec_options,
)
from rnncheck.cli.progress import progress_line
from rnncheck.errors import InputError
from rnncheck.extraction.agreement import DEFAULT_WORDS
from rnncheck.extraction.compare import DEFAULT_ETA, DEFAULT_TIMEOUT
from rnncheck.extraction.registry import ROADS
from rnncheck.learning import DEFAULT_LEARNER, LEARNERS
from rnncheck.models.protocol import Model
from rnncheck.runtime.files import write_atomically
from rnncheck.verification.settings import VerifySettings

# Options of extract that would be ignored with --moore.
_NOT_FOR_MACHINES = {"by": "--by", "bound": "--bound", "known_words": "--known-words", "memory": "--memory"}


def _sureness(command: Any) -> Any:
    for option in reversed(
        [
            click.option("--epsilon", type=float, default=5e-4, show_default=True,
                         help="The probability of a difference to stay below."),
            click.option("--gamma", type=float, default=5e-4, show_default=True, help="One minus the confidence."),
            click.option("--learner", type=click.Choice(list(LEARNERS)), default=DEFAULT_LEARNER, show_default=True),
            click.option("--max-hypothesis", type=click.IntRange(min=2), default=2000, show_default=True,
                         help="States of the learned automaton at most."),
            click.option("--max-query", type=click.IntRange(min=2), help="Letters of a learner's question at most."),
            click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


@click.command("compare-surrogates")
@model_options
@optional_spec_options
@click.option("--road", "roads", multiple=True, type=click.Choice(list(ROADS)),
              help="Only this road; may be repeated.  [default: all]")  # fmt: skip
@click.option("--relation", type=click.Choice(["subset", "superset", "equal"]), default="subset", show_default=True)
@_sureness
@distribution_options
@click.option("--timeout", type=click.FloatRange(min=0), default=DEFAULT_TIMEOUT, show_default=True, metavar="SECONDS",
              help="For each road.")  # fmt: skip
@click.option("--words", type=click.IntRange(min=1), default=DEFAULT_WORDS, show_default=True,
              help="Fresh words to measure agreement with.")  # fmt: skip
@click.option("--eta", type=float, default=DEFAULT_ETA, show_default=True,
              help="The probability that a small automaton may leave unexplained.")  # fmt: skip
@click.option("--out", type=OutputFile(), metavar="FILE.html", help="Write the table as a page.")
@click.option("--plot", type=OutputFile(), metavar="FILE.png|svg", help="Write the plot.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def compare_surrogates(model: ModelRequest, request: SpecRequest, **choices: Any) -> None:
    """Go every road from the network to an automaton, and put what they came to side by side."""
    from rnncheck.extraction.compare import compare_surrogates as compare

    plot: Path | None = choices["plot"]
    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise InputError(f"{plot}: a plot is written as .png or .svg; name the file so")
    loaded = model.load(request.alphabet)
    with progress_line(quiet=choices["quiet"]) as tell:
        comparison = compare(
            loaded,
            request.build(loaded.alphabet) if request.given else None,
            roads=choices["roads"] or tuple(ROADS),
            relation=choices["relation"],
            epsilon=choices["epsilon"],
            gamma=choices["gamma"],
            distribution=choices["distribution"](loaded.alphabet),
            seed=choices["seed"],
            timeout=choices["timeout"],
            words=choices["words"],
            eta=choices["eta"],
            name=model.name,
            settings=VerifySettings(
                learner=choices["learner"], max_states=choices["max_hypothesis"], max_query_length=choices["max_query"]
            ),
            progress=tell,
        )
    click.echo(comparison.to_text(), nl=False)
    if choices["out"] is not None:
        write_atomically(choices["out"], comparison.to_html())
    if plot is not None:
        write_atomically(plot, comparison.plot(plot.suffix[1:]))


def write_machine(model: Model, output: str, choices: dict[str, Any]) -> int:
    """Learn the machine of all labels and write it: 0 when it passed its test, 3 when time or a bound came first."""
    from rnncheck.automata.formats.moore_files import machine_text
    from rnncheck.verification.labels import extract_machine

    if not output.endswith((".dot", ".json")):
        raise InputError(f"{output}: a Moore machine is written as .dot or .json; name the file so")
    context = click.get_current_context()
    for name, option in _NOT_FOR_MACHINES.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{option} has no say in a Moore machine, which is learned from answers; leave it out"
            )
    extraction = extract_machine(
        model,
        epsilon=choices["epsilon"],
        gamma=choices["gamma"],
        distribution=choices["distribution"](model.alphabet),
        seed=choices["seed"],
        timeout=choices["timeout"],
        learner=choices["learner"],
        max_states=choices["max_hypothesis"],
        max_query_length=choices["max_query"],
    )
    if extraction.machine is None:
        click.echo(f"no machine: {extraction.sentence}", err=True)
    else:
        write_atomically(output, machine_text(extraction.machine, output))
        labels = ", ".join(extraction.machine.labels)
        click.echo(f"{output}: {len(extraction.machine)} states, labels {labels}")
        click.echo(f"  {extraction.sentence}")
    return 0 if extraction.passed else 3
