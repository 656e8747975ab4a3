"""What people see who ask for help: a start, commands by use, options in groups, completion by the shell."""

import click
import pytest

from rnncheck.cli import rnncheck as command_line
from rnncheck.cli.help_groups import grouped


def test_alone_it_shows_how_to_begin(run) -> None:
    """Should name commands that there are, in few lines, and be no error."""
    result = run()
    assert result.code == 0
    assert len(result.out.splitlines()) < 15
    for line in result.out.splitlines():
        if line.startswith("  rnncheck "):
            assert line.split()[1] in command_line.commands


def test_commands_are_listed_by_use(run) -> None:
    """Should begin with verify."""
    listed = run("--help").out.partition("Commands:\n")[2].split("\n")
    assert [line.split()[0] for line in listed[:3]] == ["verify", "check", "init"]


def test_every_option_of_verify_has_its_group(run) -> None:
    """Should leave nothing but the help itself for the end, and show no option twice."""
    verify = command_line.commands["verify"]
    options = [one for one in verify.params if isinstance(one, click.Option)]
    groups = dict(grouped("verify", options))
    assert all(option.hidden for option in groups.pop("Other options", []))
    shown = [option.name for some in groups.values() for option in some]
    assert len(shown) == len(set(shown)) == sum(not option.hidden for option in options)
    out = run("verify", "--help").out
    assert out.index("Specification (give one):") < out.index("Results:") < out.index("Long runs:")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(run, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """Should print the script that the documentation tells to load."""
    monkeypatch.setenv("_RNNCHECK_COMPLETE", f"{shell}_source")
    result = run()
    assert result.code == 0
    assert "_RNNCHECK_COMPLETE" in result.out
