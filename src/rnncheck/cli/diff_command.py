"""``rnncheck diff``: two networks side by side."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest
from rnncheck.cli.spec_request import SPEC_OPTIONS
from rnncheck.cli.time_limit import TimeLimit
from rnncheck.cli.verification_run import ask, conclude, out_of_time, verify_settings
from rnncheck.cli.word_requests import check_distribution
from rnncheck.errors import InputError, short_repr
from rnncheck.models.label_names import LabelNeededError
from rnncheck.models.protocol import Model
from rnncheck.relations import Relation
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.spec import Spec
from rnncheck.suite.property_file import PropertyEntry, Suite
from rnncheck.verification.diff_models import diff
from rnncheck.verification.label_questions import label_spec


@make_command("diff", click.Argument(["models"], metavar="OLD NEW", nargs=-1, type=click.Path()))
def command(options: GivenOptions) -> int:
    """Do two networks give the same answer to every word? If not: a word, how often, which properties changed.

    The word is the shortest that was found, and proved to be the shortest where possible.

    Exit codes: 0 no difference within the stated guarantee, 1 a word on which they differ, 2 bad usage or bad input, 3
    undecided.
    """
    check_distribution(options)
    requests = _requests(options)
    limit, letters = TimeLimit(options["timeout"]), options["alphabet"]
    try:
        old, new = _load(options, requests, limit)
        letters = old.alphabet
        of_words, of_labels = limit.spent_on("the properties were being compiled", lambda: _properties(options, old))
        question = functools.partial(
            diff,
            old,
            new,
            properties=of_words,
            label_properties=of_labels,
            labels=options["label"] is None,
            names=(requests[0].entry.source, requests[1].entry.source),
        )
        verdict = ask(question, options, letters, verify_settings(options, letters), limit)
    except BudgetExceeded as end:
        return out_of_time(options, str(end), letters)
    return conclude(options, verdict)


def _requests(options: GivenOptions) -> tuple[ModelRequest, ModelRequest]:
    """The two models: files in the order given, except where code is named."""
    modules, files = (options["old_module"], options["new_module"]), list(options["models"])
    if len(files) + sum(module is not None for module in modules) != 2:
        raise click.UsageError(
            f"give two models, OLD and NEW ({len(files)} files were named); code: --old-module, --new-module"
        )
    old, new = (
        ModelRequest.reading(
            options, path=files.pop(0) if module is None else None, module=module, state=options[f"{side}_state"]
        )
        for side, module in zip(("old", "new"), modules, strict=True)
    )
    return old, new


def _load(options: GivenOptions, requests: tuple[ModelRequest, ModelRequest], limit: TimeLimit) -> tuple[Model, Model]:
    """The two models. The label that means accept must be known where acceptance is compared, or is in a property."""
    listed = () if options["spec"] is None else Suite.read(options["spec"]).properties
    properties = any(options[name] for name in SPEC_OPTIONS) or any(not one.about_labels for one in listed)
    alphabet, longest = options["alphabet"], options["max_length"]
    by_label = options["relation"] == Relation.EQUAL.value and not properties
    try:
        old, new = (limit.load(request, alphabet, longest, any_label=by_label) for request in requests)
    except LabelNeededError as error:
        if not properties:
            raise
        why = "properties of accepted words are verified too; those of labels (--trace-ltlf) need none"
        raise LabelNeededError(f"{error}: {why}") from None
    if by_label and (old.label_names is None) != (new.label_names is None):
        old, new = (limit.load(request, alphabet, longest) for request in requests)
    return old, new


def _properties(options: GivenOptions, model: Model) -> tuple[list[Spec], list[Spec]]:
    """The properties of accepted words, and those of the labels along a word."""
    alphabet, listed = model.alphabet, _properties_of_file(options["spec"])
    of_words = [
        *(Spec.from_ltlf(text, alphabet) for text in options["ltlf"]),
        *(Spec.from_regex(text, alphabet) for text in options["regex"]),
        *(Spec.from_file(path, alphabet) for path in options["dfa"]),
        *(Spec.from_word_file(path, alphabet) for path in options["word_list"]),
        *(one.spec(alphabet) for one in listed if not one.about_labels),
    ]
    of_labels = [
        *(label_spec(model, ltlf=text) for text in options["trace_ltlf"]),
        *(label_spec(model, regex=text) for text in options["trace_regex"]),
        *(label_spec(model, **{one.kind.removeprefix("trace_"): one.whole_text}) for one in listed if one.about_labels),
    ]
    return of_words, of_labels


def _properties_of_file(path: Path | None) -> tuple[PropertyEntry, ...]:
    """The properties of a property file; one with terms that diff does not have is an error."""
    properties = () if path is None else Suite.read(path).properties
    for one in properties:
        if one.relation is not Relation.SUBSET or one.assume is not None or one.max_length is not None:
            raise InputError(
                f"{path}: property {short_repr(one.name)} has a relation, an assumption or a longest word of its own, "
                "and diff verifies whether every accepted word has the property; use rnncheck check on both models"
            )
    return properties
