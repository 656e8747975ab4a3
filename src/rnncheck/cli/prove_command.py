"""``rnncheck prove``: a proof for words of any length."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from rnncheck.cli.command import Command
from rnncheck.cli.learning_options import TimeLimit, progress_text
from rnncheck.cli.options import (
    ModelRequest,
    SpecRequest,
    assumption_options,
    distribution_options,
    model_options,
    property_options,
    relation_option,
    renamed_option,
    spec_options,
    verdict_files,
)
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.progress import progress_line
from rnncheck.cli.verification_run import answer
from rnncheck.models.protocol import Model
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.spec import Spec
from rnncheck.suite.property_file import PropertyEntry
from rnncheck.verdict.facts import HealthNote
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings

_DEFAULTS = ProofSettings()
_ALSO_OF_HARDEN = (
    *("alphabet", "threshold", "label", "labels", "cell", "float64", "torchscript"),
    *("dfa", "regex", "ltlf", "word_list", "complete", "nonempty", "relation"),
)


def _no_traces(name: str) -> Callable[[Any], Any]:
    """An option that is ``verify``'s alone: whoever gives it is told what to do instead."""

    def refuse(ctx: click.Context, param: click.Parameter, value: object) -> None:
        if value is not None:
            raise click.UsageError(
                f"{name}: a proof follows the specification by letters, and not the labels on the way; verify it "
                f"(rnncheck verify {name} …), or prove a property of one label (--label NAME --ltlf …)"
            )

    return click.option(name, hidden=True, expose_value=False, callback=refuse)


@click.command("prove", cls=Command)
@model_options
@property_options
@spec_options
@relation_option("subset: no false positives; superset: no false negatives.")
@assumption_options
@click.option(
    "--certificate",
    metavar="FILE",
    type=OutputFile(),
    help="Write the proof there, or that of a part, for `rnncheck replay`.",
)
@click.option("--context", type=click.IntRange(min=0), default=_DEFAULTS.context, show_default=True, metavar="K",
              help="Tell words apart by their last K letters at most.")  # fmt: skip
@click.option("--induction-depth", type=click.IntRange(min=0), default=_DEFAULTS.induction_depth, show_default=True,
              metavar="K",
              help="Where that is too coarse, follow small boxes for K letters (k-induction, at most 16).")  # fmt: skip
@click.option("--boxes", type=click.IntRange(min=1), default=_DEFAULTS.classes, show_default=True, metavar="N",
              help="Give up when the proof needs more boxes.")  # fmt: skip
@click.option("--longest", type=click.IntRange(min=0), default=_DEFAULTS.longest, show_default=True, metavar="N",
              help="Where no proof closes, try one for words of up to N letters.")  # fmt: skip
@click.option("--epsilon", type=click.FloatRange(min=0, max=1, max_open=True), default=_DEFAULTS.epsilon,
              help="Be content where unproved words have a probability below this.  [default: prove all]")  # fmt: skip
@distribution_options
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop after so long.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@verdict_files
@renamed_option("--moore-ltlf", "--trace-ltlf")
@renamed_option("--moore-regex", "--trace-regex")
@renamed_option("--ahead", "--induction-depth")
@_no_traces("--trace-ltlf")
@_no_traces("--trace-regex")
@click.pass_context
def command(ctx: click.Context, /, model: ModelRequest, request: SpecRequest, **choices: Any) -> None:
    """Prove that the network satisfies the specification, for every word of any length.

    A property of --spec brings its relation, assumption, longest length and time limit along, unless options say
    otherwise.

    Where no proof closes, it tells how probable the words are at most that are not proved (under --stop, --weights or
    --words-like), and up to which length all words are.

    Exit codes: 0 proved (or as much as --epsilon asks for), 1 violated (with the word), 2 bad usage or bad input,
    3 not proved, which says nothing against the network.
    """
    choices["method"] = "prove"
    if request.named is not None:
        _take_terms(ctx, request.named, choices)
    answer(
        ctx,
        model,
        request,
        choices,
        lambda loaded: request.build(loaded.alphabet),
        lambda loaded, spec, limit: _with_hint(_proved(loaded, spec, limit, choices), ctx, model, request.named),
    )


def _with_hint(verdict: Verdict, ctx: click.Context, model: ModelRequest, named: PropertyEntry | None) -> Verdict:
    """The verdict with the command that trains the network until the proof closes, where there is one."""
    weights = model.path or (None if model.state is None else str(model.state))
    if not verdict.undecided or not verdict.reason.startswith("not proved") or weights is None:
        return verdict
    if verdict.assumption is not None or weights.endswith(".onnx"):  # harden does not take these
        return verdict
    words = ["rnncheck", "harden", weights]
    for name in _ALSO_OF_HARDEN:
        value = ctx.params.get(name)
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    if named is not None:
        words += [f"--{named.kind.replace('_', '-')}", named.whole_text, "--relation", named.relation.value]
    hardened = Path(weights).with_name(f"{Path(weights).stem}-hardened.safetensors")
    command = shlex.join([*words, "-o", str(hardened)])
    note = HealthNote("harden", f"training it further may close the proof, and keeps its answers: {command}")
    return msgspec.structs.replace(verdict, health=(*verdict.health, note))


def _take_terms(ctx: click.Context, named: PropertyEntry, choices: dict[str, Any]) -> None:
    """What the property file says of the question, where no option does."""
    terms = {
        "relation": named.relation.value,
        "assume": named.assumption,
        "max_length": named.max_length,
        "timeout": named.timeout,
    }
    for name, value in terms.items():
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            choices[name] = value


def _proved(loaded: Model, spec: Spec, limit: TimeLimit, choices: dict[str, Any]) -> Verdict:
    settings = VerifySettings(
        proof=ProofSettings(
            context=choices["context"],
            induction_depth=choices["induction_depth"],
            classes=choices["boxes"],
            longest=choices["longest"],
            epsilon=choices["epsilon"],
        ),
        certificate=None if choices["certificate"] is None else str(choices["certificate"]),
    )
    assumed = limit.spent_on("the assumption was being compiled", lambda: choices["assume"](loaded.alphabet))
    with progress_line(quiet=choices["quiet"]) as tell:
        return verify(
            loaded,
            spec,
            method="prove",
            relation=choices["relation"],
            distribution=choices["distribution"](loaded.alphabet),
            timeout=limit.left,
            progress=lambda progress: tell(progress_text(progress)),
            settings=settings,
            assume=assumed,
            max_length=choices["max_length"],
        )
