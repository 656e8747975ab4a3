"""What the options say about learning automata."""

from __future__ import annotations

import math
import sys
from collections.abc import Container
from typing import TypeVar

import click

from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.word_requests import word_format
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.word_files import read_words
from rnncheck.words import Alphabet

Settings = TypeVar("Settings", bound=LearningSettings)

# MiB that are taken before any work is done; fixed numbers, so that a result does not depend on the machine.
_INTERPRETER, _LIBRARIES = 80, {"torch": 192, "onnxruntime": 48}
_LEAST_WORK = 32


def learning_settings(options: GivenOptions, alphabet: Alphabet, kind: type[Settings], **others: object) -> Settings:
    """The settings of learning, or of more than that, for a model over an alphabet; ``others`` as they are."""
    known = options["known_words"]
    return options.settings(
        kind,
        known_words=() if known is None else tuple(read_words(known, alphabet, word_format(options))),
        memory_limit=working_memory(options["memory"], sys.modules),
        **others,
    )


def working_memory(limit: float, loaded: Container[str]) -> int:
    """The bytes that --memory leaves for the work, beside the interpreter and the libraries that are loaded."""
    if math.isnan(limit):
        raise click.UsageError("--memory nan is not a number of MiB; give one, such as 1024")
    base = _INTERPRETER + sum(size for name, size in _LIBRARIES.items() if name in loaded)
    if limit < base + _LEAST_WORK:
        raise click.UsageError(
            f"--memory {limit:g} is too little: the interpreter and the libraries for this model take {base} MiB by "
            f"themselves; give {base + _LEAST_WORK} or more"
        )
    return int((limit - base) * 2**20)
