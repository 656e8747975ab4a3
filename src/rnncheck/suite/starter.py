"""A property file to start from: it verifies something at once, and its comments show what else is possible."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rnncheck.words import Alphabet, quoted

_LETTERS_SHOWN = 40


def starter_suite(letters: Alphabet, keys: Mapping[str, object], labels: Sequence[str] | None = None) -> str:
    """The text of a property file for a model over letters.

    ``keys`` are those of its table: a path or a module, and so on. ``labels`` are those of a model with several,
    none of which was chosen to mean accept.
    """
    path = keys.get("path")
    name = (str(keys.get("module", "")).rpartition(":")[2] if path is None else Path(str(path)).stem) or "model"
    first, other = quoted(letters[0]), quoted(letters[-1])
    return "\n".join(
        [
            "# A property file: `rnncheck check FILE` verifies every property on every model.",
            "# Paths are relative to this file.",
            f"title = {_text(f'Properties of {name}')}",
            "",
            "[defaults]  # for every property without its own",
            "epsilon = 0.01  # the probability of a violation to stay below",
            "gamma = 0.01    # one minus the confidence",
            "timeout = 60    # seconds for each property and model",
            '# severity = "error"           # "warning" and "note" are reported, and do not fail the run',
            "# Your own sequences, queried first; a text file of words needs its name alone:",
            '# data = { path = "sessions.csv", column = "events", separator = ";" }',
            "# max_length = 200             # only words of up to this many letters count",
            "",
            f"# {_alphabet(letters)}",
            f"[models.{_text(name)}]",
            *(f"{key} = {_text(value)}" for key, value in keys.items()),
            *([] if labels is None else _label_to_choose(labels)),
            "",
            "# [definitions]  # $name in any property",
            f'# seen = "F {first}"',
            "",
            "# Replace this example by what your network must satisfy: the name, the description and the formula.",
            "[properties.example]",
            *(_of_words(letters) if labels is None else _of_labels(labels)),
            '# tags = ["safety"]            # rnncheck check FILE --tag safety',
            "",
            "# [properties.another]",
            f"# regex = {_text(f'.* {other}')}",
            '# severity = "warning"',
            "",
        ]
    )


def _of_words(letters: Alphabet) -> list[str]:
    return [
        f"description = {_text(f'An accepted word has the letter {letters[0]}.')}",
        f"ltlf = {_text(f'F {quoted(letters[0])}')}",
        '# relation = "superset"        # no false negatives: every word of the specification is accepted',
    ]


def _of_labels(labels: Sequence[str]) -> list[str]:
    first = labels[0] if labels[0].isidentifier() else json.dumps(labels[0])
    return [
        f"description = {_text(f'Once the label is {labels[0]}, it stays {labels[0]}.')}",
        f"trace_ltlf = {_text(f'G(label={first} -> G label={first})')}",
    ]


def _label_to_choose(labels: Sequence[str]) -> list[str]:
    others = ", ".join(map(_text, labels[1:]))
    return [f"# label = {_text(labels[0])}  # what means accept, which ltlf and regex need; or {others}"]


def _alphabet(letters: Alphabet) -> str:
    shown = ", ".join(map(_text, letters[:_LETTERS_SHOWN]))
    more = "" if len(letters) <= _LETTERS_SHOWN else ", …"
    return f"{len(letters)} letters: {shown}{more}"


def _text(value: object) -> str:
    """A text, number, truth value or list of texts as TOML has it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
