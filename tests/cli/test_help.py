"""What people see who ask for help: a start, commands by use, options in groups, completion by the shell."""

import ast
import os
import re
import subprocess
import sys

import click
import pytest

from rnncheck.cli.command_group import COMMANDS
from support.commands import every_command
from support.paths import ROOT

SHARED = {"rnncheck.cli.reproduce_command"}
LIGHT = {  # what the command line needs before it knows the command
    *("rnncheck.cli", "rnncheck.cli.command_group", "rnncheck.cli.interruption", "rnncheck.cli.output"),
    *("rnncheck.errors", "rnncheck.version"),
}


def modules_after(arguments: str) -> set[str]:
    """The modules that a command line loads, in a process of its own."""
    code = (
        "import sys\nfrom rnncheck.cli import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    print('modules', *sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.partition("modules ")[2].split())


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
    """Should import no command for the version and the help, and for a command neither torch nor the page."""
    for text in ("--version", "--help"):
        assert not {name for name in modules_after(text) if name.startswith("rnncheck.") and name not in LIGHT}
    loaded = modules_after("verify --help")
    assert {name for name in loaded if name.endswith("_command")} - SHARED == {"rnncheck.cli.verify_command"}
    assert not {"torch", "rnncheck.report.page"} & loaded


def test_no_command_imports_another() -> None:
    """Should share parts in modules of their own."""
    commands = {entry.module for entry in COMMANDS}
    for path in (ROOT / "src" / "rnncheck" / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.module not in commands, f"{path.name} imports {node.module}"


@pytest.mark.parametrize("name", [name for name, command in every_command().items()])
def test_the_help_of_a_command_is_readable_at_80_columns(run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Should show every option once with a description, in groups where there are many."""
    monkeypatch.setenv("COLUMNS", "80")
    out = run(*name.split(), "--help").out
    assert max(map(len, out.split("\n"))) <= 80
    shown = [
        option for option in every_command()[name].params if isinstance(option, click.Option) and not option.hidden
    ]
    for option in shown:
        assert option.help, f"{name} {option.opts}"
        assert len(re.findall(rf"^  (-\w, )?{option.opts[-1]}\b(?!-)", out, flags=re.MULTILINE)) == 1, option.opts
    assert ("\nResults:\n" in out) == (len(shown) > 12)


def test_the_help_of_verify_begins_with_the_specification(run) -> None:
    out = run("verify", "--help").out
    assert out.index("  --ltlf ") == out.index("  --")
    assert out.index("Specification:") < out.index("Results:") < out.index("Long runs:")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(run, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """Should print the script that the documentation tells to load."""
    monkeypatch.setenv("_RNNCHECK_COMPLETE", f"{shell}_source")
    result = run()
    assert result.code == 0
    assert "_RNNCHECK_COMPLETE" in result.out


@pytest.mark.parametrize(
    ("words", "found"),
    [("rnncheck ver", {"verify"}), ("rnncheck verify --ltl", {"--ltlf"}), ("rnncheck spec co", {"compare", "convert"})],
)
def test_the_tab_key_completes_commands_and_options(words: str, found: set[str]) -> None:
    """Should offer the names that begin so, to bash."""
    environment = {**os.environ, "_RNNCHECK_COMPLETE": "bash_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split()) - 1)
    done = subprocess.run([sys.executable, "-m", "rnncheck"], env=environment, capture_output=True, text=True)
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == found
