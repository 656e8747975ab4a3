"""Write the JSON schema of a verdict's document, made from the source.

python scripts/verdict_schema.py docs/assets/verdict.schema.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from rnncheck.verdict.value import FaultyFlow, Guarantee, HealthNote, Round, TotalCost, Trace, VerdictDocument

# Parts of a document that it holds as plain values; these types say what is in them.
PARTS: dict[str, type] = {
    "guarantee": Guarantee,
    "cost": TotalCost,
    "faulty_flows": FaultyFlow,
    "health": HealthNote,
    "trace": Trace,
    "history": Round,
}


def verdict_schema() -> dict[str, Any]:
    """The schema of ``VerdictDocument``, with the schemas of its parts in their places."""
    place = "#/$defs/{name}"
    (reference, *parts), definitions = msgspec.json.schema_components(
        (VerdictDocument, *PARTS.values()), schema_hook=_anything, ref_template=place
    )
    document = definitions["VerdictDocument"]
    for name, part in zip(PARTS, parts, strict=True):
        _put(document["properties"][name], part)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rnncheck/verdict/1",
        **reference,
        "$defs": definitions,
    }


def _anything(_: type) -> dict[str, Any]:
    """The schema of a fact, which may be any value."""
    return {"description": "any value"}


def _put(property_schema: dict[str, Any], part: dict[str, Any]) -> None:
    """Put the schema of a part where an object stands: directly, in a list, or beside null."""
    if "items" in property_schema:
        property_schema["items"] = part
    elif "anyOf" in property_schema:
        property_schema["anyOf"] = [part if one.get("type") == "object" else one for one in property_schema["anyOf"]]
    else:
        property_schema.clear()
        property_schema.update(part)


def schema_text() -> str:
    return json.dumps(verdict_schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
