"""Write the JSON schema of a verdict's document, made from the source.

python scripts/verdict_schema.py docs/assets/verdict.schema.json
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import DFADocument
from rnncheck.verdict.automaton_files import AutomatonFile
from rnncheck.verdict.value import SCHEMA, AnyVerdict
from rnncheck.words import Alphabet

_PLACE = "#/$defs/{name}"


def verdict_schema() -> dict[str, Any]:
    """The schema of a verdict, in which automata and the alphabet have the form that documents give them."""
    (reference, *_), definitions = msgspec.json.schema_components(
        (AnyVerdict, DFADocument, AutomatonFile), schema_hook=_in_documents, ref_template=_PLACE
    )
    for definition in definitions.values():
        if "description" in definition:  # a docstring, indented or not as the Python that runs this likes it
            definition["description"] = inspect.cleandoc(definition["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        **reference,
        "$defs": definitions,
    }


def _in_documents(kind: type) -> dict[str, Any]:
    """The schema of what msgspec knows none for."""
    if kind is DFA:
        return {"anyOf": [{"$ref": _PLACE.format(name=form.__name__)} for form in (DFADocument, AutomatonFile)]}
    if kind is Alphabet:
        return {"type": "array", "items": {"type": "string"}}
    raise NotImplementedError(f"{kind} has no form in a verdict's document")


def schema_text() -> str:
    return json.dumps(verdict_schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
