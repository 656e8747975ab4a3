"""Options in the help of a command that has many, in groups: what people begin with comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import click


class HelpGroup(NamedTuple):
    """A heading and the options below it, by their first names."""

    heading: str
    options: tuple[str, ...]


_VERIFY = (
    HelpGroup("Specification (give one)", ("--ltlf", "--regex", "--dfa", "--word-list", "--trace-ltlf", "--trace-regex",
                                           "--against")),
    HelpGroup("About the specification", ("--relation", "--assume", "--max-length", "--alphabet", "--define",
                                          "--complete", "--nonempty", "--max-states")),
    HelpGroup("Results", ("--report", "--json", "--certificate", "--quiet")),
    HelpGroup("How sure to be, and how long it may take", ("--epsilon", "--gamma", "--bound", "--timeout", "--seed",
                                                           "--exhaustive", "--search-steps")),
    HelpGroup("Words and data", ("--on-data", "--words-like", "--order", "--column", "--separator", "--stop",
                                "--weights")),
    HelpGroup("Model", ("--module", "--state", "--label", "--labels", "--threshold", "--cell", "--float64",
                        "--threads", "--no-cache", "--torchscript", "--before", "--after")),
    HelpGroup("Counterexamples and flows", ("--counterexamples", "--explain", "--severity-samples", "--no-shrink",
                                            "--pumps", "--min-hits", "--loops", "--longest-loop")),
    HelpGroup("Method", ("--method", "--faithful", "--extraction", "--learner", "--equivalence", "--max-hypothesis",
                         "--max-query", "--known-words", "--memory")),
    HelpGroup("Long runs", ("--checkpoint", "--resume", "--workers", "--cluster")),
)  # fmt: skip
_GROUPS = {"verify": _VERIFY}


def grouped(command: str, options: Iterable[click.Option]) -> Iterator[tuple[str, list[click.Option]]]:
    """The options of a command below their headings; one that no group names is told at the end."""
    by_name = {option.opts[-1] if option.opts[0] == "-h" else option.opts[0]: option for option in options}
    for group in _GROUPS.get(command, ()):
        some = [by_name.pop(name) for name in group.options if name in by_name]
        if some:
            yield group.heading, some
    if by_name:
        yield "Other options" if command in _GROUPS else "Options", list(by_name.values())
