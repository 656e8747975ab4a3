"""``rnncheck init``: a property file to start from."""

from __future__ import annotations

import os
from pathlib import Path

from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.output import say, say_document
from rnncheck.errors import InputError
from rnncheck.models.label_names import LabelNeededError
from rnncheck.runtime.files import write_atomically
from rnncheck.suite.starter import starter_suite
from rnncheck.words import parse_word


@make_command("init", model_argument())
def command(options: GivenOptions) -> None:
    """Write a commented property file for a model, to start from."""
    model, alphabet, output = ModelRequest.of(options), options["alphabet"], options["output"]
    printed = str(output) == "-"
    if output.exists() and not options["force"] and not printed:
        raise InputError(f"{output} exists already; give another name (-o), or --force to overwrite it")
    try:
        loaded, labels = model.load(alphabet), None
    except LabelNeededError:  # properties of labels need none that means accept
        loaded = model.load(alphabet, any_label=True)
        labels = loaded.label_names
    keys = _keys(options, model, Path() if printed else output.parent)
    text = starter_suite(loaded.alphabet, {key: value for key, value in keys.items() if value is not None}, labels)
    if printed:
        say_document(text)
    else:
        write_atomically(output, text)
        say(f"{output} written; now edit it, and run: rnncheck check {output}")


def _keys(options: GivenOptions, model: ModelRequest, folder: Path) -> dict[str, object]:
    """The keys of the model's table, with files relative to the folder of the property file."""
    alphabet = options["alphabet"]
    return {
        "path": None if model.path is None else os.path.relpath(model.path, folder),
        "module": model.module,
        "alphabet": None if alphabet is None else list(alphabet),
        "threshold": model.threshold,
        "label": model.entry.label,
        "labels": None if model.labels is None else list(model.labels),
        "state": None if model.state is None else os.path.relpath(model.state, folder),
        "cell": model.cell,
        "float64": model.float64 or None,
        "torchscript": model.torchscript or None,
        "before": None if model.before is None else list(parse_word(model.before)),
        "after": None if model.after is None else list(parse_word(model.after)),
    }
