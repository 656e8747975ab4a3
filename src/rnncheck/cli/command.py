"""What every command does: reject an option that is given twice or has no effect, and never overwrite an input.

All three are checked before the work. The options of a command come from the catalogue (``rnncheck.options``).
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from rnncheck.cli.click_options import CatalogueOption, click_options
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.output_files import check_outputs
from rnncheck.options.option import HelpGroup

_MOST_IN_ONE_LIST = 12  # options; the help of a command with more has them in groups
Work: TypeAlias = Callable[[GivenOptions], int | None]


class Command(click.Command):
    """A command of rnncheck; its options are those that the catalogue has under ``catalogue_name``."""

    def __init__(self, catalogue_name: str, **others: Any) -> None:
        super().__init__(catalogue_name.rpartition(" ")[2], **others)
        self.catalogue_name = catalogue_name

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            self._check_repeated(ctx, args)
            rest = super().parse_args(ctx, args)
            self._check_effects(ctx)
            check_outputs(ctx)
        except click.UsageError as error:
            error.ctx = ctx  # the way to the help, which click itself does not always know
            raise
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the options, in groups where there are many."""
        declared = [one for one in self.params if isinstance(one, CatalogueOption)]
        groups: dict[str, list[click.Option]] = {}
        for group in HelpGroup:
            heading = group.value if len(declared) > _MOST_IN_ONE_LIST else "Options"
            groups.setdefault(heading, []).extend(one for one in declared if one.declared.group is group)
        others = [one for one in self.get_params(ctx) if isinstance(one, click.Option) and one not in declared]
        groups.setdefault("Options", []).extend(others)
        for heading, some in groups.items():
            records = [record for record in (one.get_help_record(ctx) for one in some) if record is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def _check_repeated(self, ctx: click.Context, args: list[str]) -> None:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for parameter, times in Counter(order).items():
            if isinstance(parameter, click.Option) and times > 1 and not (parameter.multiple or parameter.is_flag):
                raise click.UsageError(f"{parameter.opts[0]} is given {times} times; give it once")

    def _check_effects(self, ctx: click.Context) -> None:
        given = GivenOptions(ctx)
        for parameter in self.params:
            if isinstance(parameter, CatalogueOption) and given.typed(parameter.declared.name):
                why = parameter.declared.why_without_effect(given.command, ctx.params)
                if why is not None:
                    raise click.UsageError(f"{parameter.opts[0]} has no effect {why}; leave it out")


class Group(click.Group):
    """A command with commands of its own, listed in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def command(name: str, *arguments: click.Argument, epilog: str | None = None) -> Callable[[Work], Command]:
    """Make the command of that name (such as ``spec show``) of a function, with its options from the catalogue.

    The function returns the exit code, or None where there is nothing but success.
    """

    def make(work: Work) -> Command:

        @click.pass_context
        def run(ctx: click.Context, /, **_: object) -> int | None:
            return work(GivenOptions(ctx))

        return Command(
            name, params=[*arguments, *click_options(name)], callback=run, help=inspect.getdoc(work), epilog=epilog
        )

    return make
