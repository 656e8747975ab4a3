"""What people see who ask for help: a start, commands by use, options in groups, completion by the shell."""

import subprocess
import sys

import click
import pytest

from rnncheck.cli.command_group import COMMANDS
from rnncheck.cli.help_groups import grouped
from support.commands import every_command

SHARED = {"rnncheck.cli.reproduce_command"}


def modules_after(arguments: str) -> set[str]:
    """The modules of rnncheck that a command line loads, in a process of its own."""
    code = (
        "import sys\nfrom rnncheck.cli import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    print('modules', *sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = done.stderr.partition("modules ")[2].split()
    return {name for name in names if name.startswith("rnncheck")}


def test_alone_it_shows_how_to_begin(run) -> None:
    """Should name commands that there are, in few lines, and be no error."""
    result = run()
    assert result.code == 0
    assert len(result.out.splitlines()) < 15
    for line in result.out.splitlines():
        if line.startswith("  rnncheck "):
            assert line.split()[1] in every_command()


def test_commands_are_listed_by_use(run) -> None:
    """Should show groups of commands, each with its description in one line of at most 80 columns."""
    out = run("--help").out
    listed = out.partition("\nCheck:\n")[2].split("\n")
    assert [line.split()[0] for line in listed[:4]] == ["verify", "check", "diff", "robust"]
    for entry in COMMANDS:
        (line,) = (line for line in out.split("\n") if line.startswith(f"  {entry.name} "))
        assert line.endswith(entry.description)
        assert len(line) <= 80


def test_each_command_is_imported_when_it_is_called() -> None:
    """Should import no command for the version and the help, and no command for another one."""
    for text in ("--version", "--help"):
        assert not {name for name in modules_after(text) if name.endswith("_command")} - SHARED
    for entry in COMMANDS:
        loaded = {name for name in modules_after(f"{entry.name} --help") if name.endswith("_command")}
        assert loaded - SHARED == {entry.module}


def test_every_option_of_verify_has_its_group(run) -> None:
    """Should leave nothing but the help itself for the end, and show no option twice."""
    verify = every_command()["verify"]
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
