"""Options that say how far apart two words are."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from rnncheck.automata.edits import KINDS, Edits
from rnncheck.cli.options import Command
from rnncheck.errors import InputError
from rnncheck.runtime.files import read_limited
from rnncheck.words import parse_word

_USUAL = "substitute,insert,delete"


def edit_options(command: Command) -> Command:
    """Add the options; ``edits_of`` reads all but ``--distance``."""
    for option in reversed(
        [
            click.option("--distance", default="1", show_default=True, metavar="D", help="The largest that counts."),
            click.option("--edits", metavar="KINDS", help=f"Which edits there are, each for 1: {', '.join(KINDS)}.  "
                         f"[default: {_USUAL}]"),
            click.option("--weights", "costs", type=click.Path(path_type=Path), metavar="FILE.toml",
                         help="What each edit costs, and which letters may replace which; instead of --edits."),
            click.option("--locked", metavar="LETTERS", help="Letters that may not change, with spaces between."),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def edits_of(choices: dict[str, Any]) -> Edits:
    """What the options say; takes them out of the choices."""
    kinds, path, locked = choices.pop("edits"), choices.pop("costs"), frozenset(parse_word(choices.pop("locked") or ""))
    if path is None:
        return Edits.of(
            (kind.strip() for kind in (_USUAL if kinds is None else kinds).split(",") if kind.strip()), locked=locked
        )
    if kinds is not None:
        raise click.UsageError("--weights says which edits there are; leave out --edits")
    try:
        return Edits.from_tables(tomllib.loads(read_limited(path, "edits").decode()), locked)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, InputError) as error:
        raise InputError(f"{path}: {error}") from None
