"""A result of a command: its files, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from rnncheck.cli.output import Line, say, say_document
from rnncheck.cli.output_files import collected, raise_troubles
from rnncheck.runtime.files import write_atomically

Writing: TypeAlias = Callable[[Path], None]


def tell_result(
    document: str,
    lines: Iterable[str | Line],
    json_file: Path | None,
    files: Iterable[tuple[Path | None, Writing]],
    troubles: Iterable[str] = (),
) -> None:
    """Write the files that were asked for, and then say it, whatever became of them: a disk that is full takes no
    result away.

    ``document`` is the result as JSON, for ``json_file`` or, where that is `-`, in the place of the ``lines``.
    ``troubles`` are those there were before.
    """
    printed, found = str(json_file) == "-", list(troubles)
    first: tuple[Path | None, Writing] = (
        None if printed else json_file,
        lambda path: write_atomically(path, document),
    )
    for path, write in (first, *files):
        if path is not None:
            with collected(found):
                write(path)
    if printed:
        say_document(document)
    else:
        for line in lines:
            say(line)
    raise_troubles(found)
