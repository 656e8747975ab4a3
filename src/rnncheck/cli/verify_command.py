"""``rnncheck verify``: does a network satisfy a property?"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator

import click

from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.spec_request import SpecRequest
from rnncheck.cli.time_limit import TimeLimit
from rnncheck.cli.verification_run import answer, ask, verify_settings
from rnncheck.cli.word_requests import check_distribution
from rnncheck.models.delimiters import letters_read
from rnncheck.models.protocol import Model
from rnncheck.search.flows import FlowSettings
from rnncheck.spec import Spec
from rnncheck.verdict.value import Verdict
from rnncheck.verification.diff_models import diff
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.methods import PRINTED
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import FAITHFUL

_SPECS_BESIDE = ("trace_ltlf", "trace_regex", "against")


@make_command("verify", model_argument())
def command(options: GivenOptions) -> int:
    """Does the network satisfy the specification?

    Exit codes: 0 satisfied, 1 violated, 2 bad usage or bad input, 3 undecided.
    """
    model, request = ModelRequest.of(options), SpecRequest.of(options, required=False)
    _check_one_spec(options, request)
    _check_faithful(options)
    check_distribution(options)
    return answer(
        options,
        model,
        request,
        lambda loaded: _spec(options, model, request, loaded),
        lambda loaded, spec, limit: _verify(options, model, loaded, spec, limit),
        any_label=_about_labels(options),
    )


def _verify(
    options: GivenOptions, request: ModelRequest, loaded: Model, spec: Spec | Model, limit: TimeLimit
) -> Verdict:
    about_labels = _about_labels(options)
    settings = verify_settings(
        options,
        loaded.alphabet,
        **(FAITHFUL if options["faithful"] else {}),
        flows=options.settings(FlowSettings) if options["pumps"] else None,
        certificate=None if options["certificate"] is None else str(options["certificate"]),
    )
    shared = options["workers"] is not None or options["cluster"] is not None
    if about_labels and shared:
        raise click.UsageError("--workers and --cluster share yes-or-no questions; leave them out for labels")
    if isinstance(spec, Model) and shared:
        raise click.UsageError("--workers and --cluster share the words of one network; leave them out with --against")
    with _sharing_model(options, loaded, limit) as model:
        question = _question(options, request, model, spec)
        relation = "superset" if about_labels else options["relation"]
        return ask(question, options, loaded.alphabet, settings, limit, relation=relation)


def _question(options: GivenOptions, request: ModelRequest, model: Model, spec: Spec | Model) -> Callable[..., Verdict]:
    """The function that answers: about one network, its labels, or two networks."""
    if isinstance(spec, Model):
        return functools.partial(diff, spec, model, labels=False, names=(options["against"], request.name))
    return functools.partial(verify_labels if _about_labels(options) else verify, model, spec)


def _about_labels(options: GivenOptions) -> bool:
    return options["trace_ltlf"] is not None or options["trace_regex"] is not None


def _check_one_spec(options: GivenOptions, request: SpecRequest) -> None:
    if request.given + sum(options[name] is not None for name in _SPECS_BESIDE) != 1:
        raise click.UsageError(
            "give exactly one of --dfa, --regex, --ltlf, --word-list, --trace-ltlf, --trace-regex, --against"
        )
    if _about_labels(options) and options["relation"] != "subset":
        raise click.UsageError("--relation is about a language; a specification of labels holds for all words or not")


def _check_faithful(options: GivenOptions) -> None:
    """Raise UsageError for what is not in the paper, or contradicts it."""
    if not options["faithful"]:
        return
    if options["method"] not in PRINTED:
        raise click.UsageError(f"--faithful is about the paper's algorithms; give --method {', '.join(PRINTED)}")
    for name in ("learner", "bound", "equivalence", "exhaustive"):
        if options.typed(name):
            raise click.UsageError(f"--faithful sets what the paper prints; leave out --{name}")


def _spec(options: GivenOptions, model: ModelRequest, spec: SpecRequest, loaded: Model) -> Spec | Model:
    """The specification: of words, over letters and labels, or another model."""
    if options["against"] is not None:
        return ModelRequest.reading(options, path=options["against"]).load(spec.alphabet or letters_read(loaded))
    if _about_labels(options):
        return label_spec(loaded, ltlf=options["trace_ltlf"], regex=options["trace_regex"])
    return spec.build(loaded.alphabet)


@contextlib.contextmanager
def _sharing_model(options: GivenOptions, model: Model, limit: TimeLimit) -> Iterator[Model]:
    """The model, its sampled words read by other processes or a cluster if options say so."""
    workers, cluster = options["workers"], options["cluster"]
    if workers is None and cluster is None:
        yield model
        return
    from rnncheck.models.distributed import distributed
    from rnncheck.runtime.executors import open_executor

    seconds = math.inf if limit.left is None else limit.left
    with open_executor(workers or 1, cluster, seconds=seconds) as executor:
        yield distributed(model, executor)
