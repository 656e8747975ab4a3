"""A property file to begin with: it verifies something at once, and its comments say what else there is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rnncheck.models.protocol import Model
from rnncheck.words import Alphabet, quoted

_LETTERS_SHOWN = 40


def starter_suite(model: Model, said: Mapping[str, object]) -> str:
    """The text of a property file for a model; ``said`` are the keys of its table: a path or a module, and so on."""
    letters, path = model.alphabet, said.get("path")
    name = "model" if path is None else Path(str(path)).stem or "model"
    first, other = quoted(letters[0]), quoted(letters[-1])
    return "\n".join(
        [
            "# A property file: `rnncheck check FILE` verifies every property on every model.",
            "# Paths are relative to this file.",
            f"title = {_text(f'Properties of {name}')}",
            "",
            "[defaults]  # for every property, unless it says otherwise",
            "epsilon = 0.01  # the probability of a violation to stay below",
            "gamma = 0.01    # one minus the confidence",
            "timeout = 60    # seconds for each property and model",
            '# severity = "error"           # "warning" and "note" are reported, and do not fail the run',
            '# data = "sessions.csv"        # your own sequences, asked first',
            "# max_length = 200             # only words of up to so many letters count",
            "",
            f"# {_alphabet(letters)}",
            f"[models.{_text(name)}]",
            *(f"{key} = {_text(value)}" for key, value in said.items()),
            "",
            "# [definitions]  # $name in any property",
            f'# seen = "F {first}"',
            "",
            "# Replace this example by what your network must satisfy; description, ltlf and the name are yours.",
            "[properties.example]",
            f"description = {_text(f'An accepted word has the letter {letters[0]}.')}",
            f"ltlf = {_text(f'F {first}')}",
            '# relation = "superset"        # no false negatives: every word of the specification is accepted',
            '# tags = ["safety"]            # rnncheck check FILE --tag safety',
            "",
            "# [properties.another]",
            f"# regex = {_text(f'.* {other}')}",
            '# severity = "warning"',
            "",
        ]
    )


def _alphabet(letters: Alphabet) -> str:
    shown = ", ".join(map(_text, letters[:_LETTERS_SHOWN]))
    more = "" if len(letters) <= _LETTERS_SHOWN else ", …"
    return f"{len(letters)} letters: {shown}{more}"


def _text(value: object) -> str:
    """A text, number, truth value or list of texts as TOML has it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
