"""Files that automata are written to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import write_json
from rnncheck.automata.formats.dot import write_dot


def automaton_text(target: str) -> Callable[[DFA], str]:
    """The function that writes an automaton in the format of a file's name."""
    writers = {".dot": write_dot, ".gv": write_dot, ".json": write_json}
    try:
        return writers[Path(target).suffix.lower()]
    except KeyError:
        raise click.UsageError(f"{target!r}: the name must end in .dot, .gv or .json") from None
