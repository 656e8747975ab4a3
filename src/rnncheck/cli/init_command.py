"""``rnncheck init``: a property file to start from."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rnncheck.cli.command import Command
from rnncheck.cli.options import AlphabetType, ModelRequest, model_options
from rnncheck.cli.output import say, say_document
from rnncheck.cli.output_files import OutputFile
from rnncheck.errors import InputError
from rnncheck.models.label_names import LabelNeededError
from rnncheck.runtime.files import write_atomically
from rnncheck.suite.starter import starter_suite
from rnncheck.words import Alphabet, parse_word


@click.command("init", cls=Command)
@model_options
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files and code that do not say them.")
@click.option("-o", "--output", type=OutputFile(dash=True), default="suite.toml", show_default=True, metavar="FILE",
              help="Where to write; `-` prints it.")  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def command(model: ModelRequest, alphabet: Alphabet | None, output: Path, force: bool) -> None:
    """Write a commented property file for a model, to begin with."""
    printed = str(output) == "-"
    if output.exists() and not force and not printed:
        raise InputError(f"{output} is there already; give another name (-o), or --force to write over it")
    try:
        loaded, labels = model.load(alphabet), None
    except LabelNeededError:  # properties of labels need none that means yes
        loaded = model.load(alphabet, any_label=True)
        labels = loaded.label_names
    said = {
        "path": None if model.path is None else os.path.relpath(model.path, "." if printed else output.parent),
        "module": model.module,
        "alphabet": None if alphabet is None else list(alphabet),
        "threshold": model.threshold,
        "label": model.entry.label,
        "labels": None if model.labels is None else list(model.labels),
        "state": None if model.state is None else os.path.relpath(model.state, "." if printed else output.parent),
        "cell": model.cell,
        "float64": model.float64 or None,
        "torchscript": model.torchscript or None,
        "before": None if model.before is None else list(parse_word(model.before)),
        "after": None if model.after is None else list(parse_word(model.after)),
    }
    text = starter_suite(loaded.alphabet, {key: value for key, value in said.items() if value is not None}, labels)
    if printed:
        say_document(text)
    else:
        write_atomically(output, text)
        say(f"{output} written; now edit it, and run: rnncheck check {output}")
