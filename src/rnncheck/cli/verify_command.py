"""``rnncheck verify``: the main job."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rnncheck.cli.command import Command
from rnncheck.cli.learning_options import TimeLimit, learning_options
from rnncheck.cli.options import (
    ModelRequest,
    SpecRequest,
    assumption_options,
    distribution_options,
    model_options,
    optional_spec_options,
    relation_option,
    renamed_option,
    verdict_files,
    word_format_options,
)
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.verification_run import answer, put, search_fields
from rnncheck.extraction import DEFAULT_EXTRACTION, EXTRACTIONS
from rnncheck.models.delimiters import letters_read
from rnncheck.models.protocol import Model
from rnncheck.search.flows import FlowSettings
from rnncheck.spec import Spec
from rnncheck.verdict.value import Verdict
from rnncheck.verification.diff_models import diff as diff_models
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.methods import METHODS, PRINTED
from rnncheck.verification.verify import verify as verify_model
from rnncheck.verification.verify_settings import FAITHFUL, VerifySettings


@click.command("verify", cls=Command)
@model_options
@optional_spec_options
@click.option("--trace-ltlf", metavar="TEXT", help="A formula over letters and labels: 'G(a -> F label=alarm)'.")
@click.option("--trace-regex", metavar="TEXT", help="An expression over pairs: \"$label_idle* 'a/alarm'\".")
@click.option("--against", type=click.Path(), metavar="MODEL",
              help="Another model in the place of the specification; `rnncheck diff` tells more.")  # fmt: skip
@click.option("--method", type=click.Choice(list(METHODS)), default="auto", show_default=True)
@relation_option("subset: no false positives; superset: no false negatives.")
@click.option("--extraction", type=click.Choice(list(EXTRACTIONS)), default=DEFAULT_EXTRACTION, show_default=True,
              help="How --method aamc extracts its automaton.")  # fmt: skip
@renamed_option("--by", "--extraction")
@renamed_option("--moore-ltlf", "--trace-ltlf")
@renamed_option("--moore-regex", "--trace-regex")
@renamed_option("--mass", "--severity-samples")
@renamed_option("--hits", "--min-hits")
@word_format_options
@learning_options
@distribution_options
@assumption_options
@click.option("--exhaustive", type=click.IntRange(min=0), metavar="N", help="First ask every word of up to N letters.")
@click.option("--search-steps", type=click.IntRange(min=0), default=1_000_000, show_default=True,
              help="Network steps of guided search and repeated loops before auto says satisfied.")  # fmt: skip
@click.option("--counterexamples", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
              help="Show up to N, that break the specification at different edges of it.")  # fmt: skip
@click.option("--explain", type=click.FloatRange(min=0.0), metavar="SECONDS",
              help="Seconds for a shorter word, flows and severity.  [default: about 2, counted]")  # fmt: skip
@click.option("--severity-samples", type=click.IntRange(min=0), metavar="N",
              help="Measure the severity of a violation with N words.  [default: as --explain allows]")  # fmt: skip
@click.option("--on-data", type=click.Path(path_type=Path), metavar="FILE",
              help="Say which of your own sequences are violations (text, .csv, .jsonl).")  # fmt: skip
@click.option("--checkpoint", metavar="FILE", type=OutputFile(), help="Write the model's answers there now and then.")
@click.option("--resume", is_flag=True, help="Go on from the --checkpoint: the same verdict as without interruption.")
@click.option("--certificate", metavar="FILE", type=OutputFile(), help="Write the proof there, where it is proved.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes to share the sampled words among.")
@click.option("--cluster", metavar="ADDRESS", help="Share them on a Dask cluster: tcp://SCHEDULER:8786.")
@click.option(
    "--faithful",
    is_flag=True,
    help="The paper's algorithm as printed: L*, its numbers of words, whole words alone, nothing shrunk.",
)
@click.option("--no-shrink", is_flag=True, help="Show the counterexample as it was found.")
@click.option("--pumps", type=click.IntRange(min=0), default=100, show_default=True, help="0: look for no flows.")
@click.option(
    "--min-hits",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Report a faulty flow if more than N of its pumped words violate the property.",
)
@click.option(
    "--loops",
    type=click.IntRange(min=1),
    default=FlowSettings.loops,
    show_default=True,
    help="Loops tried at each place, as far as the steps for it lead.",
)
@click.option("--longest-loop", type=click.IntRange(min=1), default=FlowSettings.longest_loop, show_default=True)
@verdict_files
@click.pass_context
def command(ctx: click.Context, /, model: ModelRequest, request: SpecRequest, **choices: Any) -> None:
    """Does the network satisfy the specification?

    Exit codes: 0 satisfied, 1 violated, 2 bad usage or bad input, 3 undecided.
    """
    _check_one_spec(request, choices)
    _check_faithful(ctx, choices)
    answer(
        ctx,
        model,
        request,
        choices,
        lambda loaded: _spec(model, request, loaded, choices),
        lambda loaded, spec, limit: _verified(loaded, spec, limit, choices),
    )


def _verified(loaded: Model, spec: Spec | Model, limit: TimeLimit, choices: dict[str, Any]) -> Verdict:
    about_labels, against = _about_labels(choices), isinstance(spec, Model)
    flows = FlowSettings(choices["pumps"], choices["min_hits"], choices["loops"], choices["longest_loop"])
    settings = VerifySettings(
        **{**search_fields(choices, loaded.alphabet), **(FAITHFUL if choices["faithful"] else {})},
        extraction=choices["extraction"],
        flows=flows if choices["pumps"] else None,
        counterexamples=choices["counterexamples"],
        certificate=None if choices["certificate"] is None else str(choices["certificate"]),
    )
    if about_labels and (choices["workers"] is not None or choices["cluster"] is not None):
        raise click.UsageError("--workers and --cluster share yes-or-no questions; leave them out for labels")
    if against and (choices["workers"] is not None or choices["cluster"] is not None):
        raise click.UsageError("--workers and --cluster share the words of one network; leave them out with --against")
    sharing = _shared(loaded, choices["workers"], choices["cluster"], limit)
    with sharing as shared:
        asked = {**choices, "relation": "superset" if about_labels else choices["relation"]}
        return put(_asked(shared, spec, choices), loaded.alphabet, settings, limit, asked)


def _asked(model: Model, spec: Spec | Model, choices: dict[str, Any]) -> Callable[..., Verdict]:
    """Who answers: of one network, of its labels, or of two networks."""
    if isinstance(spec, Model):
        names = (choices["against"], choices["named"])
        return functools.partial(diff_models, spec, model, labels=False, names=names)
    return functools.partial(verify_labels if _about_labels(choices) else verify_model, model, spec)


def _about_labels(choices: dict[str, Any]) -> bool:
    return choices["trace_ltlf"] is not None or choices["trace_regex"] is not None


def _check_one_spec(request: SpecRequest, choices: dict[str, Any]) -> None:
    others = ("trace_ltlf", "trace_regex", "against")
    if request.given + sum(choices[name] is not None for name in others) != 1:
        raise click.UsageError(
            "give exactly one of --dfa, --regex, --ltlf, --word-list, --trace-ltlf, --trace-regex, --against"
        )
    if _about_labels(choices) and choices["relation"] != "subset":
        raise click.UsageError("--relation is about a language; a specification of labels holds of all words or not")


def _check_faithful(ctx: click.Context, choices: dict[str, Any]) -> None:
    """Refuse what is not in the paper, or says otherwise."""
    if not choices["faithful"]:
        return
    if choices["method"] not in PRINTED:
        raise click.UsageError(f"--faithful is about the paper's algorithms; give --method {', '.join(PRINTED)}")
    for name in ("learner", "bound", "equivalence", "exhaustive"):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--faithful sets what the paper prints; leave out --{name}")


def _spec(request: ModelRequest, spec: SpecRequest, model: Model, choices: dict[str, Any]) -> Spec | Model:
    """The specification: of words, over letters and labels, or another model."""
    if choices["against"] is not None:
        choices["named"] = request.name
        other = dataclasses.replace(request, path=choices["against"], module=None, state=None)
        return other.load(spec.alphabet or letters_read(model))
    if _about_labels(choices):
        return label_spec(model, ltlf=choices["trace_ltlf"], regex=choices["trace_regex"])
    return spec.build(model.alphabet)


@contextlib.contextmanager
def _shared(model: Model, workers: int | None, cluster: str | None, limit: TimeLimit) -> Iterator[Model]:
    """The model, its sampled words read by other processes or a cluster where that was asked for."""
    if workers is None and cluster is None:
        yield model
        return
    from rnncheck.models.distributed import distributed
    from rnncheck.runtime.executors import open_executor

    seconds = math.inf if limit.left is None else limit.left
    with open_executor(workers or 1, cluster, seconds=seconds) as executor:
        yield distributed(model, executor)
