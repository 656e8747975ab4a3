"""The words of the project: plain English in help texts, messages, documentation, comments and names."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rnncheck.cli import rnncheck as command_line
from support.paths import ROOT

PHRASES = (
    "told",
    "unless told",
    "so many",
    "one a line",
    "how bad",
    "pupil",
    "taught",
    "lesson",
    "whoever",
    "somebody",
    "a person",
    "gone on with",
    "dear",
    "it is not so that",
    "sayers",
)
# A word ends where its letters end, so that names such as was_told are found; phrases may go over the end of a line.
_BETWEEN = r"[\s_#*]+"
FORBIDDEN = re.compile(
    r"(?<![a-z])(" + "|".join(phrase.replace(" ", _BETWEEN) for phrase in PHRASES) + r")s?(?![a-z])", re.IGNORECASE
)
_CAPITAL_INSIDE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TEXT = {".py", ".pyi", ".c", ".js", ".css", ".html", ".md", ".toml"}
# Keys of documents stay as they are, though the names in Python have changed.
KEYS = {("src/rnncheck/repairs/repair_report.py", "taught")}
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "benchmarks/README.md", "tests/README.md")


def files() -> Iterator[Path]:
    """The files that users and contributors read."""
    for folder in ("src", "docs", "examples"):
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in _TEXT)
    yield from (ROOT / page for page in PAGES)


def found_in(text: str) -> list[tuple[int, str]]:
    """The forbidden words in a text, each with its line; CamelCase is read as several words."""
    lines = [_CAPITAL_INSIDE.sub(" ", line) for line in text.split("\n")]
    text = "\n".join(lines)
    return [(text.count("\n", 0, match.start()) + 1, match.group()) for match in FORBIDDEN.finditer(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unless told", ["told"]),
        ("def was_told() -> None: ...", ["told"]),
        ("class HowBad:", ["How Bad"]),
        ("# at most so\n    # many letters", ["so\n    # many"]),
        ("what somebody's pupils do", ["somebody", "pupils"]),
        ("untold, a personal computer, endear, taughten", []),
    ],
)
def test_words_are_found_in_names_and_over_lines(text: str, words: list[str]) -> None:
    """Should find words inside names and across lines, and nothing inside longer words."""
    found = [word.removeprefix("unless ") for _, word in found_in(text)]
    assert found == words


@pytest.mark.parametrize("path", list(files()), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_in_plain_english(path: Path) -> None:
    """Should use none of the words that readers do not know, in text, comments, messages and names."""
    name = path.relative_to(ROOT).as_posix()
    found = [each for each in found_in(path.read_text(encoding="utf-8")) if (name, each[1]) not in KEYS]
    assert not found, "\n".join(f"{name}:{line}: {word!r}" for line, word in found)


def test_the_next_release_is_described_in_plain_english() -> None:
    """Should hold for what is unreleased; earlier sections of the changelog are history."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = re.search(r"^## \[?Unreleased.*?(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert unreleased is not None
    assert not found_in(unreleased.group())


def commands(group: click.Group, context: click.Context, path: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, click.Context(command, info_name=name, parent=context), f"{path} {name}")


def test_help_is_in_plain_english() -> None:
    """Should hold for the help of every command as it is shown."""
    top = click.Context(command_line, info_name="rnncheck")
    for path, command in [("rnncheck", command_line), *commands(command_line, top, "rnncheck")]:
        text = command.get_help(click.Context(command, info_name=path))
        assert not found_in(text), f"{path} --help: {found_in(text)}"
