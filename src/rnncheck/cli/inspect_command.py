"""``rnncheck inspect``: what a model is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from rnncheck.cli.command import Command
from rnncheck.cli.options import (
    AlphabetType,
    ModelRequest,
    model_options,
)
from rnncheck.cli.output import say
from rnncheck.words import Alphabet, letter_text

if TYPE_CHECKING:
    pass


_MODEL_HELP = "MODEL is a .safetensors, .pt or .onnx file, or a folder of the paper's released format."


@click.command("inspect", cls=Command, epilog=_MODEL_HELP)
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files that do not say them.")
@model_options
def command(alphabet: Alphabet | None, model: ModelRequest) -> None:
    """Say what a model is, and how its queries will be answered."""
    loaded = model.load(alphabet, any_label=True)
    letters = loaded.alphabet
    some = ", ".join(map(letter_text, letters[:12])) + (", …" if len(letters) > 12 else "")
    say(model.name)
    say(f"  {'alphabet':<22}{len(letters)}: {some}")
    chosen = model.module is None or model.label is not None  # of a module's labels none means yes by itself
    for name, value in loaded.describe().items():
        if name != "label" or chosen:
            _show_fact(name, value, indent=2)


def _show_fact(name: str, value: object, indent: int) -> None:
    label = name.replace("_", " ")
    if isinstance(value, Mapping):
        say(f"{' ' * indent}{label}")
        for key, inner in value.items():
            _show_fact(str(key), inner, indent + 2)
    elif value is not None:
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        say(f"{' ' * indent}{label + ' ':<{24 - indent}}{shown}")
