"""Automata as JSON documents, schema ``rnncheck/dfa/1``.

    {"schema": "rnncheck/dfa/1", "alphabet": ["a", "b"], "initial": 0, "accepting": [1],
     "transitions": [[0, 1], [1, 1]], "names": ["start", "end"]}

``transitions[q][i]`` is the successor of state q under letter i of the alphabet, or null where there is none (refused
unless the reader is told to complete the automaton); ``names`` may be left out.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.parts import Parts
from rnncheck.errors import FormatError, InputError
from rnncheck.words import Alphabet


class DFADocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The JSON form of a DFA."""

    schema: Literal["rnncheck/dfa/1"]
    alphabet: list[str]
    initial: int
    accepting: list[int]
    transitions: list[list[int | None]]
    names: list[str] | None = None


def write_json(dfa: DFA) -> str:
    """The automaton as a JSON document, one row of the table a line."""
    head = msgspec.json.encode(
        {
            "schema": "rnncheck/dfa/1",
            "alphabet": dfa.alphabet.letters,
            "initial": dfa.initial,
            "accepting": np.flatnonzero(dfa.accepting).tolist(),
            **({"names": dfa.names} if dfa.names else {}),
        }
    ).decode()
    rows = ",\n".join(" " + str(row) for row in dfa.transitions.tolist())
    return f'{head[:-1]},"transitions":[\n{rows}\n]}}\n'


def read_json(
    text: str | bytes, *, source: str = "JSON", alphabet: Alphabet | None = None, complete: bool = False
) -> DFA:
    """Read an automaton from a JSON document; ``source`` names it in errors."""
    try:
        document = msgspec.json.decode(text, type=DFADocument)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"not an automaton in JSON: {error}", source) from None
    try:
        return _build(document, source, alphabet, complete)
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), source) from None


def json_schema() -> dict[str, object]:
    """The JSON Schema of the document."""
    return msgspec.json.schema(DFADocument)


def _build(document: DFADocument, source: str, alphabet: Alphabet | None, complete: bool) -> DFA:
    letters = Alphabet(document.alphabet)
    states = len(document.transitions)
    for state, row in enumerate(document.transitions):
        if len(row) != len(letters):
            raise FormatError(f"state {state} has {len(row)} successors for {len(letters)} letters", source)
    for state in document.accepting:
        if not 0 <= state < states:
            raise FormatError(f"accepting state {state} is not one of the {states} states", source)
    if any(None in row for row in document.transitions):
        return _partial(document, letters, source).build(alphabet or letters, complete=complete)
    accepting = np.zeros(states, dtype=bool)
    accepting[document.accepting] = True
    table = np.array(document.transitions, dtype=np.int64).reshape(states, len(letters))
    dfa = DFA(letters, table, accepting, document.initial, document.names)
    return dfa if alphabet is None else dfa.over(alphabet)


def _partial(document: DFADocument, letters: Alphabet, source: str) -> Parts:
    names = document.names or [str(state) for state in range(len(document.transitions))]
    parts = Parts(source)
    for name in names:
        parts.declare(name)
    parts.accepting.update(names[state] for state in document.accepting)
    parts.initial.append((names[document.initial], 0))
    for name, row in zip(names, document.transitions, strict=True):
        for letter, target in zip(letters, row, strict=True):
            if target is not None:
                if not 0 <= target < len(names):
                    raise FormatError(f"state {name} goes to {target}, which is not a state", source)
                parts.edges.append((name, letter, names[target], 0))
    return parts
