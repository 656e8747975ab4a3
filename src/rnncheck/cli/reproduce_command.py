"""The command that repeats a run, as verdicts and repairs record it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from rnncheck.cli.click_options import CatalogueOption
from rnncheck.cli.given_options import GivenOptions


def reproduce_command(options: GivenOptions) -> str:
    """The command that asks the same question again: what was given, except where the results went."""
    words = ["rnncheck", options.command]
    for parameter in options.context.command.params:
        if isinstance(parameter, click.Argument):
            words += map(str, _values(parameter, options))
        elif isinstance(parameter, CatalogueOption) and parameter.declared.repeated:
            words += option_words(parameter, options)
    return shlex.join(words)


def option_words(option: click.Option, options: GivenOptions) -> list[str]:
    """An option with its values, as it was written in the command; nothing where it was not."""
    values = _values(option, options)
    if option.is_flag:
        return option.opts[:1] * len(values)
    return [word for value in values for word in (option.opts[0], str(value))]


def _values(parameter: click.Parameter, options: GivenOptions) -> Sequence[object]:
    name = parameter.name or ""
    if not options.typed(name):
        return ()
    value = options[name]
    return value if isinstance(value, tuple) and (parameter.multiple or parameter.nargs == -1) else (value,)
