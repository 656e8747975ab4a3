"""The options as they were given to a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from rnncheck.options.catalogue import options_of
from rnncheck.options.option import fill

Settings = TypeVar("Settings")


class GivenOptions:
    """The values of all options and arguments of a command by their names: ``max_length`` is that of --max-length."""

    def __init__(self, ctx: click.Context, replaced: Mapping[str, Any] | None = None) -> None:
        self.context = ctx
        self._replaced = dict(replaced or {})
        self.command = str(getattr(ctx.command, "catalogue_name", ctx.command.name))  # such as ``bench random``

    def __getitem__(self, name: str) -> Any:
        return self._replaced[name] if name in self._replaced else self.context.params[name]

    def get(self, name: str) -> Any:
        """The value, or None where the command does not have the option."""
        return self[name] if name in self.context.params else None

    def typed(self, name: str) -> bool:
        """Whether it was given, and is not the default."""
        return self.context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    def replaced(self, **values: Any) -> GivenOptions:
        """The options with other values for those that were not given."""
        return GivenOptions(self.context, {name: value for name, value in values.items() if not self.typed(name)})

    def pick(self, *names: str) -> dict[str, Any]:
        """Some values by their names, to hand on."""
        return {name: self[name] for name in names}

    def settings(self, kind: type[Settings], **others: Any) -> Settings:
        """A settings object with every field that an option of the command fills, and ``others`` as they are."""
        declared = options_of(self.command)
        return fill(kind, declared, {option.name: self[option.name] for option in declared}, **others)
