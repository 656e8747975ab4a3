"""The commands by name: what ``rnncheck --help`` lists, and the module that is imported when one is called."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from rnncheck_start import importing


class CommandEntry(NamedTuple):
    """A command: its name, its group in the help, one line about it, and its module in this package."""

    name: str
    group: str
    description: str

    @property
    def module(self) -> str:
        """The module whose ``command`` it is."""
        return f"rnncheck.cli.{self.name.replace('-', '_')}_command"


COMMANDS = tuple(
    CommandEntry(*row)
    for row in (
        ("verify", "Check", "Does a network satisfy a property?"),
        ("check", "Check", "Verify all properties of a property file."),
        ("diff", "Check", "Do two networks give the same answers?"),
        ("robust", "Check", "Does the answer stay the same near a word?"),
        ("repair", "Fix", "Train a network until no violation is found."),
        ("harden", "Fix", "Train a network until a property is proved."),
        ("train", "Fix", "Train a network on a specification or on words."),
        ("prove", "Prove", "Prove a property for words of any length."),
        ("replay", "Prove", "Check a verdict or a proof independently."),
        ("inspect", "Look", "Show what a model is, and its letters."),
        ("classify", "Look", "Query a model with words of your own."),
        ("extract", "Look", "Extract an automaton from a network."),
        ("report", "Look", "Write the report of a verdict or benchmark."),
        ("draw", "Look", "Draw an automaton, a verdict or a network."),
        ("spec", "Properties", "Look at, test, compare, convert specifications."),
        ("init", "Properties", "Write a property file to start from."),
        ("bench", "Research", "Run the experiments of the paper."),
        ("contacts", "Research", "Work with temporal networks of contacts."),
        ("compare-surrogates", "Research", "Compare all extraction methods on a network."),
    )
)


class LazyGroup(click.Group):
    """The commands of the registry; a command is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = next((entry for entry in COMMANDS if entry.name == cmd_name), None)
        if entry is None:
            return None
        with importing():
            command = importlib.import_module(entry.module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(entry.name) for entry in COMMANDS)
        for group in dict.fromkeys(entry.group for entry in COMMANDS):
            rows = [(entry.name.ljust(width), entry.description) for entry in COMMANDS if entry.group == group]
            with formatter.section(group):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing them."""
        found = [CompletionItem(one.name, help=one.description) for one in COMMANDS if one.name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]
