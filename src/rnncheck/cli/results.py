"""A result of a command: its files, its JSON document, and its lines on the terminal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.output import Line, say, say_document
from rnncheck.cli.output_files import collect_errors, raise_troubles
from rnncheck.runtime.files import write_atomically

Writing: TypeAlias = Callable[[Path], None]


def show_result(
    options: GivenOptions,
    document: str,
    lines: Iterable[str | Line],
    files: Iterable[tuple[Path | None, Writing]] = (),
    troubles: Iterable[str] = (),
) -> None:
    """Write the files that options name, and then show the result, even if a file could not be written.

    ``document`` is the result as JSON, for the file of --json or, where that is `-`, instead of the ``lines``.
    ``troubles`` are those that there were before.
    """
    json_file: Path | None = options["json"]
    printed, found = str(json_file) == "-", list(troubles)
    first: tuple[Path | None, Writing] = (
        None if printed else json_file,
        lambda path: write_atomically(path, document),
    )
    for path, write in (first, *files):
        if path is not None:
            with collect_errors(found):
                write(path)
    if printed:
        say_document(document)
    else:
        for line in lines:
            say(line)
    raise_troubles(found)


def result_document(options: GivenOptions, **facts: object) -> str:
    """The JSON document of a result that has none of its own: its schema is named after the command."""
    content = {"schema": f"rnncheck/{options.command.replace(' ', '-')}/1", **facts}
    return msgspec.json.format(msgspec.json.encode(content, enc_hook=_encode), indent=2).decode() + "\n"


def setting_lines(options: GivenOptions, settings: Mapping[str, object]) -> list[str]:
    """The settings of a training, one per line, if --verbose asks for them."""
    return [f"  {name:<22}{value}" for name, value in settings.items()] if options["verbose"] else []


def _encode(value: Any) -> Any:
    """What JSON has for a value that it does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value.item() if hasattr(value, "item") else str(value)
