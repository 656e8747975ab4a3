"""``rnncheck diff``: two networks side by side."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import click

from rnncheck.cli.command import Command
from rnncheck.cli.learning_options import TimeLimit, learning_options
from rnncheck.cli.options import (
    ALIKE_CELLS,
    AlphabetType,
    ModelRequest,
    assumption_options,
    distribution_options,
    label_options,
    marker_options,
    relation_option,
    renamed_option,
    state_option,
    verdict_files,
    word_format_options,
)
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.verification_run import conclude, ended_before, put, search_fields
from rnncheck.errors import InputError, short_repr
from rnncheck.models.label_names import LabelNeededError
from rnncheck.models.protocol import Model
from rnncheck.relations import Relation
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.spec import Spec
from rnncheck.suite.property_file import PropertyEntry, Suite
from rnncheck.verdict.value import Verdict
from rnncheck.verification.diff_models import diff as diff_models
from rnncheck.verification.label_questions import label_spec
from rnncheck.verification.methods import METHODS
from rnncheck.verification.verify_settings import VerifySettings

_MODEL = ("threshold", "label", "labels", "cell", "threads", "float64", "no_cache", "torchscript", "before", "after")


@click.command("diff", cls=Command)
@click.argument("models", metavar="OLD NEW", nargs=-1, type=click.Path())
@click.option("--old-module", metavar="MODULE:NAME", help="Import the old model from your own code, which is run.")
@click.option("--new-module", metavar="MODULE:NAME", help="Import the new model from your own code, which is run.")
@state_option("--old-module", "--old-state")
@state_option("--new-module", "--new-state")
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files that do not say them.")
@click.option("--threshold", type=float, help="Accept above this probability.  [default: the file's, or 0.5]")
@click.option("--label", metavar="LABEL", help="Compare what they say of one label.  [default: of all]")
@label_options[1]
@click.option("--cell", type=click.Choice(ALIKE_CELLS),
              help="The activation of Elman networks whose files do not say it.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), help="Threads for the networks.  [default: all cores]")
@click.option("--float64", is_flag=True, help="Compute in double precision.")
@click.option("--no-cache", is_flag=True, help="Check the engine anew, and remember nothing of it.")
@click.option("--torchscript", is_flag=True, help="Both files are TorchScript, programs that you trust: they are run.")
@marker_options[0]
@marker_options[1]
@click.option("--ltlf", multiple=True, metavar="TEXT", help="A property to verify on both; may be repeated.")
@click.option("--trace-ltlf", multiple=True, metavar="TEXT",
              help="The same about letters and labels, such as 'G(a -> F label=busy)'; may be repeated.")  # fmt: skip
@click.option("--trace-regex", multiple=True, metavar="TEXT", help="The same as an expression; may be repeated.")
@click.option("--regex", multiple=True, metavar="TEXT", help="The same, as a regular expression.")
@click.option("--dfa", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="The same, as a file.")
@click.option("--word-list", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="The same, as a file of words: these and no others.")  # fmt: skip
@click.option("--spec", "suite", type=click.Path(path_type=Path), metavar="FILE.toml",
              help="The same, all properties of a property file.")  # fmt: skip
@renamed_option("--moore-ltlf", "--trace-ltlf")
@renamed_option("--moore-regex", "--trace-regex")
@renamed_option("--mass", "--severity-samples")
@click.option("--method", type=click.Choice(list(METHODS)), default="auto", show_default=True)
@relation_option("Of the new to the old one. subset: the new one accepts nothing more; superset: nothing less.",
                 Relation.EQUAL)  # fmt: skip
@word_format_options
@learning_options
@distribution_options
@assumption_options
@click.option("--exhaustive", type=click.IntRange(min=0), metavar="N", help="First ask every word of up to N letters.")
@click.option("--search-steps", type=click.IntRange(min=0), default=1_000_000, show_default=True,
              help="Steps of guided search and repeated loops before auto says alike.")  # fmt: skip
@click.option("--explain", type=click.FloatRange(min=0.0), metavar="SECONDS",
              help="Seconds for a shorter word, flows and severity.  [default: about 2, counted]")  # fmt: skip
@click.option("--severity-samples", type=click.IntRange(min=0), metavar="N",
              help="Measure how often they differ with N words.  [default: as --explain allows]")  # fmt: skip
@click.option("--on-data", type=click.Path(path_type=Path), metavar="FILE",
              help="Say on which of your own sequences they differ (text, .csv, .jsonl).")  # fmt: skip
@click.option("--checkpoint", metavar="FILE", type=OutputFile(), help="Write the answers there now and then.")
@click.option("--resume", is_flag=True, help="Go on from the --checkpoint: the same verdict as without interruption.")
@click.option("--no-shrink", is_flag=True, help="Show the word as it was found.")
@verdict_files
@click.pass_context
def command(ctx: click.Context, /, models: tuple[str, ...], **choices: Any) -> None:
    """Do two networks answer every word alike? Where not: a word, how often, which properties changed.

    The word is as short as was found, and proved to be the shortest where that can be.

    Exit codes: 0 no difference within the stated guarantee, 1 a word on which they differ, 2 bad usage or bad input, 3
    undecided.
    """
    requests = _requests(models, choices)
    limit, letters = TimeLimit(choices["timeout"]), choices["alphabet"]
    try:
        old, new = _loaded(requests, limit, choices)
        letters = old.alphabet
        specs = limit.spent_on("the properties were being compiled", lambda: _properties(choices, old))
        verdict = _compared(old, new, specs, (requests[0].entry.source, requests[1].entry.source), limit, choices)
    except BudgetExceeded as end:
        verdict = ended_before(ctx, str(end), letters, choices)
    conclude(ctx, verdict, choices)


def _requests(models: tuple[str, ...], choices: dict[str, Any]) -> tuple[ModelRequest, ModelRequest]:
    """The two models: files in the order given, where no code is named in their place."""
    modules, files = (choices["old_module"], choices["new_module"]), list(models)
    if len(files) + sum(module is not None for module in modules) != 2:
        raise click.UsageError(
            f"give two models, OLD and NEW ({len(files)} files were named); code: --old-module, --new-module"
        )
    options = {name: choices[name] for name in _MODEL}
    old, new = (
        ModelRequest(path=files.pop(0) if module is None else None, module=module, state=state, **options)
        for module, state in zip(modules, (choices["old_state"], choices["new_state"]), strict=True)
    )
    return old, new


def _loaded(
    requests: tuple[ModelRequest, ModelRequest], limit: TimeLimit, choices: dict[str, Any]
) -> tuple[Model, Model]:
    """The two models. Which label means yes must be known where yes and no are compared, or asked about."""
    listed = () if choices["suite"] is None else Suite.read(choices["suite"]).properties
    properties = any(choices[name] for name in ("ltlf", "regex", "dfa", "word_list"))
    properties = properties or any(not one.about_labels for one in listed)
    alphabet, longest = choices["alphabet"], choices["max_length"]
    by_label = choices["relation"] == Relation.EQUAL.value and not properties
    try:
        old, new = (limit.load(request, alphabet, longest, any_label=by_label) for request in requests)
    except LabelNeededError as error:
        if not properties:
            raise
        why = "properties of yes and no are verified too; those of labels (--trace-ltlf) need none"
        raise LabelNeededError(f"{error}: {why}") from None
    if by_label and (old.label_names is None) != (new.label_names is None):
        old, new = (limit.load(request, alphabet, longest) for request in requests)
    return old, new


def _properties(choices: dict[str, Any], model: Model) -> tuple[list[Spec], list[Spec]]:
    """The properties of yes and no, and those of the labels along a word."""
    alphabet, listed = model.alphabet, _listed(choices["suite"])
    of_words = [
        *(Spec.from_ltlf(text, alphabet) for text in choices["ltlf"]),
        *(Spec.from_regex(text, alphabet) for text in choices["regex"]),
        *(Spec.from_file(path, alphabet) for path in choices["dfa"]),
        *(Spec.from_word_file(path, alphabet) for path in choices["word_list"]),
        *(one.spec(alphabet) for one in listed if not one.about_labels),
    ]
    of_labels = [
        *(label_spec(model, ltlf=text) for text in choices["trace_ltlf"]),
        *(label_spec(model, regex=text) for text in choices["trace_regex"]),
        *(label_spec(model, **{one.kind.removeprefix("trace_"): one.whole_text}) for one in listed if one.about_labels),
    ]
    return of_words, of_labels


def _listed(path: Path | None) -> tuple[PropertyEntry, ...]:
    """The properties of a property file, which must not ask for what is not done here."""
    properties = () if path is None else Suite.read(path).properties
    for one in properties:
        if one.relation is not Relation.SUBSET or one.assume is not None or one.max_length is not None:
            raise InputError(
                f"{path}: property {short_repr(one.name)} has a relation, an assumption or a longest word of its own, "
                "and diff verifies whether every accepted word has the property; use rnncheck check on both models"
            )
    return properties


def _compared(
    old: Model,
    new: Model,
    specs: tuple[list[Spec], list[Spec]],
    names: tuple[str, str],
    limit: TimeLimit,
    choices: dict[str, Any],
) -> Verdict:
    settings = VerifySettings(**search_fields(choices, old.alphabet))
    of_words, of_labels = specs
    ask = functools.partial(
        diff_models,
        old,
        new,
        properties=of_words,
        label_properties=of_labels,
        labels=choices["label"] is None,
        names=names,
    )
    return put(ask, old.alphabet, settings, limit, choices)
