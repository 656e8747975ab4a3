"""All options, and those of a command."""

from __future__ import annotations

from collections.abc import Mapping

from rnncheck.options.model_options import MODEL_OPTIONS
from rnncheck.options.option import Kind, Option
from rnncheck.options.result_options import RESULT_OPTIONS
from rnncheck.options.search_options import SEARCH_OPTIONS
from rnncheck.options.specification_options import SPECIFICATION_OPTIONS
from rnncheck.options.training_options import TRAINING_OPTIONS
from rnncheck.options.word_options import WORD_OPTIONS

CATALOGUE: tuple[Option, ...] = (
    *MODEL_OPTIONS,
    *SPECIFICATION_OPTIONS,
    *WORD_OPTIONS,
    *RESULT_OPTIONS,
    *SEARCH_OPTIONS,
    *TRAINING_OPTIONS,
)


def options_of(command: str) -> tuple[Option, ...]:
    """The options of a command, such as ``verify`` or ``bench random``, in the order of its help."""
    return tuple(option.of(command) for option in CATALOGUE if command in option.commands)


def rejected_options(command: str) -> tuple[Option, ...]:
    """The options that a command does not have, and for which it says what to do instead."""
    return tuple(option for option in CATALOGUE if command in option.rejected)


def keys_of_properties() -> Mapping[str, tuple[Option, Kind]]:
    """The keys that a property has because ``verify`` has the option, each with the kind of its value."""
    return {option.name: (option, kind) for option in options_of("verify") if (kind := option.key_kind) is not None}
