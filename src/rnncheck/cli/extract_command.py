"""``rnncheck extract | compare-surrogates``: automata that stand for a network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click

from rnncheck.automata.moore import MooreMachine
from rnncheck.cli.automaton_files import automaton_text
from rnncheck.cli.command import Command
from rnncheck.cli.learning_options import TimeLimit, learning_options, learning_settings, progress_text
from rnncheck.cli.options import (
    AlphabetType,
    ModelRequest,
    distribution_options,
    model_options,
    renamed_option,
    word_format_options,
)
from rnncheck.cli.output import say, say_lines
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.progress import progress_line
from rnncheck.errors import InputError
from rnncheck.extraction import DEFAULT_EXTRACTION, EXTRACTIONS
from rnncheck.extraction.extract import extract_automaton
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import write_atomically
from rnncheck.words import Alphabet


@click.command("extract", cls=Command)
@model_options
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files that do not say them.")
@click.option("--method", type=click.Choice(list(EXTRACTIONS)), default=DEFAULT_EXTRACTION, show_default=True,
              help="How the automaton is extracted.")  # fmt: skip
@renamed_option("--by", "--method")
@word_format_options
@learning_options
@distribution_options
@click.option("--states", type=click.IntRange(min=1), metavar="N", help="The best automaton of at most N states.")
@click.option("--curve", is_flag=True, help="Print the agreement of automata of other sizes, too.")
@click.option("--moore", is_flag=True, help="One machine that says all labels of the network.")
@click.option("-o", "--output", required=True, type=OutputFile(), metavar="FILE", help="A .dot or .json file.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    model: ModelRequest,
    alphabet: Alphabet | None,
    method: str,
    states: int | None,
    curve: bool,
    moore: bool,
    output: Path,
    **choices: Any,
) -> None:
    """Extract an automaton that answers like the network, except on words whose probability is below ε.

    Exits with 0 when it passed its test, with 3 when it did not, or when the time limit or a bound came first. What
    there is by then is written all the same, if there is anything.
    """
    if not moore:
        automaton_text(str(output))  # refuses a name of another kind before the work
    elif output.suffix not in (".dot", ".json"):
        raise InputError(f"{output}: a Moore machine is written as .dot or .json; name the file so")
    limit = TimeLimit(choices["timeout"])
    with progress_line(quiet=choices["quiet"]) as tell, _none_in_time(ctx):
        loaded = limit.load(model, alphabet, any_label=moore)
        extraction = extract_automaton(
            loaded,
            method=cast(Any, method),
            labels=moore,
            states=states,
            epsilon=choices["epsilon"],
            gamma=choices["gamma"],
            distribution=choices["distribution"](loaded.alphabet),
            seed=choices["seed"],
            timeout=limit.left,
            progress=lambda progress: tell(progress_text(progress)),
            settings=learning_settings(choices, loaded.alphabet),
        )
    automaton = extraction.automaton
    if isinstance(automaton, MooreMachine):
        from rnncheck.automata.formats.moore_files import machine_text

        write_atomically(output, machine_text(automaton, str(output)))
        say(f"{output}: {len(automaton)} states, labels {', '.join(automaton.labels)}")
    else:
        write_atomically(output, automaton_text(str(output))(automaton))
        say(f"{output}: {len(automaton)} states")
    say(f"  {extraction.sentence}")
    if method == "auto" and extraction.how:
        say(f"  {extraction.how}")
    if extraction.chosen:
        say(f"  {extraction.chosen}")
    say(f"  {extraction.agreement_sentence}")
    if extraction.cost is not None:
        cost = extraction.cost
        say(f"  {cost.seconds:.1f} s, {cost.membership_queries} queries, {cost.network_steps} network steps")
    if curve and extraction.curve is not None:
        say_lines("\n".join(f"  {size:>6} states  {agreement:.4f}  ({low:.4f} to {high:.4f})"
                            for size, agreement, low, high in extraction.curve.rows()))  # fmt: skip
    ctx.exit(0 if extraction.passed else 3)


@contextlib.contextmanager
def _none_in_time(ctx: click.Context) -> Iterator[None]:
    """Where the time ends before anything was learned, nothing is written, and that is not bad input."""
    try:
        yield
    except BudgetExceeded as end:
        say(f"no automaton: {end}", err=True)
        ctx.exit(3)
