"""The command that repeats a run, as verdicts and repairs record it."""

from __future__ import annotations

import shlex

import click
from click.core import ParameterSource

_NOT_REPEATED = {
    *("json_file", "report", "certificate", "quiet", "threads", "workers", "cluster", "checkpoint", "resume"),
    "no_cache",
}


def command_line(ctx: click.Context) -> str:
    """The command that asks the same again: what was given, without where the results went."""
    words = ["rnncheck", ctx.command.name or ""]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name in _NOT_REPEATED or ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[name]
        if isinstance(parameter, click.Argument):
            words += map(str, value if parameter.nargs == -1 else [value])
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(parameter.opts[0])
        else:
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], str(one)]
    return shlex.join(words)
