"""Every command of the command line by its whole name, such as ``bench random``."""

from __future__ import annotations

import click

from rnncheck.cli import rnncheck


def every_command() -> dict[str, click.Command]:
    """The commands that have options of their own, groups left out."""
    return {name: command for name, command in commands_and_groups().items() if not isinstance(command, click.Group)}


def commands_and_groups() -> dict[str, click.Command]:
    """Every command, groups among them."""
    return _inside(rnncheck, "")


def _inside(group: click.Group, path: str) -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[path + name] = command
        if isinstance(command, click.Group):
            found |= _inside(command, f"{path}{name} ")
    return found
