"""``rnncheck verify | extract``: the main job and its by-product."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rnncheck.automata.language import all_words
from rnncheck.cli.options import (
    AlphabetType,
    ModelRequest,
    OutputFile,
    SpecRequest,
    distribution_options,
    model_options,
    optional_spec_options,
)
from rnncheck.cli.progress import progress_line
from rnncheck.cli.verdict_text import described, described_by_labels
from rnncheck.errors import InputError, RnncheckError
from rnncheck.extraction.extract import extract_automaton
from rnncheck.extraction.registry import DEFAULT_ROAD, ROADS
from rnncheck.learning import DEFAULT_LEARNER, LEARNERS
from rnncheck.models.protocol import Model
from rnncheck.models.traces import TraceModel
from rnncheck.probability.statistics import Bound
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.files import write_atomically
from rnncheck.runtime.watchdog import patience
from rnncheck.search.flows import FlowSettings
from rnncheck.spec import Spec
from rnncheck.verdict.value import Verdict
from rnncheck.verification.labels import label_spec, label_trace, trace_model, with_labels
from rnncheck.verification.settings import Progress, VerifySettings
from rnncheck.verification.verify import DEFAULT_METHOD, METHODS
from rnncheck.verification.verify import verify as verify_model
from rnncheck.word_files import read_words
from rnncheck.words import Alphabet

_NOT_REPEATED = {"json_file", "report", "quiet", "threads", "workers", "cluster", "checkpoint", "resume"}


def _probability(name: str, default: float, text: str) -> Any:
    return click.option(name, type=float, default=default, show_default=True, help=text)


def _sampling(command: Any) -> Any:
    """Options about how sure to be and how long to take."""
    for option in reversed(
        [
            _probability("--epsilon", 5e-4, "The probability of a violation to stay below."),
            _probability("--gamma", 5e-4, "One minus the confidence."),
            click.option("--bound", type=click.Choice([b.value for b in Bound]), default="exact", show_default=True),
            click.option("--learner", type=click.Choice(list(LEARNERS)), default=DEFAULT_LEARNER, show_default=True),
            click.option("--by", type=click.Choice(list(ROADS)), default=DEFAULT_ROAD, show_default=True,
                         help="How an automaton is extracted (extract, and --method aamc)."),
            click.option("--max-hypothesis", type=click.IntRange(min=1), default=2000, show_default=True,
                         help="States of the learned automaton at most."),
            click.option("--max-query", type=click.IntRange(min=1), help="Letters of a learner's question at most."),
            click.option("--known-words", type=click.Path(path_type=Path), metavar="FILE",
                         help="Words to start the learner with."),
            click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
            click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop after so long."),
            click.option("--memory", type=click.FloatRange(min=0, max=1 << 30), default=1024, show_default=True,
                         metavar="MIB", help="Memory for remembered answers and states."),
            click.option("--quiet", is_flag=True, help="No progress on stderr."),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@model_options
@optional_spec_options
@click.option("--moore-ltlf", metavar="TEXT", help="A formula over letters and labels: 'G(a -> F label=alarm)'.")
@click.option("--moore-regex", metavar="TEXT", help="An expression over pairs: \"$label_idle* 'a/alarm'\".")
@click.option("--method", type=click.Choice(list(METHODS)), default=DEFAULT_METHOD, show_default=True)
@click.option(
    "--relation",
    type=click.Choice(["subset", "superset", "equal"]),
    default="subset",
    show_default=True,
    help="subset: no false positives; superset: no false negatives.",
)
@_sampling
@distribution_options
@click.option("--exhaustive", type=click.IntRange(min=0), metavar="N", help="First ask every word of up to N letters.")
@click.option("--search-steps", type=click.IntRange(min=0), default=1_000_000, show_default=True,
              help="Network steps that auto spends on its guided search before it says satisfied.")  # fmt: skip
@click.option("--mass", type=click.IntRange(min=0), default=0, metavar="N", help="Estimate how bad it is with N words.")
@click.option("--checkpoint", metavar="FILE", type=OutputFile(), help="Write the model's answers there now and then.")
@click.option("--resume", is_flag=True, help="Go on from the --checkpoint: the same verdict as without interruption.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes to share the sampled words among.")
@click.option("--cluster", metavar="ADDRESS", help="Share them on a Dask cluster: tcp://SCHEDULER:8786.")
@click.option("--no-shrink", is_flag=True, help="Show the counterexample as it was found.")
@click.option("--pumps", type=click.IntRange(min=0), default=100, show_default=True, help="0: look for no flows.")
@click.option("--hits", type=click.IntRange(min=0), default=20, show_default=True, help="A flow has more than so many.")
@click.option("--loops", type=click.IntRange(min=1), default=8, show_default=True, help="Loops tried at each place.")
@click.option("--longest-loop", type=click.IntRange(min=1), default=8, show_default=True)
@click.option("--json", "json_file", metavar="FILE", type=OutputFile(dash=True),
              help="Write the verdict as JSON; `-` prints it alone.")  # fmt: skip
@click.option("--report", metavar="FILE.html", type=OutputFile(),
              help="Write the report: one HTML file that opens offline.")  # fmt: skip
@click.pass_context
def verify(ctx: click.Context, /, model: ModelRequest, request: SpecRequest, **choices: Any) -> None:
    """Does the network satisfy the specification?

    Exit codes: 0 satisfied, 1 violated, 2 bad usage or bad input, 3 undecided.
    """
    loaded = _loaded_in_time(model, request.alphabet, choices["timeout"])
    labelled = _label_question(request, loaded, choices)
    subject, spec = labelled or (loaded, request.build(loaded.alphabet))
    flows = FlowSettings(choices["pumps"], choices["hits"], choices["loops"], choices["longest_loop"])
    settings = VerifySettings(
        **_common_settings(choices),
        exhaustive=choices["exhaustive"],
        search_steps=choices["search_steps"],
        shrink=not choices["no_shrink"],
        flows=flows if choices["pumps"] else None,
        mass_words=choices["mass"],
        checkpoint=None if choices["checkpoint"] is None else str(choices["checkpoint"]),
        resume=choices["resume"],
    )
    sharing = _shared(subject, choices.pop("workers"), choices.pop("cluster"))
    with sharing as shared, progress_line(quiet=choices["quiet"]) as tell:
        verdict = verify_model(
            shared,
            spec,
            method=choices["method"],
            relation="superset" if labelled else choices["relation"],
            epsilon=choices["epsilon"],
            gamma=choices["gamma"],
            distribution=choices["distribution"](loaded.alphabet),
            seed=choices["seed"],
            timeout=choices["timeout"],
            progress=lambda progress: tell(_progress_text(progress)),
            settings=settings,
        )
    if labelled:
        verdict = with_labels(verdict, labelled[0])
    verdict = dataclasses.replace(verdict, command=_command_line(ctx))
    trace = label_trace(loaded, verdict.counterexample) if labelled and verdict.counterexample is not None else None
    lines = described_by_labels(verdict, trace) if labelled else described(verdict)
    _tell(verdict, choices["json_file"], choices["report"], lines)
    ctx.exit(verdict.exit_code)


def _loaded_in_time(model: ModelRequest, alphabet: Alphabet | None, timeout: float | None) -> Model:
    """The model, which is tried out on some words when it is loaded: one that hangs there is given up, too."""
    end = Budget.lasting(timeout)
    with patience(end.remaining):
        return model.load(alphabet)


def _label_question(request: SpecRequest, model: Model, choices: dict[str, Any]) -> tuple[TraceModel, Spec] | None:
    """The model of right traces and the property of all words, where the specification speaks of labels."""
    ltlf, regex = choices.pop("moore_ltlf"), choices.pop("moore_regex")
    given = [request.given, ltlf is not None, regex is not None]
    if sum(given) != 1:
        raise click.UsageError("give exactly one of --dfa, --regex, --ltlf, --moore-ltlf, --moore-regex")
    if request.given:
        return None
    if choices["relation"] != "subset":
        raise click.UsageError("--relation is about a language; a specification of labels holds of all words or not")
    every_word = Spec.from_dfa(all_words(model.alphabet), origin="every word")
    return trace_model(model, label_spec(model, ltlf=ltlf, regex=regex)), every_word


def _command_line(ctx: click.Context) -> str:
    """The command that asks the same again: what was given, without where the results went."""
    words = ["rnncheck", "verify"]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name in _NOT_REPEATED or ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[name]
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(parameter.opts[0])
        else:
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], str(one)]
    return shlex.join(words)


def _common_settings(choices: dict[str, Any]) -> dict[str, Any]:
    known = () if choices["known_words"] is None else tuple(read_words(choices["known_words"]))
    if math.isnan(choices["memory"]):
        raise click.UsageError("--memory nan is no number of MiB; give one, such as 1024")
    return {
        "learner": choices["learner"],
        "by": choices["by"],
        "bound": Bound(choices["bound"]),
        "max_states": choices["max_hypothesis"],
        "max_query_length": choices["max_query"],
        "memory_limit": int(choices["memory"] * 2**20),
        "known_words": known,
    }


def _progress_text(progress: Progress) -> str:
    parts = [f"{progress.method}  {progress.seconds:.0f} s"]
    if progress.states is not None:
        parts.append(f"round {progress.rounds}, {progress.states} states")
    parts.append(f"{progress.words}/{progress.words_needed} words sampled")
    if progress.exact_length is not None:
        parts.append(f"exact up to {progress.exact_length}")
    parts.append(f"{progress.membership_queries} queries")
    if progress.remaining != float("inf"):
        parts.append(f"{progress.remaining:.0f} s left")
    return "  ".join(parts)


def _tell(verdict: Verdict, json_file: Path | None, report: Path | None, lines: list[str]) -> None:
    """Say it first, and then write: a disk that is full by now takes no verdict away."""
    if str(json_file) == "-":
        click.echo(verdict.to_json(), nl=False)
    else:
        for line in lines:
            click.echo(line)
    troubles: list[str] = []
    if json_file is not None and str(json_file) != "-":
        with _collected(troubles):
            write_atomically(json_file, verdict.to_json())
    if report is not None:
        with _collected(troubles):
            verdict.save_report(report)
            click.echo(f"report written to {report}", err=True)
    if troubles:
        raise InputError("; ".join(troubles))


@contextlib.contextmanager
def _collected(troubles: list[str]) -> Iterator[None]:
    try:
        yield
    except RnncheckError as error:
        troubles.append(str(error))


@contextlib.contextmanager
def _shared(model: Model, workers: int | None, cluster: str | None) -> Iterator[Model]:
    """The model, its sampled words read by other processes or a cluster where that was asked for."""
    if workers is None and cluster is None:
        yield model
        return
    from rnncheck.models.distributed import distributed
    from rnncheck.runtime.executors import open_executor

    with open_executor(workers or 1, cluster) as executor:
        yield distributed(model, executor)


@click.command()
@model_options
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files that do not say them.")
@_sampling
@distribution_options
@click.option("--moore", is_flag=True, help="One machine that says all labels of the network.")
@click.option("-o", "--output", required=True, type=OutputFile(), metavar="FILE", help="A .dot or .json file.")
@click.pass_context
def extract(
    ctx: click.Context, /, model: ModelRequest, alphabet: Alphabet | None, output: Path, **choices: Any
) -> None:
    """Learn an automaton that answers like the network, except on words of probability ε.

    Exits with 0 when it passed its test, with 3 when the time limit or a bound came first (it is written all the same).
    """
    from rnncheck.cli.spec import automaton_text
    from rnncheck.cli.surrogates import write_machine

    if choices.pop("moore"):
        ctx.exit(write_machine(model.load(alphabet), str(output), choices))
    render = automaton_text(str(output))
    loaded = _loaded_in_time(model, alphabet, choices["timeout"])
    with progress_line(quiet=choices["quiet"]) as tell:
        extraction = extract_automaton(
            loaded,
            epsilon=choices["epsilon"],
            gamma=choices["gamma"],
            distribution=choices["distribution"](loaded.alphabet),
            seed=choices["seed"],
            timeout=choices["timeout"],
            progress=lambda progress: tell(_progress_text(progress)),
            settings=VerifySettings(**_common_settings(choices)),
        )
    write_atomically(output, render(extraction.automaton))
    click.echo(f"{output}: {len(extraction.automaton)} states")
    click.echo(f"  {extraction.sentence}")
    ctx.exit(0 if extraction.passed else 3)
