"""What holds of every command: no option is lost unheard, and no output takes an input's place.

An option given twice would lose its first value, an option without effect was meant to have one, and a file that is
written over an input is gone: all three are refused before the work.
"""

from __future__ import annotations

from collections import Counter

import click
from click.core import ParameterSource

from rnncheck.cli.effects import without_effect
from rnncheck.cli.help_groups import grouped
from rnncheck.cli.output_files import check_outputs


class Command(click.Command):
    """A command of rnncheck."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            self._refuse_repeated(ctx, args)
            rest = super().parse_args(ctx, args)
            self._refuse_idle(ctx)
            check_outputs(ctx)
        except click.UsageError as error:
            error.ctx = ctx  # the way to the help, which click itself does not always know
            raise
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help of the options, in groups where there are many."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        for heading, some in grouped(ctx.command_path.partition(" ")[2], options):
            records = [record for record in (one.get_help_record(ctx) for one in some) if record is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for parameter, times in Counter(order).items():
            if isinstance(parameter, click.Option) and times > 1 and not (parameter.multiple or parameter.is_flag):
                raise click.UsageError(f"{parameter.opts[0]} is given {times} times; give it once")

    def _refuse_idle(self, ctx: click.Context) -> None:
        for parameter in self.params:
            name = parameter.name or ""
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                why = without_effect(ctx.command_path.partition(" ")[2], name, ctx.params)
                if why is not None:
                    raise click.UsageError(f"{parameter.opts[0]} has no effect {why}; leave it out")


class Group(click.Group):
    """A command with commands of its own, listed in the order in which they were added: the most used first."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)
